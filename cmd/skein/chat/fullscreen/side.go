package fullscreen

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
)

// The list of places at the left.
const (
	sideTop   = 2  // rows above it
	sideLeast = 64 // the narrowest window that has it
)

func (m *Model) sideWidth() int {
	if m.selecting || m.width < sideLeast {
		return 0
	}
	return min(max(m.width*28/100, 22), 36)
}

// paneWidth is how wide the conversation is.
func (m *Model) paneWidth() int {
	if side := m.sideWidth(); side > 0 {
		return m.width - side - 1
	}
	return m.width
}

// roomy tells that every place has a second line with its details.
func (m *Model) roomy() bool { return m.sideWidth() >= 30 && 2*len(m.places.list) <= m.height-sideTop }

// listed returns the place in a row of the list, nil for none.
func (m *Model) listed(row int) *place {
	list, first := m.listWindow()
	if m.roomy() {
		row /= 2
	}
	if row < 0 || first+row >= len(list) {
		return nil
	}
	return list[first+row]
}

// listWindow returns the places and the first one that is shown: the present
// one always is.
func (m *Model) listWindow() (list []*place, first int) {
	list = m.places.ordered()
	rows := m.height - sideTop
	if m.roomy() {
		rows /= 2
	}
	for i, p := range list {
		if p == m.places.here && i >= rows {
			first = i - rows + 1
		}
	}
	return list, first
}

// side draws the list, a line for each row.
func (m *Model) side() []string {
	width := m.sideWidth()
	if width == 0 {
		return nil
	}
	rows := m.height - sideTop
	list, first := m.listWindow()
	var lines []string
	for _, p := range list[first:] {
		lines = append(lines, m.entry(p, width))
		if m.roomy() {
			lines = append(lines, m.details(p, width))
		}
	}
	for len(lines) < rows {
		lines = append(lines, strings.Repeat(" ", width))
	}
	return lines[:rows]
}

// entry draws a place of the list: what goes on, its name, and at the right
// what is unread or how long it has been working.
func (m *Model) entry(p *place, width int) string {
	bar, style := " ", m.theme.plain
	if p == m.places.here {
		bar, style = draw(m.theme.you, "▌"), m.theme.here
	}
	indent := ""
	if p.at.Thread != "" {
		indent = " "
	}
	mark := m.mark(p)
	right, rightStyle := "", m.theme.dim
	switch {
	case p.unread > 0:
		right, rightStyle = fmt.Sprintf("%d ", p.unread), m.theme.badge
		style = style.Bold(true)
	case p.busy():
		right = duration(m.o.Clock.Now().Sub(p.since)) + " "
	}
	if p.state() == StateEnded && p != m.places.here {
		style = m.theme.dim
	}
	room := width - 1 - len(indent) - 2 - m.measure(right) - 1
	name := clip(p.name(), room, m.measure)
	left := bar + indent + mark + " " + draw(style, name)
	return fill(left, width-m.measure(right), m.measure) + draw(rightStyle, right)
}

// details draws the second line of a place.
func (m *Model) details(p *place, width int) string {
	indent := 3
	if p.at.Thread != "" {
		indent = 4
	}
	return fill(strings.Repeat(" ", indent)+draw(m.theme.dim, clip(m.aboutIn(p, width-indent-1), width-indent-1, m.measure)), width, m.measure)
}

// aboutIn is about without the agent's name where there is no room for it.
func (m *Model) aboutIn(p *place, room int) string {
	text := m.about(p)
	if m.measure(text) > room && p.work.Agent != "" {
		text = strings.TrimPrefix(text, printable(p.work.Agent)+" · ")
	}
	return text
}

// about says who is in a place, what goes on there and when it ends.
func (m *Model) about(p *place) string {
	var parts []string
	if p.work.Agent != "" {
		parts = append(parts, p.work.Agent)
	}
	if s := p.state(); s != StateIdle || p.work.Bound {
		parts = append(parts, stateText(s))
	}
	if p.work.Detail != "" && p.state() == StateFailed {
		parts = append(parts, p.work.Detail)
	}
	if ends := p.work.Ends; ends != 0 && p.state() != StateEnded {
		parts = append(parts, textEnds(time.UnixMilli(int64(ends)).Sub(m.o.Clock.Now())))
	}
	return printable(strings.Join(parts, " · "))
}

// spinner has one cell a frame.
const spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

func (m *Model) spinner() string {
	frames := []rune(spinner)
	return string(frames[m.frame%len(frames)])
}

// mark draws what goes on in a place, in one cell.
func (m *Model) mark(p *place) string {
	s := p.state()
	if s == StateRunning {
		return draw(m.theme.busy, m.spinner())
	}
	return draw(m.stateStyle(s), icon(s, p.work.Bound))
}

func (m *Model) stateStyle(s State) lipgloss.Style {
	switch s {
	case StateRunning, StateQueued, StateWaiting:
		return m.theme.busy
	case StateDone:
		return m.theme.good
	case StateFailed:
		return m.theme.bad
	}
	return m.theme.dim
}
