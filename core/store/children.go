package store

import (
	"strconv"

	"github.com/skein-bot/skein/core"
)

// A chat keeps its finished sub-agents for long: what a spawn, a turn or a list
// asks about them goes by an index to the few that it shows, and each part of a
// question has an index of its own.

// MaxChildren is how many ended sub-agents of a session RunsOf and OpenRunsOf
// look at, the newest ones; and how many sessions AskingBelow returns.
const MaxChildren = 1000

// recent selects the newest ended runs of a requester.
func recent(most int) string {
	return `SELECT id FROM (SELECT id FROM run WHERE requester_id = $1 AND ended_at >= $2 ORDER BY ended_at DESC LIMIT ` + strconv.Itoa(most) + `) AS recent`
}

// awaited is true of a run that has ended and whose outcome is to be told yet.
// It is the condition of the index run_awaited.
const awaited = `delivery IN ('session_queued', 'blocked')`

// RunsOf returns the sub-agents that a session asked for and that ended since a
// time (the newest MaxChildren of them), all live ones, and those whose session
// is still bound, in spawn order.
func (tx *Tx) RunsOf(requester int64, since core.Millis) ([]core.Run, error) {
	// A session that is bound is not archived. The sum keeps PostgreSQL, as long
	// as it knows nothing about the tables, from reading all of the requester's
	// for each row.
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE id IN (
		SELECT id FROM run WHERE requester_id = $1 AND `+live+`
		UNION `+recent(MaxChildren)+`
		UNION SELECT id FROM run WHERE session_id IN (SELECT session.id FROM session
			JOIN binding ON binding.session_id = session.id AND binding.status <> 'ended'
			WHERE session.parent_id = $1 AND session.archived_at = 0))
		AND requester_id + 0 = $1 AND kind <> 'send' ORDER BY ordinal`, requester, int64(since))
}

// OpenRunsOf returns the sub-agents of any age that a session asked for, in
// spawn order: all live ones, and of those whose session is not archived the
// newest MaxChildren.
func (tx *Tx) OpenRunsOf(requester int64) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE id IN (
		SELECT id FROM run WHERE requester_id = $1 AND `+live+`
		UNION SELECT child.id FROM (SELECT id FROM session WHERE parent_id = $1 AND archived_at = 0
			ORDER BY id DESC LIMIT `+strconv.Itoa(MaxChildren)+`) AS open JOIN run AS child ON child.session_id = open.id WHERE child.requester_id = $1)
		AND kind <> 'send' ORDER BY ordinal`, requester)
}

// LiveChildrenOf returns the live sub-agents that a session asked for and that
// something moves, in spawn order.
func (tx *Tx) LiveChildrenOf(requester int64) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE requester_id = $1 AND `+live+` AND kind <> 'send' ORDER BY ordinal`, requester)
}

// NewsOf returns what a session's turn is told of its sub-agents, in spawn order:
// all live ones, and the newest so many of those that ended since a time, and of
// those whose outcome is to be told yet.
func (tx *Tx) NewsOf(requester int64, since core.Millis, most int) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE id IN (
		SELECT id FROM run WHERE requester_id = $1 AND `+live+`
		UNION `+recent(most)+`
		UNION SELECT id FROM (SELECT id FROM run WHERE requester_id = $1 AND `+awaited+` ORDER BY ordinal DESC LIMIT `+strconv.Itoa(most)+`) AS untold)
		AND kind <> 'send' ORDER BY ordinal`, requester, int64(since))
}

// BlockedRunsOf returns the runs that a session asked for and whose outcome
// nobody was told, in spawn order.
func (tx *Tx) BlockedRunsOf(requester int64, limit int) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE requester_id = $1 AND `+awaited+` AND delivery = 'blocked'
		ORDER BY ordinal LIMIT $2`, requester, limit)
}

// AskingBelow returns the sessions that were made for a session and that asked
// for something themselves, the newest MaxChildren.
func (tx *Tx) AskingBelow(session int64) ([]int64, error) {
	return all(tx, scanID, limited(`SELECT id FROM session WHERE parent_id = $1 AND ordinals > 0 ORDER BY id DESC`, MaxChildren), session)
}

// ChildrenOfRun returns the runs that a run asked for, in spawn order.
func (tx *Tx) ChildrenOfRun(run string) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE requester_run = $1 AND requester_run <> '' ORDER BY ordinal`, run)
}

// OpenChildrenOfRun returns the runs that a run in a session asked for and that
// have not ended, or whose completion the session has not consumed, in spawn
// order.
func (tx *Tx) OpenChildrenOfRun(session int64, run string) ([]core.Run, error) {
	if err := tx.LockSession(session); err != nil {
		return nil, err
	}
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE id IN (
		SELECT id FROM run WHERE requester_id = $1 AND status IN `+liveStatuses+`
		UNION SELECT run_id FROM inbox WHERE session_id = $1 AND kind = 'completion' AND state IN ('queued', 'held'))
		AND requester_run = $2 ORDER BY ordinal`, session, run)
}

// SettleAsked records that nobody is to be told the outcomes that are on their
// way to a session: of the runs that it asked for, and those that lie in its inbox
// because whoever asked is gone. It returns those runs. A person stopped it.
func (tx *Tx) SettleAsked(session int64) ([]core.Run, error) {
	asked, err := all(tx, scanRun, `UPDATE run SET delivery = 'not_required' WHERE requester_id = $1 AND `+awaited+` AND delivery = 'session_queued'
		RETURNING `+runColumns, session)
	if err != nil {
		return nil, err
	}
	handed, err := all(tx, scanRun, `UPDATE run SET delivery = 'not_required' WHERE delivery = 'session_queued' AND id IN
		(SELECT run_id FROM inbox WHERE session_id = $1 AND kind = 'completion') RETURNING `+runColumns, session)
	return append(asked, handed...), err
}

// SettleRun is SettleAsked for one run.
func (tx *Tx) SettleRun(id string) ([]core.Run, error) {
	return all(tx, scanRun, `UPDATE run SET delivery = 'not_required' WHERE id = $1 AND delivery = 'session_queued' RETURNING `+runColumns, id)
}
