package scripted

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
	"unicode/utf8"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

// Options are the optional parts of a Provider.
type Options struct {
	// State keeps the counters; nil is a fresh one.
	State *State
	// OnRequest, if not nil, sees each request before it is answered, in the
	// calling goroutine; calls may overlap.
	OnRequest func(model.Request)
}

// Provider is the scripted model. Create it with New.
type Provider struct {
	rules     []*rule
	clock     core.Clock
	state     *State
	onRequest func(model.Request)
}

var _ model.Provider = (*Provider)(nil)

// New returns a provider that answers by rules. Its error wraps ErrBadRules
// and names every faulty rule, counted from 1.
func New(rules []Rule, clock core.Clock, o Options) (*Provider, error) {
	compiled, err := compile(rules)
	if err != nil {
		return nil, err
	}
	if o.State == nil {
		o.State = NewState()
	}
	return &Provider{rules: compiled, clock: clock, state: o.State, onRequest: o.OnRequest}, nil
}

// Models returns the one id "scripted"; Stream takes any.
func (p *Provider) Models(context.Context) ([]string, error) { return []string{"scripted"}, nil }

// Stream answers req by the rules. It sleeps on the clock, so its caller must
// hold a unit of work.
func (p *Provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if ctx.Err() != nil {
			yield(model.Delta{}, context.Cause(ctx))
			return
		}
		if p.onRequest != nil {
			p.onRequest(req)
		}
		a := p.decide(req)
		s := stream{ctx: ctx, clock: p.clock, yield: yield}
		if err := s.play(a); err != nil && !s.left {
			yield(model.Delta{}, err)
		}
	}
}

// answer is what a request gets.
type answer struct {
	say, think string
	calls      []core.ToolCall
	delay      time.Duration
	pace       time.Duration
	usage      model.Usage
	fail       Failure
}

// decide finds the rule for req and counts its use.
func (p *Provider) decide(req model.Request) answer {
	n := newestOf(req.Items)
	a := answer{say: "ok: " + n.headline}
	for _, r := range p.rules {
		g, ok := r.match(req, n)
		if !ok {
			continue
		}
		applies, fails := p.state.take(r, req, n)
		if !applies {
			continue
		}
		if r.answers() {
			a.say = ""
		}
		if r.Say != nil {
			a.say = g.expand(*r.Say)
		}
		a.think, a.delay, a.pace, a.calls = g.expand(r.Think), r.delay, r.pace, r.expandCalls(g, req)
		if fails {
			a.fail = r.Fail
		}
		if r.Usage != nil {
			a.usage = model.Usage{In: r.Usage.In, Out: r.Usage.Out}
			return a
		}
		break
	}
	a.usage = estimate(req, a)
	return a
}

// expandCalls returns the rule's calls with ids that the request does not use.
func (r *rule) expandCalls(g groups, req model.Request) []core.ToolCall {
	taken := make(map[string]bool)
	for _, item := range req.Items {
		for _, c := range item.Calls {
			taken[c.ID] = true
		}
	}
	var calls []core.ToolCall
	n := len(taken)
	for i, c := range r.Call {
		n++
		for taken[callID(n)] {
			n++
		}
		calls = append(calls, core.ToolCall{ID: callID(n), Name: c.Tool, Args: g.arguments(r.args[i])})
	}
	return calls
}

func callID(n int) string { return fmt.Sprintf("call_%d", n) }

// estimate counts four characters as a token.
func estimate(req model.Request, a answer) model.Usage {
	in := utf8.RuneCountInString(req.System)
	for _, i := range req.Items {
		in += utf8.RuneCountInString(model.Text(i)) + callRunes(i.Calls)
	}
	out := utf8.RuneCountInString(a.say+a.think) + callRunes(a.calls)
	return model.Usage{In: int64(in+3) / 4, Out: int64(out+3) / 4}
}

func callRunes(calls []core.ToolCall) (n int) {
	for _, c := range calls {
		n += utf8.RuneCountInString(c.Name) + utf8.RuneCount(c.Args)
	}
	return n
}

// stream plays one answer.
type stream struct {
	ctx   context.Context
	clock core.Clock
	yield func(model.Delta, error) bool
	left  bool // the caller has stopped listening
}

// errLeft ends play after the caller stopped listening; nobody sees it.
var errLeft = errors.New("the caller left")

func (s *stream) send(d model.Delta) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	if !s.yield(d, nil) {
		s.left = true
		return errLeft
	}
	return nil
}

// play streams a; an error is to be yielded last.
func (s *stream) play(a answer) error {
	if err := s.send(model.Delta{KeepAlive: true}); err != nil {
		return err
	}
	if a.think != "" {
		if err := s.send(model.Delta{Think: a.think}); err != nil {
			return err
		}
	}
	if err := s.wait(a.delay); err != nil {
		return err
	}
	switch a.fail {
	case FailDrop:
		runes := []rune(a.say)
		return s.text(string(runes[:(len(runes)+1)/2]), a.pace)
	case FailStall:
		return s.clock.Sleep(s.ctx, forever)
	case "":
	default:
		return a.fail.err()
	}
	if err := s.text(a.say, a.pace); err != nil {
		return err
	}
	for _, c := range a.calls {
		if err := s.send(model.Delta{Call: &c}); err != nil {
			return err
		}
	}
	return s.send(model.Delta{Done: true, Usage: a.usage})
}

// forever is longer than any test or stall limit.
const forever = 100 * 365 * 24 * time.Hour

// wait lets d pass, with a keep-alive at least every 10 s and, where the delay
// is short, every second.
func (s *stream) wait(d time.Duration) error {
	pause := min(max(d/10, time.Second), 10*time.Second)
	for d > 0 {
		step := min(d, pause)
		if err := s.clock.Sleep(s.ctx, step); err != nil {
			return err
		}
		d -= step
		if err := s.send(model.Delta{KeepAlive: true}); err != nil {
			return err
		}
	}
	return nil
}

// text sends a text in a few pieces, as services do, and lets pace pass between
// them.
func (s *stream) text(text string, pace time.Duration) error {
	runes := []rune(text)
	size := max(8, (len(runes)+7)/8)
	for len(runes) > 0 {
		n := min(size, len(runes))
		if err := s.send(model.Delta{Text: string(runes[:n])}); err != nil {
			return err
		}
		if runes = runes[n:]; pace > 0 && len(runes) > 0 {
			if err := s.clock.Sleep(s.ctx, pace); err != nil {
				return err
			}
		}
	}
	return nil
}

// err returns the typed error of a failure that has one.
func (f Failure) err() error {
	cause := fmt.Errorf("the scripted rule says fail: %q", string(f))
	switch f {
	case FailRateLimited:
		return &model.Error{Class: model.RateLimited, Status: 429, Err: cause}
	case FailOverflow:
		return &model.Error{Class: model.Overflow, Status: 400, Err: cause}
	}
	return &model.Error{Class: model.Overloaded, Status: 500, Err: cause}
}
