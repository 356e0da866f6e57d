package subagent

import (
	"context"
	"errors"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

// Recover reconciles what a crash may have left: threads reserved by turns
// that are over, and live runs that nothing will ever move. Call it after the
// kernel took over and before intake opens, and now and then where other nodes
// may crash.
func (e *Engine) Recover(ctx context.Context) error {
	var open []store.Intent
	err := e.DB.Read(ctx, func(tx *store.Tx) (err error) {
		open, err = tx.OpenIntents(e.World.Now().Add(-e.Settle), 1000)
		return err
	})
	if err != nil {
		return err
	}
	for _, in := range open {
		if in.Kind != "spawn" || in.Turn < 0 { // a person's: ThreadAsked goes on with it
			continue
		}
		if err := e.recoverIntent(ctx, in); err != nil {
			return err
		}
	}
	if err := e.recoverRuns(ctx); err != nil {
		return err
	}
	return e.recoverClosings(ctx)
}

// recoverIntent undoes a spawn whose turn is over; a turn in progress
// continues its own.
func (e *Engine) recoverIntent(ctx context.Context, in store.Intent) error {
	var over bool
	err := e.DB.Read(ctx, func(tx *store.Tx) error {
		turn, err := tx.TurnByID(in.Turn)
		over = errors.Is(err, store.ErrNotFound) || err == nil && turn.State != store.TurnRunning
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil || !over {
		return err
	}
	_, err = e.undo(ctx, in.Turn, in.Seq)
	return err
}

// recoverRuns ends runs that have not ended and have no turn, no input, no wait
// and no reservation: none of the transactions leaves such a run, so this is
// the backstop.
func (e *Engine) recoverRuns(ctx context.Context) error {
	var lost []core.Run
	err := e.DB.Read(ctx, func(tx *store.Tx) (err error) {
		lost, err = tx.LostRuns(lostBatch)
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range lost {
		if err := e.DB.Write(ctx, func(tx *store.Tx) error { return e.endLost(tx, r) }); err != nil {
			return err
		}
	}
	return nil
}

// lostBatch bounds how many lost runs one look ends.
const lostBatch = 1000

// endLost ends a run that nothing moves, if that is still so.
func (e *Engine) endLost(tx *store.Tx, r core.Run) error {
	if err := tx.LockSession(r.Session, r.Requester); err != nil {
		return err
	}
	now, err := tx.RunByID(r.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil || !now.Status.Live():
		return err
	}
	if moves, err := tx.RunMoves(r.ID); err != nil || moves {
		return err
	}
	tx.OnCommit(func() {
		e.Log.Warn("a run was left without anything to move it", "run", r.ID, "status", string(now.Status))
	})
	return e.finish(tx, now, Ended{Status: core.RunInterrupted, Detail: words.English().DetailLost()})
}
