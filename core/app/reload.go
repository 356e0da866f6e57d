package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/world"
)

// ReloadResult is what a reload did with an account.
type ReloadResult string

// The results of a reload for an account.
const (
	ReloadApplied   ReloadResult = "applied"   // started, restarted or stopped, as the change asks
	ReloadUnchanged ReloadResult = "unchanged" // it went on without a break
	ReloadFailed    ReloadResult = "failed"    // it does not run; its error says why
	// ReloadNeedsRestart: it does not run before the gateway is started again.
	ReloadNeedsRestart ReloadResult = "needs restart"
)

// codeNeedsRestart is what a channel answers with where an account of it can be
// opened only when the gateway starts.
const codeNeedsRestart = "channel_needs_restart"

// AccountReload is the result of a reload for one account.
type AccountReload struct {
	// Name of the channel.
	Channel string `json:"channel"`
	// Name of the account.
	Account string `json:"account"`
	// What was done: applied, unchanged, failed or needs restart.
	Result ReloadResult `json:"result"`
	// Why it failed or needs a restart.
	Error string `json:"error,omitempty"`
}

// Reloaded is what a reload did.
type Reloaded struct {
	// Plan holds every key that differs from what was in force.
	Plan config.Plan
	// Pending is the part of it that waits for the next start.
	Pending config.Plan
	// Accounts are the accounts of both configurations.
	Accounts []AccountReload
}

// String returns the plan with the results of the accounts that a reload
// touched, one line each, as `skein run` prints it.
func (r Reloaded) String() string {
	var b strings.Builder
	b.WriteString(r.Plan.String())
	for _, x := range r.Accounts {
		if x.Result == ReloadUnchanged {
			continue
		}
		fmt.Fprintf(&b, "%s:%s %s", x.Channel, x.Account, x.Result)
		if x.Error != "" {
			b.WriteString(": " + x.Error)
		}
		b.WriteByte('\n')
	}
	if len(r.Pending) > 0 {
		b.WriteString("restart the gateway to apply: " + strings.Join(paths(r.Pending), ", ") + "\n")
	}
	return b.String()
}

func paths(p config.Plan) (out []string) {
	for _, c := range p {
		out = append(out, c.Path)
	}
	return out
}

// reloadState is what status shows of reloads; App.mu guards it.
type reloadState struct {
	pending  config.Plan
	accounts map[accountID]AccountReload
	refused  error // why the configuration that was read last is not in force
}

// Reload puts another configuration in force, whose secrets are resolved. It is
// refused as a whole, with an error, if it cannot be used; then nothing has
// changed. Otherwise each key is applied by its class:
//
//   - live keys take effect at once; turns in progress keep what they began with;
//   - accounts whose channel keys changed are restarted, added or removed, each
//     by itself; what they are sending is finished first, what waits stays in the
//     outbox, and the bindings of an account that left the configuration end.
//     Accounts that had stopped are tried again;
//   - what needs a restart of the gateway stays as it is and is named in Pending.
//
// It blocks while the accounts that change finish what they send, for
// gateway.shutdownGraceSeconds at most. Once accounts are being changed, the end
// of ctx does not interrupt it.
func (a *App) Reload(ctx context.Context, next *config.Config) (Reloaded, error) {
	a.reload.Lock()
	defer a.reload.Unlock()
	defer a.world.Work.Begin("reload")()
	if err := errors.Join(ctx.Err(), a.mayReload()); err != nil {
		return Reloaded{}, err
	}
	was := a.live()
	cfg := config.Hold(was.cfg, next, config.ClassRestart, config.ClassPlugin)
	done := Reloaded{Plan: config.Diff(was.cfg, next), Pending: config.Diff(cfg, next)}
	snap, err := a.prepare(cfg, was)
	if err != nil {
		return Reloaded{Plan: done.Plan}, err
	}
	change := a.changed(done.Plan, cfg)
	change.leave() // nobody is heard by rules that are not the account's own
	a.snap.Store(snap)
	a.kernel.Redispatch()
	a.kernel.Due(a.world.Now()) // retention may have got shorter
	if a.opts.Applied != nil {
		a.opts.Applied(cfg)
	}
	err = errors.Join(a.bindings.Reload(a.ctx), a.bindings.EndRemoved(a.ctx, a.configured))
	done.Accounts = a.apply(change, cfg)
	a.remember(done)
	a.log.Info("configuration reloaded", "changes", len(done.Plan), "pending", len(done.Pending))
	return done, errors.Join(err, a.world.Crash(world.ReloadApplied))
}

// mayReload refuses a reload of what does not run.
func (a *App) mayReload() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state != appStarted {
		return core.Errorf("reload_unavailable", "the gateway is not running").WithRemedy("the configuration is read when it starts")
	}
	return nil
}

// accountChange is what a reload does to the accounts.
type accountChange struct {
	keep    []*account
	leaving []*account
	open    []accountID
}

// changed decides about each account: by the owners that the plan names, and by
// what is to run. An account that has stopped is opened anew.
func (a *App) changed(plan config.Plan, cfg *config.Config) accountChange {
	owners := plan.Owners(config.ClassChannel)
	c := accountChange{open: a.enabled(cfg)}
	for _, x := range a.accounts {
		id := accountID{x.channel, x.id}
		touched := slices.Contains(owners, x.channel) || slices.Contains(owners, x.channel+":"+x.id)
		if touched || x.current().State == AccountStopped || !slices.Contains(c.open, id) {
			c.leaving = append(c.leaving, x)
			continue
		}
		c.keep = append(c.keep, x)
		c.open = slices.DeleteFunc(c.open, func(other accountID) bool { return other == id })
	}
	return c
}

