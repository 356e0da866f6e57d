package store

import (
	"unicode/utf8"

	"github.com/skein-bot/skein/core"
)

// Erased counts what an erasure removed from a table, and what it emptied
// there because the row must stay.
type Erased struct {
	Table            string
	Removed, Emptied int64
}

// Erasure removes what is known of a person, inside one transaction. It counts
// by table. What belongs to whom is for the caller to say.
type Erasure struct {
	tx     *Tx
	counts map[string]*Erased
	err    error
}

// NewErasure begins one.
func (tx *Tx) NewErasure() *Erasure { return &Erasure{tx: tx, counts: make(map[string]*Erased)} }

// erasedTables are the tables in the order in which they are counted.
var erasedTables = [...]string{
	"session", "transcript", "turn", "run", "binding", "inbox", "outbox", "history", "media", "usage_day", "pace", "loop_guard", "once_notice", "dedupe",
}

// Counts returns what was done, tables without anything included, or the first
// error.
func (e *Erasure) Counts() ([]Erased, error) {
	out := make([]Erased, len(erasedTables))
	for i, table := range erasedTables {
		out[i] = Erased{Table: table}
		if c := e.counts[table]; c != nil {
			out[i] = *c
		}
	}
	return out, e.err
}

func (e *Erasure) count(table string) *Erased {
	c := e.counts[table]
	if c == nil {
		c = &Erased{Table: table}
		e.counts[table] = c
	}
	return c
}

// exec runs a statement unless an earlier one failed, and returns how many rows
// it touched.
func (e *Erasure) exec(query string, args ...any) (n int64) {
	if e.err == nil {
		n, e.err = e.tx.exec(query, args...)
	}
	return n
}

func (e *Erasure) remove(table, where string, args ...any) {
	e.count(table).Removed += e.exec(`DELETE FROM `+table+` WHERE `+where, args...)
}

// Session removes a session with everything in it. Sessions that were made from
// it stay and lose the way back.
func (e *Erasure) Session(id int64) {
	const turns = `turn_id IN (SELECT id FROM turn WHERE session_id = $1)`
	e.exec(`DELETE FROM timer WHERE kind = 'wait' AND ref IN (SELECT CAST(turn_id AS TEXT) FROM wait WHERE session_id = $1)`, id)
	for _, query := range []string{
		`DELETE FROM step WHERE ` + turns, `DELETE FROM withheld WHERE ` + turns, `UPDATE attachment SET state = 'gone' WHERE session_id = $1`, `DELETE FROM intent WHERE ` + turns, `DELETE FROM wait WHERE session_id = $1`,
		`DELETE FROM session_setting WHERE session_id = $1`,
		`DELETE FROM spawn_key WHERE run_id IN (SELECT id FROM run WHERE session_id = $1)`,
		`UPDATE session SET parent_id = 0 WHERE parent_id = $1 AND parent_id > 0`,
		`UPDATE session SET fork_session = 0, fork_generation = 0, fork_row = 0 WHERE fork_session = $1 AND fork_session > 0`,
		`UPDATE run SET requester_key = '' WHERE requester_id = $1`,
	} {
		e.exec(query, id)
	}
	e.remove("turn", "session_id = $1", id)
	e.remove("inbox", "session_id = $1", id)
	e.remove("transcript", "session_id = $1", id)
	e.remove("media", "session_id = $1", id)
	e.remove("run", "session_id = $1", id)
	e.remove("usage_day", "session_id = $1", id)
	e.remove("session", "id = $1", id)
}

// Row empties a transcript row.
func (e *Erasure) Row(id int64, body string) {
	if e.err == nil {
		e.err = e.tx.BlankRow(id, body)
		e.count("transcript").Emptied++
	}
}

// Picture removes a picture that came with a message.
func (e *Erasure) Picture(id string) { e.remove("media", "id = $1", id) }

