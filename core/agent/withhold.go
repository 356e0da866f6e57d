package agent

import (
	"encoding/json"
	"slices"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/tool"
)

// withhold takes out of an answer what its tools do not want to be kept. It
// returns the answer as it is stored and sent from now on, and the calls with
// all of their arguments, numbered from first.
func (t *turn) withhold(answer model.Item, first int) (kept model.Item, calls []pendingCall) {
	kept, calls = answer, make([]pendingCall, len(answer.Calls))
	for i, c := range answer.Calls {
		calls[i] = pendingCall{call: c, seq: first + i}
		args, taken := t.withheldArgs(c)
		if !taken {
			continue
		}
		if !slices.ContainsFunc(calls[:i], func(p pendingCall) bool { return p.withheld }) {
			kept.Calls = slices.Clone(answer.Calls)
		}
		kept.Calls[i].Args, calls[i].withheld = args, true
	}
	return kept, calls
}

// keepable refuses an answer whose arguments are too much to keep: what is
// withheld does not count, so that only files may be large.
func (t *turn) keepable(answer model.Item) error {
	size := func(calls []core.ToolCall) (n int) {
		for _, c := range calls {
			n += len(c.Args)
		}
		return n
	}
	if size(answer.Calls) <= model.MaxText {
		return nil
	}
	if kept, _ := t.withhold(answer, 0); size(kept.Calls) > model.MaxText {
		return model.TooMuchArgs(model.MaxText)
	}
	return nil
}

func (t *turn) withheldArgs(c core.ToolCall) (kept json.RawMessage, taken bool) {
	x, known := t.r.opts.Tools.Lookup(c.Name)
	if !known {
		return nil, false
	}
	w, ok := x.(tool.Withholder)
	if !ok {
		return nil, false
	}
	return w.Withhold(c.Args)
}

// keepWithheld writes what an answer's transcript row has not, until the calls
// have results.
func (t *turn) keepWithheld(tx *store.Tx, calls []pendingCall) error {
	for _, c := range calls {
		if !c.withheld {
			continue
		}
		t.withheld = true
		if err := tx.Withhold(t.l.Turn.ID, c.seq, string(c.call.Args), t.r.opts.World.Now()); err != nil {
			return err
		}
	}
	return nil
}

// giveBack gives calls of an earlier claim the arguments that were kept apart.
func (t *turn) giveBack(tx *store.Tx, calls []pendingCall) error {
	args, err := tx.Withheld(t.l.Turn.ID)
	if err != nil || len(args) == 0 {
		return err
	}
	t.withheld = true
	for i := range calls {
		if whole, ok := args[calls[i].seq]; ok {
			calls[i].call.Args, calls[i].withheld = json.RawMessage(whole), true
		}
	}
	return nil
}
