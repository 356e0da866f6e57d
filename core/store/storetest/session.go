package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

func testSessions(s *suite) {
	want := store.Session{
		Key: "agent:main:discord:default:group:A%3AB", Agent: "main", Kind: core.SessionGroup, Address: address("t1"), Title: "General",
		ContextFrom: 7, ForkSession: 3, ForkGeneration: 2, ForkRow: 9, Depth: 2, Parent: 3, CreatedAt: 100, UsedAt: 200,
	}
	made := do(s, func(tx *store.Tx) (store.Session, error) { return tx.InsertSession(want) })
	require.NotZero(s, made.ID)
	want.ID, want.Generation = made.ID, 1
	require.Equal(s, want, made)
	require.Equal(s, want, s.sessionNow(made.ID))
	require.Equal(s, want, get(s, func(tx *store.Tx) (store.Session, error) { return tx.SessionByKey(want.Key) }))

	missing(s, func(tx *store.Tx) (store.Session, error) { return tx.SessionByID(made.ID + 1) })
	missing(s, func(tx *store.Tx) (store.Session, error) {
		return tx.SessionByKey("agent:main:discord:default:group:a%3Ab")
	})
	require.Error(s, s.db.Write(s.Context(), func(tx *store.Tx) error {
		_, err := tx.InsertSession(want)
		return err
	}), "the key is unique")

	s.write(func(tx *store.Tx) error { return tx.TouchSession(made.ID, 300) })
	require.Equal(s, core.Millis(300), s.sessionNow(made.ID).UsedAt)

	again := do(s, func(tx *store.Tx) (store.Session, error) {
		return tx.EnsureSession(store.Session{Key: want.Key, Agent: "other", UsedAt: 400})
	})
	require.Equal(s, s.sessionNow(made.ID), again, "an existing session is returned as it is")
	fresh := do(s, func(tx *store.Tx) (store.Session, error) {
		return tx.EnsureSession(store.Session{Key: "agent:main:main", Agent: "main", Kind: core.SessionMain, CreatedAt: 1, UsedAt: 1})
	})
	require.Equal(s, s.sessionNow(fresh.ID), fresh)

	for want := 1; want <= 3; want++ {
		require.Equal(s, want, do(s, func(tx *store.Tx) (int, error) { return tx.NextOrdinal(fresh.ID) }))
	}
	require.Equal(s, 1, do(s, func(tx *store.Tx) (int, error) { return tx.NextCompletion(fresh.ID) }))
	now := s.sessionNow(fresh.ID)
	require.Equal(s, []int{3, 1}, []int{now.Ordinals, now.Completions})

	s.write(func(tx *store.Tx) error { return tx.DeleteSession(fresh.ID) })
	missing(s, func(tx *store.Tx) (store.Session, error) { return tx.SessionByID(fresh.ID) })
	next := s.session()
	require.Greater(s, next.ID, fresh.ID, "an id is never given twice: rows elsewhere may still name it")
}

