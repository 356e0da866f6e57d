package app

import (
	"encoding/json"
	"slices"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

// Removed stands in a history where something of a person was removed.
const Removed = "[removed on request]"

// emptied takes everything that was said out of an item. Its kind, its calls
// and their pairing stay, so that a model can be sent it as before.
func emptied(i model.Item) model.Item {
	out := model.Item{
		Kind: i.Kind, CallID: i.CallID, Tool: i.Tool, Failed: i.Failed, Unknown: i.Unknown, Cut: i.Cut, Dropped: i.Dropped, At: i.At, By: i.By,
	}
	if i.Text != "" || i.Kind == model.User {
		out.Text = Removed
	}
	for _, c := range i.Calls {
		c.Args = json.RawMessage("{}")
		out.Calls = append(out.Calls, c)
	}
	if c := i.Completion; c != nil {
		out.Completion = &model.Completion{
			Source: c.Source, RunID: c.RunID, TaskID: c.TaskID, SessionKey: c.SessionKey, SessionID: c.SessionID, Number: c.Number,
			Ordinal: c.Ordinal, Label: Removed, Task: Removed, Status: c.Status, Result: Removed, Partial: c.Partial, Stats: c.Stats, Told: c.Told, Untold: c.Untold,
		}
	}
	if c := i.Compaction; c != nil {
		kept := *c
		kept.Carried = nil
		out.Compaction = &kept
	}
	return out
}

// without takes out of an item what it holds of one person besides: a quote of
// theirs, and what they said in its place before. changed is false where it
// holds nothing.
func (p person) without(i model.Item) (out model.Item, changed bool) {
	if q := i.Quote; q != nil && p.wrote(&q.Author) {
		i.Quote, changed = &core.Quote{Text: Removed}, true
	}
	if i.Author != nil && p.wrote(i.Author) {
		return emptied(i), true
	}
	keep, some := p.withoutAll(i.Context)
	if some {
		i.Context, changed = keep, true
	}
	if i.Compaction != nil {
		if keep, some := p.withoutAll(i.Compaction.Carried); some {
			kept := *i.Compaction
			kept.Carried = keep
			i.Compaction, changed = &kept, true
		}
	}
	return i, changed
}

// withoutAll leaves out the items of a person and empties what others quote.
func (p person) withoutAll(items []model.Item) (out []model.Item, changed bool) {
	out = slices.Clone(items)
	for n, i := range out {
		var some bool
		out[n], some = p.without(i)
		changed = changed || some
	}
	return out, changed
}

func (p person) wrote(a *core.Author) bool { return a.ID == p.id }
