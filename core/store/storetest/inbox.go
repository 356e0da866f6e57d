package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// put adds a row to an inbox and returns its id.
func (s *suite) put(r store.Inbox) int64 {
	s.Helper()
	return do(s, func(tx *store.Tx) (int64, error) { return tx.InsertInbox(r) })
}

// queued returns the bodies of the queued rows of a session.
func (s *suite) queued(session int64) []string {
	s.Helper()
	return bodies(get(s, func(tx *store.Tx) ([]store.Inbox, error) { return tx.QueuedInbox(session, 100) }))
}

func bodies(rows []store.Inbox) []string {
	out := []string{}
	for _, r := range rows {
		out = append(out, r.Body)
	}
	return out
}

func testInbox(s *suite) {
	a, b := s.session(), s.session()
	want := store.Inbox{
		Session: a.ID, Kind: store.InboxMessage, Lane: store.LaneMain, ReplyTo: address("t1"), Anchor: "m1", Policy: `{"deny":["exec"]}`,
		Owner: "discord:42", Source: "discord/default/C/1", Run: "r1", ForRun: "r2", Ordinal: 3, Body: `{"text":"héllo"}`, Chain: 9, At: 100,
	}
	want.ID = s.put(want)
	want.State = store.InboxQueued
	rows := get(s, func(tx *store.Tx) ([]store.Inbox, error) { return tx.QueuedInbox(a.ID, 10) })
	require.Equal(s, []store.Inbox{want}, rows)
	require.Equal(s, want, get(s, func(tx *store.Tx) (store.Inbox, error) { return tx.OldestQueued(a.ID) }))
	require.Equal(s, want, get(s, func(tx *store.Tx) (store.Inbox, error) { return tx.InboxBySource(want.Source) }))
	require.Empty(s, s.queued(b.ID))
	missing(s, func(tx *store.Tx) (store.Inbox, error) { return tx.OldestQueued(b.ID) })
	missing(s, func(tx *store.Tx) (store.Inbox, error) { return tx.InboxBySource("discord/default/c/1") })

	for i := range 3 {
		id := s.put(store.Inbox{Session: a.ID, Kind: store.InboxMessage, Lane: store.LaneMain, Body: fmt.Sprint(i)})
		require.Greater(s, id, want.ID)
	}
	require.Equal(s, []string{want.Body, "0", "1", "2"}, s.queued(a.ID))
	require.Len(s, get(s, func(tx *store.Tx) ([]store.Inbox, error) { return tx.QueuedInbox(a.ID, 2) }), 2)

	update := func(id int64, body string) bool {
		return do(s, func(tx *store.Tx) (bool, error) { return tx.UpdateInboxBody(id, body) })
	}
	require.True(s, update(want.ID, "edited"))
	s.write(func(tx *store.Tx) error { return tx.DeleteInbox(want.ID) })
	require.False(s, update(want.ID, "late"), "a row that a turn took cannot be edited")
	missing(s, func(tx *store.Tx) (store.Inbox, error) { return tx.InboxBySource(want.Source) })
	require.Equal(s, []string{"0", "1", "2"}, s.queued(a.ID))

	count := func(id int64) int { return get(s, func(tx *store.Tx) (int, error) { return tx.CountQueued(id) }) }
	dropped := func(id int64) []store.Inbox {
		return get(s, func(tx *store.Tx) ([]store.Inbox, error) { return tx.DroppedRows(id) })
	}
	require.Empty(s, dropped(a.ID))
	s.put(store.Inbox{Session: a.ID, Kind: store.InboxDropped, Lane: store.LaneMain, Body: "dropped"})
	s.put(store.Inbox{Session: a.ID, Kind: store.InboxTask, Lane: store.LaneSubagent, Body: "task"})
	require.Equal(s, 3, count(a.ID), "messages count, the row for dropped ones and a task do not")
	require.Zero(s, count(b.ID))
	require.Empty(s, dropped(b.ID))
	require.Len(s, dropped(a.ID), 1)
	require.Equal(s, "dropped", dropped(a.ID)[0].Body)
	require.Equal(s, "0", get(s, func(tx *store.Tx) (store.Inbox, error) { return tx.OldestQueued(a.ID) }).Body)
}

