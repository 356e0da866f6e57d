package pgtest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/stretchr/testify/require"
)

// Values returns everything that the store at a place which StoreURL gave
// holds, as "table.column: value"; tests look in it for what must be gone.
func Values(tb TB, storeURL string) (out []string) {
	tb.Helper()
	ctx := context.Background()
	driver, source, tables := "pgx", storeURL, `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`
	if path, ok := strings.CutPrefix(storeURL, "sqlite:"); ok {
		driver, source = "sqlite", (&url.URL{Scheme: "file", Opaque: path, RawQuery: "mode=ro"}).String()
		tables = `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
	}
	db, err := sql.Open(driver, source)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, db.Close()) }()
	for _, row := range rows(ctx, tb, db, tables) {
		table := row[0].value
		for _, r := range rows(ctx, tb, db, `SELECT * FROM `+table) {
			for _, c := range r {
				out = append(out, fmt.Sprintf("%s.%s: %s", table, c.name, c.value))
			}
		}
	}
	return out
}

// cell is one value of a row, as text.
type cell struct{ name, value string }

func rows(ctx context.Context, tb TB, db *sql.DB, query string) (out [][]cell) {
	tb.Helper()
	found, err := db.QueryContext(ctx, query)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, found.Close()) }()
	names, err := found.Columns()
	require.NoError(tb, err)
	for found.Next() {
		values, into := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(tb, found.Scan(into...))
		row := make([]cell, len(names))
		for i, v := range values {
			row[i] = cell{names[i], v.String}
		}
		out = append(out, row)
	}
	require.NoError(tb, found.Err())
	return out
}
