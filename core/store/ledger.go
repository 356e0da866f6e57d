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
