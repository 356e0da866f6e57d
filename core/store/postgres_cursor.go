package store

import (
	"context"
	"sync"

	"github.com/skein-bot/skein/core"
)

// cursors keeps the writes of one position apart: every update of an account
// moves the same row, and a row is locked until the commit, so updates that
// arrive together would be taken in one after the other. Only one unit at a
// time writes a position; the others leave theirs to a unit of its own, once
// they are committed. So a position may lag behind what was taken in, never
// run ahead; what is delivered again is known by its dedupe key.
type cursors struct {
	p  *postgres
	mu sync.Mutex
	of map[cursorKey]*position
}

type cursorKey struct{ channel, account, name string }

type position struct {
	writer *Pending // that writes it now
	stored string   // what this process wrote last, "" if nothing
	next   string   // committed by a unit that left it, "" if none
	at     core.Millis
	busy   bool // next is being written
}

func newCursors(p *postgres) *cursors {
	return &cursors{p: p, of: make(map[cursorKey]*position)}
}

// write has a unit write a position, or leave it.
func (c *cursors) write(tx *Tx, key cursorKey, value string, at core.Millis) error {
	c.mu.Lock()
	pos := c.of[key]
	if pos == nil {
		pos = new(position)
		c.of[key] = pos
	}
	mine := (pos.writer == nil || pos.writer == tx.unit) && !pos.busy
	if mine {
		pos.writer = tx.unit
	}
	c.mu.Unlock()
	if !mine {
		tx.OnCommit(func() { c.left(key, value, at) })
		return nil
	}
	tx.unit.onEnd = append(tx.unit.onEnd, func(err error) { c.wrote(key, tx.unit, value, err) })
	return tx.upsertCursor(key, value, at)
}

// wrote notes that the unit which wrote a position has ended.
func (c *cursors) wrote(key cursorKey, unit *Pending, value string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pos := c.of[key]
	if pos.writer != unit {
		return
	}
	pos.writer = nil
	if err == nil {
		pos.stored = value
	}
	c.flush(key, pos)
}

// left takes a position whose unit is committed without it.
func (c *cursors) left(key cursorKey, value string, at core.Millis) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pos := c.of[key]
	pos.next, pos.at = value, at
	if pos.writer == nil {
		c.flush(key, pos)
	}
}

// flush writes what was left, unless another node has moved the position since.
// c.mu is held.
func (c *cursors) flush(key cursorKey, pos *position) {
	if pos.next == "" || pos.busy || pos.stored == "" {
		return
	}
	from, to, at := pos.stored, pos.next, pos.at
	pos.next, pos.busy = "", true
	u := &Pending{ctx: context.Background(), ran: make(chan struct{}), done: make(chan struct{}), fn: func(tx *Tx) error {
		return tx.later(`UPDATE cursor SET value = $4, at = $6 WHERE channel = $1 AND account = $2 AND name = $3 AND value = $5`,
			key.channel, key.account, key.name, to, from, int64(at))
	}}
	u.onEnd = append(u.onEnd, func(err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		pos.busy = false
		if err == nil {
			pos.stored = to
		}
		c.flush(key, pos)
	})
	go c.p.submit(u.ctx, u) // it answers at once where the store closes, and wants the lock
}

func (tx *Tx) upsertCursor(k cursorKey, value string, at core.Millis) error {
	return tx.later(`INSERT INTO cursor (channel, account, name, value, at) VALUES ($1,$2,$3,$4,$5)
		ON CONFLICT (channel, account, name) DO UPDATE SET value = excluded.value, at = excluded.at`, k.channel, k.account, k.name, value, int64(at))
}
