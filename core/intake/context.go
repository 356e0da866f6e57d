package intake

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/command"
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
	return tx.InsertSeen(seen(m.Address, short(item)), limit)
}

// short bounds what an item of context says.
func short(item model.Item) model.Item {
	item.Text = cutText(item.Text)
	if item.Quote != nil {
		quote := *item.Quote
		quote.Text = cutText(quote.Text)
		item.Quote = &quote
	}
	return item
}

func seen(at core.Address, item model.Item) store.Seen {
	s := store.Seen{Place: at.Place(), Message: item.MessageID, Body: item.Encode(), At: item.At}
	if item.Author != nil {
		s.Owner = policy.Sender(at.Channel, *item.Author)
	}
	return s
}

// past is what a platform says was said before a message.
type past struct{ messages []core.Message }

const (
	// historyTimeout is how long a platform may take to say it. Meanwhile no
	// further update of the account comes.
	historyTimeout = 2 * time.Second
	// historyReach is how far back a platform is asked at least: among the
	// messages are those of the bot and of people who are not heard.
	historyReach = 100
)

// saidBefore asks the platform what was said before a message that addresses
// the bot where it must be addressed. nil means that what was seen serves: the
// platform cannot tell, or did not.
func (s *Service) saidBefore(ctx context.Context, m core.Message) *past {
	limit := s.Config.HistoryLimit(m.Address.Channel, m.Address.Account)
	if m.Kind != core.Group || m.Event != core.EventMessage && m.Event != "" || m.Author.Self || limit <= 0 || s.History == nil {
		return nil
	}
	reader := s.History(m.Address.Channel, m.Address.Account)
	if reader == nil || !s.Config.Access(m.Address.Channel, m.Address.Account).MentionAt(m.Address, m.Guild) {
		return nil
	}
	cmd, isCommand := command.Parse(m.Text)
	if isCommand || !policy.Decide(s.asks(m, cmd, isCommand)).Allowed() {
		return nil
	}
	ctx, cancel := s.World.Clock.WithTimeout(ctx, historyTimeout)
	defer cancel()
	messages, err := reader.History(ctx, m.Address, m.ID, max(limit, historyReach))
	if err != nil {
		s.Log.Warn("the platform did not say what was said before; what was seen serves", "address", m.Address.String(), "error", err)
		return nil
	}
	return &past{messages}
}

// overheard returns those messages before one that are its context: since the
// bot was addressed the last time, of people who are admitted, as overhear
// would have kept them.
func (s *Service) overheard(before *past, at core.Address) (items []model.Item) {
	limit := s.Config.HistoryLimit(at.Channel, at.Account)
	for _, m := range slices.Backward(before.messages) {
		m.Text, m.Address.Channel, m.Address.Account = cleanText(m.Text), at.Channel, at.Account
		if m.Author.Self {
			continue
		}
		cmd, isCommand := command.Parse(m.Text)
		decision := policy.Decide(s.asks(m, cmd, isCommand))
		if decision.Allowed() || len(items) == limit {
			break
		}
		if item := said(m, m.At); decision.Reason == policy.ReasonNotAddressed && !isCommand && (item.Text != "" || len(item.Files) > 0) {
			items = append(items, short(item))
		}
	}
	slices.Reverse(items)
	return items
}

// background is what a message brings along: what was said in its place since
// the bot was addressed there before. It becomes part of the message, so that
// whatever happens later the model is asked the same.
func (s *Service) background(tx *store.Tx, m core.Message, before *past) ([]model.Item, error) {
	if m.Kind != core.Group {
		return nil, nil
	}
	items, err := s.takeSeen(tx, m)
	if before != nil && err == nil {
		items = s.overheard(before, m.Address)
	}
	left, first := contextBytes, len(items)
	for first > 0 {
		if left -= len(items[first-1].Text); left < 0 {
			break
		}
		first--
	}
	return items[first:], err
}

// takeSeen takes what was seen in a message's place.
func (s *Service) takeSeen(tx *store.Tx, m core.Message) ([]model.Item, error) {
	rows, err := tx.TakeSeen(m.Address.Place(), s.Config.HistoryLimit(m.Address.Channel, m.Address.Account))
	if err != nil {
		return nil, err
	}
	items := make([]model.Item, len(rows))
	for i, row := range rows {
		if items[i], err = model.DecodeItem(row.Body); err != nil {
			return nil, fmt.Errorf("history row %d: %w", row.ID, err)
		}
	}
	return items, nil
}

// putBack returns what a message brought along to the history of its place,
// for the next one.
func (s *Service) putBack(tx *store.Tx, at core.Address, items []model.Item) error {
	limit := s.Config.HistoryLimit(at.Channel, at.Account)
	for _, item := range items {
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
