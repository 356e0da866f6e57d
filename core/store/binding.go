package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/skein-bot/skein/core"
)

const bindingColumns = `id, channel, account, conversation, thread, parent, session_id, session_key, target, agent, label, owner, placement,
	idle, max_age, bound_at, last_activity, busy_until, due_at, deadline, status, suspend_reason, reason, ended_at, data, run_id`

func scanBinding(s scanner) (core.Binding, error) {
	var b core.Binding
	var reason, data string
	a := &b.Address
	err := s.Scan(&b.ID, &a.Channel, &a.Account, &a.Conversation, &a.Thread, &a.Parent, &b.Session, &b.SessionKey, &b.Target, &b.Agent,
		&b.Label, &b.Owner, &b.Placement, &b.Idle, &b.MaxAge, &b.BoundAt, &b.LastActivity, &b.BusyUntil, &b.Due, &b.Deadline, &b.Status,
		&b.SuspendReason, &reason, &b.EndedAt, &data, &b.RunID)
	b.Reason, _ = core.ParseEndReason(reason)
	if data != "" {
		b.Data = []byte(data)
	}
	return b, err
}

func optional[T any](v T, err error) (T, bool, error) {
	if errors.Is(err, ErrNotFound) {
		return v, false, nil
	}
	return v, err == nil, err
}

// BindingAt returns the live binding of a place; ok is false if it has none.
func (tx *Tx) BindingAt(p core.Place) (b core.Binding, ok bool, err error) {
	return tx.bindingLocked(func() (core.Binding, error) {
		return first(tx, scanBinding, `SELECT `+bindingColumns+` FROM binding WHERE conversation = $1 AND thread = $2 AND account = $3
			AND channel = $4 AND status <> 'ended' AND conversation <> ''`, p.Conversation, p.Thread, p.Account, p.Channel)
	})
}

// BindingByID returns a binding; ok is false if there is none.
func (tx *Tx) BindingByID(id string) (b core.Binding, ok bool, err error) {
	return tx.bindingLocked(func() (core.Binding, error) {
		return first(tx, scanBinding, `SELECT `+bindingColumns+` FROM binding WHERE id = $1`, id)
	})
}

// BindingOfRun returns the live binding that a run created; ok is false if it
// has none.
func (tx *Tx) BindingOfRun(run string) (b core.Binding, ok bool, err error) {
	return tx.bindingLocked(func() (core.Binding, error) {
		return first(tx, scanBinding, `SELECT `+bindingColumns+` FROM binding WHERE run_id = $1 AND run_id <> '' AND status <> 'ended'
			ORDER BY id DESC LIMIT 1`, run)
	})
}

// BindingsOfSession returns the live bindings that point at a session.
func (tx *Tx) BindingsOfSession(session int64) ([]core.Binding, error) {
	list, err := all(tx, scanBinding, `SELECT `+bindingColumns+` FROM binding WHERE session_id = $1 AND status <> 'ended' ORDER BY id`, session)
	return tx.lockBindings(list, err, bindingLive)
}

// BindingsOfSessions returns those of several sessions, to be shown: it locks
// nothing.
func (tx *Tx) BindingsOfSessions(sessions []int64) ([]core.Binding, error) {
	if len(sessions) == 0 {
		return nil, nil
	}
	in := make([]string, 0, len(sessions))
	args := make([]any, 0, len(sessions))
	for n, session := range sessions {
		in, args = append(in, fmt.Sprintf("$%d", n+1)), append(args, session)
	}
	return all(tx, scanBinding, `SELECT `+bindingColumns+` FROM binding WHERE status <> 'ended' AND session_id IN (`+strings.Join(in, ",")+`) ORDER BY id`, args...)
}

// BindingsDue returns active and suspended bindings whose due time is reached,
// earliest first.
func (tx *Tx) BindingsDue(now core.Millis, limit int) ([]core.Binding, error) {
	list, err := all(tx, scanBinding, `SELECT `+bindingColumns+` FROM binding WHERE status IN ('active', 'suspended') AND due_at > 0 AND due_at <= $1
		ORDER BY due_at LIMIT $2`, int64(now), limit)
	return tx.lockBindings(list, err, bindingDue(now))
}

// BindingsDueFrom is BindingsDue for due times from the given one on.
func (tx *Tx) BindingsDueFrom(from, now core.Millis, limit int) ([]core.Binding, error) {
	list, err := all(tx, scanBinding, `SELECT `+bindingColumns+` FROM binding WHERE status IN ('active', 'suspended') AND due_at > 0 AND due_at >= $1
		AND due_at <= $2 ORDER BY due_at LIMIT $3`, int64(from), int64(now), limit)
	return tx.lockBindings(list, err, bindingDue(now))
}

