package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

func testSpawnKeys(s *suite) {
	keep := func(requester, key, run, result string) {
		s.write(func(tx *store.Tx) error { return tx.KeepSpawnResult(requester, key, run, result) })
	}
	result := func(requester, key string) string {
		return get(s, func(tx *store.Tx) (string, error) { return tx.SpawnResult(requester, key) })
	}
	missing(s, func(tx *store.Tx) (string, error) { return tx.SpawnResult("run/1", "k") })
	keep("run/1", "k", "01RUN01", "first")
	keep("run/1", "k", "01RUN02", "second")
	keep("turn/1", "k", "01RUN02", "of a chat")
	require.Equal(s, "first", result("run/1", "k"))
	require.Equal(s, "of a chat", result("turn/1", "k"))
	missing(s, func(tx *store.Tx) (string, error) { return tx.SpawnResult("run/1", "K") })

	child := s.session()
	s.addRun(newRun(3, 7, child.ID))
	keep("run/1", "x", "01RUN03", "third")
	s.write(func(tx *store.Tx) error {
		e := tx.NewErasure()
		e.Session(child.ID)
		_, err := e.Counts()
		return err
	})
	missing(s, func(tx *store.Tx) (string, error) { return tx.SpawnResult("run/1", "x") })
	require.Equal(s, "first", result("run/1", "k"))
}

func testSessionGroup(s *suite) {
	made := do(s, func(tx *store.Tx) (store.Session, error) {
		return tx.InsertSession(store.Session{Key: "agent:main:dashboard:1", Agent: "main", Kind: core.SessionDashboard, Group: "work", CreatedAt: 1, UsedAt: 1})
	})
	s.reopen()
	got := get(s, func(tx *store.Tx) (store.Session, error) { return tx.SessionByID(made.ID) })
	require.Equal(s, "work", got.Group)
	require.Equal(s, core.SessionDashboard, got.Kind)
}

func testWithheld(s *suite) {
	withheld := func(turn int64) map[int]string {
		return get(s, func(tx *store.Tx) (map[int]string, error) { return tx.Withheld(turn) })
	}
	keep := func(turn int64, seq int, args string) {
		s.write(func(tx *store.Tx) error { return tx.Withhold(turn, seq, args, 10) })
	}
	keep(1, 2, `{"a":1}`)
	keep(1, 3, `{"b":1}`)
	keep(1, 3, `{"b":2}`) // the unit ran again
	keep(2, 2, `{"c":1}`)
	require.Equal(s, map[int]string{2: `{"a":1}`, 3: `{"b":2}`}, withheld(1))
	s.write(func(tx *store.Tx) error { return tx.DropWithheld(1, 2) })
	require.Equal(s, map[int]string{3: `{"b":2}`}, withheld(1))
	s.write(func(tx *store.Tx) error { return tx.DropWithheldOf(1) })
	require.Empty(s, withheld(1))
	require.Len(s, withheld(2), 1)
}

func testAttachments(s *suite) {
	a := store.Attachment{Session: s.session().ID, Root: "/ws", Dir: ".skein/attachments/1", Files: 2, Bytes: 30}
	b := a
	b.Session = s.session().ID
	of := func(session int64) store.Attachment {
		return get(s, func(tx *store.Tx) (store.Attachment, error) { return tx.AttachmentOf(session) })
	}
	next := func() core.Millis {
		return get(s, func(tx *store.Tx) (core.Millis, error) { return tx.NextGoneAttachment() })
	}
	for _, x := range []store.Attachment{a, b} {
		s.write(func(tx *store.Tx) error { return tx.InsertAttachment(x, 10) })
	}
	s.reopen()
	require.Equal(s, a, of(a.Session))
	missing(s, func(tx *store.Tx) (store.Attachment, error) { return tx.AttachmentOf(b.Session + 1) })
	require.Zero(s, next())

	letGo := func(session int64) bool {
		return do(s, func(tx *store.Tx) (bool, error) { return tx.LetGoOfAttachment(session, 20) })
	}
	require.True(s, letGo(a.Session))
	require.False(s, letGo(a.Session), "once")
	require.False(s, letGo(b.Session+1))
	require.EqualValues(s, 20, next())
	take := func(now core.Millis) []store.Attachment {
		return do(s, func(tx *store.Tx) ([]store.Attachment, error) { return tx.TakeGoneAttachments(now, now+100, 10) })
	}
	require.Empty(s, take(19))
	require.Equal(s, []store.Attachment{a}, take(20))
	require.EqualValues(s, 120, next(), "it is tried again")
	s.write(func(tx *store.Tx) error { return tx.LeftoversDue(30) })
	require.EqualValues(s, 30, next(), "at once where the process is another")
	s.write(func(tx *store.Tx) error { return tx.LeftoversDue(40) })
	require.EqualValues(s, 30, next())
	require.Equal(s, []store.Attachment{a}, take(30))
	s.write(func(tx *store.Tx) error { return tx.DeleteAttachment(a.Session) })
	require.Zero(s, next())

	s.write(func(tx *store.Tx) error { return tx.ArchiveSession(b.Session, 50) })
	require.Equal(s, int64(1), s.sweep(store.GrownArchived, 100, 100))
	require.Equal(s, b, of(b.Session), "the row outlives its session, until the folder is removed")
	require.EqualValues(s, 10, next())
}

