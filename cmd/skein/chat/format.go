package chat

import (
	"fmt"
	"strings"

	"github.com/rivo/uniseg"
)

// style draws lines as text.
type style struct {
	color bool
}

// The colours, as ANSI codes.
const (
	dim   = "2"
	bold  = "1"
	cyan  = "36"
	green = "32"
)

func (s style) paint(code, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// line writes one line of the screen:
//
//	[#1 cats] cats: Cats sleep a lot.
//	          They dream, too.
//	[#1 cats] -- a new thread: /thread 1 goes there
func (s style) line(l Line) string {
	prefix := "[" + clean(l.Place) + "] "
	code := cyan
	if l.Here {
		code = dim
	}
	if l.From == "" {
		text := prefix
		if l.Text != "" {
			text += "-- " + clean(l.Text)
		}
		return s.paint(dim, strings.TrimRight(text, " ")) + "\n"
	}
	from := clean(l.From) + ":"
	head := s.paint(code, prefix) + s.paint(authorCode(l), from) + " "
	indent := strings.Repeat(" ", uniseg.StringWidth(prefix))
	body := strings.ReplaceAll(clean(strings.TrimRight(l.Text, "\n")), "\n", "\n"+indent)
	return head + body + "\n"
}

func authorCode(l Line) string {
	if l.Mine {
		return green
	}
	return bold
}

// prompt names the place that is written to, what is unread elsewhere, and
// where somebody is writing.
//
//	main (#1: 2 new, #2: writing)>
func (s style) prompt(screen *Screen) string {
	name := clean(screen.HereName())
	if uniseg.StringWidth(name) != len([]rune(name)) {
		name = screen.here.label() // a terminal miscounts wide characters in its prompt
	}
	var notes []string
	for _, u := range screen.Unread() {
		notes = append(notes, fmt.Sprintf("%s: %d new", u.Label, u.Count))
	}
	for _, label := range screen.Typing() {
		notes = append(notes, label+": writing")
	}
	if len(notes) == 0 {
		return name + "> "
	}
	return name + " (" + strings.Join(notes, ", ") + ")> "
}

// clean takes out what would steer the terminal. A tab stays, line breaks too.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0:
			return -1
		}
		return r
	}, text)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
