package store

import (
	"strings"

	"github.com/skein-bot/skein/core"
)

// Pace is how fast a person writes. Recent is opaque here: package policy reads
// and writes it.
type Pace struct {
	Person string // "channel:id"
	Recent string
	// Missed counts messages that were not taken since the person was last told.
	Missed int
}

// LockPace returns the pace of a person and holds it until the transaction
// ends, so that of two messages at once one is counted after the other, on
// whatever nodes they arrive.
func (tx *Tx) LockPace(person string, now core.Millis) (p Pace, err error) {
	p.Person = person
	err = tx.one(`INSERT INTO pace (person, at) VALUES ($1,$2) ON CONFLICT (person) DO UPDATE SET at = excluded.at
		RETURNING recent, missed`, []any{person, int64(now)}, &p.Recent, &p.Missed)
	return p, err
}

// SetPace writes a pace that LockPace returned.
func (tx *Tx) SetPace(p Pace) error {
	return tx.later(`UPDATE pace SET recent = $2, missed = $3 WHERE person = $1`, p.Person, p.Recent, p.Missed)
}

// TurnsOf counts the turns that a person has started since a time, and the
// messages of the person that wait and may start one each.
func (tx *Tx) TurnsOf(person string, since core.Millis) (n int, err error) {
	err = tx.one(`SELECT (SELECT COUNT(*) FROM turn WHERE owner = $1 AND owner <> '' AND started_at >= $2 AND kind IN ('message', 'dropped'))
		+ (SELECT COUNT(*) FROM inbox WHERE owner = $1 AND kind = 'message')`, []any{person, int64(since)}, &n)
	return n, err
}

// mention is a LIKE pattern for the texts that hold one.
func mention(text string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(text) + "%"
}

// DirectSessions returns every direct chat, archived ones too.
func (tx *Tx) DirectSessions() ([]Session, error) {
	return all(tx, scanSession, `SELECT `+sessionColumns+` FROM session WHERE kind = 'direct' ORDER BY id`)
}

// PeopleAt returns the ids of those whose direct chat a place is, as far as
// sessions know: nobody where none was ever opened there.
func (tx *Tx) PeopleAt(at core.Address) ([]string, error) {
	sessions, err := all(tx, scanSession, `SELECT `+sessionColumns+` FROM session WHERE kind = 'direct' AND address = $1 ORDER BY id`,
		formatAddress(at.InThread("")))
	var out []string
	for _, s := range sessions {
		if key, err := core.ParseSessionKey(s.Key); err == nil {
			out = append(out, key.Peer)
		}
	}
	return out, err
}

// SessionsWith returns the ids of the sessions that have rows of a person, or
// rows with a text anywhere in them, or turns of the person. The text is looked
// for in the JSON of the rows, so it takes as long as reading all of them.
func (tx *Tx) SessionsWith(person, text string) ([]int64, error) {
	return all(tx, scanID, `SELECT DISTINCT session_id FROM transcript WHERE owner = $1 AND owner <> ''
		UNION SELECT DISTINCT session_id FROM turn WHERE owner = $1 AND owner <> ''
		UNION SELECT DISTINCT session_id FROM transcript WHERE body LIKE $2 ESCAPE '!' ORDER BY 1`, person, mention(text))
}

// OthersIn reports whether a session has rows of people other than one.
func (tx *Tx) OthersIn(session int64, person string) (bool, error) {
	var n int
	err := tx.one(`SELECT COUNT(*) FROM (SELECT 1 FROM transcript WHERE session_id = $1 AND owner <> '' AND owner <> $2 LIMIT 1) AS others`,
		[]any{session, person}, &n)
	return n > 0, err
}

// BlankRow puts another body into a transcript row, which is then nobody's.
func (tx *Tx) BlankRow(id int64, body string) error {
	return tx.later(`UPDATE transcript SET body = $2, owner = '' WHERE id = $1`, id, body)
}

