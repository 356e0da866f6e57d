package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
)

// events notes what happens when.
type events struct {
	mu    sync.Mutex
	began time.Time
	list  []string
}

func (e *events) add(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, fmt.Sprintf("%v ", time.Since(e.began))+fmt.Sprintf(format, args...))
}

// A turn that rests lets others have its slot, and gets one again before those
// that have not begun.
func TestARestingTurnHasNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, place(t))
		defer g.close()
		g.slots[store.LaneSubagent] = 1
		ev := &events{began: time.Now()}
		g.r.hook = func(ctx context.Context, l *kernel.Lease) error {
			name := l.Session.Key
			ev.add("%s begins", name)
			if name == "waiter" {
				l.Rest(ctx, func(ctx context.Context) { _ = g.world.Clock.Sleep(ctx, 5*time.Second) })
				ev.add("%s has rested", name)
			}
			if err := g.world.Clock.Sleep(ctx, 3*time.Second); err != nil {
				return err
			}
			ev.add("%s ends", name)
			return nil
		}
		g.start()
		for _, key := range []string{"waiter", "a", "b", "c"} {
			g.send(key, key, func(r *store.Inbox) { r.Lane = store.LaneSubagent })
		}
		sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{
			"0s waiter begins", "0s a begins", "3s a ends", "3s b begins", "6s b ends",
			"6s waiter has rested", "9s waiter ends", "9s c begins", "12s c ends",
		}, ev.list)
		running, waiting := g.k.Depth(store.LaneSubagent)
		require.Zero(t, running+waiting)
	})
}

// A turn that is stopped while it rests, or while it waits for a slot, ends at
// once, and its slot is counted right.
func TestAStopEndsARest(t *testing.T) {
	for _, at := range []time.Duration{time.Second, 7 * time.Second} {
		t.Run(at.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, place(t))
				defer g.close()
				g.slots[store.LaneSubagent] = 1
				ev := &events{began: time.Now()}
				var waiter int64
				g.r.hook = func(ctx context.Context, l *kernel.Lease) error {
					if l.Session.Key != "waiter" {
						return g.world.Clock.Sleep(ctx, 10*time.Second)
					}
					waiter = l.Session.ID
					l.Rest(ctx, func(ctx context.Context) { _ = g.world.Clock.Sleep(ctx, 5*time.Second) })
					if errors.Is(context.Cause(ctx), kernel.ErrStopped) {
						ev.add("stopped")
					}
					return nil
				}
				g.start()
				for _, key := range []string{"waiter", "other"} {
					g.send(key, key, func(r *store.Inbox) { r.Lane = store.LaneSubagent })
				}
				sleep(at)
				synctest.Wait()
				require.True(t, g.k.Cancel(waiter, kernel.ErrStopped))
				sleep(time.Minute)
				synctest.Wait()
				require.Equal(t, []string{fmt.Sprintf("%v stopped", at)}, ev.list)
				running, waiting := g.k.Depth(store.LaneSubagent)
				require.Zero(t, running+waiting)
			})
		})
	}
}

// Stop lets a turn that rests go on until the end of the grace.
func TestARestGoesOnWhileTheKernelStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, place(t))
		ev := &events{began: time.Now()}
		g.r.hook = func(ctx context.Context, l *kernel.Lease) error {
			l.Rest(ctx, func(ctx context.Context) { _ = g.world.Clock.Sleep(ctx, 5*time.Second) })
			ev.add("rested")
			return nil
		}
		g.start()
		g.send("k", "k", nil)
		sleep(time.Second)
		g.close()
		require.Equal(t, []string{"5s rested"}, ev.list)
	})
}
