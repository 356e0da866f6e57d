package store

import "github.com/skein-bot/skein/core"

// WorktreeState says what a worktree is good for.
type WorktreeState string

// The states of a worktree. A row goes away with what it stands for.
const (
	WorktreeReserved WorktreeState = "reserved" // its spawn is in progress
	WorktreeLive     WorktreeState = "live"     // its session works in it
	WorktreeEnding   WorktreeState = "ending"   // it is to be removed, or kept as a snapshot
	WorktreeSnapshot WorktreeState = "snapshot" // it is gone, and can be restored
)

// Worktree is a managed git worktree.
type Worktree struct {
	ID       string
	Session  int64
	Name     string
	Repo     string // the git folder of its repository
	Path     string
	Branch   string
	Base     string // the commit where its branch began
	Snapshot string // the commit that keeps it
	State    WorktreeState
	Detail   string // why it was kept, or is not removed yet
	// CreatedAt is when it was reserved; EndedAt when its session ended, in state
	// ending the time of the next try.
	CreatedAt, EndedAt core.Millis
}

const worktreeColumns = `id, session_id, name, repo, path, branch, base, snapshot, state, detail, created_at, ended_at`

func scanWorktree(s scanner) (w Worktree, err error) {
	err = s.Scan(&w.ID, &w.Session, &w.Name, &w.Repo, &w.Path, &w.Branch, &w.Base, &w.Snapshot, &w.State, &w.Detail, &w.CreatedAt, &w.EndedAt)
	return w, err
}

// ReserveWorktree reserves the path of a worktree; ok is false if it is taken.
func (tx *Tx) ReserveWorktree(w Worktree) (ok bool, err error) {
	n, err := tx.exec(`INSERT INTO worktree (id, session_id, name, repo, path, branch, state, created_at) VALUES ($1,$2,$3,$4,$5,$6,'reserved',$7)
		ON CONFLICT DO NOTHING`, w.ID, w.Session, w.Name, w.Repo, w.Path, w.Branch, int64(w.CreatedAt))
	return n > 0, err
}

// SetWorktree records what became of a worktree: its base, its snapshot, its
// state with its detail, and EndedAt.
func (tx *Tx) SetWorktree(w Worktree) error {
	return tx.later(`UPDATE worktree SET base = $2, snapshot = $3, state = $4, detail = $5, ended_at = $6 WHERE id = $1`,
		w.ID, w.Base, w.Snapshot, string(w.State), w.Detail, int64(w.EndedAt))
}

// DeleteWorktree forgets a worktree that is gone for good, or was never made.
func (tx *Tx) DeleteWorktree(id string) error {
	return tx.later(`DELETE FROM worktree WHERE id = $1`, id)
}

// WorktreeOf returns the worktree of a session, or ErrNotFound.
func (tx *Tx) WorktreeOf(session int64) (Worktree, error) {
	return first(tx, scanWorktree, `SELECT `+worktreeColumns+` FROM worktree WHERE session_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1`, session)
}

// WorktreesByPrefix returns worktrees whose id begins with prefix.
func (tx *Tx) WorktreesByPrefix(prefix string, limit int) ([]Worktree, error) {
	return all(tx, scanWorktree, `SELECT `+worktreeColumns+` FROM worktree WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3`, prefix, prefix+"~", limit)
}

// WorktreesNamed returns worktrees with a name.
func (tx *Tx) WorktreesNamed(name string, limit int) ([]Worktree, error) {
	return all(tx, scanWorktree, `SELECT `+worktreeColumns+` FROM worktree WHERE name = $1 ORDER BY id LIMIT $2`, name, limit)
}

// Worktrees lists worktrees, the newest first.
func (tx *Tx) Worktrees(limit int) ([]Worktree, error) {
	return all(tx, scanWorktree, `SELECT `+worktreeColumns+` FROM worktree ORDER BY created_at DESC, id DESC LIMIT $1`, limit)
}

// EndWorktree has the worktree of a session looked at once its run has ended; ok
// is false where it has none that lives.
func (tx *Tx) EndWorktree(session int64, now core.Millis) (ok bool, err error) {
	n, err := tx.exec(`UPDATE worktree SET state = 'ending', ended_at = $2 WHERE session_id = $1 AND state = 'live'`, session, int64(now))
	return n > 0, err
}

// NextWorktree returns when the next worktree is to be looked at, 0 for none:
// those that end, and snapshots that are older than keep.
func (tx *Tx) NextWorktree(keep core.Millis) (at core.Millis, err error) {
	err = tx.one(`SELECT COALESCE(MIN(at), 0) FROM (SELECT CASE WHEN state = 'ending' THEN ended_at ELSE ended_at + CAST($1 AS BIGINT) END AS at
		FROM worktree WHERE state IN ('ending', 'snapshot')) AS due`, []any{int64(keep)}, &at)
	return at, err
}

// TakeWorktrees returns those that are to be looked at now, and names the time
// of the next try for those that end and stay.
func (tx *Tx) TakeWorktrees(now, again, keep core.Millis, limit int) ([]Worktree, error) {
	due, err := all(tx, scanWorktree, `SELECT `+worktreeColumns+` FROM worktree
		WHERE state = 'ending' AND ended_at <= $1 OR state = 'snapshot' AND ended_at <= $2 ORDER BY ended_at, id LIMIT $3`,
		int64(now), int64(now-keep), limit)
	if err != nil {
		return nil, err
	}
	took := due[:0]
	for _, w := range due {
		n, err := tx.exec(`UPDATE worktree SET state = 'ending', ended_at = $2 WHERE id = $1 AND state = $3 AND ended_at = $4`,
			w.ID, int64(again), string(w.State), int64(w.EndedAt))
		if err != nil {
			return nil, err
		}
		if n > 0 { // else another node has it
			w.State = WorktreeEnding // a snapshot is forgotten
			took = append(took, w)
		}
	}
	return took, nil
}
