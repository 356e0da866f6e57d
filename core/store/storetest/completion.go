package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// testTellings: a blocked outcome is told anew or let go once, whoever asks.
func testTellings(s *suite) {
	for i := 1; i <= 3; i++ {
		s.addRun(newRun(i, 10, 11))
		s.write(func(tx *store.Tx) error {
			id := fmt.Sprintf("01RUN%02d", i)
			if _, err := tx.EndRun(id, core.RunOK, "", "", false, core.DeliverySessionQueued, 500); err != nil {
				return err
			}
			return tx.SetDelivery(id, core.DeliveryBlocked, "lost", core.Millis(600+i))
		})
	}
	count := func() int { return get(s, func(tx *store.Tx) (int, error) { return tx.CountBlocked("01RUN01") }) }
	next := func() core.Millis { return get(s, (*store.Tx).NextBlocked) }
	before := func(at core.Millis, limit int) []string {
		return s.runIDs(func(tx *store.Tx) ([]core.Run, error) { return tx.BlockedBefore(at, limit) })
	}
	require.Equal(s, 3, count())
	require.Zero(s, get(s, func(tx *store.Tx) (int, error) { return tx.CountBlocked("01RUN02") }), "another tree")
	require.Equal(s, core.Millis(601), next())
	require.Equal(s, []string{"01RUN01", "01RUN02"}, before(602, 10))
	require.Equal(s, []string{"01RUN01"}, before(602, 1))
	s.write(func(tx *store.Tx) error { return tx.SetDelivery("01RUN01", core.DeliveryBlocked, "still", 900) })
	require.Equal(s, core.Millis(601), next(), "it counts from the first time")

	type raised struct {
		n  int
		ok bool
	}
	raise := func(id string) raised {
		return do(s, func(tx *store.Tx) (r raised, err error) {
			r.n, r.ok, err = tx.RaiseTelling(id)
			return r, err
		})
	}
	require.Equal(s, raised{1, true}, raise("01RUN01"))
	require.Equal(s, raised{}, raise("01RUN01"), "one who asks at the same time gets nothing")
	require.Equal(s, raised{}, raise("none"))
	require.Equal(s, core.DeliverySessionQueued, s.runNow("01RUN01").Delivery)
	require.Equal(s, core.Millis(602), next())
	s.write(func(tx *store.Tx) error { return tx.SetDelivery("01RUN01", core.DeliveryBlocked, "again", 1000) })
	require.Equal(s, []string{"01RUN02", "01RUN03", "01RUN01"}, before(1000, 10))
	require.Equal(s, raised{2, true}, raise("01RUN01"))

	dismiss := func(id string) bool {
		return do(s, func(tx *store.Tx) (bool, error) { return tx.DismissTelling(id) })
	}
	require.True(s, dismiss("01RUN02"))
	require.False(s, dismiss("01RUN02"))
	require.False(s, dismiss("01RUN01"))
	require.Equal(s, core.DeliveryDismissed, s.runNow("01RUN02").Delivery)
	require.Equal(s, 1, count())

	settled := do(s, func(tx *store.Tx) ([]core.Run, error) { return tx.SettleAsked(10) })
	require.Equal(s, []core.Run{s.runNow("01RUN01")}, settled)
	require.Equal(s, core.DeliveryNotRequired, s.runNow("01RUN01").Delivery)
	require.Equal(s, core.DeliveryBlocked, s.runNow("01RUN03").Delivery)

	// What was handed up lies in the inbox of a session that did not ask for it.
	again := func() {
		s.write(func(tx *store.Tx) error { return tx.SetDelivery("01RUN01", core.DeliverySessionQueued, "", 1100) })
	}
	again()
	settle := func() []core.Run {
		return do(s, func(tx *store.Tx) ([]core.Run, error) { return tx.SettleAsked(77) })
	}
	require.Empty(s, settle())
	require.Equal(s, core.DeliverySessionQueued, s.runNow("01RUN01").Delivery)
	s.put(store.Inbox{Session: 77, Kind: store.InboxCompletion, Lane: store.LaneMain, Run: "01RUN01", Body: "event"})
	require.Equal(s, "01RUN01", settle()[0].ID)
	require.Equal(s, core.DeliveryNotRequired, s.runNow("01RUN01").Delivery)
	again()
	for id, n := range map[string]int{"01RUN01": 1, "01RUN03": 0, "none": 0} {
		require.Len(s, do(s, func(tx *store.Tx) ([]core.Run, error) { return tx.SettleRun(id) }), n, id)
	}
	require.Equal(s, core.DeliveryNotRequired, s.runNow("01RUN01").Delivery)
	require.Equal(s, core.DeliveryBlocked, s.runNow("01RUN03").Delivery)
}

// testChainEvents: the outcomes that the turns of a chain took, and no others.
func testChainEvents(s *suite) {
	a, b := s.session(), s.session()
	turn := func(session store.Session, chain int64) int64 {
		return do(s, func(tx *store.Tx) (store.Turn, error) {
			return tx.InsertTurn(store.Turn{Session: session.ID, Generation: 1, Chain: chain, Kind: store.InboxCompletion, Lane: store.LaneMain})
		}).ID
	}
	row := func(session store.Session, turn int64, kind store.InboxKind, body string) {
		s.write(func(tx *store.Tx) error {
			_, err := tx.AppendRow(store.Row{Session: session.ID, Generation: 1, Turn: turn, Kind: string(kind), Body: body})
			return err
		})
	}
	first := turn(a, 0)
	other, second, elsewhere := turn(a, 0), turn(a, first), turn(b, first)
	row(a, second, store.InboxCompletion, "later")
	row(a, first, store.InboxCompletion, "early")
	row(a, first, store.InboxMessage, "a message")
	row(a, other, store.InboxCompletion, "of another chain")
	row(b, elsewhere, store.InboxCompletion, "of another session")
	rows := do(s, func(tx *store.Tx) ([]store.Row, error) { return tx.EventsOfChain(a.ID, first) })
	var bodies []string
	for _, r := range rows {
		bodies = append(bodies, r.Body)
	}
	require.Equal(s, []string{"later", "early"}, bodies)
}