func testSessionLists(s *suite) {
	keys := func(archived bool, limit int) []string {
		return get(s, func(tx *store.Tx) (out []string, err error) {
			list, err := tx.Sessions(archived, limit)
			for _, r := range list {
				out = append(out, r.Key)
			}
			return out, err
		})
	}
	for i, key := range []string{"agent:a:main", "agent:a:subagent:01", "agent:a:subagent:02", "agent:ab:main", "agent:a:subagent:é"} {
		s.write(func(tx *store.Tx) error {
			_, err := tx.InsertSession(store.Session{Key: key, Agent: "a", Kind: core.SessionMain, CreatedAt: 1, UsedAt: core.Millis(10 - i)})
			return err
		})
	}
	require.Equal(s, []string{"agent:a:main", "agent:a:subagent:01"}, keys(false, 2), "most recently used first")
	require.Empty(s, keys(true, 10))

	above := s.session()
	for _, key := range []string{"agent:a:subagent:10", "agent:a:subagent:11"} {
		s.write(func(tx *store.Tx) error {
			_, err := tx.InsertSession(store.Session{Key: key, Agent: "a", Kind: core.SessionSubagent, Parent: above.ID})
			return err
		})
	}
	under := get(s, func(tx *store.Tx) ([]store.Session, error) { return tx.SessionsUnder(above.ID) })
	require.Len(s, under, 2)
	require.Equal(s, "agent:a:subagent:10", under[0].Key)
	require.Empty(s, get(s, func(tx *store.Tx) ([]store.Session, error) { return tx.SessionsUnder(0) }))
	for _, u := range append(under, above) {
		s.write(func(tx *store.Tx) error { return tx.DeleteSession(u.ID) })
	}

	prefixed := func(prefix string) (out []string) {
		for _, r := range get(s, func(tx *store.Tx) ([]store.Session, error) { return tx.SessionsByPrefix(prefix, 10) }) {
			out = append(out, r.Key)
		}
		return out
	}
	require.Equal(s, []string{"agent:a:subagent:01", "agent:a:subagent:02", "agent:a:subagent:é"}, prefixed("agent:a:subagent:"))
	require.Equal(s, []string{"agent:a:main"}, prefixed("agent:a:main"))
	require.Len(s, prefixed("agent:a"), 5)
	require.Empty(s, prefixed("Agent:"), "case counts")

	s.write(func(tx *store.Tx) error {
		r, err := tx.SessionByKey("agent:a:subagent:01")
		if err != nil {
			return err
		}
		return tx.ArchiveSession(r.ID, 50)
	})
	require.Equal(s, []string{"agent:a:subagent:01"}, keys(true, 10))
	require.Len(s, keys(false, 10), 4)
	require.Equal(s, []string{"agent:a:subagent:02", "agent:a:subagent:é", "agent:a:subagent:01"}, prefixed("agent:a:subagent:"), "archived ones last")
}

func testSessionArchive(s *suite) {
	a, b, c := s.session(), s.session(), s.session()
	next := func() core.Millis {
		return get(s, func(tx *store.Tx) (core.Millis, error) { return tx.NextArchiveDue() })
	}
	due := func(now core.Millis, limit int) (ids []int64) {
		for _, r := range get(s, func(tx *store.Tx) ([]store.Session, error) { return tx.ArchiveDueSessions(now, limit) }) {
			ids = append(ids, r.ID)
		}
		return ids
	}
	require.Zero(s, next())
	s.write(func(tx *store.Tx) error { return tx.SetArchiveDue(a.ID, 300) })
	s.write(func(tx *store.Tx) error { return tx.SetArchiveDue(b.ID, 100) })
	s.write(func(tx *store.Tx) error { return tx.SetArchiveDue(c.ID, 200) })
	require.Equal(s, core.Millis(100), next())
	require.Empty(s, due(99, 10))
	require.Equal(s, []int64{b.ID}, due(100, 10))
	require.Equal(s, []int64{b.ID, c.ID, a.ID}, due(300, 10))
	require.Equal(s, []int64{b.ID, c.ID}, due(300, 2))

	s.write(func(tx *store.Tx) error { return tx.SetArchiveDue(b.ID, 0) })
	s.write(func(tx *store.Tx) error { return tx.ArchiveSession(c.ID, 250) })
	require.Equal(s, []int64{a.ID}, due(300, 10))
	require.Equal(s, core.Millis(250), s.sessionNow(c.ID).ArchivedAt)
	live, key := s.live(c.ID)
	require.False(s, live)
	require.Equal(s, c.Key, key)

	back := do(s, func(tx *store.Tx) (store.Session, error) { return tx.EnsureSession(store.Session{Key: c.Key}) })
	require.Zero(s, back.ArchivedAt, "use brings an archived session back")
	require.Equal(s, back, s.sessionNow(c.ID))
	live, _ = s.live(c.ID)
	require.True(s, live)
	live, key = s.live(c.ID + 100)
	require.False(s, live)
	require.Empty(s, key)
}

