package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// post queues an outgoing message and returns its id.
func (s *suite) post(r store.Outbox) int64 {
	s.Helper()
	if r.Address.IsZero() {
		r.Address = address("t1")
	}
	if r.Kind == "" {
		r.Kind = store.OutFinal
	}
	var id int64
	s.write(func(tx *store.Tx) (err error) {
		id, _, err = tx.InsertOutbox(r)
		return err
	})
	require.NotZero(s, id)
	return id
}

func (s *suite) outboxNow(id int64) store.Outbox {
	s.Helper()
	return get(s, func(tx *store.Tx) (store.Outbox, error) { return tx.OutboxByID(id) })
}

// outboxIDs reads a list of messages and returns their ids.
func (s *suite) outboxIDs(list func(tx *store.Tx) ([]store.Outbox, error)) []int64 {
	s.Helper()
	out := []int64{}
	for _, r := range get(s, list) {
		out = append(out, r.ID)
	}
	return out
}

func testOutbox(s *suite) {
	want := store.Outbox{
		OnceKey: "completion/r1/1", Kind: store.OutFinal, Address: address("t1"), Anchor: "m1", Persona: "Cats", Text: "done — héllo",
		Session: 7, Run: "r1", Tells: []string{"r1", "r2"}, Owner: "discord:u1", At: 100,
	}
	want.ID = s.post(want)
	want.State = store.OutQueued
	require.Equal(s, want, s.outboxNow(want.ID))
	require.Equal(s, want, get(s, func(tx *store.Tx) (store.Outbox, error) { return tx.OutboxByOnce(want.OnceKey) }))
	missing(s, func(tx *store.Tx) (store.Outbox, error) { return tx.OutboxByOnce("completion/r1/2") })
	missing(s, func(tx *store.Tx) (store.Outbox, error) { return tx.OutboxByID(want.ID + 1) })

	second := s.post(store.Outbox{Text: "2"})
	elsewhere := s.post(store.Outbox{Text: "3", Address: core.Address{Channel: "discord", Account: "second", Conversation: "c"}})
	open := func(account string, after int64, limit int) []int64 {
		return s.outboxIDs(func(tx *store.Tx) ([]store.Outbox, error) { return tx.OpenOutbox("discord", account, after, limit) })
	}
	require.Equal(s, []int64{want.ID, second}, open("default", 0, 10), "oldest first")
	require.Equal(s, []int64{second}, open("default", want.ID, 10))
	require.Equal(s, []int64{want.ID}, open("default", 0, 1))
	require.Equal(s, []int64{elsewhere}, open("second", 0, 10))
	require.Empty(s, open("third", 0, 10))
	list := func(state store.OutboxState, limit int) []int64 {
		return s.outboxIDs(func(tx *store.Tx) ([]store.Outbox, error) { return tx.ListOutbox(state, limit) })
	}
	require.Equal(s, []int64{elsewhere, second}, list("", 2), "newest first")
	require.Equal(s, []int64{elsewhere, second, want.ID}, list(store.OutQueued, 10))
	require.Empty(s, list(store.OutSent, 10))
	accounts := func() [][2]string {
		return get(s, func(tx *store.Tx) ([][2]string, error) { return tx.OutboxOpen() })
	}
	require.ElementsMatch(s, [][2]string{{"discord", "default"}, {"discord", "second"}}, accounts())

	count := func(account string) int {
		return get(s, func(tx *store.Tx) (int, error) { return tx.CountOpen("discord", account) })
	}
	require.Equal(s, []int{2, 1, 0}, []int{count("default"), count("second"), count("third")})

	update := want
	update.State, update.Attempts, update.NextAt, update.PartsSent, update.Resent = store.OutFailed, 3, 400, 1, true
	update.Error, update.FirstTry, update.EndedAt, update.Text, update.Anchor = "refused", 300, 500, "plain", ""
	update.Persona = ""
	update.Address = core.Address{Channel: "discord", Account: "default", Conversation: "parent"}
	ok := do(s, func(tx *store.Tx) (bool, error) { return tx.UpdateOutbox(update) })
	require.True(s, ok)
	require.Equal(s, update, s.outboxNow(want.ID))
	update.State = store.OutQueued
	ok = do(s, func(tx *store.Tx) (bool, error) { return tx.UpdateOutbox(update) })
	require.False(s, ok, "what is at an end is not written over")
	require.Equal(s, store.OutFailed, s.outboxNow(want.ID).State)
	require.Equal(s, 1, count("default"))
}

