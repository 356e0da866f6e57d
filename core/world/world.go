package world

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/oklog/ulid/v2"

	"github.com/skein-bot/skein/core"
)

// ErrKilled is returned by everything that would have an effect after the
// world was cut.
var ErrKilled = errors.New("killed")

// World is one runtime's outside. Create it with New; it is used by one
// runtime and thrown away with it.
type World struct {
	Clock core.Clock
	Work  *Work

	cut   atomic.Bool
	ctx   context.Context
	end   context.CancelCauseFunc
	armed atomic.Pointer[trap]

	mu      sync.Mutex
	rng     *rand.Rand
	entropy *ulid.MonotonicEntropy
}

// New returns a world on clock. Equal seeds give equal ids and jitter; take a
// random seed outside of tests. A nil work gets a fresh counter.
func New(clock core.Clock, work *Work, seed uint64) *World {
	if work == nil {
		work = new(Work)
	}
	w := &World{Clock: clock, Work: work, rng: rand.New(rand.NewPCG(seed, 0x5ce1))}
	w.entropy = ulid.Monotonic(rngReader{w.rng}, 0)
	w.ctx, w.end = context.WithCancelCause(context.Background())
	return w
}

type rngReader struct{ r *rand.Rand }

func (r rngReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r.r.Uint32())
	}
	return len(p), nil
}

// Now returns the clock's time in milliseconds.
func (w *World) Now() core.Millis { return core.ToMillis(w.Clock.Now()) }

// NewID returns a fresh ULID: 26 characters, ordered by time.
func (w *World) NewID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ms := uint64(max(w.Clock.Now().UnixMilli(), 0))
	id, err := ulid.New(ms, w.entropy)
	if err != nil { // the monotonic entropy of this millisecond is used up
		w.entropy = ulid.Monotonic(rngReader{w.rng}, 0)
		id = ulid.MustNew(ms+1, w.entropy)
	}
	return id.String()
}

// Float returns a random number in [0, 1), for jitter.
func (w *World) Float() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.Float64()
}

// Context ends with cause ErrKilled when the world is cut. Every context of
// the runtime derives from it.
func (w *World) Context() context.Context { return w.ctx }

// Cut kills the world: effects stop, contexts end. It does not wait.
func (w *World) Cut() {
	w.cut.Store(true)
	w.end(ErrKilled)
}

// Err returns ErrKilled after Cut, else nil. Everything with an effect asks
// it first.
func (w *World) Err() error {
	if w.cut.Load() {
		return ErrKilled
	}
	return nil
}

// Transport wraps base (nil: http.DefaultTransport) so that no request leaves
// a cut world and no answer reaches it.
func (w *World) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{w: w, base: base}
}

type transport struct {
	w    *World
	base http.RoundTripper
}

// CloseIdleConnections lets http.Client reach the base transport.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper. A request that a server answered
// after the cut counts there, but its answer is lost here, as with a crash.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.w.Err(); err != nil {
		if r.Body != nil { // a transport closes it in any case
			_ = r.Body.Close()
		}
		return nil, err
	}
	resp, err := t.base.RoundTrip(r)
	if killed := t.w.Err(); killed != nil {
		if resp != nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
			_ = resp.Body.Close()
		}
		return nil, killed
	}
	return resp, err
}
