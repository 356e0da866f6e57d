package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// testErasure runs every statement of an erasure; that nothing remains is
// proven where the rows come from the runtime.
func testErasure(s *suite) {
	const person = "discord:u%1" // ids may look like patterns
	own, shared := s.session(), s.session()
	row := func(session int64, owner, body string) int64 {
		return do(s, func(tx *store.Tx) (int64, error) {
			return tx.AppendRow(store.Row{Session: session, Generation: 1, Kind: "user", Body: body, Owner: owner, At: 10})
		})
	}
	row(own.ID, person, `{"text":"mine"}`)
	theirs := row(shared.ID, person, `{"text":"in the group"}`)
	other := row(shared.ID, "discord:u2", `{"quote":{"author":{"id":"u%1"}}}`)
	row(shared.ID, "discord:u2", `{"quote":{"author":{"id":"uX1"}}}`)
	fork := s.fork(own.ID, theirs)
	ids := get(s, func(tx *store.Tx) ([]int64, error) { return tx.SessionsWith(person, `"id":"u%1"`) })
	require.Equal(s, []int64{own.ID, shared.ID}, ids)
	require.False(s, get(s, func(tx *store.Tx) (bool, error) { return tx.OthersIn(own.ID, person) }))
	require.True(s, get(s, func(tx *store.Tx) (bool, error) { return tx.OthersIn(shared.ID, person) }))
	rows := get(s, func(tx *store.Tx) ([]store.Row, error) { return tx.RowsFrom(shared.ID, theirs, 1) })
	require.Len(s, rows, 1)
	require.Equal(s, other, rows[0].ID)

	at := address("")
	sent, sending := s.post(store.Outbox{Owner: person, Address: at, Text: "a", OnceKey: "intro/B1/5"}), s.post(store.Outbox{Owner: person, Address: at, Text: "b"})
	s.write(func(tx *store.Tx) error {
		if _, err := tx.MarkSending(sending, 5, false); err != nil {
			return err
		}
		if err := tx.InsertRun(core.Run{ID: "01R", Root: "01R", TaskID: "01T", Session: own.ID, Requester: own.ID, Owner: person, Status: core.RunOK, Delivery: core.DeliveryDelivered}); err != nil {
			return err
		}
		if _, err := tx.InsertTurn(store.Turn{Session: shared.ID, Generation: 1, Kind: store.InboxMessage, Lane: store.LaneMain, Owner: person, Policy: "p", Anchor: "a"}); err != nil {
			return err
		}
		if err := tx.InsertMedia(store.Media{ID: "m1", Session: own.ID, Type: "image/png", Data: "x"}); err != nil {
			return err
		}
		if _, err := tx.LockTalk(person, "c:x:1", 5); err != nil {
			return err
		}
		if _, err := tx.LockPace(person, 5); err != nil {
			return err
		}
		if _, err := tx.FirstNotice("limit/"+person, 5, 0); err != nil {
			return err
		}
		if _, err := tx.FirstNotice("limit/x"+person, 5, 0); err != nil {
			return err
		}
		if _, err := tx.InsertDedupe(at.InThread("").String()+"/m1/message", 5); err != nil {
			return err
		}
		if err := tx.AddUsage(person, shared.ID, 1, store.DayUsage{Turns: 1}); err != nil {
			return err
		}
		return tx.InsertSeen(store.Seen{Place: at.Place(), Message: "m9", Owner: person, Body: "{}", At: 5}, 10)
	})
	require.Len(s, get(s, func(tx *store.Tx) ([]store.Outbox, error) { return tx.OutboxOfOwner(person) }), 2)
	require.Len(s, get(s, func(tx *store.Tx) ([]store.Outbox, error) { return tx.OutboxTo(at) }), 2)
	require.Len(s, get(s, func(tx *store.Tx) ([]store.Outbox, error) { return tx.OutboxOfBinding("B1") }), 1)
	require.Len(s, get(s, func(tx *store.Tx) ([]store.PersonDay, error) { return tx.UsageDays(person) }), 1)
	require.Len(s, get(s, func(tx *store.Tx) ([]store.Media, error) { return tx.PicturesOf(own.ID) }), 1)

	counts := do(s, func(tx *store.Tx) ([]store.Erased, error) {
		e := tx.NewErasure()
		e.Message(sent, 20)
		e.Message(sending, 20)
		e.Row(theirs, `{}`)
		e.SharedSession(shared.ID, person)
		e.Run("01R")
		e.Binding("B1")
		e.Input(1)
		e.InputBody(2, "{}")
		e.SeenBody(99, "{}")
		e.Picture("none")
		e.Session(own.ID)
		e.Conversation(at)
		e.Person(person)
		return e.Counts()
	})
	got := make(map[string]store.Erased)
	for _, c := range counts {
		if c.Removed+c.Emptied > 0 {
			got[c.Table] = c
		}
	}
	require.Equal(s, map[string]store.Erased{
		"session":     {Table: "session", Removed: 1, Emptied: 0},
		"transcript":  {Table: "transcript", Removed: 1, Emptied: 1},
		"turn":        {Table: "turn", Removed: 0, Emptied: 1},
		"run":         {Table: "run", Removed: 1, Emptied: 0},
		"outbox":      {Table: "outbox", Removed: 1, Emptied: 1},
		"history":     {Table: "history", Removed: 1, Emptied: 0},
		"media":       {Table: "media", Removed: 1, Emptied: 0},
		"usage_day":   {Table: "usage_day", Removed: 1, Emptied: 0},
		"pace":        {Table: "pace", Removed: 1, Emptied: 0},
		"loop_guard":  {Table: "loop_guard", Removed: 1, Emptied: 0},
		"once_notice": {Table: "once_notice", Removed: 1, Emptied: 0},
		"dedupe":      {Table: "dedupe", Removed: 1, Emptied: 0},
	}, got)
	require.Zero(s, s.sessionNow(fork.ID).ForkSession, "what was made from it stays")
	require.False(s, do(s, func(tx *store.Tx) (bool, error) {
		return tx.UpdateOutbox(store.Outbox{ID: sending, State: store.OutQueued})
	}), "nothing sends it again")
	require.Empty(s, s.outboxNow(sending).Text)
}
