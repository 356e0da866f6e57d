package fullscreen

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// The smallest window that is drawn.
const (
	leastWidth  = 24
	leastHeight = 8
)

// Rows of the pane besides the conversation and the line that is written on:
// head, rule, status, rule, foot.
const paneRows = 5

func (m *Model) tooSmall() bool { return m.width < leastWidth || m.height < leastHeight }

// bodyHeight is how many rows the conversation has.
func (m *Model) bodyHeight() int { return max(m.height-paneRows-m.input.Height(), 1) }

// resize takes over the size of the window. What is at its top stays there.
func (m *Model) resize(width, height int) {
	p := m.places.here
	held := p.scroll > 0 && m.width > 0
	var msg, above int
	if held {
		msg, above = m.anchor(p)
	}
	m.width, m.height = width, height
	m.input.MaxHeight = max(min(inputLines, height-paneRows-2), 1)
	m.layoutInput()
	if held {
		m.restore(p, msg, above)
	}
}

func (m *Model) layoutInput() {
	if m.width > 0 {
		m.input.SetWidth(max(m.paneWidth()-2, 4))
	}
}

// View implements tea.Model.
func (m *Model) View() tea.View {
	v := tea.View{AltScreen: true, ReportFocus: true, MouseMode: tea.MouseModeCellMotion, WindowTitle: m.title()}
	if m.selecting {
		v.MouseMode = tea.MouseModeNone
	}
	switch {
	case m.width == 0:
		return v
	case m.tooSmall():
		v.Content = textTooSmall
		return v
	}
	v.Content = strings.Join(m.rows(), "\n")
	if c := m.input.Cursor(); c != nil && !m.helping {
		x := 1
		if side := m.sideWidth(); side > 0 {
			x = side + 2
		}
		c.X += x
		c.Y += m.height - 1 - m.input.Height()
		v.Cursor = c
	}
	return v
}

func (m *Model) title() string {
	title := textTitle + " · " + m.places.here.name()
	if n := m.places.unread(); n > 0 {
		title += fmt.Sprintf(" (%d)", n)
	}
	return title
}

// rows draws the window: the list, a line between, and the pane.
func (m *Model) rows() []string {
	pane := m.pane()
	width := m.sideWidth()
	if width == 0 {
		return pane
	}
	bar := draw(m.theme.rule, "│")
	side := append([]string{m.sideHead(width), draw(m.theme.rule, strings.Repeat("─", width))}, m.side()...)
	for i := range pane {
		between := bar
		switch i {
		case 1:
			between = draw(m.theme.rule, "┼")
		case m.height - 2 - m.input.Height():
			between = draw(m.theme.rule, "├")
		}
		pane[i] = side[i] + between + pane[i]
	}
	return pane
}

func (m *Model) sideHead(width int) string {
	right, style := "", m.theme.dim
	if m.away || !m.attached {
		right, style = m.spinner()+" ", m.theme.warn
	}
	return fill(" "+draw(m.theme.strong, textTitle), width-m.measure(right), m.measure) + draw(style, right)
}

// pane draws the conversation and what belongs to it.
func (m *Model) pane() []string {
	width := m.paneWidth()
	rule := draw(m.theme.rule, strings.Repeat("─", width))
	rows := []string{m.head2(width), rule}
	rows = append(rows, m.middle(m.bodyHeight())...)
	rows = append(rows, m.status(width), rule)
	for line := range strings.SplitSeq(m.input.View(), "\n") {
		rows = append(rows, " "+line)
	}
	return append(rows[:m.height-1], m.foot(width))
}

// head2 says where one is, and what goes on there.
func (m *Model) head2(width int) string {
	p := m.places.here
	name := clip(p.name(), max(width*6/10, 1), m.measure)
	about := clip(m.about(p), width-m.measure(name)-5, m.measure)
	left := " " + draw(m.theme.strong, name)
	if about != "" {
		left += "  " + draw(m.stateStyle(p.state()), about)
	}
	return left
}

// middle draws the conversation, or what covers it.
func (m *Model) middle(rows int) []string {
	if m.helping {
		return m.help(rows)
	}
	lines := m.window(m.places.here, rows)
	out := make([]string, 0, rows)
	for range rows - len(lines) {
		out = append(out, "")
	}
	for _, l := range lines {
		out = append(out, " "+l)
	}
	return m.cover(out)
}

