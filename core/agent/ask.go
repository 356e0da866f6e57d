package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/skein-bot/skein/core/model"
)

// How often one call is tried while nothing was shown, and for how long in all
// it waits in between: trouble of a few seconds does not end a turn. Where
// another model stands ready, a longer wait goes to that one at once.
const (
	modelAttempts  = 5
	modelPause     = time.Second // doubled for each attempt
	modelWait      = 15 * time.Second
	modelWaitAlone = time.Minute
	// modelCooldown is how long a model that failed is asked last, where its
	// service does not say how long.
	modelCooldown = time.Minute
)

// candidate is a model that a call may go to, with one of the credentials that
// it may be called with.
type candidate struct {
	ref  string
	info model.Info
	way  Way
	// err is why it cannot be asked at all.
	err error
}

// candidates returns the turn's model and the agent's fallbacks, each with the
// agent's own credential and the shared one, in the order in which they are
// asked, and how many of them are ready.
func (t *turn) candidates() (out []candidate, ready int) {
	now := t.r.opts.World.Now()
	byKey := make(map[model.Key]candidate)
	var keys []model.Key
	add := func(k model.Key, c candidate) {
		if _, known := byKey[k]; !known {
			byKey[k] = c
			keys = append(keys, k)
		}
	}
	for _, ref := range t.modelRefs() {
		if _, usable := t.offers[ref]; !usable {
			continue
		}
		info := t.r.opts.Catalogue.Info(ref)
		ways, err := t.r.opts.Catalogue.Ways(t.l.Session.Agent, ref)
		if err != nil {
			add(model.Key{Model: ref}, candidate{ref: ref, info: info, err: err})
		}
		for _, w := range ways {
			add(w.Key, candidate{ref: ref, info: info, way: w})
		}
	}
	for _, k := range t.r.cooldowns.Order(keys, now) {
		out = append(out, byKey[k])
		if !t.r.cooldowns.Cooling(k, now) {
			ready++
		}
	}
	return out, ready
}

// modelRefs are the turn's model and the agent's fallbacks.
func (t *turn) modelRefs() []string { return append([]string{t.modelRef()}, t.def.Fallbacks...) }

// call asks the turn's model, and where that fails the agent's fallbacks, in
// order; not after a refusal, which is an answer, and not where a budget is
// spent. A model that failed cools down: for a while it is asked last. What one
// credential failed at because of the request is not tried with another one.
func (t *turn) call(ctx context.Context) (item model.Item, err error) {
	list, ready := t.candidates()
	hopeless := "" // the model that cannot answer this request
	for i, c := range list {
		if i > 0 && c.ref == hopeless {
			continue
		}
		patience := modelWaitAlone
		t.offer = t.offers[c.ref]
		if i+1 < ready {
			patience = modelWait
		}
		item, err = t.askFitting(ctx, c, patience)
		switch {
		case err == nil:
			t.r.cooldowns.Clear(c.way.Key)
			return item, nil
		case context.Cause(ctx) != nil || model.ClassOf(err) == model.Refused || over(err):
			return item, err
		}
		switch d := cooldown(err); {
		case d == 0:
			hopeless = c.ref
		case c.err == nil:
			t.r.cooldowns.Note(c.way.Key, t.r.opts.World.Now().Add(d))
		}
		if i+1 < len(list) {
			t.r.opts.Log.Warn("a model failed; the next one is asked", "model", c.ref, "own_credential", c.way.Own, "next", list[i+1].ref, "error", err)
		}
	}
	return item, err
}

// cooldown is how long a model that failed so is asked last: as long as its
// service said, else a minute; 0 where the request is what it failed at, so
// that the next one may well go to the same model.
func cooldown(err error) time.Duration {
	e := new(model.Error)
	switch {
	case !errors.As(err, &e):
		return modelCooldown
	case e.Class == model.Overflow, e.Class == model.BadRequest && e.Status != http.StatusNotFound:
		return 0
	case e.After > 0:
		return e.After
	}
	return modelCooldown
}

// ask calls one model, again after a transient failure as long as it waits no
// longer than patience in all. What failed calls used counts too; usage is that
// of the last one.
func (t *turn) ask(ctx context.Context, c candidate, patience time.Duration) (model.Item, model.Usage, error) {
	if c.err != nil {
		return model.Item{}, model.Usage{}, c.err
	}
	req := t.request(c.way.ID)
	req.MaxTokens = c.info.MaxTokens
	if c.info.Vision {
		var err error
		if req.Items, err = t.withPictures(ctx, req.Items); err != nil {
			return model.Item{}, model.Usage{}, err
		}
	}
	for attempt := 1; ; attempt++ {
		if err := t.afford(ctx); err != nil {
			return model.Item{}, model.Usage{}, err
		}
		by := model.Call{Model: c.ref, At: t.r.opts.World.Now()}
		item, usage, err := model.Collect(ctx, t.r.opts.World.Clock, c.way.Provider, req, model.Options{Stall: t.lim.Stall, OnDelta: t.timing(&by, t.showing(ctx))})
		t.spend(c.ref, usage)
		if err == nil {
			err = t.keepable(item)
		}
		if err == nil {
			item.At, by.Usage = t.r.opts.World.Now(), c.info.Price.Of(usage)
			item.By = &by
			return item, usage, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return item, usage, cause
		}
		wait := pause(attempt, err)
		patience -= wait
		if attempt == modelAttempts || patience < 0 || !model.ClassOf(err).Transient() {
			return item, usage, err
		}
		if err := t.r.opts.World.Clock.Sleep(ctx, wait); err != nil {
			return item, usage, err
		}
	}
}

// timing notes in a call when the first piece of its answer came, and shows each
// delta to observe, which may be nil.
func (t *turn) timing(by *model.Call, observe func(model.Delta)) func(model.Delta) {
	written := false
	return func(d model.Delta) {
		if !written && d.Written() {
			written, by.FirstAfter = true, t.r.opts.World.Now().Sub(by.At).Milliseconds()
		}
		if observe != nil {
			observe(d)
		}
	}
}

// pause is how long to wait before attempt+1: what the service asks for, else
// 1 s doubling.
func pause(attempt int, err error) time.Duration {
	var e *model.Error
	if errors.As(err, &e) && e.After > 0 {
		return e.After
	}
	return modelPause << (attempt - 1)
}

// modelRef is the model of the turn: what a person chose for the session with
// /model or /new, else in a sub-agent's session what the spawn of its latest run
// resolved to, else the agent's.
func (t *turn) modelRef() string {
	switch {
	case t.l.Session.Model != "":
		return t.l.Session.Model
	case t.child != nil && t.child.Spec.Model != "":
		return t.child.Spec.Model
	}
	return t.def.Model
}

func (t *turn) request(id string) model.Request {
	req := model.Request{
		ID: fmt.Sprintf("%d/%d/%d", t.l.Session.ID, t.l.Turn.ID, t.seq-t.compactions), Model: id, Agent: t.def.ID, System: t.system, Tools: t.offer.Tools, Thinking: t.def.Thinking,
		Items: t.prompt,
	}
	if t.child != nil {
		req.Task, req.TaskName, req.TaskText = t.child.Label, t.child.TaskName, t.child.Task
		if t.child.Spec.Thinking != "" {
			req.Thinking = t.child.Spec.Thinking
		}
	}
	return req
}
