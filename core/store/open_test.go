package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// made returns the path of a closed store with something in it.
func made(t *testing.T) string {
	t.Helper()
	db := open(t, store.Options{})
	require.NoError(t, db.Write(t.Context(), claim("x")))
	require.NoError(t, db.Close())
	return db.Path()
}

// alter changes a closed store behind the back of package store.
func alter(t *testing.T, path, statement string) {
	t.Helper()
	raw, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = raw.ExecContext(t.Context(), statement)
	require.NoError(t, err)
	require.NoError(t, raw.Close())
}

func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		name     string
		path     func(t *testing.T) string
		readOnly bool
		code     string
		is       error
		want     []string // in the message
	}{
		{
			name: "a newer schema", code: "store_newer", is: store.ErrNewer, want: []string{"schema 9999", "run the newer version"},
			path: func(t *testing.T) string {
				path := made(t)
				alter(t, path, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
				return path
			},
		},
		{
			name: "a newer schema, reading", readOnly: true, code: "store_newer", is: store.ErrNewer, want: []string{"schema 9999"},
			path: func(t *testing.T) string {
				path := made(t)
				alter(t, path, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
				return path
			},
		},
		{
			name: "an older schema, reading", readOnly: true, code: "store_older", want: []string{"schema 0", "skein run"},
			path: func(t *testing.T) string {
				path := made(t)
				alter(t, path, `DELETE FROM goose_db_version WHERE version_id > 0`)
				return path
			},
		},
		{
			name: "nothing there, reading", readOnly: true, code: "store_missing", want: []string{"there is no store at", "skein run"},
			path: func(t *testing.T) string { return filepath.Join(t.TempDir(), "none.db") },
		},
		{
			name: "text", code: "store_corrupt", want: []string{"is not a Skein store", "check store.url"},
			path: func(t *testing.T) string { return file(t, bytes.Repeat([]byte("not a database\n"), 1000)) },
		},
		{
			name: "text, reading", readOnly: true, code: "store_corrupt",
			path: func(t *testing.T) string { return file(t, bytes.Repeat([]byte("not a database\n"), 1000)) },
		},
		{
			name: "a torn file", code: "store_corrupt", want: []string{"damaged", "restore a backup"},
			path: func(t *testing.T) string {
				path := made(t)
				b, err := os.ReadFile(path)
				require.NoError(t, err)
				return file(t, b[:len(b)/2])
			},
		},
		{
			name: "a torn header", code: "store_corrupt",
			path: func(t *testing.T) string {
				b, err := os.ReadFile(made(t))
				require.NoError(t, err)
				return file(t, b[:50])
			},
		},
		{
			name: "the database of another program", code: "store_corrupt", want: []string{"is not a Skein store"},
			path: func(t *testing.T) string {
				path := filepath.Join(t.TempDir(), "other.db")
				alter(t, path, `PRAGMA journal_mode = WAL; CREATE TABLE recipes (name TEXT)`)
				return path
			},
		},
		{
			name: "the database of another program, reading", readOnly: true, code: "store_corrupt",
			path: func(t *testing.T) string {
				path := filepath.Join(t.TempDir(), "other.db")
				alter(t, path, `PRAGMA journal_mode = WAL; CREATE TABLE recipes (name TEXT)`)
				return path
			},
		},
		{
			name: "a folder", code: "store_open", want: []string{"is a directory", "check store.url"},
			path: func(t *testing.T) string { return t.TempDir() },
		},
		{
			name: "a folder, reading", readOnly: true, code: "store_open", want: []string{"is a directory"},
			path: func(t *testing.T) string { return t.TempDir() },
		},
		{
			name: "a file where a folder should be", code: "store_open", want: []string{"not a directory", "check store.url"},
			path: func(t *testing.T) string { return filepath.Join(file(t, nil), "skein.db") },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := tt.path(t)
			before, _ := os.ReadFile(path)
			db, err := tryOpen(store.Options{Path: path, ReadOnly: tt.readOnly})
			if err == nil {
				require.NoError(t, db.Close())
			}
			require.Error(t, err)
			require.Equal(t, tt.code, core.ErrorCode(err), err)
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
			for _, want := range tt.want {
				require.Contains(t, err.Error(), want)
			}
			after, _ := os.ReadFile(path)
			require.True(t, bytes.Equal(before, after), "what was refused is not touched")
			_, err = tryOpen(store.Options{Path: path, ReadOnly: tt.readOnly})
			require.NotErrorIs(t, err, store.ErrLocked, "the lock is given back")
		})
	}
}

// file writes a file and returns its path.
func file(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.db")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func TestOpenCreates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b", "c?#%41&é", "skein.db")
	db := open(t, store.Options{Path: path})
	require.NoError(t, db.Write(t.Context(), claim("x")))
	dir, err := os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), dir.Mode().Perm())
	f, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), f.Mode().Perm())

	empty := open(t, store.Options{Path: file(t, nil)})
	require.NoError(t, empty.Write(t.Context(), claim("x")), "an empty file becomes a store")
}

func TestReadOnly(t *testing.T) {
	db := open(t, store.Options{Path: made(t), ReadOnly: true})
	err := db.Write(t.Context(), claim("y"))
	require.Equal(t, "store_read_only", core.ErrorCode(err))
	require.NoError(t, db.Close())
	require.ErrorIs(t, db.Read(t.Context(), func(*store.Tx) error { return nil }), store.ErrClosed)
}

// TestReadOnlyFile: a place that cannot be written is refused with a remedy,
// also for root (who does not heed the permission bits, see unprivileged).
func TestReadOnlyFile(t *testing.T) {
	file := made(t)
	require.NoError(t, os.Chmod(file, 0o444))
	require.NoError(t, os.Chmod(file+".lock", 0o666))
	folder := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, os.Mkdir(folder, 0o555))
	for name, path := range map[string]string{"file": file, "folder": filepath.Join(folder, "skein.db"), "missing folder": filepath.Join(folder, "a", "skein.db")} {
		open := func() {
			for dir := filepath.Dir(path); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
				if dir != folder {
					_ = os.Chmod(dir, 0o755) // let the unprivileged in; what is not there is made below
				}
			}
			var err error
			unprivileged(t, func() { _, err = tryOpen(store.Options{Path: path}) })
			require.Equal(t, "store_read_only", core.ErrorCode(err), "%s: %v", name, err)
			require.ErrorContains(t, err, "make the file and its folder writable")
			require.ErrorIs(t, err, os.ErrPermission)
		}
		t.Run(name, func(*testing.T) { open() })
	}
}

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
// every one behind it.
func TestCutWhileQueued(t *testing.T) {
	w := newWorld()
	db := open(t, store.Options{World: w})
	gate, inside := make(chan struct{}), make(chan struct{})
	pending := []*store.Pending{db.Submit(t.Context(), func(*store.Tx) error {
		close(inside)
		<-gate
		return nil
	})}
	<-inside
	for _, key := range []string{"1", "2", "3"} {
		pending = append(pending, db.Submit(t.Context(), claim(key)))
	}
	w.Cut()
	close(gate)
	for _, p := range pending {
		require.ErrorIs(t, p.Wait(), world.ErrKilled)
	}
	require.NoError(t, db.Close())
	db = open(t, store.Options{Path: db.Path()})
	for _, key := range []string{"1", "2", "3"} {
		require.NoError(t, db.Write(t.Context(), claim(key)))
	}
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
