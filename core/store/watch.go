package store

import (
	"database/sql"

	driver "modernc.org/sqlite"
)

// Statement is one statement that ran, as Watch tells it.
type Statement struct {
	Query string // for $N
	Args  []any
	// Pages is how many pages of the file it looked at, 0 on PostgreSQL. Other
	// than time it does not depend on what else the machine does.
	Pages int
}

// Watch has told hear of every statement of units that begin from now on, until
// stop is called: tests and benchmarks find out with it what an operation asks
// of the database. told is called after the statement, by whoever runs the unit,
// from several at once; it must not use the store.
func (db *DB) Watch(told func(Statement)) (stop func()) {
	db.watch.Store(&told)
	return func() { db.watch.Store(nil) }
}

// watched is run, or one that tells of its statements while somebody watches.
// pages counts the pages a connection looked at so far.
func (db *DB) watched(run runner, pages func() int) runner {
	told := db.watch.Load()
	if told == nil {
		return run
	}
	return &watchedRunner{run: run, pages: pages, told: *told}
}

// watchedRunner tells of each statement it has run.
type watchedRunner struct {
	run   runner
	pages func() int
	told  func(Statement)
}

func (w *watchedRunner) exec(query string, args []any) (int64, error) {
	defer w.tell(query, args, w.pages())
	return w.run.exec(query, args)
}

func (w *watchedRunner) later(query string, args []any) error {
	defer w.tell(query, args, w.pages())
	return w.run.later(query, args)
}

func (w *watchedRunner) query(query string, args []any) (rowSet, error) {
	before := w.pages()
	rows, err := w.run.query(query, args)
	if err != nil {
		return nil, err
	}
	return &watchedRows{rowSet: rows, over: func() { w.tell(query, args, before) }}, nil
}

func (w *watchedRunner) tell(query string, args []any, before int) {
	w.told(Statement{Query: query, Args: args, Pages: w.pages() - before})
}

// watchedRows are read as the statement runs: it is over when they are closed.
type watchedRows struct {
	rowSet
	over func()
}

func (r *watchedRows) Close() error {
	defer r.over()
	return r.rowSet.Close()
}

// noPages counts nothing.
func noPages() int { return 0 }

// pagesOf counts the pages that a connection to SQLite looked at.
func pagesOf(conn *sql.Conn) func() int {
	return func() (n int) {
		_ = conn.Raw(func(c any) error {
			status, ok := c.(driver.DBStatus)
			if !ok {
				return nil
			}
			for _, op := range []driver.DBStatusOp{driver.DBStatusCacheHit, driver.DBStatusCacheMiss} {
				pages, _, err := status.Status(op, false)
				if err != nil {
					return err
				}
				n += pages
			}
			return nil
		})
		return n
	}
}
