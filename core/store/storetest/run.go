package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// newRun is the lineage row of a child; number is its ordinal.
func newRun(number int, requester, child int64) core.Run {
	return core.Run{
		ID: fmt.Sprintf("01RUN%02d", number), Root: "01RUN01", TaskID: fmt.Sprintf("T%02d", number), Session: child, SessionKey: "child",
		Requester: requester, RequesterID: "parent", RequesterTurn: 5, Request: 5, Ordinal: number, Completion: 1, Depth: 1, Role: "leaf", Agent: "main",
		Task: "look it up", Kind: core.RunSubagent, Status: core.RunQueued, Delivery: core.DeliveryPending, CreatedAt: core.Millis(100 + number),
		Notify: core.NotifyDone,
	}
}

func (s *suite) addRun(r core.Run) core.Run {
	s.Helper()
	s.write(func(tx *store.Tx) error { return tx.InsertRun(r) })
	return r
}

func (s *suite) runNow(id string) core.Run {
	s.Helper()
	return get(s, func(tx *store.Tx) (core.Run, error) { return tx.RunByID(id) })
}

// runIDs reads a list of runs and returns their ids.
func (s *suite) runIDs(list func(tx *store.Tx) ([]core.Run, error)) []string {
	s.Helper()
	out := []string{}
	for _, r := range get(s, list) {
		out = append(out, r.ID)
	}
	return out
}

func testRuns(s *suite) {
	want := newRun(1, 7, 8)
	want.RequesterRun, want.TaskName, want.Label, want.Anchor, want.Owner = "01RUN00", "cats", "Cats", "m1", "discord:42"
	want.Origin = address("t1")
	want.Spec = core.SpawnSpec{
		Agent: "main", Model: "local/m1", Thinking: "low", Mode: "run", Context: "fork", Cleanup: "keep", TimeoutSeconds: 60,
		ExpectsCompletion: true, ToolCeiling: []string{"read"},
	}
	s.addRun(want)
	require.Equal(s, want, s.runNow(want.ID))
	require.Equal(s, want, get(s, func(tx *store.Tx) (core.Run, error) { return tx.RunByTask("T01") }))
	missing(s, func(tx *store.Tx) (core.Run, error) { return tx.RunByID("01RUN") })
	missing(s, func(tx *store.Tx) (core.Run, error) { return tx.RunByTask("t01") })
	twin := newRun(1, 7, 9)
	twin.ID = "01RUN09"
	require.Error(s, s.db.Write(s.Context(), func(tx *store.Tx) error { return tx.InsertRun(twin) }), "a task has one run")

	want.Spec.Context = "isolated"
	want.Spec.ToolCeiling = []string{}
	s.write(func(tx *store.Tx) error { return tx.SetRunSpec(want.ID, want.Spec) })
	require.Equal(s, want, s.runNow(want.ID), "no tools at all is not no ceiling")
	want.Spec.ToolCeiling = nil
	want.Spec.Budget, want.Spec.Cwd, want.Spec.Sandbox = &core.Budget{Tokens: 5, USD: 0.5}, "/work", "inherit"
	s.write(func(tx *store.Tx) error { return tx.SetRunSpec(want.ID, want.Spec) })
	s.write(func(tx *store.Tx) error {
		return tx.AddRunUsage(want.ID, core.Usage{TokensIn: 10, TokensOut: 20, CacheRead: 1, CacheWrite: 2, MicroUSD: 3, Unpriced: 4})
	})
	s.write(func(tx *store.Tx) error {
		return tx.AddRunUsage(want.ID, core.Usage{TokensIn: 1, TokensOut: 2, CacheRead: 3, CacheWrite: 4, MicroUSD: 5, Unpriced: 6})
	})
	want.Usage = core.Usage{TokensIn: 11, TokensOut: 22, CacheRead: 4, CacheWrite: 6, MicroUSD: 8, Unpriced: 10}
	require.Equal(s, want, s.runNow(want.ID))

	set := func(status core.RunStatus, now core.Millis) {
		s.write(func(tx *store.Tx) error { return tx.SetRunStatus(want.ID, status, now) })
	}
	set(core.RunRunning, 200)
	set(core.RunWaiting, 300)
	set(core.RunRunning, 400)
	want.Status, want.StartedAt = core.RunRunning, 200
	require.Equal(s, want, s.runNow(want.ID), "the start is the first one")
	s.write(func(tx *store.Tx) error { return tx.SetRunSpec(want.ID, core.SpawnSpec{}) })
	require.Equal(s, want.Spec, s.runNow(want.ID).Spec, "the spec of a run that has started is fixed")
	s.write(func(tx *store.Tx) error { return tx.DeleteRun(want.ID) })
	require.Equal(s, want, s.runNow(want.ID), "a run that has started is not undone")

	reserved := s.addRun(newRun(2, 7, 9))
	s.write(func(tx *store.Tx) error { return tx.DeleteRun(reserved.ID) })
	missing(s, func(tx *store.Tx) (core.Run, error) { return tx.RunByID(reserved.ID) })
}

