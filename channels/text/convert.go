package text

import (
	"bytes"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// converter turns goldmark's tree into ours.
type converter struct {
	source []byte
	used   map[string]bool // link definitions that a link refers to
}

// usedDefinitions collects the normalised labels of all reference links.
func usedDefinitions(root ast.Node) map[string]bool {
	used := make(map[string]bool)
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		var ref *ast.ReferenceLink
		switch n := n.(type) {
		case *ast.Link:
			ref = n.Reference
		case *ast.Image:
			ref = n.Reference
		}
		if entering && ref != nil {
			used[util.ToLinkReference(ref.Value)] = true
		}
		return ast.WalkContinue, nil
	})
	return used
}

func (c *converter) blocks(parent ast.Node) []Block {
	var out []Block
	definition := false
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		d, isDefinition := n.(*ast.LinkReferenceDefinition)
		if !isDefinition {
			if b := c.block(n); b != nil {
				out = append(out, b)
			}
		} else if p := c.definition(d); p != nil {
			out = appendJoined(out, []Block{p}, definition)
		}
		definition = isDefinition
	}
	return out
}

func (c *converter) block(n ast.Node) Block {
	switch n := n.(type) {
	case *ast.Heading:
		return &Heading{Level: n.Level, Inlines: c.inlines(n)}
	case *ast.Blockquote:
		return &Quote{Blocks: c.blocks(n)}
	case *ast.List:
		return c.list(n)
	case *fenceNode:
		return &CodeBlock{Info: oneLine(unescape(n.info)), Code: c.lines(n.Lines())}
	case *ast.CodeBlock:
		return &CodeBlock{Code: c.lines(n.Lines())}
	case *ast.ThematicBreak:
		return &Rule{}
	case *extast.Table:
		return c.table(n)
	default: // Paragraph, TextBlock
		if inlines := c.inlines(n); len(inlines) > 0 {
			return &Paragraph{Inlines: inlines}
		}
		return nil
	}
}

// definition keeps a link definition that nothing refers to: chat uses such
// lines as footnotes.
func (c *converter) definition(d *ast.LinkReferenceDefinition) Block {
	if c.used[util.ToLinkReference(d.Label)] {
		return nil
	}
	url := target(d.Destination)
	inlines := []Inline{Text("[" + target(d.Label) + "]: "), &Link{URL: url, Auto: true, Inlines: []Inline{Text(url)}}}
	if len(d.Title) > 0 {
		inlines = append(inlines, Text(` "`+target(d.Title)+`"`))
	}
	return &Paragraph{Inlines: inlines}
}

func (c *converter) list(n *ast.List) Block {
	l := &List{Ordered: n.IsOrdered(), Start: n.Start, Tight: n.IsTight}
	for li := n.FirstChild(); li != nil; li = li.NextSibling() {
		item := Item{Blocks: c.blocks(li)}
		if first := li.FirstChild(); first != nil {
			if box, ok := first.FirstChild().(*extast.TaskCheckBox); ok {
				item.Task = TaskOpen
				if box.IsChecked {
					item.Task = TaskDone
				}
			}
		}
		l.Items = append(l.Items, item)
	}
	return l
}

func (c *converter) table(n *extast.Table) Block {
	t := &Table{}
	for _, a := range n.Alignments {
		switch a {
		case extast.AlignLeft:
			t.Align = append(t.Align, AlignLeft)
		case extast.AlignCenter:
			t.Align = append(t.Align, AlignCenter)
		case extast.AlignRight:
			t.Align = append(t.Align, AlignRight)
		default:
			t.Align = append(t.Align, AlignNone)
		}
	}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []Cell
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			inlines := c.inlines(cell)
			if cell.NextSibling() == nil {
				inlines = append(inlines, c.surplus(cell)...)
			}
			cells = append(cells, inlines)
		}
		if row.Kind() == extast.KindTableHeader {
			t.Header = cells
			continue
		}
		for len(cells) > 0 && len(cells[len(cells)-1]) == 0 {
			cells = cells[:len(cells)-1]
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// surplus gives what a row holds behind its last column; goldmark drops it.
func (c *converter) surplus(cell ast.Node) []Inline {
	if cell.Lines().Len() == 0 {
		return nil
	}
	rest := c.source[cell.Lines().At(cell.Lines().Len()-1).Stop:]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	var cells []string
	for s := range strings.SplitSeq(string(rest), "|") {
		if s = strings.TrimSpace(s); s != "" {
			cells = append(cells, oneLine(unescape(s)))
		}
	}
	if len(cells) == 0 {
		return nil
	}
	return []Inline{Text(" | " + strings.Join(cells, " | "))}
}

func (c *converter) inlines(parent ast.Node) []Inline {
	var out []Inline
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			out = appendText(out, oneLine(unescape(string(n.Segment.Value(c.source)))))
			if n.HardLineBreak() || n.SoftLineBreak() {
				out = append(out, Break{Soft: !n.HardLineBreak()})
			}
		case *ast.String:
			out = appendText(out, string(n.Value))
		case *ast.CodeSpan:
			out = append(out, Code(c.raw(n)))
		case *ast.Emphasis:
			style := Italic
			if n.Level == 2 {
				style = Bold
			}
			out = append(out, &Emphasis{Style: style, Inlines: c.inlines(n)})
		case *extast.Strikethrough:
			out = append(out, &Emphasis{Style: Strike, Inlines: c.inlines(n)})
		case *ast.Link:
			out = append(out, &Link{URL: target(n.Destination), Title: target(n.Title), Inlines: c.inlines(n)})
		case *ast.Image:
			out = append(out, &Image{URL: target(n.Destination), Title: target(n.Title), Inlines: c.inlines(n)})
		case *ast.AutoLink:
			out = append(out, c.autoLink(n))
		}
	}
	return out
}

func (c *converter) autoLink(n *ast.AutoLink) Inline {
	url, label := string(n.URL(c.source)), string(n.Label(c.source))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(url), "mailto:") {
		url = "mailto:" + url
	}
	return &Link{URL: url, Auto: true, Inlines: []Inline{Text(label)}}
}

// appendText appends text, to the last node if that is text too.
func appendText(out []Inline, s string) []Inline {
	if s == "" {
		return out
	}
	if n := len(out); n > 0 {
		if last, ok := out[n-1].(Text); ok {
			out[n-1] = last + Text(s)
			return out
		}
	}
	return append(out, Text(s))
}

// raw gives the text of a code span; its line ends are blanks.
func (c *converter) raw(n ast.Node) string {
	var b strings.Builder
	for t := n.FirstChild(); t != nil; t = t.NextSibling() {
		switch t := t.(type) {
		case *ast.Text:
			b.Write(t.Segment.Value(c.source))
		case *ast.String:
			b.Write(t.Value)
		}
	}
	return oneLine(b.String())
}

func (c *converter) lines(l *text.Segments) string {
	var b strings.Builder
	for i := range l.Len() {
		s := l.At(i)
		b.Write(s.Value(c.source))
	}
	return b.String()
}

// target gives a URL, a title or a label as one line.
func target(b []byte) string { return oneLine(unescape(string(b))) }

// oneLine blanks line ends, which a character reference can smuggle in.
func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

// unescape resolves backslash escapes and character references in one pass, so
// that nothing is resolved twice.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		switch {
		case s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			b.WriteByte(s[i+1])
			i += 2
		case s[i] == '&' && entityLength(s[i:]) > 0:
			n := entityLength(s[i:])
			b.WriteString(html.UnescapeString(s[i : i+n]))
			i += n
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}
