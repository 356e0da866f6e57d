package delivery

import (
	"slices"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// item is an open row in memory. While the lane runs only that goroutine touches
// its first item, otherwise only who holds the worker's lock.
type item struct {
	row     store.Outbox
	stale   bool // the text is not here: read the row before the next try
	unsure  bool // a process that is gone may have sent it
	again   bool // it was handed over once more; under the lock at any time
	yielded bool // its place was given up before its receipt was written
	resends int  // after ambiguous outcomes, in this process
	beside  bool // it could not replace its preview, which must go
	stands  bool // of a preview: it may be there, although there is no receipt
}

// laneKey names a lane of an account.
type laneKey struct {
	conversation, thread string
	command              bool
}

func keyOf(row store.Outbox) laneKey {
	return laneKey{row.Address.Conversation, row.Address.Thread, row.Kind == store.OutCommand}
}

type laneState int

const (
	laneIdle    laneState = iota
	laneWaiting           // for the time of its first row
	laneReady             // for room in its pool
	laneRunning           // its first row is being sent
)

// lane is what is sent strictly one after the other.
type lane struct {
	key   laneKey
	alone bool
	queue []*item // by id
	state laneState
	timer core.Timer // while waiting
}

func (l *lane) disarm() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// place puts an item into the lane of its address, by its id. w.mu is held.
func (w *worker) place(it *item) {
	key := keyOf(it.row)
	l := w.lanes[key]
	if l == nil {
		l = &lane{key: key}
		w.lanes[key] = l
	}
	at := len(l.queue)
	for first := l.busy(); at > first && l.queue[at-1].row.ID > it.row.ID; {
		at--
	}
	l.queue = slices.Insert(l.queue, at, it)
	if at == 0 {
		w.advance(l)
	}
}

// busy returns how many items at the head of the queue are in flight.
func (l *lane) busy() int {
	if l.state == laneRunning {
		return 1
	}
	return 0
}

// advance decides what a lane does that is neither ready nor running: its first
// row is due, or it waits, or it holds its followers up no longer and goes on
// alone. w.mu is held; dispatch afterwards.
func (w *worker) advance(l *lane) {
	if !w.loaded || w.stopping || l.state == laneReady || l.state == laneRunning {
		return
	}
	l.disarm()
	l.state = laneIdle
	now := w.s.opts.World.Now()
	for len(l.queue) > 0 {
		head := l.queue[0]
		if head.row.NextAt <= now {
			p := w.poolOf(l.key)
			l.state = laneReady
			p.ready = append(p.ready, l)
			return
		}
		until := head.row.NextAt
		if !l.alone && head.row.FirstTry != 0 { // else it waits for the store
			holds := head.row.FirstTry.Add(patienceFor(head.row.Kind).hold)
			if now >= holds {
				l.queue = l.queue[1:]
				w.detach(l.key, head)
				continue
			}
			until = min(until, holds)
		}
		w.arm(l, until.Sub(now))
		return
	}
	if l.alone {
		delete(w.alone, l)
	} else {
		delete(w.lanes, l.key)
	}
}

// detach gives a row a lane of its own. w.mu is held.
func (w *worker) detach(key laneKey, it *item) {
	l := &lane{key: key, alone: true, queue: []*item{it}}
	w.alone[l] = struct{}{}
	w.advance(l)
}

// arm wakes a lane after d. w.mu is held.
func (w *worker) arm(l *lane, d time.Duration) {
	l.state = laneWaiting
	var timer core.Timer
	timer = w.s.opts.World.Clock.AfterFunc(d, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if l.timer == timer { // else the lane was woken or stopped meanwhile
			w.advance(l)
			w.dispatch()
		}
	})
	l.timer = timer
}

func (w *worker) poolOf(key laneKey) *pool {
	if key.command {
		return &w.commands
	}
	return &w.ordinary
}
