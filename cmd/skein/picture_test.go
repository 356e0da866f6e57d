//go:build slow

package main

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"
)

// The measures of a picture, in pixels.
const (
	cellWidth  = 8.4
	cellHeight = 19
	margin     = 14
)

// look is how a run of text looks.
type look struct {
	color, back     string
	bold, underline bool
}

var sequence = regexp.MustCompile(`\x1b\[([0-9;]*)m|\x1b\][^\x1b]*\x1b\\|\x1b[()].`)

// terminalSVG draws a capture of a dark terminal. Only the colours that the
// chat chooses itself appear in one, so no palette is needed.
func terminalSVG(capture string, columns int, label string) string {
	lines := strings.Split(strings.TrimRight(capture, "\n"), "\n")
	width, height := int(float64(columns)*cellWidth)+2*margin, len(lines)*cellHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="%[3]s">`+"\n", width, height, label)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#1b1e25"/>`+"\n", width, height)
	b.WriteString(`<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14" xml:space="preserve">` + "\n")
	now := look{}
	for row, line := range lines {
		column, at := 0, 0
		for _, m := range append(sequence.FindAllStringSubmatchIndex(line, -1), []int{len(line), len(line), -1, -1}) {
			column = now.run(&b, line[at:m[0]], column, row)
			if m[2] >= 0 {
				now = now.after(line[m[2]:m[3]])
			}
			at = m[1]
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// run draws a run of text, word by word so that columns keep their places, and
// returns the column after it.
func (l look) run(b *strings.Builder, text string, column, row int) int {
	x := func(column int) float64 { return margin + float64(column)*cellWidth }
	y := margin + row*cellHeight
	if l.back != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x(column), y, float64(uniseg.StringWidth(text))*cellWidth, cellHeight, l.back)
	}
	color := l.color
	if color == "" {
		color = "#d5d9e0"
	}
	style := ""
	if l.bold {
		style += ` font-weight="bold"`
	}
	if l.underline {
		style += ` text-decoration="underline"`
	}
	for part := range strings.SplitAfterSeq(text, "  ") {
		if drawn := strings.TrimSpace(part); drawn != "" {
			start := column + len(part) - len(strings.TrimLeft(part, " "))
			fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs" fill="%s"%s>%s</text>`+"\n",
				x(start), y+14, float64(uniseg.StringWidth(drawn))*cellWidth, color, style, html.EscapeString(drawn))
		}
		column += uniseg.StringWidth(part)
	}
	return column
}

// after returns the look after a sequence.
func (l look) after(codes string) look {
	list := strings.Split(codes, ";")
	for i := 0; i < len(list); i++ {
		switch code, _ := strconv.Atoi(list[i]); code {
		case 0:
			l = look{}
		case 1:
			l.bold = true
		case 4:
			l.underline = true
		case 22:
			l.bold = false
		case 24:
			l.underline = false
		case 39:
			l.color = ""
		case 49:
			l.back = ""
		case 38, 48:
			if i+2 < len(list) && list[i+1] == "5" {
				n, _ := strconv.Atoi(list[i+2])
				if code == 38 {
					l.color = of256(n)
				} else {
					l.back = of256(n)
				}
				i += 2
			}
		}
	}
	return l
}

// of256 returns one of the 256 colours that every terminal has alike, which are
// those from 16 on.
func of256(n int) string {
	if n >= 232 {
		grey := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
	}
	steps := [...]int{0, 95, 135, 175, 215, 255}
	n = max(n-16, 0)
	return fmt.Sprintf("#%02x%02x%02x", steps[n/36], steps[n/6%6], steps[n%6])
}

func TestTerminalSVG(t *testing.T) {
	svg := terminalSVG("a \x1b[1;38;5;196mb <c>\x1b[0m  \x1b[48;5;240m d\x1b[49m\n", 20, "x")
	require.Contains(t, svg, `x="14.0" y="28" textLength="8.4" lengthAdjust="spacingAndGlyphs" fill="#d5d9e0">a</text>`)
	require.Contains(t, svg, `x="30.8" y="28" textLength="42.0" lengthAdjust="spacingAndGlyphs" fill="#ff0000" font-weight="bold">b &lt;c&gt;</text>`)
	require.Contains(t, svg, `<rect x="89.6" y="14" width="16.8" height="19" fill="#585858"/>`)
	require.Contains(t, svg, `x="98.0"`)
}
