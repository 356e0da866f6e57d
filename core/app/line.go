package app

import (
	"context"
	"sync"

	"github.com/skein-bot/skein/core/world"
)

// line runs functions one after the other in a goroutine of its own, off the
// path of messages. What it has to do counts as work of the world.
type line struct {
	signal *world.Signal
	ctx    context.Context
	cancel context.CancelFunc
	quit   chan struct{}
	done   chan struct{} // nil before start

	mu      sync.Mutex
	stopped bool
	busy    bool // drain looks at todo again before it ends
	todo    []func(ctx context.Context)
}

// newLine returns a line that is not started; what is added waits.
func newLine(w *world.World, name string) *line {
	l := &line{signal: w.Work.NewSignal(name), quit: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(w.Context())
	return l
}

// add appends f. It never blocks; after stop it does nothing.
func (l *line) add(f func(ctx context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	l.todo = append(l.todo, f)
	if !l.busy { // one unit of work is enough, also while f sleeps on the clock
		l.signal.Notify()
	}
}

func (l *line) start() {
	l.done = make(chan struct{})
	go l.run()
}

func (l *line) run() {
	defer close(l.done)
	for {
		l.signal.Idle()
		select {
		case <-l.signal.C():
			l.signal.Took()
			l.drain()
		case <-l.quit:
			l.drain()
			return
		case <-l.ctx.Done():
			return
		}
	}
}

// drain runs what there is, until the line is cut.
func (l *line) drain() {
	for f := l.next(); f != nil; f = l.next() {
		f(l.ctx)
	}
}

// next takes the first function, nil if there is none or the line is cut.
func (l *line) next() (f func(ctx context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.todo) > 0 && l.ctx.Err() == nil {
		f, l.todo = l.todo[0], l.todo[1:]
	}
	l.busy = f != nil
	return f
}

// cut is stop for what need not be finished.
func (l *line) cut() {
	l.cancel()
	l.stop(context.Background())
}

// stop takes nothing more, runs what is left until ctx ends, and waits for the
// goroutine. Calling it again, or on a line that was not started, is harmless.
func (l *line) stop(ctx context.Context) {
	l.mu.Lock()
	first := !l.stopped
	l.stopped = true
	l.mu.Unlock()
	if first {
		close(l.quit)
	}
	if l.done != nil {
		select {
		case <-l.done:
		case <-ctx.Done():
		}
		l.cancel()
		<-l.done
	}
	l.cancel()
	l.signal.Drop()
}
