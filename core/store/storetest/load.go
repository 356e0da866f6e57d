package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

func testLoad(s *suite) {
	load := func() store.Load {
		return get(s, func(tx *store.Tx) (store.Load, error) { return tx.Load(100) })
	}
	require.Equal(s, store.Load{}, load())
	require.True(s, load().Idle())

	a, b := s.session(), s.session()
	s.write(func(tx *store.Tx) error { return tx.ArchiveSession(b.ID, 1) })
	require.Equal(s, store.Load{Sessions: 1}, load())
	turn := s.turn(a.ID)
	require.False(s, load().Idle(), "a turn runs")
	s.put(store.Inbox{Session: a.ID, Kind: store.InboxMessage, Lane: store.LaneMain})
	s.put(store.Inbox{Session: a.ID, Kind: store.InboxMessage, State: store.InboxHeld, Lane: store.LaneMain})
	s.write(func(tx *store.Tx) error {
		return tx.InsertWait(store.Wait{Turn: turn.ID, Session: a.ID, Kind: "message"})
	})
	s.addRun(newRun(1, a.ID, b.ID))
	s.addRun(newRun(2, a.ID, b.ID)) // nothing moves it: it does not count
	s.put(store.Inbox{Session: b.ID, Kind: store.InboxTask, State: store.InboxHeld, Lane: store.LaneSubagent, Run: "01RUN01"})
	s.bind(newBinding("b1", "t1", a.ID))
	s.bind(newBinding("b2", "t2", a.ID))
	b2, _ := lookup(s, func(tx *store.Tx) (core.Binding, bool, error) { return tx.BindingByID("b2") })
	s.update(ended(b2, 5))
	for state, next := range map[store.OutboxState]core.Millis{store.OutQueued: 100, store.OutSending: 101, store.OutFailed: 0} {
		r := s.outboxNow(s.post(store.Outbox{Text: string(state)}))
		r.State, r.NextAt = state, next
		s.write(func(tx *store.Tx) error {
			_, err := tx.UpdateOutbox(r)
			return err
		})
	}
	require.Equal(s, store.Load{Sessions: 1, Turns: 1, Inbox: 1, Waits: 1, Runs: 1, Bindings: 1, Due: 1, Retrying: 1, Trouble: 1}, load())

	activity := func(id int64) store.Activity {
		return get(s, func(tx *store.Tx) (store.Activity, error) { return tx.Activity(id) })
	}
	require.Equal(s, store.Activity{Running: true, Queued: 1, Held: 1, Waits: 1}, activity(a.ID))
	require.Equal(s, store.Activity{Held: 1}, activity(b.ID))
}
