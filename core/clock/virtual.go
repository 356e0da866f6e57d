package clock

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/skein-bot/skein/core"
)

// Counter counts work in progress; world.Work is one. The virtual clock adds
// one for a waiter it wakes before it wakes it, so that the world is never
// quiet while a wake-up is on its way.
type Counter interface {
	Add(n int)
}

// Virtual is a clock that stands still until Advance moves it. Callers of
// Sleep give one unit of work back to the counter while they sleep; functions
// of AfterFunc count as work while they run. A timer of NewTimer counts from
// its tick until the tick is received or the timer stopped.
type Virtual struct {
	work Counter

	mu    sync.Mutex
	now   time.Time
	seq   uint64
	queue timerHeap
}

var _ core.Clock = (*Virtual)(nil)

// NewVirtual returns a clock that shows start.
func NewVirtual(start time.Time, work Counter) *Virtual {
	return &Virtual{work: work, now: start}
}

// Now returns the time to which the clock was advanced.
func (v *Virtual) Now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

// Next returns when the earliest timer is due; ok is false if none waits.
func (v *Virtual) Next() (due time.Time, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.queue) == 0 {
		return time.Time{}, false
	}
	return v.queue[0].due, true
}

// Sleepers returns how many callers of Sleep are asleep.
func (v *Virtual) Sleepers() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0
	for _, vt := range v.queue {
		if vt.ctx != nil {
			n++
		}
	}
	return n
}

// AdvanceTo moves the clock to t, never backwards, and fires every timer due
// by then, in order of their times. It does not wait for what they start; the
// caller steps from Next to Next and waits for quiet between.
func (v *Virtual) AdvanceTo(t time.Time) {
	v.mu.Lock()
	var due []*virtualTimer
	for len(v.queue) > 0 && !v.queue[0].due.After(t) {
		due = append(due, heap.Pop(&v.queue).(*virtualTimer))
	}
	if t.After(v.now) {
		v.now = t
	}
	v.work.Add(len(due))
	v.mu.Unlock()
	for _, vt := range due {
		vt.fire(vt)
	}
}

// WakeCancelled wakes every sleeper whose context has ended but which has not
// run since, counts each as work again, and returns how many there were. Such
// a sleeper would run soon by itself, but until then nothing counts it: so
// whoever found the work at zero calls WakeCancelled before AdvanceTo, and if
// it returns more than 0, or the work is not zero any more, the world was not
// quiet after all.
func (v *Virtual) WakeCancelled() int {
	v.mu.Lock()
	var woken []*virtualTimer
	for _, vt := range v.queue {
		if vt.ctx != nil && vt.ctx.Err() != nil {
			woken = append(woken, vt)
		}
	}
	for _, vt := range woken {
		heap.Remove(&v.queue, vt.index)
	}
	if len(woken) > 0 {
		v.work.Add(len(woken))
	}
	v.mu.Unlock()
	for _, vt := range woken {
		vt.fire(vt)
	}
	return len(woken)
}

// virtualTimer is one waiter. fire is called without the lock and with one
// unit of work held, which it must give back.
type virtualTimer struct {
	v     *Virtual
	due   time.Time
	seq   uint64
	index int // in the heap, -1 when not in it
	fire  func(*virtualTimer)
	ctx   context.Context // of Sleep
	ch    chan time.Time
	quit  chan struct{} // of NewTimer: ends the goroutine that offers the tick
}

func (v *Virtual) schedule(vt *virtualTimer, d time.Duration) {
	v.mu.Lock()
	v.seq++
	vt.seq, vt.due = v.seq, v.now.Add(max(d, 0))
	heap.Push(&v.queue, vt)
	v.mu.Unlock()
}

func (v *Virtual) remove(vt *virtualTimer) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if vt.index < 0 {
		return false
	}
	heap.Remove(&v.queue, vt.index)
	return true
}

// AfterFunc runs f in its own goroutine once the clock has moved by d. A d of
// 0 or less fires at the next AdvanceTo.
func (v *Virtual) AfterFunc(d time.Duration, f func()) core.Timer {
	vt := &virtualTimer{v: v, index: -1}
	vt.fire = func(*virtualTimer) {
		go func() {
			defer v.work.Add(-1)
			f()
		}()
	}
	v.schedule(vt, d)
	return vt
}

// NewTimer returns a timer whose tick is offered until it is taken or the
// timer is stopped or reset.
func (v *Virtual) NewTimer(d time.Duration) core.Timer {
	vt := &virtualTimer{v: v, index: -1, ch: make(chan time.Time), quit: make(chan struct{})}
	vt.fire = func(t *virtualTimer) {
		v.mu.Lock()
		quit, due := t.quit, t.due
		v.mu.Unlock()
		go func() {
			defer v.work.Add(-1)
			select {
			case t.ch <- due:
			case <-quit:
			}
		}()
	}
	v.schedule(vt, d)
	return vt
}

// Sleep gives one unit of work back until the clock has moved by d or ctx
// ends.
func (v *Virtual) Sleep(ctx context.Context, d time.Duration) error {
	if err := context.Cause(ctx); err != nil || d <= 0 {
		return err
	}
	woken := make(chan struct{})
	vt := &virtualTimer{v: v, index: -1, ctx: ctx, fire: func(*virtualTimer) { close(woken) }}
	v.schedule(vt, d)
	v.work.Add(-1)
	select {
	case <-woken: // AdvanceTo or WakeCancelled has counted this goroutine again
		return context.Cause(ctx)
	case <-ctx.Done():
		if !v.wakeUp(vt) {
			<-woken
		}
		return context.Cause(ctx)
	}
}

// wakeUp lets a sleeper count again in the moment it leaves the queue, so that
// whoever asks WakeCancelled misses it in neither place. It returns false if
// somebody else has woken it.
func (v *Virtual) wakeUp(vt *virtualTimer) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if vt.index < 0 {
		return false
	}
	heap.Remove(&v.queue, vt.index)
	v.work.Add(1)
	return true
}

// WithTimeout returns a context that ends with context.DeadlineExceeded as its
// cause once the clock has moved by d.
func (v *Virtual) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(ctx)
	t := v.AfterFunc(d, func() {
		cancel(context.DeadlineExceeded)
		v.WakeCancelled() // before this function stops counting as work
	})
	return inner, func() {
		t.Stop()
		cancel(context.Canceled)
	}
}

// WithDeadline is WithTimeout until t.
func (v *Virtual) WithDeadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc) {
	return v.WithTimeout(ctx, t.Sub(v.Now()))
}

// C returns the channel of a timer of NewTimer.
func (t *virtualTimer) C() <-chan time.Time { return t.ch }

// Stop prevents the timer from firing, or takes back a tick nobody received.
func (t *virtualTimer) Stop() bool {
	active := t.v.remove(t)
	t.dropTick()
	return active
}

// Reset schedules the timer anew.
func (t *virtualTimer) Reset(d time.Duration) bool {
	active := t.Stop()
	t.v.schedule(t, d)
	return active
}

func (t *virtualTimer) dropTick() {
	if t.quit == nil {
		return
	}
	t.v.mu.Lock()
	close(t.quit)
	t.quit = make(chan struct{})
	t.v.mu.Unlock()
}

// timerHeap orders by time, then by creation.
type timerHeap []*virtualTimer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if h[i].due.Equal(h[j].due) {
		return h[i].seq < h[j].seq
	}
	return h[i].due.Before(h[j].due)
}
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timerHeap) Push(x any) {
	t := x.(*virtualTimer)
	t.index = len(*h)
	*h = append(*h, t)
}
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	t.index = -1
	*h = old[:len(old)-1]
	return t
}
