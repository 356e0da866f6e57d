package delivery

import (
	"context"
	"log/slog"
	"sync"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// worker delivers the rows of one account. All its decisions about order are
// made under mu and none of them blocks; requests and transactions run in
// goroutines, one lane each at a time, of which at most 2 * Concurrency send.
type worker struct {
	s       *Service
	account Account
	caps    core.Capabilities
	log     *slog.Logger
	ctx     context.Context
	cancel  context.CancelCauseFunc
	wg      sync.WaitGroup

	mu       sync.Mutex
	stopping bool
	loaded   bool // everything the store had at the start is in the lanes
	items    map[int64]*item
	texts    int // items that hold their text
	lanes    map[laneKey]*lane
	alone    map[*lane]struct{} // lanes of one row that no longer holds others up
	ordinary pool
	commands pool
	status   Status
	drains   []chan struct{}  // of those who wait until nothing is due
	drafts   map[int64]*draft // previews that grow, by row
}

// pool bounds how many lanes send at once.
type pool struct {
	running int
	ready   []*lane
}

// loadPage is how many rows one transaction reads at the start.
const loadPage = 256

// maxTexts is how many texts of waiting rows a worker keeps in memory; further
// rows are read when it is their turn.
const maxTexts = 1024

func newWorker(s *Service, a Account) *worker {
	w := &worker{
		s: s, account: a, caps: a.Adapter.Describe(),
		log:   s.opts.Log.With("channel", a.Channel, "account", a.ID),
		items: make(map[int64]*item), lanes: make(map[laneKey]*lane), alone: make(map[*lane]struct{}),
		drafts: make(map[int64]*draft),
	}
	w.status = Status{Channel: a.Channel, Account: a.ID}
	w.ctx, w.cancel = context.WithCancelCause(s.opts.World.Context())
	return w
}

// start reads what is open. Rows that are committed meanwhile join the lanes at
// once, but nothing is sent before the older ones are there.
func (w *worker) start() {
	done := w.s.opts.World.Work.Begin("outbox")
	w.wg.Go(func() {
		defer done()
		for after, more := int64(0), true; more; {
			if w.persist("read the outbox", func(tx *store.Tx, _ bool) error {
				rows, err := tx.OpenOutbox(w.account.Channel, w.account.ID, after, loadPage)
				if err != nil {
					return err
				}
				tx.OnCommit(func() {
					if more = len(rows) == loadPage; more {
						after = rows[len(rows)-1].ID
					}
					w.add(rows, w.s.opts.DB.Shared())
				})
				return nil
			}) != nil {
				w.abandon()
				return
			}
		}
		w.open()
	})
}

// abandon ends a worker that could not load: its account belongs to another
// node, or the store is closed.
func (w *worker) abandon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopping = true
	w.tellDrained()
}

// open lets the lanes go once everything is loaded.
func (w *worker) open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loaded = true
	for _, l := range w.lanes {
		w.advance(l)
	}
	w.dispatch()
	w.tellDrained()
}

// add puts rows into their lanes. It never blocks. Rows that are there already
// stay as they are, but are looked at once more when they end. stale rows were
// read outside the order of commits: they are read again before they are sent.
func (w *worker) add(rows []store.Outbox, stale bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopping {
		return
	}
	for i := range rows {
		if known := w.items[rows[i].ID]; known != nil {
			known.again = known.again || !stale // its end may have been committed, but not settled
			continue
		}
		it := &item{row: rows[i], unsure: w.unsure(rows[i])}
		w.texts++
		if stale || w.texts > maxTexts {
			w.forget(it)
		}
		w.items[it.row.ID] = it
		w.place(it)
	}
	w.dispatch()
}

// unsure reports whether a row may have been sent already. Where a platform tells
// a second request from the first, the first leaves no mark: any row that a start
// finds may have been. w.mu is held.
func (w *worker) unsure(row store.Outbox) bool {
	return row.State == store.OutSending || !w.loaded && w.caps.NativeIdempotency
}

// forget drops the text of a waiting item: the row is read again before it is
// sent.
func (w *worker) forget(it *item) {
	if !it.stale {
		it.stale, it.row.Text = true, ""
		w.texts--
	}
}

// recheck makes the rows of a session prove that they are still open.
func (w *worker) recheck(session int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	each := func(l *lane) {
		for i, it := range l.queue {
			if inFlight := i == 0 && l.state == laneRunning; !inFlight && it.row.Session == session {
				w.forget(it)
			}
		}
	}
	for _, l := range w.lanes {
		each(l)
	}
	for l := range w.alone {
		each(l)
	}
}

// dispatch starts lanes that are ready while there is room. w.mu is held.
func (w *worker) dispatch() {
	for _, p := range []*pool{&w.ordinary, &w.commands} {
		for p.running < Concurrency {
			l, it := w.next(p)
			if l == nil {
				break
			}
			p.running++
			done := w.s.opts.World.Work.Begin("send")
			w.wg.Go(func() {
				defer done()
				w.run(p, l, it)
			})
		}
	}
}

// next takes the lane that waits longest, and its first row. w.mu is held.
func (w *worker) next(p *pool) (*lane, *item) {
	if w.stopping || len(p.ready) == 0 {
		return nil, nil
	}
	l := p.ready[0]
	p.ready[0] = nil
	p.ready = p.ready[1:]
	l.state = laneRunning
	return l, l.queue[0]
}

// run delivers one row after the other, as long as a lane is ready.
func (w *worker) run(p *pool, l *lane, it *item) {
	for l != nil {
		v := w.deliver(it)
		l, it = w.after(p, l, it, v)
	}
}

// after settles a row and returns what the goroutine does next.
func (w *worker) after(p *pool, l *lane, it *item, v verdict) (*lane, *item) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.tellDrained()
	w.settle(l, it, v)
	if it.yielded {
		it.yielded = false
		w.dispatch()
		return nil, nil
	}
	if l, it = w.next(p); l == nil {
		p.running--
	}
	return l, it
}

// yield gives the place of an item's lane to another: what is left to do is the
// receipt, and receipts of many lanes share one commit.
func (w *worker) yield(it *item) {
	w.mu.Lock()
	defer w.mu.Unlock()
	it.yielded = true
	w.poolOf(keyOf(it.row)).running--
	w.dispatch()
}

// settle puts a row where its outcome wants it. w.mu is held.
func (w *worker) settle(l *lane, it *item, v verdict) {
	l.state = laneIdle
	switch v {
	case verdictLeft: // the worker is ending; the row is open in the store
		return
	case verdictEnded:
		l.queue = l.queue[1:]
		w.forget(it)
		if it.again {
			it.again, it.row.NextAt = false, 0
			w.place(it)
		} else {
			delete(w.items, it.row.ID)
		}
	case verdictWait:
		w.forget(it)
	case verdictMoved:
		l.queue = l.queue[1:]
		w.place(it)
	}
	w.advance(l)
}

// halted reports whether nothing new may be sent.
func (w *worker) halted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopping || w.ctx.Err() != nil
}

// halt takes no new sends and drops what waits.
func (w *worker) halt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopping = true
	w.tellDrained()
	for _, l := range w.lanes {
		l.disarm()
	}
	for l := range w.alone {
		l.disarm()
	}
	for _, d := range w.drafts {
		d.disarm()
	}
}