// testInboxHeld: messages for a place that cannot be written to wait for it.
func testInboxHeld(s *suite) {
	a := s.session()
	for _, text := range []string{"1", "2"} {
		s.put(store.Inbox{Session: a.ID, Kind: store.InboxMessage, State: store.InboxHeld, Lane: store.LaneMain, Body: text})
	}
	held := completion(a.ID, "c1", "", 1)
	held.State = store.InboxHeld
	s.put(held)
	s.put(store.Inbox{Session: a.ID, Kind: store.InboxMessage, Lane: store.LaneMain, Body: "3"})
	rows := get(s, func(tx *store.Tx) ([]store.Inbox, error) { return tx.HeldMessages(a.ID) })
	require.Equal(s, []string{"1", "2"}, bodies(rows))
	require.Equal(s, []string{"3"}, s.queued(a.ID))
	s.write(func(tx *store.Tx) error { return tx.ReleaseHeld(rows[0].ID) })
	require.Equal(s, []string{"1", "3"}, s.queued(a.ID), "it keeps its place in the order")
	require.Equal(s, []string{"2"}, bodies(get(s, func(tx *store.Tx) ([]store.Inbox, error) { return tx.HeldMessages(a.ID) })))
}

// completion is the outcome of a child.
func completion(session int64, run, forRun string, ordinal int) store.Inbox {
	return store.Inbox{
		Session: session, Kind: store.InboxCompletion, Lane: store.LaneMain, Run: run, ForRun: forRun, Ordinal: ordinal, Body: "end of " + run,
	}
}

func testInboxCompletions(s *suite) {
	a := s.session()
	held := completion(a.ID, "c3", "r", 3)
	held.State = store.InboxHeld
	for _, r := range []store.Inbox{completion(a.ID, "c2", "r", 2), held, completion(a.ID, "c1", "r", 1), completion(a.ID, "x", "other", 1)} {
		s.put(r)
	}
	pending := func(forRun string) []string {
		return bodies(get(s, func(tx *store.Tx) ([]store.Inbox, error) { return tx.PendingCompletions(a.ID, forRun) }))
	}
	require.Equal(s, []string{"end of c1", "end of c2", "end of c3"}, pending("r"), "in spawn order, held ones too")
	require.Equal(s, []string{"end of x"}, pending("other"))
	require.Empty(s, pending(""))
	require.Equal(s, []string{"end of c2", "end of c1", "end of x"}, s.queued(a.ID), "a held row is not queued")

	isPending := func(run string) bool {
		return get(s, func(tx *store.Tx) (bool, error) { return tx.CompletionPending(a.ID, run) })
	}
	require.True(s, isPending("c3"))
	require.False(s, isPending("c4"))
	s.write(func(tx *store.Tx) error { return tx.SetCompletionState(a.ID, "c3", store.InboxQueued) })
	s.write(func(tx *store.Tx) error { return tx.SetCompletionState(a.ID, "c2", store.InboxHeld) })
	require.Equal(s, []string{"end of c3", "end of c1", "end of x"}, s.queued(a.ID))

	moved := do(s, func(tx *store.Tx) (int64, error) {
		return tx.SetInboxState(a.ID, store.InboxCompletion, store.InboxQueued, store.InboxHeld)
	})
	require.Equal(s, int64(3), moved)
	require.Empty(s, s.queued(a.ID))
	require.True(s, isPending("c1"), "a held completion is still pending")
	require.Zero(s, get(s, func(tx *store.Tx) (int, error) { return tx.CountQueued(a.ID) }), "completions are not counted as messages")
}

