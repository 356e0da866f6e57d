package store

import (
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/skein-bot/skein/core"
)

// TurnState is the state of a turn.
type TurnState string

// The states of a turn.
const (
	TurnRunning   TurnState = "running"
	TurnDone      TurnState = "done"
	TurnFailed    TurnState = "failed"
	TurnCancelled TurnState = "cancelled"
	TurnDead      TurnState = "dead" // claimed too often without finishing a step
)

// Turn is one answer of an agent. Its journal is the transcript rows with its
// id (model answers, consumed input, tool results) and the step rows (tool
// calls).
type Turn struct {
	ID         int64
	Session    int64
	Generation int64
	// Chain is the first turn of those that waits joined together; a turn that
	// a completion resumed keeps the chain of the turn that spawned.
	Chain int64
	// Request is the turn that began the request this one belongs to, itself
	// where it began one: what a person's message set going, with every run
	// below it, is one request. Budgets are counted by it.
	Request  int64
	Run      string // the run it works for, "" for a chat turn
	Kind     InboxKind
	Lane     Lane
	State    TurnState
	ReplyTo  core.Address
	Anchor   string
	Policy   string
	Owner    string
	Fence    int64
	Attempts int // claims since the last finished step
	Seq      int // the last used step number
	core.Usage
	Started core.Millis
	// WorkedFrom is since when it is in work without an orderly stop, 0 while it
	// lies where one put it (Checkpoint).
	WorkedFrom core.Millis
	Ended      core.Millis
	Detail     string
}

const turnColumns = `id, session_id, generation, chain, request, run_id, kind, lane, state, reply_to, anchor, policy, owner, fence, attempts, seq,
	tokens_in, tokens_out, cache_read, cache_write, micro_usd, unpriced, started_at, worked_from, ended_at, detail`

func scanTurn(s scanner) (Turn, error) {
	var r Turn
	var reply string
	err := s.Scan(&r.ID, &r.Session, &r.Generation, &r.Chain, &r.Request, &r.Run, &r.Kind, &r.Lane, &r.State, &reply, &r.Anchor, &r.Policy, &r.Owner,
		&r.Fence, &r.Attempts, &r.Seq, &r.TokensIn, &r.TokensOut,
		&r.CacheRead, &r.CacheWrite, &r.MicroUSD, &r.Unpriced, &r.Started, &r.WorkedFrom, &r.Ended, &r.Detail)
	r.ReplyTo = parseAddress(reply)
	if r.Chain == 0 {
		r.Chain = r.ID // the first of its chain
	}
	if r.Request == 0 {
		r.Request = r.ID
	}
	return r, err
}

// InsertTurn starts a turn with one attempt and returns it with its id. One
// without a request begins one, and its run is part of that.
func (tx *Tx) InsertTurn(t Turn) (Turn, error) {
	t.State, t.Attempts, t.WorkedFrom = TurnRunning, 1, t.Started
	err := tx.one(`INSERT INTO turn (session_id, generation, chain, run_id, kind, lane, state, reply_to, anchor, policy, owner, fence,
		attempts, started_at, worked_from, request) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$14,$15) RETURNING id`,
		[]any{t.Session, t.Generation, t.Chain, t.Run, string(t.Kind), string(t.Lane), string(t.State), formatAddress(t.ReplyTo), t.Anchor, t.Policy,
			t.Owner, t.Fence, t.Attempts, int64(t.Started), t.Request}, &t.ID)
	if t.Chain == 0 {
		t.Chain = t.ID
	}
	if t.Request != 0 || err != nil {
		return t, err
	}
	if t.Request = t.ID; t.Run != "" {
		err = tx.later(`UPDATE run SET request = $2 WHERE id = $1 AND request = 0`, t.Run, t.Request)
	}
	return t, err
}

// RunningTurn returns the session's turn in progress, or ErrNotFound.
func (tx *Tx) RunningTurn(session int64) (Turn, error) {
	if err := tx.LockSession(session); err != nil {
		return Turn{}, err
	}
	t, err := tx.latestTurn(session)
	if err == nil && t.State != TurnRunning {
		return Turn{}, ErrNotFound
	}
	return t, err
}

// latestTurn is the only one of a session that can be running.
func (tx *Tx) latestTurn(session int64) (Turn, error) {
	return first(tx, scanTurn, `SELECT `+turnColumns+` FROM turn WHERE session_id = $1 ORDER BY id DESC LIMIT 1`, session)
}

// TurnByID returns a turn, or ErrNotFound.
func (tx *Tx) TurnByID(id int64) (Turn, error) {
	return first(tx, scanTurn, `SELECT `+turnColumns+` FROM turn WHERE id = $1`, id)
}

