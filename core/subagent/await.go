package subagent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// waiters are the calls of this process that wait for the end of a run, or for
// input of a session.
type waiters struct {
	mu    sync.Mutex
	calls map[string]map[*context.CancelFunc]struct{}
}

// add has wake called when the run ends, until the returned function is called.
func (w *waiters) add(run string, wake context.CancelFunc) (remove func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls == nil {
		w.calls = make(map[string]map[*context.CancelFunc]struct{})
	}
	if w.calls[run] == nil {
		w.calls[run] = make(map[*context.CancelFunc]struct{})
	}
	key := &wake
	w.calls[run][key] = struct{}{}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.calls[run], key)
		if len(w.calls[run]) == 0 {
			delete(w.calls, run)
		}
	}
}

func (w *waiters) wake(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for wake := range w.calls[run] {
		(*wake)()
	}
}

// told is called after the commit that ended a run: whoever waits for it here
// wakes, and the extensions hear of it.
func (e *Engine) told(run core.Run) {
	e.waiters.wake(run.ID)
	e.Bindings.RunEnded(run)
}

// lookAgain is how often a wait looks into a store where another node may end
// the run, or write input.
const lookAgain = time.Second

// Await blocks until a run has ended, until a time, or until ctx ends, and
// returns the run as it is then. It waits by the world's clock, so it can be the
// wait of tool.Steps.Rest.
func (e *Engine) Await(ctx context.Context, id string, until core.Millis) (core.Run, error) {
	run, _, err := e.AwaitOr(ctx, id, until, 0, func(context.Context) (bool, error) { return false, nil })
	return run, err
}

// AwaitOr is Await that also ends, with true, once enough says so; it is asked at
// first and whenever something arrives for a session.
func (e *Engine) AwaitOr(
	ctx context.Context, id string, until core.Millis, session int64, enough func(ctx context.Context) (bool, error),
) (run core.Run, early bool, err error) {
	for {
		woken, wake := context.WithCancel(ctx)
		removeRun, removeSession := e.waiters.add(id, wake), e.waiters.add(inputOf(session), wake)
		run, pause, err := e.awaited(ctx, id, until)
		if err == nil && pause > 0 {
			if early, err = enough(ctx); err == nil && !early {
				_ = e.World.Clock.Sleep(woken, pause)
			}
		}
		removeRun()
		removeSession()
		wake()
		if err != nil || early || pause <= 0 || ctx.Err() != nil {
			return run, early, err
		}
	}
}

// Joined is called after the commit of input for a session whose turn is running
// here: what waits in that turn looks at it.
func (e *Engine) Joined(session int64) { e.waiters.wake(inputOf(session)) }

// inputOf names the input of a session among the ids of runs.
func inputOf(session int64) string { return fmt.Sprintf("input/%d", session) }

// awaited returns a run, and how long to wait for its end before looking again.
func (e *Engine) awaited(ctx context.Context, id string, until core.Millis) (run core.Run, pause time.Duration, err error) {
	err = e.DB.Read(ctx, func(tx *store.Tx) (err error) {
		run, err = tx.RunByID(id)
		return err
	})
	if err != nil || !run.Status.Live() {
		return run, 0, err
	}
	pause = until.Sub(e.World.Now())
	if e.DB.Shared() {
		pause = min(pause, lookAgain)
	}
	return run, pause, nil
}
