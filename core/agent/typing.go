package agent

import (
	"context"
	"sync"
	"time"

	"github.com/skein-bot/skein/core"
)

// Typing is shown for a turn that takes longer than typingAfter, and renewed
// every typingEvery until it ends.
const (
	typingAfter = 250 * time.Millisecond
	typingEvery = 4 * time.Second
)

// typist renews "is typing" at one address.
type typist struct {
	r  *Runner
	at core.Address

	mu    sync.Mutex
	timer core.Timer
	done  bool
}

// typing shows that a turn runs until the returned function is called.
func (r *Runner) typing(ctx context.Context, at core.Address) (stop func()) {
	if r.opts.Presence == nil || at.IsZero() {
		return func() {}
	}
	t := &typist{r: r, at: at}
	t.mu.Lock()
	t.timer = r.opts.World.Clock.AfterFunc(typingAfter, func() { t.beat(ctx) })
	t.mu.Unlock()
	return t.stop
}

func (t *typist) beat(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done || ctx.Err() != nil {
		return
	}
	t.r.opts.Presence.Typing(ctx, t.at)
	t.timer.Reset(typingEvery)
}

func (t *typist) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done = true
	t.timer.Stop()
}
