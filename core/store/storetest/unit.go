package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/store"
)

// patience is how long anything in the suite may take before it counts as
// stuck; a test that passes never waits for it.
const patience = 30 * time.Second

// await waits until c is closed.
func (s *suite) await(c <-chan struct{}, what string) {
	s.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		require.FailNow(s, "stuck", what)
	}
}

// hold keeps every writer inside a unit until release is called, so that what is
// submitted meanwhile queues. The units end with outcome.
func (s *suite) hold(outcome error) (release func()) {
	s.Helper()
	inside, gate, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		together(s.db.Writers(), func(int) {
			_ = s.db.Write(background(), func(*store.Tx) error {
				inside <- struct{}{}
				<-gate
				return outcome
			})
		})
	}()
	for range s.db.Writers() {
		s.await(inside, "a writer to take a unit")
	}
	var once sync.Once
	return func() {
		once.Do(func() { close(gate) })
		s.await(done, "the held unit to end")
	}
}

// claim is a unit with one visible effect.
func claim(key string) func(tx *store.Tx) error {
	return func(tx *store.Tx) error {
		_, err := tx.InsertDedupe(key, 1)
		return err
	}
}

// claimed reports whether the unit of claim took effect, and takes the key.
func (s *suite) claimed(key string) bool {
	s.Helper()
	return !do(s, func(tx *store.Tx) (bool, error) { return tx.InsertDedupe(key, 1) })
}

func testUnitIsWhole(s *suite) {
	err := s.db.Write(s.Context(), func(tx *store.Tx) error {
		if err := claim("one")(tx); err != nil {
			return err
		}
		if err := tx.SetCursor("telegram", "default", "", "42", 1); err != nil {
			return err
		}
		return unitError{"late"}
	})
	require.ErrorIs(s, err, unitError{"late"})
	require.NotErrorIs(s, err, store.ErrCommit, "the unit failed, the commit did not")
	require.False(s, s.claimed("one"))
	require.Empty(s, get(s, func(tx *store.Tx) (string, error) { return tx.Cursor("telegram", "default", "") }))

	err = s.db.Write(s.Context(), func(tx *store.Tx) error {
		if err := claim("two")(tx); err != nil {
			return err
		}
		panic("a bug")
	})
	require.ErrorContains(s, err, "a bug")
	require.False(s, s.claimed("two"))
	s.write(claim("three"))
	require.True(s, s.claimed("three"), "the store goes on after a panic")
}

func testUnitMayRead(s *suite) {
	a := s.session()
	n := do(s, func(tx *store.Tx) (int, error) {
		if _, err := tx.InsertInbox(store.Inbox{Session: a.ID, Kind: store.InboxMessage, Lane: store.LaneMain}); err != nil {
			return 0, err
		}
		return tx.CountQueued(a.ID)
	})
	require.Equal(s, 1, n, "a unit sees what it wrote")
}

func testReadMayNotWrite(s *suite) {
	require.Error(s, s.db.Read(s.Context(), claim("one")))
	require.Error(s, s.db.Read(s.Context(), func(tx *store.Tx) error {
		_, err := tx.InsertSession(store.Session{Key: "agent:a:main", Agent: "a"})
		return err
	}))
	require.False(s, s.claimed("one"))
	missing(s, func(tx *store.Tx) (store.Session, error) { return tx.SessionByKey("agent:a:main") })
	require.ErrorIs(s, s.db.Read(s.Context(), func(*store.Tx) error { return unitError{"reading"} }), unitError{"reading"})
	ended, cancel := context.WithCancelCause(s.Context())
	cancel(unitError{"too late"})
	require.ErrorIs(s, s.db.Read(ended, func(*store.Tx) error { return nil }), unitError{"too late"})
}

