package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/skein-bot/skein/core/clock"
)

// unitTries is how often a unit runs that collided with another one.
const unitTries = 8

func (p *postgres) submit(ctx context.Context, u *Pending) {
	if p.readOnly {
		u.fail(storeError("store_read_only", nil, "the store %s is open for reading only", p.place()))
		return
	}
	if err := p.enter(); err != nil {
		p.answer(u, err)
		return
	}
	go func() {
		defer p.units.Done()
		slot, err := p.writers.take(ctx)
		if err == nil {
			err = p.unit(u, &slot)
			p.writers.give(slot)
		}
		p.answer(u, err)
	}()
}

// unit runs a unit to its end, again where it collided with another one or
// where the connection broke before the commit.
func (p *postgres) unit(u *Pending, slot **pgx.Conn) error {
	for try := 1; ; try++ {
		if err := errors.Join(p.db.world.Err(), context.Cause(u.ctx)); err != nil {
			return err
		}
		err, again := p.once(u, slot)
		if err == nil || !again || try == unitTries || p.db.world.Err() != nil {
			return err
		}
		p.release(u)
		pause := time.Duration(try*try) * time.Millisecond
		pause += time.Duration(p.db.world.Float() * float64(pause))
		if err := (clock.Real{}).Sleep(p.db.world.Context(), pause); err != nil {
			return err
		}
	}
}

// once runs the unit's function in a transaction. again reports whether it had
// no effect and may succeed if it runs once more.
func (p *postgres) once(u *Pending, slot **pgx.Conn) (err error, again bool) { //nolint:revive // the error is the result, again explains it
	conn, err := p.connected(*slot)
	if err != nil {
		return p.runError(err), true
	}
	*slot = conn
	if p.db.twice {
		p.rehearse(u, conn)
	}
	run := newPgRunner(conn, false)
	u.tx = &Tx{db: p.db, q: p.db.watched(run, noPages), world: p.db.world, writable: true, unit: u}
	if err = u.call(); err == nil {
		err = p.db.world.Err()
	}
	if err != nil || run.broken != nil {
		run.rollback()
		if run.broken != nil { // whatever the function made of it
			return p.runError(errors.Join(run.broken, err)), true
		}
		return err, false
	}
	if aborted, err := run.commit(); err != nil {
		run.rollback()
		if aborted { // nothing of it happened
			return p.runError(err), transient(err)
		}
		return fmt.Errorf("%w: %w", ErrCommit, p.runError(err)), false
	}
	return nil, false
}

// rehearse runs the unit's function in a transaction that is rolled back.
func (p *postgres) rehearse(u *Pending, conn *pgx.Conn) {
	run := newPgRunner(conn, false)
	u.tx = &Tx{db: p.db, q: run, world: p.db.world, writable: true, unit: u, rehearsal: true}
	_ = u.call() // the next run tells
	run.rollback()
	p.release(u)
}

// answer ends a unit: its OnCommit functions run after those of the units of
// this process that held the same sessions before.
func (p *postgres) answer(u *Pending, err error) {
	for _, before := range u.after {
		<-before
	}
	u.err, u.ferr = err, err
	if err == nil {
		p.db.stats.commits.Add(1)
		p.db.stats.units.Add(1)
		u.tx.db.after(u.tx)
	}
	p.release(u)
	for _, f := range u.onEnd {
		f(err)
	}
	close(u.ran)
	close(u.done)
}

// holds notes that u has locked a session.
func (p *postgres) holds(u *Pending, session int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u.over == nil {
		u.over = make(chan struct{})
	}
	if before := p.holders[session]; before != nil && before != u.over {
		u.after = append(u.after, before)
	}
	p.holders[session] = u.over
	u.locked = append(u.locked, session)
}

// release ends a try: those that came after it go on.
func (p *postgres) release(u *Pending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, session := range u.locked {
		if p.holders[session] == u.over {
			delete(p.holders, session)
		}
	}
	if u.over != nil {
		close(u.over)
	}
	u.locked, u.over, u.after = u.locked[:0], nil, nil
}

// transient reports whether a unit that failed so may succeed in another try:
// it collided with another one, or its connection broke.
func transient(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "40001", "40P01", "55P03", "25P03": // serialization, deadlock, lock timeout, halted too long
			return true
		}
		return strings.HasPrefix(pg.Code, "57P") || strings.HasPrefix(pg.Code, "08")
	}
	return pgconn.SafeToRetry(err) || isNetwork(err)
}

func isPgError(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg)
}

// isNetwork reports whether a connection broke; before a COMMIT was sent that
// means that nothing happened.
func isNetwork(err error) bool {
	s := err.Error()
	return strings.Contains(s, "conn closed") || strings.Contains(s, "unexpected EOF") || strings.Contains(s, "connection reset") ||
		strings.Contains(s, "broken pipe") || strings.Contains(s, "failed to connect") || strings.Contains(s, "conn busy")
}
