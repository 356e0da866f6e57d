package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/skein-bot/skein/core/clock"
)

// The connections of one node to PostgreSQL; one more listens.
const (
	pgWriters = 16 // units of work at the same time
	pgReaders = 6  // reads at the same time
)

// postgres is the engine of a database that several nodes share: each unit is a
// transaction of its own, at READ COMMITTED, so what a unit decides from what
// it read is guarded by row locks. See Tx.LockSession for their order.
type postgres struct {
	db     *DB
	log    *slog.Logger
	config *pgx.ConnConfig

	readOnly bool
	writers  *pgPool
	readers  *pgPool

	mu      sync.Mutex
	closing bool
	units   sync.WaitGroup
	// holders is, for each session, the try of a unit of this process that
	// locked it last (Pending.over): its OnCommit functions run before those of
	// the next. It is a try and not a unit: one that is rolled back holds nobody
	// up, least of all the one that its unit's next try comes after.
	holders map[int64]chan struct{}

	hints   *hints
	cursors *cursors
}

// pgParams are settings of each connection. A unit that was halted (a process
// that is stopped, a host that is gone) may not keep its locks for longer than
// a takeover takes.
func pgParams() map[string]string {
	return map[string]string{
		"application_name":                    "skein",
		"timezone":                            "UTC",
		"lock_timeout":                        "10s",
		"statement_timeout":                   "60s",
		"idle_in_transaction_session_timeout": "3s",
	}
}

func openPostgres(ctx context.Context, db *DB, opts Options) (*postgres, error) {
	config, err := pgx.ParseConfig(opts.URL)
	if err != nil {
		return nil, storeError("store_url", nil, "store.url is not a PostgreSQL address").
			WithRemedy("write it as postgres://user:password@host:5432/database")
	}
	for name, value := range pgParams() {
		if _, chosen := config.RuntimeParams[name]; !chosen {
			config.RuntimeParams[name] = value
		}
	}
	p := &postgres{
		db: db, log: opts.Log, config: config, readOnly: opts.ReadOnly,
		writers: newPgPool(pgWriters, opts.Conns), readers: newPgPool(pgReaders, opts.Conns), holders: make(map[int64]chan struct{}),
	}
	if err := p.prepare(ctx); err != nil {
		return nil, err
	}
	p.hints, p.cursors = newHints(p), newCursors(p)
	return p, nil
}

// connectTimeout is how long a connection may take to open.
const connectTimeout = 10 * time.Second

// connected returns a connection that is open: that of a pool, or a new one.
func (p *postgres) connected(conn *pgx.Conn) (*pgx.Conn, error) {
	if conn != nil && !conn.IsClosed() {
		return conn, nil
	}
	ctx, cancel := clock.Real{}.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	return pgx.ConnectConfig(ctx, p.config)
}

// place names the database without its password.
func (p *postgres) place() string {
	return fmt.Sprintf("postgres://%s@%s/%s", p.config.User, net.JoinHostPort(p.config.Host, fmt.Sprint(p.config.Port)), p.config.Database)
}

// migrationLock is the advisory lock under which one node changes the schema.
const migrationLock = 0x5ce1_0001

