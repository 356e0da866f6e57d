package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// day is the length of a day.
const day = 24 * 60 * 60 * 1000

// testUsage: what a person used is summed by day, over turns and sessions.
func testUsage(s *suite) {
	a, b := s.session(), s.session()
	of := func(user string, d store.Day) store.DayUsage {
		return get(s, func(tx *store.Tx) (store.DayUsage, error) { return tx.UsageOf(user, d) })
	}
	require.Zero(s, of("discord:42", 0))

	turn := func(session int64, owner string, done, last core.Usage, at core.Millis) {
		t := do(s, func(tx *store.Tx) (store.Turn, error) {
			return tx.InsertTurn(store.Turn{Session: session, Generation: 1, Kind: store.InboxMessage, Lane: store.LaneMain, Owner: owner, Started: 1})
		})
		s.write(func(tx *store.Tx) error { return tx.StepDone(t.ID, 1, done, at) })
		s.write(func(tx *store.Tx) error { return tx.EndTurn(t.ID, store.TurnDone, "", last, at) })
		s.write(func(tx *store.Tx) error { return tx.EndTurn(t.ID, store.TurnFailed, "again", last, at) })
		require.Equal(s, store.TurnDone, s.turnNow(t.ID).State, "a turn ends once")
	}
	one := core.Usage{TokensIn: 100, TokensOut: 10, CacheRead: 5, CacheWrite: 6, MicroUSD: 7, Unpriced: 8}
	turn(a.ID, "discord:42", one, one, day-1)
	turn(a.ID, "discord:42", one, core.Usage{}, day)
	turn(b.ID, "discord:42", core.Usage{}, one, day+1)
	turn(b.ID, "discord:43", one, core.Usage{}, day+1)
	turn(b.ID, "", core.Usage{}, core.Usage{}, day+1)

	twice := one.Plus(one)
	require.Equal(s, core.Usage{TokensIn: 200, TokensOut: 20, CacheRead: 10, CacheWrite: 12, MicroUSD: 14, Unpriced: 16}, twice)
	require.Equal(s, store.DayUsage{Turns: 1, Usage: twice}, of("discord:42", 0))
	require.Equal(s, store.DayUsage{Turns: 2, Usage: twice}, of("discord:42", 1))
	require.Equal(s, store.DayUsage{Turns: 1, Usage: one}, of("discord:43", 1))
	require.Equal(s, store.DayUsage{Turns: 1}, of("", 1))
	require.Zero(s, of("discord:42", 2))
	since := func(d store.Day) store.DayUsage {
		return get(s, func(tx *store.Tx) (store.DayUsage, error) { return tx.UsageSince("discord:42", d) })
	}
	require.Equal(s, store.DayUsage{Turns: 3, Usage: twice.Plus(twice)}, since(0))
	require.Equal(s, store.DayUsage{Turns: 2, Usage: twice}, since(1))
	require.Zero(s, since(2))
	below := func(session int64) store.DayUsage {
		return get(s, func(tx *store.Tx) (store.DayUsage, error) { return tx.UsageBelow(session) })
	}
	require.Equal(s, store.DayUsage{Turns: 2, Usage: twice.Plus(one)}, below(a.ID))
	child := do(s, func(tx *store.Tx) (store.Session, error) {
		return tx.InsertSession(store.Session{Key: "agent:main:subagent:u", Agent: "main", Kind: core.SessionSubagent, Parent: a.ID, CreatedAt: 1, UsedAt: 1})
	})
	turn(child.ID, "discord:44", one, core.Usage{}, 9*day)
	require.Equal(s, store.DayUsage{Turns: 3, Usage: twice.Plus(twice)}, below(a.ID))
	require.Equal(s, store.DayUsage{Turns: 1, Usage: one}, below(child.ID))
	require.Zero(s, below(child.ID+1))

	require.Equal(s, store.DayUsage{Turns: 2, Usage: twice.Plus(one)},
		get(s, func(tx *store.Tx) (store.DayUsage, error) { return tx.UsageOfSession(a.ID) }))
	require.Zero(s, get(s, func(tx *store.Tx) (store.DayUsage, error) { return tx.UsageOfSession(99) }))

	require.Equal(s, []store.AgentDay{
		{Day: 9, Agent: "main", DayUsage: store.DayUsage{Turns: 1, Usage: one}}, {Day: 1, Agent: "main", DayUsage: store.DayUsage{Turns: 4, Usage: twice.Plus(one)}},
	}, get(s, func(tx *store.Tx) ([]store.AgentDay, error) { return tx.AgentDays(1) }))
	require.Empty(s, get(s, func(tx *store.Tx) ([]store.AgentDay, error) { return tx.AgentDays(10) }))

	require.Equal(s, store.Day(1), store.DayOf(2*day-1))
	require.Equal(s, core.Millis(day), store.Day(1).Start())
	require.Equal(s, core.Millis(day), s.oldest(store.GrownUsage), "a day is as old as its end")
	require.Zero(s, s.sweep(store.GrownUsage, day, 10))
	require.Equal(s, int64(1), s.sweep(store.GrownUsage, day+1, 10))
	require.Zero(s, of("discord:42", 0))
	require.Equal(s, int64(3), s.sweep(store.GrownUsage, 9*day, 3))
	require.Equal(s, int64(1), s.sweep(store.GrownUsage, 9*day, 3))
	require.Equal(s, int64(1), s.sweep(store.GrownUsage, 11*day, 3))
	require.Zero(s, s.oldest(store.GrownUsage))
}
