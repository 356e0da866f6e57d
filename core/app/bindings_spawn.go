package app

import (
	"context"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/threadbind"
)

// Reserve implements subagent.Bindings.
func (b *Bindings) Reserve(tx *store.Tx, req subagent.BindRequest) (subagent.Reservation, error) {
	plan, c, err := b.service.Prepare(b.tx(tx), spawnRequest(req), b.o.World.Now())
	return reservation(plan), b.settle(tx, c, err)
}

// spawnRequest is what a spawn asks of threadbind.
func spawnRequest(req subagent.BindRequest) threadbind.Request {
	return threadbind.Request{
		ID: req.ID, At: req.At, Kind: req.Kind, Session: req.Session, SessionKey: req.SessionKey, Target: core.TargetSubagent,
		Agent: req.Agent, Label: req.Label, Actor: threadbind.Actor{User: req.Owner}, Automatic: true, Place: req.Place,
		RunID: req.RunID, Intent: req.Intent, Text: req.Text,
	}
}

func reservation(p threadbind.Plan) subagent.Reservation {
	return subagent.Reservation{Binding: p.Binding, Unbound: p.Unbound, Child: p.Child, Handle: p}
}

// Restore implements subagent.Bindings. Of the request only the place, the text
// and the intent count; the rest is in the record. It reports false if the
// record is not pending any more.
func (b *Bindings) Restore(tx *store.Tx, id string, req subagent.BindRequest) (subagent.Reservation, bool, error) {
	plan, found, err := b.service.Restore(b.tx(tx), id, spawnRequest(req))
	if err != nil || !found || plan.Binding.Status != core.BindingPending {
		return subagent.Reservation{}, false, err
	}
	return reservation(plan), true, nil
}

// Open implements subagent.Bindings. It blocks for the remote call and the
// transactions.
func (b *Bindings) Open(
	ctx context.Context, r subagent.Reservation, resumed bool,
	commit func(subagent.Opened) error, abort func(cause error) (bool, error),
) error {
	plan, ok := r.Handle.(threadbind.Plan)
	if !ok {
		return threadbind.RefuseGivenUp()
	}
	return b.service.BindChild(ctx, plan, resumed, threadbind.Steps{
		Commit: func(o threadbind.Opened) error { return commit(subagent.Opened{Address: o.Address, Data: o.Data}) },
		Abort:  abort,
	})
}

// Activate implements subagent.Bindings.
func (b *Bindings) Activate(tx *store.Tx, id string, o subagent.Opened, session int64, key string) (core.Binding, error) {
	opened := threadbind.Opened{Address: o.Address, Data: o.Data, Session: session, SessionKey: key}
	rec, c, err := b.service.Activate(b.tx(tx), id, opened, b.o.World.Now())
	return rec, b.settle(tx, c, err)
}

// Abort implements subagent.Bindings.
func (b *Bindings) Abort(tx *store.Tx, id string) (bool, error) {
	aborted, c, err := b.service.Abort(b.tx(tx), id, b.o.World.Now())
	return aborted, b.settle(tx, c, err)
}

// EndSession implements subagent.Bindings.
func (b *Bindings) EndSession(tx *store.Tx, session int64) error {
	c, err := b.service.EndSession(b.tx(tx), session, b.o.World.Now())
	return b.settle(tx, c, err)
}

// End implements subagent.Bindings.
func (b *Bindings) End(tx *store.Tx, id string, reason core.EndReason) error {
	_, c, err := b.service.End(b.tx(tx), id, reason, b.o.World.Now())
	return b.settle(tx, c, err)
}

// Spawning implements subagent.Bindings.
func (b *Bindings) Spawning(ctx context.Context, run core.Run) (*core.Address, error) {
	place, err := b.o.Hooks.Spawning(ctx, threadbind.SpawningEvent{Run: run, Thread: true})
	if err != nil || place.IsZero() {
		return nil, err
	}
	return &place, nil
}

// Spawned implements subagent.Bindings.
func (b *Bindings) Spawned(run core.Run, at core.Address) {
	if b.o.Hooks != nil {
		b.observers.add(func(ctx context.Context) { b.o.Hooks.Spawned(ctx, threadbind.SpawnedEvent{Run: run, Place: at}) })
	}
}

// RunEnded implements subagent.Bindings.
func (b *Bindings) RunEnded(run core.Run) {
	if b.o.Hooks != nil {
		b.observers.add(func(ctx context.Context) { b.o.Hooks.SubagentEnded(ctx, threadbind.SubagentEndedEvent{Run: run}) })
	}
}

// Redirects implements subagent.Bindings.
func (b *Bindings) Redirects() bool { return b.o.Hooks.Redirects() }

// DeliveryTarget implements subagent.Bindings. It blocks for the deadlines of
// the hooks at most; without hooks it does not block.
func (b *Bindings) DeliveryTarget(ctx context.Context, run core.Run, to core.Address) core.Address {
	return b.o.Hooks.DeliveryTarget(ctx, threadbind.DeliveryTargetEvent{Run: run, Target: to})
}
