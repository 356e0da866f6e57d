package text_test

import (
	"strings"
	"testing"

	"github.com/skein-bot/skein/channels/text"
)

const benchSize = 5 << 20

var benchTexts = []struct{ name, unit string }{
	{"prose", "The quick brown fox jumps over the lazy dog.\n"},
	{"cjk", "漢字かな交じり文を書きます。"},
	{"emoji", "👩‍👩‍👧‍👦🎩 "},
	{"code", "```go\nfunc main() {}\n```\n"},
	{"links", "see [it](https://example.org/a_b) **now** "},
	{"brackets", "[a]("},
	{"one-word", "a"},
}

// BenchmarkSplit splits a message of 5 MB.
func BenchmarkSplit(b *testing.B) {
	for _, c := range benchTexts {
		input := strings.Repeat(c.unit, benchSize/len(c.unit))
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(input)))
			for b.Loop() {
				text.Split(input, text.Limit{Max: 2000, SoftLines: 17})
			}
		})
	}
}

// BenchmarkPlain parses, renders and splits a usual answer.
func BenchmarkPlain(b *testing.B) {
	input := "# Result\n\nIt **works**: see [the docs](https://example.org).\n\n- one\n- two\n\n```go\nfunc main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
	b.SetBytes(int64(len(input)))
	for b.Loop() {
		text.SplitRendered(text.Plain{}.Render(text.Parse(input)), text.Limit{Max: 4000})
	}
}
