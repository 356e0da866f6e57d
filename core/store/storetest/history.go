package storetest

import (
	"strconv"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// seenKeep is how many messages of a place these tests keep.
const seenKeep = 3

func (s *suite) see(message string, at core.Place, when core.Millis) {
	s.Helper()
	s.write(func(tx *store.Tx) error {
		return tx.InsertSeen(store.Seen{Place: at, Message: message, Owner: "discord:42", Body: "said " + message, At: when}, seenKeep)
	})
}

// takeSeen takes the history of a place and returns the ids of the messages.
func (s *suite) takeSeen(at core.Place, limit int) []string {
	s.Helper()
	return messages(do(s, func(tx *store.Tx) ([]store.Seen, error) { return tx.TakeSeen(at, limit) }))
}

func messages(rows []store.Seen) []string {
	out := []string{}
	for _, r := range rows {
		out = append(out, r.Message)
	}
	return out
}

func testSeen(s *suite) {
	at, thread := address("").Place(), address("t1").Place()
	other := at
	other.Account = "second"
	s.see("1", at, 10)
	s.see("2", at, 20)
	s.see("1", other, 15)
	s.see("3", thread, 30)
	s.see("2", at, 99)

	found := get(s, func(tx *store.Tx) (store.Seen, error) { return tx.SeenMessage(thread, "2") })
	require.Equal(s, store.Seen{ID: found.ID, Place: at, Message: "2", Owner: "discord:42", Body: "said 2", At: 20}, found,
		"a message is found in whatever thread it is, and is there once")
	missing(s, func(tx *store.Tx) (store.Seen, error) { return tx.SeenMessage(at, "4") })
	s.write(func(tx *store.Tx) error { return tx.UpdateSeen(found.ID, "edited") })
	require.Equal(s, "edited", get(s, func(tx *store.Tx) (store.Seen, error) { return tx.SeenMessage(at, "2") }).Body)

	s.see("4", at, 40)
	s.see("5", at, 50)
	missing(s, func(tx *store.Tx) (store.Seen, error) { return tx.SeenMessage(at, "1") })
	s.write(func(tx *store.Tx) error {
		five, err := tx.SeenMessage(at, "5")
		if err != nil {
			return err
		}
		return tx.DeleteSeen(five.ID)
	})
	s.see("0", at, 5)
	s.reopen()
	require.Equal(s, []string{"0", "2", "4"}, s.takeSeen(at, 10), "the order is that of time, also of what comes later")
	require.Empty(s, s.takeSeen(at, 10), "it is taken once")
	require.Equal(s, []string{"1"}, s.takeSeen(other, 10), "other places keep theirs")
	require.Empty(s, s.takeSeen(thread, 0))
	require.Empty(s, s.takeSeen(thread, 10), "what is over the limit is gone too")
}

// testSeenModel: a place holds its newest messages, whatever happens elsewhere.
func testSeenModel(s *suite) {
	places := []core.Place{address("").Place(), address("t1").Place(), address("t2").Place()}
	next := 0
	rapid.Check(s.T, func(t *rapid.T) {
		model := make([][]string, len(places))
		for i, at := range places {
			s.takeSeen(at, 0)
			model[i] = []string{}
		}
		for range rapid.IntRange(1, 15).Draw(t, "steps") {
			i := rapid.IntRange(0, len(places)-1).Draw(t, "place")
			if rapid.IntRange(0, 4).Draw(t, "take") > 0 {
				next++
				s.see(strconv.Itoa(next), places[i], core.Millis(next/2)) // two at a time
				model[i] = append(model[i], strconv.Itoa(next))
				model[i] = model[i][max(len(model[i])-seenKeep, 0):]
				continue
			}
			limit := rapid.IntRange(0, seenKeep+1).Draw(t, "limit")
			require.Equal(t, model[i][max(len(model[i])-limit, 0):], s.takeSeen(places[i], limit))
			model[i] = []string{}
		}
	})
}

func testTranscriptReplaced(s *suite) {
	a := s.session()
	write := func(turn int64, kind string, texts ...string) (last int64) {
		for _, text := range texts {
			last = do(s, func(tx *store.Tx) (int64, error) {
				return tx.AppendRow(store.Row{Session: a.ID, Generation: 1, Turn: turn, Kind: kind, Body: text})
			})
		}
		return last
	}
	replace := func(turn int64) { s.write(func(tx *store.Tx) error { return tx.ReplaceFrom(a, turn) }) }
	write(1, "message", "before")
	write(2, "message", "asked")
	cut := write(2, "assistant", "answer")
	child := s.fork(a.ID, cut)
	write(2, "summary", "summary")
	write(3, "completion", "an outcome of it")

	replace(2)
	require.Equal(s, []string{"before", "summary"}, s.prompt(a.ID), "what a turn wrote, and what came of it; not what stands for older rows")
	require.Equal(s, []string{"before", "asked", "answer", "summary", "an outcome of it"}, s.whole(a.ID), "the transcript keeps it")
	rows := get(s, func(tx *store.Tx) ([]store.Row, error) { return tx.WholeTranscript(a) })
	require.Equal(s, []bool{false, true, true, false, true}, []bool{rows[0].Replaced, rows[1].Replaced, rows[2].Replaced, rows[3].Replaced, rows[4].Replaced})
	require.Equal(s, []string{"before", "asked", "answer"}, s.prompt(child.ID), "a fork is fixed")
	size := get(s, func(tx *store.Tx) (int64, error) { return tx.TranscriptSize(a, 1<<40) })
	require.Equal(s, int64(len("before"+"summary")), size, "what is replaced does not count for the size of a fork")

	again := write(4, "message", "asked")
	late := s.fork(a.ID, again)
	require.Equal(s, []string{"before", "summary", "asked"}, s.prompt(late.ID), "a fork from after it does not see it")
	replace(4)
	require.Equal(s, []string{"before", "summary"}, s.prompt(a.ID))
	require.Equal(s, []string{"before", "summary", "asked"}, s.prompt(late.ID))
	s.write(func(tx *store.Tx) error { return tx.NewGeneration(a.ID) })
	require.Equal(s, []string{"before", "asked", "answer"}, s.prompt(child.ID))
}

func testLastAsked(s *suite) {
	a := s.session()
	last := func() (store.Turn, error) {
		var t store.Turn
		err := s.db.Read(s.Context(), func(tx *store.Tx) (err error) {
			t, err = tx.LastAsked(s.sessionNow(a.ID))
			return err
		})
		return t, err
	}
	_, err := last()
	require.ErrorIs(s, err, store.ErrNotFound)
	insert := func(kind store.InboxKind, generation int64) store.Turn {
		return do(s, func(tx *store.Tx) (store.Turn, error) {
			return tx.InsertTurn(store.Turn{Session: a.ID, Generation: generation, Kind: kind, Lane: store.LaneMain, Started: 1})
		})
	}
	for _, kind := range []store.InboxKind{store.InboxCompletion, store.InboxTask, store.InboxWake} {
		insert(kind, 1)
	}
	_, err = last()
	require.ErrorIs(s, err, store.ErrNotFound, "what the runtime starts is no use")
	for _, kind := range []store.InboxKind{store.InboxMessage, store.InboxDropped} {
		want := insert(kind, 1)
		insert(store.InboxCompletion, 1)
		got, err := last()
		require.NoError(s, err)
		require.Equal(s, want, got)
	}
	s.write(func(tx *store.Tx) error { return tx.NewGeneration(a.ID) })
	_, err = last()
	require.ErrorIs(s, err, store.ErrNotFound, "an older generation does not count")
}

func testResetGeneration(s *suite) {
	a := s.session()
	s.write(func(tx *store.Tx) error { return tx.SetContextFrom(a.ID, 7) })
	var fresh []bool
	for range 2 {
		fresh = append(fresh, do(s, func(tx *store.Tx) (bool, error) { return tx.ResetGeneration(a) }))
	}
	require.Equal(s, []bool{true, false}, fresh, "two who saw the same session start it over once")
	now := s.sessionNow(a.ID)
	require.Equal(s, []int64{2, 0}, []int64{now.Generation, now.ContextFrom})
}
