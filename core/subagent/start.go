package subagent

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

// startTimeout is how long a run that has a slot may take to start.
const startTimeout = time.Minute

// StartLimit is how long a turn that has a slot may take to start: the first
// one of a run, and one on an outcome. Others are not limited.
func (e *Engine) StartLimit(s store.Session, turn store.Turn) time.Duration {
	switch turn.Kind {
	case store.InboxTask:
		return startTimeout
	case store.InboxCompletion, store.InboxWake:
		return e.Config.Subagents(s.Agent).AnnounceTimeout
	}
	return 0
}

// StartDue is the effect of the deadline by which a turn must have started. The
// run of a first turn ends so. A turn on an outcome is begun anew, and after the
// third time its outcomes are told by the runtime. The kernel calls it in the
// timer's transaction.
func (e *Engine) StartDue(tx *store.Tx, t store.Timer, now core.Millis) error {
	id, err := strconv.ParseInt(t.Ref, 10, 64)
	if err != nil {
		return fmt.Errorf("timer %s has a bad ref: %w", t.Kind, err)
	}
	turn, s, err := e.notStarted(tx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	attempt := kernel.ParseStartAttempt(t.Payload)
	if attempt.N == 0 {
		attempt.N = turn.Attempts
	}
	again := t
	again.Due = now.Add(e.StartLimit(s, turn))
	if !attempt.Counts(s, e.kernel.Running(s.ID)) {
		again.Payload = kernel.StartAttempt{N: attempt.N, Fence: s.Fence}.String()
		tx.OnCommit(func() { e.kernel.Due(again.Due) })
		return tx.SetTimer(again)
	}
	if err := tx.RaiseFence(s.ID); err != nil {
		return err
	}
	tx.OnCommit(func() { e.kernel.Cancel(s.ID, kernel.ErrNotStarted) })
	if turn.Kind == store.InboxTask || attempt.N >= kernel.OutcomeAttempts {
		return e.neverStarted(tx, s, turn, now)
	}
	again.Payload = kernel.StartAttempt{N: attempt.N + 1, Fence: s.Fence + 1}.String()
	if err := tx.SetTimer(again); err != nil {
		return err
	}
	tx.OnCommit(func() { e.kernel.Due(again.Due) })
	return e.ready(tx, s.ID, turn.Lane, true)
}

// notStarted returns a turn in progress whose start is still awaited, or
// store.ErrNotFound.
func (e *Engine) notStarted(tx *store.Tx, id int64) (turn store.Turn, s store.Session, err error) {
	if turn, err = tx.TurnByID(id); err != nil {
		return turn, s, err
	}
	lock := []int64{turn.Session}
	var run core.Run
	if turn.Run != "" {
		if run, err = tx.RunByID(turn.Run); err != nil {
			return turn, s, err
		}
		lock = append(lock, run.Requester)
	}
	if err := tx.LockSession(lock...); err != nil {
		return turn, s, err
	}
	if s, err = tx.SessionByID(turn.Session); err != nil {
		return turn, s, err
	}
	if turn, err = tx.TurnByID(id); err != nil {
		return turn, s, err
	}
	if turn.State != store.TurnRunning || turn.Kind == store.InboxTask && run.StartedAt != 0 {
		err = store.ErrNotFound
	}
	return turn, s, err
}

// neverStarted ends a turn that was not to be started: its run ends with it, and
// the outcomes that it was to tell of are told by the runtime.
func (e *Engine) neverStarted(tx *store.Tx, s store.Session, turn store.Turn, now core.Millis) error {
	events, err := e.eventsOf(tx, s, turn)
	if err != nil {
		return err
	}
	out := agent.Outcome{
		State: store.TurnDead, Status: core.RunError, Events: events,
		Detail: words.English().DetailStartTimeout(e.StartLimit(s, turn)),
	}
	e.Log.Warn("a turn had a slot and did not start", "session", s.Key, "turn", turn.ID, "run", turn.Run)
	if err := tx.EndTurn(turn.ID, out.State, out.Detail, core.Usage{}, now); err != nil {
		return err
	}
	if err := e.End(tx, &kernel.Lease{Session: s, Turn: turn}, out); err != nil {
		return err
	}
	rows, err := tx.QueuedInbox(s.ID, 1)
	if err != nil {
		return err
	}
	if err := tx.ReleaseSession(s.ID, len(rows) > 0, now); err != nil {
		return err
	}
	if len(rows) > 0 {
		tx.OnCommit(func() { e.kernel.Wake(s.ID, rows[0].Lane, rows[0].Kind != store.InboxTask) })
	}
	return nil
}

// eventsOf returns the outcomes that a turn has taken.
func (e *Engine) eventsOf(tx *store.Tx, s store.Session, turn store.Turn) (events []model.Completion, err error) {
	s.Generation = turn.Generation
	rows, err := tx.RowsOfTurn(s, turn.ID)
	if err != nil {
		return nil, err
	}
	return eventsIn(rows)
}

// eventsIn returns the outcomes among rows of a transcript.
func eventsIn(rows []store.Row) (events []model.Completion, err error) {
	for _, r := range rows {
		item, err := model.DecodeItem(r.Body)
		if err != nil {
			return nil, fmt.Errorf("transcript row %d: %w", r.ID, err)
		}
		if item.Kind == model.Event && item.Completion != nil {
			events = append(events, *item.Completion)
		}
	}
	return events, nil
}
