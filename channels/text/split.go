package text

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Part is one message.
type Part struct {
	// Text is what is sent.
	Text string
	// Opened and Closed are the numbers of bytes at the head and at the tail
	// of Text that the splitter added: fence lines.
	Opened, Closed int
	// Start is the offset of Body in the text that was split, in bytes. With
	// it a renderer cuts its own ranges (styles) to the part.
	Start int
	// Gap is the white space at the cut that belongs to neither message.
	Gap string
}

// Body is the part of the original text that the message holds.
func (p Part) Body() string { return p.Text[p.Opened : len(p.Text)-p.Closed] }

// Join undoes Split: it gives the text that was split, as valid UTF-8.
func Join(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Body())
		b.WriteString(p.Gap)
	}
	return b.String()
}

// Split cuts Markdown that is sent as it is into parts of at most l.Max units.
// Empty text gives no part. It does not block and takes time linear in text;
// the rules are in the package comment.
func Split(text string, l Limit) []Part {
	return SplitRendered(Source(text), l)
}

// Source takes Markdown that is sent as it is for rendered text: it finds the
// fences and the ranges to keep without a tree, in linear time.
func Source(text string) Rendered {
	text = valid(text)
	fences := scanFences(text)
	return Rendered{Text: text, Fences: fences, Keep: scanRanges(text, fences)}
}

// SplitRendered cuts the output of a renderer into parts, as Split does. If
// the text is not UTF-8, its ranges cannot be trusted and Markdown is assumed.
func SplitRendered(r Rendered, l Limit) []Part {
	if !utf8.ValidString(r.Text) {
		r = Source(r.Text)
	}
	s := splitter{Limit: l, text: r.Text}
	s.Max = l.max()
	s.Reserve = max(0, l.Reserve)
	r.Fences = s.fit(r.Fences)
	s.marks = markText(r)
	s.trimmed = len(strings.TrimRight(r.Text, " \t\r\n"))
	return s.split()
}

// valid replaces what is not UTF-8.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// splitter cuts one text. It moves forward only: fences before the current
// position are dropped from the slice.
type splitter struct {
	Limit
	text    string
	marks   marks
	fences  []block // those that end behind the current position
	trimmed int     // length of text without trailing white space
}

// block is a fence whose lines leave room for code.
type block struct {
	Fence
	closing int // length of Close
}

// fit drops the fences whose own lines leave too little room for code and
// shortens the Open of those whose info string is too long to repeat.
func (s *splitter) fit(fences []Fence) (fitting []Fence) {
	for _, f := range fences {
		opening := s.Unit.Measure(s.text[f.Start:f.Body])
		closing := max(s.Unit.Measure("\n"+f.Close), s.Unit.Measure(s.text[f.BodyEnd:f.End]))
		if s.Unit.Measure(f.Open) > s.Max/4 {
			f.Open = f.Bare
		}
		own := max(opening, s.Unit.Measure(f.Open+f.Line)) + closing
		if own+max(8, s.Max/4) <= s.Max {
			fitting = append(fitting, f)
			s.fences = append(s.fences, block{f, s.Unit.Measure(f.Close)})
		}
	}
	return fitting
}

func (s *splitter) split() []Part {
	var parts []Part
	for pos := 0; pos < len(s.text); {
		for len(s.fences) > 0 && s.fences[0].End <= pos {
			s.fences = s.fences[1:]
		}
		head := s.head(pos)
		c := s.cut(pos, head)
		tail := ""
		if c.forced {
			head = ""
		} else if c.inFence {
			tail = s.tail(c.end)
		}
		end := c.end + s.gap(c.end)
		parts = append(parts, Part{
			Text:   head + s.text[pos:c.end] + tail,
			Opened: len(head), Closed: len(tail),
			Start: pos,
			Gap:   s.text[c.end:end],
		})
		pos = end
		if pos == len(s.text) && !c.roomy {
			parts = append(parts, Part{Start: pos})
		}
	}
	return parts
}

// head gives the fence lines that a part starting at pos needs.
func (s *splitter) head(pos int) string {
	if len(s.fences) == 0 {
		return ""
	}
	f := &s.fences[0]
	switch {
	case pos < f.Body || pos <= f.Start || pos > f.BodyEnd:
		return ""
	case pos == f.Body || s.text[pos-1] == '\n':
		return f.Open
	case f.Open == "":
		return ""
	default:
		return f.Open + f.Line
	}
}

// tail gives the fence line that a part needs if it ends at i inside a fence.
func (s *splitter) tail(i int) string {
	k := s.fenceAt(i)
	if s.text[i-1] == '\n' {
		return s.fences[k].Close
	}
	return "\n" + s.fences[k].Close
}

// needsClose reports whether a part that ends at i has to close the fence.
func (b *block) needsClose(i int) bool {
	return b.Close != "" && i > b.Start && i >= b.Body && i <= b.BodyEnd
}

// gap gives the length of the white space at a cut in prose: up to and with the
// last newline, or all of it if it has none or nothing follows.
func (s *splitter) gap(i int) int {
	if i == len(s.text) || s.inBody(i) {
		return 0
	}
	if i >= s.trimmed {
		return len(s.text) - i
	}
	end, lines := spaceRun(s.text, i)
	if lines > 0 {
		return strings.LastIndexByte(s.text[i:end], '\n') + 1
	}
	return end - i
}

// inBody reports whether a cut at i falls into the lines of a fence.
func (s *splitter) inBody(i int) bool {
	k := s.fenceAt(i)
	if k == len(s.fences) {
		return false
	}
	f := &s.fences[k]
	return i > f.Start && (i < f.End || !f.closed())
}

// fenceAt gives the index of the first fence that does not end before i.
func (s *splitter) fenceAt(i int) int {
	k, _ := slices.BinarySearchFunc(s.fences, i, func(b block, i int) int { return cmp.Compare(b.End, i) })
	return k
}
