package subagent

import (
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
)

// PreviewPlace implements agent.Ender: where an answer can be shown while it is
// written is where it would be posted. A run has a place only in a thread.
func (e *Engine) PreviewPlace(tx *store.Tx, l *kernel.Lease) (core.Address, error) {
	if l.Turn.Run == "" {
		return l.Turn.ReplyTo, nil
	}
	b, bound, err := tx.BindingOfRun(l.Turn.Run)
	if err != nil || !bound || b.Status != core.BindingActive {
		return core.Address{}, err
	}
	return b.Address, nil
}

// Preview implements agent.Ender.
func (e *Engine) Preview(tx *store.Tx, l *kernel.Lease, text string) (int64, error) {
	to, err := e.PreviewPlace(tx, l)
	if err != nil || to.IsZero() {
		return 0, err
	}
	row := store.Outbox{
		Kind: store.OutPreview, Address: to, Text: text, Session: l.Session.ID, Owner: l.Turn.Owner, At: e.World.Now(),
	}
	if l.Turn.Run == "" {
		row.Anchor, row.Persona = l.Turn.Anchor, e.persona(tx, l)
	} else if b, _, err := tx.BindingOfRun(l.Turn.Run); err == nil {
		row.Persona = b.Label
	}
	id, _, err := e.Poster.Post(tx, row)
	return id, err
}

// dropPreview has a preview removed that nothing replaces.
func (e *Engine) dropPreview(tx *store.Tx, id int64) error {
	if id == 0 {
		return nil
	}
	return e.Poster.DropPreview(tx, id)
}