func testRunLists(s *suite) {
	// 1 asked for 2 and 3; 2's session asked for 4, which ended.
	var grandchild int64
	s.write(func(tx *store.Tx) error {
		made, err := tx.InsertSession(store.Session{Key: "agent:main:subagent:13", Agent: "main", Kind: core.SessionSubagent, Parent: 11, CreatedAt: 1, UsedAt: 1})
		grandchild = made.ID
		return err
	})
	for i, sessions := range [][2]int64{{10, 11}, {10, 12}, {11, grandchild}, {11, grandchild}} {
		r := newRun(i+1, sessions[0], sessions[1])
		if i >= 2 {
			r.RequesterRun, r.RequesterTurn, r.Root = "01RUN01", 6, "01RUN01"
		}
		r.TaskName = fmt.Sprintf("task%d", i+1)
		s.addRun(r)
		s.put(store.Inbox{Session: r.Session, Kind: store.InboxTask, Lane: store.LaneSubagent, Run: r.ID})
	}
	s.write(func(tx *store.Tx) error {
		_, err := tx.EndRun("01RUN03", core.RunOK, "", "done", false, core.DeliverySessionQueued, 500)
		return err
	})
	ids := s.runIDs
	require.Equal(s, []string{"01RUN01", "01RUN02"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.LiveRunsOf(10) }))
	require.Equal(s, []string{"01RUN04"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.LiveRunsOf(11) }))
	require.Equal(s, 2, get(s, func(tx *store.Tx) (int, error) { return tx.CountLiveRunsOf(10) }))
	require.Equal(s, 3, get(s, func(tx *store.Tx) (int, error) { return tx.CountOthersOfTree("01RUN01", "") }))
	require.Equal(s, 2, get(s, func(tx *store.Tx) (int, error) { return tx.CountOthersOfTree("01RUN01", "01RUN01") }))
	require.Zero(s, get(s, func(tx *store.Tx) (int, error) { return tx.CountOthersOfTree("01RUN02", "") }))
	of := func(since core.Millis) []string {
		return ids(func(tx *store.Tx) ([]core.Run, error) { return tx.RunsOf(11, since) })
	}
	require.Equal(s, []string{"01RUN03", "01RUN04"}, of(500))
	require.Equal(s, []string{"01RUN04"}, of(501))
	bound := s.bind(newBinding("b1", "t1", grandchild))
	require.Equal(s, []string{"01RUN03", "01RUN04"}, of(501), "its session is bound")
	s.update(ended(bound, 700))
	require.Equal(s, []string{"01RUN04"}, of(501))
	require.Equal(s, []string{"01RUN03", "01RUN04"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.ChildrenOfRun("01RUN01") }))
	require.Equal(s, []string{"01RUN03", "01RUN04"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.ChildrenOfChain(11, 6) }))
	require.Empty(s, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.ChildrenOfChain(11, 5) }))
	require.Equal(s, []string{"01RUN04", "01RUN03"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.RecentRuns(2) }))
	require.Equal(s, []string{"01RUN01", "01RUN02"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.LiveRuns(2) }))
	require.Equal(s, []string{"01RUN04", "01RUN03"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.RunsAskedBy(11, 5) }))
	require.Equal(s, []string{"01RUN04"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.RunsAskedBy(11, 1) }))
	require.Equal(s, []string{"01RUN01", "01RUN02"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.TasksByPrefix("T0", 2) }))
	require.Equal(s, []string{"01RUN03"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.TasksByPrefix("T03", 2) }))
	require.Equal(s, []string{"01RUN01", "01RUN02", "01RUN04"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.Descendants(10) }))
	require.Equal(s, []string{"01RUN01"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.RunsByPrefix("01RUN01", 5) }))
	require.Equal(s, []string{"01RUN01", "01RUN02"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.RunsByPrefix("01RUN", 2) }))
	require.Empty(s, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.RunsByPrefix("02", 2) }))

	require.Equal(s, "01RUN04", get(s, func(tx *store.Tx) (core.Run, error) { return tx.LatestRunOfSession(grandchild) }).ID)
	require.Equal(s, "01RUN04", get(s, func(tx *store.Tx) (core.Run, error) { return tx.LiveRunOfSession(grandchild) }).ID)
	missing(s, func(tx *store.Tx) (core.Run, error) { return tx.LiveRunOfSession(99) })
	require.Equal(s, "01RUN02", get(s, func(tx *store.Tx) (core.Run, error) { return tx.LiveTaskName(10, "task2") }).ID)
	missing(s, func(tx *store.Tx) (core.Run, error) { return tx.LiveTaskName(11, "task3") })
}

