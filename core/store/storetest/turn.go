package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// turn starts a turn of a session.
func (s *suite) turn(session int64) store.Turn {
	s.Helper()
	return do(s, func(tx *store.Tx) (store.Turn, error) {
		return tx.InsertTurn(store.Turn{Session: session, Generation: 1, Kind: store.InboxMessage, Lane: store.LaneMain, Fence: 1, Started: 1})
	})
}

func (s *suite) turnNow(id int64) store.Turn {
	s.Helper()
	return get(s, func(tx *store.Tx) (store.Turn, error) { return tx.TurnByID(id) })
}

func (s *suite) reclaim(turn, fence int64, now core.Millis) store.Turn {
	s.Helper()
	return do(s, func(tx *store.Tx) (store.Turn, error) { return tx.ReclaimTurn(turn, fence, now) })
}

// testCheckpoint: an orderly stop puts down what its node has in hand and nothing
// else, and what goes on from there is no attempt and as if it had begun then.
func testCheckpoint(s *suite) {
	mine, idle, theirs := s.session(), s.session(), s.session()
	own := func(id int64, node string) {
		do(s, func(tx *store.Tx) (int64, error) { return tx.OwnSession(id, node) })
	}
	ended := s.turn(mine.ID)
	s.write(func(tx *store.Tx) error { return tx.EndTurn(ended.ID, store.TurnDone, "", core.Usage{}, 5) })
	running, done, other := s.turn(mine.ID), s.turn(idle.ID), s.turn(theirs.ID)
	s.write(func(tx *store.Tx) error { return tx.EndTurn(done.ID, store.TurnDone, "", core.Usage{}, 5) })
	own(mine.ID, "n1")
	own(idle.ID, "n1")
	own(theirs.ID, "n2")
	require.EqualValues(s, 1, do(s, func(tx *store.Tx) (int64, error) { return tx.Checkpoint("n1") }))
	require.EqualValues(s, 0, do(s, func(tx *store.Tx) (int64, error) { return tx.Checkpoint("") }))
	require.Zero(s, s.turnNow(running.ID).WorkedFrom)
	for _, t := range []store.Turn{ended, done, other} {
		require.EqualValues(s, 1, s.turnNow(t.ID).WorkedFrom)
	}
	again := s.reclaim(running.ID, 8, 900)
	require.Equal(s, []int64{8, 1, 900}, []int64{again.Fence, int64(again.Attempts), int64(again.WorkedFrom)})
	require.Equal(s, again, s.turnNow(running.ID))
	again = s.reclaim(running.ID, 9, 950)
	require.Equal(s, []int64{9, 2, 900}, []int64{again.Fence, int64(again.Attempts), int64(again.WorkedFrom)}, "after a crash")
}

