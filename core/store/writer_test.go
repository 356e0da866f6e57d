package store

import (
	"context"
	"fmt"
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
	e := db.engine.(*sqlite)
	late := &Pending{ctx: t.Context(), ran: make(chan struct{}), done: make(chan struct{})}
	e.queue <- late
	e.answerLate()
	require.ErrorIs(t, late.Ran(), ErrClosed)
	require.ErrorIs(t, late.Wait(), ErrClosed)
}

// TestLostTransaction: where the transaction itself is lost, all of its units
// fail, because nobody knows, and the store goes on.
func TestLostTransaction(t *testing.T) {
	lose := func(tx *Tx) error {
		_, err := tx.exec("ROLLBACK")
		return err
	}
	for _, at := range []int{0, 1, 2} { // which of the batch loses it; 0 is the first
		db := openHere(t)
		gate, inside := make(chan struct{}), make(chan struct{})
		called := false
		pending := []*Pending{db.Submit(t.Context(), func(tx *Tx) error {
			close(inside)
			<-gate
			tx.OnCommit(func() { called = true })
			if at == 0 {
				return lose(tx)
			}
			_, err := tx.InsertDedupe("0", 1)
			return err
		})}
		<-inside
		for i := 1; i <= at; i++ {
			pending = append(pending, db.Submit(t.Context(), func(tx *Tx) error {
				if i == at {
					return lose(tx)
				}
				_, err := tx.InsertDedupe(fmt.Sprint(i), 1)
				return err
			}))
		}
		close(gate)
		for i, p := range pending {
			require.ErrorIs(t, p.Wait(), ErrCommit, "unit %d of %d", i, at)
		}
		require.False(t, called)
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
			for i := range at {
				if fresh, err := tx.InsertDedupe(fmt.Sprint(i), 1); err != nil || !fresh {
					return fmt.Errorf("unit %d took effect: %w", i, err)
				}
			}
			return nil
		}), "the store goes on")
	}
}

// TestPragmas: what durability rests on is switched on for the connection that
// writes, and the others cannot write.
//
// A store that is thrown away is the exception, and says so.
func TestPragmas(t *testing.T) {
	scratch, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "skein.db"), World: world.New(clock.Real{}, nil, 1), Scratch: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, scratch.Close()) })
	require.NoError(t, scratch.Write(t.Context(), func(tx *Tx) error {
		var v string
		err := tx.one("PRAGMA synchronous", nil, &v)
		require.Equal(t, "0", v)
		return err
	}))

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
	require.NoError(t, db.engine.(*sqlite).reads.QueryRowContext(t.Context(), "PRAGMA query_only").Scan(&queryOnly))
	require.Equal(t, 1, queryOnly)
}
