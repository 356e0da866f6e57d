package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// family is a chat with a child and a child of that one, and a turn of each.
type family struct {
	sessions [3]store.Session
	runs     [2]core.Run
	turns    [3]store.Turn
}

func (s *suite) family() family {
	s.Helper()
	f := family{sessions: [3]store.Session{s.session(), s.session(), s.session()}}
	turn := func(n int, run string, request int64) store.Turn {
		return do(s, func(tx *store.Tx) (store.Turn, error) {
			return tx.InsertTurn(store.Turn{
				Session: f.sessions[n].ID, Generation: 1, Kind: store.InboxTask, Lane: store.LaneMain, Run: run, Request: request, Owner: "discord:42", Started: 1,
			})
		})
	}
	f.turns[0] = turn(0, "", 0)
	for n := range f.runs {
		r := newRun(int(f.sessions[n].ID), f.sessions[n].ID, f.sessions[n+1].ID)
		r.Request, r.Depth = f.turns[0].Request, n+1
		if n > 0 {
			r.RequesterRun = f.runs[0].ID
		}
		f.runs[n] = s.addRun(r)
		f.turns[n+1] = turn(n+1, r.ID, r.Request)
	}
	return f
}

func (s *suite) spent(request int64, runs ...string) map[string]store.Spent {
	s.Helper()
	return get(s, func(tx *store.Tx) (map[string]store.Spent, error) { return tx.Spent(request, runs...) })
}

func (s *suite) spentOn(agent string, day store.Day) store.Spent {
	s.Helper()
	return get(s, func(tx *store.Tx) (store.Spent, error) { return tx.SpentOnDay(agent, day) })
}

// testSpend: what a call used counts for its run, for those above it, for the
// request and for the agent's day, in the transaction that writes it, and once.
func testSpend(s *suite) {
	f := s.family()
	request := f.turns[0].ID
	require.Equal(s, request, f.turns[0].Request, "a turn without another's request begins one")
	require.Equal(s, request, s.turnNow(f.turns[2].ID).Request)
	require.Equal(s, request, s.runNow(f.runs[1].ID).Request)
	require.Empty(s, s.spent(request, ""))
	require.Empty(s, s.spent(request))

	step := func(turn int, u core.Usage, at core.Millis) {
		s.write(func(tx *store.Tx) error { return tx.StepDone(f.turns[turn].ID, 1, u, at) })
	}
	step(0, core.Usage{TokensIn: 90, TokensOut: 10, MicroUSD: 5}, day-1)
	step(1, core.Usage{TokensIn: 20, Unpriced: 20}, day)
	step(2, core.Usage{TokensIn: 3, MicroUSD: 2}, day)
	step(2, core.Usage{}, day)
	s.write(func(tx *store.Tx) error {
		return tx.EndTurn(f.turns[2].ID, store.TurnDone, "", core.Usage{TokensOut: 4, MicroUSD: 3}, day)
	})
	s.write(func(tx *store.Tx) error {
		return tx.EndTurn(f.turns[2].ID, store.TurnDone, "", core.Usage{TokensOut: 4}, day)
	})
	wrong := errorUnit(s, func(tx *store.Tx) error { return tx.StepDone(f.turns[1].ID, 2, core.Usage{TokensIn: 1000}, day) })
	require.Error(s, wrong, "what is not committed was not spent")

	above, below := f.runs[0].ID, f.runs[1].ID
	require.Equal(s, map[string]store.Spent{
		"": {Tokens: 127, MicroUSD: 10, Unpriced: 20}, above: {Tokens: 27, MicroUSD: 5, Unpriced: 20}, below: {Tokens: 7, MicroUSD: 5},
	}, s.spent(request, "", above, below, "other"))
	require.Empty(s, s.spent(request+100, "", above))
	require.Equal(s, store.Spent{Tokens: 100, MicroUSD: 5}, s.spentOn("main", 0))
	require.Equal(s, store.Spent{Tokens: 27, MicroUSD: 5, Unpriced: 20}, s.spentOn("main", 1))
	require.Zero(s, s.spentOn("other", 1))
	require.Equal(s, core.Usage{TokensIn: 3, TokensOut: 4, MicroUSD: 5}, s.runNow(below).Usage, "a run has what its turns used that have ended")
	require.Zero(s, s.runNow(above).Usage)
	require.Equal(s, store.Spent{Tokens: 8, MicroUSD: 3, Unpriced: 2}, store.Spent{Tokens: 1, MicroUSD: 2, Unpriced: 2}.Plus(core.Usage{TokensIn: 3, TokensOut: 4, MicroUSD: 1}))

	s.reopen()
	require.Equal(s, int64(127), s.spent(request, "")[""].Tokens)
}

// errorUnit runs a unit that fails at its end.
func errorUnit(s *suite, fn func(tx *store.Tx) error) error {
	s.Helper()
	return s.db.Write(s.Context(), func(tx *store.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return unitError{"spend"}
	})
}