func testTurns(s *suite) {
	a := s.session()
	missing(s, func(tx *store.Tx) (store.Turn, error) { return tx.RunningTurn(a.ID) })
	want := store.Turn{
		Session: a.ID, Generation: 2, Chain: 5, Request: 3, Run: "r1", Kind: store.InboxCompletion, Lane: store.LaneSubagent, ReplyTo: address("t1"),
		Anchor: "m1", Policy: "p", Owner: "discord:42", Fence: 7, Started: 100,
	}
	made := do(s, func(tx *store.Tx) (store.Turn, error) { return tx.InsertTurn(want) })
	want.ID, want.State, want.Attempts, want.WorkedFrom = made.ID, store.TurnRunning, 1, 100
	require.Equal(s, want, made)
	require.Equal(s, want, s.turnNow(made.ID))
	require.Equal(s, want, get(s, func(tx *store.Tx) (store.Turn, error) { return tx.RunningTurn(a.ID) }))
	missing(s, func(tx *store.Tx) (store.Turn, error) { return tx.TurnByID(made.ID + 1) })

	s.reclaim(made.ID, 8, 140)
	s.reclaim(made.ID, 9, 140)
	now := s.turnNow(made.ID)
	require.Equal(s, []int64{9, 3}, []int64{now.Fence, int64(now.Attempts)})
	s.write(func(tx *store.Tx) error {
		return tx.StepDone(made.ID, 4, core.Usage{TokensIn: 10, TokensOut: 20, CacheRead: 1, CacheWrite: 2, MicroUSD: 3, Unpriced: 4}, 150)
	})
	s.reclaim(made.ID, 10, 140)
	now = s.turnNow(made.ID)
	require.Equal(s, []int64{4, 1, 10, 20}, []int64{int64(now.Seq), int64(now.Attempts), now.TokensIn, now.TokensOut}, "progress sets the attempts back")

	s.write(func(tx *store.Tx) error {
		return tx.EndTurn(made.ID, store.TurnFailed, "the model is away", core.Usage{TokensIn: 1, TokensOut: 2, CacheRead: 3, CacheWrite: 4, MicroUSD: 5, Unpriced: 6}, 200)
	})
	now = s.turnNow(made.ID)
	want.State, want.Detail, want.Ended, want.Fence, want.Seq = store.TurnFailed, "the model is away", 200, 10, 4
	want.Usage = core.Usage{TokensIn: 11, TokensOut: 22, CacheRead: 4, CacheWrite: 6, MicroUSD: 8, Unpriced: 10}
	require.Equal(s, want, now)
	missing(s, func(tx *store.Tx) (store.Turn, error) { return tx.RunningTurn(a.ID) })

	next := s.turn(a.ID)
	list := get(s, func(tx *store.Tx) ([]store.Turn, error) { return tx.TurnsOfSession(a.ID, 10) })
	require.Equal(s, []int64{next.ID, made.ID}, []int64{list[0].ID, list[1].ID}, "newest first")
	require.Len(s, get(s, func(tx *store.Tx) ([]store.Turn, error) { return tx.TurnsOfSession(a.ID, 1) }), 1)
}

// testTurnSurvivesRestart: what a claim finds after a crash is what the first
// claim wrote, the chain above all: the waits of a turn hang on it.
func testTurnSurvivesRestart(s *suite) {
	a := s.session()
	first := s.turn(a.ID)
	require.Equal(s, first.ID, first.Chain, "a turn that no other one joined is its own chain")
	require.Equal(s, first, s.turnNow(first.ID))
	s.reopen()
	require.Equal(s, first, get(s, func(tx *store.Tx) (store.Turn, error) { return tx.RunningTurn(a.ID) }))
}

func testSteps(s *suite) {
	a := s.session()
	t1, t2 := s.turn(a.ID), s.turn(s.session().ID)
	steps := func(turn int64) []store.Step {
		return get(s, func(tx *store.Tx) ([]store.Step, error) { return tx.Steps(turn) })
	}
	require.Empty(s, steps(t1.ID))
	start := func(st store.Step) { s.write(func(tx *store.Tx) error { return tx.StartStep(st, 1) }) }
	start(store.Step{Turn: t1.ID, Seq: 3, CallID: "c3", Tool: "exec"})
	start(store.Step{Turn: t1.ID, Seq: 2, CallID: "c2", Tool: "read"})
	start(store.Step{Turn: t2.ID, Seq: 2, CallID: "c9", Tool: "read"})
	s.write(func(tx *store.Tx) error { return tx.FinishStep(t1.ID, 2, 5) })
	want := []store.Step{
		{Turn: t1.ID, Seq: 2, CallID: "c2", Tool: "read", State: store.StepDone},
		{Turn: t1.ID, Seq: 3, CallID: "c3", Tool: "exec", State: store.StepStarted},
	}
	require.Equal(s, want, steps(t1.ID))
	start(store.Step{Turn: t1.ID, Seq: 2, CallID: "again", Tool: "other"})
	require.Equal(s, want, steps(t1.ID), "a finished step does not start again")
	require.Len(s, steps(t2.ID), 1)
}
