package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/delivery"
)

// AccountState is where the supervisor stands with an account.
type AccountState string

// The states of an account.
const (
	AccountStarting AccountState = "starting"
	AccountRunning  AccountState = "running"
	AccountRetrying AccountState = "retrying" // waits after a failure
	AccountStopped  AccountState = "stopped"  // a failure that trying again cannot cure
	// AccountElsewhere is the state of an account that another node of the same
	// store receives and sends for.
	AccountElsewhere AccountState = "elsewhere"
)

// AccountStatus is what `skein channels status` shows.
type AccountStatus struct {
	Channel   string       `json:"channel"`
	Account   string       `json:"account"`
	State     AccountState `json:"state"`
	Since     core.Millis  `json:"since"`
	LastError string       `json:"lastError,omitempty"`
	// Reload is what the last reload did with it; "" before the first one.
	Reload ReloadResult `json:"reload,omitempty"`
}

// account runs one adapter: start, backoff, stop for fatal failures. One
// account's failure never touches another.
type account struct {
	a           *App
	channel, id string
	adapter     core.Adapter // nil where it could not be made

	cancel context.CancelFunc // ends run; nil before it
	done   chan struct{}      // closed when run has ended
	held   atomic.Bool        // this node receives and sends for it
	moved  atomic.Bool        // another node may have had it meanwhile: it must start anew

	mu     sync.Mutex
	status AccountStatus
}

// The pauses between starts of a failing account, with jitter.
const (
	accountPause    = time.Second
	accountPauseMax = 5 * time.Minute
	// storePauseMax holds where it is not the platform that fails but our own
	// store, a full disk for example: people wait, and trying is cheap.
	storePauseMax = 15 * time.Second
)

// configured reports whether the configuration has an account, enabled or not.
func (a *App) configured(channel, account string) bool {
	settings, ok := a.live().cfg.Channels.Get(channel)
	return ok && settings.Account(account) != nil
}

