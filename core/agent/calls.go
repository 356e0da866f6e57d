package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/tool"
	"github.com/skein-bot/skein/core/world"
)

// pendingCall is a call of the last model answer without a result yet.
type pendingCall struct {
	call core.ToolCall
	seq  int
	// interrupted is set where an earlier claim started the call.
	interrupted bool
	// withheld is set where the transcript has not all of its arguments.
	withheld bool
}

// pendingCalls finds the calls of a resumed turn that have no result.
func (t *turn) pendingCalls() []pendingCall {
	if !t.l.Resumed {
		return nil
	}
	last := -1
	for i := len(t.items) - 1; i >= 0; i-- {
		if t.items[i].Kind == model.Assistant {
			last = i
			break
		}
	}
	if last < 0 || len(t.items[last].Calls) == 0 {
		return nil
	}
	done := make(map[string]bool)
	for _, i := range t.items[last+1:] {
		if i.Kind == model.ToolOutput {
			done[i.CallID] = true
		}
	}
	var out []pendingCall
	for i, c := range t.items[last].Calls {
		if !done[c.ID] {
			out = append(out, pendingCall{call: c, seq: t.answerSeq + 1 + i})
		}
	}
	return out
}

// runCalls runs calls, in parallel where their tools allow, and takes what
// arrived meanwhile. done is set when a call ended the turn.
func (t *turn) runCalls(ctx context.Context, calls []pendingCall) (done bool, err error) {
	started, err := t.startedSteps(ctx, calls)
	if err != nil {
		return false, err
	}
	results := make([]callResult, len(calls))
	var serial, parallel []int
	for i := range calls {
		calls[i].interrupted = started[calls[i].seq]
		if x, ok := t.r.opts.Tools.Lookup(calls[i].call.Name); ok && x.Spec().Serial {
			serial = append(serial, i)
		} else {
			parallel = append(parallel, i)
		}
	}
	t.together(parallel, func(i int) { results[i] = t.runCall(ctx, calls[i]) })
	for _, i := range serial {
		results[i] = t.runCall(ctx, calls[i])
	}
	return t.afterCalls(ctx, calls, results)
}

// together runs calls at the same time, each as work of its own, and returns
// when the last has ended. That one gives the turn its work back before its own
// ends: at no moment does the world look quiet.
func (t *turn) together(calls []int, run func(i int)) {
	if len(calls) == 0 {
		return
	}
	work := t.r.opts.World.Work
	ends := make([]func(), len(calls))
	for n := range calls {
		ends[n] = work.Begin("tool")
	}
	unpark := work.Park()
	var left atomic.Int64
	left.Store(int64(len(calls)))
	var wg sync.WaitGroup
	for n, i := range calls {
		wg.Go(func() {
			defer ends[n]()
			defer func() {
				if left.Add(-1) == 0 {
					unpark()
				}
			}()
			run(i)
		})
	}
	wg.Wait()
}

type callResult struct {
	item model.Item
	err  error
}

// afterCalls adds the results to the prompt in the order of the calls.
func (t *turn) afterCalls(ctx context.Context, calls []pendingCall, results []callResult) (done bool, err error) {
	for i, res := range results {
		if res.err != nil {
			return false, res.err
		}
		t.noteOwn(res.item)
		t.items = append(t.items, res.item)
		t.seq = max(t.seq, calls[i].seq)
	}
	if t.out.Yield != nil {
		return true, t.yield(ctx)
	}
	return false, t.boundary(ctx)
}

// yield ends a turn because a call asked to wait.
func (t *turn) yield(ctx context.Context) error {
	t.out.State, t.out.Status = store.TurnDone, core.RunOK
	return t.end(ctx)
}

// startedSteps returns the step numbers of calls that an earlier claim
// started, and gives the calls back the arguments that the transcript has not.
func (t *turn) startedSteps(ctx context.Context, calls []pendingCall) (map[int]bool, error) {
	if !t.l.Resumed {
		return nil, nil
	}
	out := make(map[int]bool)
	err := t.r.opts.DB.Read(ctx, func(tx *store.Tx) error {
		steps, err := tx.Steps(t.l.Turn.ID)
		for _, s := range steps {
			out[s.Seq] = s.State == store.StepStarted
		}
		if err != nil {
			return err
		}
		return t.giveBack(tx, calls)
	})
	if err != nil {
		return nil, storeError{err}
	}
	return out, nil
}