// live asks whether a session lives.
func (s *suite) live(id int64) (live bool, key string) {
	s.Helper()
	require.NoError(s, s.db.Read(s.Context(), func(tx *store.Tx) (err error) {
		live, key, err = tx.SessionLive(id)
		return err
	}))
	return live, key
}

func testOwnership(s *suite) {
	a, b := s.session(), s.session()
	ready := func(limit int) []int64 {
		return get(s, func(tx *store.Tx) ([]int64, error) { return tx.ReadySessions(limit) })
	}
	require.Empty(s, ready(10))
	s.write(func(tx *store.Tx) error { return tx.MarkReady(a.ID, 100) })
	s.write(func(tx *store.Tx) error { return tx.MarkReady(b.ID, 101) })
	s.write(func(tx *store.Tx) error { return tx.MarkReady(a.ID, 102) })
	require.Equal(s, []int64{a.ID, b.ID}, ready(10), "being marked again does not move a session back")
	require.Equal(s, []int64{a.ID}, ready(1))
	require.Equal(s, core.Millis(102), s.sessionNow(a.ID).UsedAt)

	first := do(s, func(tx *store.Tx) (int64, error) { return tx.OwnSession(a.ID, "n1") })
	require.Equal(s, []int64{b.ID}, ready(10))
	now := s.sessionNow(a.ID)
	require.Equal(s, "n1", now.Owner)
	require.Equal(s, first, now.Fence)
	check := func(fence int64) error {
		return s.db.Write(s.Context(), func(tx *store.Tx) error { return tx.CheckFence(a.ID, fence) })
	}
	require.NoError(s, check(first))

	s.write(func(tx *store.Tx) error { return tx.RaiseFence(a.ID) })
	require.ErrorIs(s, check(first), store.ErrFenced)
	require.Empty(s, s.sessionNow(a.ID).Owner)
	second := do(s, func(tx *store.Tx) (int64, error) { return tx.OwnSession(a.ID, "n1") })
	require.Greater(s, second, first)
	require.ErrorIs(s, check(first), store.ErrFenced)
	require.NoError(s, check(second))
	require.ErrorIs(s, s.db.Write(s.Context(), func(tx *store.Tx) error { return tx.CheckFence(a.ID+100, 1) }), store.ErrNotFound)

	s.write(func(tx *store.Tx) error { return tx.ReleaseSession(a.ID, true, 200) })
	require.Equal(s, []int64{b.ID, a.ID}, ready(10), "a released session goes to the end")
	require.Empty(s, s.sessionNow(a.ID).Owner)
	s.write(func(tx *store.Tx) error { return tx.ReleaseSession(b.ID, false, 201) })
	require.Equal(s, []int64{a.ID}, ready(10))
}

func testNodes(s *suite) {
	dead, mine, idle := s.session(), s.session(), s.session()
	s.write(func(tx *store.Tx) error { return tx.RegisterNode("old", 1) })
	s.write(func(tx *store.Tx) error {
		if _, err := tx.OwnSession(dead.ID, "old"); err != nil {
			return err
		}
		_, err := tx.OwnSession(mine.ID, "new")
		return err
	})
	before := s.sessionNow(dead.ID).Fence
	freed := do(s, func(tx *store.Tx) (int64, error) {
		if err := tx.RegisterNode("new", 2); err != nil {
			return 0, err
		}
		return tx.FreeForeignSessions("new", 3)
	})
	require.Equal(s, int64(1), freed)
	require.Equal(s, []int64{dead.ID}, get(s, func(tx *store.Tx) ([]int64, error) { return tx.ReadySessions(10) }))
	now := s.sessionNow(dead.ID)
	require.Greater(s, now.Fence, before, "the dead node's turn can write nothing any more")
	require.Empty(s, now.Owner)
	require.Equal(s, "new", s.sessionNow(mine.ID).Owner)
	require.False(s, s.sessionNow(idle.ID).Ready)
}

