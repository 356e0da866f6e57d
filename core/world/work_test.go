package world_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core/world"
)

func count(w *world.Work) int {
	n, _ := w.State()
	return n
}

func TestWork(t *testing.T) {
	w := new(world.Work)
	require.NoError(t, w.Zero(t.Context()))
	endTurn, endTool := w.Begin("turn"), w.Begin("tool")
	unpark := w.Park()
	require.Equal(t, "1 in progress: parked=-1 tool=1 turn=1", w.Holders())
	unpark()
	endTool()
	require.Equal(t, "1 in progress: turn=1", w.Holders())

	cause := errors.New("too long")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	require.Equal(t, cause, w.Zero(ctx))

	_, before := w.State()
	go endTurn()
	require.NoError(t, w.Zero(t.Context()))
	n, after := w.State()
	require.Zero(t, n)
	require.NotEqual(t, before, after)
	w.Begin("again")()
	_, again := w.State()
	require.NotEqual(t, after, again, "zero again is told from still zero")
}

func TestWorkZeroWakesEveryWaiter(t *testing.T) {
	w := new(world.Work)
	end := w.Begin("turn")
	var all sync.WaitGroup
	errs := make(chan error, 8)
	for range cap(errs) {
		all.Go(func() { errs <- w.Zero(t.Context()) })
	}
	end()
	all.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}

// signalModel drives a Signal from one goroutine and knows what it must count.
type signalModel struct {
	work             *world.Work
	signal           *world.Signal
	pending, holding bool
	dropped          bool
}

func (m *signalModel) Notify(*rapid.T) {
	m.signal.Notify()
	m.pending = !m.dropped
}

func (m *signalModel) Take(t *rapid.T) {
	if !m.pending {
		t.Skip("it would block")
	}
	<-m.signal.C()
	m.signal.Took()
	m.pending, m.holding = false, true
}

func (m *signalModel) Wait(t *rapid.T) {
	ctx, cancel := context.WithCancel(context.Background())
	if !m.pending {
		cancel()
	}
	defer cancel()
	err := m.signal.Wait(ctx)
	require.Equal(t, m.pending, err == nil)
	m.holding = m.pending
	m.pending = false
}

func (m *signalModel) Idle(*rapid.T) {
	m.signal.Idle()
	m.holding = false
}

func (m *signalModel) Drop(*rapid.T) {
	m.signal.Drop()
	m.pending, m.holding, m.dropped = false, false, true
}

func (m *signalModel) Check(t *rapid.T) {
	want := 0
	if m.pending {
		want++
	}
	if m.holding {
		want++
	}
	require.Equal(t, want, count(m.work))
}

func TestSignalCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := new(world.Work)
		t.Repeat(rapid.StateMachineActions(&signalModel{work: w, signal: w.NewSignal("waiter")}))
	})
}

// However the notifications fall, the waiter sees the last one, and the count
// is zero only when it has dealt with all.
func TestSignalLosesNothing(t *testing.T) {
	w := new(world.Work)
	s := w.NewSignal("waiter")
	var mu sync.Mutex
	put, taken := 0, 0
	ctx, cancel := context.WithCancel(t.Context())
	var waiter, notifiers sync.WaitGroup
	waiter.Go(func() {
		for s.Wait(ctx) == nil {
			mu.Lock()
			taken = put
			mu.Unlock()
		}
	})
	for range 4 {
		notifiers.Go(func() {
			for range 1000 {
				mu.Lock()
				put++
				mu.Unlock()
				s.Notify()
			}
		})
	}
	notifiers.Wait()
	require.NoError(t, w.Zero(t.Context()))
	mu.Lock()
	require.Equal(t, 4000, taken)
	mu.Unlock()
	cancel()
	waiter.Wait()
	s.Drop()
	require.Zero(t, count(w))
}