// runCall runs one call to its journalled result.
func (t *turn) runCall(ctx context.Context, c pendingCall) (res callResult) {
	x, known := t.r.opts.Tools.Lookup(c.call.Name)
	switch {
	case !known || !t.offered(c.call.Name):
		return t.record(ctx, c, failure(ctx, t.notOffered(c.call.Name), t.lim.ToolTimeout))
	case badArgs(c.call) != "" && c.withheld:
		return t.record(ctx, c, core.ToolResult{Text: "the arguments are no JSON object", Error: true})
	case badArgs(c.call) != "":
		return t.record(ctx, c, core.ToolResult{Text: "the arguments are no JSON object; you wrote: " + core.Clip(badArgs(c.call), 400), Error: true})
	case c.interrupted && !repeatable(x):
		return t.interrupted(ctx, c)
	}
	d, durable := x.(tool.Durable)
	if !c.interrupted && !durable { // a durable call leaves both its effect and its result, or neither
		err := t.step(ctx, func(tx *store.Tx) error {
			return tx.StartStep(store.Step{Turn: t.l.Turn.ID, Seq: c.seq, CallID: c.call.ID, Tool: c.call.Name}, t.r.opts.World.Now())
		})
		if err != nil {
			return callResult{err: err}
		}
	}
	if err := t.r.opts.World.Crash(world.ToolStarted); err != nil {
		return callResult{err: err}
	}
	toolCtx, cancel := t.r.opts.World.Clock.WithTimeout(ctx, t.lim.ToolTimeout)
	defer cancel()
	if durable {
		return t.runDurable(toolCtx, ctx, d, c)
	}
	result, err := t.invokeInTime(toolCtx, x, c)
	if stop := context.Cause(ctx); stop != nil {
		return callResult{err: stop}
	}
	if crash := t.r.opts.World.Crash(world.ToolAfterCall); crash != nil {
		return callResult{err: crash}
	}
	if err != nil {
		result = failure(toolCtx, err, t.lim.ToolTimeout)
	}
	return t.record(ctx, c, result)
}

// badArgs returns what the model wrote where that is no JSON object.
func badArgs(call core.ToolCall) string {
	raw, bad := model.BadArgs(call)
	if bad && raw == "" {
		return "nothing"
	}
	return raw
}

// repeatable reports whether a started call may run again after a crash.
func repeatable(x core.Tool) bool {
	if _, durable := x.(tool.Durable); durable {
		return true
	}
	s := x.Spec()
	return s.ReadOnly || s.Idempotent
}

// invokeInTime calls a tool, and goes on without it where it has not ended a
// while after its context did: a tool that hangs must not hang the conversation.
// Its goroutine ends when the tool does; nothing takes its result any more.
func (t *turn) invokeInTime(ctx context.Context, x core.Tool, c pendingCall) (core.ToolResult, error) {
	type outcome struct {
		res core.ToolResult
		err error
	}
	ended := make(chan outcome, 1)
	scope := t.scope(c.seq)
	go func() {
		res, err := invoke(ctx, x, scope, c.call)
		ended <- outcome{res, err}
	}()
	select {
	case o := <-ended:
		return o.res, o.err
	case <-ctx.Done():
	}
	// From here on the call may outlive this turn's work: it gets its own.
	var done func()
	over := make(chan struct{})
	grace := t.r.opts.World.Clock.AfterFunc(t.lim.ToolGrace, func() {
		done = t.r.opts.World.Work.Begin("tool beyond its grace")
		close(over)
	})
	select {
	case o := <-ended:
		if !grace.Stop() {
			<-over
			done()
		}
		return o.res, o.err
	case <-over:
		go func() {
			<-ended
			done()
		}()
		t.r.opts.Log.Warn("a tool does not end", "tool", c.call.Name, "session", t.l.Session.Key, "turn", t.l.Turn.ID)
		return core.ToolResult{}, context.Cause(ctx)
	}
}

// invoke calls a tool; a panic is its failure.
func invoke(ctx context.Context, x core.Tool, scope core.ToolScope, call core.ToolCall) (res core.ToolResult, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the tool %s panicked: %v\n%s", call.Name, r, debug.Stack())
		}
	}()
	return x.Invoke(ctx, scope, call)
}

// failure is the result of a call that returned an error.
func failure(ctx context.Context, err error, limit time.Duration) core.ToolResult {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = core.Errorf("tool_timeout", "the call was stopped after %s (tools.timeoutSeconds); what it did until then is not known", limit)
	}
	text := err.Error()
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	if code := core.ErrorCode(err); code != "" {
		text = code + ": " + text
	}
	return core.ToolResult{Text: text, Error: true}
}

