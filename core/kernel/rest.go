package kernel

import (
	"container/list"
	"context"
	"time"
)

// Rest gives the turn's slot back to its lane while wait runs, and returns with
// a slot again: before new turns, among what else goes on. A turn that waits for
// others so cannot keep them from running. wait must wait by the world's clock
// (core.Clock.Sleep), so that the wait is no work. Where ctx ends, Rest returns
// at once, so that the turn can end. Calls of one turn may rest beside each
// other; while one of them does, the others have no slot either.
func (l *Lease) Rest(ctx context.Context, wait func(ctx context.Context)) {
	if e, slot := l.k.leaveSlot(l.Session.ID); e != nil {
		defer l.k.retakeSlot(ctx, e, slot)
	}
	wait(ctx)
}

// leaveSlot takes the slot of a running session; nil where it has none.
func (k *Kernel) leaveSlot(session int64) (*entry, *lane) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.entries[session]
	if e == nil || e.state != entryRunning || e.slot == nil {
		return nil, nil
	}
	l := e.slot
	e.slot = nil
	l.running--
	k.dispatch()
	return e, l
}

// back is a turn that rested and wants its slot again.
type back struct {
	grant context.CancelFunc
	entry *entry
}

// whole is longer than any wait for a slot; it only bounds one sleep.
const whole = 24 * time.Hour

// retakeSlot waits until the lane has a slot for a turn that rested, or its
// context ends: then it runs over the number of slots, for as long as its end
// takes.
func (k *Kernel) retakeSlot(ctx context.Context, e *entry, l *lane) {
	granted, grant := context.WithCancel(ctx)
	defer grant()
	k.mu.Lock()
	elem := l.back.PushBack(back{grant, e})
	k.dispatch()
	k.mu.Unlock()
	for granted.Err() == nil {
		_ = k.opts.World.Clock.Sleep(granted, whole)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.slot == nil {
		l.back.Remove(elem)
		l.take(e)
	}
}

// take gives the session a slot of the lane.
func (l *lane) take(e *entry) {
	e.slot = l
	l.running++
}

// grantBack gives a free slot to the first of those that rested; false if there
// is none.
func (l *lane) grantBack() bool {
	front := l.back.Front()
	if front == nil {
		return false
	}
	b := l.back.Remove(front).(back)
	l.take(b.entry)
	b.grant()
	return true
}

func newLane() *lane { return &lane{back: list.New(), urgent: list.New(), queue: list.New()} }