func testOutboxOnce(s *suite) {
	post := func(key string) (fresh bool) {
		s.write(func(tx *store.Tx) (err error) {
			var id int64
			id, fresh, err = tx.InsertOutbox(store.Outbox{OnceKey: key, Kind: store.OutFinal, Address: address(""), Text: "x"})
			if err == nil && fresh != (id != 0) {
				return unitError{"an id exactly for what is fresh"}
			}
			return err
		})
		return fresh
	}
	require.True(s, post("k"))
	require.False(s, post("k"))
	require.True(s, post(""))
	require.True(s, post(""), "without a key every message is its own")
	s.write(func(tx *store.Tx) error {
		r, err := tx.OutboxByOnce("k")
		if err != nil {
			return err
		}
		_, err = tx.RecordReceipt(r.ID, 0, "p1", true, 5)
		return err
	})
	s.reopen()
	require.False(s, post("k"), "a key stays taken after the message was sent, and over a restart")
}

func testOutboxStates(s *suite) {
	state := func(id int64) store.OutboxState { return s.outboxNow(id).State }
	move := func(id int64, to store.OutboxState) {
		s.Helper()
		r := s.outboxNow(id)
		r.State, r.Attempts, r.EndedAt, r.Error = to, 4, 50, "why"
		require.True(s, do(s, func(tx *store.Tx) (bool, error) { return tx.UpdateOutbox(r) }))
	}
	mark := func(id int64) bool {
		return do(s, func(tx *store.Tx) (bool, error) { return tx.MarkSending(id, 70, false) })
	}
	reopen := func(id int64) bool { return do(s, func(tx *store.Tx) (bool, error) { return tx.ReopenOutbox(id) }) }
	dismiss := func(id int64) bool {
		return do(s, func(tx *store.Tx) (bool, error) { return tx.DismissOutbox(id, 60) })
	}

	for _, to := range []store.OutboxState{store.OutAmbiguous, store.OutFailed, store.OutBlocked} {
		id := s.post(store.Outbox{Text: string(to)})
		require.False(s, reopen(id), "what is queued is open")
		require.False(s, dismiss(id), "what is queued is no trouble")
		require.True(s, mark(id))
		require.Equal(s, store.OutSending, state(id))
		require.Equal(s, core.Millis(70), s.outboxNow(id).FirstTry)
		require.True(s, mark(id), "a try again")
		move(id, to)
		require.False(s, mark(id), "what is at an end is not sent")
		require.True(s, dismiss(id))
		require.Equal(s, store.OutDismissed, state(id))
		require.False(s, dismiss(id))
		require.True(s, reopen(id))
		move(id, to)
		require.True(s, reopen(id))
		now := s.outboxNow(id)
		require.Equal(s, store.Outbox{
			ID: id, Kind: store.OutFinal, Address: address("t1"), Text: string(to), State: store.OutQueued, Resent: to == store.OutAmbiguous,
		}, now, "it starts anew; what may have been sent is marked")
	}

	// A stop takes back answers that have not left, and nothing else.
	ids := map[store.OutboxKind]int64{}
	for _, k := range []store.OutboxKind{store.OutFinal, store.OutProgress, store.OutNotice, store.OutCommand, store.OutSend, store.OutFarewell} {
		ids[k] = s.post(store.Outbox{Kind: k, Session: 7, Text: string(k)})
	}
	progress := func() int {
		return len(do(s, func(tx *store.Tx) ([]store.Outbox, error) { return tx.LatestProgress(7, 10) }))
	}
	require.Equal(s, 1, progress())
	leaving := s.post(store.Outbox{Session: 7, Text: "leaving"})
	require.True(s, mark(leaving))
	other := s.post(store.Outbox{Session: 8, Text: "other"})
	require.Equal(s, int64(3), do(s, func(tx *store.Tx) (int64, error) { return tx.WithdrawOutbox(7, 80) }))
	require.Zero(s, progress(), "it was taken back")
	for k, id := range ids {
		want := store.OutQueued
		if k == store.OutFinal || k == store.OutProgress || k == store.OutNotice {
			want = store.OutWithdrawn
			require.False(s, mark(id))
			require.False(s, reopen(id))
		}
		require.Equal(s, want, state(id), k)
	}
	require.Equal(s, []store.OutboxState{store.OutSending, store.OutQueued}, []store.OutboxState{state(leaving), state(other)})
}

