package store

import (
	"errors"

	"github.com/skein-bot/skein/core"
)

// InboxKind says what an inbox row is.
type InboxKind string

// The kinds of inbox row.
const (
	InboxMessage    InboxKind = "message"    // a person wrote
	InboxTask       InboxKind = "task"       // the first input of a spawned run
	InboxCompletion InboxKind = "completion" // a child ended
	InboxWake       InboxKind = "wake"       // a wait ended by its deadline
	InboxSteer      InboxKind = "steer"      // a message to a live run, for its next boundary
	InboxDropped    InboxKind = "dropped"    // stands for messages over the cap
)

// InboxState is where an inbox row stands. A row that a turn takes is deleted:
// in the same transaction what it said becomes a transcript row of the turn.
type InboxState string

// The states of an inbox row.
const (
	InboxQueued InboxState = "queued"
	InboxHeld   InboxState = "held" // a completion that a wait, or a message that a suspended binding, still holds back
)

// Lane names a pool of turn slots.
type Lane string

// The lanes.
const (
	LaneMain     Lane = "main"
	LaneSubagent Lane = "subagent"
)

// Inbox is one input of a session.
type Inbox struct {
	ID      int64
	Session int64
	Kind    InboxKind
	State   InboxState
	Lane    Lane
	// ReplyTo and Anchor are where the answer goes; Policy is the sender's
	// tool policy. Only rows that agree in ReplyTo and Policy share a turn.
	ReplyTo core.Address
	Anchor  string
	Policy  string
	Owner   string // the person behind it, "channel:id"
	Source  string // SourceOf the message, to find its row again
	Run     string // the run it belongs to: of a task its own, of a completion the child's
	ForRun  string // the run that takes it: of a completion the requester's, "" at top level
	Ordinal int    // of a completion: the child's, so that a batch is in spawn order
	Body    string // JSON of a model.Item
	Chain   int64  // of a completion: the chain of turns that spawned the child
	At      core.Millis
}

const inboxColumns = `id, session_id, kind, state, lane, reply_to, anchor, policy, owner, source, run_id, for_run, ordinal, body, chain, created_at`

func scanInbox(s scanner) (Inbox, error) {
	var r Inbox
	var reply string
	err := s.Scan(&r.ID, &r.Session, &r.Kind, &r.State, &r.Lane, &reply, &r.Anchor, &r.Policy, &r.Owner, &r.Source, &r.Run, &r.ForRun,
		&r.Ordinal, &r.Body, &r.Chain, &r.At)
	r.ReplyTo = parseAddress(reply)
	return r, err
}

// InsertInbox adds an input; State defaults to queued. It returns the row's id.
func (tx *Tx) InsertInbox(r Inbox) (int64, error) {
	if r.State == "" {
		r.State = InboxQueued
	}
	if err := tx.LockSession(r.Session); err != nil { // rows of a session are numbered in the order of their commits
		return 0, err
	}
	var id int64
	err := tx.one(`INSERT INTO inbox (session_id, kind, state, lane, reply_to, anchor, policy, owner, source, run_id, for_run, ordinal,
		body, chain, created_at) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15) RETURNING id`,
		[]any{r.Session, string(r.Kind), string(r.State), string(r.Lane), formatAddress(r.ReplyTo), r.Anchor, r.Policy, r.Owner, r.Source, r.Run,
			r.ForRun, r.Ordinal, r.Body, r.Chain, int64(r.At)}, &id)
	return id, err
}

// QueuedInbox returns the session's queued rows, oldest first.
func (tx *Tx) QueuedInbox(session int64, limit int) ([]Inbox, error) {
	if err := tx.LockSession(session); err != nil {
		return nil, err
	}
	return all(tx, scanInbox, limited(`SELECT `+inboxColumns+` FROM inbox WHERE session_id = $1 AND state = 'queued' ORDER BY id`, limit), session)
}

// SetInboxState moves rows of one kind in a session from one state to another
// and returns how many moved.
func (tx *Tx) SetInboxState(session int64, kind InboxKind, from, to InboxState) (int64, error) {
	if err := tx.LockSession(session); err != nil {
		return 0, err
	}
	return tx.exec(`UPDATE inbox SET state = $4 WHERE session_id = $1 AND kind = $2 AND state = $3`, session, string(kind), string(from), string(to))
}

