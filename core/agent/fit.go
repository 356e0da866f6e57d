package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/skein-bot/skein/core/model"
)

// overflowTries is how often a model that refused a request as too large gets a
// smaller one.
const overflowTries = 4

// window is how much a model reads in one call.
func (t *turn) window(ref string) Window {
	info := t.r.opts.Catalogue.Info(ref)
	w := t.r.sizes.window(ref, Window{Context: info.ContextTokens, Output: info.MaxTokens}, t.r.opts.World.Now())
	return w.below(t.refused)
}

// askFitting asks a model with a request that fits it. Where the model refuses
// it as too large all the same, it is asked again with a smaller one, as long
// as there is a smaller one: the end is an answer, or an error that says so.
func (t *turn) askFitting(ctx context.Context, c candidate, patience time.Duration) (model.Item, error) {
	ref := c.ref
	var refusal error
	last := 0 // the request that was refused, as estimated
	t.refused = 0
	for try := 0; ; try++ {
		err := t.fit(ctx, ref)
		switch {
		case refusal != nil && (model.ClassOf(err) == model.Overflow || err == nil && t.sent() >= last):
			return model.Item{}, refusal // there is no smaller one
		case err != nil:
			return model.Item{}, err
		}
		item, usage, err := t.ask(ctx, c, patience)
		if err == nil {
			t.r.sizes.observe(ref, t.asked, usage.In)
			t.r.sizes.overflowed(ref, t.refused, t.r.opts.World.Now())
			return item, nil
		}
		if try == overflowTries || context.Cause(ctx) != nil || model.ClassOf(err) != model.Overflow {
			return item, err
		}
		refusal, last = err, t.sent()
		t.refused = t.r.sizes.scale(ref, last)
		t.r.opts.Log.Info("a request was too large for a model", "model", ref, "session", t.l.Session.Key, "tokens", t.refused)
	}
}

// sent estimates the request that was made last.
func (t *turn) sent() int { return t.fixed() + itemsTokens(t.prompt) }

// fixed estimates the part of a request that is the same in the whole turn.
func (t *turn) fixed() int { return fixedTokens(t.system, t.offer.Tools) }

// spend counts the tokens of a call; they are booked with the next step.
func (t *turn) spend(ref string, usage model.Usage) {
	t.usage = t.usage.Plus(t.r.opts.Catalogue.Info(ref).Price.Of(usage))
}

// fit makes t.prompt from the history so that the request fits the model. For
// the turn's own model the history is compacted, for good; a fallback that reads
// less gets a shorter request, and the history stays.
func (t *turn) fit(ctx context.Context, ref string) error {
	w := t.window(ref)
	t.asked = 0
	if t.r.sizes.scale(ref, t.mostTokens()) <= w.soft() {
		t.prompt = t.promptItems()
		return nil
	}
	fixed, limit := t.fixed(), w.soft()
	if ref == t.modelRef() {
		limit = w.hard() // where a compaction is not worth while
		if err := t.compactTo(ctx, ref, w, fixed); err != nil {
			return err
		}
	}
	t.prompt = t.promptItems()
	t.asked = fixed + itemsTokens(t.prompt)
	need := t.r.sizes.scale(ref, t.asked)
	if need <= limit {
		return nil
	}
	t.prompt = model.Repair(squeeze(t.prompt, t.r.sizes.unscale(ref, w.soft())-fixed))
	t.asked = fixed + itemsTokens(t.prompt)
	if need = t.r.sizes.scale(ref, t.asked); need <= w.hard() {
		return nil
	}
	return &model.Error{Class: model.Overflow, Err: &tooLongError{ref: ref, fixed: t.r.sizes.scale(ref, fixed), need: need, window: w.Context}}
}

// mostTokens is a bound that is cheap: no text has more tokens, as they are
// estimated, than half its bytes.
func (t *turn) mostTokens() int {
	n := len(t.system)
	for _, s := range t.offer.Tools {
		n += len(s.Name) + len(s.Description) + len(s.Schema) + 24
	}
	for i := range t.items {
		n += itemBytes(&t.items[i])
	}
	return n / 2
}

// itemBytes is no less than twice itemTokens.
func itemBytes(i *model.Item) int {
	n := 64 + len(i.Text) + len(i.CallID) + len(i.Tool)
	if i.Author != nil {
		n += 64 + len(i.Author.Name) + len(i.Author.ID)
	}
	if i.Quote != nil {
		n += 64 + len(i.Quote.Text)
	}
	for _, f := range i.Files {
		n += 2*f.Tokens(func(s string) int { return len(s) }) + 2
	}
	for _, c := range i.Calls {
		n += 24 + len(c.ID) + len(c.Name) + len(c.Args)
	}
	for _, t := range i.Thoughts {
		n += len(t.Text) + len(t.Signature) + len(t.Redacted)
	}
	if i.Completion != nil || i.Compaction != nil || len(i.Context)+len(i.Files) > 0 {
		n += len(model.Render(*i)) + 2*pictureTokens*len(i.Files)
	}
	return n
}

// tooLongError is why no request is made: not even the shortest fits the model.
type tooLongError struct {
	ref                 string
	fixed, need, window int // tokens
}

func (e *tooLongError) Error() string {
	return fmt.Sprintf("the request needs about %d tokens, %d of them for instructions and tools; %s reads %d", e.need, e.fixed, e.ref, e.window)
}

// squeeze returns items that have at most room tokens, or as few as there can
// be. Long texts are cut, then the oldest items left out, calls together with
// their results; the summary in front stays, and the newest input.
func squeeze(items []model.Item, room int) []model.Item {
	var least []model.Item
	for _, s := range stages[1:] {
		least = dropOldest(items, room, s.maxResult, s.textLimit(room))
		if itemsTokens(least) <= room {
			break
		}
	}
	return least
}

// leftOut is what stands for the items that a request leaves out.
const leftOut = "[%d earlier messages left out: this model reads less at once than the conversation is long]"

// dropOldest cuts the texts of items, and leaves out as many of the oldest as
// it must.
func dropOldest(items []model.Item, room, maxResult, maxText int) []model.Item {
	var h history
	for n, i := range items {
		if n == 0 && i.Kind == model.Compacted {
			h.head = &i
			if maxText > 0 { // the summary too, at last
				short := i
				short.Text = truncated(i.Text, 2*maxText)
				h.head = &short
			}
			continue
		}
		h.entries = append(h.entries, entry{row: int64(n + 1), whole: i}.limited(maxResult, maxText))
	}
	out := func(cut int) []model.Item {
		var keep []model.Item
		if h.head != nil {
			keep = append(keep, *h.head)
		}
		if cut > 0 {
			keep = append(keep, model.Item{Kind: model.Note, Text: fmt.Sprintf(leftOut, cut)})
			if input := lastInput(h.entries); input >= 0 && input < cut {
				keep = append(keep, capped(h.entries[input].item, 0, tighter(maxCarried, maxText)))
			}
		}
		for _, e := range h.entries[cut:] {
			keep = append(keep, e.item)
		}
		return keep
	}
	var kept []model.Item
	for _, cut := range h.legalCuts() {
		if kept = out(cut); itemsTokens(kept) <= room {
			break
		}
	}
	return kept
}

// lastInput is the newest item that a turn answers to, -1 if there is none.
func lastInput(entries []entry) int {
	for n := len(entries) - 1; n >= 0; n-- {
		if k := entries[n].item.Kind; k == model.User || k == model.Event {
			return n
		}
	}
	return -1
}
