package store

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/skein-bot/skein/core"
)

// Timer is a durable deadline. Kind names its handler; (Kind, Ref) is unique,
// so setting it again moves it.
type Timer struct {
	Kind, Ref string
	Due       core.Millis
	Payload   string
}

// SetTimer creates or moves a timer; a due of 0 removes it. Wake the kernel's
// timers OnCommit.
func (tx *Tx) SetTimer(t Timer) error {
	if t.Due == 0 {
		return tx.DropTimer(t.Kind, t.Ref)
	}
	return tx.later(`INSERT INTO timer (kind, ref, due, payload) VALUES ($1,$2,$3,$4)
		ON CONFLICT (kind, ref) DO UPDATE SET due = excluded.due, payload = excluded.payload`, t.Kind, t.Ref, int64(t.Due), t.Payload)
}

// DropTimer removes a timer, if there is one.
func (tx *Tx) DropTimer(kind, ref string) error {
	return tx.later(`DELETE FROM timer WHERE kind = $1 AND ref = $2`, kind, ref)
}

// TakeTimer removes a timer that is due; ok is false if it was moved, removed or
// taken by another node meanwhile.
func (tx *Tx) TakeTimer(t Timer, now core.Millis) (ok bool, err error) {
	n, err := tx.exec(`DELETE FROM timer WHERE kind = $1 AND ref = $2 AND due <= $3`, t.Kind, t.Ref, int64(now))
	return n > 0, err
}

// DueTimers returns timers that are due, earliest first.
func (tx *Tx) DueTimers(now core.Millis, limit int) ([]Timer, error) {
	return all(tx, scanTimer, `SELECT kind, ref, due, payload FROM timer WHERE due <= $1 ORDER BY due LIMIT $2`, int64(now), limit)
}

// TimerAt returns a timer, or ErrNotFound.
func (tx *Tx) TimerAt(kind, ref string) (Timer, error) {
	return first(tx, scanTimer, `SELECT kind, ref, due, payload FROM timer WHERE kind = $1 AND ref = $2`, kind, ref)
}

// NextTimer returns when the earliest timer is due, 0 if there is none.
func (tx *Tx) NextTimer() (core.Millis, error) {
	var due core.Millis
	err := tx.one(`SELECT COALESCE(MIN(due), 0) FROM timer`, nil, &due)
	return due, err
}

func scanTimer(s scanner) (Timer, error) {
	var t Timer
	err := s.Scan(&t.Kind, &t.Ref, &t.Due, &t.Payload)
	return t, err
}

// Wait is a session that waits for its children or for a message. Several
// waits of one session can be armed at once, one per turn that yielded.
type Wait struct {
	Turn    int64
	Session int64
	Run     string // the run that waits, "" at top level
	Kind    string // "children" or "message"
	// Need is how many of Batch must have ended.
	Need     int
	Batch    []string // run ids in spawn order
	ReplyTo  core.Address
	Anchor   string
	Note     string // private note for the resumed turn
	Deadline core.Millis
	At       core.Millis
}

const waitColumns = `turn_id, session_id, run_id, kind, need, batch, reply_to, anchor, note, deadline, created_at`

func scanWait(s scanner) (Wait, error) {
	var w Wait
	var reply, batch string
	err := s.Scan(&w.Turn, &w.Session, &w.Run, &w.Kind, &w.Need, &batch, &reply, &w.Anchor, &w.Note, &w.Deadline, &w.At)
	if err == nil && batch != "" {
		err = json.Unmarshal([]byte(batch), &w.Batch)
	}
	w.ReplyTo = parseAddress(reply)
	return w, err
}

// InsertWait arms a wait.
func (tx *Tx) InsertWait(w Wait) error {
	batch, err := json.Marshal(w.Batch)
	if err != nil {
		return err
	}
	if err := tx.LockSession(w.Session); err != nil {
		return err
	}
	_, err = tx.exec(`INSERT INTO wait (`+waitColumns+`) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11)`,
		w.Turn, w.Session, w.Run, w.Kind, w.Need, string(batch), formatAddress(w.ReplyTo), w.Anchor, w.Note, int64(w.Deadline), int64(w.At))
	if err != nil {
		return err
	}
	return tx.countWaits(w.Session)
}

