package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

func ptr[T any](v T) *T { return &v }

// newBinding is an active binding of a thread.
func newBinding(id, thread string, session int64) core.Binding {
	return core.Binding{
		ID: id, Address: address(thread), Session: session, SessionKey: "agent:main:subagent:1", Target: core.TargetSubagent, Agent: "main",
		Label: "Cats", Owner: "discord:42", Placement: core.PlacementChild, BoundAt: 100, LastActivity: 100, Status: core.BindingActive,
	}
}

func (s *suite) bind(b core.Binding) core.Binding {
	s.Helper()
	s.write(func(tx *store.Tx) error { return tx.InsertBinding(b) })
	return b
}

func (s *suite) update(b core.Binding) {
	s.Helper()
	s.write(func(tx *store.Tx) error { return tx.UpdateBinding(b) })
}

// bindingIDs reads a list of bindings and returns their ids.
func (s *suite) bindingIDs(list func(tx *store.Tx) ([]core.Binding, error)) []string {
	s.Helper()
	out := []string{}
	for _, b := range get(s, list) {
		out = append(out, b.ID)
	}
	return out
}

func ended(b core.Binding, at core.Millis) core.Binding {
	b.Status, b.Reason, b.EndedAt = core.BindingEnded, core.EndIdle, at
	return b
}

func testBindings(s *suite) {
	want := newBinding("b1", "t1", 7)
	want.Idle, want.MaxAge, want.BusyUntil, want.Due, want.Deadline = ptr(int64(0)), ptr(int64(60_000)), 300, 400, 500
	want.SuspendReason, want.Data, want.RunID = "closed", []byte(`{"webhook":"1"}`), "r1"
	s.bind(want)
	byID := func(id string) (core.Binding, bool) {
		return lookup(s, func(tx *store.Tx) (core.Binding, bool, error) { return tx.BindingByID(id) })
	}
	got, ok := byID("b1")
	require.True(s, ok)
	require.Equal(s, want, got)
	_, ok = byID("B1")
	require.False(s, ok)

	plain := newBinding("b2", "t2", 7)
	s.bind(plain)
	got, _ = byID("b2")
	require.Equal(s, plain, got, "limits that are not set stay unset")

	moved := want
	moved.Address = core.Address{Channel: "discord", Account: "default", Conversation: "other"}
	moved.Session, moved.SessionKey, moved.Target, moved.Agent, moved.Label, moved.Owner = 9, "agent:b:main", core.TargetSession, "b", "Dogs", "discord:1"
	moved.Placement, moved.Idle, moved.MaxAge, moved.BoundAt, moved.LastActivity = core.PlacementCurrent, nil, ptr(int64(1)), 600, 700
	moved.BusyUntil, moved.Due, moved.Deadline, moved.Status, moved.SuspendReason = 1, 2, 3, core.BindingSuspended, "locked"
	moved.Data, moved.RunID = nil, ""
	s.update(moved)
	got, _ = byID("b1")
	require.Equal(s, moved, got, "an update writes every field")

	end := ended(moved, 800)
	s.update(end)
	got, _ = byID("b1")
	require.Equal(s, end, got)
	s.write(func(tx *store.Tx) error { return tx.DeleteBinding("b1") })
	s.write(func(tx *store.Tx) error { return tx.DeleteBinding("b2") })
	_, ok = byID("b1")
	require.False(s, ok)
	_, ok = byID("b2")
	require.True(s, ok, "a live binding is not deleted")
}