// bindingDue keeps the bindings that are still due.
func bindingDue(now core.Millis) func(core.Binding) bool {
	return func(b core.Binding) bool { return bindingLive(b) && b.Due > 0 && b.Due <= now }
}

// NextBindingDue returns the earliest due time from the given one on, 0 if
// none.
func (tx *Tx) NextBindingDue(from core.Millis) (core.Millis, error) {
	var due core.Millis
	err := tx.one(`SELECT COALESCE(MIN(due_at), 0) FROM binding WHERE status IN ('active', 'suspended') AND due_at > 0 AND due_at >= $1`,
		[]any{int64(from)}, &due)
	return due, err
}

// HeldMessages returns the messages that wait in a session until a place can
// be written to again, oldest first.
func (tx *Tx) HeldMessages(session int64) ([]Inbox, error) {
	return all(tx, scanInbox, `SELECT `+inboxColumns+` FROM inbox WHERE session_id = $1 AND state = 'held' AND kind = 'message' ORDER BY id`, session)
}

// ReleaseHeld queues a message that was held.
func (tx *Tx) ReleaseHeld(id int64) error {
	return tx.later(`UPDATE inbox SET state = 'queued' WHERE id = $1 AND state = 'held'`, id)
}

// LiveBindings returns live bindings with an id above after, in order of id.
func (tx *Tx) LiveBindings(after string, limit int) ([]core.Binding, error) {
	list, err := all(tx, scanBinding, `SELECT `+bindingColumns+` FROM binding WHERE id > $1 AND status <> 'ended' ORDER BY id LIMIT $2`, after, limit)
	return tx.lockBindings(list, err, bindingLive)
}

// BindingsUnder returns the live bindings in a conversation: its own, those of
// its threads, and those whose address has it as the parent.
func (tx *Tx) BindingsUnder(channel, account, conversation string) ([]core.Binding, error) {
	list, err := all(tx, scanBinding, `SELECT `+bindingColumns+` FROM binding WHERE conversation = $1 AND account = $2 AND channel = $3
		AND status <> 'ended' AND conversation <> ''
		UNION SELECT `+bindingColumns+` FROM binding WHERE parent = $1 AND parent <> '' AND account = $2 AND channel = $3 AND status <> 'ended'
		ORDER BY 1`, conversation, account, channel)
	return tx.lockBindings(list, err, bindingLive)
}

// BindingsOfAccount returns live bindings of an account.
func (tx *Tx) BindingsOfAccount(channel, account string, limit int) ([]core.Binding, error) {
	list, err := all(tx, scanBinding, `SELECT `+bindingColumns+` FROM binding WHERE channel = $1 AND account = $2 AND status <> 'ended'
		ORDER BY id LIMIT $3`, channel, account, limit)
	return tx.lockBindings(list, err, bindingLive)
}

// BoundAccounts returns the accounts, each as channel and account, that have
// live bindings.
func (tx *Tx) BoundAccounts() ([][2]string, error) {
	return all(tx, scanPair, `SELECT DISTINCT channel, account FROM binding WHERE status <> 'ended' AND conversation <> ''
		ORDER BY channel, account`)
}

// LastEnded returns the binding at a place that ended last; ok is false if
// none did.
func (tx *Tx) LastEnded(p core.Place) (b core.Binding, ok bool, err error) {
	return optional(first(tx, scanBinding, `SELECT `+bindingColumns+` FROM binding WHERE conversation = $1 AND thread = $2 AND account = $3
		AND channel = $4 AND status = 'ended' ORDER BY ended_at DESC, id DESC LIMIT 1`, p.Conversation, p.Thread, p.Account, p.Channel))
}

// DeleteBinding removes an ended binding.
func (tx *Tx) DeleteBinding(id string) error {
	return tx.later(`DELETE FROM binding WHERE id = $1 AND status = 'ended'`, id)
}

// SessionLive tells whether a session exists and is not archived, and its key.
func (tx *Tx) SessionLive(id int64) (live bool, key string, err error) {
	var archived int64
	err = tx.one(`SELECT key, archived_at FROM session WHERE id = $1`, []any{id}, &key, &archived)
	if errors.Is(err, ErrNotFound) {
		return false, "", nil
	}
	return err == nil && archived == 0, key, err
}

