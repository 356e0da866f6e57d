package store

import (
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
)

// OutboxKind says what an outgoing message is; delivery treats kinds
// differently (a command reply never waits behind a retried answer).
type OutboxKind string

// The kinds of outgoing message.
const (
	OutFinal    OutboxKind = "final"    // the answer of a turn
	OutProgress OutboxKind = "progress" // text before the end of a turn
	OutCommand  OutboxKind = "command"  // the reply to a command
	OutNotice   OutboxKind = "notice"   // a message of the runtime itself
	OutIntro    OutboxKind = "intro"
	OutFarewell OutboxKind = "farewell"
	OutSend     OutboxKind = "send" // `skein send` and the API
	// OutPreview shows an answer while it is written. Once it is sent it stands
	// until another row has replaced it; then it is withdrawn.
	OutPreview OutboxKind = "preview"
	// OutRetract removes a preview that nothing replaces. It has no text.
	OutRetract OutboxKind = "retract"
)

// Literal reports whether texts of the kind are words of the runtime without
// markup. Names in them may look like markup and are none.
func (k OutboxKind) Literal() bool { return k == OutCommand || k == OutIntro || k == OutFarewell }

// Aside reports whether rows of the kind only serve the display of another
// message: nothing is told by their receipt, and nobody misses them.
func (k OutboxKind) Aside() bool { return k == OutPreview || k == OutRetract }

// OutboxState is where an outgoing message stands.
type OutboxState string

// The states of an outgoing message. All but queued and sending are ends.
const (
	OutQueued    OutboxState = "queued"
	OutSending   OutboxState = "sending"   // a request may be under way
	OutSent      OutboxState = "sent"      // the platform gave an id
	OutAmbiguous OutboxState = "ambiguous" // may have been sent; held
	OutFailed    OutboxState = "failed"    // the platform refuses it for good
	OutBlocked   OutboxState = "blocked"   // retries are used up
	OutWithdrawn OutboxState = "withdrawn" // taken back before it was sent
	OutDismissed OutboxState = "dismissed" // an operator let it go
)

// Outbox is one outgoing message.
type Outbox struct {
	ID      int64
	OnceKey string // unique if not empty: the same key is the same message
	Kind    OutboxKind
	Address core.Address
	Anchor  string // platform id of the message it answers
	Persona string
	Text    string
	State   OutboxState
	// Attempts counts tries of the part in hand; NextAt is when to try again.
	Attempts  int
	NextAt    core.Millis
	PartsSent int
	Session   int64
	Run       string   // the run whose outcome this is, "" if none
	Tells     []string // runs whose outcome people know once this is sent
	Owner     string   // the person on whose account it is written, "channel:id"
	Resent    bool     // sent again after an ambiguous outcome
	Error     string
	Preview   int64 // the row of the preview that this one replaces, 0 for none
	At        core.Millis
	FirstTry  core.Millis
	EndedAt   core.Millis
}

const outboxColumns = `id, COALESCE(once_key, ''), kind, channel, account, conversation, thread, parent, anchor, persona, text, state,
	attempts, next_at, parts_sent, session_id, run_id, tells, owner, resent, error, preview, created_at, first_try_at, ended_at`

func scanOutbox(s scanner) (Outbox, error) {
	var r Outbox
	var tells string
	a := &r.Address
	err := s.Scan(&r.ID, &r.OnceKey, &r.Kind, &a.Channel, &a.Account, &a.Conversation, &a.Thread, &a.Parent, &r.Anchor, &r.Persona, &r.Text,
		&r.State, &r.Attempts, &r.NextAt, &r.PartsSent, &r.Session, &r.Run, &tells, &r.Owner, &r.Resent, &r.Error, &r.Preview, &r.At, &r.FirstTry, &r.EndedAt)
	if tells != "" {
		r.Tells = strings.Fields(tells)
	}
	return r, err
}

