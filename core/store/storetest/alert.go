package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

func testAlerts(s *suite) {
	note := func(kind, subject, text string, at core.Millis) core.Millis {
		return do(s, func(tx *store.Tx) (core.Millis, error) {
			return tx.NoteAlert(store.Alert{Kind: kind, Subject: subject, Text: text, Remedy: "mend it"}, at)
		})
	}
	require.Zero(s, note("disk", "/a", "half", 10))
	require.Zero(s, note("disk", "/b", "other", 30))
	s.write(func(tx *store.Tx) error { return tx.AlertTold("disk", "/a", 11) })
	require.Equal(s, core.Millis(11), note("disk", "/a", "full", 40), "told before")
	require.Zero(s, note("account", "/a", "another kind", 5))
	s.reopen()
	require.Equal(s, []store.Alert{
		{Kind: "disk", Subject: "/a", Text: "full", Remedy: "mend it", Times: 2, First: 10, Last: 40, Told: 11},
		{Kind: "disk", Subject: "/b", Text: "other", Remedy: "mend it", Times: 1, First: 30, Last: 30},
	}, get(s, func(tx *store.Tx) ([]store.Alert, error) { return tx.Alerts(6, 10) }))
	require.Len(s, get(s, func(tx *store.Tx) ([]store.Alert, error) { return tx.Alerts(0, 1) }), 1)
}

func testTroubles(s *suite) {
	elsewhere := core.Address{Channel: "telegram", Account: "a", Conversation: "c"}
	var ids []int64
	for i, state := range []store.OutboxState{store.OutQueued, store.OutFailed, store.OutFailed, store.OutBlocked, store.OutSent} {
		row := store.Outbox{Text: "x", At: core.Millis(i + 1)}
		if state == store.OutBlocked || state == store.OutQueued {
			row.Address = elsewhere
		}
		id := s.post(row)
		ids = append(ids, id)
		if state != store.OutQueued {
			row := s.outboxNow(id)
			row.State = state
			do(s, func(tx *store.Tx) (bool, error) { return tx.UpdateOutbox(row) })
		}
	}
	require.Equal(s, []store.Trouble{
		{Channel: "discord", Account: "default", State: store.OutFailed, Count: 2, Oldest: ids[1], Since: 2},
		{Channel: "telegram", Account: "a", State: store.OutBlocked, Count: 1, Oldest: ids[3], Since: 4},
	}, get(s, (*store.Tx).Troubles))
	require.Equal(s, []store.Trouble{{Channel: "telegram", Account: "a", State: store.OutQueued, Count: 1, Oldest: ids[0], Since: 1}},
		get(s, (*store.Tx).Unsent))
}
