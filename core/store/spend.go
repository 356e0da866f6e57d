package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/skein-bot/skein/core"
)

// Spent is what was spent of a budget.
type Spent struct {
	Tokens int64 // read and written
	// MicroUSD is the cost in millionths of a US dollar of the tokens that have
	// a price, Unpriced counts the others.
	MicroUSD, Unpriced int64
}

// Plus returns the sum of s and what calls used.
func (s Spent) Plus(u core.Usage) Spent {
	return Spent{s.Tokens + u.Tokens(), s.MicroUSD + u.MicroUSD, s.Unpriced + u.Unpriced}
}

// Usage returns s in the words of people; how much of the tokens was read is
// not known of it.
func (s Spent) Usage() core.Usage {
	return core.Usage{TokensIn: s.Tokens, MicroUSD: s.MicroUSD, Unpriced: s.Unpriced}
}

// spendShards is over how many rows an agent's day is spread.
const spendShards = 16

// booking says on whose account a turn's calls are.
type booking struct {
	owner            string
	session, request int64
	run              string
	new, all         core.Usage // what is to be booked, and all that the turn used with it
}

// bookingColumns end a statement that changes one turn.
const bookingColumns = ` RETURNING owner, session_id, CASE WHEN request = 0 THEN id ELSE request END, run_id,
	tokens_in, tokens_out, cache_read, cache_write, micro_usd, unpriced`

func (b *booking) dest() []any {
	return []any{
		&b.owner, &b.session, &b.request, &b.run,
		&b.all.TokensIn, &b.all.TokensOut, &b.all.CacheRead, &b.all.CacheWrite, &b.all.MicroUSD, &b.all.Unpriced,
	}
}

// book adds what model calls used to everything that counts it: the day of the
// turn's person, its run and those above it, the nearest first, its request, and
// the day of its agent. Each is one statement that adds, so nothing is lost
// between nodes, and all units take the rows in this order, after every other
// lock. The turn itself is counted with the first that it used, at its end if it
// used nothing: most turns are booked once.
func (tx *Tx) book(b booking, now core.Millis) error {
	day, u := DayOf(now), DayUsage{Usage: b.new}
	if b.new == b.all {
		u.Turns = 1
	}
	if u == (DayUsage{}) {
		return nil
	}
	if err := tx.AddUsage(b.owner, b.session, day, u); err != nil || b.new == (core.Usage{}) {
		return err
	}
	const add = ` ON CONFLICT (request, run_id) DO UPDATE SET tokens = spend.tokens + excluded.tokens,
		micro_usd = spend.micro_usd + excluded.micro_usd, unpriced = spend.unpriced + excluded.unpriced, at = excluded.at`
	if b.run != "" {
		err := tx.later(`INSERT INTO spend (request, run_id, tokens, micro_usd, unpriced, at)
			WITH RECURSIVE up (id, above, level) AS (SELECT id, requester_run, 1 FROM run WHERE id = $2
				UNION ALL SELECT run.id, run.requester_run, up.level + 1 FROM run JOIN up ON run.id = up.above WHERE up.above <> '')
			SELECT CAST($1 AS BIGINT), id, CAST($3 AS BIGINT), CAST($4 AS BIGINT), CAST($5 AS BIGINT), CAST($6 AS BIGINT)
			FROM up WHERE level > 0 ORDER BY level`+add,
			b.request, b.run, u.Tokens(), u.MicroUSD, u.Unpriced, int64(now))
		if err != nil {
			return err
		}
	}
	if err := tx.later(`INSERT INTO spend (request, run_id, tokens, micro_usd, unpriced, at) VALUES ($1,'',$2,$3,$4,$5)`+add,
		b.request, u.Tokens(), u.MicroUSD, u.Unpriced, int64(now)); err != nil {
		return err
	}
	return tx.later(`INSERT INTO spend_day (agent, day, shard, tokens, micro_usd, unpriced)
		SELECT agent, CAST($2 AS BIGINT), CAST($3 AS BIGINT), CAST($4 AS BIGINT), CAST($5 AS BIGINT), CAST($6 AS BIGINT) FROM session WHERE id = $1
		ON CONFLICT (agent, day, shard) DO UPDATE SET tokens = spend_day.tokens + excluded.tokens,
			micro_usd = spend_day.micro_usd + excluded.micro_usd, unpriced = spend_day.unpriced + excluded.unpriced`,
		b.session, int64(day), b.session%spendShards, u.Tokens(), u.MicroUSD, u.Unpriced)
}

// Spent returns what a request and runs of it have spent: "" stands for the
// whole request, a run for itself with everything below it. What has spent
// nothing is missing in the answer.
func (tx *Tx) Spent(request int64, runs ...string) (map[string]Spent, error) {
	if len(runs) == 0 {
		return nil, nil
	}
	args := []any{request}
	var in []string
	for n, run := range runs {
		args = append(args, run)
		in = append(in, fmt.Sprintf("$%d", n+2))
	}
	out := make(map[string]Spent, len(runs))
	_, err := all(tx, func(s scanner) (x struct{}, err error) {
		var run string
		var spent Spent
		err = s.Scan(&run, &spent.Tokens, &spent.MicroUSD, &spent.Unpriced)
		out[run] = spent
		return x, err
	}, `SELECT run_id, tokens, micro_usd, unpriced FROM spend WHERE request = $1 AND run_id IN (`+strings.Join(in, ",")+`)`, args...)
	return out, err
}

// SpentOnDay returns what the calls of an agent spent on a day, its sub-agents'
// only where they are the same agent.
func (tx *Tx) SpentOnDay(agent string, day Day) (s Spent, err error) {
	err = tx.one(`SELECT COALESCE(SUM(tokens), 0), COALESCE(SUM(micro_usd), 0), COALESCE(SUM(unpriced), 0) FROM spend_day
		WHERE agent = $1 AND day = $2`, []any{agent, int64(day)}, &s.Tokens, &s.MicroUSD, &s.Unpriced)
	return s, err
}

// RequestOf returns the request that a turn on an inbox row belongs to: that of
// the run it is about or for, or of the turns that it continues. 0 means that it
// begins one, as a person's message does.
func (tx *Tx) RequestOf(row Inbox) (request int64, err error) {
	run := row.ForRun
	if run == "" && row.Kind != InboxMessage {
		run = row.Run
	}
	if run != "" {
		err = tx.one(`SELECT request FROM run WHERE id = $1`, []any{run}, &request)
		if request != 0 || err != nil && !errors.Is(err, ErrNotFound) {
			return request, err
		}
	}
	if row.Chain == 0 || row.Kind == InboxMessage {
		return 0, nil
	}
	err = tx.one(`SELECT CASE WHEN request = 0 THEN id ELSE request END FROM turn WHERE id = $1`, []any{row.Chain}, &request)
	if errors.Is(err, ErrNotFound) {
		return row.Chain, nil // it is older than turns are kept
	}
	return request, err
}
