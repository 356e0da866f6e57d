package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/world"
	"github.com/skein-bot/skein/threadbind"
)

// BindingsOptions make Bindings. World, DB, Log, Settings, Adapter and Poster
// are required.
type BindingsOptions struct {
	World *world.World
	DB    *store.DB
	Log   *slog.Logger
	// Settings and Adapter answer from the live configuration and the live
	// adapters: see threadbind.Options.
	Settings func(channel, account string) threadbind.Settings
	Adapter  func(channel, account string) core.BindingAdapter
	Poster   subagent.Poster
	// Hooks are the extensions; nil for none.
	Hooks *threadbind.Hooks
	// Zone is the time zone in which people read the deadlines of an agent's
	// bindings; nil is UTC.
	Zone func(agentID string) *time.Location
}

// bindingKernel is the kernel's part that bindings need.
type bindingKernel interface {
	Wake(session int64, lane store.Lane, urgent bool)
	Due(at core.Millis)
	AddSource(s kernel.Source)
	HandleTimer(kind string, f kernel.TimerFunc)
}

// archivePlanner is the engine's part that bindings need: an unbound sub-agent
// is archived after a while.
type archivePlanner interface {
	PlanArchive(tx *store.Tx, session int64, requesterKey string, since core.Millis) error
}

// Bindings joins package threadbind with the store and the runtime. It is what
// the sub-agent engine, intake, delivery and the commands see of bindings.
//
// What a transaction changes about bindings has its consequences in that same
// transaction: farewells and intros in the outbox, the archive of a sub-agent
// that is not bound any more, held messages that may run. Hooks and the
// archiving of remote threads come after the commit, on goroutines that Stop
// waits for.
//
// store.ErrPlaceTaken from a unit of work means that it must run again: another
// node was faster.
type Bindings struct {
	o       BindingsOptions
	service *threadbind.Service
	kernel  bindingKernel
	planner archivePlanner

	// observers runs what extensions are told, archives the remote calls,
	// reloads what a start with other settings means.
	observers, archives, reloads *line
	backlog                      backlog
}

var _ subagent.Bindings = (*Bindings)(nil)

// NewBindings returns bindings that are not joined yet.
func NewBindings(o BindingsOptions) *Bindings {
	return &Bindings{
		o: o,
		service: threadbind.NewService(threadbind.Options{
			Clock: o.World.Clock, Settings: o.Settings, Adapter: o.Adapter, NewID: o.World.NewID, Hooks: o.Hooks, Log: o.Log,
			Index: threadbind.NewIndex(0),
		}),
		observers: newLine(o.World, "binding observers"),
		archives:  newLine(o.World, "thread archive"),
		reloads:   newLine(o.World, "binding reload"),
	}
}

// Join gives the bindings the kernel and the sub-agent engine, and the kernel
// their deadlines. Call it before the kernel starts and before any transaction
// that touches bindings.
func (b *Bindings) Join(k bindingKernel, e archivePlanner) {
	b.kernel, b.planner = k, e
	k.AddSource(dueSource{b})
	k.AddSource(backlogSource{b})
	k.HandleTimer(threadbind.TimerArchive, b.timerFired)
	k.HandleTimer(threadbind.TimerPurge, b.timerFired)
}

// Start begins to run what follows a commit. Call it right before the kernel
// starts: bindings whose deadline is before this moment passed it while nothing
// ran, and they end at a pace that spares people a burst of farewells; so do
// those that the settings of this start end earlier. It blocks for reading the
// live bindings.
func (b *Bindings) Start(ctx context.Context) error {
	if err := b.loadIndex(ctx); err != nil {
		return err
	}
	b.backlog.before = b.o.World.Now()
	outdated, err := b.outdated(ctx)
	if err != nil {
		return err
	}
	if outdated {
		b.reloads.add(b.catchUp)
	}
	b.observers.start()
	b.archives.start()
	b.reloads.start()
	return nil
}

// maxIndexed is how many live bindings are kept in the index; with more of them
// every look-up probes the store instead.
const maxIndexed = 100_000

