package text

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// rank says how good a place between two bytes is for a cut. A place with a
// higher rank is preferred.
type rank uint8

const (
	rankNone      rank = iota // never: inside a rune or a fence line
	rankRune                  // inside a grapheme
	rankKept                  // inside a hard range
	rankSoft                  // inside a word of emphasised text
	rankSoftWord              // between words of emphasised text
	rankGrapheme              // inside a word
	rankWord                  // between words
	rankSentence              // after a sentence
	rankLine                  // at the end of a line
	rankParagraph             // at the end of a paragraph or a code block
	rankEnd                   // at the end of the text
	ranks

	clusterStart rank = 0x80 // flag: a grapheme begins here
	rankMask     rank = 0x7F
)

// marks holds the rank of each offset of a text, 0 to len(text).
type marks []rank

func (m marks) at(i int) rank { return m[i] & rankMask }

func (m marks) set(i int, r rank) { m[i] = m[i]&clusterStart | r }

// markText ranks every offset of the rendered text.
func markText(r Rendered) marks {
	m := make(marks, len(r.Text)+1)
	m.graphemes(r.Text)
	at := 0
	for i := range r.Fences {
		f := &r.Fences[i]
		m.prose(r.Text, at, f.Start)
		at = f.End
	}
	m.prose(r.Text, at, len(r.Text))
	for i := range r.Fences {
		m.fence(r.Text, &r.Fences[i])
	}
	m.ranges(r.Keep)
	m.set(len(r.Text), rankEnd)
	return m
}

// graphemes marks rune and grapheme boundaries. Between two ASCII bytes there
// is always one, except in CR LF, which spares most text the tables of Unicode.
func (m marks) graphemes(text string) {
	for i := 0; i < len(text); {
		m[i] = clusterStart | rankGrapheme
		if text[i] < utf8.RuneSelf && text[i] != '\r' && (i+1 == len(text) || text[i+1] < utf8.RuneSelf) {
			i++
			continue
		}
		cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(text[i:], -1)
		for j := range cluster {
			if j > 0 {
				m[i+j] = rankRune
			}
		}
		i += len(cluster)
	}
	m[len(text)] = clusterStart | rankGrapheme
}

// prose ranks the ends of words, sentences, lines and paragraphs between from
// and to. The rank sits before the white space; behind it, Gap takes over.
func (m marks) prose(text string, from, to int) {
	heading := false
	for i := from; i < to; {
		if i == from || text[i-1] == '\n' {
			heading = isHeading(text[i:to])
		}
		if !isSpace(text[i]) {
			i += m.punctuation(text, i, to)
			continue
		}
		end, lines := spaceRun(text, i)
		switch {
		case i == 0: // leading space: nothing to end
		case lines > 0 && heading && end < len(text):
			m.set(i, rankWord) // a title stays with what it names
		case lines > 1, lines == 1 && end >= to && to < len(text):
			m.set(i, rankParagraph)
		case lines == 1:
			m.set(i, rankLine)
		case endsSentence(text[max(0, i-8):i]):
			m.set(i, rankSentence)
		default:
			m.set(i, rankWord)
		}
		for j := i + 1; j < min(end, to); j++ {
			m.set(j, min(m.at(j), rankRune)) // only if nothing else is left
		}
		i = min(end, to)
	}
}

// punctuation ranks the place behind CJK punctuation, which no space follows,
// and gives the length of the rune at i.
func (m marks) punctuation(text string, i, to int) int {
	if text[i] < utf8.RuneSelf {
		return 1
	}
	r, n := utf8.DecodeRuneInString(text[i:])
	if i+n < to && m.at(i+n) == rankGrapheme && !isSpace(text[i+n]) {
		switch {
		case strings.ContainsRune("。！？", r):
			m.set(i+n, rankSentence)
		case strings.ContainsRune("，、；：）」』】》", r):
			m.set(i+n, rankWord)
		}
	}
	return n
}

// fence ranks a code block: lines are good places, the block's own lines none.
func (m marks) fence(text string, f *Fence) {
	for i := f.Start + 1; i <= f.Body; i++ {
		m.set(i, rankNone)
	}
	for i := f.Body + 1; i < f.BodyEnd; i++ {
		switch {
		case text[i-1] == '\n':
			m.set(i, rankLine)
			if f.Line != "" && strings.HasPrefix(text[i:], f.Line) { // whole
				for end := min(i+len(f.Line), f.BodyEnd) - 1; i < end; i++ {
					m.set(i+1, rankRune)
				}
			}
		case isSpace(text[i]) && !isSpace(text[i-1]) && text[i] != '\n' && m.at(i) == rankGrapheme:
			m.set(i, rankWord)
		}
	}
	if f.closed() {
		for i := f.BodyEnd; i < f.End; i++ {
			m.set(i, rankNone)
		}
	}
	if f.End > f.Start {
		m.set(f.End, rankParagraph)
	}
	if f.Start > 0 {
		m.set(f.Start, max(m.at(f.Start), rankGrapheme))
	}
}

// ranges lowers the ranks inside what belongs together. Ranges are sorted by
// Start; where they overlap the positions are visited once per layer.
func (m marks) ranges(keep []Range) {
	var hard, soft int // up to where each layer has been lowered
	for _, k := range keep {
		done := &hard
		if k.Soft {
			done = &soft
		}
		for i := max(k.Start+1, *done); i < k.End; i++ {
			m.set(i, lowered(m.at(i), k.Soft))
		}
		*done = max(*done, k.End)
	}
}

func lowered(r rank, soft bool) rank {
	switch {
	case r <= rankRune:
		return r
	case !soft:
		return rankKept
	case r == rankGrapheme:
		return rankSoft
	case r > rankGrapheme:
		return rankSoftWord
	default:
		return r
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// spaceRun gives the end of the white space at i and its number of newlines.
func spaceRun(text string, i int) (end, lines int) {
	for end = i; end < len(text) && isSpace(text[end]); end++ {
		if text[end] == '\n' {
			lines++
		}
	}
	return end, lines
}

// endsSentence looks at the last characters before white space.
func endsSentence(s string) bool {
	s = strings.TrimRight(s, "\"'”’»)]*_")
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?…。！？", r)
}

// isHeading reports whether a line is an ATX heading.
func isHeading(line string) bool {
	if line == "" || line[0] != '#' {
		return false
	}
	n := runLength(line)
	return n <= 6 && n < len(line) && line[n] == ' '
}
