package app

import (
	"context"
	"slices"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store"
)

// Where several nodes share a store, each account belongs to one of them: only
// that one receives and sends for it. A node holds what it got for as long as
// its lease lasts; then others take it.

// shares reports whether other nodes may serve the store. Under virtual time
// nobody keeps a lease, so a runtime there is alone.
func (a *App) shares() bool {
	_, wall := a.world.Clock.(clock.Real)
	return wall && a.db.Shared()
}

// settle is how long something half done must have been so before it counts as
// left by a crash: another node may be at it.
func (a *App) settle() time.Duration {
	if a.shares() {
		return recoverEvery
	}
	return 0
}

// recoverEvery is how often a node looks for what crashed nodes left half done.
const recoverEvery = time.Minute

// tendEvery is how often a node looks for accounts that nobody holds, and for
// messages that other nodes wrote for its accounts without a hint arriving.
const tendEvery = time.Second

// hold asks for the accounts and notes which this node has. Alone on its store
// it has them all.
func (a *App) hold(ctx context.Context, accounts []*account) error {
	if !a.kernel.Shares() {
		for _, x := range accounts {
			x.held.Store(true)
		}
		return nil
	}
	node := a.kernel.Node()
	got := make([]bool, len(accounts))
	err := a.db.Write(ctx, func(tx *store.Tx) error {
		for i, x := range accounts {
			var err error
			if got[i], err = tx.HoldAccount(x.channel, x.id, node); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, x := range accounts {
		x.held.Store(got[i] && !x.moved.Load())
		if !got[i] && x.adapter != nil {
			x.set(AccountElsewhere, nil)
		}
	}
	return nil
}

// letGo gives an account up that left the configuration, so that another node
// whose configuration has it may take it.
func (a *App) letGo(x *account) {
	if !a.kernel.Shares() {
		return
	}
	node := a.kernel.Node()
	if err := a.db.Write(a.ctx, func(tx *store.Tx) error { return tx.DropAccount(x.channel, x.id, node) }); err != nil {
		a.log.Warn("an account could not be given up", "channel", x.channel, "account", x.id, "error", err)
	}
}

// guard refuses a write for an account that another node has.
func (a *App) guard(tx *store.Tx, channel, account string) error {
	return tx.CheckAccount(channel, account, a.kernel.Node())
}

// holds reports whether this node may send for an account, as far as it knows.
func (a *App) holds(channel, id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range a.accounts {
		if x.channel == channel && x.id == id {
			return x.held.Load()
		}
	}
	return false
}

// heard takes hints of other nodes.
func (a *App) heard(h store.Hint) {
	if h.Kind == store.HintOutbox {
		a.Go(func(context.Context) { a.delivery.Look(core.Address{Channel: h.Channel, Account: h.Account}) })
	}
}

// moved is called when this node lost its lease: what it held is another's, or
// will be.
func (a *App) moved() {
	a.mu.Lock()
	for _, x := range a.accounts {
		x.held.Store(false)
		x.moved.Store(true)
	}
	a.mu.Unlock()
	select {
	case a.tendNow <- struct{}{}:
	default:
	}
}

// tend keeps the accounts of this node while it runs.
func (a *App) tend(ctx context.Context) {
	recovered := clock.Real{}.Now()
	for {
		t := clock.Real{}.NewTimer(tendEvery)
		select {
		case <-t.C():
		case <-a.tendNow:
		case <-ctx.Done():
		}
		t.Stop()
		if ctx.Err() != nil {
			return
		}
		a.exchange(ctx)
		a.delivery.LookAll()
		if now := (clock.Real{}).Now(); now.Sub(recovered) >= recoverEvery {
			recovered = now
			a.recoverCommands(ctx)
			if err := a.engine.Recover(ctx); err != nil && ctx.Err() == nil {
				a.log.Error("what a crash left half done could not be looked at", "error", err)
			}
		}
	}
}

// exchange starts the accounts that this node got and stops those it lost.
func (a *App) exchange(ctx context.Context) {
	if !a.reload.TryLock() { // a reload or the stop is at the accounts: at the next look
		return
	}
	defer a.reload.Unlock()
	a.mu.Lock()
	accounts := slices.Clone(a.accounts)
	a.mu.Unlock()
	if err := a.hold(ctx, accounts); err != nil && ctx.Err() == nil {
		// Nothing changes hands here while the store does not answer; what the
		// lease's end takes away, moved has noted.
		a.log.Debug("the accounts of this node could not be looked at", "error", err)
	}
	var lost, got []*account
	for i, x := range accounts {
		runs := x.runs()
		switch {
		case x.moved.Load(), runs && !x.held.Load():
			// Also one that has stopped meanwhile: it met the other node there.
			lost = append(lost, x)
			accounts[i] = a.reopened(x)
		case !runs && x.held.Load() && x.adapter != nil && x.current().State != AccountStopped:
			got = append(got, x)
		}
	}
	if len(lost)+len(got) == 0 {
		return
	}
	for _, x := range lost {
		if x.runs() {
			a.log.Warn("an account went to another node", "channel", x.channel, "account", x.id)
		}
		x.stop()
	}
	a.setAccounts(accounts)
	over, cancel := context.WithCancel(ctx)
	if len(lost) > 0 {
		cancel() // requests that are on their way belong to another node now
	}
	a.delivery.SetAccounts(over, outlets(accounts))
	cancel()
	for _, x := range lost {
		x.end()
		if err := x.close(); err != nil {
			a.log.Debug("an account was not closed cleanly", "channel", x.channel, "account", x.id, "error", err)
		}
	}
	for _, x := range got {
		a.log.Info("this node takes over an account", "channel", x.channel, "account", x.id)
	}
	a.connect(got)
}

// reopened makes an account anew that this node may get again.
func (a *App) reopened(x *account) *account {
	fresh, err := a.openAccount(a.live().cfg, accountID{x.channel, x.id})
	if err != nil {
		a.log.Error("an account cannot be opened", "channel", x.channel, "account", x.id, "error", err)
		return fresh
	}
	fresh.set(AccountElsewhere, nil)
	return fresh
}

// Turns returns how many turns run on this node.
func (a *App) Turns() (n int) {
	for _, l := range []store.Lane{store.LaneMain, store.LaneSubagent} {
		running, _ := a.kernel.Depth(l)
		n += running
	}
	return n
}
