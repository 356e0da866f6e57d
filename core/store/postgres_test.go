package store_test

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

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
	var mu sync.Mutex
	urls := make(map[*store.DB]string)
	openAt := func(t *testing.T, url string) *store.DB {
		t.Helper()
		db, err := tryOpen(store.Options{URL: url})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		mu.Lock()
		defer mu.Unlock()
		urls[db] = url
		return db
	}
	storetest.Run(t, storetest.Backend{
		Open: func(t *testing.T) *store.DB {
			t.Helper()
			return openAt(t, pgtest.New(t, s))
		},
		Reopen: func(t *testing.T, db *store.DB) *store.DB {
			t.Helper()
			require.NoError(t, db.Close())
			mu.Lock()
			url := urls[db]
			mu.Unlock()
			return openAt(t, url)
		},
	})
}
