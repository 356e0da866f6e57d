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
// # Group commit
//
// On SQLite one goroutine owns the one connection that writes. It takes a
// unit, then whatever queued meanwhile (at most 256), runs each in a savepoint
// of one transaction, commits, and answers all: many writers share one fsync.
// A unit that fails is rolled back alone. If the COMMIT itself fails, every
// unit of the batch fails with ErrCommit.
//
// # Durability
//
// WAL with synchronous=FULL: a unit that Write said is committed survives a
// power cut. The process holds an exclusive lock on <path>.lock, so a second
// process gets ErrLocked, which names the holder.
package store
