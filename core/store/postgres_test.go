package store_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
	"github.com/skein-bot/skein/core/store/storetest"
)

// server returns the server of this test, false where none is installed.
func server(t *testing.T) (string, bool) {
	t.Helper()
	if s := os.Getenv(pgtest.Env); s != "" {
		return s, true
	}
	return pgtest.Database(t)
}

// TestPostgres runs the suite that every database passes.
func TestPostgres(t *testing.T) {
	s, ok := server(t)
	if !ok {
		return
	}
	places, err := store.NewScratches(pgtest.New(t, s))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, places.Close(context.Background())) })
	var mu sync.Mutex
	placed := make(map[*store.DB]*store.Scratch)
	openAt := func(t *testing.T, place *store.Scratch) *store.DB {
		t.Helper()
		db, err := tryOpen(store.Options{URL: place.URL, Conns: place.Conns})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		mu.Lock()
		defer mu.Unlock()
		placed[db] = place
		return db
	}
	storetest.Run(t, storetest.Backend{
		Open: func(t *testing.T) *store.DB {
			t.Helper()
			place, err := places.Take(t.Context())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, places.Give(context.Background(), place)) })
			return openAt(t, place)
		},
		Reopen: func(t *testing.T, db *store.DB) *store.DB {
			t.Helper()
			require.NoError(t, db.Close())
			mu.Lock()
			place := placed[db]
			mu.Unlock()
			return openAt(t, place)
		},
	})
	t.Run("PositionsTakenTogether", func(t *testing.T) { testPositionsTakenTogether(t, s) })
	t.Run("Leases", func(t *testing.T) { testLeases(t, pgtest.New(t, s)) })
	t.Run("ScratchIsAsNew", func(t *testing.T) { testScratchIsAsNew(t, s) })
	t.Run("UnitsThatRunAgain", func(t *testing.T) { testUnitsThatRunAgain(t, s) })
}

// testPositionsTakenTogether: many messages of one account at once leave a
// position that is one of theirs, and none waits for the others' commits.
func testPositionsTakenTogether(t *testing.T, s string) {
	t.Helper()
	db, err := tryOpen(store.Options{URL: pgtest.New(t, s)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	set := func(value string) error {
		return db.Write(t.Context(), func(tx *store.Tx) error { return tx.SetCursor("telegram", "default", "", value, 1) })
	}
	read := func() (value string) {
		require.NoError(t, db.Read(t.Context(), func(tx *store.Tx) (err error) {
			value, err = tx.Cursor("telegram", "default", "")
			return err
		}))
		return value
	}
	require.NoError(t, set("0"))
	// One that writes the position holds it; the others are committed all the same.
	inside, gate, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		first <- db.Write(t.Context(), func(tx *store.Tx) error {
			if err := tx.SetCursor("telegram", "default", "", "1", 1); err != nil {
				return err
			}
			if _, err := tx.InsertDedupe("first", 1); err != nil { // sends what is queued: the row is locked
				return err
			}
			inside <- struct{}{}
			<-gate
			return nil
		})
	}()
	<-inside
	require.NoError(t, set("2"))
	require.NoError(t, set("3"))
	require.Equal(t, "0", read(), "it lags behind")
	close(gate)
	require.NoError(t, <-first)
	require.Eventually(t, func() bool { return read() == "3" }, 5*time.Second, 5*time.Millisecond, "what was left is written at the end")
	require.NoError(t, set("4"))
	require.Equal(t, "4", read())
}

// testUnitsThatRunAgain: a try that was rolled back holds nobody up,
// though another unit got its lock and the next try came after that one.
func testUnitsThatRunAgain(t *testing.T, s string) {
	t.Helper()
	db, err := tryOpen(store.Options{URL: pgtest.New(t, s), Rehearse: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	var session store.Session
	require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) (err error) {
		session, err = tx.InsertSession(store.Session{Key: "agent:main:a", Agent: "main", Kind: core.SessionDirect, CreatedAt: 1, UsedAt: 1})
		return err
	}))
	var units []*store.Pending
	var committed atomic.Int64
	for range 300 {
		units = append(units, db.Submit(t.Context(), func(tx *store.Tx) error {
			tx.OnCommit(func() { committed.Add(1) })
			return tx.LockSession(session.ID)
		}))
	}
	done := make(chan error, 1)
	go func() {
		var errs []error
		for _, u := range units {
			errs = append(errs, u.Wait())
		}
		done <- errors.Join(errs...)
	}()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		require.FailNow(t, "units wait for each other")
	}
	require.Equal(t, int64(300), committed.Load())
}
