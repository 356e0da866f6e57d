package world

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
)

// Work counts what is in progress. The zero value is ready to use.
type Work struct {
	mu      sync.Mutex
	n       int
	version uint64 // counts changes, so that "still zero" can be told from "zero again"
	holders map[string]int
	waiters []chan struct{}
}

// Add changes the count by n. The clock uses it; others use Begin or Park.
func (w *Work) Add(n int) { w.change("", n) }

func (w *Work) change(name string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n += n
	w.version++
	if name != "" {
		if w.holders == nil {
			w.holders = make(map[string]int)
		}
		w.holders[name] += n
		if w.holders[name] == 0 {
			delete(w.holders, name)
		}
	}
	if w.n == 0 {
		for _, c := range w.waiters {
			close(c)
		}
		w.waiters = nil
	}
}

// Begin counts one piece of work, named for the report of a stuck world, until
// the returned function is called (once).
func (w *Work) Begin(name string) (done func()) {
	w.change(name, 1)
	return func() { w.change(name, -1) }
}

// Park gives one unit back until the returned function is called: for a
// counted goroutine that waits for other counted work.
func (w *Work) Park() (unpark func()) {
	w.change("parked", -1)
	return func() { w.change("parked", 1) }
}

// State returns the count and a number that changes with every change of it.
func (w *Work) State() (n int, version uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n, w.version
}

// Zero blocks until the count is zero or ctx ends.
func (w *Work) Zero(ctx context.Context) error {
	w.mu.Lock()
	if w.n == 0 {
		w.mu.Unlock()
		return nil
	}
	c := make(chan struct{})
	w.waiters = append(w.waiters, c)
	w.mu.Unlock()
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Holders describes who holds work, for a world that does not become quiet.
func (w *Work) Holders() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for name, n := range w.holders {
		out = append(out, fmt.Sprintf("%s=%d", name, n))
	}
	sort.Strings(out)
	return fmt.Sprintf("%d in progress: %s", w.n, strings.Join(out, " "))
}

// Signal is a wake-up that is never lost and counts as work from Notify until
// the one goroutine that waits on it waits again. Create it with NewSignal.
type Signal struct {
	work *Work
	name string

	mu      sync.Mutex
	pending bool // notified, not yet taken
	holding bool // the waiter took one and has not waited again
	dropped bool // nobody waits any more
	ch      chan struct{}
}

// NewSignal returns a signal whose work is counted under name.
func (w *Work) NewSignal(name string) *Signal {
	return &Signal{work: w, name: name, ch: make(chan struct{}, 1)}
}

// Notify wakes the waiter now or as soon as it waits; it never blocks, and
// several calls before that count as one.
func (s *Signal) Notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending || s.dropped {
		return
	}
	s.pending = true
	s.work.change(s.name, 1)
	s.ch <- struct{}{}
}

// C returns the channel to select on beside others; after a receive call Took.
func (s *Signal) C() <-chan struct{} { return s.ch }

// Took must be called right after a receive from C: the waiter now holds the
// work until it calls Idle.
func (s *Signal) Took() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = false
	if s.holding {
		s.work.change(s.name, -1)
	}
	s.holding = true
}

// Idle gives back what the waiter holds; it is called before waiting and when
// the waiter ends.
func (s *Signal) Idle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holding {
		s.holding = false
		s.work.change(s.name, -1)
	}
}

// Wait gives back what the caller holds and blocks until notified or ctx ends.
func (s *Signal) Wait(ctx context.Context) error {
	s.Idle()
	select {
	case <-s.ch:
		s.Took()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Drop discards a pending notification and all that come later, such as those
// of a commit that ends after the waiter: nobody will wait any more.
func (s *Signal) Drop() {
	s.mu.Lock()
	s.dropped = true
	s.mu.Unlock()
	select {
	case <-s.ch:
		s.Took()
	default:
	}
	s.Idle()
}