// What a session sends to another one is no child of it, and what that other
// session does besides is not below it.
func testSends(s *suite) {
	for _, r := range []core.Run{newRun(1, 10, 11), newRun(2, 10, 20), newRun(3, 20, 21), newRun(4, 20, 22)} {
		if r.ID == "01RUN02" {
			r.Kind, r.Ordinal = core.RunSend, 0
		}
		if r.ID == "01RUN03" {
			r.RequesterRun = "01RUN02"
		}
		s.addRun(r)
	}
	ids := s.runIDs
	require.Equal(s, core.RunSend, s.runNow("01RUN02").Kind)
	require.Equal(s, []string{"01RUN02", "01RUN01"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.LiveRunsOf(10) }))
	require.Equal(s, []string{"01RUN01"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.RunsOf(10, 0) }))
	below := func(session int64) []string {
		return ids(func(tx *store.Tx) ([]core.Run, error) { return tx.Descendants(session) })
	}
	require.Equal(s, []string{"01RUN01", "01RUN02", "01RUN03"}, below(10))
	require.Equal(s, []string{"01RUN03", "01RUN04"}, below(20))
	require.Equal(s, []string{"01RUN02"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.LiveSendsTo(20) }))
	missing(s, func(tx *store.Tx) (core.Run, error) { return tx.LatestRunOfSession(20) })
	missing(s, func(tx *store.Tx) (core.Run, error) { return tx.LiveRunOfSession(20) })
	s.write(func(tx *store.Tx) error {
		_, err := tx.EndRun("01RUN02", core.RunOK, "", "done", false, core.DeliverySessionQueued, 500)
		return err
	})
	require.Empty(s, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.LiveSendsTo(20) }))
	require.Equal(s, []string{"01RUN01", "01RUN03"}, below(10), "what was started for a message outlives the answer")
}

// What descends from a session is found whatever has ended in between, whichever
// tree it counts in, and where sessions asked for each other.
func testDescendants(s *suite) {
	for i, r := range []struct {
		requester, session int64
		root               string
	}{{10, 11, "a"}, {11, 12, "a"}, {12, 13, "a"}, {13, 10, "a"}, {10, 14, "b"}, {14, 15, "b"}, {90, 91, "a"}} {
		run := newRun(i+1, r.requester, r.session)
		run.Root = r.root
		s.addRun(run)
	}
	below := func(session int64) []string {
		return s.runIDs(func(tx *store.Tx) ([]core.Run, error) { return tx.Descendants(session) })
	}
	end := func(id string) {
		s.write(func(tx *store.Tx) error {
			_, err := tx.EndRun(id, core.RunOK, "", "done", false, core.DeliveryDelivered, 500)
			return err
		})
	}
	require.Equal(s, []string{"01RUN01", "01RUN02", "01RUN03", "01RUN04", "01RUN05", "01RUN06"}, below(10))
	end("01RUN01")
	end("01RUN02")
	end("01RUN05")
	require.Equal(s, []string{"01RUN03", "01RUN04", "01RUN06"}, below(10))
	require.Equal(s, []string{"01RUN03", "01RUN04"}, below(12))
	require.Equal(s, []string{"01RUN07"}, below(90))
	require.Empty(s, below(15))
	require.Empty(s, below(99))
}