func testBindingPlaces(s *suite) {
	at := func(p core.Place) string {
		b, _ := lookup(s, func(tx *store.Tx) (core.Binding, bool, error) { return tx.BindingAt(p) })
		return b.ID
	}
	last := func(p core.Place) string {
		b, _ := lookup(s, func(tx *store.Tx) (core.Binding, bool, error) { return tx.LastEnded(p) })
		return b.ID
	}
	insert := func(b core.Binding) error {
		return s.db.Write(s.Context(), func(tx *store.Tx) error { return tx.InsertBinding(b) })
	}
	one := newBinding("b1", "t1", 7)
	place := one.Address.Place()
	require.Empty(s, at(place))
	s.bind(one)
	require.Equal(s, "b1", at(place))
	require.Empty(s, last(place))
	for _, other := range []core.Place{
		{Channel: "Discord", Account: place.Account, Conversation: place.Conversation, Thread: place.Thread},
		{Channel: place.Channel, Account: "second", Conversation: place.Conversation, Thread: place.Thread},
		{Channel: place.Channel, Account: place.Account, Conversation: "c/general:1", Thread: place.Thread},
		{Channel: place.Channel, Account: place.Account, Conversation: place.Conversation},
		{Channel: place.Channel, Account: place.Account, Conversation: place.Conversation, Thread: "T1"},
	} {
		require.Empty(s, at(other), other)
	}

	second := newBinding("b2", "t1", 8)
	second.Address.Parent = "elsewhere"
	for _, status := range []core.BindingStatus{core.BindingPending, core.BindingActive, core.BindingSuspended} {
		second.Status = status
		require.ErrorIs(s, insert(second), store.ErrPlaceTaken, status)
	}
	again := newBinding("b1", "t9", 8)
	err := insert(again)
	require.Error(s, err, "an id is unique")
	require.NotErrorIs(s, err, store.ErrPlaceTaken)

	s.update(ended(one, 500))
	require.Empty(s, at(place))
	require.Equal(s, "b1", last(place))
	second.Status = core.BindingActive
	s.bind(second)
	require.Equal(s, "b2", at(place))

	third := s.bind(newBinding("b3", "t3", 9))
	third.Address.Thread = "t1"
	require.ErrorIs(s, s.db.Write(s.Context(), func(tx *store.Tx) error { return tx.UpdateBinding(third) }), store.ErrPlaceTaken,
		"a binding does not move to a place that is taken")
	s.update(ended(second, 600))
	s.update(third)
	require.Equal(s, "b3", at(place))
	require.Equal(s, "b2", last(place), "the one that ended last")

	// A binding whose thread is not open yet has no place, and takes none.
	for _, id := range []string{"p1", "p2"} {
		b := newBinding(id, "", 9)
		b.Address, b.Status = core.Address{Channel: "discord", Account: "default"}, core.BindingPending
		s.bind(b)
	}
	require.Empty(s, at(core.Place{Channel: "discord", Account: "default"}))
}