// loadIndex fills the index: this process is alone on its store, so the index
// is exact about places without a binding.
func (b *Bindings) loadIndex(ctx context.Context) error {
	if b.o.DB.Shared() {
		b.service.Index = nil
		return nil
	}
	return b.o.DB.Read(ctx, func(tx *store.Tx) error {
		n, err := tx.CountAllLiveBindings(maxIndexed + 1)
		if err != nil {
			return err
		}
		if n > maxIndexed {
			b.service.Index = nil
			return nil
		}
		_, err = b.service.Index.Load(b.tx(tx))
		return err
	})
}

// Stop waits until everything that follows past commits is done; when ctx ends
// it is cut short. What archiving is left undone is done after the next start.
// Call it when nothing else writes any more.
func (b *Bindings) Stop(ctx context.Context) {
	b.reloads.cut()
	b.archives.stop(ctx)
	b.observers.stop(ctx)
}

// settle ends a call of threadbind: what it changed counts unless it failed,
// also where err is a refusal.
func (b *Bindings) settle(tx *store.Tx, c threadbind.Changes, err error) error {
	if err != nil && core.ErrorCode(err) == "" {
		return err
	}
	if err := b.changed(tx, c); err != nil {
		return err
	}
	return err
}

// changed takes what a transaction did to bindings: the consequences in the
// store now, the others after the commit.
func (b *Bindings) changed(tx *store.Tx, c threadbind.Changes) error {
	if len(c.Ended) > 0 {
		if err := tx.Crash(world.BindingBeforeEnd); err != nil {
			return err
		}
	}
	for _, rec := range c.Restored {
		if err := b.release(tx, rec); err != nil {
			return err
		}
	}
	for _, rec := range c.Ended {
		// What was held for it was accepted: it is answered all the same.
		if err := b.release(tx, rec); err != nil {
			return err
		}
		if err := b.planArchive(tx, rec); err != nil {
			return err
		}
	}
	if c.Wake != 0 {
		tx.OnCommit(func() { b.kernel.Due(c.Wake) })
	}
	if isQuiet(c) {
		return nil
	}
	tx.OnCommit(func() { b.committed(c) })
	return nil
}

// isQuiet tells that c is nothing that anybody is told of.
func isQuiet(c threadbind.Changes) bool {
	return len(c.Bound)+len(c.Ended)+len(c.Suspended)+len(c.Restored)+len(c.Moved)+len(c.Overrides)+len(c.Archive) == 0
}

// committed runs on the store's goroutine after the commit.
func (b *Bindings) committed(c threadbind.Changes) {
	if len(c.Ended) > 0 && b.o.World.Crash(world.BindingAfterEnd) != nil {
		return
	}
	b.observers.add(func(ctx context.Context) { b.service.Committed(ctx, c) })
	for _, r := range c.Archive {
		b.archives.add(func(ctx context.Context) { b.archive(ctx, r) })
	}
}

// release lets the messages run that were held for a place.
func (b *Bindings) release(tx *store.Tx, rec core.Binding) error {
	held, err := tx.HeldMessages(rec.Session)
	if err != nil {
		return err
	}
	released := false
	for _, row := range held {
		if !row.ReplyTo.Same(rec.Address) && !row.ReplyTo.ParentConversation().Same(rec.Address) {
			continue // held for another binding of this session
		}
		if err := tx.ReleaseHeld(row.ID); err != nil {
			return err
		}
		released = true
	}
	if !released {
		return nil
	}
	tx.OnCommit(func() { b.kernel.Wake(rec.Session, store.LaneMain, false) })
	return tx.MarkReady(rec.Session, b.o.World.Now())
}

// planArchive plans the archive of a sub-agent's session from the end of its
// last binding.
func (b *Bindings) planArchive(tx *store.Tx, rec core.Binding) error {
	run, err := latestRun(tx, rec.Session)
	if err != nil || run.ID == "" || run.Status.Live() { // a live one is archived from its own end
		return err
	}
	others, err := tx.BindingsOfSession(rec.Session)
	if err != nil || len(others) > 0 {
		return err
	}
	live, _, err := tx.SessionLive(rec.Session)
	if err != nil || !live {
		return err
	}
	if run.Spec.Cleanup != "delete" {
		return b.planner.PlanArchive(tx, rec.Session, run.RequesterID, rec.EndedAt)
	}
	if !run.Delivery.Settled() {
		return nil // archived once its outcome is told or let go
	}
	now := b.o.World.Now()
	tx.OnCommit(func() { b.kernel.Due(now) })
	return tx.SetArchiveDue(rec.Session, now)
}
