//go:build slow

package store_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
	"github.com/skein-bot/skein/core/store/storetest"
)

// hammerTime is how long insertions and releases race: SKEIN_TEST_HAMMER, a
// duration such as 2m, or 5 seconds.
func hammerTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("SKEIN_TEST_HAMMER")
	if text == "" {
		return 5 * time.Second
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d
}

func TestHammerSQLite(t *testing.T) {
	t.Logf("%d rows", storetest.Hammer(t, []*store.DB{openEmpty(t)}, hammerTime(t)))
}

// TestHammerPostgres races two nodes on one database.
func TestHammerPostgres(t *testing.T) {
	s, ok := server(t)
	if !ok {
		return
	}
	url := pgtest.New(t, s)
	var nodes []*store.DB
	for range 2 {
		db, err := tryOpen(store.Options{URL: url})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		nodes = append(nodes, db)
	}
	rows := storetest.Hammer(t, nodes, hammerTime(t))
	for _, db := range nodes {
		require.NoError(t, db.Close())
	}
	deadlocks := pgtest.Deadlocks(t, url)
	t.Logf("%d rows, %d deadlocks", rows, deadlocks)
	require.LessOrEqual(t, deadlocks, int64(rows)/1000, "units lock in one order")
}
