package fullscreen

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/rivo/uniseg"
)

// measure tells how many cells a text takes. Terminals differ about joined
// emoji; the renderer asks the terminal, and so does the screen.
type measure func(string) int

var (
	byRunes     measure = ansi.StringWidthWc
	byGraphemes measure = ansi.StringWidth
)

// span is text in one style, without line breaks.
type span struct {
	text  string
	style lipgloss.Style
}

// glyph is one grapheme of a span.
type glyph struct {
	text  string
	width int
	span  int
}

// hang is what the lines of a wrapped text begin with: the first one, and the
// others. Both are as wide as each other.
type hang struct{ first, rest string }

// wrap breaks spans into styled lines of at most width cells: between words,
// between wide characters, and inside a word only where it is longer than a
// line. White space at a break goes. A grapheme that is wider than a line
// stands alone. There is at least one line.
func wrap(spans []span, width int, prefix hang, m measure) []string {
	room := max(width-m(prefix.first), 1)
	glyphs := glyphsOf(spans, m)
	var lines []string
	for start := 0; start < len(glyphs) || len(lines) == 0; {
		end, next := breakLine(glyphs, start, room)
		lead := prefix.rest
		if len(lines) == 0 {
			lead = prefix.first
		}
		lines = append(lines, lead+paint(spans, glyphs[start:end]))
		start = next
	}
	return lines
}

func glyphsOf(spans []span, m measure) []glyph {
	var list []glyph
	for i, s := range spans {
		g := uniseg.NewGraphemes(s.text)
		for g.Next() {
			text := g.Str()
			list = append(list, glyph{text: text, width: m(text), span: i})
		}
	}
	return list
}

// breakLine finds where the line that begins at start ends, and where the next
// one begins.
func breakLine(glyphs []glyph, start, room int) (end, next int) {
	used, words := 0, false
	end = -1 // of the last place to break
	for i := start; i < len(glyphs); i++ {
		g := glyphs[i]
		blank := g.text == " "
		if i > start && words && glyphs[i-1].text != " " && (blank || (g.width > 1 || glyphs[i-1].width > 1) && !closing(g.text)) {
			end, next = i, i
		}
		words = words || !blank
		if used += g.width; used <= room || i == start {
			continue
		}
		if end < 0 {
			return i, i // a word longer than the line
		}
		for next < len(glyphs) && glyphs[next].text == " " {
			next++
		}
		return end, next
	}
	return len(glyphs), len(glyphs)
}

// closing tells that a line must not begin with this.
func closing(g string) bool {
	return strings.ContainsAny(g, "。、，．！？）」』】〉》：；)]},.!?:;")
}

// paint draws glyphs, each run in the style of its span.
func paint(spans []span, glyphs []glyph) string {
	var b, run strings.Builder
	for i, g := range glyphs {
		run.WriteString(g.text)
		if i+1 == len(glyphs) || glyphs[i+1].span != g.span {
			b.WriteString(draw(spans[g.span].style, run.String()))
			run.Reset()
		}
	}
	return b.String()
}

// draw draws text of one line as it is.
func draw(style lipgloss.Style, text string) string {
	if text == "" {
		return ""
	}
	return style.Render(text)
}

// clip cuts a plain text to width cells, with an ellipsis.
func clip(text string, width int, m measure) string {
	if width <= 0 {
		return ""
	}
	if m(text) <= width {
		return text
	}
	var b strings.Builder
	used := 0
	for _, g := range glyphsOf([]span{{text: text}}, m) {
		if used+g.width > width-1 {
			break
		}
		b.WriteString(g.text)
		used += g.width
	}
	return b.String() + "…"
}

// fill pads a styled line to width cells.
func fill(line string, width int, m measure) string {
	return line + strings.Repeat(" ", max(width-m(line), 0))
}