func testSettings(s *suite) {
	a, b := s.session(), s.session()
	value := func(id int64, name string) string {
		return get(s, func(tx *store.Tx) (string, error) { return tx.Setting(id, name) })
	}
	set := func(id int64, name, v string) {
		s.write(func(tx *store.Tx) error { return tx.SetSetting(id, name, v) })
	}
	require.Empty(s, value(a.ID, "queue"))
	set(a.ID, "queue", "collect")
	set(a.ID, "tone", "dry")
	set(a.ID, "model", "local/m1")
	set(b.ID, "queue", "followup")
	set(a.ID, "queue", "steer")
	require.Equal(s, []string{"steer", "local/m1", "followup"}, []string{value(a.ID, "queue"), value(a.ID, "model"), value(b.ID, "queue")})
	require.Equal(s, "steer", s.sessionNow(a.ID).QueueMode, "the session row has the queue mode")
	require.Equal(s, "local/m1", s.sessionNow(a.ID).Model, "and the model")
	require.Equal(s, []string{"dry", ""}, []string{value(a.ID, "tone"), value(b.ID, "tone")})
	set(a.ID, "tone", "")
	require.Empty(s, value(a.ID, "tone"))
	set(a.ID, "queue", "")
	set(a.ID, "never", "")
	require.Empty(s, value(a.ID, "queue"))
	require.Equal(s, "local/m1", value(a.ID, "model"))
}

func testInstance(s *suite) {
	name := func(fresh string) string {
		return do(s, func(tx *store.Tx) (string, error) { return tx.Instance(fresh) })
	}
	require.Equal(s, "first", name("first"))
	require.Equal(s, "first", name("second"))
	s.reopen()
	require.Equal(s, "first", name("third"), "a store keeps its name")
}

// testMigrate: a conversation that gets another id keeps its sessions, and
// what is on its way finds it.
func testMigrate(s *suite) {
	from := core.Address{Channel: "telegram", Account: "default", Conversation: "-1"}
	to := core.Address{Channel: "telegram", Account: "default", Conversation: "-100:1"}
	add := func(a core.Address) store.Session {
		return do(s, func(tx *store.Tx) (store.Session, error) {
			return tx.InsertSession(store.Session{Key: core.GroupKey("main", a).String(), Agent: "main", Kind: core.SessionGroup, Address: a})
		})
	}
	second := from
	second.Account = "second"
	group, topic, other := add(from), add(from.InThread("7")), add(second)
	s.put(store.Inbox{Session: topic.ID, Kind: store.InboxMessage, Lane: store.LaneMain, ReplyTo: from.InThread("7"), Body: "in"})
	s.see("s1", from.InThread("7").Place(), 1)
	s.see("s2", second.Place(), 1)
	out, sent, theirs := s.post(store.Outbox{Address: from.InThread("7")}), s.post(store.Outbox{Address: from}), s.post(store.Outbox{Address: second})
	s.write(func(tx *store.Tx) error {
		_, err := tx.RecordReceipt(sent, 0, "p", true, 1)
		return err
	})

	s.write(func(tx *store.Tx) error { return tx.MigrateConversation(from, to) })
	for id, want := range map[int64]core.Address{group.ID: to, topic.ID: to.InThread("7"), other.ID: second} {
		now := s.sessionNow(id)
		require.Equal(s, want, now.Address)
		require.Equal(s, core.GroupKey("main", want).String(), now.Key)
	}
	rows := get(s, func(tx *store.Tx) ([]store.Inbox, error) { return tx.QueuedInbox(topic.ID, 10) })
	require.Equal(s, to.InThread("7"), rows[0].ReplyTo)
	require.Equal(s, []string{"s1"}, s.takeSeen(to.InThread("7").Place(), 10))
	require.Equal(s, []string{"s2"}, s.takeSeen(second.Place(), 10))
	for id, want := range map[int64]core.Address{out: to.InThread("7"), sent: from, theirs: second} {
		require.Equal(s, want, s.outboxNow(id).Address)
	}
}
