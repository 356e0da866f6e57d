package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

func testWaits(s *suite) {
	a, b := s.session(), s.session()
	waits := func(id int64) []store.Wait {
		return get(s, func(tx *store.Tx) ([]store.Wait, error) { return tx.Waits(id) })
	}
	require.Empty(s, waits(a.ID))
	want := store.Wait{
		Turn: 12, Session: a.ID, Run: "r1", Kind: "children", Need: 2, Batch: []string{"c2", "c1"}, ReplyTo: address("t1"), Anchor: "m1",
		Note: "sum up", Deadline: 500, At: 100,
	}
	message := store.Wait{Turn: 11, Session: a.ID, Kind: "message"}
	s.write(func(tx *store.Tx) error { return tx.InsertWait(want) })
	s.write(func(tx *store.Tx) error { return tx.InsertWait(message) })
	s.write(func(tx *store.Tx) error { return tx.InsertWait(store.Wait{Turn: 13, Session: b.ID, Kind: "children"}) })
	require.Equal(s, []store.Wait{message, want}, waits(a.ID), "oldest turn first")
	require.Equal(s, want, get(s, func(tx *store.Tx) (store.Wait, error) { return tx.WaitByTurn(12) }))
	count := func() []int { return []int{s.sessionNow(a.ID).Waits, s.sessionNow(b.ID).Waits} }
	require.Equal(s, []int{2, 1}, count(), "the session row counts them")
	require.Error(s, s.db.Write(s.Context(), func(tx *store.Tx) error { return tx.InsertWait(want) }), "a turn arms one wait")

	s.write(func(tx *store.Tx) error { return tx.DeleteWait(12) })
	s.write(func(tx *store.Tx) error { return tx.DeleteWait(12) })
	missing(s, func(tx *store.Tx) (store.Wait, error) { return tx.WaitByTurn(12) })
	require.Equal(s, []int{1, 1}, count())
	s.write(func(tx *store.Tx) error { return tx.DeleteWaits(a.ID) })
	require.Empty(s, waits(a.ID))
	require.Len(s, waits(b.ID), 1)
	require.Equal(s, []int{0, 1}, count())
}

func testIntents(s *suite) {
	open := func(limit int) []store.Intent {
		return get(s, func(tx *store.Tx) ([]store.Intent, error) { return tx.OpenIntents(1<<62, limit) })
	}
	want := store.Intent{Turn: 4, Seq: 2, Kind: "spawn", State: "open", Ref: "r1", Body: "before", At: 200}
	older := store.Intent{Turn: 9, Seq: 1, Kind: "focus", State: "open", Ref: "b1", At: 100}
	s.write(func(tx *store.Tx) error { return tx.InsertIntent(want) })
	s.write(func(tx *store.Tx) error { return tx.InsertIntent(older) })
	require.Equal(s, []store.Intent{older, want}, open(10), "oldest first")
	require.Equal(s, []store.Intent{older}, open(1))
	require.Error(s, s.db.Write(s.Context(), func(tx *store.Tx) error { return tx.InsertIntent(want) }), "a step has one intent")

	s.write(func(tx *store.Tx) error { return tx.CloseIntent(4, 2, "after") })
	require.Equal(s, []store.Intent{older}, open(10))
	want.State, want.Body = "done", "after"
	require.Equal(s, want, get(s, func(tx *store.Tx) (store.Intent, error) { return tx.IntentAt(4, 2) }))
	missing(s, func(tx *store.Tx) (store.Intent, error) { return tx.IntentAt(4, 3) })
}

func testTimers(s *suite) {
	next := func() core.Millis { return get(s, func(tx *store.Tx) (core.Millis, error) { return tx.NextTimer() }) }
	due := func(now core.Millis, limit int) (refs []string) {
		for _, t := range get(s, func(tx *store.Tx) ([]store.Timer, error) { return tx.DueTimers(now, limit) }) {
			refs = append(refs, t.Kind+"/"+t.Ref)
		}
		return refs
	}
	set := func(t store.Timer) { s.write(func(tx *store.Tx) error { return tx.SetTimer(t) }) }
	require.Zero(s, next())
	set(store.Timer{Kind: "wait", Ref: "1", Due: 300, Payload: "p"})
	set(store.Timer{Kind: "wait", Ref: "2", Due: 100})
	set(store.Timer{Kind: "run", Ref: "1", Due: 200})
	require.Equal(s, core.Millis(100), next())
	require.Empty(s, due(99, 10))
	require.Equal(s, []string{"wait/2", "run/1"}, due(200, 10))
	require.Equal(s, []string{"wait/2"}, due(300, 1))
	require.Equal(s, store.Timer{Kind: "wait", Ref: "1", Due: 300, Payload: "p"},
		get(s, func(tx *store.Tx) (store.Timer, error) { return tx.TimerAt("wait", "1") }))

	set(store.Timer{Kind: "wait", Ref: "2", Due: 400, Payload: "moved"})
	require.Equal(s, core.Millis(200), next())
	require.Equal(s, []string{"run/1", "wait/1", "wait/2"}, due(400, 10), "a timer that is set again moves")
	set(store.Timer{Kind: "run", Ref: "1"})
	missing(s, func(tx *store.Tx) (store.Timer, error) { return tx.TimerAt("run", "1") })
	s.write(func(tx *store.Tx) error { return tx.DropTimer("wait", "1") })
	s.write(func(tx *store.Tx) error { return tx.DropTimer("wait", "1") })
	s.reopen()
	require.Equal(s, []string{"wait/2"}, due(1000, 10))
}
