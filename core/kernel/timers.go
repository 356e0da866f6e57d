package kernel

import (
	"sync"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// Source is something with deadlines in the store. The timer table is one;
// others keep the deadline in their own rows (bindings, archives).
type Source interface {
	// Name is for the log.
	Name() string
	// Next returns the earliest deadline, 0 if there is none.
	Next(tx *store.Tx) (core.Millis, error)
	// Fire does the effect of a bounded number of deadlines that are due, in
	// the transaction that consumes them, and returns how many there were. It
	// may find that none is really due; then it must have moved them.
	Fire(tx *store.Tx, now core.Millis) (int, error)
}

// TimerFunc is the effect of one timer of the timer table, run in the
// transaction that removes it. It may set the same timer again.
type TimerFunc func(tx *store.Tx, t store.Timer, now core.Millis) error

// timers sleeps until the nearest deadline of all sources.
type timers struct {
	k       *Kernel
	signal  *world.Signal
	quit    chan struct{}
	once    sync.Once
	mu      sync.Mutex
	sources []Source
	kinds   map[string]TimerFunc
	armed   core.Millis
	timer   core.Timer
}

func newTimers(k *Kernel) *timers {
	t := &timers{k: k, signal: k.opts.World.Work.NewSignal("timers"), quit: make(chan struct{}), kinds: make(map[string]TimerFunc)}
	t.sources = []Source{tableSource{t}}
	return t
}

// AddSource registers a source of deadlines. Call it before Start.
func (k *Kernel) AddSource(s Source) { k.timers.sources = append(k.timers.sources, s) }

// HandleTimer registers the effect of a kind of timer. Call it before Start.
func (k *Kernel) HandleTimer(kind string, f TimerFunc) { k.timers.kinds[kind] = f }

// Due tells the kernel of a deadline that a transaction has just committed. It
// never blocks; deadlines later than the nearest known one cost nothing.
func (k *Kernel) Due(at core.Millis) {
	t := k.timers
	t.mu.Lock()
	earlier := at != 0 && (t.armed == 0 || at < t.armed)
	t.mu.Unlock()
	if earlier {
		t.signal.Notify()
	}
}

func (t *timers) loop() {
	defer t.k.wg.Done()
	defer t.signal.Drop() // a deadline that is committed from here on is for the next start
	t.signal.Notify()
	for {
		t.signal.Idle()
		select {
		case <-t.signal.C():
			t.signal.Took()
		case <-t.quit:
			return
		case <-t.k.ctx.Done():
			return
		}
		t.pass()
	}
}

// pass fires what is due and arms the clock for the next deadline.
func (t *timers) pass() {
	t.unarm()
	for {
		next, err := t.fireDue()
		if err != nil {
			if t.k.ctx.Err() != nil {
				return
			}
			t.k.opts.Log.Error("timers could not run; they are tried again", "error", err)
			t.arm(t.k.opts.World.Now().Add(time.Second))
			return
		}
		if next == 0 || next > t.k.opts.World.Now() {
			t.arm(next)
			return
		}
	}
}

// fireDue runs one batch of each source that is due and returns the next
// deadline over all.
func (t *timers) fireDue() (next core.Millis, err error) {
	for _, s := range t.sources {
		due, err := t.nextOf(s)
		if err != nil {
			return 0, err
		}
		if due != 0 && due <= t.k.opts.World.Now() {
			if err := t.fire(s); err != nil {
				return 0, err
			}
			if due, err = t.nextOf(s); err != nil {
				return 0, err
			}
		}
		if due != 0 && (next == 0 || due < next) {
			next = due
		}
	}
	return next, nil
}

func (t *timers) nextOf(s Source) (due core.Millis, err error) {
	err = t.k.opts.DB.Read(t.k.ctx, func(tx *store.Tx) error {
		due, err = s.Next(tx)
		return err
	})
	return due, err
}

func (t *timers) fire(s Source) error {
	n := 0
	err := t.k.opts.DB.Write(t.k.ctx, func(tx *store.Tx) (err error) {
		if n, err = s.Fire(tx, t.k.opts.World.Now()); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		return tx.Crash(world.TimerFired)
	})
	if err == nil && n > 0 {
		t.k.opts.Log.Debug("deadlines passed", "source", s.Name(), "count", n)
	}
	return err
}

// unarm forgets the deadline that a pass is about: while it looks, every other
// that is told is news, for it may have looked at that source already.
func (t *timers) unarm() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed = 0
}

// arm sets the clock for the next pass; 0 means that nothing waits.
func (t *timers) arm(next core.Millis) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed = next
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	if next != 0 {
		t.timer = t.k.opts.World.Clock.AfterFunc(next.Sub(t.k.opts.World.Now()), t.signal.Notify)
	}
}

func (t *timers) stop() { t.once.Do(func() { close(t.quit) }) }

func (t *timers) drop() {
	t.arm(0)
	t.signal.Drop()
}

// tableSource is the timer table.
type tableSource struct{ t *timers }

func (tableSource) Name() string { return "timer" }

func (tableSource) Next(tx *store.Tx) (core.Millis, error) { return tx.NextTimer() }

// fireBatch bounds how long one batch holds the writer.
const fireBatch = 100

func (s tableSource) Fire(tx *store.Tx, now core.Millis) (int, error) {
	due, err := tx.DueTimers(now, fireBatch)
	if err != nil {
		return 0, err
	}
	for _, timer := range due {
		if mine, err := tx.TakeTimer(timer, now); err != nil {
			return 0, err
		} else if !mine {
			continue
		}
		f := s.t.kinds[timer.Kind]
		if f == nil {
			s.t.k.opts.Log.Warn("a timer of an unknown kind is dropped", "kind", timer.Kind, "ref", timer.Ref)
			continue
		}
		if err := f(tx, timer, now); err != nil {
			return 0, err
		}
	}
	return len(due), nil
}
