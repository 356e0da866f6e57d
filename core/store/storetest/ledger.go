package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

func testRunMoves(s *suite) {
	child := s.session()
	r := s.addRun(newRun(1, 10, child.ID))
	moves := func() bool {
		return get(s, func(tx *store.Tx) (bool, error) { return tx.RunMoves(r.ID) })
	}
	require.False(s, moves(), "nothing will ever move it")

	s.write(func(tx *store.Tx) error {
		return tx.InsertIntent(store.Intent{Turn: 1, Seq: 1, Kind: "spawn", Ref: r.ID})
	})
	require.True(s, moves(), "an open reservation")
	s.write(func(tx *store.Tx) error { return tx.CloseIntent(1, 1, "") })
	require.False(s, moves())

	task := s.put(store.Inbox{Session: child.ID, Kind: store.InboxTask, Lane: store.LaneSubagent, Run: r.ID})
	require.True(s, moves(), "its task")
	s.write(func(tx *store.Tx) error { return tx.DeleteInbox(task) })
	turn := do(s, func(tx *store.Tx) (store.Turn, error) {
		return tx.InsertTurn(store.Turn{Session: child.ID, Run: r.ID, Kind: store.InboxTask, Lane: store.LaneSubagent})
	})
	require.False(s, moves(), "its turn, which nobody has and nobody will take")
	s.write(func(tx *store.Tx) error { return tx.MarkReady(child.ID, 1) })
	require.True(s, moves(), "its turn")
	s.write(func(tx *store.Tx) error { return tx.EndTurn(turn.ID, store.TurnDone, "", core.Usage{}, 1) })
	require.False(s, moves())

	s.write(func(tx *store.Tx) error {
		return tx.InsertWait(store.Wait{Turn: turn.ID, Session: child.ID, Run: r.ID, Kind: "children"})
	})
	require.True(s, moves(), "a wait")
	s.write(func(tx *store.Tx) error { return tx.DeleteWait(turn.ID) })
	s.put(completion(child.ID, "grandchild", r.ID, 1))
	require.True(s, moves(), "a completion for it")
}

// testDeadRun: a row that nothing moves counts nowhere as live, and a stop
// still finds it.
func testDeadRun(s *suite) {
	requester, child, other := s.session(), s.session(), s.session()
	dead, alive := newRun(1, requester.ID, child.ID), newRun(2, requester.ID, other.ID)
	dead.TaskName, alive.TaskName = "dead", "alive"
	for _, r := range []core.Run{dead, alive} {
		s.addRun(r)
		s.write(func(tx *store.Tx) error { return tx.SetRunStatus(r.ID, core.RunRunning, 200) })
	}
	s.put(store.Inbox{Session: other.ID, Kind: store.InboxWake, Lane: store.LaneSubagent, ForRun: alive.ID})

	require.Equal(s, 1, get(s, func(tx *store.Tx) (int, error) { return tx.CountLiveRunsOf(requester.ID) }))
	require.Equal(s, 1, get(s, func(tx *store.Tx) (int, error) { return tx.CountOthersOfTree("01RUN01", "") }))
	require.Equal(s, 1, get(s, func(tx *store.Tx) (store.Load, error) { return tx.Load(1) }).Runs)
	missing(s, func(tx *store.Tx) (core.Run, error) { return tx.LiveTaskName(requester.ID, "dead") })
	for name, list := range map[string]func(tx *store.Tx) ([]core.Run, error){
		"of the requester": func(tx *store.Tx) ([]core.Run, error) { return tx.RunsOf(requester.ID, 1) },
		"by status": func(tx *store.Tx) ([]core.Run, error) {
			return tx.ListRuns(store.RunFilter{Status: core.RunRunning}, 10)
		},
	} {
		require.Equal(s, []string{alive.ID}, s.runIDs(list), name)
	}
	require.Equal(s, []string{dead.ID}, s.runIDs(func(tx *store.Tx) ([]core.Run, error) { return tx.LostRuns(10) }))
	require.Equal(s, []string{dead.ID, alive.ID}, s.runIDs(func(tx *store.Tx) ([]core.Run, error) { return tx.Descendants(requester.ID) }))
}

func testLedger(s *suite) {
	for i, kind := range []core.RunKind{core.RunSubagent, core.RunCron, "", core.RunCron} {
		r := newRun(i+1, 10, int64(20+i))
		r.Kind = kind
		if i >= 2 {
			r.Agent = "helper"
		}
		s.addRun(r)
	}
	s.put(store.Inbox{Session: 23, Kind: store.InboxTask, Lane: store.LaneSubagent, Run: "01RUN04"})
	s.write(func(tx *store.Tx) error {
		_, err := tx.EndRun("01RUN02", core.RunError, "", "", false, core.DeliverySessionQueued, 500)
		return err
	})
	for _, c := range []struct {
		filter store.RunFilter
		limit  int
		want   []string
	}{
		{store.RunFilter{}, 10, []string{"01RUN04", "01RUN03", "01RUN02", "01RUN01"}},
		{store.RunFilter{}, 2, []string{"01RUN04", "01RUN03"}},
		{store.RunFilter{Kind: core.RunCron}, 10, []string{"01RUN04", "01RUN02"}},
		{store.RunFilter{Kind: core.RunSubagent}, 10, []string{"01RUN03", "01RUN01"}},
		{store.RunFilter{Agent: "helper"}, 10, []string{"01RUN04", "01RUN03"}},
		{store.RunFilter{Agent: "helper", Kind: core.RunCron}, 10, []string{"01RUN04"}},
		{store.RunFilter{Status: core.RunError}, 10, []string{"01RUN02"}},
		{store.RunFilter{Status: core.RunQueued}, 10, []string{"01RUN04"}},
		{store.RunFilter{Status: core.RunQueued, Agent: "main"}, 10, []string{}},
	} {
		require.Equal(s, c.want, s.runIDs(func(tx *store.Tx) ([]core.Run, error) { return tx.ListRuns(c.filter, c.limit) }), "%+v", c.filter)
	}
	require.Equal(s, core.NotifyDone, s.runNow("01RUN01").Notify)
	s.write(func(tx *store.Tx) error { return tx.SetNotify("01RUN01", core.NotifySilent) })
	require.Equal(s, core.NotifySilent, s.runNow("01RUN01").Notify)
}
