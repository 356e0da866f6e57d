package store_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// TestLockOfASecondProcess: one process at a time, the other is told who it
// is, and a process that dies leaves no lock behind.
func TestLockOfASecondProcess(t *testing.T) {
	path := t.TempDir() + "/skein.db"
	holder := startChild(t, "hold", path)
	require.Equal(t, "open", holder.line())

	_, err := tryOpen(store.Options{Path: path})
	require.ErrorIs(t, err, store.ErrLocked)
	require.Equal(t, "store_locked", core.ErrorCode(err))
	require.Contains(t, err.Error(), fmt.Sprintf("the store %s is in use by process %d, since 2", path, holder.cmd.Process.Pid))
	require.Contains(t, err.Error(), "stop that process first")

	reader := open(t, store.Options{Path: path, ReadOnly: true})
	require.NoError(t, reader.Read(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Sessions(false, 1)
		return err
	}), "reading needs no lock")

	holder.kill()
	db := open(t, store.Options{Path: path})
	second := startChild(t, "hold", path)
	require.Contains(t, second.line(), fmt.Sprintf("in use by process %d,", os.Getpid()))
	require.Error(t, second.cmd.Wait())

	require.NoError(t, db.Close())
	third := startChild(t, "hold", path)
	require.Equal(t, "open", third.line(), "a store that was closed is free")
	third.leave()
}

func TestLockInOneProcess(t *testing.T) {
	db := open(t, store.Options{})
	_, err := tryOpen(store.Options{Path: db.Path()})
	require.ErrorIs(t, err, store.ErrLocked)
	require.NoError(t, db.Write(t.Context(), claim("x")), "the first one is not disturbed")
	require.NoError(t, db.Close())
	again := open(t, store.Options{Path: db.Path()})
	require.ErrorIs(t, again.Write(t.Context(), claim("x")), errClaimed)
}