// leave ends the reception of the accounts that leave. What they had received
// is stored.
func (c accountChange) leave() {
	for _, x := range c.leaving {
		x.stop()
	}
	for _, x := range c.leaving {
		x.end()
	}
}

// apply lets the accounts that leave finish what they send, closes them, and
// opens the new ones.
func (a *App) apply(c accountChange, cfg *config.Config) []AccountReload {
	results := make(map[accountID]AccountReload)
	note := func(x *account, r ReloadResult, err error) {
		n := AccountReload{Channel: x.channel, Account: x.id, Result: r}
		if err != nil {
			n.Error = err.Error()
		}
		results[accountID{x.channel, x.id}] = n
	}
	for _, x := range c.keep {
		note(x, ReloadUnchanged, nil)
	}
	if len(c.leaving) > 0 {
		a.setAccounts(c.keep)
		a.drain(c.keep, cfg)
	}
	for _, x := range c.leaving {
		note(x, ReloadApplied, nil)
		if err := x.close(); err != nil {
			a.log.Warn("an account was not closed cleanly", "channel", x.channel, "account", x.id, "error", err)
		}
		if !slices.Contains(c.open, accountID{x.channel, x.id}) {
			a.letGo(x)
		}
	}
	all := slices.Clone(c.keep)
	var opened []*account
	for _, id := range c.open {
		x, err := a.openAccount(cfg, id)
		opened, all = append(opened, x), append(all, x)
		switch {
		case err == nil:
			note(x, ReloadApplied, nil)
			continue
		case core.ErrorCode(err) == codeNeedsRestart:
			note(x, ReloadNeedsRestart, err)
		default:
			note(x, ReloadFailed, err)
		}
		a.log.Error("an account cannot be opened", "channel", x.channel, "account", x.id, "error", err)
		a.accountStopped(a.ctx, x, err)
	}
	if err := a.hold(a.ctx, opened); err != nil {
		a.log.Warn("it is not known who holds the accounts; they start when it is", "error", err)
	}
	if len(opened) > 0 {
		a.setAccounts(all)
		a.drain(all, cfg)
		a.connect(opened)
	}
	wrong := a.ask(opened)
	for _, x := range opened {
		if err := wrong[accountID{x.channel, x.id}]; err != nil {
			note(x, ReloadFailed, err)
			x.set(x.current().State, err)
		}
	}
	return slices.SortedFunc(maps.Values(results), func(a, b AccountReload) int {
		return strings.Compare(a.Channel+":"+a.Account, b.Channel+":"+b.Account)
	})
}

// ask asks the platforms of opened accounts whether they work, all at once.
func (a *App) ask(opened []*account) map[accountID]error {
	defer a.world.Work.Park()()
	ctx, cancel := a.world.Clock.WithTimeout(a.hurry, probeTimeout)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	wrong := make(map[accountID]error)
	for _, x := range opened {
		if x.adapter == nil {
			continue
		}
		wg.Go(func() {
			health := x.adapter.Probe(ctx)
			if health.OK || a.hurry.Err() != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			wrong[accountID{x.channel, x.id}] = errors.New(health.Detail)
		})
	}
	wg.Wait()
	return wrong
}

func (a *App) setAccounts(list []*account) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.accounts = list
}

// drain hands the accounts to delivery, which finishes what those that are not
// among them are sending.
func (a *App) drain(accounts []*account, cfg *config.Config) {
	defer a.world.Work.Park()()
	grace := time.Duration(cfg.Gateway.ShutdownGraceSeconds) * time.Second
	ctx, cancel := a.world.Clock.WithTimeout(a.hurry, grace)
	defer cancel()
	a.delivery.SetAccounts(ctx, outlets(accounts))
}

// probeTimeout is how long the platform of an account that a reload opened may
// take to say whether it works.
const probeTimeout = 5 * time.Second

// remember keeps for status what a reload did.
func (a *App) remember(done Reloaded) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reloaded = reloadState{pending: done.Pending, accounts: make(map[accountID]AccountReload)}
	for _, x := range done.Accounts {
		a.reloaded.accounts[accountID{x.Channel, x.Account}] = x
	}
}

// ReloadFile reads the configuration anew with Options.LoadConfig and puts it in
// force as Reload does. A file that cannot be used changes nothing: the error has
// the code config_invalid, and status shows it until a reload succeeds.
func (a *App) ReloadFile(ctx context.Context) (Reloaded, error) {
	if a.opts.LoadConfig == nil {
		return Reloaded{}, core.Errorf("reload_unavailable", "this gateway does not know where its configuration comes from")
	}
	a.reading.Lock() // what was read last is in force last
	defer a.reading.Unlock()
	next, err := a.opts.LoadConfig()
	if err != nil {
		return Reloaded{}, a.refuse(err)
	}
	done, err := a.Reload(ctx, next)
	if err != nil && done.Accounts == nil && core.ErrorCode(err) != "reload_unavailable" {
		return done, a.refuse(err)
	}
	return done, err
}

// refuse remembers why a configuration is not in force.
func (a *App) refuse(err error) error {
	err = (&core.Error{Code: "config_invalid", Text: "the configuration is not taken over", Err: err}).
		WithRemedy("nothing was changed; correct the file, it is then read again")
	a.mu.Lock()
	a.reloaded.refused = err
	a.mu.Unlock()
	return err
}
