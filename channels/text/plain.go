package text

import (
	"strconv"
	"strings"
)

// Plain renders text for channels without markup. Emphasis loses its marks
// (struck text keeps them, else its meaning would turn round), a link becomes
// "text (url)", a table is aligned with spaces, a heading is a line; code spans
// and code blocks keep their backticks. Nothing is neutralised: plain text has
// no mentions.
type Plain struct{}

var _ Renderer = Plain{}

// Render writes the document; the result does not end with a newline.
func (Plain) Render(doc *Document) Rendered {
	var w plainWriter
	w.blocks(doc.Blocks, true)
	return Rendered{Text: w.b.String(), Keep: w.keep, Fences: w.fences}
}

// plainWriter writes lines, each behind the prefixes of the containers it is in.
type plainWriter struct {
	b      strings.Builder
	prefix string // of every line but the first of an item
	first  string // of the next line, instead of prefix
	inLine bool
	keep   []Range
	fences []Fence
}

// write writes text without newlines.
func (w *plainWriter) write(s string) {
	if s == "" {
		return
	}
	w.startLine()
	w.b.WriteString(s)
}

func (w *plainWriter) startLine() {
	if w.inLine {
		return
	}
	if w.first != "" {
		w.b.WriteString(w.first)
		w.first = ""
	} else {
		w.b.WriteString(w.prefix)
	}
	w.inLine = true
}

// newline ends the line; an empty one shows its prefix without trailing blanks.
func (w *plainWriter) newline() {
	if !w.inLine {
		if w.first != "" {
			w.startLine()
		} else {
			w.b.WriteString(strings.TrimRight(w.prefix, " "))
		}
	}
	w.b.WriteByte('\n')
	w.inLine = false
}

// blocks writes blocks one below the other, with a blank line between if apart.
func (w *plainWriter) blocks(blocks []Block, apart bool) {
	for i, b := range blocks {
		if i > 0 {
			w.newline()
			if apart {
				w.newline()
			}
		}
		w.block(b)
	}
}

func (w *plainWriter) block(b Block) {
	switch b := b.(type) {
	case *Paragraph:
		w.inlines(b.Inlines)
	case *Heading:
		w.inlines(b.Inlines)
	case *Quote:
		w.within("> ", "> ", func() { w.blocks(b.Blocks, true) })
	case *List:
		w.list(b)
	case *CodeBlock:
		w.code(b)
	case *Table:
		w.table(b)
	case *Rule:
		w.write("---")
	}
}

// within writes body with a prefix for its first and one for its other lines.
func (w *plainWriter) within(first, rest string, body func()) {
	outer := w.prefix
	if w.first == "" {
		w.first = w.prefix
	}
	w.first += first
	w.prefix += rest
	body()
	w.startLine() // an empty body still shows its marker
	w.prefix = outer
}

func (w *plainWriter) list(l *List) {
	for i, item := range l.Items {
		if i > 0 {
			w.newline()
			if !l.Tight {
				w.newline()
			}
		}
		marker := "- "
		if l.Ordered {
			marker = strconv.Itoa(l.Start+i) + ". "
		}
		indent := strings.Repeat(" ", len(marker))
		switch item.Task {
		case TaskOpen:
			marker += "[ ] "
		case TaskDone:
			marker += "[x] "
		}
		w.within(marker, indent, func() { w.blocks(item.Blocks, !l.Tight) })
	}
}

// code writes a code block in a fence that its content cannot close.
func (w *plainWriter) code(b *CodeBlock) {
	fence := fenceAround(b.Info, b.Code)
	marker := fence.marker()
	w.startLine()
	start := w.b.Len()
	w.write(marker + fence.info)
	w.newline()
	f := Fence{
		Start: start, Body: w.b.Len(),
		Open:  w.prefix + marker + fence.info + "\n",
		Bare:  w.prefix + marker + "\n",
		Line:  w.prefix,
		Close: w.prefix + marker,
	}
	for line := range strings.Lines(b.Code) {
		w.write(strings.TrimSuffix(line, "\n"))
		w.newline()
	}
	f.BodyEnd = w.b.Len()
	w.write(marker)
	f.End = w.b.Len()
	w.fences = append(w.fences, f)
}

func (w *plainWriter) inlines(inlines []Inline) {
	for _, n := range inlines {
		if _, ok := n.(Break); ok {
			w.newline()
			continue
		}
		w.inline(n)
	}
}

func (w *plainWriter) inline(n Inline) {
	switch n := n.(type) {
	case Text:
		w.write(string(n))
	case Code:
		w.kept(func() { w.write(codeSpan(string(n))) })
	case *Emphasis:
		mark := ""
		if n.Style == Strike {
			mark = "~~"
		}
		w.write(mark)
		w.inlines(n.Inlines)
		w.write(mark)
	case *Link:
		w.kept(func() { w.link(n.Inlines, n.URL, n.Auto) })
	case *Image:
		w.kept(func() { w.link(n.Inlines, n.URL, false) })
	}
}

// link writes "text (url)", or one of both if they say the same.
func (w *plainWriter) link(label []Inline, url string, auto bool) {
	start := w.b.Len()
	w.inlines(label)
	shown := strings.TrimLeft(w.b.String()[start:], " ")
	switch {
	case url == "" || auto && shown != "" || sameTarget(shown, url):
	case shown == "":
		w.write(url)
	default:
		w.write(" (" + url + ")")
	}
}

// sameTarget reports whether a label already is the address.
func sameTarget(label, url string) bool {
	return label == url || "mailto:"+label == url || "http://"+label == url || "https://"+label == url
}

// kept writes what should stay in one part.
func (w *plainWriter) kept(write func()) {
	w.startLine()
	start, n := w.b.Len(), len(w.keep)
	write()
	w.keep = append(w.keep[:n], Range{Start: start, End: w.b.Len()})
}

// codeSpan wraps code in backticks that it does not contain.
func codeSpan(code string) string {
	n, longest := 0, 0
	for _, c := range code {
		if c == '`' {
			n++
		} else {
			n = 0
		}
		longest = max(longest, n)
	}
	if longest == 0 {
		return "`" + code + "`"
	}
	marks := strings.Repeat("`", longest+1)
	return marks + " " + code + " " + marks
}
