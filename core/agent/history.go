package agent

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

// load reads what the turn needs: its run, its definition, the prompt. It
// returns an outcome where the turn must end without a model call.
func (t *turn) load(ctx context.Context) (*Outcome, error) {
	def, known := t.r.opts.Catalogue.Agent(t.l.Session.Agent)
	t.def = def
	cached, hit := t.r.cache.take(t.l)
	err := t.r.opts.DB.Read(ctx, func(tx *store.Tx) error {
		if err := t.readRun(tx); err != nil {
			return err
		}
		if hit {
			t.items, t.sound = cached, len(cached)
		} else if err := t.readHistory(tx); err != nil {
			return err
		}
		if err := t.findPreview(tx); err != nil {
			return err
		}
		var err error
		if t.purse, err = t.r.opts.Ender.Purse(tx, t.l); err != nil {
			return err
		}
		about, err := t.r.opts.Ender.Prompt(tx, t.l)
		if t.child != nil && t.child.Spec.LightContext {
			def.ContextFiles = nil
		}
		t.system = systemPrompt(def, t.l, about, t.r.opts.World.Clock.Now())
		return err
	})
	if err != nil {
		return nil, storeError{err}
	}
	if err := t.appendRows(t.l.Input); err != nil {
		return nil, err
	}
	var noTools error
	if known { // what takes time comes before the turn counts as started
		noTools = t.readOffers(ctx)
	}
	if t.run != nil || t.l.Resumed || t.l.Turn.Kind == store.InboxCompletion || t.l.Turn.Kind == store.InboxWake {
		if early, err := t.begin(ctx); early != nil || err != nil {
			return early, err
		}
	}
	if !known {
		return &Outcome{
			State: store.TurnFailed, Status: core.RunError,
			Detail: words.English().DetailAgentGone(t.l.Session.Agent),
		}, nil
	}
	if noTools != nil {
		t.r.opts.Log.Warn("a turn has no tools", "session", t.l.Session.Key, "turn", t.l.Turn.ID, "error", noTools)
		return &Outcome{State: store.TurnFailed, Status: core.RunError, Detail: explain(noTools)}, nil
	}
	return nil, nil
}

func (t *turn) begin(ctx context.Context) (early *Outcome, err error) {
	err = t.step(ctx, func(tx *store.Tx) error {
		if early, err = t.r.opts.Ender.Begin(tx, t.l); err != nil {
			return err
		}
		return t.readRun(tx) // it may have started just now
	})
	return early, err
}

func (t *turn) readRun(tx *store.Tx) error {
	if t.l.Turn.Run == "" {
		return t.readChild(tx)
	}
	run, err := tx.RunByID(t.l.Turn.Run)
	if err != nil {
		return err
	}
	t.run, t.child = &run, &run
	return nil
}

