package chat

import (
	"fmt"
	"strings"

	"github.com/rivo/uniseg"
)

// style draws lines as text.
type style struct {
	color bool
	// width returns how wide the terminal is, 0 for any width; nil too.
	width func() int
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
	prefix := "[" + Clean(l.Place) + "] "
	code := cyan
	if l.Here {
		code = dim
	}
	if l.From == "" {
		text := prefix
		if l.Text != "" {
			text += "-- " + Clean(l.Text)
		}
		return s.paint(dim, strings.TrimRight(text, " ")) + "\n"
	}
	from := Clean(l.From) + ":"
	indent := uniseg.StringWidth(prefix)
	body := s.body(Clean(strings.TrimSpace(l.Text)), indent, indent+uniseg.StringWidth(from)+1)
	return s.paint(code, prefix) + s.paint(authorCode(l), from) + " " + body + "\n"
}

// body writes the text of a message: lines after the first are indented, and
// wrapped between words where a terminal would cut them. first is where the
// first line begins.
func (s style) body(text string, indent, first int) string {
	width := 0
	if s.width != nil {
		width = s.width()
	}
	var b strings.Builder
	column := first
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
			column = indent
			if line != "" {
				b.WriteString(strings.Repeat(" ", indent))
			}
		}
		wrap(&b, line, column, indent, width)
	}
	return b.String()
}

// wrap writes one line that begins at a column; what it continues with is
// indented like the line itself.
func wrap(b *strings.Builder, line string, column, indent, width int) {
	lead := len(line) - len(strings.TrimLeft(line, " -*"))
	next := strings.Repeat(" ", indent+lead)
	b.WriteString(line[:lead])
	column += lead
	for i, word := range strings.Split(line[lead:], " ") {
		size := uniseg.StringWidth(word)
		switch {
		case i == 0:
		case width > 0 && column+1+size > width && len(next) < width/2:
			b.WriteString("\n" + next)
			column = len(next)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += size
	}
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
	name := Clean(screen.HereName())
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

// Clean takes out what would steer the terminal. A tab stays, line breaks too.
func Clean(text string) string {
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
