package fullscreen

import (
	"regexp"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/skein-bot/skein/channels/text"
)

// markup draws text of messages as lines.
type markup struct {
	theme theme
	measure
	width int
}

// document draws what was written as Markdown.
func (u markup) document(doc *text.Document) []string {
	return u.blocks(doc.Blocks, hang{}, true)
}

// blocks draws blocks one below the other; apart puts an empty line between.
func (u markup) blocks(blocks []text.Block, prefix hang, apart bool) []string {
	var lines []string
	for i, b := range blocks {
		if i > 0 {
			prefix.first = prefix.rest
			if apart {
				lines = append(lines, strings.TrimRight(prefix.rest, " "))
			}
		}
		lines = append(lines, u.block(b, prefix)...)
	}
	return lines
}

func (u markup) block(b text.Block, prefix hang) []string {
	switch b := b.(type) {
	case *text.Paragraph:
		return u.inlines(b.Inlines, u.theme.plain, prefix)
	case *text.Heading:
		return u.inlines(b.Inlines, u.theme.head, prefix)
	case *text.Quote:
		bar := draw(u.theme.dim, "▎") + " "
		return u.blocks(b.Blocks, hang{prefix.first + bar, prefix.rest + bar}, true)
	case *text.List:
		return u.list(b, prefix)
	case *text.CodeBlock:
		return u.code(b, prefix)
	case *text.Table:
		return u.table(b, prefix)
	case *text.Rule:
		return []string{prefix.first + draw(u.theme.rule, strings.Repeat("─", max(u.width-u.measure(prefix.first), 1)))}
	}
	return nil
}

func (u markup) list(l *text.List, prefix hang) []string {
	var lines []string
	for i, item := range l.Items {
		if i > 0 && !l.Tight {
			lines = append(lines, strings.TrimRight(prefix.rest, " "))
		}
		marker := "• "
		if l.Ordered {
			marker = strconv.Itoa(l.Start+i) + ". "
		}
		switch item.Task {
		case text.TaskOpen:
			marker += "☐ "
		case text.TaskDone:
			marker += "☑ "
		}
		own := hang{prefix.first + draw(u.theme.dim, marker), prefix.rest + strings.Repeat(" ", u.measure(marker))}
		drawn := u.blocks(item.Blocks, own, !l.Tight)
		if len(drawn) == 0 {
			drawn = []string{own.first}
		}
		lines = append(lines, drawn...)
		prefix.first = prefix.rest
	}
	return lines
}

// code draws a block of code: tinted where there are colours for it, behind a
// bar elsewhere. Long lines go on below.
func (u markup) code(b *text.CodeBlock, prefix hang) []string {
	lead, pad := " ", 1
	if !u.theme.tinted {
		lead, pad = draw(u.theme.dim, "▎")+" ", 0
	}
	var lines []string
	add := func(style lipgloss.Style, line string) {
		room := max(u.width-u.measure(prefix.rest)-u.measure(lead)-pad, 1)
		for _, part := range u.cut(line, room) {
			out := lead + draw(style, part)
			if u.theme.tinted {
				out = draw(u.theme.block, lead) + draw(style, part) + draw(u.theme.block, strings.Repeat(" ", max(room-u.measure(part), 0)+pad))
			}
			lines = append(lines, prefix.first+out)
			prefix.first = prefix.rest
		}
	}
	if b.Info != "" {
		add(u.theme.lang, b.Info)
	}
	for line := range strings.Lines(b.Code) {
		add(u.theme.block, strings.TrimRight(line, "\n"))
	}
	if len(lines) == 0 {
		add(u.theme.block, "")
	}
	return lines
}

// cut breaks a line of code at room cells, wherever that is. Tabs become
// spaces: a terminal's own would depend on the column.
func (u markup) cut(line string, room int) []string {
	line = untab(line)
	var parts []string
	var b strings.Builder
	used := 0
	for _, g := range glyphsOf([]span{{text: line}}, u.measure) {
		if used+g.width > room && used > 0 {
			parts = append(parts, b.String())
			b.Reset()
			used = 0
		}
		b.WriteString(g.text)
		used += g.width
	}
	return append(parts, b.String())
}

// untab replaces tabs by spaces up to the next multiple of four.
func untab(line string) string {
	if !strings.Contains(line, "\t") {
		return line
	}
	var b strings.Builder
	column := 0
	for _, r := range line {
		if r == '\t' {
			n := 4 - column%4
			b.WriteString(strings.Repeat(" ", n))
			column += n
			continue
		}
		b.WriteRune(r)
		column++
	}
	return b.String()
}

// table draws a table with columns as wide as they need; one that does not fit
// becomes a list of its rows.
func (u markup) table(t *text.Table, prefix hang) []string {
	rows := append([][]text.Cell{t.Header}, t.Rows...)
	widths := make([]int, len(t.Header))
	for _, row := range rows {
		for i, c := range row {
			if i < len(widths) {
				widths[i] = max(widths[i], u.measure(plainOf(c)))
			}
		}
	}
	total := 2 * max(len(widths)-1, 0)
	for _, w := range widths {
		total += w
	}
	if total > u.width-u.measure(prefix.rest) {
		return u.tableAsList(t, prefix)
	}
	var lines []string
	for r, row := range rows {
		var b strings.Builder
		for i, w := range widths {
			var c text.Cell
			if i < len(row) {
				c = row[i]
			}
			style := u.theme.plain
			if r == 0 {
				style = u.theme.strong
			}
			if i > 0 {
				b.WriteString("  ")
			}
			gap := strings.Repeat(" ", w-u.measure(plainOf(c)))
			drawn := paintAll(u.spans(c, style))
			if i < len(t.Align) && t.Align[i] == text.AlignRight {
				b.WriteString(gap + drawn)
			} else {
				b.WriteString(drawn + gap)
			}
		}
		lines = append(lines, prefix.first+b.String())
		prefix.first = prefix.rest
		if r == 0 {
			lines = append(lines, prefix.rest+draw(u.theme.rule, strings.Repeat("─", total)))
		}
	}
	return lines
}

