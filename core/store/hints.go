package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/skein-bot/skein/core/clock"
)

// Hint is what one node tells the others after a commit, so that they need not
// wait for their next look into the store. It may be lost, doubled or late:
// what it is about is in the store, which is looked at once a second.
type Hint struct {
	Kind    HintKind `json:"k"`
	Session int64    `json:"s,omitempty"`
	// Lane and Urgent belong to HintWake.
	Lane   Lane `json:"l,omitempty"`
	Urgent bool `json:"u,omitempty"`
	// Cause belongs to HintCancel: a word that the kernel knows.
	Cause string `json:"c,omitempty"`
	// Channel and Account belong to HintOutbox.
	Channel string `json:"ch,omitempty"`
	Account string `json:"a,omitempty"`
}

// HintKind says what a hint is about.
type HintKind string

// The kinds of hint.
const (
	HintWake   HintKind = "wake"   // a session has work
	HintCancel HintKind = "cancel" // the running turn of a session is to end
	HintOutbox HintKind = "outbox" // an account has a message to send
	HintNode   HintKind = "node"   // a node has come: from now on there is somebody to tell
)

// hintChannel is the channel of LISTEN; the database's name is its scope.
const hintChannel = "skein"

// hintPause is how long hints are collected, so that many commits cost one
// notification.
const hintPause = 15 * time.Millisecond

// maxHints bounds what one notification holds (8000 bytes) and how many wait.
const maxHints = 64

// hints sends and receives notifications. It begins with the first listener.
type hints struct {
	p      *postgres
	self   string // tells this sender from the others
	cancel context.CancelFunc
	ctx    context.Context
	wg     sync.WaitGroup

	mu      sync.Mutex
	pending map[Hint]struct{}
	more    chan struct{}
}

// note is a notification: who sent it and what.
type note struct {
	From  string `json:"from"`
	Hints []Hint `json:"hints"`
}

func newHints(p *postgres) *hints {
	h := &hints{p: p, self: rand.Text(), pending: make(map[Hint]struct{}), more: make(chan struct{}, 1)}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// Listen has f called, in a goroutine of the store, with each hint of another
// node. f must not block. On SQLite
// there are no hints. Call it once, before Hint.
func (db *DB) Listen(f func(Hint)) {
	if db.pg == nil {
		return
	}
	h := db.pg.hints
	h.wg.Add(2)
	go h.sendLoop()
	go h.listenLoop(f)
}

// Hint tells the other nodes something, soon. It never blocks.
func (db *DB) Hint(x Hint) {
	if db.pg == nil {
		return
	}
	h := db.pg.hints
	h.mu.Lock()
	if len(h.pending) < maxHints {
		h.pending[x] = struct{}{}
	}
	h.mu.Unlock()
	select {
	case h.more <- struct{}{}:
	default:
	}
}

func (h *hints) close() {
	h.cancel()
	h.wg.Wait()
}

// pause waits and reports whether to go on.
func (h *hints) pause(d time.Duration) bool { return (clock.Real{}).Sleep(h.ctx, d) == nil }

func (h *hints) sendLoop() {
	defer h.wg.Done()
	for {
		select {
		case <-h.more:
		case <-h.ctx.Done():
			return
		}
		if !h.pause(hintPause) {
			return
		}
		if h.p.db.world.Err() != nil {
			return
		}
		text, err := json.Marshal(note{From: h.self, Hints: h.take()})
		if err == nil {
			err = h.notify(string(text))
		}
		if err != nil && h.ctx.Err() == nil {
			h.p.log.Debug("the other nodes could not be told; they look by themselves", "error", err)
		}
	}
}

// notify borrows a connection of the readers, so that it never waits for a unit.
func (h *hints) notify(text string) error {
	idle, err := h.p.readers.take(h.ctx)
	if err != nil {
		return err
	}
	conn, err := h.p.connected(idle)
	defer func() { h.p.readers.give(conn) }()
	if err != nil {
		return err
	}
	_, err = conn.Exec(h.ctx, "SELECT pg_notify($1, $2)", hintChannel, text)
	return err
}

func (h *hints) take() []Hint {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]Hint, 0, len(h.pending))
	for x := range h.pending {
		out = append(out, x)
	}
	clear(h.pending)
	return out
}

// listenLoop keeps a connection of its own that listens.
func (h *hints) listenLoop(f func(Hint)) {
	defer h.wg.Done()
	for h.ctx.Err() == nil {
		err := h.listen(f)
		if h.ctx.Err() != nil {
			return
		}
		h.p.log.Debug("this node does not hear the others; it connects again", "error", err)
		if !h.pause(time.Second) {
			return
		}
	}
}

func (h *hints) listen(f func(Hint)) error {
	conn, err := pgx.ConnectConfig(h.ctx, h.p.config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(h.ctx)) //nolint:errcheck // it only listened
	if _, err := conn.Exec(h.ctx, "LISTEN "+hintChannel); err != nil {
		return err
	}
	for {
		got, err := conn.WaitForNotification(h.ctx)
		if err != nil {
			return err
		}
		var n note
		if json.Unmarshal([]byte(got.Payload), &n) != nil || n.From == h.self {
			continue
		}
		for _, x := range n.Hints {
			f(x)
		}
	}
}