// SharedSession takes a person out of the turns of a session that stays, with
// what the turns still wait for. Whoever remembers the history of the session
// must read it anew.
func (e *Erasure) SharedSession(id int64, person string) {
	const turns = `turn_id IN (SELECT id FROM turn WHERE session_id = $1 AND owner = $2)`
	e.exec(`DELETE FROM timer WHERE kind = 'wait' AND ref IN (SELECT CAST(turn_id AS TEXT) FROM wait WHERE `+turns+`)`, id, person)
	e.exec(`DELETE FROM intent WHERE `+turns, id, person)
	e.exec(`DELETE FROM withheld WHERE `+turns, id, person)
	e.exec(`DELETE FROM wait WHERE `+turns, id, person)
	e.exec(`DELETE FROM session_setting WHERE session_id = $1 AND name = $2`, id, SettingEdited)
	e.count("turn").Emptied += e.exec(`UPDATE turn SET owner = '', policy = '', anchor = '', detail = '',
		reply_to = CASE WHEN (SELECT kind FROM session WHERE id = $1) = 'main' THEN '' ELSE reply_to END
		WHERE session_id = $1 AND owner = $2`, id, person)
	if e.err == nil {
		e.err = e.tx.countWaits(id)
	}
	if e.err == nil {
		e.err = e.tx.RaiseFence(id)
	}
}

// Run removes a run.
func (e *Erasure) Run(id string) {
	e.exec(`DELETE FROM tombstone WHERE run_id = $1`, id)
	e.exec(`DELETE FROM spawn_key WHERE run_id = $1`, id)
	e.remove("run", "id = $1", id)
}

// Binding removes a binding with its timers.
func (e *Erasure) Binding(id string) {
	e.exec(`DELETE FROM timer WHERE ref = $1`, id)
	e.remove("binding", "id = $1", id)
}

// Input removes a row that waits.
func (e *Erasure) Input(id int64) { e.remove("inbox", "id = $1", id) }

// InputBody empties a part of a row that waits and stays.
func (e *Erasure) InputBody(id int64, body string) {
	if n := e.exec(`UPDATE inbox SET body = $2 WHERE id = $1`, id, body); n > 0 {
		e.count("inbox").Emptied++
	}
}

// Message removes an outgoing message with its receipts. Of one that may be on
// its way at this moment an empty row stays, which nothing sends again.
func (e *Erasure) Message(id int64, now core.Millis) {
	e.count("outbox").Emptied += e.exec(`UPDATE outbox SET once_key = NULL, conversation = '', thread = '', parent = '', anchor = '', persona = '', text = '',
		state = 'dismissed', session_id = 0, run_id = '', tells = '', owner = '', error = '', ended_at = $2 WHERE id = $1 AND state = 'sending'`,
		id, int64(now))
	e.exec(`DELETE FROM sent_part WHERE outbox_id IN (SELECT id FROM outbox WHERE id = $1 AND text <> '')`, id)
	e.remove("outbox", "id = $1 AND text <> ''", id)
}

// SeenBody empties a part of what was seen of somebody else.
func (e *Erasure) SeenBody(id int64, body string) {
	if n := e.exec(`UPDATE history SET body = $2 WHERE id = $1`, id, body); n > 0 {
		e.count("history").Emptied++
	}
}

// Conversation removes the keys by which updates of a direct conversation are
// known that are delivered again.
func (e *Erasure) Conversation(at core.Address) {
	prefix := at.InThread("").String() + "/"
	e.remove("dedupe", "SUBSTR(key, 1, $1) = $2", utf8.RuneCountInString(prefix), prefix)
}

// Person removes the records that name a person.
func (e *Erasure) Person(person string) {
	e.remove("history", "owner = $1", person)
	e.remove("usage_day", "owner = $1", person)
	e.remove("pace", "person = $1", person)
	e.remove("loop_guard", "bot = $1", person)
	suffix := "/" + person
	n := utf8.RuneCountInString(suffix)
	e.remove("once_notice", "LENGTH(key) >= $1 AND SUBSTR(key, LENGTH(key) - $1 + 1) = $2", n, suffix)
}
