package store_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
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

// The places that TestOpenRefuses tries.

func newerStore(t *testing.T) string {
	t.Helper()
	path := made(t)
	alter(t, path, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
	return path
}

func olderStore(t *testing.T) string {
	t.Helper()
	path := made(t)
	alter(t, path, `DELETE FROM goose_db_version WHERE version_id > 0`)
	return path
}

func nothing(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "none.db")
}

func text(t *testing.T) string {
	t.Helper()
	return file(t, bytes.Repeat([]byte("not a database\n"), 1000))
}

func tornStore(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(made(t))
	require.NoError(t, err)
	return file(t, b[:len(b)/2])
}

func tornHeader(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(made(t))
	require.NoError(t, err)
	return file(t, b[:50])
}

func foreign(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "other.db")
	alter(t, path, `PRAGMA journal_mode = WAL; CREATE TABLE recipes (name TEXT)`)
	return path
}

func folder(t *testing.T) string {
	t.Helper()
	return t.TempDir()
}

func underAFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(file(t, nil), "skein.db")
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
		{"a newer schema", newerStore, false, "store_newer", store.ErrNewer, []string{"schema 9999", "run the newer version"}},
		{"a newer schema, reading", newerStore, true, "store_newer", store.ErrNewer, []string{"schema 9999", "run the newer version"}},
		{"an older schema, reading", olderStore, true, "store_older", nil, []string{"schema 0", "skein run"}},
		{"nothing there, reading", nothing, true, "store_missing", os.ErrNotExist, []string{"there is no store at", "skein run"}},
		{"text", text, false, "store_corrupt", nil, []string{"is not a Skein store", "check store.url"}},
		{"text, reading", text, true, "store_corrupt", nil, []string{"is not a Skein store", "check store.url"}},
		{"a torn file", tornStore, false, "store_corrupt", nil, []string{"is damaged", "restore a backup"}},
		{"a torn file, reading", tornStore, true, "store_corrupt", nil, []string{"is damaged", "restore a backup"}},
		{"a torn header", tornHeader, false, "store_corrupt", nil, []string{"is damaged", "restore a backup"}},
		{"the database of another program", foreign, false, "store_corrupt", nil, []string{"is not a Skein store"}},
		{"the database of another program, reading", foreign, true, "store_corrupt", nil, []string{"is not a Skein store"}},
		{"a folder", folder, false, "store_open", nil, []string{"is a directory", "check store.url"}},
		{"a folder, reading", folder, true, "store_open", nil, []string{"is a directory", "check store.url"}},
		{"a file where a folder should be", underAFile, false, "store_open", nil, []string{"not a directory", "check store.url"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := tt.path(t)
			before, _ := os.ReadFile(path)
			_, err := tryOpen(store.Options{Path: path, ReadOnly: tt.readOnly})
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
	locked := filepath.Join(t.TempDir(), "locked")
	require.NoError(t, os.Mkdir(locked, 0o555))
	for name, path := range map[string]string{
		"file": file, "folder": filepath.Join(locked, "skein.db"), "folder that is missing": filepath.Join(locked, "a", "skein.db"),
	} {
		t.Run(name, func(t *testing.T) {
			letIn(t, filepath.Dir(file))
			letIn(t, filepath.Dir(locked))
			var err error
			unprivileged(t, func() { _, err = tryOpen(store.Options{Path: path}) })
			require.Equal(t, "store_read_only", core.ErrorCode(err), err)
			require.ErrorContains(t, err, "make the file and its folder writable")
			require.ErrorIs(t, err, os.ErrPermission)
		})
	}
}

// letIn lets everybody reach a temporary folder.
func letIn(t *testing.T, dir string) {
	t.Helper()
	for ; dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o755))
	}
}
