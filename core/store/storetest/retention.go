package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

func (s *suite) oldest(g store.Grown) core.Millis {
	s.Helper()
	return get(s, func(tx *store.Tx) (core.Millis, error) { return tx.Oldest(g) })
}

func (s *suite) sweep(g store.Grown, before core.Millis, limit int) int64 {
	s.Helper()
	return do(s, func(tx *store.Tx) (int64, error) { return tx.Sweep(g, before, limit) })
}

func testRetention(s *suite) {
	all := []store.Grown{store.GrownDedupe, store.GrownOutbox, store.GrownNotices, store.GrownArchived, store.GrownTranscript,
		store.GrownTurns, store.GrownAlerts, store.GrownPace, store.GrownTalks, store.GrownUsage, store.GrownSpend, store.GrownSpendDays, store.GrownHistory}
	for _, g := range all {
		require.Zero(s, s.oldest(g), "%s of an empty store", g)
		require.Zero(s, s.sweep(g, 1_000, 100), "%s", g)
	}
	require.Error(s, s.db.Write(s.Context(), func(tx *store.Tx) error {
		_, err := tx.Sweep("session", 1_000, 100)
		return err
	}))

	for i, key := range []string{"a", "b", "c"} {
		s.write(func(tx *store.Tx) error {
			if _, err := tx.InsertDedupe(key, core.Millis(10*(i+1))); err != nil {
				return err
			}
			_, err := tx.FirstNotice(key, core.Millis(10*(i+1)), 0)
			return err
		})
		s.see(key, address("t1").Place(), core.Millis(10*(i+1)))
	}
	for _, g := range []store.Grown{store.GrownDedupe, store.GrownNotices, store.GrownHistory} {
		require.Equal(s, core.Millis(10), s.oldest(g), "%s", g)
		require.Equal(s, int64(1), s.sweep(g, 30, 1), "%s: the limit", g)
		require.Equal(s, int64(1), s.sweep(g, 30, 100), "%s: what is as old as the limit stays", g)
		require.Equal(s, core.Millis(30), s.oldest(g), "%s", g)
	}
	require.True(s, do(s, func(tx *store.Tx) (bool, error) { return tx.InsertDedupe("a", 40) }), "a key that was swept is forgotten")

	sent, open := s.post(store.Outbox{OnceKey: "k", At: 10}), s.post(store.Outbox{At: 10})
	blocked := s.post(store.Outbox{At: 10})
	s.write(func(tx *store.Tx) error {
		_, err := tx.UpdateOutbox(store.Outbox{ID: blocked, State: store.OutBlocked, EndedAt: 15})
		return err
	})
	require.Zero(s, s.oldest(store.GrownOutbox), "what is not at an end is kept, and what somebody must decide")
	s.write(func(tx *store.Tx) error {
		_, err := tx.RecordReceipt(sent, 0, "p1", true, 20)
		return err
	})
	require.Equal(s, core.Millis(20), s.oldest(store.GrownOutbox))
	require.Zero(s, s.sweep(store.GrownOutbox, 20, 100))
	require.Equal(s, int64(1), s.sweep(store.GrownOutbox, 21, 100))
	missing(s, func(tx *store.Tx) (store.Outbox, error) { return tx.OutboxByID(sent) })
	require.Empty(s, get(s, func(tx *store.Tx) ([]string, error) { return tx.SentParts(sent) }))
	require.Equal(s, store.OutQueued, s.outboxNow(open).State)
	require.Equal(s, store.OutBlocked, s.outboxNow(blocked).State)
}

func testRetentionOfSessions(s *suite) {
	parent, idle := s.session(), s.session()
	last := s.append(parent.ID, "one", "two", "three")
	fork := s.fork(parent.ID, last)
	s.turn(parent.ID)
	archive := func(id int64, at core.Millis) { s.write(func(tx *store.Tx) error { return tx.ArchiveSession(id, at) }) }
	archive(parent.ID, 50)
	require.Zero(s, s.oldest(store.GrownArchived), "a fork still needs it")
	archive(fork.ID, 60)
	require.Equal(s, core.Millis(60), s.oldest(store.GrownArchived))
	require.Equal(s, int64(1), s.sweep(store.GrownArchived, 100, 100))
	require.Equal(s, core.Millis(50), s.oldest(store.GrownArchived))
	require.Equal(s, int64(2), s.sweep(store.GrownArchived, 100, 2), "its transcript goes first, in batches")
	require.Equal(s, int64(1), s.sweep(store.GrownArchived, 100, 2))
	require.Equal(s, int64(1), s.sweep(store.GrownArchived, 100, 2))
	require.Zero(s, s.sweep(store.GrownArchived, 100, 2))
	missing(s, func(tx *store.Tx) (store.Session, error) { return tx.SessionByID(parent.ID) })
	require.Equal(s, idle.Key, s.sessionNow(idle.ID).Key, "what is not archived is kept")

	for i, text := range []string{"old", "newer", "at work"} {
		row := store.Row{Session: idle.ID, Generation: 1, Kind: "user", Body: text, At: core.Millis(10 * (i + 1))}
		if text == "at work" {
			row.Turn = s.turn(idle.ID).ID
		}
		do(s, func(tx *store.Tx) (int64, error) { return tx.AppendRow(row) })
	}
	require.Equal(s, core.Millis(10), s.oldest(store.GrownTranscript))
	require.Equal(s, int64(1), s.sweep(store.GrownTranscript, 100, 1))
	require.Equal(s, []string{"newer", "at work"}, s.whole(idle.ID), "the oldest goes first")
	require.Equal(s, int64(1), s.sweep(store.GrownTranscript, 100, 100))
	require.Equal(s, []string{"at work"}, s.whole(idle.ID), "a turn that goes on keeps its rows")
}