func testReadIsASnapshot(s *suite) {
	cursor := func(tx *store.Tx) (string, error) { return tx.Cursor("telegram", "default", "") }
	set := func(value string) error {
		return s.db.Write(background(), func(tx *store.Tx) error { return tx.SetCursor("telegram", "default", "", value, 1) })
	}
	require.NoError(s, set("1"))
	var before, after string
	require.NoError(s, s.db.Read(s.Context(), func(tx *store.Tx) (err error) {
		if before, err = cursor(tx); err != nil {
			return err
		}
		if err := set("2"); err != nil {
			return err
		}
		after, err = cursor(tx)
		return err
	}))
	require.Equal(s, []string{"1", "1"}, []string{before, after}, "what others commit meanwhile does not show")
	require.Equal(s, "2", get(s, cursor), "a later read sees it")
}

// testGroupCommit: units that share a commit do not share their failures,
// whether the first of them fails or a later one.
func testGroupCommit(s *suite) {
	const units = 100
	for _, first := range []error{nil, unitError{"first"}} {
		key := func(i int) string { return fmt.Sprint(first, "/", i) }
		release := s.hold(first)
		pending := make([]*store.Pending, units)
		for i := range pending {
			pending[i] = s.db.Submit(s.Context(), func(tx *store.Tx) error {
				if err := claim(key(i))(tx); err != nil {
					return err
				}
				switch {
				case i%5 == 0:
					return unitError{key(i)}
				case i%7 == 0:
					panic(unitError{key(i)})
				}
				return nil
			})
		}
		release()
		for i, p := range pending {
			err := p.Wait()
			switch {
			case i%5 == 0:
				require.ErrorIs(s, err, unitError{key(i)})
			case i%7 == 0:
				require.ErrorContains(s, err, unitError{key(i)}.Error())
			default:
				require.NoError(s, err, "unit %d", i)
			}
			require.Equal(s, err == nil, s.claimed(key(i)), "unit %d", i)
		}
	}
}

func testOnCommitOrder(s *suite) {
	var mu sync.Mutex
	var calls []string
	note := func(call string) func() {
		return func() {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, call)
		}
	}
	a := s.session()
	release := s.hold(nil)
	var pending []*store.Pending
	for i := range 4 {
		pending = append(pending, s.db.Submit(s.Context(), func(tx *store.Tx) error {
			tx.OnCommit(note(fmt.Sprint(i, "a")))
			tx.OnCommit(note(fmt.Sprint(i, "b")))
			if i == 2 {
				return unitError{"2"}
			}
			_, err := tx.InsertInbox(store.Inbox{Session: a.ID, Kind: store.InboxMessage, Lane: store.LaneMain, Body: fmt.Sprint(i)})
			return err
		}))
	}
	mu.Lock()
	require.Empty(s, calls, "nothing is committed yet")
	mu.Unlock()
	release()
	for i, p := range pending {
		err := p.Wait()
		require.Equal(s, i == 2, err != nil)
		mu.Lock()
		require.Equal(s, err == nil, slices.Contains(calls, fmt.Sprint(i, "b")), "before Wait returns, not for one that failed")
		mu.Unlock()
	}
	var want []string
	for _, body := range s.queued(a.ID) {
		want = append(want, body+"a", body+"b")
	}
	require.Len(s, want, 6)
	require.Equal(s, want, calls, "in the order in which units had the session")
	if s.db.Writers() == 1 {
		require.Equal(s, []string{"0a", "0b", "1a", "1b", "3a", "3b"}, calls)
	}
}

func testContextEnded(s *suite) {
	ctx, cancel := context.WithCancelCause(s.Context())
	release := s.hold(nil)
	ran := false
	p := s.db.Submit(ctx, func(tx *store.Tx) error {
		ran = true
		return claim("early")(tx)
	})
	cancel(unitError{"gone"})
	release()
	require.ErrorIs(s, p.Wait(), unitError{"gone"}, "the cause is told")
	require.ErrorIs(s, p.Ran(), unitError{"gone"})
	require.False(s, ran)
	require.ErrorIs(s, s.db.Write(ctx, claim("ended")), unitError{"gone"})
	require.False(s, s.claimed("early"))
	require.False(s, s.claimed("ended"))

	ctx, stop := context.WithCancel(s.Context())
	require.NoError(s, s.db.Write(ctx, func(tx *store.Tx) error {
		stop()
		return claim("begun")(tx)
	}), "a unit that has begun is finished")
	require.True(s, s.claimed("begun"))
}

