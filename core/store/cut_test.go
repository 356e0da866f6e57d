package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

func TestCutWorld(t *testing.T) {
	w := newWorld()
	db := open(t, store.Options{World: w})
	path := db.Path()
	require.NoError(t, db.Write(t.Context(), claim("before")))

	called := false
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		tx.OnCommit(func() { called = true })
		w.Cut()
		return claim("inside")(tx)
	})
	require.ErrorIs(t, err, world.ErrKilled, "a unit that was cut short has no effect")
	require.False(t, called)
	require.ErrorIs(t, db.Write(t.Context(), claim("after")), world.ErrKilled)
	p := db.Submit(t.Context(), claim("after"))
	require.ErrorIs(t, p.Ran(), world.ErrKilled)
	require.ErrorIs(t, p.Wait(), world.ErrKilled)
	require.ErrorIs(t, db.Read(t.Context(), func(*store.Tx) error { return nil }), world.ErrKilled)
	require.NoError(t, db.Close())
	_, err = store.Open(t.Context(), store.Options{Path: path, World: w})
	require.ErrorIs(t, err, world.ErrKilled)

	db = open(t, store.Options{Path: path})
	require.ErrorIs(t, db.Write(t.Context(), claim("before")), errClaimed)
	require.NoError(t, db.Write(t.Context(), claim("inside")))
	require.NoError(t, db.Write(t.Context(), claim("after")))
}

// TestCutWhileQueued: a cut reaches every unit of the batch in progress and
// those behind it, which a batch has no room for.
func TestCutWhileQueued(t *testing.T) {
	const units = 256 // as many as wait at most
	w := newWorld()
	db := open(t, store.Options{World: w})
	gate, inside := make(chan struct{}), make(chan struct{})
	pending := []*store.Pending{db.Submit(t.Context(), func(*store.Tx) error {
		close(inside)
		<-gate
		return nil
	})}
	<-inside
	for i := range units {
		pending = append(pending, db.Submit(t.Context(), claim(fmt.Sprint(i))))
	}
	w.Cut()
	close(gate)
	for _, p := range pending {
		require.ErrorIs(t, p.Wait(), world.ErrKilled)
	}
	require.NoError(t, db.Close())
	db = open(t, store.Options{Path: db.Path()})
	require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		for i := range units {
			if err := claim(fmt.Sprint(i))(tx); err != nil {
				return err
			}
		}
		return nil
	}), "nothing was written")
}

// TestCrashPoint: an armed point inside a unit takes the unit along.
func TestCrashPoint(t *testing.T) {
	w := newWorld()
	db := open(t, store.Options{World: w})
	unit := func(key string) error {
		return db.Write(context.Background(), func(tx *store.Tx) error {
			if err := claim(key)(tx); err != nil {
				return err
			}
			return tx.Crash(world.TimerFired)
		})
	}
	require.NoError(t, unit("unarmed"))
	w.Arm(world.TimerFired, 2, world.TrapCut, nil)
	require.NoError(t, unit("first pass"))
	require.ErrorIs(t, unit("second pass"), world.ErrKilled)
	require.NoError(t, db.Close())
	db = open(t, store.Options{Path: db.Path()})
	require.ErrorIs(t, db.Write(t.Context(), claim("first pass")), errClaimed)
	require.NoError(t, db.Write(t.Context(), claim("second pass")))
}

// TestGroupCommitShares: units that queue behind one another share a commit.
func TestGroupCommitShares(t *testing.T) {
	db := open(t, store.Options{})
	commits, units := db.Stats()
	gate, inside := make(chan struct{}), make(chan struct{})
	pending := []*store.Pending{db.Submit(t.Context(), func(*store.Tx) error {
		close(inside)
		<-gate
		return nil
	})}
	<-inside
	for i := range 50 {
		pending = append(pending, db.Submit(t.Context(), claim(string(rune('a'+i)))))
	}
	close(gate)
	for _, p := range pending {
		require.NoError(t, p.Wait())
	}
	afterCommits, afterUnits := db.Stats()
	require.Equal(t, []int64{1, 51}, []int64{afterCommits - commits, afterUnits - units})
}
