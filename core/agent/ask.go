package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

// modelAttempts is how often one call is tried while nothing was shown; the
// pauses double from modelPause, so that trouble of up to 15 s does not end a
// turn.
const (
	modelAttempts = 5
	modelPause    = time.Second
	modelPauseMax = time.Minute
)

// call asks the turn's model, and where that fails the agent's fallbacks, in
// order; not after a refusal, which is an answer. A model that failed cools
// down: for a while it is asked last.
func (t *turn) call(ctx context.Context) (item model.Item, spent core.Usage, err error) {
	refs := t.r.cooling.order(append([]string{t.modelRef()}, t.def.Fallbacks...), t.r.opts.World.Now())
	for i, ref := range refs {
		var usage model.Usage
		item, usage, err = t.ask(ctx, ref)
		spent = spent.Plus(t.r.opts.Catalogue.Price(ref).Of(usage))
		if err == nil || context.Cause(ctx) != nil || model.ClassOf(err) == model.Refused {
			return item, spent, err
		}
		if !atFault(err) {
			t.r.cooling.note(ref, t.r.opts.World.Now().Add(modelCooldown))
		}
		if i+1 < len(refs) {
			t.r.opts.Log.Warn("a model failed; the next one is asked", "model", ref, "next", refs[i+1], "error", err)
		}
	}
	return item, spent, err
}

// atFault reports whether the request is what a model failed at, so that the
// next request may well go to the same model.
func atFault(err error) bool {
	switch model.ClassOf(err) {
	case model.BadRequest, model.Overflow:
		return true
	}
	return false
}

// modelCooldown is how long a model that failed is asked last.
const modelCooldown = time.Minute

// cooling remembers which models failed lately.
type cooling struct {
	mu    sync.Mutex
	until map[string]core.Millis
}

func (c *cooling) note(ref string, until core.Millis) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until == nil {
		c.until = make(map[string]core.Millis)
	}
	c.until[ref] = until
}

// order returns refs without repetition, those that cool down last.
func (c *cooling) order(refs []string, now core.Millis) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ready, hot []string
	for _, ref := range refs {
		switch {
		case slices.Contains(ready, ref) || slices.Contains(hot, ref):
		case c.until[ref] > now:
			hot = append(hot, ref)
		default:
			ready = append(ready, ref)
		}
	}
	return append(ready, hot...)
}

// ask calls one model, again after a transient failure.
func (t *turn) ask(ctx context.Context, ref string) (model.Item, model.Usage, error) {
	provider, id, err := t.r.opts.Catalogue.Model(ref)
	if err != nil {
		return model.Item{}, model.Usage{}, err
	}
	req := t.request(id)
	for attempt := 1; ; attempt++ {
		item, usage, err := model.Collect(ctx, t.r.opts.World.Clock, provider, req, model.Options{Stall: t.lim.Stall})
		if err == nil {
			item.At = t.r.opts.World.Now()
			return item, usage, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return item, usage, cause
		}
		if attempt == modelAttempts || !model.ClassOf(err).Transient() {
			return item, usage, err
		}
		if err := t.r.opts.World.Clock.Sleep(ctx, pause(attempt, err)); err != nil {
			return item, usage, err
		}
	}
}

// pause is how long to wait before attempt+1: what the service asks for, else
// 1 s doubling; never over a minute.
func pause(attempt int, err error) time.Duration {
	d := modelPause << (attempt - 1)
	var e *model.Error
	if errors.As(err, &e) && e.After > 0 {
		d = e.After
	}
	return min(d, modelPauseMax)
}

// modelRef is the model of the turn: of a run, what its spawn resolved to; of a
// chat, what /new chose, else in a sub-agent's session the model of its latest
// run; else the agent's.
func (t *turn) modelRef() string {
	switch {
	case t.run != nil && t.run.Spec.Model != "":
		return t.run.Spec.Model
	case t.run == nil && t.l.Session.Model != "":
		return t.l.Session.Model
	case t.child != nil && t.child.Spec.Model != "":
		return t.child.Spec.Model
	}
	return t.def.Model
}

// promptItems returns the transcript as a model gets it. What earlier turns
// left is known to be sound; only the rest is looked at.
func (t *turn) promptItems() []model.Item {
	tail := model.Repair(trimForPrompt(t.items[t.sound:]))
	return append(slices.Clip(t.items[:t.sound]), tail...)
}

func (t *turn) request(id string) model.Request {
	req := model.Request{
		ID: fmt.Sprintf("%d/%d/%d", t.l.Session.ID, t.l.Turn.ID, t.seq), Model: id, Agent: t.def.ID, System: t.system, Tools: t.tools, Thinking: t.def.Thinking,
		Items: t.promptItems(),
	}
	if t.child != nil {
		req.Task, req.TaskName, req.TaskText = t.child.Label, t.child.TaskName, t.child.Task
		if t.child.Spec.Thinking != "" {
			req.Thinking = t.child.Spec.Thinking
		}
	}
	return req
}
