package store_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// TestTemplateIsWhatTheMigrationsMake: tests that begin with a copy run on the
// schema that a gateway makes from nothing.
func TestTemplateIsWhatTheMigrationsMake(t *testing.T) {
	template, err := store.NewTemplate(t.Context())
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "a", "skein.db")
	require.NoError(t, template.Copy(path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	made := filepath.Join(t.TempDir(), "skein.db")
	require.NoError(t, open(t, store.Options{Path: made}).Close())
	want := contents(t, made)
	require.Greater(t, len(want), 50)
	require.Equal(t, want, contents(t, path))

	db := open(t, store.Options{Path: path})
	require.NoError(t, db.Write(t.Context(), claim("x")), "it opens as any store")
	err = template.Copy(path)
	require.ErrorIs(t, err, os.ErrExist, "a store is not overwritten")
	require.Equal(t, "store_open", core.ErrorCode(err))
}

// contents are the tables and indexes of a store that no test wrote to, and
// every row in it, but for when the migrations ran.
func contents(t *testing.T, path string) (out []string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	read := func(query string) (found []string) {
		rows, err := db.QueryContext(t.Context(), query)
		require.NoError(t, err)
		defer func() { require.NoError(t, rows.Close()) }()
		for rows.Next() {
			var text string
			require.NoError(t, rows.Scan(&text))
			found = append(found, text)
		}
		require.NoError(t, rows.Err())
		return found
	}
	for _, table := range read(`SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'goose_db_version'`) {
		for _, n := range read(`SELECT COUNT(*) FROM ` + table) {
			out = append(out, table+" has rows: "+n)
		}
	}
	out = append(out, read(`SELECT version_id FROM goose_db_version WHERE is_applied ORDER BY id`)...)
	return append(out, read(`SELECT name || ': ' || COALESCE(sql, '') FROM sqlite_master ORDER BY name`)...)
}