// testRequestOf: a turn belongs to the request of the run that it is about, or
// of the turns that it continues; a person's message begins one.
func testRequestOf(s *suite) {
	f := s.family()
	request, run := f.turns[0].ID, f.runs[1].ID
	for name, c := range map[string]struct {
		row  store.Inbox
		want int64
	}{
		"a task":                          {store.Inbox{Kind: store.InboxTask, Run: run}, request},
		"an outcome for a run":            {store.Inbox{Kind: store.InboxCompletion, Run: run, ForRun: f.runs[0].ID}, request},
		"an outcome for a chat":           {store.Inbox{Kind: store.InboxCompletion, Run: run, Chain: request}, request},
		"one whose requester is gone":     {store.Inbox{Kind: store.InboxCompletion, Run: run}, request},
		"a note for a chat that waits":    {store.Inbox{Kind: store.InboxWake, Chain: request}, request},
		"a note for an unknown turn":      {store.Inbox{Kind: store.InboxWake, Chain: 777}, 777},
		"a message that a run waits for":  {store.Inbox{Kind: store.InboxMessage, ForRun: run, Chain: 9}, request},
		"a message that a chat waits for": {store.Inbox{Kind: store.InboxMessage, Chain: request}, 0},
		"a message":                       {store.Inbox{Kind: store.InboxMessage}, 0},
		"a message with a run":            {store.Inbox{Kind: store.InboxMessage, Run: run}, 0},
		"an unknown run":                  {store.Inbox{Kind: store.InboxCompletion, Run: "gone", Chain: request}, request},
	} {
		require.Equal(s, c.want, get(s, func(tx *store.Tx) (int64, error) { return tx.RequestOf(c.row) }), name)
	}
}

// testRequestOfRuns: whoever starts a run, it is part of a request: of that of the
// run or the turn that asked, else of the one that its own first turn begins.
func testRequestOfRuns(s *suite) {
	f := s.family()
	request := f.turns[0].ID
	for n, c := range []struct {
		run  string
		turn int64
		want int64
	}{
		{f.runs[1].ID, f.turns[2].ID, request}, {"", f.turns[0].ID, request}, {"", f.turns[2].ID, request}, {"gone", f.turns[1].ID, request}, {"", 0, 0},
	} {
		r := newRun(20+n, f.sessions[0].ID, f.sessions[1].ID)
		r.RequesterRun, r.RequesterTurn, r.Request = c.run, c.turn, 0
		require.Equal(s, c.want, s.runNow(s.addRun(r).ID).Request, "%+v", c)
	}
	clock := s.runNow("01RUN24") // by the clock: nothing asked for it
	begin := func(run string, of int64) store.Turn {
		return do(s, func(tx *store.Tx) (store.Turn, error) {
			return tx.InsertTurn(store.Turn{Session: f.sessions[1].ID, Generation: 1, Kind: store.InboxTask, Lane: store.LaneMain, Run: run, Request: of, Started: 1})
		})
	}
	first := begin(clock.ID, get(s, func(tx *store.Tx) (int64, error) {
		return tx.RequestOf(store.Inbox{Kind: store.InboxTask, Run: clock.ID})
	}))
	require.Equal(s, first.ID, first.Request)
	require.Equal(s, first.ID, s.runNow(clock.ID).Request)
	again := get(s, func(tx *store.Tx) (int64, error) {
		return tx.RequestOf(store.Inbox{Kind: store.InboxCompletion, ForRun: clock.ID})
	})
	require.Equal(s, first.ID, again, "what goes on with it is the same request")
	begin(clock.ID, again)
	require.Equal(s, first.ID, s.runNow(clock.ID).Request)
}

// testRetentionOfSpend: accounts are swept when they are old and no run may go
// on with them.
func testRetentionOfSpend(s *suite) {
	f, other := s.family(), s.family()
	use := func(t store.Turn, at core.Millis) {
		s.write(func(tx *store.Tx) error { return tx.StepDone(t.ID, 1, core.Usage{TokensIn: 1}, at) })
	}
	use(f.turns[2], day+5)
	use(other.turns[0], 2*day)
	require.Equal(s, core.Millis(0), s.oldest(store.GrownSpend), "its runs live")
	require.Equal(s, core.Millis(2*day), s.oldest(store.GrownSpendDays))
	for _, r := range f.runs {
		s.write(func(tx *store.Tx) error {
			_, err := tx.EndRun(r.ID, core.RunOK, "", "", false, core.DeliveryDelivered, day+6)
			return err
		})
	}
	require.Equal(s, core.Millis(day+5), s.oldest(store.GrownSpend))
	require.Zero(s, s.sweep(store.GrownSpend, day+5, 10))
	require.Equal(s, int64(2), s.sweep(store.GrownSpend, 9*day, 2))
	require.Equal(s, int64(1), s.sweep(store.GrownSpend, 9*day, 10))
	require.Len(s, s.spent(other.turns[0].ID, ""), 1)
	require.Equal(s, int64(1), s.sweep(store.GrownSpendDays, 2*day+1, 10))
	require.Zero(s, s.spentOn("main", 1))
	require.Equal(s, int64(1), s.spentOn("main", 2).Tokens)
}

// testRaceSpend: calls that are written at the same time all count, whichever
// of the accounts they share.
func testRaceSpend(s *suite) {
	const steps = 12
	f := s.family()
	var fail failures
	together(len(f.turns)*2, func(n int) {
		for range steps {
			err := s.db.Write(background(), func(tx *store.Tx) error {
				return tx.StepDone(f.turns[n%3].ID, 1, core.Usage{TokensIn: 1, MicroUSD: 3}, 1)
			})
			if err != nil {
				fail.add(fmt.Errorf("turn %d: %w", n, err))
				return
			}
		}
	})
	fail.check(s)
	each := func(n int64) store.Spent { return store.Spent{Tokens: 2 * steps * n, MicroUSD: 6 * steps * n} }
	require.Equal(s, map[string]store.Spent{"": each(3), f.runs[0].ID: each(2), f.runs[1].ID: each(1)}, s.spent(f.turns[0].ID, "", f.runs[0].ID, f.runs[1].ID))
	require.Equal(s, each(3), s.spentOn("main", 0))
	require.Equal(s, each(3).MicroUSD, get(s, func(tx *store.Tx) (store.DayUsage, error) { return tx.UsageOf("discord:42", 0) }).MicroUSD)
}
