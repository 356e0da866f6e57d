package store

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-bot/skein/core/world"
)

// engine is a database at work. It answers each unit exactly once.
type engine interface {
	// submit takes a unit, which it may have to wait for.
	submit(ctx context.Context, p *Pending)
	// read runs fn on a snapshot.
	read(ctx context.Context, fn func(tx *Tx) error) error
	// close ends after the units that were already taken.
	close() error
}

// DB is an open store. It is safe for concurrent use.
type DB struct {
	hooks  sync.RWMutex // held for reading while OnCommit functions run
	world  *world.World
	path   string // of SQLite
	engine engine
	pg     *postgres // the engine, where it is PostgreSQL
	lease  time.Duration
	twice  bool // each unit is rehearsed
	once   sync.Once
	closed atomic.Bool
	stats  batchStats
	watch  atomic.Pointer[func(Statement)]
}

// Options open a store.
type Options struct {
	// Path is the SQLite file. One of Path and URL is set.
	Path string
	// URL is a PostgreSQL database, postgres://user:password@host/name.
	URL string
	// World is where the store lives: its clock, its crash points.
	World *world.World
	// ReadOnly opens without the lock and without writing; for commands that
	// only look while a gateway runs.
	ReadOnly bool
	// MaxPages limits the size of a SQLite file in pages of 4096 bytes, 0 for
	// none; a store that would outgrow it answers as on a full disk.
	MaxPages int
	// NodeLease is the length of the lease of this node, 0 for the constant of
	// that name. It is for tests that wait for one to run out.
	NodeLease time.Duration
	// Rehearse has each unit run twice, the first time without effect, as a unit
	// does that collides with another one: tests find with it what may not run
	// again.
	Rehearse bool
	// Scratch says that the store is thrown away: SQLite does not wait for the
	// disk, so what was committed survives the end of the process and not a power
	// cut. It is for tests and plays of scripts.
	Scratch bool
	// Conns keeps the connections to PostgreSQL when the store is closed; nil
	// closes them. It is for tests that open many stores.
	Conns *Conns
	// Log is where hints between nodes that fail are noted; nil discards.
	Log *slog.Logger
}

// Open opens or creates the store and brings the schema up to date. SQLite is
// locked for this process. It returns an error that wraps ErrLocked or
// ErrNewer, or says what is wrong with the place.
func Open(ctx context.Context, opts Options) (*DB, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	db := &DB{world: opts.World, path: opts.Path, lease: cmp.Or(opts.NodeLease, NodeLease), twice: opts.Rehearse}
	if err := opts.World.Err(); err != nil {
		return nil, err
	}
	var err error
	if opts.URL == "" {
		db.engine, err = openSQLiteEngine(ctx, db, opts)
	} else if db.pg, err = openPostgres(ctx, db, opts); err == nil {
		db.engine = db.pg
	}
	if err != nil {
		return nil, err
	}
	return db, nil
}

// Path returns the file of the store.
func (db *DB) Path() string { return db.path }

// World returns the world the store lives in.
func (db *DB) World() *world.World { return db.world }

// Shared reports whether other processes may serve the same store: sessions and
// accounts then belong to nodes (see Tx.RenewNode).
func (db *DB) Shared() bool { return db.pg != nil }

// NodeLease returns how long this node's lease lasts after it was renewed.
func (db *DB) NodeLease() time.Duration { return db.lease }

// Writers is how many units of work run at the same time.
func (db *DB) Writers() int {
	if db.pg != nil {
		return pgWriters
	}
	return 1
}

// after runs what a unit wants done after its commit. In a world that is cut
// nothing is done any more, as after a crash.
func (db *DB) after(tx *Tx) {
	db.hooks.RLock()
	defer db.hooks.RUnlock()
	if db.world.Err() != nil {
		return
	}
	for _, f := range tx.onCommit {
		f()
	}
}

// Quiesce waits until no OnCommit function runs. Once the world is cut, none
// begins afterwards: whoever takes the parts of a killed runtime down calls it
// first.
func (db *DB) Quiesce() {
	db.hooks.Lock()
	defer db.hooks.Unlock() //nolint:gocritic // to have had it is all
}

// Close ends after the units that were already queued, and frees the lock. It
// may be called more than once.
func (db *DB) Close() (err error) {
	db.once.Do(func() {
		db.closed.Store(true)
		err = db.engine.close()
	})
	return err
}

// Read runs fn on a snapshot. It sees everything that was committed before it
// began. After Close it returns ErrClosed.
func (db *DB) Read(ctx context.Context, fn func(tx *Tx) error) error {
	if err := db.world.Err(); err != nil {
		return err
	}
	return db.engine.read(ctx, fn)
}

// Write runs fn as a unit of work and returns after its commit. See the
// package comment for what fn may do. If ctx ends before the unit was begun it
// is dropped; afterwards Write waits for the outcome.
func (db *DB) Write(ctx context.Context, fn func(tx *Tx) error) error {
	return db.Submit(ctx, fn).Wait()
}

// Submit queues fn as a unit of work. On SQLite the caller may learn that it
// ran (its variables are set) before it is durable: see Pending. Units that are
// submitted one after the other run in that order on SQLite only: wait for the
// first where the second needs it.
func (db *DB) Submit(ctx context.Context, fn func(tx *Tx) error) *Pending {
	p := &Pending{fn: fn, ctx: ctx, ran: make(chan struct{}), done: make(chan struct{})}
	if err := db.world.Err(); err != nil {
		return p.fail(err)
	}
	db.engine.submit(ctx, p)
	return p
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
	// Of PostgreSQL: the sessions that this try locked, the channel that is
	// closed once the try is over, and those of the tries whose OnCommit
	// functions come first.
	locked []int64
	over   chan struct{}
	after  []<-chan struct{}
	onEnd  []func(err error) // called once the unit has ended, however
}

// Ran waits until the unit's function has run inside the transaction and
// returns its error. On SQLite what it read is then known, but not yet durable:
// only work without effects may start from it. On PostgreSQL, where it may have
// to run once more, Ran waits for the commit as Wait does.
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