// openAccounts makes the adapters of every enabled account.
func (a *App) openAccounts(cfg *config.Config) ([]*account, error) {
	var out []*account
	for _, id := range a.enabled(cfg) {
		x, err := a.openAccount(cfg, id)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// enabled returns the accounts that are to run. A channel that is not in this
// build is left out; config check has warned of it.
func (a *App) enabled(cfg *config.Config) (out []accountID) {
	for _, channel := range cfg.Channels.Names() {
		settings, _ := cfg.Channels.Get(channel)
		if _, built := a.opts.Channels.Lookup(channel); !built || !settings.IsEnabled() {
			continue
		}
		for _, id := range settings.AccountNames() {
			if settings.Account(id).Enabled {
				out = append(out, accountID{channel, id})
			}
		}
	}
	return out
}

// openAccount makes the adapter of an account. Where that fails the account is
// returned too, stopped.
func (a *App) openAccount(cfg *config.Config, id accountID) (*account, error) {
	x := &account{a: a, channel: id.channel, id: id.account, status: AccountStatus{
		Channel: id.channel, Account: id.account, State: AccountStarting, Since: a.world.Now(),
	}}
	settings, _ := cfg.Channels.Get(id.channel)
	raw, err := accountSettings(settings, id.account)
	if err == nil {
		x.adapter, err = a.opts.Channels.Open(id.channel, channels.Options{
			Account: id.account, Settings: raw, Clock: a.world.Clock, HTTP: a.http, Log: a.log.With("channel", id.channel, "account", id.account),
			StateDir: filepath.Join(a.stateDir, "channels", id.channel, id.account),
		})
	}
	if err != nil {
		x.adapter = nil
		x.set(AccountStopped, err)
	}
	return x, err
}

// accountSettings returns an account's own keys as JSON.
func accountSettings(settings config.ChannelSettings, id string) (json.RawMessage, error) {
	whole, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	var channel struct {
		Accounts map[string]json.RawMessage `json:"accounts"`
	}
	if err := json.Unmarshal(whole, &channel); err != nil {
		return nil, err
	}
	return channel.Accounts[id], nil
}

// outlets are the accounts as delivery sees them.
func outlets(accounts []*account) []delivery.Account {
	var out []delivery.Account
	for _, x := range accounts {
		if x.adapter == nil || !x.held.Load() {
			continue
		}
		out = append(out, delivery.Account{Channel: x.channel, ID: x.id, Adapter: x.adapter})
	}
	return out
}

// run keeps the adapter receiving until ctx ends. first is called once the
// first attempt has begun.
func (x *account) run(ctx context.Context, first func()) {
	in := x.a.intake.Account(x.channel, x.id)
	for failures := 0; ctx.Err() == nil; {
		x.set(AccountRunning, nil)
		began := x.a.world.Clock.Now()
		first()
		err := x.adapter.Run(ctx, in)
		if ctx.Err() != nil {
			return
		}
		if x.a.world.Clock.Now().Sub(began) > accountPauseMax {
			failures = 0
		}
		if err == nil {
			err = errors.New("the connection ended")
		}
		switch class, _ := core.ClassifySend(err); class {
		case core.SendAuth, core.SendConflict:
			x.set(AccountStopped, err)
			x.a.log.Error("an account has stopped", "channel", x.channel, "account", x.id, "error", err)
			x.a.accountStopped(ctx, x, err)
			return
		}
		failures++
		x.set(AccountRetrying, err)
		longest := accountPauseMax
		if strings.HasPrefix(core.ErrorCode(err), "store_") {
			longest = storePauseMax
		}
		pause := min(accountPause<<min(failures-1, 10), longest)
		pause += time.Duration(x.a.world.Float() * float64(pause) / 4)
		x.a.log.Warn("an account failed; it is started again", "channel", x.channel, "account", x.id, "in", pause, "error", err)
		if !x.wait(ctx, pause) {
			return
		}
	}
}

// runs reports whether the account was started and has not ended.
func (x *account) runs() bool {
	if x.done == nil {
		return false
	}
	select {
	case <-x.done:
		return false
	default:
		return true
	}
}

// stop tells run to end; end waits until it has.
func (x *account) stop() {
	if x.cancel != nil {
		x.cancel()
	}
}

func (x *account) end() {
	if x.done != nil {
		<-x.done
	}
}

// close closes the adapter, after the last use of it.
func (x *account) close() error {
	if x.adapter == nil {
		return nil
	}
	return channels.Close(x.adapter)
}

// wait pauses without counting as work.
func (x *account) wait(ctx context.Context, d time.Duration) bool {
	t := x.a.world.Clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return true
	case <-ctx.Done():
		return false
	}
}

func (x *account) set(s AccountState, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.status.State != s {
		x.status.State, x.status.Since = s, x.a.world.Now()
	}
	if err != nil {
		x.status.LastError = err.Error()
	}
}

func (x *account) current() AccountStatus {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status
}

// Accounts returns the state of every account.
func (a *App) Accounts() []AccountStatus {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []AccountStatus
	for _, x := range a.accounts {
		s := x.current()
		s.Reload = a.reloaded.accounts[accountID{x.channel, x.id}].Result
		out = append(out, s)
	}
	return out
}

// adapter returns the adapter of an account, nil if there is none.
func (a *App) adapter(channel, id string) core.Adapter {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range a.accounts {
		if x.channel == channel && x.id == id {
			return x.adapter
		}
	}
	return nil
}

// Fetch implements agent.Files.
func (a *App) Fetch(ctx context.Context, from core.Address, f core.Attachment) (io.ReadCloser, error) {
	fetcher, ok := a.adapter(from.Channel, from.Account).(core.Fetcher)
	if !ok {
		return nil, core.ErrNoFiles
	}
	return fetcher.Fetch(ctx, from, f)
}

// Typing implements agent.Presence: it asks the channel in a goroutine of its
// own and forgets the answer.
func (a *App) Typing(ctx context.Context, at core.Address) {
	typer, ok := a.adapter(at.Channel, at.Account).(core.Typer)
	if !ok {
		return
	}
	a.Go(func(context.Context) {
		if err := typer.Typing(ctx, at); err != nil && ctx.Err() == nil {
			a.log.Debug("typing could not be shown", "address", at.String(), "error", err)
		}
	})
}
