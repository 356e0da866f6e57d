package command

import (
	"strings"
	"unicode/utf16"

	"github.com/skein-bot/skein/core/words"
)

// Limit of a reply: 2000 UTF-16 code units are one message on the smallest
// channel; what is left over is for characters that its notation must escape.
const (
	smallestMessage = 2000
	replyLimit      = smallestMessage - 200
)

// units counts UTF-16 code units.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// cut shortens text to at most limit units, with an ellipsis where it cut.
func cut(text string, limit int) string {
	if units(text) <= limit {
		return text
	}
	n := 0
	for i, r := range text {
		if n += max(utf16.RuneLen(r), 1); n > limit-1 {
			return strings.TrimRight(text[:i], " \n") + "…"
		}
	}
	return text
}

// Fit cuts the reply to a command so that it is one message on every channel.
func Fit(text string) string { return cut(text, replyLimit) }

// list joins a head, as many rows as fit, and a tail into one reply. What does
// not fit is counted.
func list(w words.Language, head string, rows []string, tail string) string {
	room := replyLimit - units(head) - units(tail) - 40 // for the count and the line ends
	kept := len(rows)
	for i, row := range rows {
		if room -= units(row) + 1; room < 0 {
			kept = i
			break
		}
	}
	lines := append([]string{head}, rows[:kept]...)
	if kept < len(rows) {
		lines = append(lines, w.FitMore(len(rows)-kept))
	}
	if tail != "" {
		lines = append(lines, tail)
	}
	return strings.Join(lines, "\n")
}

// latest is list for rows of which the last ones matter most.
func latest(w words.Language, head string, rows []string) string {
	room := replyLimit - units(head) - 40
	first := len(rows)
	for first > 0 {
		if room -= units(rows[first-1]) + 1; room < 0 {
			break
		}
		first--
	}
	lines := []string{head}
	if first > 0 {
		lines = append(lines, w.FitEarlier(first))
	}
	return strings.Join(append(lines, rows[first:]...), "\n")
}