// SetCompletionState moves the completion of run between queued and held.
func (tx *Tx) SetCompletionState(session int64, run string, to InboxState) error {
	if err := tx.LockSession(session); err != nil {
		return err
	}
	return tx.later(`UPDATE inbox SET state = $3 WHERE session_id = $1 AND kind = 'completion' AND run_id = $2 AND state IN ('queued', 'held')`,
		session, run, string(to))
}

// PendingCompletions returns the completions for forRun that its session has
// not consumed, queued or held, in spawn order.
func (tx *Tx) PendingCompletions(session int64, forRun string) ([]Inbox, error) {
	if err := tx.LockSession(session); err != nil {
		return nil, err
	}
	return all(tx, scanInbox, `SELECT `+inboxColumns+` FROM inbox WHERE session_id = $1 AND kind = 'completion' AND for_run = $2
		AND state IN ('queued', 'held') ORDER BY ordinal, id`, session, forRun)
}

// ReleaseInput lets go of what waits in a session for a run that has ended: the
// messages of people are the session's own then, and notes are dropped.
func (tx *Tx) ReleaseInput(session int64, run string) error {
	if err := tx.LockSession(session); err != nil {
		return err
	}
	if err := tx.later(`DELETE FROM inbox WHERE session_id = $1 AND for_run = $2 AND kind = 'wake'`, session, run); err != nil {
		return err
	}
	return tx.later(`UPDATE inbox SET for_run = '', chain = 0 WHERE session_id = $1 AND for_run = $2 AND kind IN ('message', 'dropped')`,
		session, run)
}

// CompletionPending reports whether the completion of run is still unconsumed
// in the session.
func (tx *Tx) CompletionPending(session int64, run string) (bool, error) {
	if err := tx.LockSession(session); err != nil {
		return false, err
	}
	var n int
	err := tx.one(`SELECT COUNT(*) FROM inbox WHERE session_id = $1 AND kind = 'completion' AND run_id = $2 AND state IN ('queued', 'held')`,
		[]any{session, run}, &n)
	return n > 0, err
}

// TakeCompletion removes the completion of run, which its session has got in
// another way.
func (tx *Tx) TakeCompletion(session int64, run string) error {
	if err := tx.LockSession(session); err != nil {
		return err
	}
	return tx.later(`DELETE FROM inbox WHERE session_id = $1 AND kind = 'completion' AND run_id = $2`, session, run)
}

// SteersRun reports whether a message to a run waits that it has not taken.
func (tx *Tx) SteersRun(session int64, run string) (bool, error) {
	if err := tx.LockSession(session); err != nil {
		return false, err
	}
	var n int
	err := tx.one(`SELECT COUNT(*) FROM inbox WHERE session_id = $1 AND state = 'queued' AND kind = 'steer' AND for_run = $2`, []any{session, run}, &n)
	return n > 0, err
}

// ClearSteers removes the messages to a run that it has not taken and will not.
func (tx *Tx) ClearSteers(session int64, run string) error {
	return tx.later(`DELETE FROM inbox WHERE session_id = $1 AND state = 'queued' AND kind = 'steer' AND for_run = $2`, session, run)
}

// CountQueued returns how many messages wait in the session.
func (tx *Tx) CountQueued(session int64) (n int, err error) {
	if err := tx.LockSession(session); err != nil {
		return 0, err
	}
	err = tx.one(`SELECT COUNT(*) FROM inbox WHERE session_id = $1 AND state = 'queued' AND kind = 'message'`, []any{session}, &n)
	return n, err
}

// OldestQueued returns the oldest waiting message of the session, or
// ErrNotFound.
func (tx *Tx) OldestQueued(session int64) (Inbox, error) {
	if err := tx.LockSession(session); err != nil {
		return Inbox{}, err
	}
	return first(tx, scanInbox, `SELECT `+inboxColumns+` FROM inbox WHERE session_id = $1 AND state = 'queued' AND kind = 'message'
		ORDER BY id LIMIT 1`, session)
}

// DroppedRows returns the rows that stand for dropped messages, one for each
// reply address and sender policy, oldest first.
func (tx *Tx) DroppedRows(session int64) ([]Inbox, error) {
	if err := tx.LockSession(session); err != nil {
		return nil, err
	}
	return all(tx, scanInbox, `SELECT `+inboxColumns+` FROM inbox WHERE session_id = $1 AND state = 'queued' AND kind = 'dropped'
		ORDER BY id`, session)
}

