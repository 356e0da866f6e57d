package testserver

import (
	"context"
	"sync"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
)

// How long, in wall time, unacknowledged updates go on to count although the
// account is not being polled.
const (
	graceAfterUp      = 2 * time.Second
	graceAfterFailure = 100 * time.Millisecond
)

// Tracker counts a server's work by the rules in the package comment. Create
// it with NewTracker.
type Tracker struct {
	work    Worker
	name    string
	pending func(account string) int

	mu       sync.Mutex
	up       bool
	accounts map[string]*tracked
	requests int             // being answered
	answered *sync.Cond      // signals that requests fell
	ctx      context.Context // ends with Down
	end      context.CancelFunc
}

// tracked is what a Tracker knows of an account.
type tracked struct {
	polled bool       // it is being polled, or the last poll went well
	grace  core.Timer // nil while there is none
	hold   func()     // gives the account's unit back; nil while it has none
}

// NewTracker returns the tracker of a server. pending tells how many updates an
// account has not acknowledged; it is called with the tracker locked.
func NewTracker(name string, work Worker, pending func(account string) int) *Tracker {
	t := &Tracker{work: work, name: name, pending: pending, accounts: make(map[string]*tracked)}
	t.answered = sync.NewCond(&t.mu)
	t.Up()
	return t
}

// Up lets updates count. NewTracker calls it.
func (t *Tracker) Up() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.up {
		return
	}
	t.up = true
	t.ctx, t.end = context.WithCancel(context.Background())
	for name, a := range t.accounts {
		t.extend(name, a, graceAfterUp)
		t.count(name, a)
	}
}

// Moved lets the updates of accounts that are not being polled count for a
// moment again.
func (t *Tracker) Moved() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, a := range t.accounts {
		if t.up && !a.polled && a.grace == nil && t.pending(name) > 0 {
			t.extend(name, a, graceAfterFailure)
			t.count(name, a)
		}
	}
}

// Down stops counting updates, ends what requests wait for, and returns when
// all requests are answered.
func (t *Tracker) Down() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.up = false
	t.end()
	for name, a := range t.accounts {
		a.polled = false
		a.stopGrace()
		t.count(name, a)
	}
	for t.requests > 0 {
		t.answered.Wait()
	}
}

// Changed must be called after the pending updates of accounts changed.
func (t *Tracker) Changed(accounts ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range accounts {
		t.count(name, t.account(name))
	}
}

// PollBegins must be called when a poll of the account arrived and what it
// acknowledges is gone.
func (t *Tracker) PollBegins(account string) { t.setPolled(account, true, 0) }

// PollPauses must be called before a poll waits on the clock, PollBegins after
// it.
func (t *Tracker) PollPauses(account string) { t.setPolled(account, false, 0) }

// PollFailed must be called when a poll ended other than with an answer.
func (t *Tracker) PollFailed(account string) { t.setPolled(account, false, graceAfterFailure) }

func (t *Tracker) setPolled(name string, polled bool, grace time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.account(name)
	a.polled = polled
	a.stopGrace()
	if grace > 0 && t.up {
		t.extend(name, a, grace)
	}
	t.count(name, a)
}

func (t *Tracker) account(name string) *tracked {
	a := t.accounts[name]
	if a == nil {
		a = new(tracked)
		t.accounts[name] = a
		if t.up {
			t.extend(name, a, graceAfterUp)
		}
	}
	return a
}

// count takes or gives back the unit of an account.
func (t *Tracker) count(name string, a *tracked) {
	want := t.work != nil && t.up && (a.polled || a.grace != nil) && t.pending(name) > 0
	switch {
	case want && a.hold == nil:
		a.hold = t.work.Begin(t.name + " updates of " + name)
	case !want && a.hold != nil:
		a.hold()
		a.hold = nil
	}
}

// extend lets the account count for d of wall time from now.
func (t *Tracker) extend(name string, a *tracked, d time.Duration) {
	a.stopGrace()
	var mine core.Timer
	mine = clock.Real{}.AfterFunc(d, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if a.grace == mine {
			a.grace = nil
			t.count(name, a)
		}
	})
	a.grace = mine
}

func (a *tracked) stopGrace() {
	if a.grace != nil {
		a.grace.Stop()
		a.grace = nil
	}
}

// Request begins to answer a request. The context ends with the request's and
// with Down. If counted, the request is work until done is called; a poll is
// not.
func (t *Tracker) Request(ctx context.Context, method string, counted bool) (_ context.Context, done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	release := func() {}
	if t.work != nil && counted {
		release = t.work.Begin(t.name + " " + method)
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(t.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
		release()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.requests--
		t.answered.Broadcast()
	}
}

// Sleep waits on c inside a counted request whose caller is counted too and
// waits for the answer. It ends early, without an error, with ctx: a request
// that has arrived takes effect although its caller is gone.
func (t *Tracker) Sleep(ctx context.Context, c core.Clock, d time.Duration) {
	if t.work != nil {
		defer t.work.Park()()
	}
	_ = c.Sleep(ctx, d)
}
