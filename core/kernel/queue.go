package kernel

import (
	"container/list"
	"context"
	"time"

	"github.com/skein-bot/skein/core/store"
)

type entryState int

const (
	entryIdle entryState = iota
	entryQueued
	entryRunning
)

// entry is what the kernel knows about a session that is not idle.
type entry struct {
	session int64
	state   entryState
	lane    store.Lane
	urgent  bool
	elem    *list.Element
	fence   int64   // of the turn that runs, 0 before its claim
	again   *wakeUp // while running, nil if there was none
	local   bool    // woken by this node, not by another one's hint
	follows bool    // messages queued behind its last turn
	fails   int     // consecutive failures of claim or turn
	slot    *lane   // whose slot it has, nil while it rests
	cancel  context.CancelCauseFunc
}

// wakeUp is where a session goes on that was woken while it was served.
type wakeUp struct {
	lane   store.Lane
	urgent bool
}

// with adds one more wake-up: a person's comes first, whoever else waits.
func (w *wakeUp) with(l store.Lane, urgent bool) *wakeUp {
	if w == nil || w.lane != l && l == store.LaneMain {
		return &wakeUp{l, urgent}
	}
	if w.lane == l {
		w.urgent = w.urgent || urgent
	}
	return w
}

type lane struct {
	running int
	back    *list.List // turns that rested
	urgent  *list.List // resumed runs
	queue   *list.List
}

func (k *Kernel) laneFor(l store.Lane) *lane {
	if x := k.lanes[l]; x != nil {
		return x
	}
	return k.lanes[store.LaneMain]
}

func (k *Kernel) enqueue(e *entry) {
	q := k.laneFor(e.lane).queue
	if e.urgent {
		q = k.laneFor(e.lane).urgent
	}
	e.state, e.elem = entryQueued, q.PushBack(e)
}

func (k *Kernel) unqueue(e *entry) {
	l := k.laneFor(e.lane)
	if e.urgent {
		l.urgent.Remove(e.elem)
	} else {
		l.queue.Remove(e.elem)
	}
	e.state, e.elem = entryIdle, nil
}

// dispatch starts queued sessions while their lane has slots, after the turns
// that rested. k.mu is held.
func (k *Kernel) dispatch() {
	for name, l := range k.lanes {
		slots := max(k.opts.Slots(name), 1)
		for l.running < slots && (l.grantBack() || k.startNext(l)) {
		}
	}
}

// startNext starts the next queued session of a lane; false if there is none, or
// no new work is taken. k.mu is held.
func (k *Kernel) startNext(l *lane) bool {
	if k.stopping || !k.started {
		return false
	}
	front := l.urgent.Front()
	if front == nil {
		front = l.queue.Front()
	}
	if front == nil {
		return false
	}
	e := front.Value.(*entry)
	k.unqueue(e)
	k.start(e, l)
	return true
}

// start runs one claim of e in its own goroutine. k.mu is held.
func (k *Kernel) start(e *entry, l *lane) {
	e.state, e.again, e.fence = entryRunning, nil, 0
	l.take(e)
	ctx, cancel := context.WithCancelCause(k.ctx)
	e.cancel = cancel
	follows := e.follows
	done := k.opts.World.Work.Begin("turn")
	k.wg.Add(1)
	go func() {
		defer k.wg.Done()
		defer done()
		defer cancel(nil)
		out := k.serve(ctx, e, follows)
		k.finish(e, out)
	}()
}

// outcome is what a served session needs next.
type outcome struct {
	again  bool          // more rows wait
	behind bool          // messages queued behind the turn that ran
	theirs bool          // another node owns the session
	lane   store.Lane    // of what waits
	urgent bool          // it is a resumed run
	delay  time.Duration // claim again after this
	err    error
}

// finish decides what a session does after it was served.
func (k *Kernel) finish(e *entry, out outcome) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.slot != nil {
		e.slot.running--
	}
	e.state, e.slot, e.cancel = entryIdle, nil, nil
	e.follows = out.behind || e.follows && out.delay > 0
	switch {
	case out.err != nil && !k.stopping && k.opts.World.Err() == nil:
		e.fails++
		out.delay = backoff(e.fails)
		k.opts.Log.Error("a session could not be served; it is tried again", "session", e.session, "in", out.delay, "error", out.err)
	default:
		e.fails = 0
	}
	switch {
	case out.delay > 0:
		k.later(e, out)
	case out.again || e.again != nil && !out.theirs:
		next := e.again
		if out.again {
			next = next.with(out.lane, out.urgent)
		}
		e.lane, e.urgent = next.lane, next.urgent
		k.enqueue(e)
	default:
		if out.theirs && e.local {
			k.tell(e)
		}
		delete(k.entries, e.session)
	}
	k.dispatch()
}

// later wakes e after a pause.
func (k *Kernel) later(e *entry, out outcome) {
	if out.lane != "" {
		e.lane, e.urgent = out.lane, out.urgent
	}
	k.opts.World.Clock.AfterFunc(out.delay, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if e.state == entryIdle && k.entries[e.session] == e {
			k.enqueue(e)
			k.dispatch()
		}
	})
}

// backoff is the pause after n failures in a row: 1 s doubling to 1 min.
func backoff(n int) time.Duration {
	d := time.Second << min(n-1, 6)
	return min(d, time.Minute)
}

// Depth returns how many sessions of a lane run and wait, for metrics.
func (k *Kernel) Depth(l store.Lane) (running, waiting int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	x := k.laneFor(l)
	return x.running, x.urgent.Len() + x.queue.Len()
}

// Redispatch looks for free slots again after a reload changed their number.
func (k *Kernel) Redispatch() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dispatch()
}