// ReclaimTurn continues a turn under a new fence and returns it. It counts an
// attempt, but not where the turn lay at a checkpoint: nothing failed there, and
// the turn is in work from now on.
func (tx *Tx) ReclaimTurn(id, fence int64, now core.Millis) (Turn, error) {
	return first(tx, scanTurn, `UPDATE turn SET fence = $2, attempts = attempts + CASE WHEN worked_from = 0 THEN 0 ELSE 1 END,
		worked_from = CASE WHEN worked_from = 0 THEN $3 ELSE worked_from END WHERE id = $1 RETURNING `+turnColumns, id, fence, int64(now))
}

// Checkpoint notes that a node has stopped in good order: the turns of its
// sessions lie where they stopped, and go on from there whenever that will be.
// It returns how many they are. Call it once nothing of the node runs any more.
func (tx *Tx) Checkpoint(node string) (int64, error) {
	owned, err := tx.Owned(node)
	if err != nil {
		return 0, err
	}
	if err := tx.LockSession(slices.Collect(maps.Keys(owned))...); err != nil {
		return 0, err
	}
	return tx.exec(`UPDATE turn SET worked_from = 0 WHERE state = 'running' AND id IN (
		SELECT (SELECT id FROM turn WHERE session_id = session.id ORDER BY id DESC LIMIT 1) FROM session WHERE owner = $1 AND owner <> '')`, node)
}

// StepDone notes the turn's last step number, and that it makes progress: the
// count of attempts starts over. u is what calls used since the last step; it
// is booked to the turn, to the day of its person, and to every budget that it
// is part of.
func (tx *Tx) StepDone(turn int64, seq int, u core.Usage, now core.Millis) error {
	b := booking{new: u}
	err := tx.one(`UPDATE turn SET seq = $2, attempts = 0, tokens_in = tokens_in + $3, tokens_out = tokens_out + $4,
		cache_read = cache_read + $5, cache_write = cache_write + $6, micro_usd = micro_usd + $7, unpriced = unpriced + $8 WHERE id = $1`+bookingColumns,
		[]any{turn, seq, u.TokensIn, u.TokensOut, u.CacheRead, u.CacheWrite, u.MicroUSD, u.Unpriced}, b.dest()...)
	switch {
	case errors.Is(err, ErrNotFound) || err == nil && u == (core.Usage{}):
		return nil
	case err != nil:
		return err
	}
	return tx.book(b, now)
}

// EndTurn ends a running turn and adds what all of it used to its run. u is
// what no StepDone has booked. A turn that has ended stays as it is.
func (tx *Tx) EndTurn(id int64, state TurnState, detail string, u core.Usage, now core.Millis) error {
	b := booking{new: u}
	err := tx.one(`UPDATE turn SET state = $2, detail = $3, tokens_in = tokens_in + $4, tokens_out = tokens_out + $5,
		cache_read = cache_read + $6, cache_write = cache_write + $7, micro_usd = micro_usd + $8, unpriced = unpriced + $9, ended_at = $10
		WHERE id = $1 AND state = 'running'`+bookingColumns,
		[]any{id, string(state), detail, u.TokensIn, u.TokensOut, u.CacheRead, u.CacheWrite, u.MicroUSD, u.Unpriced, int64(now)},
		b.dest()...)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	if b.run != "" && b.all != (core.Usage{}) {
		if err := tx.AddRunUsage(b.run, b.all); err != nil {
			return err
		}
	}
	return tx.book(b, now)
}

// TurnsOfSession lists turns of a session, newest first.
func (tx *Tx) TurnsOfSession(session int64, limit int) ([]Turn, error) {
	return all(tx, scanTurn, `SELECT `+turnColumns+` FROM turn WHERE session_id = $1 ORDER BY id DESC LIMIT $2`, session, limit)
}

// StepState is the state of a tool call.
type StepState string

// The states of a tool call.
const (
	StepStarted StepState = "started"
	StepDone    StepState = "done"
)

// Step is the journal entry of one tool call.
type Step struct {
	Turn   int64
	Seq    int
	CallID string
	Tool   string
	State  StepState
}

// StartStep writes that a tool call begins; again for the same step it does
// nothing.
func (tx *Tx) StartStep(s Step, now core.Millis) error {
	return tx.later(`INSERT INTO step (turn_id, seq, call_id, tool, state, started_at) VALUES ($1,$2,$3,$4,'started',$5)
		ON CONFLICT (turn_id, seq) DO NOTHING`, s.Turn, s.Seq, s.CallID, s.Tool, int64(now))
}

// FinishStep writes that a tool call ended.
func (tx *Tx) FinishStep(turn int64, seq int, now core.Millis) error {
	return tx.later(`UPDATE step SET state = 'done', ended_at = $3 WHERE turn_id = $1 AND seq = $2`, turn, seq, int64(now))
}

