package app

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/threadbind"
)

// dueSource has the deadlines that come while this process runs.
type dueSource struct{ b *Bindings }

var _ kernel.Source = dueSource{}

// Name implements kernel.Source.
func (dueSource) Name() string { return "binding" }

// Next implements kernel.Source.
func (s dueSource) Next(tx *store.Tx) (core.Millis, error) {
	return tx.NextBindingDue(s.b.backlog.before)
}

// Fire implements kernel.Source.
func (s dueSource) Fire(tx *store.Tx, now core.Millis) (int, error) {
	btx := s.b.tx(tx)
	btx.from = s.b.backlog.before
	_, c, err := s.b.service.Sweep(btx, now, threadbind.BatchLimit)
	return len(c.Ended), s.b.settle(tx, c, err)
}

// backlog paces the ends of bindings whose deadline passed while nothing ran.
type backlog struct {
	before core.Millis // older deadlines are backlog
	next   atomic.Int64
}

// A backlog ends by at most backlogBatch bindings in backlogPause.
const (
	backlogBatch = 10
	backlogPause = time.Second
)

// backlogSource has the deadlines that passed before this process started. A
// message to such a place does not wait for it: deadlines are enforced on read.
type backlogSource struct{ b *Bindings }

var _ kernel.Source = backlogSource{}

// Name implements kernel.Source.
func (backlogSource) Name() string { return "binding backlog" }

// Next implements kernel.Source.
func (s backlogSource) Next(tx *store.Tx) (core.Millis, error) {
	due, err := tx.NextBindingDue(0)
	if err != nil || due == 0 || due >= s.b.backlog.before {
		return 0, err
	}
	return max(due, core.Millis(s.b.backlog.next.Load())), nil
}

// Fire implements kernel.Source.
func (s backlogSource) Fire(tx *store.Tx, now core.Millis) (int, error) {
	btx := s.b.tx(tx)
	btx.until = s.b.backlog.before - 1
	_, c, err := s.b.service.Sweep(btx, now, backlogBatch)
	if len(c.Ended) > 0 {
		tx.OnCommit(func() { s.b.backlog.next.Store(int64(now.Add(backlogPause))) })
	}
	return len(c.Ended), s.b.settle(tx, c, err)
}

// timerFired is the effect of threadbind's timers.
func (b *Bindings) timerFired(tx *store.Tx, t store.Timer, now core.Millis) error {
	c, err := b.service.TimerFired(b.tx(tx), t.Kind, t.Ref, now)
	return b.settle(tx, c, err)
}

// archive archives the remote thread of an ended binding. If it fails, a timer
// that is set already tries again.
func (b *Bindings) archive(ctx context.Context, r threadbind.ArchiveRequest) {
	err := b.service.Archive(ctx, r)
	if err == nil {
		err = b.write(ctx, func(tx *store.Tx) error { return b.service.Archived(b.tx(tx), r) })
	}
	if err != nil && ctx.Err() == nil {
		b.o.Log.Warn("a thread could not be archived", "binding", r.Binding, "address", r.Address.String(), "error", err)
	}
}

// Reload brings every live binding in line with changed settings: timers move,
// and what is expired by the new limits ends. Reads go by the new limits
// without it. Call it after the new configuration is live; it blocks for one
// transaction per hundred bindings.
func (b *Bindings) Reload(ctx context.Context) error {
	after, next := "", ""
	for {
		err := b.write(ctx, func(tx *store.Tx) (err error) {
			var c threadbind.Changes
			next, c, err = b.service.Reload(b.tx(tx), after, threadbind.BatchLimit, b.o.World.Now())
			return b.settle(tx, c, err)
		})
		if err != nil || next == "" {
			return err
		}
		after = next
	}
}

// outdated tells whether a live binding has an earlier deadline by the settings
// than by what was stored for it: they were changed while nothing ran. It looks
// at no more than maxIndexed bindings.
func (b *Bindings) outdated(ctx context.Context) (found bool, err error) {
	err = b.o.DB.Read(ctx, func(tx *store.Tx) error {
		for after, seen := "", 0; seen < maxIndexed && !found; {
			live, err := tx.LiveBindings(after, threadbind.BatchLimit)
			if err != nil || len(live) == 0 {
				return err
			}
			seen, after = seen+len(live), live[len(live)-1].ID
			found = slices.ContainsFunc(live, func(rec core.Binding) bool {
				limits := b.o.Settings(rec.Address.Channel, rec.Address.Account).Limits()
				due, _ := threadbind.Due(rec, limits, false)
				return due != 0 && (rec.Due == 0 || due < rec.Due)
			})
		}
		return nil
	})
	return found, err
}

// catchUp is Reload at the pace of a backlog, after a start with other
// settings.
func (b *Bindings) catchUp(ctx context.Context) {
	after, next := "", ""
	for ctx.Err() == nil {
		ended := 0
		err := b.write(ctx, func(tx *store.Tx) error {
			id, c, err := b.service.Reload(b.tx(tx), after, backlogBatch, b.o.World.Now())
			next, ended = id, len(c.Ended)
			return b.settle(tx, c, err)
		})
		if err != nil && ctx.Err() == nil {
			b.o.Log.Warn("the deadlines of bindings could not be brought in line with the settings", "error", err)
		}
		if err != nil || next == "" {
			return
		}
		after = next
		if ended > 0 && b.o.World.Clock.Sleep(ctx, backlogPause) != nil {
			return
		}
	}
}

// EndRemoved ends the bindings of accounts that are not configured any more.
// Call it at the start, before messages come.
func (b *Bindings) EndRemoved(ctx context.Context, configured func(channel, account string) bool) error {
	var accounts [][2]string
	err := b.o.DB.Read(ctx, func(tx *store.Tx) (err error) {
		accounts, err = tx.BoundAccounts()
		return err
	})
	if err != nil {
		return err
	}
	for _, a := range accounts {
		if configured(a[0], a[1]) {
			continue
		}
		b.o.Log.Warn("the bindings of an account end, because it is not configured any more", "channel", a[0], "account", a[1])
		if err := b.EndAccount(ctx, a[0], a[1]); err != nil {
			return err
		}
	}
	return nil
}

// EndAccount ends the bindings of an account that left the configuration; it
// blocks for one transaction per hundred bindings.
func (b *Bindings) EndAccount(ctx context.Context, channel, account string) error {
	for more := true; more; {
		err := b.write(ctx, func(tx *store.Tx) (err error) {
			var c threadbind.Changes
			more, c, err = b.service.EndAccount(b.tx(tx), channel, account, b.o.World.Now())
			return b.settle(tx, c, err)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
