package storetest

import (
	"fmt"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

func testPace(s *suite) {
	lock := func(person string) store.Pace {
		return do(s, func(tx *store.Tx) (store.Pace, error) { return tx.LockPace(person, 10) })
	}
	require.Equal(s, store.Pace{Person: "c:a"}, lock("c:a"))
	s.write(func(tx *store.Tx) error { return tx.SetPace(store.Pace{Person: "c:a", Recent: "1:2", Missed: 3}) })
	require.Equal(s, store.Pace{Person: "c:b"}, lock("c:b"))
	s.reopen()
	require.Equal(s, store.Pace{Person: "c:a", Recent: "1:2", Missed: 3}, lock("c:a"), "a count holds over a restart")
}

// testRacePace: of many units that count at once none is lost.
func testRacePace(s *suite) {
	const units = 30
	var wg sync.WaitGroup
	for range units {
		wg.Go(func() {
			s.write(func(tx *store.Tx) error {
				p, err := tx.LockPace("c:a", 10)
				if err != nil {
					return err
				}
				p.Missed++
				return tx.SetPace(p)
			})
		})
	}
	wg.Wait()
	require.Equal(s, units, do(s, func(tx *store.Tx) (store.Pace, error) { return tx.LockPace("c:a", 10) }).Missed)
}

func testTalk(s *suite) {
	lock := func(bot, place string, at core.Millis) store.Talk {
		return do(s, func(tx *store.Tx) (store.Talk, error) { return tx.LockTalk(bot, place, at) })
	}
	silenced := func(now core.Millis) []store.Talk {
		return get(s, func(tx *store.Tx) ([]store.Talk, error) { return tx.SilencedTalks(now, 10) })
	}
	require.Equal(s, store.Talk{Bot: "c:a", Place: "c:x:1"}, lock("c:a", "c:x:1", 10))
	want := store.Talk{Bot: "c:a", Place: "c:x:1", Recent: "1 2", Until: 50}
	s.write(func(tx *store.Tx) error { return tx.SetTalk(want) })
	require.Equal(s, store.Talk{Bot: "c:a", Place: "c:x:2"}, lock("c:a", "c:x:2", 20), "each place for itself")
	require.Equal(s, store.Talk{Bot: "c:b", Place: "c:x:1"}, lock("c:b", "c:x:1", 30), "each bot for itself")
	s.reopen()
	require.Equal(s, want, lock("c:a", "c:x:1", 40), "a silence holds over a restart")
	require.Equal(s, []store.Talk{want}, silenced(49))
	require.Empty(s, silenced(50))
	require.Equal(s, core.Millis(20), s.oldest(store.GrownTalks))
	require.Equal(s, int64(1), s.sweep(store.GrownTalks, 30, 10))
	require.Equal(s, core.Millis(30), s.oldest(store.GrownTalks))
}

// testRaceTalk: of many messages at once none is left uncounted.
func testRaceTalk(s *suite) {
	const units = 30
	var wg sync.WaitGroup
	for range units {
		wg.Go(func() {
			s.write(func(tx *store.Tx) error {
				t, err := tx.LockTalk("c:a", "c:x:1", 10)
				if err != nil {
					return err
				}
				t.Until++
				return tx.SetTalk(t)
			})
		})
	}
	wg.Wait()
	require.EqualValues(s, units, do(s, func(tx *store.Tx) (store.Talk, error) { return tx.LockTalk("c:a", "c:x:1", 10) }).Until)
}

func testTurnsOf(s *suite) {
	session := s.session()
	turn := func(owner string, kind store.InboxKind, at core.Millis) {
		do(s, func(tx *store.Tx) (store.Turn, error) {
			return tx.InsertTurn(store.Turn{Session: session.ID, Generation: 1, Kind: kind, Lane: store.LaneMain, Owner: owner, Started: at})
		})
	}
	count := func(person string, since core.Millis) int {
		s.Helper()
		return get(s, func(tx *store.Tx) (int, error) { return tx.TurnsOf(person, since) })
	}
	require.Zero(s, count("c:a", 0))
	for i, kind := range []store.InboxKind{store.InboxMessage, store.InboxMessage, store.InboxDropped, store.InboxCompletion, store.InboxTask} {
		turn("c:a", kind, core.Millis(10*(i+1)))
	}
	turn("c:b", store.InboxMessage, 10)
	turn("", store.InboxMessage, 10)
	require.Equal(s, 3, count("c:a", 0), "what the person did not start does not count")
	require.Equal(s, 2, count("c:a", 20))
	require.Zero(s, count("c:a", 40))
	require.Zero(s, count("", 0), "nobody has none")
	for i, kind := range []store.InboxKind{store.InboxMessage, store.InboxCompletion} {
		do(s, func(tx *store.Tx) (int64, error) {
			return tx.InsertInbox(store.Inbox{Session: session.ID, Kind: kind, Lane: store.LaneMain, Owner: "c:a", Source: fmt.Sprint(i), Body: "{}"})
		})
	}
	require.Equal(s, 1, count("c:a", 40), "a message that waits may start one")
}
