package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// maxBatch is how many units share one commit at most.
const maxBatch = 256

// maxReaders is how many reads run at the same time.
const maxReaders = 4

// sqlite is the engine of one process: one goroutine writes, a pool reads.
type sqlite struct {
	db      *DB
	path    string
	write   *sql.DB // nil when read-only
	reads   *sql.DB
	lock    *fileLock
	queue   chan *Pending
	stop    chan struct{}
	stopped chan struct{}
	started bool

	stmts *stmtCache // of the read pool
	// readers bounds reads at the same time below the connections of the pool,
	// so that one is left for preparing a statement, which all may wait for.
	readers chan struct{}
}

func openSQLiteEngine(ctx context.Context, db *DB, opts Options) (*sqlite, error) {
	e := &sqlite{db: db, path: opts.Path}
	var err error
	if !opts.ReadOnly {
		if err := ensureDir(opts.Path); err != nil {
			return nil, err
		}
		if e.lock, err = lockFile(opts.Path, opts.World.Clock.Now()); err != nil {
			return nil, err
		}
	}
	e.write, e.reads, err = openSQLite(opts)
	if err != nil {
		return nil, errors.Join(err, e.lock.release())
	}
	if err := e.prepare(ctx, opts); err != nil {
		return nil, errors.Join(err, e.closeHandles())
	}
	return e, nil
}

func (e *sqlite) prepare(ctx context.Context, opts Options) error {
	e.stmts = newStmtCache(e.reads)
	e.readers = make(chan struct{}, maxReaders)
	if opts.ReadOnly {
		if err := checkOurs(ctx, e.reads, opts.Path); err != nil {
			return err
		}
		return checkVersion(ctx, e.reads, opts.Path)
	}
	if err := checkOurs(ctx, e.write, opts.Path); err != nil {
		return err
	}
	if err := migrate(ctx, e.write, sqliteSchema(), opts.Path); err != nil {
		return err
	}
	conn, err := e.write.Conn(ctx)
	if err != nil {
		return openError(opts.Path, err)
	}
	if opts.MaxPages > 0 {
		if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count=%d", opts.MaxPages)); err != nil {
			return errors.Join(openError(opts.Path, err), conn.Close())
		}
	}
	w, err := newWriter(ctx, e, conn)
	if err != nil {
		return errors.Join(openError(opts.Path, err), conn.Close())
	}
	e.queue = make(chan *Pending, maxBatch)
	e.stop, e.stopped = make(chan struct{}), make(chan struct{})
	e.started = true
	go w.loop()
	return nil
}

// close ends the writer after the units that were already queued, and frees
// the lock.
func (e *sqlite) close() error {
	if e.started {
		close(e.stop)
		<-e.stopped
	}
	return e.closeHandles()
}

func (e *sqlite) closeHandles() error {
	var errs []error
	if e.stmts != nil {
		e.stmts.close()
	}
	if e.reads != nil {
		errs = append(errs, e.reads.Close())
	}
	if e.write != nil {
		errs = append(errs, e.write.Close())
	}
	return errors.Join(append(errs, e.lock.release())...)
}

func (e *sqlite) read(ctx context.Context, fn func(tx *Tx) error) error {
	e.readers <- struct{}{}
	defer func() { <-e.readers }()
	begin, pages := e.reads.BeginTx, noPages
	if e.db.watch.Load() != nil {
		conn, err := e.reads.Conn(context.Background())
		if err != nil {
			return fmt.Errorf("store: read: %w", err)
		}
		defer conn.Close()
		begin, pages = conn.BeginTx, pagesOf(conn)
	}
	sqlTx, err := begin(context.Background(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		if e.db.closed.Load() {
			return ErrClosed
		}
		return fmt.Errorf("store: read: %w", err)
	}
	defer sqlTx.Rollback()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return fn(&Tx{db: e.db, q: e.db.watched(&readRunner{tx: sqlTx, stmts: e.stmts}, pages), world: e.db.world})
}

func (e *sqlite) submit(ctx context.Context, p *Pending) {
	if !e.started {
		p.fail(storeError("store_read_only", nil, "the store %s is open for reading only", e.path))
		return
	}
	select {
	case <-e.stop:
		p.fail(ErrClosed)
		return
	default:
	}
	select {
	case e.queue <- p:
		e.answerLate()
	case <-e.stop:
		p.fail(ErrClosed)
	case <-ctx.Done():
		p.fail(context.Cause(ctx))
	}
}

// answerLate answers units that were queued after the writer had ended: the
// store may close between the check in submit and the send.
func (e *sqlite) answerLate() {
	select {
	case <-e.stop:
	default:
		return // the writer empties the queue once more before it ends
	}
	<-e.stopped
	for {
		select {
		case p := <-e.queue:
			p.fail(ErrClosed)
		default:
			return
		}
	}
}
