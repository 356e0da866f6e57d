package kernel

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// serve claims the session and runs its turn.
func (k *Kernel) serve(ctx context.Context, e *entry, follows bool) (out outcome) {
	lease, delay, err := k.claim(ctx, e.session, follows)
	switch {
	case errors.Is(err, errTheirs):
		return outcome{theirs: true}
	case errors.Is(err, store.ErrNodeLost): // until the node is back
		return outcome{delay: nodeTick}
	case err != nil || delay > 0 || lease == nil:
		return outcome{err: err, delay: delay, lane: store.LaneMain}
	}
	k.mu.Lock()
	e.fence, e.local = lease.Turn.Fence, false
	k.mu.Unlock()
	if err := k.opts.World.Crash(world.TurnClaimed); err != nil {
		return outcome{err: err}
	}
	err = k.guard(ctx, lease)
	if errors.Is(context.Cause(ctx), ErrNotStarted) || errors.Is(err, store.ErrFenced) || errors.Is(err, ErrStopping) || errors.Is(err, store.ErrNodeLost) {
		err = nil // somebody else decides about this session now
	}
	return outcome{again: lease.more, behind: lease.behind, lane: lease.nextLane, urgent: lease.nextUrgent, err: err}
}

// guard turns a panic of the runner into an error.
func (k *Kernel) guard(ctx context.Context, lease *Lease) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("turn %d panicked: %v\n%s", lease.Turn.ID, r, debug.Stack())
		}
	}()
	return k.opts.Runner.RunTurn(ctx, lease)
}
