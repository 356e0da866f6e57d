package text

import "strings"

// Bounds on what the parser is given; see the package comment. Its time grows
// with the square (or worse) of each of these, so hostile text is tamed first.
const (
	maxContainers = 16       // quotes and list markers on one line
	maxBrackets   = 256      // '[' in one paragraph
	maxColumns    = 32       // of a table, counted by the '|' of its delimiter row
	maxStretch    = 16 << 10 // bytes parsed at once
)

// stretch is a piece of a message that is parsed on its own.
type stretch struct {
	text    string
	literal bool // not markup: shown as it stands
	joined  bool // continues the paragraph before it
}

// stretches cuts a message where the parser can be started anew: between blocks
// if possible, never inside a fence.
func stretches(text string) []stretch {
	var g guard
	for at := 0; at < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		g.line(text[at:end])
		at = end
	}
	g.flush(false)
	return g.done
}

// guard collects lines into stretches.
type guard struct {
	scan      fenceScanner
	done      []stretch
	buf       strings.Builder
	paragraph int  // offset in buf where the current paragraph begins
	brackets  int  // in the current paragraph
	literal   bool // the current paragraph is beyond the bounds
	blank     bool // the last line was blank
	closing   bool // the current line closes a fence
	joins     bool // the next stretch continues a paragraph
}

func (g *guard) line(line string) {
	if line = g.tame(line); g.scan.fence != nil || g.closing {
		g.endLiteral()
		g.buf.WriteString(line)
		g.paragraph, g.brackets, g.blank = g.buf.Len(), 0, false
		return
	}
	blank := isBlank(line)
	if g.blank || blank || startsItem(line) {
		g.endLiteral()
		if g.buf.Len() > maxStretch/2 && g.blank && !blank && !isSpace(line[0]) {
			g.flush(false)
		}
		g.paragraph, g.brackets = g.buf.Len(), 0
	}
	g.blank = blank
	if g.buf.Len()+len(line) > maxStretch {
		g.flush(g.paragraph < g.buf.Len())
	}
	g.brackets += strings.Count(line, "[")
	if !g.literal && (g.brackets > maxBrackets || len(line) > maxStretch) {
		g.startLiteral()
	}
	g.buf.WriteString(line)
}

// tame escapes what is beyond the bounds of a single line, and tells fences.
func (g *guard) tame(line string) string {
	kind := g.scan.next(line)
	g.closing = kind == lineClose
	if kind == lineCode || kind == lineClose || g.literal && kind == lineProse {
		return line
	}
	tamed := tameContainers(line)
	if len(tamed) > len(line) {
		g.scan.fence = nil // an opening line that deep opens nothing
	}
	return tameTable(tamed)
}

// startLiteral gives up the current paragraph as markup.
func (g *guard) startLiteral() {
	all := g.buf.String()
	start := g.paragraph
	g.buf.Reset()
	g.buf.WriteString(all[:start])
	g.flush(false)
	g.buf.WriteString(all[start:])
	g.literal = true
}

func (g *guard) endLiteral() {
	if g.literal {
		g.flush(false)
		g.literal = false
	}
}

// flush ends the current stretch; joins says that it ends inside a paragraph.
func (g *guard) flush(joins bool) {
	if g.buf.Len() == 0 {
		return
	}
	g.done = append(g.done, stretch{g.buf.String(), g.literal, g.joins})
	g.joins = joins
	g.buf.Reset()
	g.paragraph = 0
}

// startsItem reports whether a line starts a list item or a quote.
func startsItem(line string) bool {
	_, n := indentation(line)
	return n < len(line) && line[n] == '>' || listMarker(line[n:]) > 0
}

// tameContainers escapes the container marker that is one too many.
func tameContainers(line string) string {
	at := 0
	for depth := 0; ; depth++ {
		_, n := indentation(line[at:])
		at += n
		w := listMarker(line[at:])
		if at < len(line) && line[at] == '>' {
			w = 1
		}
		if w == 0 {
			return line
		}
		at += w
		if depth == maxContainers {
			return line[:at-1] + `\` + line[at-1:]
		}
	}
}

// tameTable escapes the delimiter row of a table with too many columns.
func tameTable(line string) string {
	at, _ := stripQuotes(line, -1)
	if strings.Count(line, "|") <= maxColumns || strings.Trim(line[at:], "|:- \t\r\n") != "" {
		return line
	}
	_, n := indentation(line[at:])
	return line[:at+n] + `\` + line[at+n:]
}
