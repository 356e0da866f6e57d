package command

import (
	"context"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
)

// FocusRequest asks for a binding of a conversation to a session.
type FocusRequest struct {
	At      core.Address
	Kind    core.ConversationKind
	Session store.Session
	// Label is what people call the session.
	Label string
	Actor Actor
	// Intent marks the request for the adapter, the same after a restart; Text
	// is the first text of a thread that grows from a message.
	Intent, Text string
}

// Actor is the person behind a command.
type Actor struct {
	User     string // "channel:id"
	Operator bool   // may override anybody
}

// Limit names a time limit of a binding.
type Limit string

// The limits, as /session spells them.
const (
	LimitIdle   Limit = "idle"
	LimitMaxAge Limit = "max-age"
)

// Bindings is what the commands need of thread bindings; core/app joins them
// with package threadbind. Refusals are *core.Errors. The methods with a
// transaction do not block.
type Bindings interface {
	// Focus binds in place, and its intro is the answer; or it reserves a
	// binding whose thread must be opened (Reservation.Child).
	Focus(tx *store.Tx, req FocusRequest) (subagent.Reservation, error)
	// Restore, Open, Activate and Abort are those of subagent.Bindings.
	Restore(tx *store.Tx, id string, req subagent.BindRequest) (subagent.Reservation, bool, error)
	Open(ctx context.Context, r subagent.Reservation, resumed bool, commit func(subagent.Opened) error, abort func(cause error) (bool, error)) error
	Activate(tx *store.Tx, id string, o subagent.Opened, session int64, key string) (core.Binding, error)
	Abort(tx *store.Tx, id string) (bool, error)
	// Unfocus ends the binding of exactly this place. An empty text means that
	// its farewell is the answer.
	Unfocus(tx *store.Tx, at core.Address, actor Actor) (text string, err error)
	// Limit shows a limit of the binding of exactly this place, SetLimit sets
	// it from what a person wrote. An empty text means that the binding ended
	// by it, and that its farewell is the answer.
	Limit(tx *store.Tx, at core.Address, l Limit) (text string, err error)
	SetLimit(tx *store.Tx, at core.Address, l Limit, value string, actor Actor) (text string, err error)
	// Expiry says in a few words when a binding ends by itself.
	Expiry(tx *store.Tx, b core.Binding) (string, error)
	// Bindable reports whether anything can be bound at an address.
	Bindable(at core.Address) bool
}
