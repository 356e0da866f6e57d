package delivery

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// Concurrency is how many lanes of an account send at once; command replies
// have as many places of their own.
const Concurrency = 8

// SendTimeout is the deadline of one request to a platform, by the world's
// clock.
const SendTimeout = 30 * time.Second

// OnAmbiguous says what happens to a message that may have been sent
// (delivery.onAmbiguous).
type OnAmbiguous string

// The policies for a message that may have been sent.
const (
	Resend OnAmbiguous = "resend" // send it again, marked as resent; at most 3 times in a row
	Hold   OnAmbiguous = "hold"   // hold it as ambiguous until an operator decides
)

// DefaultOnAmbiguous resends final answers and holds everything else: an answer
// twice is better than none, anything else is not.
func DefaultOnAmbiguous(kind store.OutboxKind) OnAmbiguous {
	if kind == store.OutFinal {
		return Resend
	}
	return Hold
}

// Options make a Service. DB, World and Log are required.
//
// The hooks run inside a transaction of the store and follow its rules: they
// are pure apart from tx and may run again. A hook that returns an error is
// tried three times; then the row's own state is written without it, because
// what was sent must not be sent again.
type Options struct {
	DB    *store.DB
	World *world.World
	Log   *slog.Logger

	// Instance tells the stores of the world apart; with the row's id it makes
	// the key of a message (core.Outgoing.Key). It must stay the same for the
	// life of the store.
	Instance string

	// Render turns the text of a row into the channel's own notation; nil
	// leaves it. It must be pure.
	Render func(channel, text string) string
	// Literal is Render for texts without markup (store.OutboxKind.Literal);
	// nil leaves them. It must be pure.
	Literal func(channel, text string) string
	// Split cuts rendered text into messages that the platform takes, in
	// order; nil makes one message of it. It must be pure: a message that was
	// sent in part is cut again and resumed at its first unsent part.
	Split func(text string, caps core.Capabilities) []string
	// Plain takes the markup out of one rendered part that the platform
	// refused; nil leaves it. It must be pure.
	Plain func(channel, part string) string
	// Redact takes secrets out of a text that passed the Gate; nil leaves it.
	Redact func(string) string

	// Guard refuses, inside a transaction, to write for an account that another
	// node sends for meanwhile: then the worker writes nothing and sends no more.
	// Holds says the same without the store, before each request. Both are nil
	// where no other node serves the store.
	Guard func(tx *store.Tx, channel, account string) error
	Holds func(channel, account string) bool

	// Stream says whether an account shows answers while they are written; preset
	// is what its channel is set to. Nil means preset.
	Stream func(channel, account string, preset bool) bool

	// OnAmbiguous chooses what happens to a message that may have been sent; it
	// is asked each time, so a reload takes effect at once. Nil means
	// DefaultOnAmbiguous.
	OnAmbiguous func(kind store.OutboxKind) OnAmbiguous
	// OnUndeliverable decides about a message whose place is gone, closed or
	// forbidden. It may end or suspend the binding of the place and return the
	// row addressed to the parent conversation, with a text that says so, and
	// true: the row keeps its id and once key and is queued once more. False,
	// or any other address, means that the message has failed. Nil means
	// false.
	OnUndeliverable func(tx *store.Tx, row store.Outbox, class core.SendClass) (store.Outbox, bool, error)
	// OnSent runs in the transaction that records the last receipt.
	OnSent func(tx *store.Tx, row store.Outbox, now core.Millis) error
	// OnGaveUp runs in the transaction that ends a message as failed, blocked
	// or ambiguous; row.State and row.Error say which and why.
	OnGaveUp func(tx *store.Tx, row store.Outbox, now core.Millis) error
}

// Account is one account of a channel that can send.
type Account struct {
	Channel string
	ID      string
	// Adapter sends for the account; it must be comparable (a pointer).
	Adapter core.Adapter
}

type accountKey struct{ channel, id string }

func (a Account) key() accountKey { return accountKey{a.Channel, a.ID} }

// ErrStopping is the cause with which Stop ends the requests that its context
// did not leave time for.
var ErrStopping = errors.New("delivery is stopping")

// Service delivers the outbox of a store. Create it with New. It is safe for
// concurrent use.
type Service struct {
	opts Options

	change sync.Mutex // held while accounts change

	mu      sync.RWMutex
	stopped bool
	workers map[accountKey]*worker
}

// New returns a service without accounts: it takes messages, which wait in the
// store for their account.
func New(opts Options) *Service {
	if opts.OnAmbiguous == nil {
		opts.OnAmbiguous = DefaultOnAmbiguous
	}
	return &Service{opts: opts, workers: make(map[accountKey]*worker)}
}

// Start begins to deliver for the accounts, what earlier processes left first.
// Call it once the adapters may be asked to send; it does not block.
func (s *Service) Start(accounts []Account) {
	s.SetAccounts(context.Background(), accounts)
}

// SetAccounts replaces the accounts: new ones and those with another adapter
// start from the store, those left out end. It blocks while their requests are
// in flight; when ctx ends these are cancelled.
func (s *Service) SetAccounts(ctx context.Context, accounts []Account) {
	s.change.Lock()
	defer s.change.Unlock()
	wanted := make(map[accountKey]Account, len(accounts))
	for _, a := range accounts {
		wanted[a.key()] = a
	}
	s.finish(ctx, s.remove(func(w *worker) bool {
		a, ok := wanted[w.account.key()]
		return !ok || a.Adapter != w.account.Adapter
	}))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	for key, a := range wanted {
		if s.workers[key] == nil {
			w := newWorker(s, a)
			s.workers[key] = w
			w.start()
		}
	}
}

// Stop takes no new sends, lets those in flight finish until ctx ends, then
// cancels them, and returns when every goroutine has ended. What was not sent
// is sent after the next start. A stopped service still takes messages into the
// store.
func (s *Service) Stop(ctx context.Context) {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.change.Lock()
	defer s.change.Unlock()
	s.finish(ctx, s.remove(func(*worker) bool { return true }))
}

// remove takes the workers that end out of the map, so that they get no more
// rows.
func (s *Service) remove(ends func(*worker) bool) []*worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*worker
	for key, w := range s.workers {
		if ends(w) {
			delete(s.workers, key)
			out = append(out, w)
		}
	}
	return out
}

// finish ends workers and waits for them.
func (s *Service) finish(ctx context.Context, workers []*worker) {
	if len(workers) == 0 {
		return
	}
	for _, w := range workers {
		w.halt()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, w := range workers {
			w.wg.Wait()
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
	case <-s.opts.World.Context().Done():
	}
	for _, w := range workers {
		w.cancel(ErrStopping)
	}
	<-done
}

// worker returns the worker of an address, nil if its account is not connected.
func (s *Service) worker(a core.Address) *worker {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.workers[accountKey{a.Channel, a.Account}]
}