// countWaits keeps Session.Waits, so that a message need not look for waits.
func (tx *Tx) countWaits(session int64) error {
	return tx.later(`UPDATE session SET waits = (SELECT COUNT(*) FROM wait WHERE session_id = $1) WHERE id = $1`, session)
}

// Waits returns the armed waits of a session, oldest first.
func (tx *Tx) Waits(session int64) ([]Wait, error) {
	if err := tx.LockSession(session); err != nil {
		return nil, err
	}
	return all(tx, scanWait, `SELECT `+waitColumns+` FROM wait WHERE session_id = $1 ORDER BY turn_id`, session)
}

// WaitByTurn returns the wait that a turn armed, or ErrNotFound.
func (tx *Tx) WaitByTurn(turn int64) (Wait, error) {
	return locked(tx, func() (Wait, error) {
		return first(tx, scanWait, `SELECT `+waitColumns+` FROM wait WHERE turn_id = $1`, turn)
	}, func(w Wait) int64 { return w.Session })
}

// DeleteWait disarms a wait.
func (tx *Tx) DeleteWait(turn int64) error {
	w, err := tx.WaitByTurn(turn)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := tx.exec(`DELETE FROM wait WHERE turn_id = $1`, turn); err != nil {
		return err
	}
	return tx.countWaits(w.Session)
}

// DeleteWaits disarms every wait of a session.
func (tx *Tx) DeleteWaits(session int64) error {
	if err := tx.LockSession(session); err != nil {
		return err
	}
	n, err := tx.exec(`DELETE FROM wait WHERE session_id = $1`, session)
	if err != nil || n == 0 {
		return err
	}
	return tx.countWaits(session)
}

// Intent is a remote effect in two phases: what was about to be done outside
// the store, so that a restart can find and finish or undo it.
type Intent struct {
	Turn  int64
	Seq   int
	Kind  string // "spawn" or "focus"
	State string // "open" or "done"
	Ref   string // the binding or run it is about
	Body  string
	At    core.Millis
}

func scanIntent(s scanner) (Intent, error) {
	var r Intent
	err := s.Scan(&r.Turn, &r.Seq, &r.Kind, &r.State, &r.Ref, &r.Body, &r.At)
	return r, err
}

// InsertIntent opens an intent, anew where that of the step was undone.
func (tx *Tx) InsertIntent(i Intent) error {
	n, err := tx.exec(`INSERT INTO intent (turn_id, seq, kind, state, ref, body, at) VALUES ($1,$2,$3,'open',$4,$5,$6)
		ON CONFLICT (turn_id, seq) DO UPDATE SET kind = excluded.kind, state = 'open', ref = excluded.ref, body = excluded.body, at = excluded.at
		WHERE intent.state <> 'open'`, i.Turn, i.Seq, i.Kind, i.Ref, i.Body, int64(i.At))
	if err == nil && n == 0 {
		err = fmt.Errorf("store: step %d of turn %d has an open intent", i.Seq, i.Turn)
	}
	return err
}

// IntentAt returns the intent of a step, or ErrNotFound.
func (tx *Tx) IntentAt(turn int64, seq int) (Intent, error) {
	return first(tx, scanIntent, `SELECT turn_id, seq, kind, state, ref, body, at FROM intent WHERE turn_id = $1 AND seq = $2`, turn, seq)
}

// OpenIntents returns intents that were opened before a time and never closed,
// oldest first.
func (tx *Tx) OpenIntents(before core.Millis, limit int) ([]Intent, error) {
	return all(tx, scanIntent, `SELECT turn_id, seq, kind, state, ref, body, at FROM intent WHERE state = 'open' AND at <= $1 ORDER BY at LIMIT $2`,
		int64(before), limit)
}

// CloseIntent notes that the effect is recorded elsewhere or was undone. body
// replaces what was stored, so that the same call can be answered again.
func (tx *Tx) CloseIntent(turn int64, seq int, body string) error {
	return tx.later(`UPDATE intent SET state = 'done', body = $3 WHERE turn_id = $1 AND seq = $2`, turn, seq, body)
}