// DeleteInbox removes a row: a turn took it, or it was withdrawn.
func (tx *Tx) DeleteInbox(id int64) error {
	return tx.later(`DELETE FROM inbox WHERE id = $1`, id)
}

// UpdateInboxBody replaces the body of a row that was not taken yet; ok is
// false if it was, or is gone.
func (tx *Tx) UpdateInboxBody(id int64, body string) (ok bool, err error) {
	n, err := tx.exec(`UPDATE inbox SET body = $2 WHERE id = $1 AND state IN ('queued', 'held')`, id, body)
	return n > 0, err
}

// SourceOf names the platform message behind an inbox row, whatever thread it is
// in.
func SourceOf(at core.Address, message string) string {
	return at.InThread("").String() + "/" + message
}

// InboxBySource returns the row of a platform message that waits, queued or
// held, or ErrNotFound.
func (tx *Tx) InboxBySource(source string) (Inbox, error) {
	return locked(tx, func() (Inbox, error) {
		return first(tx, scanInbox, `SELECT `+inboxColumns+` FROM inbox WHERE source = $1 AND source <> '' AND state IN ('queued', 'held')
			ORDER BY id DESC LIMIT 1`, source)
	}, func(r Inbox) int64 { return r.Session })
}

// ClearQueued removes everything that waits in a session, queued or held, but
// completions, and returns how many of it were messages of people.
func (tx *Tx) ClearQueued(session int64) (messages int64, err error) {
	if err := tx.LockSession(session); err != nil {
		return 0, err
	}
	messages, err = tx.exec(`DELETE FROM inbox WHERE session_id = $1 AND state IN ('queued', 'held') AND kind = 'message'`, session)
	if err != nil {
		return 0, err
	}
	return messages, tx.later(`DELETE FROM inbox WHERE session_id = $1 AND state IN ('queued', 'held') AND kind <> 'completion'`, session)
}

// ClearInputOf removes what waits in a session for one run: its task, what was
// sent to it, and the outcomes it has not taken.
func (tx *Tx) ClearInputOf(session int64, run string) error {
	if err := tx.LockSession(session); err != nil {
		return err
	}
	return tx.later(`DELETE FROM inbox WHERE session_id = $1 AND (run_id = $2 AND kind <> 'completion' OR for_run = $2)`, session, run)
}

// ClearCompletions removes unconsumed completions of the runs that a session
// asked for, as a stop does.
func (tx *Tx) ClearCompletions(session int64) (int64, error) {
	if err := tx.LockSession(session); err != nil {
		return 0, err
	}
	return tx.exec(`DELETE FROM inbox WHERE session_id = $1 AND state IN ('queued', 'held') AND kind = 'completion'`, session)
}

// InsertDedupe claims a key: fresh is false if it was claimed before.
func (tx *Tx) InsertDedupe(key string, now core.Millis) (fresh bool, err error) {
	n, err := tx.exec(`INSERT INTO dedupe (key, at) VALUES ($1,$2) ON CONFLICT (key) DO NOTHING`, key, int64(now))
	return n > 0, err
}

// SetCursor stores an adapter's position. On PostgreSQL, where another unit is
// writing the same one, it is stored right after the commit instead: it may lag
// behind what was taken in.
func (tx *Tx) SetCursor(channel, account, name, value string, now core.Millis) error {
	key := cursorKey{channel, account, name}
	if tx.unit != nil {
		return tx.db.pg.cursors.write(tx, key, value, now)
	}
	return tx.upsertCursor(key, value, now)
}

// Cursor returns an adapter's stored position, "" if none.
func (tx *Tx) Cursor(channel, account, name string) (string, error) {
	var v string
	err := tx.one(`SELECT value FROM cursor WHERE channel = $1 AND account = $2 AND name = $3`, []any{channel, account, name}, &v)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return v, err
}

// FirstNotice claims a once-only notice; first is false if it was given since
// after.
func (tx *Tx) FirstNotice(key string, now, after core.Millis) (isFirst bool, err error) {
	n, err := tx.exec(`INSERT INTO once_notice (key, at) VALUES ($1,$2)
		ON CONFLICT (key) DO UPDATE SET at = excluded.at WHERE once_notice.at <= $3`, key, int64(now), int64(after))
	return n > 0, err
}
