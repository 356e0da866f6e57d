package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/skein-bot/skein/core"
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
		u.fail(err)
		return
	}
	go func() {
		defer p.units.Done()
		select {
		case p.writers <- struct{}{}:
		case <-ctx.Done():
			u.fail(context.Cause(ctx))
			return
		}
		err := p.unit(u)
		<-p.writers
		p.answer(u, err)
	}()
}

// unit runs a unit to its end, again where it collided with another one or
// where the connection broke before the commit.
func (p *postgres) unit(u *Pending) error {
	for try := 1; ; try++ {
		if err := errors.Join(p.db.world.Err(), context.Cause(u.ctx)); err != nil {
			return err
		}
		err, again := p.once(u)
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
func (p *postgres) once(u *Pending) (err error, again bool) { //nolint:revive // the error is the result, again explains it
	bg := context.Background()
	sqlTx, err := p.pool.BeginTx(bg, nil)
	if err != nil {
		return p.runError(err), true
	}
	run := &pgRunner{tx: sqlTx}
	u.tx = &Tx{db: p.db, q: run, world: p.db.world, writable: true, unit: u}
	if err = u.call(); err == nil {
		err = p.db.world.Err()
	}
	if err != nil || run.broken != nil {
		rollback := sqlTx.Rollback()
		if run.broken != nil { // whatever the function made of it
			return p.runError(errors.Join(run.broken, err)), true
		}
		if err == nil {
			err = rollback
		}
		return err, false
	}
	if err := sqlTx.Commit(); err != nil {
		if transient(err) && isPgError(err) { // the server says that it did not
			return fmt.Errorf("%w: %w", ErrCommit, err), true
		}
		return fmt.Errorf("%w: %w", ErrCommit, p.runError(err)), false
	}
	return nil, false
}

// answer ends a unit: its OnCommit functions run after those of the units of
// this process that held the same sessions before.
func (p *postgres) answer(u *Pending, err error) {
	for _, before := range u.after {
		<-before.done
	}
	u.err, u.ferr = err, err
	if err == nil {
		p.db.stats.commits.Add(1)
		p.db.stats.units.Add(1)
		for _, f := range u.tx.onCommit {
			f()
		}
	}
	p.release(u)
	close(u.ran)
	close(u.done)
}

// holds notes that u has locked a session.
func (p *postgres) holds(u *Pending, session int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if before := p.holders[session]; before != nil && before != u {
		u.after = append(u.after, before)
	}
	p.holders[session] = u
	u.locked = append(u.locked, session)
}

// release forgets what a unit held in a try that is over.
func (p *postgres) release(u *Pending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, session := range u.locked {
		if p.holders[session] == u {
			delete(p.holders, session)
		}
	}
	u.locked = u.locked[:0]
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
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || pgconn.SafeToRetry(err) || isNetwork(err)
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

// pgRunner runs statements of one transaction. The driver keeps them prepared.
type pgRunner struct {
	tx       *sql.Tx
	readOnly bool
	// broken is the first error after which the unit must run again, whatever
	// its function made of it.
	broken error
}

func (r *pgRunner) exec(query string, args []any) (sql.Result, error) {
	if r.readOnly {
		return nil, errReadOnly
	}
	res, err := r.tx.ExecContext(context.Background(), query, pgArgs(args)...)
	return res, r.note(err)
}

func (r *pgRunner) query(query string, args []any) (*sql.Rows, error) {
	rows, err := r.tx.QueryContext(context.Background(), query, pgArgs(args)...)
	return rows, r.note(err)
}

// note keeps an error after which the unit runs again. Rows report theirs late.
func (r *pgRunner) note(err error) error {
	if err != nil && r.broken == nil && transient(err) {
		r.broken = err
	}
	return err
}

// pgArgs turns arguments into what the columns are: flags are BIGINT, and text
// has no NUL and no invalid bytes, which PostgreSQL cannot store.
func pgArgs(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case bool:
			out[i] = int64(0)
			if v {
				out[i] = int64(1)
			}
		case string:
			out[i] = pgText(v)
		case nil, int64, *int64, []byte:
			out[i] = v
		case core.Millis:
			out[i] = int64(v)
		default:
			out[i] = pgKind(a)
		}
	}
	return out
}

func pgKind(a any) any {
	switch v := reflect.ValueOf(a); v.Kind() {
	case reflect.String:
		return pgText(v.String())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int()
	}
	return a
}

func pgText(s string) string {
	if strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