// SessionBusy tells whether a session has a turn in progress, queued input or
// a run that waits; if not, since when it has had none, 0 if it never worked.
func (tx *Tx) SessionBusy(id int64) (busy bool, idleSince core.Millis, err error) {
	latest, err := tx.latestTurn(id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, 0, err
	}
	if latest.State == TurnRunning {
		return true, 0, nil
	}
	var n int
	err = tx.one(`SELECT (SELECT COUNT(*) FROM inbox WHERE session_id = $1 AND state = 'queued')
		+ (SELECT COUNT(*) FROM wait WHERE session_id = $1)`, []any{id}, &n)
	if err != nil || n > 0 {
		return n > 0, 0, err
	}
	return false, latest.Ended, nil
}

// ListBindings lists bindings, newest first.
func (tx *Tx) ListBindings(ended bool, limit int) ([]core.Binding, error) {
	where := `status <> 'ended'`
	if ended {
		where = `status = 'ended'`
	}
	return all(tx, scanBinding, `SELECT `+bindingColumns+` FROM binding WHERE `+where+` ORDER BY bound_at DESC, id DESC LIMIT $1`, limit)
}

// CountLiveBindings counts what a person owns.
func (tx *Tx) CountLiveBindings(owner string) (n int, err error) {
	err = tx.one(`SELECT COUNT(*) FROM binding WHERE owner = $1 AND status <> 'ended'`, []any{owner}, &n)
	return n, err
}

// CountAllLiveBindings counts live bindings, up to limit.
func (tx *Tx) CountAllLiveBindings(limit int) (n int, err error) {
	err = tx.one(limited(`SELECT COUNT(*) FROM (SELECT 1 FROM binding WHERE status <> 'ended'`, limit)+`) AS live`, nil, &n)
	return n, err
}

// ErrPlaceTaken says that the place has a live binding already.
var ErrPlaceTaken = errors.New("store: the place has a live binding")

// InsertBinding writes a new binding; ErrPlaceTaken if its place has a live
// one.
func (tx *Tx) InsertBinding(b core.Binding) error {
	a := b.Address
	n, err := tx.exec(`INSERT INTO binding (`+bindingColumns+`) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,
		$19,$20,$21,$22,$23,$24,$25,$26)
		ON CONFLICT (conversation, thread, account, channel) WHERE status <> 'ended' AND conversation <> '' DO NOTHING`, b.ID, a.Channel, a.Account, a.Conversation, a.Thread, a.Parent, b.Session, b.SessionKey,
		string(b.Target), b.Agent, b.Label, b.Owner, string(b.Placement), b.Idle, b.MaxAge, int64(b.BoundAt), int64(b.LastActivity),
		int64(b.BusyUntil), int64(b.Due), int64(b.Deadline), string(b.Status), b.SuspendReason, b.Reason.String(), int64(b.EndedAt),
		string(b.Data), b.RunID)
	if err == nil && n == 0 {
		return ErrPlaceTaken
	}
	return err
}

// UpdateBinding writes every field of a binding; ErrPlaceTaken if it moves to
// a place that has a live one.
func (tx *Tx) UpdateBinding(b core.Binding) error {
	a := b.Address
	return placeError(tx.attempt(func() error {
		_, err := tx.exec(`UPDATE binding SET channel=$2, account=$3, conversation=$4, thread=$5, parent=$6, session_id=$7, session_key=$8,
		target=$9, agent=$10, label=$11, owner=$12, placement=$13, idle=$14, max_age=$15, bound_at=$16, last_activity=$17, busy_until=$18,
		due_at=$19, deadline=$20, status=$21, suspend_reason=$22, reason=$23, ended_at=$24, data=$25, run_id=$26 WHERE id=$1`,
			b.ID, a.Channel, a.Account, a.Conversation, a.Thread, a.Parent, b.Session, b.SessionKey,
			string(b.Target), b.Agent, b.Label, b.Owner, string(b.Placement), b.Idle, b.MaxAge, int64(b.BoundAt), int64(b.LastActivity),
			int64(b.BusyUntil), int64(b.Due), int64(b.Deadline), string(b.Status), b.SuspendReason, b.Reason.String(), int64(b.EndedAt),
			string(b.Data), b.RunID)
		return err
	}))
}

func placeError(err error) error {
	if err != nil && (strings.Contains(err.Error(), "UNIQUE constraint failed: binding.conversation") || strings.Contains(err.Error(), `"binding_place"`)) {
		return errors.Join(ErrPlaceTaken, err)
	}
	return err
}
