package store

import "github.com/skein-bot/skein/core"

// SpawnResult returns the result that a requester's spawn under a key had, or
// ErrNotFound.
func (tx *Tx) SpawnResult(requester, key string) (result string, err error) {
	err = tx.one(`SELECT result FROM spawn_key WHERE requester = $1 AND key = $2`, []any{requester, key}, &result)
	return result, err
}

// KeepSpawnResult keeps the result of the spawn of a run under a key of its
// requester's; the first one stays.
func (tx *Tx) KeepSpawnResult(requester, key, run, result string) error {
	return tx.later(`INSERT INTO spawn_key (requester, key, run_id, result) VALUES ($1,$2,$3,$4) ON CONFLICT (requester, key) DO NOTHING`,
		requester, key, run, result)
}

// Withhold keeps the arguments of a call that the transcript has not whole,
// until DropWithheld.
func (tx *Tx) Withhold(turn int64, seq int, args string, now core.Millis) error {
	return tx.later(`INSERT INTO withheld (turn_id, seq, args, at) VALUES ($1,$2,$3,$4)
		ON CONFLICT (turn_id, seq) DO UPDATE SET args = excluded.args, at = excluded.at`, turn, seq, args, int64(now))
}

// Withheld returns what is kept of a turn's calls, by step.
func (tx *Tx) Withheld(turn int64) (map[int]string, error) {
	type call struct {
		seq  int
		args string
	}
	calls, err := all(tx, func(s scanner) (c call, err error) {
		err = s.Scan(&c.seq, &c.args)
		return c, err
	}, `SELECT seq, args FROM withheld WHERE turn_id = $1`, turn)
	out := make(map[int]string, len(calls))
	for _, c := range calls {
		out[c.seq] = c.args
	}
	return out, err
}

// DropWithheld forgets the arguments of a call that has its result.
func (tx *Tx) DropWithheld(turn int64, seq int) error {
	return tx.later(`DELETE FROM withheld WHERE turn_id = $1 AND seq = $2`, turn, seq)
}

// DropWithheldOf forgets those of all calls of a turn that is over.
func (tx *Tx) DropWithheldOf(turn int64) error {
	return tx.later(`DELETE FROM withheld WHERE turn_id = $1`, turn)
}

// Attachment is the folder of the files that a spawn handed to a session.
type Attachment struct {
	Session   int64
	Root, Dir string // the workspace, and the folder inside it
	Files     int
	Bytes     int64
}

func scanAttachment(s scanner) (a Attachment, err error) {
	err = s.Scan(&a.Session, &a.Root, &a.Dir, &a.Files, &a.Bytes)
	return a, err
}

const attachmentColumns = `session_id, root, dir, files, bytes`

// InsertAttachment notes the folder of a session, before it is made.
func (tx *Tx) InsertAttachment(a Attachment, now core.Millis) error {
	return tx.later(`INSERT INTO attachment (session_id, root, dir, files, bytes, state, at) VALUES ($1,$2,$3,$4,$5,'kept',$6)`,
		a.Session, a.Root, a.Dir, a.Files, a.Bytes, int64(now))
}

// AttachmentOf returns the folder of a session, or ErrNotFound.
func (tx *Tx) AttachmentOf(session int64) (Attachment, error) {
	return first(tx, scanAttachment, `SELECT `+attachmentColumns+` FROM attachment WHERE session_id = $1`, session)
}

// LetGoOfAttachment notes that nobody needs the folder of a session any more;
// it is removed from then on. ok is false where the session has none.
func (tx *Tx) LetGoOfAttachment(session int64, now core.Millis) (ok bool, err error) {
	n, err := tx.exec(`UPDATE attachment SET state = 'gone', at = $2 WHERE session_id = $1 AND state = 'kept'`, session, int64(now))
	return n > 0, err
}

// NextGoneAttachment returns from when a folder is to be removed, 0 if none is.
func (tx *Tx) NextGoneAttachment() (at core.Millis, err error) {
	err = tx.one(`SELECT COALESCE(MIN(at), 0) FROM attachment WHERE state = 'gone'`, nil, &at)
	return at, err
}

// TakeGoneAttachments returns folders that are to be removed now, and names the
// time of the next try for those that stay.
func (tx *Tx) TakeGoneAttachments(now, again core.Millis, limit int) ([]Attachment, error) {
	gone, err := all(tx, scanAttachment, `SELECT `+attachmentColumns+` FROM attachment WHERE state = 'gone' AND at <= $1 ORDER BY at, session_id LIMIT $2`,
		int64(now), limit)
	if err != nil {
		return nil, err
	}
	took := gone[:0]
	for _, a := range gone {
		n, err := tx.exec(`UPDATE attachment SET at = $2 WHERE session_id = $1 AND at <= $3`, a.Session, int64(again), int64(now))
		if err != nil {
			return nil, err
		}
		if n > 0 { // else another node has it
			took = append(took, a)
		}
	}
	return took, nil
}

// LeftoversDue has what a process that is gone was removing, or could not
// remove, looked at now: folders of files, and worktrees.
func (tx *Tx) LeftoversDue(now core.Millis) error {
	if err := tx.later(`UPDATE attachment SET at = $1 WHERE state = 'gone' AND at > $1`, int64(now)); err != nil {
		return err
	}
	return tx.later(`UPDATE worktree SET ended_at = $1 WHERE state = 'ending' AND ended_at > $1`, int64(now))
}

// DeleteAttachment forgets a folder that is removed, or was never made.
func (tx *Tx) DeleteAttachment(session int64) error {
	return tx.later(`DELETE FROM attachment WHERE session_id = $1`, session)
}
