package store

import "github.com/skein-bot/skein/core"

// Alert is trouble that an operator should know of, one row for each kind and
// subject, however often it happens.
type Alert struct {
	Kind    string
	Subject string // what it is about: an account, a folder, an agent
	Text    string
	Remedy  string
	Times   int // how often it happened
	First   core.Millis
	Last    core.Millis
	Told    core.Millis // when it was last sent to the operator, 0 for never
}

// NoteAlert records that something happened at now, and returns when the
// operator was last told of it. Until the transaction ends nobody else notes
// the same, so that of two nodes one tells.
func (tx *Tx) NoteAlert(a Alert, now core.Millis) (told core.Millis, err error) {
	err = tx.one(`INSERT INTO alert (kind, subject, text, remedy, times, first_at, last_at) VALUES ($1,$2,$3,$4,1,$5,$5)
		ON CONFLICT (kind, subject) DO UPDATE SET text = excluded.text, remedy = excluded.remedy, times = alert.times + 1,
			last_at = excluded.last_at RETURNING told_at`, []any{a.Kind, a.Subject, a.Text, a.Remedy, int64(now)}, &told)
	return told, err
}

// AlertTold records that the operator is told of an alert.
func (tx *Tx) AlertTold(kind, subject string, now core.Millis) error {
	return tx.later(`UPDATE alert SET told_at = $3 WHERE kind = $1 AND subject = $2`, kind, subject, int64(now))
}

// Alerts lists what happened since a time, the latest first.
func (tx *Tx) Alerts(since core.Millis, limit int) ([]Alert, error) {
	return all(tx, func(s scanner) (a Alert, err error) {
		err = s.Scan(&a.Kind, &a.Subject, &a.Text, &a.Remedy, &a.Times, &a.First, &a.Last, &a.Told)
		return a, err
	}, `SELECT kind, subject, text, remedy, times, first_at, last_at, told_at FROM alert WHERE last_at >= $1
		ORDER BY last_at DESC, kind, subject LIMIT $2`, int64(since), limit)
}

// Trouble counts messages of one account in one state.
type Trouble struct {
	Channel, Account string
	State            OutboxState
	Count            int
	Oldest           int64       // the number of the first of them
	Since            core.Millis // when it was written
}

func scanTrouble(s scanner) (t Trouble, err error) {
	err = s.Scan(&t.Channel, &t.Account, &t.State, &t.Count, &t.Oldest, &t.Since)
	return t, err
}

const troubleColumns = `channel, account, state, COUNT(*), MIN(id), MIN(created_at)`

// Troubles counts the messages that somebody must decide about.
func (tx *Tx) Troubles() ([]Trouble, error) {
	return all(tx, scanTrouble, `SELECT `+troubleColumns+` FROM outbox WHERE state IN ('ambiguous', 'failed', 'blocked')
		GROUP BY channel, account, state ORDER BY channel, account, state`)
}

// Unsent counts the messages that wait to be sent.
func (tx *Tx) Unsent() ([]Trouble, error) {
	return all(tx, scanTrouble, `SELECT `+troubleColumns+` FROM outbox WHERE state IN ('queued', 'sending')
		GROUP BY channel, account, state ORDER BY channel, account, state`)
}
