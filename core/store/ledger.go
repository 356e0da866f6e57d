package store

import (
	"strconv"
	"strings"

	"github.com/skein-bot/skein/core"
)

// moved is true of a run that something will move on: its turn under a lease
// (or about to be taken over), input for it, a stored wait, or a spawn that is
// half done. A missing end time alone proves nothing.
const moved = `(EXISTS (SELECT 1 FROM turn AS mt JOIN session AS ms ON ms.id = mt.session_id
		WHERE mt.session_id = run.session_id AND mt.run_id = run.id AND mt.run_id <> '' AND mt.state = 'running' AND (ms.owner <> '' OR ms.ready = 1))
	OR EXISTS (SELECT 1 FROM inbox AS mi WHERE mi.session_id = run.session_id AND (mi.run_id = run.id AND mi.kind = 'task' OR mi.for_run = run.id))
	OR EXISTS (SELECT 1 FROM wait AS mw WHERE mw.session_id = run.session_id AND mw.run_id = run.id)
	OR EXISTS (SELECT 1 FROM intent AS mn WHERE mn.ref = run.id AND mn.state = 'open'))`

// live is true of a run that counts as live; lost of one that has not ended and
// that nothing moves.
const (
	live = `(status IN ` + liveStatuses + ` AND ` + moved + `)`
	lost = `(status IN ` + liveStatuses + ` AND NOT ` + moved + `)`
)

// RunMoves reports whether something will move a run that has not ended.
func (tx *Tx) RunMoves(id string) (moves bool, err error) {
	n := 0
	err = tx.one(`SELECT COUNT(*) FROM run WHERE id = $1 AND `+moved, []any{id}, &n)
	return n > 0, err
}

// LostRuns lists the runs that have not ended and that nothing moves, the
// oldest first.
func (tx *Tx) LostRuns(limit int) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE `+lost+` ORDER BY created_at, id LIMIT $1`, limit)
}

// RunFilter chooses runs of the ledger. An empty field chooses all.
type RunFilter struct {
	Status core.RunStatus // of a live one, those that something moves
	Kind   core.RunKind
	Agent  string
}

// ListRuns lists the runs of the ledger, the newest first.
func (tx *Tx) ListRuns(f RunFilter, limit int) ([]core.Run, error) {
	var where []string
	var args []any
	is := func(column, value string) {
		if value != "" {
			args = append(args, value)
			where = append(where, column+" = $"+strconv.Itoa(len(args)))
		}
	}
	is("status", string(f.Status))
	is("kind", string(f.Kind))
	is("agent", f.Agent)
	if f.Status.Live() {
		where = append(where, moved)
	}
	query := `SELECT ` + runColumns + ` FROM run`
	if len(where) > 0 {
		query += ` WHERE ` + strings.Join(where, " AND ")
	}
	return all(tx, scanRun, query+` ORDER BY created_at DESC, id DESC LIMIT $`+strconv.Itoa(len(args)+1), append(args, limit)...)
}

// RecentRuns lists runs, newest first.
func (tx *Tx) RecentRuns(limit int) ([]core.Run, error) { return tx.ListRuns(RunFilter{}, limit) }

// BlockedRuns lists runs whose outcome nobody was told.
func (tx *Tx) BlockedRuns(limit int) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE delivery = 'blocked' ORDER BY ended_at DESC LIMIT $1`, limit)
}

// SetNotify chooses what people are told of a run.
func (tx *Tx) SetNotify(id string, policy core.Notify) error {
	return tx.later(`UPDATE run SET notify = $2 WHERE id = $1`, id, string(policy))
}

// CountLive counts the live runs by status.
func (tx *Tx) CountLive() (map[core.RunStatus]int, error) {
	type count struct {
		status core.RunStatus
		n      int
	}
	rows, err := all(tx, func(s scanner) (c count, err error) {
		err = s.Scan(&c.status, &c.n)
		return c, err
	}, `SELECT status, COUNT(*) FROM run WHERE `+live+` GROUP BY status`)
	out := make(map[core.RunStatus]int, len(rows))
	for _, r := range rows {
		out[r.status] = r.n
	}
	return out, err
}

// CountAllBlocked counts the outcomes that nobody was told.
func (tx *Tx) CountAllBlocked() (n int, err error) {
	err = tx.one(`SELECT COUNT(*) FROM run WHERE delivery = 'blocked'`, nil, &n)
	return n, err
}

// Backlog is a tree with outcomes that nobody was told.
type Backlog struct {
	Root  string
	Count int
	Since core.Millis // end of the oldest of the runs
}

// Backlogs lists the trees with at least that many outcomes that nobody was
// told, the longest first.
func (tx *Tx) Backlogs(least, limit int) ([]Backlog, error) {
	return all(tx, func(s scanner) (b Backlog, err error) {
		err = s.Scan(&b.Root, &b.Count, &b.Since)
		return b, err
	}, `SELECT root_run_id, COUNT(*), MIN(ended_at) FROM run WHERE delivery = 'blocked'
		GROUP BY root_run_id HAVING COUNT(*) >= $1 ORDER BY 2 DESC, 1 LIMIT $2`, least, limit)
}

