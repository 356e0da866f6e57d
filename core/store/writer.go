package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
)

// batchStats counts commits and units, for metrics and benchmarks.
type batchStats struct{ commits, units atomic.Int64 }

// Stats returns how many commits were made and how many units they held.
func (db *DB) Stats() (commits, units int64) {
	return db.stats.commits.Load(), db.stats.units.Load()
}

// writer owns the connection that writes.
type writer struct {
	e     *sqlite
	db    *DB
	conn  *sql.Conn
	run   *connRunner
	begin *sql.Stmt
	end   *sql.Stmt
	undo  *sql.Stmt
	save  *sql.Stmt
	keep  *sql.Stmt
	back  *sql.Stmt
	batch []*Pending
	pages func() int // that conn looked at
}

func newWriter(ctx context.Context, e *sqlite, conn *sql.Conn) (*writer, error) {
	w := &writer{e: e, db: e.db, conn: conn, pages: pagesOf(conn), run: &connRunner{conn: conn, stmts: make(map[string]*sql.Stmt)}}
	for _, s := range []struct {
		to  **sql.Stmt
		sql string
	}{
		{&w.begin, "BEGIN IMMEDIATE"}, {&w.end, "COMMIT"}, {&w.undo, "ROLLBACK"},
		{&w.save, "SAVEPOINT unit"}, {&w.keep, "RELEASE unit"}, {&w.back, "ROLLBACK TO unit"},
	} {
		stmt, err := conn.PrepareContext(ctx, s.sql) //nolint:sqlclosecheck // the writer closes its own
		if err != nil {
			return nil, err
		}
		*s.to = stmt
	}
	return w, nil
}

// loop takes units until the store closes, then those still queued.
func (w *writer) loop() {
	defer close(w.e.stopped)
	defer w.close()
	for {
		select {
		case p := <-w.e.queue:
			w.commit(p)
			continue
		default:
		}
		select {
		case p := <-w.e.queue:
			w.commit(p)
		case <-w.e.stop:
			for {
				select {
				case p := <-w.e.queue:
					w.commit(p)
				default:
					return
				}
			}
		}
	}
}

func (w *writer) close() {
	w.run.close()
	for _, s := range []*sql.Stmt{w.begin, w.end, w.undo, w.save, w.keep, w.back} {
		_ = s.Close()
	}
	_ = w.conn.Close()
}

// commit runs first and what queued meanwhile in one transaction.
func (w *writer) commit(first *Pending) {
	bg := context.Background()
	if err := w.db.world.Err(); err != nil {
		w.failAll([]*Pending{first}, err)
		return
	}
	if _, err := w.begin.ExecContext(bg); err != nil {
		w.failAll([]*Pending{first}, fmt.Errorf("store: begin: %w", wrapFull(err)))
		return
	}
	w.batch = w.batch[:0]
	next := first
	for next != nil {
		if err := w.unit(next); err != nil { // the transaction itself is broken
			w.abort(next, err)
			return
		}
		next = w.more()
	}
	w.finish()
}

// more returns the next queued unit of this batch, or nil.
func (w *writer) more() *Pending {
	if len(w.batch) >= maxBatch {
		return nil
	}
	select {
	case p := <-w.e.queue:
		return p
	default:
		return nil
	}
}

// unit runs one unit in a savepoint. It answers a unit that failed alone, and
// returns an error only when the whole transaction is lost.
func (w *writer) unit(p *Pending) error {
	bg := context.Background()
	if err := context.Cause(p.ctx); err != nil {
		p.fail(err)
		return nil
	}
	if w.db.twice {
		if err := w.rehearse(p); err != nil {
			return err
		}
	}
	if len(w.batch) == 0 {
		return w.alone(p)
	}
	if _, err := w.save.ExecContext(bg); err != nil {
		return err
	}
	p.tx = &Tx{db: w.db, q: w.db.watched(w.run, w.pages), world: w.db.world, writable: true}
	p.ferr = p.call()
	if p.ferr == nil {
		if _, err := w.keep.ExecContext(bg); err != nil {
			return err
		}
		w.batch = append(w.batch, p)
		close(p.ran)
		return nil
	}
	if _, err := w.back.ExecContext(bg); err != nil {
		return errors.Join(p.ferr, err)
	}
	if _, err := w.keep.ExecContext(bg); err != nil {
		return errors.Join(p.ferr, err)
	}
	p.fail(wrapFull(p.ferr))
	return nil
}

// rehearse runs a unit and takes back what it did.
func (w *writer) rehearse(p *Pending) error {
	bg := context.Background()
	if _, err := w.save.ExecContext(bg); err != nil {
		return err
	}
	p.tx = &Tx{db: w.db, q: w.db.watched(w.run, w.pages), world: w.db.world, writable: true, rehearsal: true}
	_ = p.call() // the next run tells
	if _, err := w.back.ExecContext(bg); err != nil {
		return err
	}
	_, err := w.keep.ExecContext(bg)
	return err
}

// alone runs the first unit of a transaction, which needs no savepoint: there is
// nothing before it that a rollback would take along.
func (w *writer) alone(p *Pending) error {
	bg := context.Background()
	p.tx = &Tx{db: w.db, q: w.db.watched(w.run, w.pages), world: w.db.world, writable: true}
	if p.ferr = p.call(); p.ferr == nil {
		w.batch = append(w.batch, p)
		close(p.ran)
		return nil
	}
	if _, err := w.undo.ExecContext(bg); err != nil {
		return errors.Join(p.ferr, err)
	}
	if _, err := w.begin.ExecContext(bg); err != nil {
		return errors.Join(p.ferr, err)
	}
	p.fail(wrapFull(p.ferr))
	return nil
}

// call runs fn; a panic in a unit is that unit's failure, not the store's.
func (p *Pending) call() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("store: a unit of work panicked: %v", r)
		}
	}()
	return p.fn(p.tx)
}

// abort rolls everything back because the transaction was lost while p ran.
func (w *writer) abort(p *Pending, err error) {
	_, _ = w.undo.ExecContext(context.Background())
	err = wrapFull(fmt.Errorf("%w: %w", ErrCommit, err))
	w.failRan(w.batch, err)
	p.fail(err)
}

// finish commits the batch and answers it.
func (w *writer) finish() {
	bg := context.Background()
	if err := w.db.world.Err(); err != nil {
		_, _ = w.undo.ExecContext(bg)
		w.failRan(w.batch, err)
		return
	}
	if _, err := w.end.ExecContext(bg); err != nil {
		_, _ = w.undo.ExecContext(bg)
		w.failRan(w.batch, wrapFull(fmt.Errorf("%w: %w", ErrCommit, err)))
		return
	}
	w.db.stats.commits.Add(1)
	w.db.stats.units.Add(int64(len(w.batch)))
	for i, p := range w.batch {
		w.db.after(p.tx)
		close(p.done)
		w.batch[i] = nil
	}
}

// failAll answers units that never ran.
func (w *writer) failAll(batch []*Pending, err error) {
	for _, p := range batch {
		p.fail(err)
	}
}

// failRan answers units that ran but are not durable.
func (w *writer) failRan(batch []*Pending, err error) {
	for _, p := range batch {
		p.err = err
		close(p.done)
	}
}