func testBindingLists(s *suite) {
	for i := 1; i <= 5; i++ {
		b := newBinding(fmt.Sprintf("b%d", i), fmt.Sprintf("t%d", i), int64(7+i%2))
		b.Due, b.BoundAt, b.RunID = core.Millis(1000-100*i), core.Millis(i), fmt.Sprintf("r%d", i)
		if i == 4 {
			b.Owner, b.Address.Account, b.Status = "discord:1", "second", core.BindingSuspended
		}
		if i == 5 {
			b.Due, b.Status = 0, core.BindingPending
		}
		s.bind(b)
	}
	b1, _ := lookup(s, func(tx *store.Tx) (core.Binding, bool, error) { return tx.BindingByID("b1") })
	s.update(ended(b1, 950))
	ids := s.bindingIDs

	require.Equal(s, []string{"b3", "b5"}, ids(func(tx *store.Tx) ([]core.Binding, error) { return tx.BindingsOfSession(8) }))
	require.Equal(s, []string{"b3", "b5"}, ids(func(tx *store.Tx) ([]core.Binding, error) { return tx.BindingsOfSessions([]int64{8, 99}) }))
	require.Empty(s, ids(func(tx *store.Tx) ([]core.Binding, error) { return tx.BindingsOfSessions(nil) }))
	due := func(now core.Millis, limit int) []string {
		return ids(func(tx *store.Tx) ([]core.Binding, error) { return tx.BindingsDue(now, limit) })
	}
	require.Empty(s, due(599, 10))
	require.Equal(s, []string{"b4", "b3", "b2"}, due(2000, 10), "earliest first; ended and pending ones are not due")
	require.Equal(s, []string{"b4"}, due(2000, 1))
	from := func(from, now core.Millis) []string {
		return ids(func(tx *store.Tx) ([]core.Binding, error) { return tx.BindingsDueFrom(from, now, 10) })
	}
	require.Equal(s, []string{"b3"}, from(601, 799))
	require.Equal(s, []string{"b4", "b3", "b2"}, from(600, 800))
	next := func(from core.Millis) core.Millis {
		return get(s, func(tx *store.Tx) (core.Millis, error) { return tx.NextBindingDue(from) })
	}
	require.Equal(s, []core.Millis{600, 600, 700, 0}, []core.Millis{next(0), next(600), next(601), next(801)})

	live := func(after string, limit int) []string {
		return ids(func(tx *store.Tx) ([]core.Binding, error) { return tx.LiveBindings(after, limit) })
	}
	require.Equal(s, []string{"b2", "b3", "b4", "b5"}, live("", 10))
	require.Equal(s, []string{"b3", "b4"}, live("b2", 2))
	require.Equal(s, []string{"b5", "b4", "b3", "b2"}, ids(func(tx *store.Tx) ([]core.Binding, error) { return tx.ListBindings(false, 10) }))
	require.Equal(s, []string{"b1"}, ids(func(tx *store.Tx) ([]core.Binding, error) { return tx.ListBindings(true, 10) }))
	require.Equal(s, []string{"b2", "b3", "b5"}, ids(func(tx *store.Tx) ([]core.Binding, error) { return tx.BindingsOfAccount("discord", "default", 10) }))
	require.Equal(s, 3, get(s, func(tx *store.Tx) (int, error) { return tx.CountLiveBindings("discord:42") }))
	count := func(limit int) int {
		return get(s, func(tx *store.Tx) (int, error) { return tx.CountAllLiveBindings(limit) })
	}
	require.Equal(s, []int{4, 2}, []int{count(10), count(2)})

	prefixed := func(prefix string, limit int) []string {
		return ids(func(tx *store.Tx) ([]core.Binding, error) { return tx.BindingsByPrefix(prefix, limit) })
	}
	require.Equal(s, []string{"b1", "b2"}, prefixed("b", 2), "ended ones too")
	require.Equal(s, []string{"b3"}, prefixed("b3", 2))
	require.Empty(s, prefixed("B", 2))

	run, ok := lookup(s, func(tx *store.Tx) (core.Binding, bool, error) { return tx.BindingOfRun("r3") })
	require.True(s, ok)
	require.Equal(s, "b3", run.ID)
	for _, none := range []string{"r1", ""} {
		_, ok = lookup(s, func(tx *store.Tx) (core.Binding, bool, error) { return tx.BindingOfRun(none) })
		require.False(s, ok, "run %q", none)
	}

	own := newBinding("c1", "", 8)
	own.Address = core.Address{Channel: "discord", Account: "default", Conversation: "thread-9", Parent: "C/general:1"}
	s.bind(own)
	under := func(conversation string) []string {
		return ids(func(tx *store.Tx) ([]core.Binding, error) {
			return tx.BindingsUnder("discord", "default", conversation)
		})
	}
	require.Equal(s, []string{"b2", "b3", "b5", "c1"}, under("C/general:1"), "its threads, inside and as conversations of their own")
	require.Equal(s, []string{"c1"}, under("thread-9"))
	require.Empty(s, under(""))
}

func testBindingBusy(s *suite) {
	a := s.session()
	busy := func() (busy bool, since core.Millis) {
		require.NoError(s, s.db.Read(s.Context(), func(tx *store.Tx) (err error) {
			busy, since, err = tx.SessionBusy(a.ID)
			return err
		}))
		return busy, since
	}
	is := func(wantBusy bool, wantSince core.Millis, why string) {
		s.Helper()
		b, since := busy()
		require.Equal(s, wantBusy, b, why)
		require.Equal(s, wantSince, since, why)
	}
	is(false, 0, "it never worked")
	id := s.put(store.Inbox{Session: a.ID, Kind: store.InboxMessage, Lane: store.LaneMain})
	is(true, 0, "queued input")
	s.write(func(tx *store.Tx) error { return tx.DeleteInbox(id) })
	turn := s.turn(a.ID)
	is(true, 0, "a turn in progress")
	s.write(func(tx *store.Tx) error { return tx.EndTurn(turn.ID, store.TurnDone, "", core.Usage{}, 700) })
	is(false, 700, "since its last turn")
	s.write(func(tx *store.Tx) error {
		return tx.InsertWait(store.Wait{Turn: turn.ID, Session: a.ID, Kind: "children"})
	})
	is(true, 0, "a wait")
	s.write(func(tx *store.Tx) error { return tx.DeleteWaits(a.ID) })
	is(false, 700, "the wait is over")
}
