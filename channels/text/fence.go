package text

import "strings"

// codeFence is the opening line of a fenced code block. It is the one place
// that knows what opens and closes a fence; the parser, the splitter and the
// renderers all ask it.
type codeFence struct {
	char   byte // '`' or '~'
	length int  // of the marker, 3 or more
	info   string
}

// openFence reads an opening line. The line comes without container prefix and
// indentation; a line ending does not matter.
func openFence(line string) (codeFence, bool) {
	if line == "" || line[0] != '`' && line[0] != '~' {
		return codeFence{}, false
	}
	n := runLength(line)
	info := strings.TrimSpace(line[n:])
	if n < 3 || line[0] == '`' && strings.Contains(info, "`") {
		return codeFence{}, false
	}
	return codeFence{line[0], n, info}, true
}

// closedBy reports whether line, without prefix and indentation, closes the
// fence: the same marker, at least as long, and nothing after it.
func (f codeFence) closedBy(line string) bool {
	if line == "" || line[0] != f.char {
		return false
	}
	n := runLength(line)
	return n >= f.length && isBlank(line[n:])
}

func (f codeFence) marker() string { return strings.Repeat(string(f.char), f.length) }

// fenceAround gives a fence that code cannot close from within.
func fenceAround(info, code string) codeFence {
	f := codeFence{'`', 3, info}
	if strings.Contains(info, "`") {
		f.char = '~'
	}
	for rest := code; ; {
		i := strings.IndexByte(rest, f.char)
		if i < 0 {
			return f
		}
		n := runLength(rest[i:])
		f.length = max(f.length, n+1)
		rest = rest[i+n:]
	}
}

// runLength counts how often the first byte of s, which is not empty, repeats.
func runLength(s string) int {
	n := 1
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}

func isBlank(s string) bool { return strings.Trim(s, " \t\r\n") == "" }

// lineKind is what a line is to the fence scanner.
type lineKind uint8

const (
	lineProse lineKind = iota
	lineOpen
	lineCode
	lineClose
)

// fenceScanner finds fences in Markdown line by line, in constant memory per
// nesting level. It follows block quotes and list items as CommonMark does, so
// that an indented fence in a list is seen and one in an indented code block is
// not.
type fenceScanner struct {
	quote int   // depth of block quotes of the last line
	items []int // content columns of the open list items
	text  bool  // the last line was running text
	fence *codeFence
	base  int    // content column the open fence stands in
	lead  string // container prefix of the open fence, list markers blanked
}

// next classifies one line, given with or without its line ending.
func (s *fenceScanner) next(line string) lineKind {
	if s.fence != nil {
		if kind, inside := s.code(line); inside {
			return kind
		}
		s.fence = nil // its container ended
	}
	return s.prose(line)
}

// code classifies a line while a fence is open. inside is false if the line
// ends the fence's container, and so the fence.
func (s *fenceScanner) code(line string) (kind lineKind, inside bool) {
	at, depth := stripQuotes(line, s.quote)
	if depth < s.quote {
		return 0, false
	}
	cols, n := indentation(line[at:])
	rest := line[at+n:]
	if cols < s.base && !isBlank(rest) {
		return 0, false
	}
	if cols-s.base < 4 && s.fence.closedBy(rest) {
		s.fence = nil
		return lineClose, true
	}
	return lineCode, true
}

// prose classifies a line while no fence is open.
func (s *fenceScanner) prose(line string) lineKind {
	at, depth := stripQuotes(line, -1)
	if depth != s.quote {
		s.quote, s.items, s.text = depth, s.items[:0], false
	}
	if isBlank(line[at:]) {
		s.text = false
		return lineProse
	}
	col, n := indentation(line[at:])
	at += n
	outer, runsOn := s.items, s.text
	base := s.leaveItems(col)
	for col-base < 4 {
		if f, ok := openFence(line[at:]); ok {
			s.fence, s.base, s.lead, s.text = &f, base, blankMarkers(line[:at]), false
			return lineOpen
		}
		w := listMarker(line[at:])
		if w == 0 {
			break
		}
		runsOn = false
		at, col, base = s.enterItem(line, at+w, col+w)
	}
	plain := !isBlank(line[at:]) && !isHeading(line[at:])
	if runsOn && plain {
		s.items = outer // text that runs on needs no indentation
	}
	s.text = plain && (runsOn || col-base < 4)
	return lineProse
}