func testOutboxParts(s *suite) {
	id := s.post(store.Outbox{Text: "three parts"})
	receipt := func(part int, platformID string, last bool) store.OutboxState {
		return do(s, func(tx *store.Tx) (store.OutboxState, error) { return tx.RecordReceipt(id, part, platformID, last, 90) })
	}
	parts := func() []string { return get(s, func(tx *store.Tx) ([]string, error) { return tx.SentParts(id) }) }
	require.Empty(s, parts())
	mark := func() bool {
		return do(s, func(tx *store.Tx) (bool, error) { return tx.MarkSending(id, 70, true) })
	}
	require.True(s, mark())
	require.Equal(s, store.OutSending, receipt(0, "p0", false))
	now := s.outboxNow(id)
	require.Equal(s, []int{1, 0}, []int{now.PartsSent, now.Attempts}, "the next part starts with fresh tries")
	require.Zero(s, now.FirstTry)
	receipt(1, "p1", false)
	receipt(1, "p1b", false)
	require.Equal(s, []string{"p0", "p1b"}, parts(), "a part has one id")
	require.Equal(s, store.OutSent, receipt(2, "p2", true))
	require.Equal(s, []string{"p0", "p1b", "p2"}, parts())
	now = s.outboxNow(id)
	require.Equal(s, core.Millis(90), now.EndedAt)
	require.Equal(s, 3, now.PartsSent)
	require.False(s, mark())

	// Withdrawn while it was on its way: the record says what happened.
	id = s.post(store.Outbox{Text: "late", Session: 7})
	require.Equal(s, int64(1), do(s, func(tx *store.Tx) (int64, error) { return tx.WithdrawOutbox(7, 80) }))
	require.Equal(s, store.OutWithdrawn, receipt(0, "p0", false))
	require.Equal(s, store.OutSent, receipt(1, "p1", true))
}

func testPreviews(s *suite) {
	at := address("t1")
	kind := func(k store.OutboxKind, preview int64) store.Outbox {
		return store.Outbox{Kind: k, Address: at, Session: 7, Text: "It", Preview: preview}
	}
	open := func() []int64 {
		return s.outboxIDs(func(tx *store.Tx) ([]store.Outbox, error) { return tx.OpenPreviews(7) })
	}
	standing := func() []string {
		return get(s, func(tx *store.Tx) ([]string, error) { return tx.StandingPreviews(at) })
	}
	claimed := func(id int64) bool {
		return get(s, func(tx *store.Tx) (bool, error) { return tx.PreviewClaimed(id) })
	}
	p := s.post(kind(store.OutPreview, 0))
	s.post(kind(store.OutFinal, 0))
	require.Equal(s, []int64{p}, open())
	require.Empty(s, standing(), "it has no id yet")
	s.write(func(tx *store.Tx) error { _, err := tx.RecordReceipt(p, 0, "m1", true, 5); return err })
	require.Equal(s, []int64{p}, open())
	require.Equal(s, []string{"m1"}, standing())
	require.False(s, claimed(p))
	require.Empty(s, s.outboxIDs(func(tx *store.Tx) ([]store.Outbox, error) { return tx.OpenPreviews(8) }))

	final := s.post(kind(store.OutFinal, p))
	require.Equal(s, p, s.outboxNow(final).Preview)
	require.True(s, claimed(p))
	require.Empty(s, open())
	s.write(func(tx *store.Tx) error { _, err := tx.WithdrawOutbox(7, 6); return err })
	require.False(s, claimed(p), "an answer that was taken back replaces nothing")
	require.Equal(s, []int64{p}, open())

	s.write(func(tx *store.Tx) error { return tx.ClosePreview(p, 9) })
	require.Equal(s, store.OutWithdrawn, s.outboxNow(p).State)
	require.Empty(s, open())
	require.Empty(s, standing())
	s.write(func(tx *store.Tx) error { return tx.ClosePreview(final, 9) })
	require.Equal(s, core.Millis(6), s.outboxNow(final).EndedAt, "no preview")
}
