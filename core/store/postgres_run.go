package store

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/skein-bot/skein/core"
)

// pgRunner runs the statements of one transaction on one connection; the driver
// keeps them prepared. Statements that nobody waits for, BEGIN among them,
// travel with the next one: a unit costs as many round trips as it asks
// questions.
type pgRunner struct {
	conn     *pgx.Conn
	readOnly bool
	queued   []pgStatement
	begun    bool // the server has seen BEGIN
	// broken is the first error after which the unit must run again, whatever
	// its function made of it.
	broken error
}

type pgStatement struct {
	query string
	args  []any
}

const (
	pgBegin     = "BEGIN"
	pgBeginRead = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
)

func newPgRunner(conn *pgx.Conn, readOnly bool) *pgRunner {
	begin := pgBegin
	if readOnly {
		begin = pgBeginRead
	}
	return &pgRunner{conn: conn, readOnly: readOnly, queued: []pgStatement{{query: begin}}}
}

// send sends what is queued and one more statement, and reads the answers up to
// that one's.
func (r *pgRunner) send(query string, args []any) (pgx.BatchResults, error) {
	var b pgx.Batch
	for _, s := range r.queued {
		b.Queue(s.query, s.args...)
	}
	b.Queue(query, args...)
	n := len(r.queued)
	r.queued, r.begun = r.queued[:0], true
	results := r.conn.SendBatch(context.Background(), &b)
	for range n {
		if _, err := results.Exec(); err != nil {
			_ = results.Close()
			return nil, r.note(err)
		}
	}
	return results, nil
}

func (r *pgRunner) exec(query string, args []any) (int64, error) {
	if r.readOnly {
		return 0, errReadOnly
	}
	tag, err := r.run(query, pgArgs(args))
	return tag.RowsAffected(), err
}

func (r *pgRunner) run(query string, args []any) (pgconn.CommandTag, error) {
	results, err := r.send(query, args)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := results.Exec()
	if end := results.Close(); err == nil {
		err = end
	}
	return tag, r.note(err)
}

func (r *pgRunner) later(query string, args []any) error {
	if r.readOnly {
		return errReadOnly
	}
	r.queued = append(r.queued, pgStatement{query, pgArgs(args)})
	return nil
}

func (r *pgRunner) query(query string, args []any) (rowSet, error) {
	results, err := r.send(query, pgArgs(args))
	if err != nil {
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		_ = results.Close()
		return nil, r.note(err)
	}
	return &pgRows{r: r, rows: rows, results: results}, nil
}

// commit ends the transaction. aborted reports that the server has rolled it
// back; an error without it leaves open what became of it.
func (r *pgRunner) commit() (aborted bool, err error) {
	if !r.begun && len(r.queued) == 1 { // it did nothing
		return false, nil
	}
	before := r.broken
	tag, err := r.run("COMMIT", nil)
	switch {
	case err == nil && tag.String() != "COMMIT":
		return true, fmt.Errorf("the server ended the transaction with %s", tag)
	case err != nil:
		r.broken = before
		return isPgError(err), err
	}
	return false, nil
}

// rollback ends the transaction without effect; a connection on which that
// fails is not used again.
func (r *pgRunner) rollback() {
	r.queued = r.queued[:0]
	if !r.begun || r.conn.IsClosed() {
		return
	}
	if _, err := r.conn.Exec(context.Background(), "ROLLBACK"); err != nil {
		_ = r.conn.Close(context.Background())
	}
}

// note keeps an error after which the unit runs again. Rows report theirs late.
func (r *pgRunner) note(err error) error {
	if err != nil && r.broken == nil && transient(err) {
		r.broken = err
	}
	return err
}

// pgRows are the rows of one query. Flags are kept as BIGINT and read as bool.
type pgRows struct {
	r       *pgRunner
	rows    pgx.Rows
	results pgx.BatchResults
	flags   []int64
}

func (p *pgRows) Next() bool { return p.rows.Next() }

func (p *pgRows) Err() error { return p.rows.Err() }

// Close ends the query. What a statement reports only at its end counts too.
func (p *pgRows) Close() error {
	p.rows.Close()
	err := p.results.Close()
	if err == nil {
		err = p.rows.Err()
	}
	return p.r.note(err)
}

func (p *pgRows) Scan(dest ...any) error {
	flags := p.flags[:0]
	var to []any
	var bools []*bool
	fields := p.rows.FieldDescriptions()
	for i, d := range dest {
		flag, isBool := d.(*bool)
		if !isBool || i >= len(fields) || fields[i].DataTypeOID == pgtype.BoolOID {
			continue
		}
		if to == nil {
			to = slices.Clone(dest)
			flags = make([]int64, len(dest))
		}
		to[i] = &flags[i]
		bools = append(bools, flag)
	}
	if to == nil {
		return p.rows.Scan(dest...)
	}
	if err := p.rows.Scan(to...); err != nil {
		return err
	}
	p.flags = flags
	n := 0
	for i := range to {
		if _, swapped := to[i].(*int64); swapped && to[i] == any(&flags[i]) {
			*bools[n] = flags[i] != 0
			n++
		}
	}
	return nil
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