// Steps returns the tool calls of a turn.
func (tx *Tx) Steps(turn int64) ([]Step, error) {
	return all(tx, func(s scanner) (Step, error) {
		var r Step
		err := s.Scan(&r.Turn, &r.Seq, &r.CallID, &r.Tool, &r.State)
		return r, err
	}, `SELECT turn_id, seq, call_id, tool, state FROM step WHERE turn_id = $1 ORDER BY seq`, turn)
}

// Row is a transcript row; Body is the JSON of a model.Item.
type Row struct {
	ID         int64
	Session    int64
	Generation int64
	Turn       int64
	Seq        int
	Kind       string
	Body       string
	Owner      string // the person whose words it has, "channel:id", "" for nobody's
	At         core.Millis
	// Replaced is set where a retry put other rows in its place.
	Replaced bool
}

const rowColumns = `id, session_id, generation, turn_id, seq, kind, body, owner, at, replaced`

func scanRow(s scanner) (Row, error) {
	var r Row
	var replaced int64
	err := s.Scan(&r.ID, &r.Session, &r.Generation, &r.Turn, &r.Seq, &r.Kind, &r.Body, &r.Owner, &r.At, &replaced)
	r.Replaced = replaced != 0
	return r, err
}

// AppendRow adds a transcript row and returns its id.
func (tx *Tx) AppendRow(r Row) (int64, error) {
	if err := tx.LockSession(r.Session); err != nil {
		return 0, err
	}
	err := tx.one(`INSERT INTO transcript (session_id, generation, turn_id, seq, kind, body, owner, at) VALUES ($1,$2,$3,$4,$5,$6,$7,$8) RETURNING id`,
		[]any{r.Session, r.Generation, r.Turn, r.Seq, r.Kind, r.Body, r.Owner, int64(r.At)}, &r.ID)
	return r.ID, err
}

// Transcript returns the rows of the session's current history from
// ContextFrom on, oldest first, a fork's inherited rows before its own. What a
// retry replaced is left out.
func (tx *Tx) Transcript(s Session) ([]Row, error) { return tx.rows(s, s.ContextFrom, standing) }

// WholeTranscript returns every row of the current history, compacted and
// replaced ones too.
func (tx *Tx) WholeTranscript(s Session) ([]Row, error) { return tx.rows(s, 0, "") }

// standing picks the rows that nothing replaced, in a span that ends at $4. A
// fork does not see what was replaced after it.
const standing = ` AND (replaced = 0 OR replaced >= $4)`

func (tx *Tx) rows(s Session, from int64, which string) ([]Row, error) {
	spans, err := tx.spans(s, from, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	return tx.spanned(spans, which)
}

func (tx *Tx) spanned(spans []span, which string) ([]Row, error) {
	var out []Row
	for _, p := range spans {
		rows, err := all(tx, scanRow, `SELECT `+rowColumns+` FROM transcript WHERE session_id = $1 AND generation = $2 AND id >= $3 AND id <= $4`+
			which+` ORDER BY id`, p.session, p.generation, p.from, p.upTo)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

// span is where a part of a history is: rows of one generation of one session.
type span struct{ session, generation, from, upTo int64 }

// spans returns where the rows of the session's current history with ids from
// from up to upTo are, oldest first. What the session that it was forked from
// did after the fork (a compaction, a new generation) does not count: the
// fork's own ContextFrom says where its prompt begins.
func (tx *Tx) spans(s Session, from, upTo int64) ([]span, error) {
	out := []span{{s.ID, s.Generation, from, upTo}}
	for s.forked() && from <= min(upTo, s.ForkRow) {
		upTo = min(upTo, s.ForkRow)
		parent, err := tx.SessionByID(s.ForkSession)
		if err != nil {
			return nil, err
		}
		parent.Generation = s.ForkGeneration
		s = parent
		out = append(out, span{s.ID, s.Generation, from, upTo})
	}
	slices.Reverse(out)
	return out, nil
}

// RowsOfTurn returns the transcript rows that a turn wrote.
func (tx *Tx) RowsOfTurn(s Session, turn int64) ([]Row, error) {
	return all(tx, scanRow, `SELECT `+rowColumns+` FROM transcript WHERE session_id = $1 AND generation = $2 AND turn_id = $3
		ORDER BY seq, id`, s.ID, s.Generation, turn)
}

// RowsAfter returns rows of the session's history with an id above after, for
// a reader that has the ones before.
func (tx *Tx) RowsAfter(s Session, after int64) ([]Row, error) {
	return all(tx, scanRow, `SELECT `+rowColumns+` FROM transcript WHERE session_id = $1 AND generation = $2 AND id > $3 ORDER BY id`,
		s.ID, s.Generation, after)
}

// LastRow returns the id of the newest transcript row of the session, 0 if
// none.
func (tx *Tx) LastRow(session int64) (id int64, err error) {
	err = tx.one(`SELECT COALESCE(MAX(id), 0) FROM transcript WHERE session_id = $1`, []any{session}, &id)
	return id, err
}
