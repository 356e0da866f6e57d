package clock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func virtual() (*clock.Virtual, *counter) {
	work := new(counter)
	return clock.NewVirtual(start, work), work
}

// counter is a clock.Counter that can be waited for.
type counter struct {
	mu    sync.Mutex
	n     int
	zeros []chan struct{}
}

func (c *counter) Add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n += n; c.n == 0 {
		for _, z := range c.zeros {
			close(z)
		}
		c.zeros = nil
	}
}

// begin counts one piece of work until the returned function is called.
func (c *counter) begin() (done func()) {
	c.Add(1)
	return func() { c.Add(-1) }
}

// zero blocks until nothing is counted.
func (c *counter) zero() {
	c.mu.Lock()
	z := make(chan struct{})
	if c.n == 0 {
		close(z)
	} else {
		c.zeros = append(c.zeros, z)
	}
	c.mu.Unlock()
	<-z
}

func (c *counter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// step moves the clock to its next timer once no work is in progress.
func step(t *testing.T, v *clock.Virtual, work *counter) {
	t.Helper()
	for {
		work.zero()
		if v.WakeCancelled() == 0 {
			break
		}
	}
	due, ok := v.Next()
	require.True(t, ok, "no timer waits")
	v.AdvanceTo(due)
}

func TestVirtualStandsStill(t *testing.T) {
	v, _ := virtual()
	require.Equal(t, start, v.Now())
	_, ok := v.Next()
	require.False(t, ok)
	v.AdvanceTo(start.Add(time.Hour))
	require.Equal(t, start.Add(time.Hour), v.Now())
	v.AdvanceTo(start)
	require.Equal(t, start.Add(time.Hour), v.Now(), "it moved backwards")
}

func TestVirtualSleepGivesItsWorkBack(t *testing.T) {
	v, work := virtual()
	end := work.begin()
	finished := make(chan time.Time)
	go func() {
		defer end()
		if v.Sleep(t.Context(), time.Minute) == nil {
			finished <- v.Now()
		}
	}()
	work.zero()
	v.AdvanceTo(start.Add(time.Minute - 1))
	require.Zero(t, work.count())
	v.AdvanceTo(start.Add(2 * time.Minute))
	require.Equal(t, 1, work.count(), "a woken sleeper is counted before it runs")
	require.Equal(t, start.Add(2*time.Minute), <-finished)
	work.zero()
}

func TestVirtualSleepEndsWithItsContext(t *testing.T) {
	v, work := virtual()
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	require.NoError(t, v.Sleep(ctx, 0))
	require.NoError(t, v.Sleep(ctx, -time.Second))
	end := work.begin()
	result := make(chan error, 1)
	go func() {
		defer end()
		result <- v.Sleep(ctx, time.Minute)
	}()
	work.zero()
	cancel(cause)
	require.Equal(t, cause, <-result)
	work.zero()
	_, ok := v.Next()
	require.False(t, ok, "the timer of a sleeper that left stays behind")
	require.Equal(t, cause, v.Sleep(ctx, time.Minute), "an ended context is seen first")
}

// A cancelled sleeper has work to do although nothing counts it until it runs.
func TestVirtualWakeCancelled(t *testing.T) {
	v, work := virtual()
	ctx, cancel := context.WithCancel(t.Context())
	end := work.begin()
	var result error
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		defer end()
		result = v.Sleep(ctx, time.Hour)
		result = errors.Join(result, v.Sleep(t.Context(), time.Minute)) // what it does then takes time
	}()
	work.zero()
	require.Zero(t, v.WakeCancelled())
	require.Equal(t, 1, v.Sleepers())
	cancel()
	step(t, v, work)
	require.Zero(t, v.Sleepers())
	<-finished
	require.ErrorIs(t, result, context.Canceled)
	require.Equal(t, start.Add(time.Minute), v.Now())
}

// A cancelled sleeper is found in the queue or counted, at every instant.
func TestVirtualCancelledSleeperIsNeverMissed(t *testing.T) {
	v, work := virtual()
	for range 20_000 {
		ctx, cancel := context.WithCancel(t.Context())
		end := work.begin()
		finished := make(chan struct{})
		checked := make(chan struct{})
		go func() {
			defer close(finished)
			_ = v.Sleep(ctx, time.Hour)
			<-checked
			end()
		}()
		work.zero()
		go cancel()
		<-ctx.Done()
		v.WakeCancelled()
		require.Equal(t, 1, work.count())
		close(checked)
		<-finished
	}
}

func TestVirtualAfterFuncCountsWhileItRuns(t *testing.T) {
	v, work := virtual()
	running, goOn := make(chan struct{}), make(chan struct{})
	timer := v.AfterFunc(time.Second, func() {
		close(running)
		<-goOn
	})
	require.Nil(t, timer.C())
	v.AdvanceTo(start.Add(time.Second))
	require.Equal(t, 1, work.count())
	<-running
	require.False(t, timer.Stop())
	require.Equal(t, 1, work.count())
	close(goOn)
	work.zero()
}

