package fullscreen

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/skein-bot/skein/channels/console"
)

// reword gives the newest message of this person here a new text.
func (m *Model) reword(text string) tea.Cmd {
	if text == "" {
		m.say(textEditWhat)
		return nil
	}
	return m.change(console.MessageChange{Op: console.OpEdit, Text: text})
}

// change does something to the newest message of this person here that is no
// command.
func (m *Model) change(c console.MessageChange) tea.Cmd {
	p := m.places.here
	for _, x := range p.messages {
		if x.By.ID == m.o.User && !x.pending && !x.notice && !x.Deleted && !strings.HasPrefix(x.Text, "/") {
			c.ID = x.ID
		}
	}
	if c.ID == "" {
		m.say(textNothingHere)
		return nil
	}
	c.By = console.User{ID: m.o.User}
	return m.do(func(ctx context.Context) tea.Msg {
		changed, err := m.o.People.Change(ctx, c)
		if ctx.Err() != nil {
			return nil
		}
		return changedMsg{p.at, changed, err}
	})
}

// changed takes over the console's answer.
func (m *Model) changed(msg changedMsg) tea.Cmd {
	if msg.err != nil {
		m.say(textNotChanged(explain(msg.err)))
		return nil
	}
	m.places.at(msg.at).put(msg.message)
	return m.poll(pollSoon)
}
