package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Scratches are places in a PostgreSQL database for stores that are thrown
// away, each a schema of its own. A place that was given back is emptied and
// used again, because that takes a fraction of the time of a new one. It is
// safe for concurrent use.
type Scratches struct {
	database *url.URL

	mu   sync.Mutex
	free []*Scratch
	all  []*Scratch
}

// Scratch is one place. It is for one store at a time.
type Scratch struct {
	// URL is where a store is opened in it, and Conns its connections.
	URL   string
	Conns *Conns

	name string
	conn *pgx.Conn // for what is around the stores
}

// NewScratches returns the places in a database; it does not connect. The user
// must be allowed to create schemas. Close removes them.
func NewScratches(databaseURL string) (*Scratches, error) {
	u, err := url.Parse(databaseURL)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return nil, storeError("store_url", nil, "%q is not the address of a PostgreSQL database", databaseURL).
			WithRemedy("write it as postgres://user:password@host:5432/database")
	}
	return &Scratches{database: u}, nil
}

// Take returns an empty place: a store that is opened there begins from
// nothing.
func (s *Scratches) Take(ctx context.Context) (*Scratch, error) {
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		p := s.free[n-1]
		s.free = s.free[:n-1]
		s.mu.Unlock()
		return p, nil
	}
	s.mu.Unlock()
	return s.add(ctx)
}

// add makes a new place.
func (s *Scratches) add(ctx context.Context) (*Scratch, error) {
	p := &Scratch{name: "skein_" + strings.ToLower(rand.Text()), Conns: new(Conns)}
	u := *s.database
	q := u.Query()
	q.Set("search_path", p.name)
	q.Set("application_name", p.name) // tells whose a connection is
	u.RawQuery = q.Encode()
	p.URL = u.String()
	q.Set("application_name", "skein scratch")
	u.RawQuery = q.Encode()
	var err error
	if p.conn, err = pgx.Connect(ctx, u.String()); err != nil {
		return nil, storeError("store_unreachable", err, "the database %s cannot be reached", s.database.Redacted()).
			WithRemedy("start the server, or check the address")
	}
	if _, err := p.conn.Exec(ctx, "CREATE SCHEMA "+p.name); err != nil {
		return nil, errors.Join(fmt.Errorf("store: %w", err), p.conn.Close(ctx))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, p)
	return p, nil
}

// Give takes a place back whose store is closed, and empties it.
func (s *Scratches) Give(ctx context.Context, p *Scratch) error {
	// A store that was killed may have left a statement under way.
	_, err := p.conn.Exec(ctx, `SELECT pg_terminate_backend(pid, $2) FROM pg_stat_activity WHERE application_name = $1 AND NOT pid = ANY($3)`,
		p.name, killWait, p.Conns.pids())
	if err == nil {
		err = EmptyTables(ctx, p.conn)
	}
	if err != nil {
		return fmt.Errorf("store: empty %s: %w", p.name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, p)
	return nil
}

// killWait is how long, in milliseconds, a connection may take to end.
const killWait = 10_000

// Close removes every place with all that is in it, given back or not.
func (s *Scratches) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, p := range s.all {
		errs = append(errs, p.Conns.close(ctx))
		_, err := p.conn.Exec(ctx, "DROP SCHEMA "+p.name+" CASCADE")
		errs = append(errs, err, p.conn.Close(ctx))
	}
	s.all, s.free = nil, nil
	return errors.Join(errs...)
}

// EmptyTables makes the store in the schema of a connection as new: no rows,
// and ids from the beginning. Nobody else may use it meanwhile. It touches the
// tables that were used only: most stores of tests use a few.
func EmptyTables(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, emptyTables)
	return err
}

const emptyTables = `DO $$
DECLARE r record; used boolean;
BEGIN
  FOR r IN SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'goose_db_version' LOOP
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', r.name) INTO used;
    IF used THEN EXECUTE format('DELETE FROM %I', r.name); END IF;
  END LOOP;
  FOR r IN SELECT sequencename AS name FROM pg_sequences
    WHERE schemaname = current_schema() AND last_value IS NOT NULL AND sequencename <> 'goose_db_version_id_seq' LOOP
    EXECUTE format('ALTER SEQUENCE %I RESTART', r.name);
  END LOOP;
END $$`