func (t *turn) scope(seq int) core.ToolScope {
	s := core.ToolScope{Agent: t.def.ID, Session: t.l.Session.ID, Turn: t.l.Turn.ID, Seq: seq, Reply: t.l.Turn.ReplyTo, Dir: t.def.Workspace}
	if t.child != nil && t.child.Spec.Cwd != "" {
		s.Dir = t.child.Spec.Cwd
	}
	if t.run != nil {
		s.Run = t.run.ID
	}
	return s
}

// record journals a result.
func (t *turn) record(ctx context.Context, c pendingCall, res core.ToolResult) callResult {
	item := t.resultItem(c, res)
	err := t.step(ctx, func(tx *store.Tx) error { return t.writeResult(tx, c, &item) })
	return callResult{item: item, err: err}
}

// interrupted journals that a crash came while the call was running.
func (t *turn) interrupted(ctx context.Context, c pendingCall) callResult {
	item := t.resultItem(c, core.ToolResult{
		Text: "interrupted: the process ended while this call was running, so its effect is unknown. Check before doing it again.", Error: true,
	})
	item.Unknown = true
	err := t.step(ctx, func(tx *store.Tx) error { return t.writeResult(tx, c, &item) })
	return callResult{item: item, err: err}
}

func (t *turn) resultItem(c pendingCall, res core.ToolResult) model.Item {
	return model.Item{
		Kind: model.ToolOutput, Text: res.Text, Failed: res.Error, CallID: c.call.ID, Tool: c.call.Name, At: t.r.opts.World.Now(),
	}
}

// writeResult writes the row of a result, and its number into the item.
func (t *turn) writeResult(tx *store.Tx, c pendingCall, item *model.Item) (err error) {
	now := t.r.opts.World.Now()
	if item.Row, err = tx.AppendRow(t.row(*item, c.seq)); err != nil {
		return err
	}
	if err := tx.FinishStep(t.l.Turn.ID, c.seq, now); err != nil {
		return err
	}
	if c.withheld {
		if err := tx.DropWithheld(t.l.Turn.ID, c.seq); err != nil {
			return err
		}
	}
	if t.run == nil {
		return nil
	}
	return tx.StepProgress(t.run.ID)
}

// durableSteps implements tool.Steps for one call.
type durableSteps struct {
	t   *turn
	ctx context.Context // of the turn: a finished tool may still write after its own deadline
	c   pendingCall

	finished bool
	res      callResult
}

func (s *durableSteps) Do(ctx context.Context, fn func(tx *store.Tx) error) error {
	return s.t.step(ctx, fn)
}

func (s *durableSteps) DoWith(ctx context.Context, also []int64, fn func(tx *store.Tx) error) error {
	if err := s.t.l.StepWith(ctx, also, fn); err != nil {
		return stepError(ctx, err)
	}
	return s.t.r.opts.World.Crash(world.StepAfterCommit)
}

func (s *durableSteps) Rest(ctx context.Context, wait func(ctx context.Context)) {
	s.t.l.Rest(ctx, wait)
}

func (s *durableSteps) Finish(_ context.Context, fn func(tx *store.Tx) (tool.Result, error)) error {
	if s.finished {
		return errors.New("tool: Finish was called twice")
	}
	err := s.t.step(s.ctx, func(tx *store.Tx) error {
		res, err := fn(tx)
		if err != nil {
			return err
		}
		s.res = callResult{item: s.t.resultItem(s.c, res.ToolResult)}
		s.res.item.Ends = res.Ends
		return s.t.writeResult(tx, s.c, &s.res.item)
	})
	s.finished = err == nil
	return err
}

func (t *turn) runDurable(toolCtx, ctx context.Context, d tool.Durable, c pendingCall) callResult {
	steps := &durableSteps{t: t, ctx: ctx, c: c}
	err := func() (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("the tool %s panicked: %v\n%s", c.call.Name, r, debug.Stack())
			}
		}()
		return d.InvokeDurable(toolCtx, t.scope(c.seq), c.call, steps)
	}()
	if killed := t.r.opts.World.Err(); killed != nil {
		return callResult{err: killed}
	}
	if crash := t.r.opts.World.Crash(world.ToolAfterCall); crash != nil {
		return callResult{err: crash}
	}
	switch {
	case steps.finished:
		return steps.res
	case context.Cause(ctx) != nil:
		return callResult{err: context.Cause(ctx)}
	case errors.Is(err, store.ErrFenced):
		return callResult{err: err}
	case err == nil:
		err = errors.New("the tool gave no result")
	}
	if isStoreError(err) && core.ErrorCode(err) == "" {
		return callResult{err: err}
	}
	return t.record(ctx, c, failure(toolCtx, err, t.lim.ToolTimeout))
}
