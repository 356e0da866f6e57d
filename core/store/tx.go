package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/skein-bot/skein/core/world"
)

// Tx is one unit of work. Its methods are grouped by table in the files of
// this package. It must not be used after the unit returned.
type Tx struct {
	db       *DB
	q        runner
	world    *world.World
	writable bool
	onCommit []func()
	// rehearsal marks a run that is taken back (Options.Rehearse).
	rehearsal bool
	// unit is set where row locks guard what a unit reads (PostgreSQL).
	unit *Pending
}

// OnCommit registers f to run right after the commit, on the store's own
// goroutine: it must not block and must not use the store.
func (tx *Tx) OnCommit(f func()) { tx.onCommit = append(tx.onCommit, f) }

// Crash marks a crash point inside the unit: see world.World.Crash.
func (tx *Tx) Crash(name string) error {
	if tx.rehearsal {
		return nil
	}
	return tx.world.Crash(name)
}

// runner runs statements; queries are written for $N.
type runner interface {
	// exec returns how many rows were affected.
	exec(query string, args []any) (int64, error)
	// later is exec where nobody needs the answer: it takes effect before the
	// next statement, and fails that one or the commit.
	later(query string, args []any) error
	query(query string, args []any) (rowSet, error)
}

// rowSet is the answer of a query, read row by row and closed.
type rowSet interface {
	scanner
	Next() bool
	Err() error
	Close() error
}

func (tx *Tx) exec(query string, args ...any) (int64, error) {
	n, err := tx.q.exec(query, args)
	if err != nil {
		return 0, fmt.Errorf("store: %w", err)
	}
	return n, nil
}

// later is exec for a statement whose answer nobody needs: on PostgreSQL it
// travels with the next one.
func (tx *Tx) later(query string, args ...any) error {
	if err := tx.q.later(query, args); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// scanner is what a row and rows have in common.
type scanner interface{ Scan(dest ...any) error }

// one runs a query for at most one row; it returns ErrNotFound for none.
func (tx *Tx) one(query string, args []any, dest ...any) error {
	rows, err := tx.q.query(query, args)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer rows.Close() //nolint:errcheck // what it may report late is noted by the runner
	if !rows.Next() {
		if err := tx.note(rows.Err()); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		return ErrNotFound
	}
	if err := rows.Scan(dest...); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// all runs a query and hands each row to scan.
func all[T any](tx *Tx, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	var out []T
	err := each(tx, scan, func(v T) (bool, error) {
		out = append(out, v)
		return true, nil
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// each runs a query and hands its rows to do, one by one, until do wants no
// more. do must not use the transaction: the statement is still running.
func each[T any](tx *Tx, scan func(scanner) (T, error), do func(T) (more bool, err error), query string, args ...any) error {
	rows, err := tx.q.query(query, args)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer rows.Close() //nolint:errcheck // what it may report late is noted by the runner
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		if more, err := do(v); err != nil || !more {
			return err
		}
	}
	if err := tx.note(rows.Err()); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// note tells the engine of an error that a statement reported late, with its
// rows.
func (tx *Tx) note(err error) error {
	run := tx.q
	if w, ok := run.(*watchedRunner); ok {
		run = w.run
	}
	if r, ok := run.(*pgRunner); ok {
		return r.note(err)
	}
	return err
}

// first runs a query for at most one row.
func first[T any](tx *Tx, scan func(scanner) (T, error), query string, args ...any) (T, error) {
	var zero T
	rows, err := all(tx, scan, query, args...)
	if err != nil {
		return zero, err
	}
	if len(rows) == 0 {
		return zero, ErrNotFound
	}
	return rows[0], nil
}

// limited adds a LIMIT as a literal. As a parameter it would have SQLite compile
// the statement anew whenever its value changes; callers use few values.
func limited(query string, n int) string { return query + " LIMIT " + strconv.Itoa(n) }

// connRunner runs on the writer's connection with its own prepared statements.
// The context is never cancelled: a statement of a unit is short, and the
// driver would start a goroutine to watch one that can be.
type connRunner struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func (r *connRunner) stmt(query string) (*sql.Stmt, error) {
	if s, ok := r.stmts[query]; ok {
		return s, nil
	}
	s, err := r.conn.PrepareContext(context.Background(), questionMarks(query))
	if err != nil {
		return nil, fmt.Errorf("%w in %q", err, query)
	}
	r.stmts[query] = s
	return s, nil
}

func (r *connRunner) exec(query string, args []any) (int64, error) {
	s, err := r.stmt(query) //nolint:sqlclosecheck // kept for the next call; close ends them all
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (r *connRunner) later(query string, args []any) error {
	_, err := r.exec(query, args)
	return err
}

func (r *connRunner) query(query string, args []any) (rowSet, error) {
	s, err := r.stmt(query) //nolint:sqlclosecheck // kept for the next call; close ends them all
	if err != nil {
		return nil, err
	}
	return s.QueryContext(context.Background(), args...) //nolint:rowserrcheck // who reads them does
}

func (r *connRunner) close() {
	for _, s := range r.stmts {
		_ = s.Close()
	}
}

// readRunner runs inside a read transaction.
type readRunner struct {
	tx    *sql.Tx
	stmts *stmtCache
}

var errReadOnly = errors.New("a read unit may not write")

func (r *readRunner) exec(string, []any) (int64, error) { return 0, errReadOnly }

func (r *readRunner) later(string, []any) error { return errReadOnly }

func (r *readRunner) query(query string, args []any) (rowSet, error) {
	s, err := r.stmts.get(query)
	if err != nil {
		return nil, err
	}
	return r.tx.StmtContext(context.Background(), s).QueryContext(context.Background(), args...) //nolint:sqlclosecheck,rowserrcheck // ends with the transaction; who reads them looks for errors
}

// stmtCache holds the prepared statements of the read pool.
type stmtCache struct {
	db *sql.DB
	mu sync.Mutex
	m  map[string]*sql.Stmt
}

func newStmtCache(db *sql.DB) *stmtCache { return &stmtCache{db: db, m: make(map[string]*sql.Stmt)} }

func (c *stmtCache) get(query string) (*sql.Stmt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.m[query]; ok {
		return s, nil
	}
	s, err := c.db.PrepareContext(context.Background(), questionMarks(query)) //nolint:sqlclosecheck // kept; close ends them all
	if err != nil {
		return nil, fmt.Errorf("%w in %q", err, query)
	}
	c.m[query] = s
	return s, nil
}

func (c *stmtCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.m {
		_ = s.Close()
	}
}

func ensureDir(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return openError(path, err)
	}
	return nil
}
