package store

import (
	"slices"

	"github.com/skein-bot/skein/core"
)

// TurnsOfRun returns the turns of a run, oldest first.
func (tx *Tx) TurnsOfRun(run string) ([]Turn, error) {
	return all(tx, scanTurn, `SELECT `+turnColumns+` FROM turn WHERE run_id = $1 AND run_id <> '' ORDER BY id`, run)
}

// TimedStep is a tool call with its times; Ended is 0 while it goes on.
type TimedStep struct {
	Step
	Started, Ended core.Millis
}

// TimedSteps returns the tool calls of a turn with their times, in order.
func (tx *Tx) TimedSteps(turn int64) ([]TimedStep, error) {
	return all(tx, func(s scanner) (r TimedStep, err error) {
		err = s.Scan(&r.Turn, &r.Seq, &r.CallID, &r.Tool, &r.State, &r.Started, &r.Ended)
		return r, err
	}, `SELECT turn_id, seq, call_id, tool, state, started_at, ended_at FROM step WHERE turn_id = $1 ORDER BY seq`, turn)
}

// RowsWrittenBy returns the transcript rows of one turn of a session, in order.
func (tx *Tx) RowsWrittenBy(t Turn) ([]Row, error) {
	return all(tx, scanRow, `SELECT `+rowColumns+` FROM transcript WHERE session_id = $1 AND generation = $2 AND turn_id = $3 ORDER BY id`,
		t.Session, t.Generation, t.ID)
}

// EventRows returns the events that a session took since a time, oldest first.
func (tx *Tx) EventRows(session int64, since core.Millis, limit int) ([]Row, error) {
	return all(tx, scanRow, `SELECT `+rowColumns+` FROM transcript WHERE session_id = $1 AND kind = 'completion' AND at >= $2 ORDER BY id LIMIT $3`,
		session, int64(since), limit)
}

// EventsOfChain returns the events that a chain of a session's turns took, oldest
// first. A chain is named by its first turn.
func (tx *Tx) EventsOfChain(session, chain int64) ([]Row, error) {
	return all(tx, scanRow, `SELECT `+rowColumns+` FROM transcript WHERE kind = 'completion' AND turn_id IN
		(SELECT id FROM turn WHERE session_id = $1 AND id >= $2 AND (id = $2 OR chain = $2)) ORDER BY id`, session, chain)
}

// PostsOf returns the messages of a run: those written by its session for it,
// and those of its requester that tell its outcome, oldest first.
func (tx *Tx) PostsOf(run core.Run, limit int) ([]Outbox, error) {
	rows, err := all(tx, scanOutbox, `SELECT `+outboxColumns+` FROM outbox WHERE session_id > 0 AND session_id IN ($1, $2) AND created_at >= $3
		ORDER BY id LIMIT $4`, run.Session, run.Requester, int64(run.CreatedAt), limit)
	return slices.DeleteFunc(rows, func(r Outbox) bool { return r.Run != run.ID && !slices.Contains(r.Tells, run.ID) }), err
}