// testRetentionOfTurns: turns go with their tool calls, but for those that
// something may still continue.
func testRetentionOfTurns(s *suite) {
	session := s.session()
	made := make(map[string]store.Turn)
	for _, name := range []string{"waits", "old", "opens", "works", "newer", "running"} {
		t := s.turn(session.ID)
		if name == "works" {
			t = do(s, func(tx *store.Tx) (store.Turn, error) {
				return tx.InsertTurn(store.Turn{Session: session.ID, Generation: 1, Kind: store.InboxTask, Lane: store.LaneSubagent, Run: "01RUN"})
			})
		}
		made[name] = t
		s.write(func(tx *store.Tx) error {
			return tx.StartStep(store.Step{Turn: t.ID, Seq: 1, CallID: "c", Tool: "x"}, 1)
		})
		at := core.Millis(20)
		switch name {
		case "running":
			continue
		case "old":
			at = 10
		}
		s.write(func(tx *store.Tx) error { return tx.EndTurn(t.ID, store.TurnDone, "", core.Usage{}, at) })
	}
	s.write(func(tx *store.Tx) error {
		if err := tx.InsertWait(store.Wait{Turn: made["waits"].ID, Session: session.ID, Kind: "children"}); err != nil {
			return err
		}
		if err := tx.InsertIntent(store.Intent{Turn: made["opens"].ID, Seq: 1, Kind: "spawn"}); err != nil {
			return err
		}
		return tx.InsertRun(core.Run{ID: "01RUN", Root: "01RUN", TaskID: "01TASK", Session: session.ID, SessionKey: session.Key, Status: core.RunQueued, Delivery: core.DeliveryPending})
	})
	left := func() (names []string) {
		s.Helper()
		for _, name := range []string{"waits", "old", "opens", "works", "newer", "running"} {
			steps := get(s, func(tx *store.Tx) ([]store.Step, error) { return tx.Steps(made[name].ID) })
			err := s.db.Read(s.Context(), func(tx *store.Tx) error {
				_, err := tx.TurnByID(made[name].ID)
				return err
			})
			require.Equal(s, err == nil, len(steps) == 1, name)
			if err == nil {
				names = append(names, name)
			}
		}
		return names
	}
	require.Equal(s, core.Millis(10), s.oldest(store.GrownTurns))
	require.Equal(s, int64(1), s.sweep(store.GrownTurns, 20, 100))
	require.Equal(s, int64(1), s.sweep(store.GrownTurns, 100, 100))
	require.Equal(s, []string{"waits", "opens", "works", "running"}, left())
	s.write(func(tx *store.Tx) error {
		if err := tx.DeleteWait(made["waits"].ID); err != nil {
			return err
		}
		if err := tx.CloseIntent(made["opens"].ID, 1, ""); err != nil {
			return err
		}
		_, err := tx.EndRun("01RUN", core.RunOK, "", "", false, core.DeliveryDelivered, 30)
		return err
	})
	require.Equal(s, int64(3), s.sweep(store.GrownTurns, 100, 100))
	require.Equal(s, []string{"running"}, left())
}

// testRetentionOfTranscripts: what a turn in progress or a live fork reads
// stays.
func testRetentionOfTranscripts(s *suite) {
	busy, parent := s.session(), s.session()
	say := func(session int64, text string) int64 {
		return do(s, func(tx *store.Tx) (int64, error) {
			return tx.AppendRow(store.Row{Session: session, Generation: 1, Kind: "user", Body: text, At: 10})
		})
	}
	say(busy.ID, "said")
	last := say(parent.ID, "told")
	fork := s.fork(parent.ID, last)
	s.write(func(tx *store.Tx) error {
		if _, err := tx.OwnSession(busy.ID, "n1"); err != nil {
			return err
		}
		return tx.InsertRun(core.Run{ID: "01RUN", Root: "01RUN", TaskID: "01TASK", Session: fork.ID, SessionKey: fork.Key, Status: core.RunRunning, Delivery: core.DeliveryPending})
	})
	require.Zero(s, s.sweep(store.GrownTranscript, 1_000_000, 100))
	s.write(func(tx *store.Tx) error { return tx.ReleaseSession(busy.ID, false, 1) })
	require.Equal(s, int64(1), s.sweep(store.GrownTranscript, 1_000_000, 100))
	require.Equal(s, []string{"told"}, s.whole(fork.ID))
	s.write(func(tx *store.Tx) error {
		_, err := tx.EndRun("01RUN", core.RunOK, "", "", false, core.DeliveryDelivered, 30)
		return err
	})
	require.Equal(s, int64(1), s.sweep(store.GrownTranscript, 1_000_000, 100))
}
