package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Scratch makes an empty place of its own in a PostgreSQL database, for a store
// that is thrown away: a schema. It returns the URL of a store there, and drop,
// which removes it with all that is in it. The user must be allowed to create
// schemas.
func Scratch(ctx context.Context, databaseURL string) (storeURL string, drop func(ctx context.Context) error, err error) {
	u, err := url.Parse(databaseURL)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return "", nil, storeError("store_url", nil, "%q is not the address of a PostgreSQL database", databaseURL).
			WithRemedy("write it as postgres://user:password@host:5432/database")
	}
	name := "skein_" + strings.ToLower(rand.Text())
	run := func(ctx context.Context, query string) error {
		conn, err := pgx.Connect(ctx, databaseURL)
		if err != nil {
			return storeError("store_unreachable", err, "the database %s cannot be reached", u.Redacted()).
				WithRemedy("start the server, or check the address")
		}
		defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it has done its work
		if _, err := conn.Exec(ctx, query); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		return nil
	}
	if err := run(ctx, "CREATE SCHEMA "+name); err != nil {
		return "", nil, err
	}
	q := u.Query()
	q.Set("search_path", name)
	u.RawQuery = q.Encode()
	return u.String(), func(ctx context.Context) error { return run(ctx, "DROP SCHEMA "+name+" CASCADE") }, nil
}
