package app

import (
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/threadbind"
)

// Peek tells through which binding a message at an address would go, without
// any effect. mentionFree tells that it needs no mention of the bot.
func (b *Bindings) Peek(tx *store.Tx, at core.Address) (rec core.Binding, found, mentionFree bool, err error) {
	r, err := b.service.Peek(b.tx(tx), at, b.o.World.Now())
	return r.Binding, r.Found, r.MentionFree(), err
}

// Resolve decides through which binding a message that arrives now goes, and
// touches it; a binding that is over ends. held tells that the place cannot be
// written to at present: the message belongs into the inbox as store.InboxHeld
// and is queued when the binding is restored or ends.
func (b *Bindings) Resolve(tx *store.Tx, at core.Address) (rec core.Binding, found, held bool, err error) {
	r, err := b.service.Resolve(b.tx(tx), at, b.o.World.Now())
	return r.Binding, r.Found, r.Held(), b.settle(tx, r.Changes, err)
}

// PlaceChanged does what an event of a conversation or thread means for the
// bindings there. A migrated conversation must have been rewritten in the store
// before.
func (b *Bindings) PlaceChanged(tx *store.Tx, e core.PlaceChange) error {
	c, err := b.service.PlaceChanged(b.tx(tx), e, b.o.World.Now())
	return b.settle(tx, c, err)
}

// Sent notes that a message reached its place: an agent's answer is activity
// of the binding there, what the runtime itself says is not. Delivery calls it
// in the transaction of the last receipt, before the engine's Sent.
func (b *Bindings) Sent(tx *store.Tx, row store.Outbox, now core.Millis) error {
	if row.Kind != store.OutFinal && row.Kind != store.OutProgress {
		return nil
	}
	c, err := b.service.Replied(b.tx(tx), row.Address, now)
	return b.settle(tx, c, err)
}

// Undeliverable decides about a message whose place is gone, closed or
// forbidden, in the transaction that records that: the binding there ends or is
// suspended, and what a person waits for goes to the parent conversation, with
// one line in front that says why. Intros and farewells mean nothing elsewhere,
// and what an operator sent somewhere has failed there. It is delivery's
// OnUndeliverable.
func (b *Bindings) Undeliverable(tx *store.Tx, row store.Outbox, class core.SendClass) (store.Outbox, bool, error) {
	rec, bound, c, err := b.service.SendFailed(b.tx(tx), row.Address, class, b.o.World.Now())
	if err := b.settle(tx, c, err); err != nil {
		return row, false, err
	}
	if !bound { // an earlier message may have ended it
		if rec, _, err = tx.LastEnded(row.Address.Place()); err != nil {
			return row, false, err
		}
	}
	parent := row.Address.ParentConversation()
	switch row.Kind {
	case store.OutIntro, store.OutFarewell, store.OutSend:
		return row, false, nil
	}
	if parent.Same(row.Address) {
		return row, false, nil
	}
	row.Address, row.Anchor, row.Persona = parent, "", ""
	row.Text = b.undeliverableLine(rec, row, class) + "\n\n" + row.Text
	return row, true, nil
}

// undeliverableLine says in one line why a message goes to the parent
// conversation. An answer of the session that is, or was, bound in its place
// says whose it is.
func (b *Bindings) undeliverableLine(rec core.Binding, row store.Outbox, class core.SendClass) string {
	w := b.o.Settings(row.Address.Channel, row.Address.Account).Language
	if rec.Session == row.Session && row.Kind != store.OutCommand &&
		(rec.Status == core.BindingSuspended || rec.Reason == core.EndThreadDeleted && class == core.SendGone) {
		return threadbind.UndeliveredLine(w, rec)
	}
	switch class {
	case core.SendGone:
		return w.MovedGone()
	case core.SendClosed:
		return w.MovedClosed()
	}
	return w.MovedForbidden()
}