// readChild reads the run that a spawned session was made for, in a turn that
// works for no run.
func (t *turn) readChild(tx *store.Tx) error {
	if t.l.Session.Depth == 0 {
		return nil
	}
	run, err := tx.LatestRunOfSession(t.l.Session.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	t.child = &run
	return nil
}

// readHistory reads the transcript up to this turn, and this turn's own rows
// if an earlier claim wrote them.
func (t *turn) readHistory(tx *store.Tx) error {
	s := t.l.Session
	rows, err := tx.Transcript(s)
	if err != nil {
		return err
	}
	if !t.l.Resumed { // the rows this claim wrote are in l.Input already
		rows = slices.DeleteFunc(rows, func(r store.Row) bool { return r.Turn == t.l.Turn.ID })
	} else if err := t.noteEarlierClaim(tx); err != nil {
		return err
	}
	h, err := readRows(inStepOrder(rows))
	t.items = h.items()
	return err
}

// noteEarlierClaim notes what an earlier claim of the turn did, which may be
// behind a compaction by now.
func (t *turn) noteEarlierClaim(tx *store.Tx) error {
	rows, err := tx.RowsOfTurn(t.l.Session, t.l.Turn.ID)
	if err != nil {
		return err
	}
	for _, r := range rows {
		item, err := decode(r)
		if err != nil {
			return err
		}
		t.noteRow(r, item)
	}
	return nil
}

// inStepOrder sorts the rows of each turn by step: parallel calls may have
// ended in another order than they were made.
func inStepOrder(rows []store.Row) []store.Row {
	for i := 0; i < len(rows); {
		j := i
		for j < len(rows) && rows[j].Turn == rows[i].Turn {
			j++
		}
		slices.SortStableFunc(rows[i:j], func(a, b store.Row) int { return a.Seq - b.Seq })
		i = j
	}
	return rows
}

// appendRows decodes rows to items, and notes what is this turn's own.
func (t *turn) appendRows(rows []store.Row) error {
	for _, r := range rows {
		item, err := decode(r)
		if err != nil {
			return err
		}
		t.noteRow(r, item)
		t.items = append(t.items, item)
	}
	return nil
}

// noteRow notes a row of this turn: its step, and what it did.
func (t *turn) noteRow(r store.Row, item model.Item) {
	if r.Turn != t.l.Turn.ID {
		return
	}
	t.seq = max(t.seq, r.Seq)
	if item.Kind == model.Assistant {
		t.answerSeq = r.Seq
	}
	t.noteOwn(item)
}

// noteOwn keeps count of what this turn did, also in an earlier claim.
func (t *turn) noteOwn(item model.Item) {
	switch item.Kind {
	case model.Event:
		if item.Completion != nil {
			t.out.Events = append(t.out.Events, *item.Completion)
		}
	case model.User:
		t.out.Asked = true
	case model.Note:
		t.out.Dropped += item.Dropped
		t.out.Left = append(t.out.Left, item.Left...)
	case model.Compacted:
		t.compactions++
	case model.Assistant:
		t.steps++
		t.out.Yield = nil
		if len(item.Calls) == 0 {
			t.final = &item
			return
		}
		t.noteText(item.Text)
		t.out.LastTool = item.Calls[len(item.Calls)-1].Name
	case model.ToolOutput:
		t.calls++
		if item.Ends != nil {
			t.out.Yield = item.Ends
		}
		if item.Failed && !item.Unknown {
			t.failed++
		}
	}
}

// noteText keeps the latest visible text of the turn.
func (t *turn) noteText(text string) {
	if s := visible(text); s != "" {
		t.out.Text = s
	}
}

// historyCache keeps the decoded transcripts of sessions whose last turn ran
// here. An entry is used only by the very next claim of its session: any other
// claim, stop or reset in between has moved the fence.
type historyCache struct {
	mu    sync.Mutex
	max   int
	order *list.List // of *cached, most recently used first
	byID  map[int64]*list.Element
}

type cached struct {
	session, generation, from, fence int64
	items                            []model.Item
}

// maxCachedBytes bounds one entry, maxCachedItems too; longer histories are
// read anew.
const (
	maxCachedBytes = 256 << 10
	maxCachedItems = 2000
)

func newHistoryCache(entries int) *historyCache {
	return &historyCache{max: entries, order: list.New(), byID: make(map[int64]*list.Element)}
}

// take returns and removes the history of the lease's session.
func (c *historyCache) take(l *kernel.Lease) ([]model.Item, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byID[l.Session.ID]
	if e == nil {
		return nil, false
	}
	h := e.Value.(*cached)
	c.order.Remove(e)
	delete(c.byID, l.Session.ID)
	ok := !l.Resumed && h.generation == l.Turn.Generation && h.from == l.Session.ContextFrom && h.fence == l.Turn.Fence-1
	return h.items, ok
}

// keep remembers the prompt for the session's next turn, if it is sound as it
// is: then the next turn need not look at it again.
func (t *turn) keep() {
	tail := t.items[t.sound:]
	if slices.ContainsFunc(tail, overlong) || model.Validate(tail) != nil {
		return
	}
	t.r.cache.put(t.l.Session, t.l.Turn, t.items)
}

func (c *historyCache) put(s store.Session, turn store.Turn, items []model.Item) {
	size := 0
	for i := range items {
		size += len(items[i].Text) + len(items[i].Think) + 64
		for _, f := range items[i].Files {
			size += len(f.Text) + 64
		}
	}
	if size > maxCachedBytes || len(items) > maxCachedItems {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h := &cached{session: s.ID, generation: turn.Generation, from: s.ContextFrom, fence: turn.Fence, items: slices.Clip(items)}
	c.byID[s.ID] = c.order.PushFront(h)
	if c.order.Len() > c.max {
		old := c.order.Back()
		c.order.Remove(old)
		delete(c.byID, old.Value.(*cached).session)
	}
}

func (c *historyCache) drop(session int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byID[session]; e != nil {
		c.order.Remove(e)
		delete(c.byID, session)
	}
}