func testRan(s *suite) {
	release := s.hold(nil)
	value := 0
	good := s.db.Submit(s.Context(), func(tx *store.Tx) error {
		value = 7
		return claim("good")(tx)
	})
	bad := s.db.Submit(s.Context(), func(*store.Tx) error { return unitError{"bad"} })
	release()
	require.NoError(s, good.Ran())
	require.Equal(s, 7, value)
	require.NoError(s, good.Wait())
	require.NoError(s, good.Wait(), "it may be asked again")
	require.ErrorIs(s, bad.Ran(), unitError{"bad"})
	require.ErrorIs(s, bad.Wait(), unitError{"bad"})
}

func testClose(s *suite) {
	release := s.hold(nil)
	queued := s.db.Submit(s.Context(), claim("queued"))
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = s.db.Close()
	}()
	release()
	s.await(closed, "the store to close")
	require.NoError(s, queued.Wait(), "what was queued is still done")
	require.NoError(s, s.db.Close(), "closing again is harmless")
	require.ErrorIs(s, s.db.Write(s.Context(), claim("late")), store.ErrClosed)
	require.ErrorIs(s, s.db.Read(s.Context(), func(*store.Tx) error { return nil }), store.ErrClosed)
	s.reopen()
	require.True(s, s.claimed("queued"))
	require.False(s, s.claimed("late"))
}

// testCloseRace: a unit that is submitted while the store closes gets an
// answer, and the answer is true.
func testCloseRace(s *suite) {
	const rounds, producers = 20, 8
	var acked sync.Map
	for round := range rounds {
		var wg sync.WaitGroup
		var begun atomic.Int32
		some := make(chan struct{})
		for p := range producers {
			wg.Go(func() {
				for i := 0; ; i++ {
					key := fmt.Sprint(round, "/", p, "/", i)
					err := s.db.Write(background(), claim(key))
					if begun.Add(1) == producers {
						close(some)
					}
					if err != nil {
						if !errors.Is(err, store.ErrClosed) {
							acked.Store(key, err)
						}
						return
					}
					acked.Store(key, nil)
				}
			})
		}
		s.await(some, "the producers to write")
		require.NoError(s, s.db.Close())
		done := make(chan struct{})
		go func() {
			wg.Wait()
			close(done)
		}()
		s.await(done, "every unit to be answered")
		s.reopen()
	}
	acked.Range(func(key, err any) bool {
		require.Nil(s, err, key)
		require.True(s, s.claimed(key.(string)), key)
		return true
	})
}

func testDurable(s *suite) {
	a := s.session()
	s.put(store.Inbox{Session: a.ID, Kind: store.InboxMessage, Lane: store.LaneMain, Body: "x"})
	s.reopen()
	require.Equal(s, a, s.sessionNow(a.ID))
	require.Equal(s, []string{"x"}, s.queued(a.ID))
	b := s.session()
	require.Greater(s, b.ID, a.ID)
}

// testBytes: text comes back byte for byte.
func testBytes(s *suite) {
	a := s.session()
	texts := []string{
		"", " ", "it's $1 'and' ?1 -- \"quoted\" \\ %s", "line\nbreak\ttab\r\n", "e\u0301 👩‍👩‍👧 \u202e\ufeff", "\ufffd",
		strings.Repeat("5 MB of text in rows… ", 5<<20/24),
	}
	for _, text := range texts {
		s.put(store.Inbox{Session: a.ID, Kind: store.InboxMessage, Lane: store.LaneMain, Body: text})
	}
	got := s.queued(a.ID)
	require.Len(s, got, len(texts))
	for i := range texts {
		if texts[i] != got[i] { // which may be too long to print
			require.Failf(s, "changed", "text %d of %d bytes", i, len(texts[i]))
		}
	}
}
