package agent

import (
	"context"
	"errors"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// The parts of the window that a compacted history may take, in percent of what
// a request may have; maxSummary limits the summary too, in tokens.
const (
	goalPart    = 70
	keepPart    = 35
	summaryPart = 15
	maxSummary  = 2000
)

// compactTo compacts the history until a request fits the window, or no
// compaction makes it shorter. Each one is a row of the transcript, and done
// once it is written: a crash before that leaves the history as it was, a crash
// after it finds it compacted.
func (t *turn) compactTo(ctx context.Context, ref string, w Window, fixed int) error {
	for {
		need := t.r.sizes.scale(ref, fixed+itemsTokens(t.items))
		if need <= w.soft() || t.summaryFailed && need <= w.hard() {
			return nil
		}
		if fell, err := t.compact(ctx, ref, w, fixed); !fell || err != nil {
			return err
		}
	}
}

// compact writes one compaction. fell is false where none made the history
// shorter: then nothing was written.
func (t *turn) compact(ctx context.Context, ref string, w Window, fixed int) (fell bool, err error) {
	h, err := t.reread(ctx)
	if err != nil {
		return false, err
	}
	room := max(t.r.sizes.unscale(ref, w.soft())-fixed, 1)
	b := budget{goal: room * goalPart / 100, keep: room * keepPart / 100, summary: max(min(room*summaryPart/100, maxSummary), 60)}
	p, ok := h.plan(t.l.Turn.ID, b)
	if !ok {
		return false, nil
	}
	head := model.Item{Kind: model.Compacted, At: t.r.opts.World.Now(), Compaction: &model.Compaction{
		By: model.CompactedByTrim, Carried: p.carried, MaxResult: p.maxResult, MaxText: p.maxText, Rows: h.compaction().Rows + p.cut,
	}}
	if p.cut == 0 {
		head.Text, head.Compaction.By = h.summary()
	} else if head.Text, head.Compaction.By, err = t.summary(ctx, ref, h, p, b.summary); err != nil {
		return false, err
	} else if head.Text == "" {
		return false, nil // later: the request still fits
	}
	next := h.with(head, t.l.Turn.ID, p)
	before, after := itemsTokens(h.items()), itemsTokens(next.items())
	if after >= before {
		return false, nil
	}
	head.Compaction.Before, head.Compaction.After = t.r.sizes.scale(ref, fixed+before), t.r.sizes.scale(ref, fixed+after)
	return true, t.writeCompaction(ctx, head, next, p.cut > 0)
}

// summary is the text that stands for what p leaves out. It is empty where no
// model could be asked but the request can do without for now.
func (t *turn) summary(ctx context.Context, ref string, h history, p plan, limit int) (text, by string, err error) {
	if !t.summaryFailed {
		text, err = t.summariseByAny(ctx, h, p, limit)
		if cause := context.Cause(ctx); cause != nil {
			return "", "", cause
		}
		if over(err) {
			return "", "", err
		}
		if err == nil {
			return text, model.CompactedByModel, t.r.opts.World.Crash(world.ModelAfterCall)
		}
		t.summaryFailed = true
		t.r.opts.Log.Warn("a history could not be summarised", "session", t.l.Session.Key, "model", ref, "error", err)
		if w := t.window(ref); !errors.Is(err, errNoSummary) && t.r.sizes.scale(ref, t.fixed()+itemsTokens(t.items)) <= w.hard() {
			return "", "", nil
		}
	}
	return digest(h, p, limit), model.CompactedByTrim, nil
}

// summariseByAny asks the models that a call may go to, in their order.
func (t *turn) summariseByAny(ctx context.Context, h history, p plan, limit int) (text string, err error) {
	list, _ := t.candidates()
	for _, c := range list {
		if text, err = t.summarise(ctx, c, h, p, limit); err == nil || context.Cause(ctx) != nil || over(err) {
			return text, err
		}
	}
	return "", err
}

// summary returns what the last compaction kept, and how it was made.
func (h history) summary() (text, by string) {
	if h.head == nil {
		return "", model.CompactedByTrim
	}
	return h.head.Text, h.compaction().By
}

// reread reads the history from the store, whose rows a compaction names. It
// does so as a step of the turn, which comes after the claim is written.
func (t *turn) reread(ctx context.Context) (h history, err error) {
	var rows []store.Row
	err = t.l.Step(ctx, func(tx *store.Tx) (err error) {
		rows, err = tx.Transcript(t.l.Session)
		return err
	})
	if err != nil {
		return h, stepError(ctx, err)
	}
	return readRows(inStepOrder(rows))
}

// writeCompaction makes next the history of the session, in one transaction:
// the row, and where its prompt begins.
func (t *turn) writeCompaction(ctx context.Context, head model.Item, next history, cut bool) error {
	t.seq++
	row, usage, from := t.row(head, t.seq), t.usage, t.l.Session.ContextFrom
	err := t.step(ctx, func(tx *store.Tx) (err error) {
		if head.Row, err = tx.AppendRow(row); err != nil {
			return err
		}
		if cut {
			from = next.entries[0].row
			if err := tx.SetContextFrom(t.l.Session.ID, from); err != nil {
				return err
			}
		}
		return t.progress(tx, usage)
	})
	if err != nil {
		return err
	}
	t.usage = core.Usage{}
	t.compactions++
	t.l.Session.ContextFrom = from
	next.head.Row = head.Row
	t.items, t.sound = next.items(), 0
	c := head.Compaction
	t.r.opts.Log.Info("a history was compacted", "session", t.l.Session.Key, "by", c.By, "rows", c.Rows, "tokens_before", c.Before, "tokens_after", c.After)
	return nil
}