// cover puts the completions over the last rows.
func (m *Model) cover(rows []string) []string {
	list, at := m.offered()
	if len(list) == 0 {
		return rows
	}
	first := 0
	n := min(len(list), suggestions, len(rows)-1)
	if at >= n {
		first = at - n + 1
	}
	name := 0
	for _, c := range list[first : first+n] {
		name = max(name, m.measure(c.Name)+1)
	}
	width := m.paneWidth()
	name = min(name, width/2)
	rows[len(rows)-n-1] = draw(m.theme.rule, strings.Repeat("─", width))
	for i := range n {
		c := list[first+i]
		mark, style := "  ", m.theme.code
		if first+i == at {
			mark, style = draw(m.theme.you, "› "), m.theme.code.Bold(true)
		}
		row := " " + mark + fill(draw(style, clip("/"+c.Name, name, m.measure)), name, m.measure)
		row += "  " + draw(m.theme.dim, clip(c.Summary, width-name-6, m.measure))
		rows[len(rows)-n+i] = row
	}
	return rows
}

// usage is how the command on the line is written, "" if there is none to say.
func (m *Model) usage() string {
	word, _, spaced := strings.Cut(m.input.Value(), " ")
	list, at := m.offered()
	for i, c := range m.commands {
		chosen := at >= 0 && list[at].Name == c.Name || len(list) == 1 && list[0].Name == c.Name
		if m.commands[i].Usage != "" && (chosen || spaced && word == "/"+c.Name) {
			return "/" + c.Name + " " + c.Usage
		}
	}
	return ""
}

// status is the line above the one that is written on: at the left what is
// going on, at the right what is below.
func (m *Model) status(width int) string {
	p := m.places.here
	right, rightStyle := "", m.theme.dim
	switch {
	case p.below() > 0 && p.scroll > 0:
		right, rightStyle = textBelow(p.below()), m.theme.mark
	case p.scroll > 0:
		right = textScrolled
	}
	left, style := m.going(p)
	right = clip(right, width-2, m.measure)
	left = clip(left, width-m.measure(right)-3, m.measure)
	return fill(" "+draw(style, left), width-m.measure(right)-1, m.measure) + draw(rightStyle, right)
}

// going says what is going on.
func (m *Model) going(p *place) (string, lipgloss.Style) {
	switch {
	case m.away:
		return m.spinner() + " " + textAway, m.theme.warn
	case m.selecting:
		return textSelecting, m.theme.dim
	case m.usage() != "":
		return m.usage(), m.theme.dim
	case m.notice != "":
		return printable(strings.ReplaceAll(m.notice, "\n", " ")), m.theme.busy
	case p.busy():
		return m.spinner() + " " + textWriting(m.who(p), m.o.Clock.Now().Sub(p.since)), m.theme.dim
	case p.state() == StateEnded && p.at.Thread != "":
		return textEndedHere, m.theme.dim
	}
	return "", m.theme.dim
}

// who is working in a place.
func (m *Model) who(p *place) string {
	if p.at.Thread != "" && p.thread.Title != "" {
		return printable(p.thread.Title)
	}
	if p.work.Agent != "" {
		return printable(p.work.Agent)
	}
	return textTitle
}

func (m *Model) foot(width int) string {
	hint := textHint
	if m.measure(hint) > width-2 {
		hint = textHintSmall
	}
	if m.width < sideLeast {
		if n := m.places.unread(); n > 0 {
			hint = fmt.Sprintf("%d %s · %s", n, textNew, textHintSmall)
		}
	}
	return " " + draw(m.theme.dim, clip(hint, width-2, m.measure))
}

// help draws the keys.
func (m *Model) help(rows int) []string {
	width := m.paneWidth()
	keys := 0
	for _, r := range helpRows() {
		keys = max(keys, m.measure(r.keys))
	}
	var lines []string
	for _, r := range helpRows() {
		if r.keys == "" {
			lines = append(lines, " "+draw(m.theme.head, r.does))
			continue
		}
		lines = append(lines, " "+fill(draw(m.theme.code, r.keys), keys, m.measure)+"  "+draw(m.theme.plain, clip(r.does, width-keys-4, m.measure)))
	}
	lines = append(lines, " "+draw(m.theme.dim, clip(helpStates(), width-2, m.measure)))
	for len(lines) < rows {
		lines = append(lines, "")
	}
	return lines[:rows]
}