func TestVirtualTimer(t *testing.T) {
	v, work := virtual()
	timer := v.NewTimer(time.Second)
	require.True(t, timer.Stop())
	require.False(t, timer.Stop())
	require.False(t, timer.Reset(time.Second))
	require.True(t, timer.Reset(2*time.Second))

	v.AdvanceTo(start.Add(time.Second))
	require.Zero(t, work.count())
	v.AdvanceTo(start.Add(3 * time.Second))
	require.Equal(t, 1, work.count(), "an untaken tick is work")
	require.Equal(t, start.Add(2*time.Second), <-timer.C(), "a tick tells when it was due")
	work.zero()

	timer.Reset(time.Second)
	v.AdvanceTo(start.Add(4 * time.Second))
	require.Equal(t, 1, work.count())
	require.False(t, timer.Reset(time.Second), "the tick was out")
	work.zero() // a tick nobody took is taken back
	v.AdvanceTo(start.Add(5 * time.Second))
	require.Equal(t, start.Add(5*time.Second), <-timer.C())
}

func TestVirtualWithTimeout(t *testing.T) {
	v, work := virtual()
	ctx, cancel := v.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	late, cancelLate := v.WithDeadline(ctx, start.Add(time.Hour))
	defer cancelLate()
	end := work.begin()
	result := make(chan error, 1)
	go func() {
		defer end()
		err := v.Sleep(late, 2*time.Hour)
		result <- errors.Join(err, v.Sleep(t.Context(), time.Second))
	}()
	step(t, v, work) // to the timeout
	step(t, v, work) // to the end of the second sleep
	require.ErrorIs(t, <-result, context.DeadlineExceeded)
	require.ErrorIs(t, context.Cause(late), context.DeadlineExceeded)
	require.Equal(t, start.Add(61*time.Second), v.Now(), "the world looked quiet while the caller was waking")

	ctx, cancel = v.WithTimeout(t.Context(), time.Second)
	cancel()
	require.Equal(t, context.Canceled, context.Cause(ctx))
	cancelLate()
	_, ok := v.Next()
	require.False(t, ok, "a cancelled context leaves a timer behind")
}

// Many sleepers wake in the order of their times, whatever they do between,
// and the clock never passes one by.
func TestVirtualOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, work := virtual()
		var mu sync.Mutex
		var woken []time.Duration
		var wrong atomic.Int32
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		naps := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 5), 1, 4), 1, 8).Draw(t, "naps")
		for _, own := range naps {
			end := work.begin()
			all.Go(func() {
				defer end()
				at := time.Duration(0)
				for _, n := range own {
					at += time.Duration(n) * time.Second
					if v.Sleep(ctx, time.Duration(n)*time.Second) != nil || v.Now() != start.Add(at) {
						wrong.Add(1)
					}
					mu.Lock()
					woken = append(woken, at)
					mu.Unlock()
				}
			})
		}
		for {
			work.zero()
			due, ok := v.Next()
			if !ok {
				break
			}
			v.AdvanceTo(due)
		}
		all.Wait()
		require.Zero(t, wrong.Load(), "a sleeper woke at another time than its own")
		require.IsNonDecreasing(t, woken)
	})
}

// The real clock ends its waits as the virtual one does. It needs no time:
// everything has ended already.
func TestReal(t *testing.T) {
	c := clock.Real{}
	require.WithinDuration(t, time.Now(), c.Now(), time.Minute)
	require.NoError(t, c.Sleep(t.Context(), 0))
	require.NoError(t, c.Sleep(t.Context(), time.Nanosecond))
	ctx, cancel := c.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	require.ErrorIs(t, c.Sleep(ctx, time.Hour), context.DeadlineExceeded)
	require.ErrorIs(t, c.Sleep(ctx, 0), context.DeadlineExceeded)
	ctx, cancel = c.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	require.ErrorIs(t, context.Cause(ctx), context.DeadlineExceeded)

	timer := c.NewTimer(time.Hour)
	require.True(t, timer.Reset(0))
	<-timer.C()
	require.False(t, timer.Stop())
	ran := make(chan struct{})
	require.Nil(t, c.AfterFunc(0, func() { close(ran) }).C())
	<-ran
}

func ExampleVirtual() {
	work := new(counter)
	v := clock.NewVirtual(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), work)
	v.AfterFunc(25*time.Hour, func() { fmt.Println("a day later:", v.Now().Format(time.DateTime)) })
	due, _ := v.Next()
	v.AdvanceTo(due)
	work.zero() // what the timer started is over
	// Output: a day later: 2026-01-03 01:00:00
}
