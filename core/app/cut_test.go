package app

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		name, text, unit string
		limit            int
		want             []string
	}{
		{"short", "abc", "bytes", 3, []string{"abc"}},
		{"long", "abcd", "bytes", 3, []string{"abc", "d"}},
		{"after a line", "abc\nd\nef", "bytes", 7, []string{"abc\nd\n", "ef"}},
		{"not after an early line", "a\nbcdefgh", "bytes", 6, []string{"a\nbcde", "fgh"}},
		{"surrogates count twice", "ab🎩c", "utf16", 3, []string{"ab", "🎩c"}},
		{"runes", "äöü", "runes", 2, []string{"äö", "ü"}},
		{"a family is one character", "👨‍👩‍👧x", "graphemes", 1, []string{"👨‍👩‍👧", "x"}},
		{"and is cut where it does not fit", "👨‍👩", "runes", 2, []string{"👨\u200d", "👩"}},
		{"no limit", "abc", "bytes", 0, []string{"abc"}},
		{"a limit under one rune", "ä", "bytes", 1, []string{"ä"}},
		{"nothing", "", "bytes", 1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, cut(c.text, core.Capabilities{TextLimit: c.limit, TextUnit: c.unit}))
		})
	}
}

func TestCutKeepsTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab \n\r🎩é\u0301\u200d👨ü"))).Draw(t, "text")
		unit := rapid.SampledFrom([]string{"bytes", "runes", "graphemes", "utf16"}).Draw(t, "unit")
		limit := rapid.IntRange(4, 12).Draw(t, "limit")
		parts := cut(text, core.Capabilities{TextLimit: limit, TextUnit: unit})
		require.Equal(t, text, strings.Join(parts, ""))
		for _, p := range parts {
			require.NotEmpty(t, p)
			require.True(t, utf8.ValidString(p))
			n := units(p, unit)
			if unit == "graphemes" {
				n = uniseg.GraphemeClusterCount(p)
			}
			require.LessOrEqual(t, n, limit)
		}
	})
}
