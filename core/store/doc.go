// Package store keeps everything that must outlive the process, in one
// database: sessions, inbox, turns, transcripts, runs, bindings, outbox,
// timers.
//
// All SQL of the module is here. Callers run a unit of work:
//
//	err := db.Write(ctx, func(tx *store.Tx) error {
//		fresh, err := tx.InsertDedupe(key, now)
//		...
//		tx.OnCommit(func() { kernel.Wake(session) })
//		return nil
//	})
//
// A unit is pure apart from tx: it may run more than once and must not block
// on anything but the database. It either commits whole, and Write returns
// nil, or has no effect. What must happen afterwards (a wake-up) is registered
// with OnCommit.
//
// # SQLite: group commit
//
// On SQLite one goroutine owns the one connection that writes. It takes a
// unit, then whatever queued meanwhile (at most 256), runs each in a savepoint
// of one transaction, commits, and answers all: many writers share one fsync.
// A unit that fails is rolled back alone. If the COMMIT itself fails, every
// unit of the batch fails with ErrCommit.
//
// WAL with synchronous=FULL: a unit that Write said is committed survives a
// power cut, except in a store that is thrown away (Options.Scratch). The
// process holds an exclusive lock on <path>.lock, so a second process gets
// ErrLocked, which names the holder.
//
// # PostgreSQL: row locks
//
// On PostgreSQL several nodes share a database and each runs many units at
// once, every one in a transaction of its own at READ COMMITTED: a statement
// sees what was committed before it began, so two statements of a unit may see
// different things. What a unit decides from what it read is therefore locked
// before it is read.
//
// A session's row stands for all its work: inbox, waits, turns, children. The
// methods of Tx that read such work in order to decide lock it themselves. A
// unit that will touch several sessions locks them first, in one call of
// LockSession, because whoever waits for a lock must not hold one that the
// holder waits for. The order of locks is
//
//  1. sessions by ascending id; a parent is older than its child,
//  2. bindings by ascending id, read again under their lock,
//  3. the tree of runs that the unit adds to (CountOthersOfTree): a lock that only
//     admissions take, and after which they lock nothing that others have,
//  4. all other rows, which only a holder of the above writes, or which are
//     written by one statement with a unique key (ON CONFLICT).
//
// A claim, and a turn's every transaction, also keep the node's row from being
// removed (CheckNode, CheckFence); intake and delivery keep the account's
// (CheckAccount). Release locks the session first and looks for more input in a
// second statement: one statement would decide from before the wait.
//
// A unit that collides (deadlock, lock timeout, serialization failure) or whose
// connection breaks before the COMMIT runs again, up to eight times with a
// growing pause, whatever its function made of the error. A connection that
// breaks in the COMMIT leaves open what became of it: ErrCommit. So variables
// that a unit sets are set anew by each run, and what it adds to memory is
// added in OnCommit; Options.Rehearse has tests find what does not.
//
// Besides, on PostgreSQL
//
//   - Ran waits for the commit, and units that were submitted one after the
//     other run in any order; OnCommit functions of units that locked the same
//     session run in the order of their commits;
//   - ids have gaps, and a higher id may be committed before a lower one;
//   - a statement that failed ends the transaction: a failure that the unit
//     survives needs attempt, which makes a savepoint;
//   - text has no NUL and is valid UTF-8, what is not becomes U+FFFD; it is
//     compared by its bytes, as on SQLite;
//   - parameters are BIGINT or TEXT: a bare literal beside one may need a CAST;
//   - a transaction that stands still for 3 seconds is ended by the server, so
//     that a halted process holds no lock for as long as its lease.
//
// Leases between nodes are by the database's clock (NodeLease); all other times
// are the caller's.
package store
