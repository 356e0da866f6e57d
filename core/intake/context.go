package intake

import (
	"fmt"
	"unicode/utf8"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
)

// What a message brings along as context is bounded besides by its number
// (messages.historyLimit).
const (
	seenText     = 4000     // characters of one message
	contextBytes = 32 << 10 // of all texts together; the oldest are left out
)

// said is what a person's message says to the model.
func said(m core.Message, now core.Millis) model.Item {
	item := model.Item{Kind: model.User, Text: m.Text, MessageID: m.ID, Quote: m.Quote, At: now}
	for _, a := range m.Attachments {
		item.Files = append(item.Files, model.NewFile(m.Address, a))
	}
	if m.Kind == core.Group {
		author := m.Author
		item.Author = &author
	}
	return item
}

// overhear keeps a message of an admitted person that was not for the bot, so
// that the next one that is can bring it along. Nothing else comes of it.
func (s *Service) overhear(tx *store.Tx, m core.Message) error {
	limit := s.Config.HistoryLimit(m.Address.Channel, m.Address.Account)
	item := said(m, s.World.Now())
	if limit <= 0 || item.Text == "" && len(item.Files) == 0 {
		return nil
	}
	item.Text = cutText(item.Text)
	if item.Quote != nil {
		quote := *item.Quote
		quote.Text = cutText(quote.Text)
		item.Quote = &quote
	}
	return tx.InsertSeen(seen(m.Address, item), limit)
}

func seen(at core.Address, item model.Item) store.Seen {
	s := store.Seen{Place: at.Place(), Message: item.MessageID, Body: item.Encode(), At: item.At}
	if item.Author != nil {
		s.Owner = policy.Sender(at.Channel, *item.Author)
	}
	return s
}

// background takes what was seen in a message's place since the bot was
// addressed there before. It becomes part of the message, so that whatever
// happens later the model is asked the same.
func (s *Service) background(tx *store.Tx, m core.Message) ([]model.Item, error) {
	if m.Kind != core.Group {
		return nil, nil
	}
	rows, err := tx.TakeSeen(m.Address.Place(), s.Config.HistoryLimit(m.Address.Channel, m.Address.Account))
	if err != nil {
		return nil, err
	}
	items := make([]model.Item, len(rows))
	left, first := contextBytes, len(rows)
	for i := len(rows) - 1; i >= 0; i-- {
		if items[i], err = model.DecodeItem(rows[i].Body); err != nil {
			return nil, fmt.Errorf("history row %d: %w", rows[i].ID, err)
		}
		if left -= len(items[i].Text); left < 0 {
			break
		}
		first = i
	}
	return items[first:], nil
}

// putBack returns what a message brought along to the history of its place,
// for the next one.
func (s *Service) putBack(tx *store.Tx, at core.Address, context []model.Item) error {
	limit := s.Config.HistoryLimit(at.Channel, at.Account)
	for _, item := range context {
		if err := tx.InsertSeen(seen(at, item), limit); err != nil {
			return err
		}
	}
	return nil
}

// cutText keeps the beginning of a text and says so where it cut.
func cutText(text string) string {
	if utf8.RuneCountInString(text) <= seenText {
		return text
	}
	return string([]rune(text)[:seenText]) + " [cut here: the message is longer]"
}
