package store_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// testScratchIsAsNew: a place that is used again holds nothing of the store
// before it, not even what that store still had under way, and keeps its
// connections.
func testScratchIsAsNew(t *testing.T, s string) {
	t.Helper()
	places, err := store.NewScratches(s)
	require.NoError(t, err)
	var pids [2][]int
	var at string
	for life := range pids {
		place, err := places.Take(t.Context())
		require.NoError(t, err)
		require.True(t, at == "" || at == place.URL, "it is the same place")
		at = place.URL
		db, err := tryOpen(store.Options{URL: place.URL, Conns: place.Conns})
		require.NoError(t, err)
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			all, err := tx.Sessions(false, 10)
			require.Empty(t, all)
			if err != nil {
				return err
			}
			made, err := tx.InsertSession(store.Session{Key: "agent:main:main", Agent: "main", Kind: core.SessionMain, CreatedAt: 1, UsedAt: 1})
			require.Equal(t, int64(1), made.ID, "ids begin anew")
			return err
		}))
		require.NoError(t, db.Close())
		late, err := pgx.Connect(t.Context(), place.URL) // of the store, were it killed
		require.NoError(t, err)
		tx, err := late.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "UPDATE session SET title = 'late'")
		require.NoError(t, err)
		pids[life] = ask[int](t, s, "SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND pid <> $2", schemaOf(t, at), int64(late.PgConn().PID()))
		require.NoError(t, places.Give(t.Context(), place))
		require.Error(t, tx.Commit(t.Context()), "it was ended")
		_ = late.Close(t.Context())
	}
	require.NotEmpty(t, pids[0])
	require.Subset(t, pids[1], pids[0])
	require.NoError(t, places.Close(context.Background()))
	require.NotContains(t, ask[string](t, s, "SELECT nspname::text FROM pg_namespace"), schemaOf(t, at))
}

// schemaOf is the schema of a place.
func schemaOf(t *testing.T, place string) string {
	t.Helper()
	u, err := url.Parse(place)
	require.NoError(t, err)
	return u.Query().Get("search_path")
}

// ask returns the first column of a query.
func ask[T any](t *testing.T, server, query string, args ...any) []T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	rows, err := conn.Query(t.Context(), query, args...)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[T])
	require.NoError(t, err)
	return out
}