func testRunEnds(s *suite) {
	r := s.addRun(newRun(1, 10, 11))
	end := func(status core.RunStatus, result string) bool {
		return do(s, func(tx *store.Tx) (bool, error) {
			return tx.EndRun(r.ID, status, "detail", result, true, core.DeliverySessionQueued, 500)
		})
	}
	s.write(func(tx *store.Tx) error { return tx.SetRunResult(r.ID, "so far") })
	require.Equal(s, "so far", s.runNow(r.ID).Result)
	require.True(s, end(core.RunTimeout, "half"))
	require.False(s, end(core.RunOK, "late"), "a run ends once")
	s.write(func(tx *store.Tx) error { return tx.SetRunStatus(r.ID, core.RunRunning, 600) })
	s.write(func(tx *store.Tx) error { return tx.SetRunResult(r.ID, "later") })
	r.Status, r.Detail, r.Result, r.Partial, r.Delivery, r.EndedAt = core.RunTimeout, "detail", "half", true, core.DeliverySessionQueued, 500
	require.Equal(s, r, s.runNow(r.ID), "and nothing moves it afterwards")
}

func testRunDelivery(s *suite) {
	blocked := func() []string { return s.runIDs(func(tx *store.Tx) ([]core.Run, error) { return tx.BlockedRuns(10) }) }
	for i := 1; i <= 3; i++ {
		s.addRun(newRun(i, 10, 11))
		s.write(func(tx *store.Tx) error {
			_, err := tx.EndRun(fmt.Sprintf("01RUN%02d", i), core.RunOK, "fine", "", false, core.DeliverySessionQueued, core.Millis(500+i))
			return err
		})
	}
	set := func(id string, d core.Delivery, detail string) {
		s.write(func(tx *store.Tx) error { return tx.SetDelivery(id, d, detail, 1_800_000_000_900) })
	}
	set("01RUN01", core.DeliveryBlocked, "no answer from the platform")
	set("01RUN02", core.DeliveryBlocked, "")
	require.Equal(s, []string{"01RUN02", "01RUN01"}, blocked(), "the last to end first")
	require.Equal(s, "no answer from the platform", s.runNow("01RUN01").Detail)
	require.Equal(s, "fine", s.runNow("01RUN02").Detail)
	require.Zero(s, s.runNow("01RUN01").DeliveredAt)

	set("01RUN01", core.DeliveryDelivered, "")
	require.Equal(s, []string{"01RUN02"}, blocked())
	require.Equal(s, core.Millis(1_800_000_000_900), s.runNow("01RUN01").DeliveredAt)
	set("01RUN01", core.DeliveryBlocked, "late news")
	require.Equal(s, core.DeliveryDelivered, s.runNow("01RUN01").Delivery, "what was delivered stays so")
	set("01RUN02", core.DeliveryDismissed, "")
	set("01RUN02", core.DeliveryDelivered, "")
	require.Equal(s, core.DeliveryDismissed, s.runNow("01RUN02").Delivery, "what was dismissed stays so")
	require.Empty(s, blocked())
}

func testRunResumes(s *suite) {
	s.addRun(newRun(1, 10, 11))
	resume := func(now, after core.Millis) int {
		return do(s, func(tx *store.Tx) (int, error) { return tx.NoteResume("01RUN01", now, after) })
	}
	require.Equal(s, 1, resume(1000, 880))
	require.Equal(s, 2, resume(1010, 890))
	require.Equal(s, 3, resume(1020, 900))
	s.write(func(tx *store.Tx) error { return tx.StepProgress("01RUN01") })
	require.Equal(s, 1, resume(1030, 910), "a finished step sets the count back")
	require.Equal(s, 1, resume(9000, 8880), "so does time")
	require.Equal(s, 2, resume(9070, 8950))
	require.Equal(s, 2, resume(9140, 9020), "three, but not within the window")
	require.Equal(s, 3, resume(9180, 9060), "and three within it")
	s.write(func(tx *store.Tx) error { return tx.InsertTombstone("01RUN01", "resumed in vain", 1) })
	s.write(func(tx *store.Tx) error { return tx.InsertTombstone("01RUN01", "again", 2) })
	require.ErrorIs(s, s.db.Write(s.Context(), func(tx *store.Tx) error {
		_, err := tx.NoteResume("none", 1, 0)
		return err
	}), store.ErrNotFound)
}