// prepare brings the schema up to date, or only checks it. Its connection is
// the first one of the units.
func (p *postgres) prepare(ctx context.Context) error {
	conn, err := p.connected(p.writers.kept.take())
	if err != nil {
		return p.openError(err)
	}
	current, err := p.version(ctx, conn)
	if err == nil {
		err = p.atVersion(ctx, current)
	}
	if err != nil {
		return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	p.writers.idle = append(p.writers.idle, conn)
	return nil
}

// version returns the version of the schema, 0 where there is nothing. It
// refuses a database that another program made; the migrations would add our
// tables to it.
func (p *postgres) version(ctx context.Context, conn *pgx.Conn) (current int64, err error) {
	var tables, versions int
	err = conn.QueryRow(ctx, `SELECT COUNT(*), COUNT(*) FILTER (WHERE tablename = 'goose_db_version') FROM pg_tables
		WHERE schemaname = current_schema()`).Scan(&tables, &versions)
	switch {
	case err != nil:
		return 0, p.openError(err)
	case tables > 0 && versions == 0:
		return 0, notOurs(p.place(), nil)
	case tables == 0:
		return 0, nil
	}
	if err := conn.QueryRow(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version").Scan(&current); err != nil {
		return 0, p.openError(err)
	}
	return current, nil
}

// atVersion runs the migrations where the schema is not of this build's
// version, one node at a time.
func (p *postgres) atVersion(ctx context.Context, current int64) error {
	target, err := newestMigration()
	if err != nil || current == target {
		return err
	}
	pool := stdlib.OpenDB(*p.config) // the migrations want one
	defer pool.Close()               //nolint:errcheck // the migrations have done their work
	if p.readOnly {
		return checkVersion(ctx, pool, p.place())
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return p.openError(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", migrationLock); err != nil {
		return p.openError(err)
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", migrationLock) //nolint:errcheck // ends with the connection
	return migrate(ctx, pool, postgresSchema(), p.place())
}

// postgresSchema: text is compared by its bytes, as SQLite does, whatever the
// database's language is.
func postgresSchema() schemaOf {
	return schemaOf{goose.DialectPostgres, strings.NewReplacer(
		"{{id}}", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", "{{keyed}}", "", "{{computed}}", "STORED", " TEXT", ` TEXT COLLATE "C"`)}
}

// openError says in words what keeps the database from being opened.
func (p *postgres) openError(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch {
		case strings.HasPrefix(pg.Code, "28"): // invalid authorization
			return storeError("store_auth", err, "the database %s refused this user", p.place()).
				WithRemedy("check the user and password in store.url, and pg_hba.conf of the server")
		case pg.Code == "3D000":
			return storeError("store_missing", err, "there is no database %s", p.place()).
				WithRemedy("create it: createdb %s", p.config.Database)
		case pg.Code == "42501":
			return storeError("store_auth", err, "this user may not make tables in %s", p.place()).
				WithRemedy("let it own the database: ALTER DATABASE %s OWNER TO %s", p.config.Database, p.config.User)
		}
	}
	return storeError("store_unreachable", err, "the database %s cannot be reached", p.place()).
		WithRemedy("start the server, or check store.url")
}

func (p *postgres) close() error {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	p.units.Wait()
	p.hints.close()
	return errors.Join(p.writers.close(), p.readers.close())
}

// enter takes part in the engine until leave; it fails once it closes.
func (p *postgres) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return ErrClosed
	}
	p.units.Add(1)
	return nil
}

func (p *postgres) read(ctx context.Context, fn func(tx *Tx) error) error {
	if err := p.enter(); err != nil {
		return err
	}
	idle, err := p.readers.take(ctx)
	if err != nil {
		p.units.Done()
		return err
	}
	conn, err := p.connected(idle)
	if err != nil {
		p.readers.give(nil)
		p.units.Done()
		return p.runError(err)
	}
	run := newPgRunner(conn, true)
	defer func() {
		go func() { // nobody waits for the end of a read
			run.rollback()
			p.readers.give(conn)
			p.units.Done()
		}()
	}()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	err = fn(&Tx{db: p.db, q: p.db.watched(run, noPages), world: p.db.world})
	if run.broken != nil {
		return p.runError(errors.Join(run.broken, err))
	}
	return err
}

// runError adds the remedy to an error of a connection.
func (p *postgres) runError(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && !strings.HasPrefix(pg.Code, "57P") && !strings.HasPrefix(pg.Code, "53") {
		return fmt.Errorf("store: %w", err)
	}
	return storeError("store_unreachable", err, "the database %s does not answer", p.place()).
		WithRemedy("nothing that was accepted is lost; work goes on when the server is back")
}
