package threadbind

import "github.com/skein-bot/skein/core"

// Tx is what a Service needs of the store inside one transaction. The store's
// transaction implements it. Every method sees what the transaction has
// written so far. No method may keep or change a slice it is given.
//
// "Live" means pending, active or suspended. A pending binding whose thread is
// not open yet has an address without a conversation; it is at no place.
type Tx interface {
	// BindingAt returns the live binding at exactly this place: one probe of
	// the unique index.
	BindingAt(place core.Place) (b core.Binding, found bool, err error)
	// LastEnded returns the binding at this place that ended last. Resolve
	// calls it for unbound places, only where onLate is "resume".
	LastEnded(place core.Place) (b core.Binding, found bool, err error)
	// BindingByID returns a binding in any state.
	BindingByID(id string) (b core.Binding, found bool, err error)
	// BindingsOfSession returns the live bindings of a session, in order of
	// their ids.
	BindingsOfSession(session int64) ([]core.Binding, error)
	// BindingsUnder returns the live bindings in a conversation: the one of
	// the conversation itself, those of its threads, and those whose address
	// has the conversation as its parent.
	BindingsUnder(channel, account, conversation string) ([]core.Binding, error)
	// BindingsOfAccount returns up to limit live bindings of an account.
	BindingsOfAccount(channel, account string, limit int) ([]core.Binding, error)
	// BindingsDue returns up to limit active or suspended bindings with
	// 0 < Due <= now, earliest first.
	BindingsDue(now core.Millis, limit int) ([]core.Binding, error)
	// LiveBindings returns up to limit live bindings with an id greater than
	// after, in order of their ids; "" starts from the first.
	LiveBindings(after string, limit int) ([]core.Binding, error)
	// CountLiveBindings counts the live bindings of an owner.
	CountLiveBindings(owner string) (int, error)
	// InsertBinding writes a new record, UpdateBinding the whole record of a
	// known id. The unique index decides races between nodes: if another live
	// binding is at the same place, they return an error that makes the unit
	// of work run again after a rollback; it then sees the other binding. It
	// must not be a *core.Error, which would be a refusal.
	InsertBinding(b core.Binding) error
	UpdateBinding(b core.Binding) error
	// DeleteBinding removes an ended record.
	DeleteBinding(id string) error
	// SessionBusy tells whether a session has a running turn, queued input or
	// a pending approval. If it has none, idleSince is when the last of that
	// ended, 0 if there never was any.
	SessionBusy(session int64) (busy bool, idleSince core.Millis, err error)
	// SessionLive tells whether a session exists and is not archived, and its
	// key.
	SessionLive(session int64) (live bool, key string, err error)
	// Post puts a text of the runtime into the outbox, once per key for ever.
	// The keys begin with "intro/", "farewell/" or "suspended/".
	Post(to core.Address, key, text string) error
	// SetTimer makes the runtime call Service.TimerFired with kind and ref in
	// a transaction at due. It replaces the timer of the same kind and ref; a
	// due of 0 removes it.
	SetTimer(kind, ref string, due core.Millis) error
}