func testInboxClear(s *suite) {
	a, b := s.session(), s.session()
	for _, k := range []store.InboxKind{store.InboxMessage, store.InboxTask, store.InboxWake, store.InboxSteer, store.InboxDropped} {
		s.put(store.Inbox{Session: a.ID, Kind: k, Lane: store.LaneMain, Body: string(k)})
	}
	s.put(store.Inbox{Session: b.ID, Kind: store.InboxMessage, Lane: store.LaneMain, Body: "other"})
	s.put(completion(a.ID, "c1", "", 1))
	held := completion(a.ID, "c2", "", 2)
	held.State = store.InboxHeld
	s.put(held)
	s.put(store.Inbox{Session: a.ID, Kind: store.InboxMessage, State: store.InboxHeld, Lane: store.LaneMain, Source: "m", Body: "held"})
	waiting := get(s, func(tx *store.Tx) (store.Inbox, error) { return tx.InboxBySource("m") })
	require.Equal(s, "held", waiting.Body, "a held message is found like a queued one")
	require.True(s, do(s, func(tx *store.Tx) (bool, error) { return tx.UpdateInboxBody(waiting.ID, "edited") }))

	require.Equal(s, int64(2), do(s, func(tx *store.Tx) (int64, error) { return tx.ClearQueued(a.ID) }), "messages")
	require.Equal(s, []string{"end of c1"}, s.queued(a.ID))
	require.Equal(s, int64(2), do(s, func(tx *store.Tx) (int64, error) { return tx.ClearCompletions(a.ID) }))
	require.Empty(s, s.queued(a.ID))
	missing(s, func(tx *store.Tx) (store.Inbox, error) { return tx.InboxBySource("m") })
	require.Equal(s, []string{"other"}, s.queued(b.ID))

	for _, row := range []store.Inbox{
		{Kind: store.InboxTask, Run: "r1", Body: "task"}, {Kind: store.InboxSteer, ForRun: "r1", Body: "steer"}, completion(b.ID, "c1", "r1", 1),
		{Kind: store.InboxTask, Run: "r2", Body: "another task"}, completion(b.ID, "r1", "", 2),
	} {
		row.Session, row.Lane = b.ID, store.LaneMain
		s.put(row)
	}
	steered := func(run string) bool {
		return get(s, func(tx *store.Tx) (bool, error) { return tx.SteersRun(b.ID, run) })
	}
	require.True(s, steered("r1"))
	require.False(s, steered("r2"))
	s.write(func(tx *store.Tx) error { return tx.ClearInputOf(b.ID, "r1") })
	require.False(s, steered("r1"))
	require.Equal(s, []string{"other", "another task", "end of r1"}, s.queued(b.ID))
}

func testDedupe(s *suite) {
	claim := func(key string) bool {
		return do(s, func(tx *store.Tx) (bool, error) { return tx.InsertDedupe(key, 1) })
	}
	require.True(s, claim("telegram/default/1/7/message"))
	require.False(s, claim("telegram/default/1/7/message"))
	require.True(s, claim("telegram/second/1/7/message"))
	require.True(s, claim("Telegram/default/1/7/message"), "case counts")

	require.Error(s, s.db.Write(s.Context(), func(tx *store.Tx) error {
		if _, err := tx.InsertDedupe("lost", 1); err != nil {
			return err
		}
		return unitError{"after the claim"}
	}))
	require.True(s, claim("lost"), "a unit that failed has claimed nothing")
	s.reopen()
	require.False(s, claim("lost"))
}

func testCursor(s *suite) {
	cursor := func(channel, account, name string) string {
		return get(s, func(tx *store.Tx) (string, error) { return tx.Cursor(channel, account, name) })
	}
	set := func(channel, account, name, value string) {
		s.write(func(tx *store.Tx) error { return tx.SetCursor(channel, account, name, value, 1) })
	}
	require.Empty(s, cursor("telegram", "default", ""))
	set("telegram", "default", "", "41")
	set("telegram", "second", "", "7")
	set("discord", "default", "C1", "900")
	set("telegram", "default", "", "42")
	require.Equal(s, "42", cursor("telegram", "default", ""))
	require.Equal(s, "7", cursor("telegram", "second", ""))
	require.Equal(s, "900", cursor("discord", "default", "C1"))
	require.Empty(s, cursor("discord", "default", "C2"))
	set("discord", "default", "C2", "901")
	all := func(account string) map[string]string {
		return get(s, func(tx *store.Tx) (map[string]string, error) { return tx.Cursors("discord", account) })
	}
	require.Equal(s, map[string]string{"C1": "900", "C2": "901"}, all("default"))
	require.Empty(s, all("second"))
	s.reopen()
	require.Equal(s, "42", cursor("telegram", "default", ""))
}

func testFirstNotice(s *suite) {
	first := func(key string, now, after core.Millis) bool {
		return do(s, func(tx *store.Tx) (bool, error) { return tx.FirstNotice(key, now, after) })
	}
	const hour = 3_600_000
	require.True(s, first("refused/a", 10*hour, 9*hour))
	require.False(s, first("refused/a", 10*hour+1, 9*hour+1))
	require.True(s, first("refused/b", 10*hour+1, 9*hour+1))
	require.False(s, first("refused/a", 11*hour-1, 10*hour-1), "refused ones do not move the hour")
	require.True(s, first("refused/a", 11*hour, 10*hour))
	require.False(s, first("refused/a", 11*hour+1, 10*hour+1))
}