// RunsOfOwner returns every run that was started for a person.
func (tx *Tx) RunsOfOwner(person string) ([]core.Run, error) {
	return all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE owner = $1 AND owner <> '' ORDER BY created_at, id`, person)
}

// BindingsOfOwner returns every binding of a person, ended ones too.
func (tx *Tx) BindingsOfOwner(person string) ([]core.Binding, error) {
	return all(tx, scanBinding, `SELECT `+bindingColumns+` FROM binding WHERE owner = $1 AND owner <> '' ORDER BY id`, person)
}

// BindingsTo returns every binding that leads or led to a session.
func (tx *Tx) BindingsTo(session int64) ([]core.Binding, error) {
	return all(tx, scanBinding, `SELECT `+bindingColumns+` FROM binding WHERE session_id = $1 ORDER BY id`, session)
}

// InboxWith returns the rows that wait and are a person's, or have a text
// anywhere in them.
func (tx *Tx) InboxWith(person, text string) ([]Inbox, error) {
	return all(tx, scanInbox, `SELECT `+inboxColumns+` FROM inbox WHERE owner = $1 AND owner <> '' OR body LIKE $2 ESCAPE '!' ORDER BY id`,
		person, mention(text))
}

// OutboxOfOwner returns the messages that were written on a person's account.
func (tx *Tx) OutboxOfOwner(person string) ([]Outbox, error) {
	return all(tx, scanOutbox, `SELECT `+outboxColumns+` FROM outbox WHERE owner = $1 AND owner <> '' ORDER BY id`, person)
}

// OutboxOfSession returns the messages of a session.
func (tx *Tx) OutboxOfSession(session int64) ([]Outbox, error) {
	return all(tx, scanOutbox, `SELECT `+outboxColumns+` FROM outbox WHERE session_id = $1 AND session_id > 0 ORDER BY id`, session)
}

// LatestProgress returns what a session has posted before the end of a turn and
// people see or will see, the newest first.
func (tx *Tx) LatestProgress(session int64, limit int) ([]Outbox, error) {
	return all(tx, scanOutbox, `SELECT `+outboxColumns+` FROM outbox WHERE session_id = $1 AND session_id > 0 AND kind = 'progress'
		AND state IN ('queued', 'sending', 'sent') ORDER BY id DESC LIMIT $2`, session, limit)
}

// OutboxOfRun returns the messages that are the outcome of a run.
func (tx *Tx) OutboxOfRun(run string) ([]Outbox, error) {
	return all(tx, scanOutbox, `SELECT `+outboxColumns+` FROM outbox WHERE run_id = $1 AND run_id <> '' ORDER BY id`, run)
}

// OutboxTo returns the messages to a conversation and its threads.
func (tx *Tx) OutboxTo(at core.Address) ([]Outbox, error) {
	return all(tx, scanOutbox, `SELECT `+outboxColumns+` FROM outbox WHERE channel = $1 AND account = $2 AND conversation = $3 ORDER BY id`,
		at.Channel, at.Account, at.Conversation)
}

// OutboxOfBinding returns what the runtime said of a binding.
func (tx *Tx) OutboxOfBinding(id string) ([]Outbox, error) {
	return all(tx, scanOutbox, `SELECT `+outboxColumns+` FROM outbox WHERE once_key LIKE $1 ESCAPE '!' ORDER BY id`, mention(id))
}

// SeenOf returns what was seen of a person in groups.
func (tx *Tx) SeenOf(person string) ([]Seen, error) {
	return all(tx, scanSeen, `SELECT `+seenColumns+` FROM history WHERE owner = $1 AND owner <> '' ORDER BY id`, person)
}

// SeenQuoting returns what was seen of others and has a text anywhere in it.
func (tx *Tx) SeenQuoting(person, text string) ([]Seen, error) {
	return all(tx, scanSeen, `SELECT `+seenColumns+` FROM history WHERE owner <> $1 AND body LIKE $2 ESCAPE '!' ORDER BY id`, person, mention(text))
}

// PicturesOf returns the pictures of a session, without their content.
func (tx *Tx) PicturesOf(session int64) ([]Media, error) {
	return all(tx, func(s scanner) (m Media, err error) {
		err = s.Scan(&m.ID, &m.Session, &m.Type, &m.Size, &m.At)
		return m, err
	}, `SELECT id, session_id, type, size, at FROM media WHERE session_id = $1 ORDER BY at, id`, session)
}

// PersonDay is what a person used on a day in a session.
type PersonDay struct {
	Day     Day
	Session int64
	DayUsage
}

// UsageDays returns what a person used, day by day and session by session.
func (tx *Tx) UsageDays(person string) ([]PersonDay, error) {
	return all(tx, func(s scanner) (p PersonDay, err error) {
		u := &p.DayUsage
		err = s.Scan(&p.Day, &p.Session, &u.Turns, &u.TokensIn, &u.TokensOut, &u.CacheRead, &u.CacheWrite, &u.MicroUSD, &u.Unpriced)
		return p, err
	}, `SELECT day, session_id, turns, tokens_in, tokens_out, cache_read, cache_write, micro_usd, unpriced FROM usage_day
		WHERE owner = $1 ORDER BY day, session_id`, person)
}
