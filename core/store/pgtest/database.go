package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// Env names a running server for tests: the address of a database of it where
// the user may create databases. Package tests that run on either database take
// PostgreSQL where it is set.
const Env = "SKEIN_TEST_POSTGRES"

// RehearseEnv has the stores of tests run each unit of work twice, the first
// time without effect, whatever the database is.
const RehearseEnv = "SKEIN_TEST_REHEARSE"

// Rehearse reports whether RehearseEnv is set.
func Rehearse() bool { return os.Getenv(RehearseEnv) != "" }

// TB is what a test, and a run of a property, have in common.
type TB interface {
	require.TestingT
	Helper()
	Cleanup(f func())
	Context() context.Context
}

// startPoll is how often a starting server is asked whether it answers.
const startPoll = 20 * time.Millisecond

// shared is what the tests of one process have in common. It has no state that
// a test could see.
var shared struct {
	mu       sync.Mutex
	template map[string]string   // by server: a database with the schema
	free     map[string][]string // by server: databases that no test uses
	made     atomic.Int64
}

// Database returns the address of an empty database with the schema of this
// build. ok is false where no server is
// installed; where CI is set that fails the test. A server that it starts for
// this test ends with it: tests that need many databases share one by Env.
func Database(tb TB) (address string, ok bool) {
	tb.Helper()
	server := os.Getenv(Env)
	if server == "" {
		s, err := Start(tb.Context(), Settings{})
		if errors.Is(err, ErrNotInstalled) && os.Getenv("CI") == "" {
			return "", false
		}
		require.NoError(tb, err)
		tb.Cleanup(s.Stop)
		server = s.URL("postgres")
	}
	return New(tb, server), true
}

// New gives a test an empty database with the schema of this build on a server,
// named by the address of a database of it. Databases are used again by later
// tests of the process.
func New(tb TB, server string) string {
	tb.Helper()
	ctx := context.Background()
	name, err := take(ctx, server)
	require.NoError(tb, err)
	address := database(server, name)
	tb.Cleanup(func() {
		require.NoError(tb, empty(ctx, address))
		shared.mu.Lock()
		defer shared.mu.Unlock()
		shared.free[server] = append(shared.free[server], name)
	})
	return address
}

// take returns the name of a database that no test uses.
func take(ctx context.Context, server string) (string, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.free == nil {
		shared.free, shared.template = make(map[string][]string), make(map[string]string)
	}
	if free := shared.free[server]; len(free) > 0 {
		shared.free[server] = free[1:]
		return free[0], nil
	}
	template, err := templateOf(ctx, server)
	if err != nil {
		return "", err
	}
	name := fresh("skein")
	return name, run(ctx, server, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", name, template))
}

// empty takes out what a test left, and whoever is still connected.
func empty(ctx context.Context, address string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // it has done its work
	_, err = conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	if err != nil {
		return err
	}
	return store.EmptyTables(ctx, conn)
}

// fresh is a name that no other process uses.
func fresh(prefix string) string {
	return fmt.Sprintf("%s_%d_%d", prefix, os.Getpid(), shared.made.Add(1))
}

// database is the address of another database of the same server.
func database(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Path = "/" + name
	return u.String()
}

func run(ctx context.Context, server, query string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // it has done its work
	_, err = conn.Exec(ctx, query)
	return err
}

// templateOf makes, once for a server and process, the database that others are
// copied from. shared.mu is held.
func templateOf(ctx context.Context, server string) (string, error) {
	if name := shared.template[server]; name != "" {
		return name, nil
	}
	name := fresh("template")
	if err := run(ctx, server, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	db, err := store.Open(ctx, store.Options{URL: database(server, name), World: world.New(clock.Real{}, nil, 1)})
	if err != nil {
		return "", err
	}
	if err := db.Close(); err != nil {
		return "", err
	}
	shared.template[server] = name
	return name, nil
}

// Deadlocks returns how many deadlocks the server has counted in a database
// since it was made.
func Deadlocks(tb TB, address string) (n int64) {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), address)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, conn.Close(tb.Context())) }()
	require.NoError(tb, conn.QueryRow(tb.Context(), `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(&n))
	return n
}
