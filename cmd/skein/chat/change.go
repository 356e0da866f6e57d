package chat

import (
	"context"
	"strings"

	"github.com/skein-bot/skein/channels/console"
)

// lately is among how many messages of a place the newest one is looked for.
const lately = 200

// edit gives the newest message of this person here a new text.
func (s *session) edit(ctx context.Context, text string) {
	if text == "" {
		s.say("write the new text behind /edit")
		return
	}
	s.change(ctx, console.MessageChange{Op: console.OpEdit, Text: text}, "not edited: ")
}

// change does something to the newest message of this person here.
func (s *session) change(ctx context.Context, c console.MessageChange, failed string) {
	m, err := s.newest(ctx)
	if err == nil && m.ID == "" {
		s.say("you have written nothing here lately")
		return
	}
	if err == nil {
		c.By, c.ID = console.User{ID: s.User}, m.ID
		m, err = s.People.Change(ctx, c)
	}
	if err != nil {
		s.say(failed + explain(err))
		return
	}
	s.posted = max(s.posted, m.Changed)
	s.settling = s.Terminal == nil && s.Settled != nil
}

// newest returns the newest message of this person here that is no command, the
// zero message if there is none.
func (s *session) newest(ctx context.Context) (console.Message, error) {
	feed, err := s.People.Feed(ctx, console.FeedRequest{Conversation: s.Conversation, Thread: s.screen.Here(), Only: true, Last: lately})
	if err != nil {
		return console.Message{}, err
	}
	var newest console.Message
	for _, m := range feed.Messages { // in the order of their changes
		if m.By.ID == s.User && !m.Deleted && !strings.HasPrefix(m.Text, "/") && m.Seq > newest.Seq {
			newest = m
		}
	}
	return newest, nil
}
