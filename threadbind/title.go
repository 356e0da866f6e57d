package threadbind

import (
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/rivo/uniseg"
)

// Title returns text as one line fit for the title of a thread: white space
// collapsed, characters that control the text or its direction and broken bytes
// removed, and cut between two graphemes to at most limit UTF-16 code units, the strictest way in which
// platforms count. A cut is marked by an ellipsis. A limit of 0 or less does
// not cut.
func Title(text string, limit int) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}), " ")
	if limit <= 0 || units(text) <= limit {
		return text
	}
	const ellipsis = "…" // one unit
	used, cut := 0, 0
	for rest, state := text, -1; rest != ""; {
		var grapheme string
		grapheme, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used += units(grapheme); used > limit-1 {
			break
		}
		cut += len(grapheme)
	}
	return strings.TrimRight(text[:cut], " ") + ellipsis
}

// units counts UTF-16 code units.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}
