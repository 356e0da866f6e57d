package subagent

import (
	"errors"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

// Stopped says what a stop ended.
type Stopped struct {
	Turn     bool // a turn of the session itself
	Runs     int  // live runs below it
	Queued   int64
	sessions []int64
}

// Stop ends, in one transaction, the session's turn, everything that waits in
// it and every live run below it. After the commit the contexts are cancelled.
// Nothing of what it ends is announced upward.
func (e *Engine) Stop(tx *store.Tx, session int64) (Stopped, error) {
	var out Stopped
	below, err := tx.Descendants(session)
	if err != nil {
		return out, err
	}
	now := e.World.Now()
	if out.Turn, out.Queued, err = e.stopSession(tx, session, now); err != nil {
		return out, err
	}
	out.sessions = append(out.sessions, session)
	for _, r := range below {
		if err := e.stopRun(tx, r, now); err != nil {
			return out, err
		}
		out.Runs++
		out.sessions = append(out.sessions, r.Session)
	}
	if own, err := tx.LiveRunOfSession(session); err == nil {
		// Whoever waits for this run must not wait for ever.
		end := Ended{Status: core.RunCancelled, Detail: words.English().DetailStoppedByPerson(), Text: own.Result, Partial: true, Quiet: true}
		if err := e.finish(tx, own, end); err != nil {
			return out, err
		}
	} else if !errors.Is(err, store.ErrNotFound) {
		return out, err
	}
	tx.OnCommit(func() {
		for _, s := range out.sessions {
			e.kernel.Cancel(s, kernel.ErrStopped)
		}
	})
	return out, nil
}

// StopTurn ends the turn of a session that is in progress, and nothing else:
// what waits in it gets the next one. After the commit its context is
// cancelled.
func (e *Engine) StopTurn(tx *store.Tx, session int64) error {
	if err := tx.RaiseFence(session); err != nil {
		return err
	}
	t, err := tx.RunningTurn(session)
	if err != nil {
		return err
	}
	now := e.World.Now()
	if err := e.closeTurn(tx, t, now); err != nil {
		return err
	}
	waiting, err := tx.CountQueued(session)
	if err != nil {
		return err
	}
	if err := tx.ReleaseSession(session, waiting > 0, now); err != nil {
		return err
	}
	tx.OnCommit(func() {
		e.kernel.Cancel(session, kernel.ErrStopped)
		if waiting > 0 {
			e.kernel.Wake(session, store.LaneMain, false)
		}
	})
	return nil
}

// stopRun marks a run cancelled; its own session is stopped with it.
func (e *Engine) stopRun(tx *store.Tx, r core.Run, now core.Millis) error {
	if _, err := tx.EndRun(r.ID, core.RunCancelled, words.English().DetailStopped(), r.Result, true, core.DeliveryNotRequired, now); err != nil {
		return err
	}
	if _, _, err := e.stopSession(tx, r.Session, now); err != nil {
		return err
	}
	if b, ok, err := tx.BindingOfRun(r.ID); err != nil {
		return err
	} else if ok && (r.Spec.Mode == modeRun || b.Status == core.BindingPending) {
		if err := e.Bindings.End(tx, b.ID, core.EndSessionEnded); err != nil {
			return err
		}
	}
	r.Status, r.EndedAt = core.RunCancelled, now
	tx.OnCommit(func() { e.Bindings.RunEnded(r) })
	return e.planArchive(tx, r, true)
}

// stopSession ends the session's turn and clears what waits in it: open tool
// calls get an interrupted result, queued input is dropped, unsent answers are
// withdrawn, waits are disarmed.
func (e *Engine) stopSession(tx *store.Tx, session int64, now core.Millis) (turn bool, queued int64, err error) {
	if err := tx.RaiseFence(session); err != nil {
		return false, 0, err
	}
	t, err := tx.RunningTurn(session)
	switch {
	case err == nil:
		turn = true
		if err := e.closeTurn(tx, t, now); err != nil {
			return turn, 0, err
		}
	case !errors.Is(err, store.ErrNotFound):
		return false, 0, err
	}
	if queued, err = tx.ClearQueued(session); err != nil {
		return turn, queued, err
	}
	if _, err := tx.ClearCompletions(session); err != nil {
		return turn, queued, err
	}
	if err := tx.SettleAsked(session); err != nil {
		return turn, queued, err
	}
	if err := tx.DeleteWaits(session); err != nil {
		return turn, queued, err
	}
	if _, err := e.Poster.Withdraw(tx, session); err != nil {
		return turn, queued, err
	}
	return turn, queued, tx.ReleaseSession(session, false, now)
}

// closeTurn ends a turn from outside: its open calls get results, so that the
// transcript stays valid.
func (e *Engine) closeTurn(tx *store.Tx, t store.Turn, now core.Millis) error {
	steps, err := tx.Steps(t.ID)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if s.State != store.StepStarted {
			continue
		}
		item := model.Item{
			Kind: model.ToolOutput, CallID: s.CallID, Tool: s.Tool, Failed: true, Unknown: true, At: now, Text: "interrupted: a person stopped this turn; the effect is unknown",
		}
		row := store.Row{Session: t.Session, Generation: t.Generation, Turn: t.ID, Seq: s.Seq, Kind: string(item.Kind), Body: item.Encode(), At: now}
		if _, err := tx.AppendRow(row); err != nil {
			return err
		}
		if err := tx.FinishStep(t.ID, s.Seq, now); err != nil {
			return err
		}
	}
	return tx.EndTurn(t.ID, store.TurnCancelled, "stopped", core.Usage{}, now)
}