func (u markup) tableAsList(t *text.Table, prefix hang) []string {
	var lines []string
	for r, row := range t.Rows {
		if r > 0 {
			lines = append(lines, prefix.rest)
		}
		for i, c := range row {
			var spans []span
			if i < len(t.Header) {
				spans = append(u.spans(t.Header[i], u.theme.strong), span{": ", u.theme.plain})
			}
			lines = append(lines, wrap(append(spans, u.spans(c, u.theme.plain)...), u.width, hang{prefix.first, prefix.rest}, u.measure)...)
			prefix.first = prefix.rest
		}
	}
	return lines
}

// inlines draws running text.
func (u markup) inlines(list []text.Inline, style lipgloss.Style, prefix hang) []string {
	var lines []string
	var line []text.Inline
	flush := func() {
		lines = append(lines, wrap(u.spans(line, style), u.width, prefix, u.measure)...)
		prefix.first = prefix.rest
		line = nil
	}
	for _, n := range list {
		if _, ok := n.(text.Break); ok {
			flush()
			continue
		}
		line = append(line, n)
	}
	flush()
	return lines
}

// spans draws inlines that have no breaks of their own; one inside becomes a
// space.
func (u markup) spans(list []text.Inline, style lipgloss.Style) []span {
	var out []span
	for _, n := range list {
		switch n := n.(type) {
		case text.Text:
			out = append(out, span{untab(string(n)), style})
		case text.Code:
			out = append(out, span{string(n), u.theme.code.Inherit(style)})
		case *text.Emphasis:
			out = append(out, u.spans(n.Inlines, u.emphasis(n.Style, style))...)
		case *text.Link:
			out = append(out, u.spans(n.Inlines, u.theme.link)...)
			if !n.Auto && plainOf(n.Inlines) != n.URL {
				out = append(out, span{" (" + n.URL + ")", u.theme.dim})
			}
		case *text.Image:
			out = append(out, u.spans(n.Inlines, u.theme.italic)...)
			out = append(out, span{" (" + n.URL + ")", u.theme.dim})
		case text.Break:
			out = append(out, span{" ", style})
		}
	}
	return out
}

func (u markup) emphasis(s text.Style, on lipgloss.Style) lipgloss.Style {
	switch s {
	case text.Bold:
		return on.Bold(true)
	case text.Strike:
		return on.Strikethrough(true)
	}
	return on.Italic(true)
}

func paintAll(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(draw(s.style, s.text))
	}
	return b.String()
}

func plainOf(list []text.Inline) string {
	var b strings.Builder
	for _, s := range (markup{}).spans(list, lipgloss.Style{}) {
		b.WriteString(s.text)
	}
	return b.String()
}

var (
	itemLine  = regexp.MustCompile(`^( *)([-*•]|\d{1,9}[.)]) +`)
	fenceLine = regexp.MustCompile("^ {0,3}(```+|~~~+) *([^`]*)$")
	codeSpan  = regexp.MustCompile("(`+)([^`\n]+)(`+)")
)

// plainText reads text that is plain already, as commands and people write it:
// fences, items, quotes and code spans are seen, nothing is taken for emphasis,
// and every line stays one.
func plainText(s string) []textLine {
	var lines []textLine
	var code *text.CodeBlock
	fence := ""
	for line := range strings.Lines(strings.TrimRight(s, "\n")) {
		line = strings.TrimRight(line, "\r\n")
		f := fenceLine.FindStringSubmatch(line)
		switch {
		case code != nil && f != nil && strings.HasPrefix(f[1], fence) && f[2] == "":
			code = nil
		case code != nil:
			code.Code += line + "\n"
		case f != nil:
			code, fence = &text.CodeBlock{Info: strings.TrimSpace(f[2])}, f[1]
			lines = append(lines, textLine{code: code})
		default:
			lines = append(lines, textLine{text: line})
		}
	}
	return lines
}

// textLine is a line of plain text, or a block of code in it.
type textLine struct {
	text string
	code *text.CodeBlock
}

// plain draws plain text.
func (u markup) plain(s string) []string {
	var lines []string
	for _, l := range plainText(s) {
		if l.code != nil {
			lines = append(lines, u.code(l.code, hang{})...)
			continue
		}
		lines = append(lines, u.plainLine(l.text)...)
	}
	return lines
}

// plainLine draws one line; what it continues with is indented like an item.
func (u markup) plainLine(line string) []string {
	lead := ""
	if item := itemLine.FindString(line); item != "" && u.measure(item) < u.width/2 {
		lead, line = untab(item), line[len(item):]
	} else if quoted, ok := strings.CutPrefix(line, "> "); ok {
		bar := draw(u.theme.dim, "▎") + " "
		return wrap([]span{{untab(quoted), u.theme.dim}}, u.width, hang{bar, bar}, u.measure)
	}
	var spans []span
	at := 0
	for _, m := range codeSpan.FindAllStringSubmatchIndex(line, -1) {
		if m[3]-m[2] != m[7]-m[6] { // not the same number of marks
			continue
		}
		spans = append(spans, span{untab(line[at:m[0]]), u.theme.plain}, span{line[m[4]:m[5]], u.theme.code})
		at = m[1]
	}
	spans = append(spans, span{untab(line[at:]), u.theme.plain})
	return wrap(spans, u.width, hang{draw(u.theme.dim, lead), strings.Repeat(" ", u.measure(lead))}, u.measure)
}