// InsertOutbox queues a message. With a OnceKey that exists already it does
// nothing and fresh is false. Wake delivery OnCommit.
func (tx *Tx) InsertOutbox(r Outbox) (id int64, fresh bool, err error) {
	var once any
	if r.OnceKey != "" {
		once = r.OnceKey
	}
	a := r.Address
	ids, err := all(tx, scanID, `INSERT INTO outbox (once_key, kind, channel, account, conversation, thread, parent, anchor, persona, text, state,
		session_id, run_id, tells, owner, created_at, preview) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,'queued',$11,$12,$13,$14,$15,$16)
		ON CONFLICT (once_key) DO NOTHING RETURNING id`,
		once, string(r.Kind), a.Channel, a.Account, a.Conversation, a.Thread, a.Parent, r.Anchor, r.Persona, r.Text, r.Session, r.Run,
		strings.Join(r.Tells, " "), r.Owner, int64(r.At), r.Preview)
	if err != nil || len(ids) == 0 {
		return 0, false, err
	}
	return ids[0], true, nil
}

// OpenOutbox returns the account's messages that are not at an end, oldest
// first, with an id above after.
func (tx *Tx) OpenOutbox(channel, account string, after int64, limit int) ([]Outbox, error) {
	return all(tx, scanOutbox, `SELECT `+outboxColumns+` FROM outbox WHERE channel = $1 AND account = $2 AND state IN ('queued', 'sending')
		AND id > $3 ORDER BY id LIMIT $4`, channel, account, after, limit)
}

// NewestOpenOutbox returns the account's newest messages that are not at an end,
// oldest first.
func (tx *Tx) NewestOpenOutbox(channel, account string, limit int) ([]Outbox, error) {
	rows, err := all(tx, scanOutbox, `SELECT `+outboxColumns+` FROM outbox WHERE channel = $1 AND account = $2 AND state IN ('queued', 'sending')
		ORDER BY id DESC LIMIT $3`, channel, account, limit)
	slices.Reverse(rows)
	return rows, err
}

// OutboxByID returns a message, or ErrNotFound.
func (tx *Tx) OutboxByID(id int64) (Outbox, error) {
	return first(tx, scanOutbox, `SELECT `+outboxColumns+` FROM outbox WHERE id = $1`, id)
}

// OutboxByOnce returns the message with a once key, or ErrNotFound.
func (tx *Tx) OutboxByOnce(key string) (Outbox, error) {
	return first(tx, scanOutbox, `SELECT `+outboxColumns+` FROM outbox WHERE once_key = $1`, key)
}

// ListOutbox lists messages, newest first; an empty state means all.
func (tx *Tx) ListOutbox(state OutboxState, limit int) ([]Outbox, error) {
	if state == "" {
		return all(tx, scanOutbox, `SELECT `+outboxColumns+` FROM outbox ORDER BY id DESC LIMIT $1`, limit)
	}
	return all(tx, scanOutbox, `SELECT `+outboxColumns+` FROM outbox WHERE state = $1 ORDER BY id DESC LIMIT $2`, string(state), limit)
}

// UpdateOutbox writes what delivery changes: state, attempts, next try, parts
// sent, address, persona, error and times. It changes only a message that is queued or
// sending; ok is false if it is at an end already (withdrawn meanwhile).
func (tx *Tx) UpdateOutbox(r Outbox) (ok bool, err error) {
	a := r.Address
	n, err := tx.exec(`UPDATE outbox SET state = $2, attempts = $3, next_at = $4, parts_sent = $5, conversation = $6, thread = $7, parent = $8,
		resent = $9, error = $10, first_try_at = $11, ended_at = $12, text = $13, anchor = $14, persona = $15
		WHERE id = $1 AND state IN ('queued', 'sending')`,
		r.ID, string(r.State), r.Attempts, int64(r.NextAt), r.PartsSent, a.Conversation, a.Thread, a.Parent, r.Resent, r.Error,
		int64(r.FirstTry), int64(r.EndedAt), r.Text, r.Anchor, r.Persona)
	return n > 0, err
}

