package store

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/world"
)

func openHere(t *testing.T) *DB {
	t.Helper()
	db, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "skein.db"), World: world.New(clock.Real{}, nil, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// TestLateUnit: a unit that reached the queue after the writer had emptied it
// for the last time is answered by the one who submitted it.
func TestLateUnit(t *testing.T) {
	db := openHere(t)
	require.NoError(t, db.Close())
	late := &Pending{ctx: t.Context(), ran: make(chan struct{}), done: make(chan struct{})}
	db.queue <- late
	db.answerLate()
	require.ErrorIs(t, late.Ran(), ErrClosed)
	require.ErrorIs(t, late.Wait(), ErrClosed)
}

// TestPragmas: what durability rests on is switched on for the connection that
// writes, and the others cannot write.
func TestPragmas(t *testing.T) {
	db := openHere(t)
	// The answers, as SQLite gives them: 2 is FULL.
	want := map[string]string{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1", "query_only": "0"}
	got := map[string]string{}
	require.NoError(t, db.Write(context.Background(), func(tx *Tx) error {
		for name := range want {
			var v string
			if err := tx.one("PRAGMA "+name, nil, &v); err != nil {
				return err
			}
			got[name] = v
		}
		return nil
	}))
	require.Equal(t, want, got)

	var queryOnly int
	require.NoError(t, db.read.QueryRowContext(t.Context(), "PRAGMA query_only").Scan(&queryOnly))
	require.Equal(t, 1, queryOnly)
}
