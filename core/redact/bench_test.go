package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skein-bot/skein/core/redact"
)

func BenchmarkText(b *testing.B) {
	r := redact.New()
	for name, unit := range map[string]string{"prose": "The quick brown fox jumps over the lazy dog. ", "word": "abcdefgh", "code": `x := map[string]int{"a": 1, "b_c": 2}` + "\n"} {
		text := strings.Repeat(unit, (16<<10)/len(unit))
		b.Run(fmt.Sprintf("%s-16KiB", name), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.Text(text)
			}
		})
	}
}
