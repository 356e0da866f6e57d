package store

import "github.com/skein-bot/skein/core"

// Day is a day in UTC, counted from 1 January 1970.
type Day int64

// dayMillis is the length of a day.
const dayMillis = 24 * 60 * 60 * 1000

// DayOf returns the day of a time.
func DayOf(at core.Millis) Day { return Day(int64(at) / dayMillis) }

// Start returns the first moment of the day.
func (d Day) Start() core.Millis { return core.Millis(int64(d) * dayMillis) }

// DayUsage is what a person caused on a day, or several did.
type DayUsage struct {
	Turns int64 // that asked a model or ended, those of sub-agents too
	core.Usage
}

// usageSums are the columns of a DayUsage, over several rows.
const usageSums = `COALESCE(SUM(turns), 0), COALESCE(SUM(tokens_in), 0), COALESCE(SUM(tokens_out), 0), COALESCE(SUM(cache_read), 0),
	COALESCE(SUM(cache_write), 0), COALESCE(SUM(micro_usd), 0), COALESCE(SUM(unpriced), 0)`

// AddUsage adds to what a person caused on a day in a session. StepDone and
// EndTurn call it; user is "channel:id", "" for what nobody in particular
// caused.
func (tx *Tx) AddUsage(user string, session int64, day Day, u DayUsage) error {
	return tx.later(`INSERT INTO usage_day (owner, day, session_id, turns, tokens_in, tokens_out, cache_read, cache_write, micro_usd, unpriced)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)
		ON CONFLICT (owner, day, session_id) DO UPDATE SET turns = usage_day.turns + excluded.turns,
			tokens_in = usage_day.tokens_in + excluded.tokens_in, tokens_out = usage_day.tokens_out + excluded.tokens_out,
			cache_read = usage_day.cache_read + excluded.cache_read, cache_write = usage_day.cache_write + excluded.cache_write,
			micro_usd = usage_day.micro_usd + excluded.micro_usd, unpriced = usage_day.unpriced + excluded.unpriced`,
		user, int64(day), session, u.Turns, u.TokensIn, u.TokensOut, u.CacheRead, u.CacheWrite, u.MicroUSD, u.Unpriced)
}

// UsageOf returns what a person, "channel:id", caused on a day in all sessions
// together: the turns that asked a model or have ended, and their tokens. Limits per person
// read it.
func (tx *Tx) UsageOf(user string, day Day) (DayUsage, error) {
	return tx.dayUsage(`SELECT `+usageSums+` FROM usage_day WHERE owner = $1 AND day = $2`, user, int64(day))
}

// UsageSince returns what a person caused from a day on, as far as days are
// kept.
func (tx *Tx) UsageSince(user string, day Day) (DayUsage, error) {
	return tx.dayUsage(`SELECT `+usageSums+` FROM usage_day WHERE owner = $1 AND day >= $2`, user, int64(day))
}

// AgentDay is what an agent's sessions used on a day.
type AgentDay struct {
	Day   Day
	Agent string
	DayUsage
}

// AgentDays returns what each agent used on each day from one on, the latest
// day first; sessions that were deleted are not in it.
func (tx *Tx) AgentDays(from Day) ([]AgentDay, error) {
	return all(tx, func(s scanner) (d AgentDay, err error) {
		u := &d.DayUsage
		err = s.Scan(&d.Day, &d.Agent, &u.Turns, &u.TokensIn, &u.TokensOut, &u.CacheRead, &u.CacheWrite, &u.MicroUSD, &u.Unpriced)
		return d, err
	}, `SELECT usage_day.day, session.agent, `+usageSums+` FROM usage_day JOIN session ON session.id = usage_day.session_id
		WHERE usage_day.day >= $1 GROUP BY usage_day.day, session.agent ORDER BY usage_day.day DESC, session.agent`, int64(from))
}

// UsageBelow returns what was used in a session and in all below it, whoever
// caused it, as far as days are kept.
func (tx *Tx) UsageBelow(session int64) (DayUsage, error) {
	return tx.dayUsage(`WITH RECURSIVE below (id) AS (SELECT id FROM session WHERE id = $1
			UNION SELECT s.id FROM session AS s JOIN below ON s.parent_id = below.id WHERE s.parent_id > 0)
		SELECT `+usageSums+` FROM usage_day WHERE session_id IN (SELECT id FROM below)`, session)
}

func (tx *Tx) dayUsage(query string, args ...any) (u DayUsage, err error) {
	err = tx.one(query, args, &u.Turns, &u.TokensIn, &u.TokensOut, &u.CacheRead, &u.CacheWrite, &u.MicroUSD, &u.Unpriced)
	return u, err
}

// UsageOfSession returns what the turns of a session used that have ended or
// finished a step, as far back as turns are kept, and how many there were.
func (tx *Tx) UsageOfSession(session int64) (u DayUsage, err error) {
	return tx.dayUsage(`SELECT COUNT(*), COALESCE(SUM(tokens_in), 0), COALESCE(SUM(tokens_out), 0), COALESCE(SUM(cache_read), 0),
		COALESCE(SUM(cache_write), 0), COALESCE(SUM(micro_usd), 0), COALESCE(SUM(unpriced), 0) FROM turn WHERE session_id = $1`, session)
}