// testReissues: a message in trouble goes out again under another key, and the
// old one never does.
func testReissues(s *suite) {
	end := func(id int64, state store.OutboxState) {
		s.write(func(tx *store.Tx) error {
			row, err := tx.OutboxByID(id)
			if err != nil {
				return err
			}
			row.State, row.PartsSent, row.Error, row.EndedAt = state, 1, "lost", 50
			_, err = tx.UpdateOutbox(row)
			return err
		})
	}
	id := s.post(store.Outbox{OnceKey: "turn/1/end", Text: "two parts", Tells: []string{"01RUN01", "01RUN02"}, Owner: "console:alice", Session: 7})
	s.post(store.Outbox{OnceKey: "turn/2/end", Text: "other", Tells: []string{"01RUN011"}})
	s.write(func(tx *store.Tx) error { return tx.InsertSentPart(id, 0, "p1", 40) })
	trouble := func(run string) []int64 {
		return s.outboxIDs(func(tx *store.Tx) ([]store.Outbox, error) { return tx.TroubleOf(run) })
	}
	require.Empty(s, trouble("01RUN01"), "it is on its way")
	end(id, store.OutAmbiguous)
	require.Equal(s, []int64{id}, trouble("01RUN01"))
	require.Equal(s, []int64{id}, trouble("01RUN02"))
	require.Empty(s, trouble("01RUN0"))
	reissue := func(key string) int64 {
		old := s.outboxNow(id)
		return do(s, func(tx *store.Tx) (int64, error) {
			n, _, err := tx.ReissueOutbox(old, key, 60)
			return n, err
		})
	}
	second := reissue("turn/1/end/retry-1")
	require.NotZero(s, second)
	row := s.outboxNow(second)
	require.Equal(s, store.OutQueued, row.State)
	require.Equal(s, []any{"turn/1/end/retry-1", "two parts", 1, true, "console:alice", int64(7), core.Millis(60)},
		[]any{row.OnceKey, row.Text, row.PartsSent, row.Resent, row.Owner, row.Session, row.At})
	require.Equal(s, []string{"p1"}, get(s, func(tx *store.Tx) ([]string, error) { return tx.SentParts(second) }))
	require.Equal(s, store.OutWithdrawn, s.outboxNow(id).State)
	require.False(s, do(s, func(tx *store.Tx) (bool, error) { return tx.ReopenOutbox(id) }), "it stays withdrawn")
	require.Zero(s, reissue("turn/1/end/retry-2"), "once")
}

// testClosings: the tools that are to hear of the end of a run.
func testClosings(s *suite) {
	s.addRun(newRun(1, 10, 11))
	session := s.session()
	s.write(func(tx *store.Tx) error {
		for _, run := range []string{"01RUN01", "01RUN01", "other"} {
			turn, err := tx.InsertTurn(store.Turn{Session: session.ID, Run: run, Kind: store.InboxTask, Lane: store.LaneSubagent, Started: 5})
			if err != nil {
				return err
			}
			for i, name := range []string{"web", "exec", "web"} {
				if err := tx.StartStep(store.Step{Turn: turn.ID, Seq: i, CallID: "c", Tool: name}, 6); err != nil {
					return err
				}
			}
		}
		return nil
	})
	require.Equal(s, []string{"exec", "web"}, get(s, func(tx *store.Tx) ([]string, error) { return tx.ToolsOfRun("01RUN01") }))
	require.Empty(s, get(s, func(tx *store.Tx) ([]string, error) { return tx.ToolsOfRun("none") }))
	for i, name := range []string{"web", "exec", "web"} {
		s.write(func(tx *store.Tx) error {
			return tx.NoteClosing(store.Closing{Run: "01RUN01", Tool: name}, core.Millis(100+i))
		})
	}
	list := func(until core.Millis) []store.Closing {
		return get(s, func(tx *store.Tx) ([]store.Closing, error) { return tx.Closings(until, 10) })
	}
	require.Empty(s, list(99))
	require.Equal(s, []store.Closing{{Run: "01RUN01", Tool: "web"}}, list(100))
	require.Len(s, list(200), 2)
	s.write(func(tx *store.Tx) error { return tx.DropClosing(store.Closing{Run: "01RUN01", Tool: "web"}) })
	require.Equal(s, []store.Closing{{Run: "01RUN01", Tool: "exec"}},
		get(s, func(tx *store.Tx) ([]store.Closing, error) { return tx.ClosingsOf("01RUN01") }))

	warn := func() bool {
		return do(s, func(tx *store.Tx) (bool, error) { return tx.WarnRun("01RUN01", 7) })
	}
	require.True(s, warn())
	require.False(s, warn(), "once")
}

func testRestores(s *suite) {
	session := s.session()
	restore := func() bool {
		return do(s, func(tx *store.Tx) (bool, error) { return tx.RestoreSession(session.ID, 900, 800) })
	}
	require.False(s, restore(), "it is not archived")
	s.write(func(tx *store.Tx) error { return tx.ArchiveSession(session.ID, 700) })
	require.True(s, restore())
	now := s.sessionNow(session.ID)
	require.Equal(s, []core.Millis{0, 900, 800}, []core.Millis{now.ArchivedAt, now.ArchiveDue, now.UsedAt})
}
