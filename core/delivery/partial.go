package delivery

import (
	"strings"
	"unicode"
)

// Partial returns what of an unfinished text may be shown, "" for nothing. It
// is Gate and the redaction for a text whose end is not known yet, so it holds
// back more than they take out: all from the first tag or mark on, or from what
// may become one (reasoning that has ended at the head of the text aside), and
// the last word, because a secret or a silence token may just be growing.
// Secrets with white space in them can therefore be seen up to it. It takes time
// linear in text.
func (s *Service) Partial(text string) string {
	text = afterThoughts(valid(text))
	for i := 0; i < len(text); i++ {
		if opens(text, i) {
			text = text[:i]
			break
		}
	}
	text = strings.TrimSpace(strings.TrimRightFunc(text, inWord))
	return s.gate(text)
}

// afterThoughts returns what follows the finished reasoning at the head of a
// text, "" while the reasoning goes on.
func afterThoughts(text string) string {
	for {
		start := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
		if start == len(text) {
			return ""
		}
		t, ok := parseTag(text, start)
		if !ok || t.kind != tagThink || t.closing {
			return text[start:]
		}
		sc := tagScanner{eraser: eraser{text: text}, open: make(map[string]bool)}
		end := sc.close(t)
		if end == 0 {
			return ""
		}
		text = text[end:]
	}
}

// opens reports whether a tag or mark that the gate knows stands at i, or may
// come to stand there.
func opens(text string, i int) bool {
	switch text[i] {
	case '<':
		if _, ok := parseTag(text, i); ok {
			return true
		}
		rest := text[i+1:]
		if len(rest) >= maxTag || strings.ContainsAny(rest, "<>\n") {
			return false
		}
		return rest == "" || !unicode.IsSpace(rune(rest[0]))
	case '[':
		if _, ok := parseMark(text, i); ok {
			return true
		}
		rest := strings.TrimLeftFunc(text[i+1:], blank)
		n := min(len(rest), len("skein"))
		return strings.EqualFold(rest[:n], "skein"[:n]) && strings.TrimLeftFunc(rest[n:], blank) == ""
	}
	return false
}

// inWord reports whether a character at the end of a text leaves the word open.
// What is written without spaces has none that could be waited for.
func inWord(r rune) bool {
	return !unicode.IsSpace(r) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) &&
		!(r >= '\u3000' && r <= '\u303f') && !(r >= '\uff00' && r <= '\uffef')
}
