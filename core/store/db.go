package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/skein-bot/skein/core/world"
)

// maxBatch is how many units share one commit at most.
const maxBatch = 256

// maxReaders is how many reads run at the same time.
const maxReaders = 4

// DB is an open store. It is safe for concurrent use.
type DB struct {
	world *world.World
	path  string
	write *sql.DB // nil when read-only
	read  *sql.DB
	lock  *fileLock

	queue   chan *Pending
	stop    chan struct{}
	stopped chan struct{}
	once    sync.Once
	closed  atomic.Bool
	started bool

	stmts *stmtCache // of the read pool
	// readers bounds reads at the same time below the connections of the pool,
	// so that one is left for preparing a statement, which all may wait for.
	readers chan struct{}
	stats   batchStats
}

// Options open a store.
type Options struct {
	// Path is the SQLite file.
	Path string
	// World is where the store lives: its clock, its crash points.
	World *world.World
	// ReadOnly opens without the lock and without writing; for commands that
	// only look while a gateway runs.
	ReadOnly bool
	// MaxPages limits the file's size in pages of 4096 bytes, 0 for none; a
	// store that would outgrow it answers as on a full disk.
	MaxPages int
}

// Open opens or creates the store, takes its lock, and brings the schema up to
// date. It returns an error that wraps ErrLocked or ErrNewer, or says what is
// wrong with the path.
func Open(ctx context.Context, opts Options) (*DB, error) {
	db := &DB{world: opts.World, path: opts.Path}
	if err := opts.World.Err(); err != nil {
		return nil, err
	}
	var err error
	if !opts.ReadOnly {
		if err := ensureDir(opts.Path); err != nil {
			return nil, err
		}
		if db.lock, err = lockFile(opts.Path, opts.World.Clock.Now()); err != nil {
			return nil, err
		}
	}
	db.write, db.read, err = openSQLite(opts.Path, opts.ReadOnly)
	if err != nil {
		return nil, errors.Join(err, db.lock.release())
	}
	if err := db.prepare(ctx, opts); err != nil {
		return nil, errors.Join(err, db.closeHandles())
	}
	return db, nil
}

func (db *DB) prepare(ctx context.Context, opts Options) error {
	db.stmts = newStmtCache(db.read)
	db.readers = make(chan struct{}, maxReaders)
	if opts.ReadOnly {
		return checkVersion(ctx, db.read, opts.Path)
	}
	if err := migrate(ctx, db.write, opts.Path); err != nil {
		return err
	}
	conn, err := db.write.Conn(ctx)
	if err != nil {
		return openError(opts.Path, err)
	}
	if opts.MaxPages > 0 {
		if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count=%d", opts.MaxPages)); err != nil {
			return errors.Join(openError(opts.Path, err), conn.Close())
		}
	}
	w, err := newWriter(ctx, db, conn)
	if err != nil {
		return errors.Join(openError(opts.Path, err), conn.Close())
	}
	db.queue = make(chan *Pending, maxBatch)
	db.stop, db.stopped = make(chan struct{}), make(chan struct{})
	db.started = true
	go w.loop()
	return nil
}

// Path returns the file of the store.
func (db *DB) Path() string { return db.path }

// World returns the world the store lives in.
func (db *DB) World() *world.World { return db.world }

// Close ends the writer after the units that were already queued, and frees
// the lock. It may be called more than once.
func (db *DB) Close() error {
	var err error
	db.once.Do(func() {
		db.closed.Store(true)
		if db.started {
			close(db.stop)
			<-db.stopped
		}
		err = db.closeHandles()
	})
	return err
}

func (db *DB) closeHandles() error {
	var errs []error
	if db.stmts != nil {
		db.stmts.close()
	}
	if db.read != nil {
		errs = append(errs, db.read.Close())
	}
	if db.write != nil {
		errs = append(errs, db.write.Close())
	}
	return errors.Join(append(errs, db.lock.release())...)
}

// Read runs fn on a snapshot from the read pool. It sees everything that was
// committed before it began. After Close it returns ErrClosed.
func (db *DB) Read(ctx context.Context, fn func(tx *Tx) error) error {
	if err := db.world.Err(); err != nil {
		return err
	}
	db.readers <- struct{}{}
	defer func() { <-db.readers }()
	sqlTx, err := db.read.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		if db.closed.Load() {
			return ErrClosed
		}
		return fmt.Errorf("store: read: %w", err)
	}
	defer sqlTx.Rollback()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return fn(&Tx{db: db, q: &readRunner{tx: sqlTx, stmts: db.stmts}, world: db.world})
}

// Write runs fn as a unit of work and returns after its commit. See the
// package comment for what fn may do. If ctx ends before the unit was begun it
// is dropped; afterwards Write waits for the outcome.
func (db *DB) Write(ctx context.Context, fn func(tx *Tx) error) error {
	return db.Submit(ctx, fn).Wait()
}

// Submit queues fn as a unit of work. The caller may learn that it ran (its
// variables are set) before it is durable: see Pending.
func (db *DB) Submit(ctx context.Context, fn func(tx *Tx) error) *Pending {
	p := &Pending{fn: fn, ctx: ctx, ran: make(chan struct{}), done: make(chan struct{})}
	if err := db.world.Err(); err != nil {
		return p.fail(err)
	}
	if !db.started {
		return p.fail(storeError("store_read_only", nil, "the store %s is open for reading only", db.path))
	}
	select {
	case <-db.stop:
		return p.fail(ErrClosed)
	default:
	}
	select {
	case db.queue <- p:
		db.answerLate()
	case <-db.stop:
		return p.fail(ErrClosed)
	case <-ctx.Done():
		return p.fail(context.Cause(ctx))
	}
	return p
}

// answerLate answers units that were queued after the writer had ended: the
// store may close between the check in Submit and the send.
func (db *DB) answerLate() {
	select {
	case <-db.stop:
	default:
		return // the writer empties the queue once more before it ends
	}
	<-db.stopped
	for {
		select {
		case p := <-db.queue:
			p.fail(ErrClosed)
		default:
			return
		}
	}
}

// Pending is a unit of work on its way.
type Pending struct {
	fn   func(tx *Tx) error
	ctx  context.Context
	ran  chan struct{}
	done chan struct{}
	err  error // valid after done
	ferr error // of fn itself, valid after ran
	tx   *Tx
}

// Ran waits until the unit's function has run inside the transaction and
// returns its error. What it read is then known, but not yet durable: only
// work without effects may start from it.
func (p *Pending) Ran() error {
	<-p.ran
	return p.ferr
}

// Wait waits until the unit is durable or has failed.
func (p *Pending) Wait() error {
	<-p.done
	return p.err
}

func (p *Pending) fail(err error) *Pending {
	p.err, p.ferr = err, err
	close(p.ran)
	close(p.done)
	return p
}