// leaveItems closes the list items that a line indented to col is not in, and
// gives the content column of the innermost one left.
func (s *fenceScanner) leaveItems(col int) int {
	for n := len(s.items); n > 0; n-- {
		if s.items[n-1] <= col {
			return s.items[n-1]
		}
		s.items = s.items[:n-1]
	}
	return 0
}

// enterItem opens the list item whose marker ends at offset at and column col.
// It gives the offset and column of its first character, and its content column.
func (s *fenceScanner) enterItem(line string, at, col int) (int, int, int) {
	cols, n := indentation(line[at:])
	base := col + cols
	if cols > 4 || isBlank(line[at:]) {
		base = col + 1
	}
	s.items = append(s.items, base)
	return at + n, col + cols, base
}

// stripQuotes skips up to most block quote markers (all of them if most is
// negative) and gives the offset behind them and their number.
func stripQuotes(line string, most int) (at, depth int) {
	for depth != most {
		cols, n := indentation(line[at:])
		if cols > 3 || at+n >= len(line) || line[at+n] != '>' {
			break
		}
		at += n + 1
		depth++
		if at < len(line) && line[at] == ' ' {
			at++
		}
	}
	return at, depth
}

// indentation gives the width of the leading blanks in columns and bytes.
func indentation(line string) (cols, n int) {
	for ; n < len(line); n++ {
		switch line[n] {
		case ' ':
			cols++
		case '\t':
			cols += 4 - cols%4
		default:
			return cols, n
		}
	}
	return cols, n
}

// listMarker gives the length of the list marker that line starts with, or 0.
func listMarker(line string) int {
	n := 0
	for n < len(line) && n < 9 && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	switch {
	case n >= len(line):
		return 0
	case n > 0 && line[n] != '.' && line[n] != ')':
		return 0
	case n == 0 && line[n] != '-' && line[n] != '*' && line[n] != '+':
		return 0
	}
	n++
	if n < len(line) && !isBlank(line[n:n+1]) {
		return 0
	}
	return n
}

// blankMarkers replaces everything in a container prefix that is not a quote
// marker or a blank by spaces: what repeats on the following lines.
func blankMarkers(prefix string) string {
	return strings.Map(func(r rune) rune {
		if r == '>' || r == '\t' {
			return r
		}
		return ' '
	}, prefix)
}

// scanFences finds all fences of a Markdown text.
func scanFences(text string) []Fence {
	var (
		s     fenceScanner
		found []Fence
		open  = false
	)
	for at := 0; at < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		kind := s.next(text[at:end])
		if open && (kind == lineProse || kind == lineOpen) {
			open = false // ended by its container, without a closing line
		}
		switch kind {
		case lineOpen:
			found = append(found, newFence(&s, at, end))
			open = true
		case lineCode:
			found[len(found)-1].BodyEnd = end
			found[len(found)-1].End = end
		case lineClose:
			found[len(found)-1].End = at + len(strings.TrimRight(text[at:end], " \t\r\n"))
			open = false
		}
		at = end
	}
	return found
}

// newFence describes the fence whose opening line s has just read.
func newFence(s *fenceScanner, start, body int) Fence {
	f := Fence{
		Start: start, Body: body, BodyEnd: body, End: body,
		Open:  s.lead + s.fence.marker() + s.fence.info + "\n",
		Bare:  s.lead + s.fence.marker() + "\n",
		Close: s.lead + s.fence.marker(),
	}
	if s.quote > 0 {
		f.Line = s.lead
	}
	return f
}
