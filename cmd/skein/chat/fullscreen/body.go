package fullscreen

import (
	"cmp"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/channels/text"
	"github.com/skein-bot/skein/cmd/skein/chat"
)

// drawing is what lines were drawn for: when it differs they are drawn again.
type drawing struct{ width, number int }

// cachedLines are the lines of a whole place.
type cachedLines struct {
	lines   []string
	starts  []int // line at which each message begins
	drawn   drawing
	version int
}

const (
	textWidth   = 100             // cells of the widest text
	groupWithin = 5 * time.Minute // messages of one author in it share a head
)

// bodyWidth is how wide text is.
func (m *Model) bodyWidth() int { return min(max(m.paneWidth()-2, 1), textWidth) }

// body returns the lines of a place.
func (m *Model) body(p *place) *cachedLines {
	now := drawing{m.bodyWidth(), m.drawing}
	if c := &p.lines; c.lines != nil && c.drawn == now && c.version == p.version {
		return c
	}
	c := cachedLines{drawn: now, version: p.version, starts: make([]int, len(p.messages))}
	c.lines = append(c.lines, m.greeting(p)...)
	var before *message
	for i, x := range p.messages {
		c.starts[i] = len(c.lines)
		if x.Deleted && !x.pending && x.EditedAt == 0 && x.Text == "" && before == nil {
			// Nothing of it was ever shown here.
			continue
		}
		c.lines = append(c.lines, m.between(p, before, x)...)
		c.lines = append(c.lines, m.message(x, now)...)
		before = x
	}
	if before == nil {
		c.lines = append(c.lines, draw(m.theme.dim, textEmpty))
	}
	p.lines = c
	return &p.lines
}

func (m *Model) greeting(p *place) []string {
	if m.o.Greeting == "" || p.at.Thread != "" || p.at.Conversation != m.o.Conversation {
		return nil
	}
	u := markup{m.theme, m.measure, m.bodyWidth()}
	lines := u.plain(strings.TrimSpace(m.o.Greeting))
	return append(lines, "")
}

// between returns the lines before a message: the day, the line "new", and who
// wrote it.
func (m *Model) between(p *place, before, x *message) []string {
	var lines []string
	day := m.at(x).Format("Monday, 2 January 2006")
	if before == nil || m.at(before).Format("Monday, 2 January 2006") != day {
		if before != nil {
			lines = append(lines, "")
		}
		lines = append(lines, m.line(day, m.theme.rule, m.theme.dim))
		before = nil
	}
	if p.mark != 0 && x.Seq == p.mark && !x.pending {
		lines = append(lines, m.line(textNew, m.theme.mark, m.theme.mark))
		before = nil
	}
	if x.notice {
		return append(lines, "")
	}
	if before != nil {
		lines = append(lines, "")
	}
	if before == nil || before.notice || m.author(before) != m.author(x) || m.at(x).Sub(m.at(before)) > groupWithin || x.pending != before.pending {
		lines = append(lines, m.head(x))
	}
	return lines
}

// line is a rule across the text with a word in it.
func (m *Model) line(word string, rule, style lipgloss.Style) string {
	room := max(m.bodyWidth()-m.measure(word)-4, 0)
	return draw(rule, "──") + " " + draw(style, word) + " " + draw(rule, strings.Repeat("─", room))
}

func (m *Model) at(x *message) time.Time { return time.UnixMilli(int64(x.At)).In(m.o.Zone) }

func (m *Model) author(x *message) string { return printable(chat.Author(m.o.User, x.Message)) }

// head says who wrote a message, and when.
func (m *Model) head(x *message) string {
	style := m.theme.persona
	switch {
	case x.By.ID == m.o.User:
		style = m.theme.you
	case x.Persona == "":
		style = m.theme.bot
	}
	notes := m.at(x).Format("15:04")
	switch {
	case x.pending:
		notes = textSending
	case x.EditedAt != 0 && !x.By.Bot && !x.Deleted:
		notes += " · " + textEdited
	}
	name := clip(m.author(x), max(m.bodyWidth()-m.measure(notes)-2, 1), m.measure)
	return draw(style, name) + "  " + draw(m.theme.dim, notes)
}

// message returns the lines of a message's own text.
func (m *Model) message(x *message, now drawing) []string {
	if x.drawn == now && x.lines != nil {
		return x.lines
	}
	u := markup{m.theme, m.measure, now.width}
	switch {
	case x.notice:
		x.lines = wrap([]span{{printable(strings.ReplaceAll(x.Text, "\n", " ")), m.theme.warn}}, now.width, hang{}, m.measure)
	case x.Deleted:
		x.lines = []string{draw(m.theme.dim, textDeleted)}
	default:
		x.lines = append(m.said(u, x), m.attachments(x.Message)...)
	}
	x.drawn = now
	return x.lines
}

// said draws the text of a message.
func (m *Model) said(u markup, x *message) []string {
	said := strings.TrimSpace(printable(x.Text))
	if said == "" {
		return nil
	}
	if x.pending {
		u.theme.plain = u.theme.dim
	}
	if x.Markdown != "" {
		return u.document(text.Parse(printable(x.Markdown)))
	}
	return u.plain(said)
}

func (m *Model) attachments(x console.Message) []string {
	var lines []string
	for _, f := range x.Files {
		lines = append(lines, draw(m.theme.dim, clip("▤ "+printable(cmp.Or(f.Name, f.Type)), m.bodyWidth(), m.measure)))
	}
	for _, b := range x.Buttons {
		lines = append(lines, draw(m.theme.link, clip("["+printable(b)+"]", m.bodyWidth(), m.measure)))
	}
	for _, r := range x.Reactions {
		lines = append(lines, draw(m.theme.dim, clip(printable(r.Emoji+" "+cmp.Or(r.By.Name, r.By.ID)), m.bodyWidth(), m.measure)))
	}
	return lines
}

// printable takes out what would steer the terminal, and what turns the
// direction of text round for more than itself.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2066', '\u2067', '\u2068', '\u2069':
			return -1
		}
		return r
	}, chat.Clean(s))
}

// total counts the lines of a place.
func (m *Model) total(p *place) int { return len(m.body(p).lines) }

// window returns the lines of the place that fit into rows.
func (m *Model) window(p *place, rows int) []string {
	all := m.body(p).lines
	p.scroll = min(p.scroll, max(len(all)-rows, 0))
	end := len(all) - p.scroll
	return all[max(end-rows, 0):end]
}

// below counts messages under the window that were not read.
func (p *place) below() int { return p.unread }

// anchor is the message at the top of the window, and how many lines of it are
// above.
func (m *Model) anchor(p *place) (msg, above int) {
	c := m.body(p)
	top := max(len(c.lines)-p.scroll-m.bodyHeight(), 0)
	for i, start := range c.starts {
		if start > top {
			break
		}
		msg, above = i, top-start
	}
	return msg, above
}

// restore scrolls to an anchor.
func (m *Model) restore(p *place, msg, above int) {
	c := m.body(p)
	if msg < len(c.starts) {
		m.scrollTo(len(c.lines) - c.starts[msg] - above - m.bodyHeight())
	}
}