func testIntentAgain(s *suite) {
	open := func(body string) {
		s.write(func(tx *store.Tx) error {
			return tx.InsertIntent(store.Intent{Turn: 1, Seq: 2, Kind: "spawn", Ref: "r", Body: body, At: 5})
		})
	}
	open("one")
	s.write(func(tx *store.Tx) error { return tx.CloseIntent(1, 2, "undone") })
	open("two")
	in := get(s, func(tx *store.Tx) (store.Intent, error) { return tx.IntentAt(1, 2) })
	require.Equal(s, store.Intent{Turn: 1, Seq: 2, Kind: "spawn", State: "open", Ref: "r", Body: "two", At: 5}, in)
}

func testWorktrees(s *suite) {
	w := store.Worktree{ID: "01A", Session: 7, Name: "fix", Repo: "/r/.git", Path: "/s/x/fix", Branch: "skein/fix", State: store.WorktreeReserved, CreatedAt: 10}
	reserve := func(w store.Worktree) bool {
		return do(s, func(tx *store.Tx) (bool, error) { return tx.ReserveWorktree(w) })
	}
	require.True(s, reserve(w))
	other := w
	other.ID, other.Session = "01B", 8
	require.False(s, reserve(other), "a path is one worktree's")
	other.Path, other.Name = "/s/x/fix-2", "fix-2"
	require.True(s, reserve(other))
	s.reopen()
	of := func(session int64) store.Worktree {
		return get(s, func(tx *store.Tx) (store.Worktree, error) { return tx.WorktreeOf(session) })
	}
	require.Equal(s, w, of(7))
	missing(s, func(tx *store.Tx) (store.Worktree, error) { return tx.WorktreeOf(9) })
	next := func() core.Millis {
		return get(s, func(tx *store.Tx) (core.Millis, error) { return tx.NextWorktree(100) })
	}
	end := func() bool {
		return do(s, func(tx *store.Tx) (bool, error) { return tx.EndWorktree(7, 50) })
	}
	take := func(now core.Millis) []store.Worktree {
		return do(s, func(tx *store.Tx) ([]store.Worktree, error) { return tx.TakeWorktrees(now, now+60, 100, 10) })
	}
	require.False(s, end(), "its spawn is in progress")
	w.State, w.Base = store.WorktreeLive, "abc"
	s.write(func(tx *store.Tx) error { return tx.SetWorktree(w) })
	require.Equal(s, w, of(7))
	require.Zero(s, next())
	require.True(s, end())
	require.False(s, end())
	require.EqualValues(s, 50, next())
	require.Empty(s, take(49))
	w.State, w.EndedAt = store.WorktreeEnding, 50
	require.Equal(s, []store.Worktree{w}, take(50))
	require.EqualValues(s, 110, next())
	s.write(func(tx *store.Tx) error { return tx.LeftoversDue(60) })
	require.EqualValues(s, 60, next(), "at once where the process is another")
	w.EndedAt = 60
	require.Equal(s, []store.Worktree{w}, take(60))
	w.State, w.EndedAt, w.Snapshot, w.Detail = store.WorktreeSnapshot, 200, "def", "1 files were not committed"
	s.write(func(tx *store.Tx) error { return tx.SetWorktree(w) })
	require.EqualValues(s, 300, next(), "a snapshot is kept for a while")
	require.Empty(s, take(299))
	s.write(func(tx *store.Tx) error { return tx.LeftoversDue(100) })
	require.EqualValues(s, 300, next(), "whoever starts")
	require.Len(s, take(300), 1)
	list := get(s, func(tx *store.Tx) ([]store.Worktree, error) { return tx.Worktrees(10) })
	require.Len(s, list, 2)
	found := get(s, func(tx *store.Tx) ([]store.Worktree, error) { return tx.WorktreesByPrefix("01A", 10) })
	require.Len(s, found, 1)
	found = get(s, func(tx *store.Tx) ([]store.Worktree, error) { return tx.WorktreesNamed("fix-2", 10) })
	require.Equal(s, []store.Worktree{other}, found)
	s.write(func(tx *store.Tx) error { return tx.DeleteWorktree("01A") })
	missing(s, func(tx *store.Tx) (store.Worktree, error) { return tx.WorktreeOf(7) })
}
