package store

import "github.com/skein-bot/skein/core"

// Load is how much there is and how much of it is in progress, for
// `skein channels status` and the API.
type Load struct {
	Sessions int // not archived
	Turns    int // running
	Inbox    int // rows that a turn will take
	Waits    int // turns that wait for children or for a message
	Runs     int // live sub-agent runs
	Bindings int // live ones
	Due      int // messages that are due to be sent now
	Retrying int // messages that wait for another try
	Trouble  int // messages that are ambiguous, failed or blocked
}

// Idle reports whether nothing is in progress: what goes on without anybody
// writing has ended. Retries and waits for a message do not count.
func (l Load) Idle() bool { return l.Turns+l.Inbox+l.Runs+l.Due == 0 }

// Load counts, at a time.
func (tx *Tx) Load(now core.Millis) (l Load, err error) {
	err = tx.one(`SELECT (SELECT COUNT(*) FROM session WHERE archived_at = 0),
		(SELECT COUNT(*) FROM turn WHERE state = 'running'),
		(SELECT COUNT(*) FROM inbox WHERE state = 'queued'),
		(SELECT COUNT(*) FROM wait),
		(SELECT COUNT(*) FROM run WHERE `+live+`),
		(SELECT COUNT(*) FROM binding WHERE status <> 'ended'),
		(SELECT COUNT(*) FROM outbox WHERE state IN ('queued', 'sending') AND next_at <= $1),
		(SELECT COUNT(*) FROM outbox WHERE state IN ('queued', 'sending') AND next_at > $1),
		(SELECT COUNT(*) FROM outbox WHERE state IN ('ambiguous', 'failed', 'blocked'))`, []any{int64(now)},
		&l.Sessions, &l.Turns, &l.Inbox, &l.Waits, &l.Runs, &l.Bindings, &l.Due, &l.Retrying, &l.Trouble)
	return l, err
}

// Activity is what goes on in one session.
type Activity struct {
	Running bool // a turn is in progress
	Queued  int  // input that a turn will take
	Held    int  // input that waits until its place can be written to, or for a join
	Waits   int  // turns that wait
}

// Activity returns what goes on in a session.
func (tx *Tx) Activity(session int64) (a Activity, err error) {
	err = tx.one(`SELECT (SELECT COUNT(*) FROM turn WHERE session_id = $1 AND state = 'running') > 0,
		(SELECT COUNT(*) FROM inbox WHERE session_id = $1 AND state = 'queued'),
		(SELECT COUNT(*) FROM inbox WHERE session_id = $1 AND state = 'held'),
		(SELECT COUNT(*) FROM wait WHERE session_id = $1)`, []any{session}, &a.Running, &a.Queued, &a.Held, &a.Waits)
	return a, err
}

// RunsAskedBy lists the runs that a session asked for, newest first.
func (tx *Tx) RunsAskedBy(requester int64, limit int) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE requester_id = $1 ORDER BY created_at DESC, ordinal DESC LIMIT $2`,
		requester, limit)
}

// TasksByPrefix returns runs whose task id begins with prefix.
func (tx *Tx) TasksByPrefix(prefix string, limit int) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE task_id >= $1 AND task_id < $2 ORDER BY task_id LIMIT $3`,
		prefix, prefix+"~", limit)
}

// BindingsByPrefix returns bindings, ended ones too, whose id begins with
// prefix.
func (tx *Tx) BindingsByPrefix(prefix string, limit int) ([]core.Binding, error) {
	return all(tx, scanBinding, `SELECT `+bindingColumns+` FROM binding WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3`,
		prefix, prefix+"~", limit)
}

// CountRows counts the transcript rows of a session, of all generations.
func (tx *Tx) CountRows(session int64) (n int, err error) {
	err = tx.one(`SELECT COUNT(*) FROM transcript WHERE session_id = $1`, []any{session}, &n)
	return n, err
}

// CountOpen counts an account's messages that are not at an end.
func (tx *Tx) CountOpen(channel, account string) (n int, err error) {
	err = tx.one(`SELECT COUNT(*) FROM outbox WHERE channel = $1 AND account = $2 AND state IN ('queued', 'sending')`,
		[]any{channel, account}, &n)
	return n, err
}

// Cursors returns the stored positions of an account, by name.
func (tx *Tx) Cursors(channel, account string) (map[string]string, error) {
	pairs, err := all(tx, func(s scanner) (p [2]string, err error) {
		err = s.Scan(&p[0], &p[1])
		return p, err
	}, `SELECT name, value FROM cursor WHERE channel = $1 AND account = $2`, channel, account)
	out := make(map[string]string, len(pairs))
	for _, p := range pairs {
		out[p[0]] = p[1]
	}
	return out, err
}