// LastProgress returns when the session of a run last got anywhere: a turn
// began, a row was written, a tool call began or ended.
func (tx *Tx) LastProgress(session int64) (at core.Millis, err error) {
	err = tx.one(`SELECT COALESCE(MAX(at), 0) FROM (SELECT MAX(at) AS at FROM transcript WHERE session_id = $1
		UNION ALL SELECT MAX(started_at) AS at FROM turn WHERE session_id = $1
		UNION ALL SELECT MAX(s.started_at) AS at FROM step AS s JOIN turn AS t ON t.id = s.turn_id WHERE t.session_id = $1
		UNION ALL SELECT MAX(s.ended_at) AS at FROM step AS s JOIN turn AS t ON t.id = s.turn_id WHERE t.session_id = $1) AS progress`,
		[]any{session}, &at)
	return at, err
}

// stuck is true of an outcome that is to be told and that nothing brings any
// further: it is in no inbox, no message that can still be sent tells it, and
// its requester neither works nor waits.
const stuck = `status NOT IN ` + liveStatuses + ` AND delivery IN ('pending', 'session_queued')
	AND NOT EXISTS (SELECT 1 FROM inbox AS ki WHERE ki.kind = 'completion' AND ki.run_id = run.id)
	AND NOT EXISTS (SELECT 1 FROM outbox AS ko WHERE ko.state IN ('queued', 'sending', 'ambiguous') AND ' ' || ko.tells || ' ' LIKE '% ' || run.id || ' %')
	AND NOT EXISTS (SELECT 1 FROM turn AS kt WHERE kt.session_id = run.requester_id AND kt.state = 'running')
	AND NOT EXISTS (SELECT 1 FROM wait AS kw WHERE kw.session_id = run.requester_id)`

// StuckRuns lists the runs that ended before a time and whose outcome is stuck
// on its way, the oldest first.
func (tx *Tx) StuckRuns(before core.Millis, limit int) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE `+stuck+` AND ended_at < $1 ORDER BY ended_at, id LIMIT $2`, int64(before), limit)
}

// RunStuck reports whether the outcome of a run is stuck on its way.
func (tx *Tx) RunStuck(id string) (is bool, err error) {
	n := 0
	err = tx.one(`SELECT COUNT(*) FROM run WHERE id = $1 AND `+stuck, []any{id}, &n)
	return n > 0, err
}

// odd is true of a run whose times contradict each other or its status. It is
// the condition of the index run_odd, word by word.
const odd = `(ended_at > 0 AND ended_at < started_at OR started_at > 0 AND started_at < created_at
  OR ended_at = 0 AND status NOT IN ('queued', 'running', 'waiting') OR ended_at > 0 AND status IN ('queued', 'running', 'waiting'))`

// OddRuns lists the runs whose times contradict each other or their status.
func (tx *Tx) OddRuns(limit int) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE `+odd+` ORDER BY id LIMIT $1`, limit)
}

// StampRun puts the times of such a run in order: it began no earlier than it
// was asked for, it ended no earlier than it began, and it has an end if and
// only if its status says so.
func (tx *Tx) StampRun(id string) error {
	for _, query := range []string{
		`UPDATE run SET started_at = created_at WHERE id = $1 AND started_at > 0 AND started_at < created_at`,
		`UPDATE run SET ended_at = 0 WHERE id = $1 AND ended_at > 0 AND status IN ` + liveStatuses,
		`UPDATE run SET ended_at = CASE WHEN started_at > 0 THEN started_at ELSE created_at END
			WHERE id = $1 AND status NOT IN ` + liveStatuses + ` AND (ended_at = 0 OR ended_at < started_at)`,
	} {
		if err := tx.later(query, id); err != nil {
			return err
		}
	}
	return nil
}

// resting is true of a sub-agent's session that is not archived, in which
// nothing goes on, which no place leads to and which will not be archived.
const resting = `kind = 'subagent' AND archived_at = 0 AND archive_due = 0
	AND NOT EXISTS (SELECT 1 FROM binding AS rb WHERE rb.session_id = session.id AND rb.status <> 'ended')
	AND NOT EXISTS (SELECT 1 FROM inbox AS ri WHERE ri.session_id = session.id)
	AND NOT EXISTS (SELECT 1 FROM turn AS rt WHERE rt.session_id = session.id AND rt.state = 'running')
	AND NOT EXISTS (SELECT 1 FROM wait AS rw WHERE rw.session_id = session.id)`

// UnplannedSessions lists sub-agents' sessions last used before a time that
// nothing will ever archive though all their runs have ended, and orphans,
// which have no run at all.
func (tx *Tx) UnplannedSessions(before core.Millis, orphans bool, limit int) ([]Session, error) {
	runs := `EXISTS (SELECT 1 FROM run AS u WHERE u.session_id = session.id)
		AND NOT EXISTS (SELECT 1 FROM run AS u WHERE u.session_id = session.id AND u.status IN ` + liveStatuses + `)`
	if orphans {
		runs = `NOT EXISTS (SELECT 1 FROM run AS u WHERE u.session_id = session.id)`
	}
	return all(tx, scanSession, `SELECT `+sessionColumns+` FROM session WHERE `+resting+` AND used_at < $1 AND `+runs+`
		ORDER BY used_at, id LIMIT $2`, int64(before), limit)
}