// MarkSending writes that a request is about to leave; ok is false if the
// message is at an end already (withdrawn meanwhile) and must not be sent.
func (tx *Tx) MarkSending(id int64, firstTry core.Millis, resent bool) (ok bool, err error) {
	n, err := tx.exec(`UPDATE outbox SET state = 'sending', first_try_at = $2, resent = $3 WHERE id = $1 AND state IN ('queued', 'sending')`,
		id, int64(firstTry), resent)
	return n > 0, err
}

// RecordReceipt writes that a part (from 0) reached the platform: with the last
// one the message is sent, with another the tries start anew. It returns the
// message's state afterwards. What was withdrawn while its last part was on its
// way is sent all the same; the record says what happened.
func (tx *Tx) RecordReceipt(id int64, part int, platformID string, last bool, now core.Millis) (state OutboxState, err error) {
	if err := tx.InsertSentPart(id, part, platformID, now); err != nil {
		return "", err
	}
	if last {
		err = tx.one(`UPDATE outbox SET state = 'sent', parts_sent = $2, next_at = 0, error = '', ended_at = $3 WHERE id = $1 RETURNING state`,
			[]any{id, part + 1, int64(now)}, &state)
		return state, err
	}
	err = tx.one(`UPDATE outbox SET parts_sent = $2, attempts = 0, next_at = 0, first_try_at = 0, error = '' WHERE id = $1 RETURNING state`,
		[]any{id, part + 1}, &state)
	return state, err
}

// ReopenOutbox queues a message again that is at an end without being sent; ok
// is false if it is not. What may have been sent is marked as resent.
func (tx *Tx) ReopenOutbox(id int64) (ok bool, err error) {
	n, err := tx.exec(`UPDATE outbox SET resent = CASE WHEN state = 'ambiguous' THEN 1 ELSE resent END,
		state = 'queued', attempts = 0, next_at = 0, first_try_at = 0, ended_at = 0, error = ''
		WHERE id = $1 AND state IN ('ambiguous', 'failed', 'blocked', 'dismissed')`, id)
	return n > 0, err
}

// DismissOutbox lets a message go that is in trouble; ok is false if it is not.
func (tx *Tx) DismissOutbox(id int64, now core.Millis) (ok bool, err error) {
	n, err := tx.exec(`UPDATE outbox SET state = 'dismissed', ended_at = $2 WHERE id = $1 AND state IN ('ambiguous', 'failed', 'blocked')`,
		id, int64(now))
	return n > 0, err
}

// WithdrawOutbox takes back what the session has not sent yet (answers and
// progress only) and returns how many.
func (tx *Tx) WithdrawOutbox(session int64, now core.Millis) (int64, error) {
	return tx.exec(`UPDATE outbox SET state = 'withdrawn', ended_at = $2 WHERE session_id = $1 AND state = 'queued'
		AND state IN ('queued', 'sending') AND kind IN ('final', 'progress', 'notice')`, session, int64(now))
}

// InsertSentPart records the platform's id of one part of a message.
func (tx *Tx) InsertSentPart(outbox int64, part int, platformID string, now core.Millis) error {
	return tx.later(`INSERT INTO sent_part (outbox_id, part, platform_id, at) VALUES ($1,$2,$3,$4)
		ON CONFLICT (outbox_id, part) DO UPDATE SET platform_id = excluded.platform_id`, outbox, part, platformID, int64(now))
}

// SentParts returns the platform ids of a message, in order.
func (tx *Tx) SentParts(outbox int64) ([]string, error) {
	return all(tx, func(s scanner) (string, error) {
		var id string
		err := s.Scan(&id)
		return id, err
	}, `SELECT platform_id FROM sent_part WHERE outbox_id = $1 ORDER BY part`, outbox)
}

// OutboxOpen returns the accounts that have open messages.
func (tx *Tx) OutboxOpen() ([][2]string, error) {
	return all(tx, scanPair, `SELECT DISTINCT channel, account FROM outbox WHERE state IN ('queued', 'sending')`)
}

func scanPair(s scanner) (pair [2]string, err error) {
	err = s.Scan(&pair[0], &pair[1])
	return pair, err
}
