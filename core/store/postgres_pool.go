package store

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
)

// pgPool bounds how many connections are used at the same time. The one that
// was given back last is taken first: it has its statements prepared, and no
// more are opened than work ran at once.
type pgPool struct {
	slots chan struct{}
	kept  *Conns // nil where connections end with the store

	mu   sync.Mutex
	idle []*pgx.Conn
}

func newPgPool(n int, kept *Conns) *pgPool { return &pgPool{slots: make(chan struct{}, n), kept: kept} }

// take waits for a connection of the pool; it is nil where one must be opened.
func (p *pgPool) take(ctx context.Context) (*pgx.Conn, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return p.kept.take(), nil
	}
	conn := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return conn, nil
}

// give returns what take gave, or the connection that was opened in its place;
// nil if there is none.
func (p *pgPool) give(conn *pgx.Conn) {
	if conn != nil && !conn.IsClosed() {
		p.mu.Lock()
		p.idle = append(p.idle, conn)
		p.mu.Unlock()
	}
	<-p.slots
}

// close waits until everything was given back and closes it. Nothing is taken
// any more.
func (p *pgPool) close() error {
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, conn := range p.idle {
		if !p.kept.keep(conn) {
			errs = append(errs, conn.Close(context.Background()))
		}
	}
	return errors.Join(errs...)
}

// Conns keeps the connections of a store that was closed for the next one at
// the same place: a test that opens many stores saves most of its time. It is
// safe for concurrent use; nil keeps none.
type Conns struct {
	mu   sync.Mutex
	idle []*pgx.Conn
}

// take returns a connection, nil if there is none.
func (c *Conns) take() *pgx.Conn {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.idle)
	if n == 0 {
		return nil
	}
	conn := c.idle[n-1]
	c.idle = c.idle[:n-1]
	return conn
}

// keep reports whether it took a connection; one that is in a transaction it
// does not.
func (c *Conns) keep(conn *pgx.Conn) bool {
	if c == nil || conn.IsClosed() || conn.PgConn().TxStatus() != txIdle {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, conn)
	return true
}

// txIdle is the status of a connection outside a transaction.
const txIdle = 'I'

// pids returns the server's processes of the connections that are kept.
func (c *Conns) pids() []int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []int32
	for _, conn := range c.idle {
		out = append(out, int32(conn.PgConn().PID())) //nolint:gosec // as the server counts them
	}
	return out
}

// close ends the connections.
func (c *Conns) close(ctx context.Context) error {
	var errs []error
	for conn := c.take(); conn != nil; conn = c.take() {
		errs = append(errs, conn.Close(ctx))
	}
	return errors.Join(errs...)
}
