package intake

import (
	"errors"
	"fmt"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/command"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
)

// edited replaces the text of a message that still waits, for a turn or as
// context. For one that the last turn has taken already it is kept for /retry,
// and that is offered. An edit never starts a turn and is never a command.
func (s *Service) edited(tx *store.Tx, m core.Message) error {
	decision := policy.Decide(s.asks(m, command.Line{}, false))
	if !decision.Allowed() {
		s.Log.Info("an edit was not taken", "address", m.Address.String(), "author", m.Author.ID, "decision", decision)
		return nil
	}
	text := said(m, 0).Text
	sender := policy.Sender(m.Address.Channel, m.Author)
	row, err := tx.InboxBySource(store.SourceOf(m.Address, m.ID))
	switch {
	case err == nil:
		if row.Owner != sender {
			return nil
		}
		body, err := reworded(row.Body, text)
		if err == nil {
			_, err = tx.UpdateInboxBody(row.ID, body)
		}
		return err
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	kept, err := tx.SeenMessage(m.Address.Place(), m.ID)
	switch {
	case err == nil:
		if kept.Owner != sender {
			return nil
		}
		body, err := reworded(kept.Body, cutText(text))
		if err == nil {
			err = tx.UpdateSeen(kept.ID, body)
		}
		return err
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	return s.editedLate(tx, m, text, sender)
}

// editedLate keeps the new text of a message that the last turn has taken, and
// offers to answer that.
func (s *Service) editedLate(tx *store.Tx, m core.Message, text, sender string) error {
	took, err := s.lastTook(tx, m)
	if err != nil || took.turn.ID == 0 || took.owner != sender {
		return err
	}
	edits, err := command.LoadEdits(tx, took.session, took.turn.ID)
	if err != nil {
		return err
	}
	before := took.item.Text
	if again, ok := edits.Texts[m.ID]; ok {
		before = again
	}
	if text == before { // platforms tell of a link preview as of an edit
		return nil
	}
	edits.Reword(m.ID, text)
	if err := edits.Save(tx, took.session); err != nil || !policy.CommandAllowed(sender, s.Config.Owners(), s.Config.CommandsAllow()) {
		return err
	}
	_, _, err = s.Poster.Post(tx, store.Outbox{
		OnceKey: fmt.Sprintf("edited/%d/%s", took.turn.ID, store.SourceOf(m.Address, m.ID)), Kind: store.OutNotice, Address: took.turn.ReplyTo,
		Anchor: m.ID, Text: offerText(s.Config.Language(), took.turn.State == store.TurnRunning), At: s.World.Now(),
	})
	return err
}

// deleted withdraws a message that still waits, for a turn or as context. One
// that the last turn has taken is left out of a /retry. Whoever deleted it,
// this only takes away.
func (s *Service) deleted(tx *store.Tx, m core.Message) error {
	row, err := tx.InboxBySource(store.SourceOf(m.Address, m.ID))
	switch {
	case err == nil:
		item, err := model.DecodeItem(row.Body)
		if err != nil {
			return err
		}
		if err := tx.DeleteInbox(row.ID); err != nil {
			return err
		}
		return s.putBack(tx, row.ReplyTo, item.Context)
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	kept, err := tx.SeenMessage(m.Address.Place(), m.ID)
	switch {
	case err == nil:
		return tx.DeleteSeen(kept.ID)
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	took, err := s.lastTook(tx, m)
	if err != nil || took.turn.ID == 0 {
		return err
	}
	edits, err := command.LoadEdits(tx, took.session, took.turn.ID)
	if err != nil {
		return err
	}
	edits.Remove(m.ID)
	return edits.Save(tx, took.session)
}

// taken is a message that a turn has taken.
type taken struct {
	session int64
	turn    store.Turn // its ID is 0 if the last turn has not taken the message
	item    model.Item
	owner   string // who wrote it
}

// lastTook finds a message among those that the last turn of its session was
// asked by.
func (s *Service) lastTook(tx *store.Tx, m core.Message) (taken, error) {
	session, err := s.leadsTo(tx, m)
	if err != nil || session.ID == 0 {
		return taken{}, err
	}
	turn, err := tx.LastAsked(session)
	if errors.Is(err, store.ErrNotFound) || err == nil && turn.ReplyTo.InThread("").Place() != m.Address.InThread("").Place() {
		return taken{}, nil
	}
	if err != nil {
		return taken{}, err
	}
	rows, err := tx.RowsOfTurn(session, turn.ID)
	if err != nil {
		return taken{}, err
	}
	for _, row := range rows {
		if row.Kind != string(store.InboxMessage) {
			continue
		}
		item, err := model.DecodeItem(row.Body)
		if err != nil {
			return taken{}, err
		}
		if item.MessageID == m.ID {
			return taken{session.ID, turn, item, row.Owner}, nil
		}
	}
	return taken{}, nil
}

// leadsTo returns the session that a place leads to at present; its ID is 0 if
// it does not exist.
func (s *Service) leadsTo(tx *store.Tx, m core.Message) (store.Session, error) {
	b, bound, _, err := s.Bindings.Peek(tx, m.Address)
	if err != nil {
		return store.Session{}, err
	}
	if bound {
		return tx.SessionByID(b.Session)
	}
	d, err := s.locate(tx, m)
	return d.session, err
}

// reworded replaces the text of a stored item.
func reworded(body, text string) (string, error) {
	item, err := model.DecodeItem(body)
	item.Text = text
	return item.Encode(), err
}
