package sessiontool

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/target"
	"github.com/skein-bot/skein/core/tool"
)

const subagentsSchema = `{
 "type":"object","additionalProperties":false,"required":["action"],
 "properties":{
  "action":{"type":"string","enum":["list","info","log","wait","cancel","steer","send"],"description":"list and info look at your sub-agents and theirs, log shows what one did last. wait blocks until they have ended, or until somebody writes to you; sessions_yield is better for your own children. cancel stops one with all below it. steer tells a live one something at its next step. send gives one, also one that has ended, a message of its own; the answer comes to you as an event."},
  "target":{"type":"string","minLength":1,"maxLength":400,"description":"Which one: last, its number, task name, label, session key, or an id of its run or task. For all actions but list; without it wait waits for all live ones."},
  "targets":{"type":"array","minItems":1,"maxItems":32,"items":{"type":"string","minLength":1,"maxLength":400},"description":"Several of them, each named as target is, for wait: it waits until all have ended."},
  "message":{"type":"string","minLength":1,"maxLength":4000,"description":"What to say, for steer and send."},
  "timeoutSeconds":{"type":"integer","minimum":0,"maximum":60,"description":"How long wait waits; default 30."},
  "limit":{"type":"integer","minimum":1,"maximum":200,"description":"How many messages log shows; default 20."},
  "recentMinutes":{"type":"integer","minimum":1,"maximum":1440,"description":"How long ago what list shows may have ended; default 30."}
 }}`

type subagentsArgs struct {
	Action  string   `json:"action"`
	Target  string   `json:"target"`
	Targets []string `json:"targets"`
	Message string   `json:"message"`
	Timeout *int     `json:"timeoutSeconds"`
	Limit   int      `json:"limit"`
	Recent  int      `json:"recentMinutes"`
}

// check refuses what the action cannot do without, and what it does not take.
func (p subagentsArgs) check() error {
	needsTarget, takesMessage := p.Action != "list" && p.Action != "wait", p.Action == "steer" || p.Action == "send"
	switch {
	case len(p.Targets) > 0 && p.Action != "wait":
		return core.Errorf("bad_params", "%s takes one target", p.Action).WithRemedy("name it with target, and call once for each")
	case needsTarget && p.Target == "":
		return core.Errorf("bad_params", "%s needs a target", p.Action).WithRemedy("list names them")
	case len(p.Targets) > 0 && p.Target != "":
		return core.Errorf("bad_params", "target and targets do not go together").WithRemedy("put all of them into targets")
	case takesMessage && p.Message == "":
		return core.Errorf("bad_params", "%s needs a message", p.Action)
	case !takesMessage && p.Message != "":
		return core.Errorf("bad_params", "%s takes no message", p.Action).WithRemedy("use steer or send")
	}
	return nil
}

// subagentsTool is the tool subagents: an agent's hold on its own tree. What it
// does is written with its result; a wait goes on after a restart.
type subagentsTool struct {
	t    *Tools
	args *tool.Arguments
}

var _ tool.Durable = subagentsTool{}

func newSubagents(t *Tools) subagentsTool {
	return subagentsTool{t, tool.MustArguments(subagentsSchema)}
}

// Spec implements core.Tool. It runs alone, because it gives the turn's slot back
// while it waits.
func (s subagentsTool) Spec() core.ToolSpec {
	return core.ToolSpec{
		Name:        "subagents",
		Description: "Look at, wait for, stop, steer or address your sub-agents and theirs. Do not poll with it: their results come to you as events.",
		Schema:      s.args.Schema(), Serial: true,
	}
}

// Invoke is never called: the effects are rows of the store.
func (subagentsTool) Invoke(context.Context, core.ToolScope, core.ToolCall) (core.ToolResult, error) {
	return core.ToolResult{}, errors.New("subagents is durable")
}

// InvokeDurable implements tool.Durable.
func (s subagentsTool) InvokeDurable(ctx context.Context, scope core.ToolScope, call core.ToolCall, steps tool.Steps) error {
	var p subagentsArgs
	err := s.args.Read(call.Args, &p)
	if err == nil {
		err = p.check()
	}
	if err == nil && p.Action == "wait" {
		err = s.wait(ctx, scope, p, steps)
	} else if err == nil {
		err = steps.Finish(ctx, func(tx *store.Tx) (tool.Result, error) {
			shown, err := s.do(tx, scope, p)
			return tool.Result{ToolResult: core.ToolResult{Text: encode(shown)}}, err
		})
	}
	if err != nil && ctx.Err() == nil {
		return finish(ctx, steps, err)
	}
	return err
}

// do is every action but wait, in the transaction of its result.
func (s subagentsTool) do(tx *store.Tx, scope core.ToolScope, p subagentsArgs) (any, error) {
	if p.Action == "list" {
		return s.list(tx, scope, p)
	}
	t, err := s.find(tx, scope, p.Target)
	if err != nil {
		return nil, err
	}
	switch p.Action {
	case "info":
		return s.info(tx, t)
	case "log":
		return s.log(tx, t, p.Limit)
	case "cancel":
		stopped, err := s.t.Runs.StopRun(tx, t.Run)
		if err == nil && !stopped.Run && stopped.Runs == 0 {
			err = core.Errorf("target_ended", "%q has ended: %s", core.Clip(t.Label, target.NameLimit), t.Run.Status.Task())
		}
		n := stopped.Runs
		if stopped.Run {
			n++
		}
		return map[string]any{"status": "cancelled", "runId": t.Run.ID, "stopped": n}, err
	case "steer":
		item := model.Item{Kind: model.User, Text: p.Message, Sender: s.sender(tx, scope)}
		err := s.t.Runs.Steer(tx, t.Run, item, s.owner(tx, scope))
		return map[string]any{"status": "accepted", "runId": t.Run.ID, "note": "It gets this at its next step."}, err
	}
	if err := tx.LockSession(t.Session.ID); err != nil {
		return nil, err
	}
	run, err := s.t.Runs.Send(tx, scope, t.Session, p.Message)
	return map[string]any{"status": "accepted", "runId": run.ID, "session": t.Session.Key, "note": "The answer comes to you as an event. Do not poll."}, err
}

func (s subagentsTool) sender(tx *store.Tx, scope core.ToolScope) *model.Sender {
	from, err := tx.SessionByID(scope.Session)
	if err != nil {
		return nil
	}
	return &model.Sender{Agent: scope.Agent, Session: from.Key, Run: scope.Run}
}

// owner is the person behind the turn that asks.
func (s subagentsTool) owner(tx *store.Tx, scope core.ToolScope) string {
	turn, err := tx.TurnByID(scope.Turn)
	if err != nil {
		return ""
	}
	return turn.Owner
}

func (s subagentsTool) finder(tx *store.Tx, scope core.ToolScope) target.Finder {
	return target.Finder{Tx: tx, Session: scope.Session, Since: target.Recent(s.t.World.Now()), Tree: true}
}

// find finds a sub-agent of the caller's own tree; what is elsewhere is refused.
func (s subagentsTool) find(tx *store.Tx, scope core.ToolScope, token string) (target.Target, error) {
	t, err := s.finder(tx, scope).Find(token)
	if core.ErrorCode(err) != target.CodeUnknown {
		return t, err
	}
	_, isRun, _ := lookUp(tx.RunByID(token))
	_, isTask, _ := lookUp(tx.RunByTask(token))
	if _, isSession, _ := lookUp(tx.SessionByKey(token)); !isRun && !isTask && !isSession {
		return t, err
	}
	return t, core.Errorf("target_not_yours", "%q is not below you", core.Clip(token, target.NameLimit)).WithRemedy("list names your own")
}

// row is one sub-agent.
type row struct {
	Index      int             `json:"index"` // its number, 0 for what sub-agents asked for
	RunID      string          `json:"runId"`
	TaskID     string          `json:"taskId"`
	SessionKey string          `json:"sessionKey"`
	TaskName   string          `json:"taskName,omitempty"`
	Label      string          `json:"label"`
	Task       string          `json:"task"`
	Status     core.TaskStatus `json:"status"`
	Delivery   core.Delivery   `json:"deliveryStatus"`
	Pending    int             `json:"pendingDescendants"`
	Runtime    string          `json:"runtime"`
	RuntimeMs  int64           `json:"runtimeMs"`
	Model      string          `json:"model"`
	Tokens     int64           `json:"totalTokens"`
	StartedAt  core.Millis     `json:"startedAt,omitempty"`
	EndedAt    core.Millis     `json:"endedAt,omitempty"`
}

func (s subagentsTool) row(tx *store.Tx, t target.Target) (row, error) {
	below, err := tx.Descendants(t.Session.ID)
	r := t.Run
	out := row{
		Index: r.Ordinal, RunID: r.ID, TaskID: r.TaskID, SessionKey: r.SessionKey, TaskName: r.TaskName, Label: core.Clip(t.Label, 48),
		Task: core.Clip(r.Task, 72), Status: r.Status.Task(), Delivery: r.Delivery, Pending: len(below), Runtime: "subagent", Model: r.Spec.Model,
		Tokens: r.Tokens(), StartedAt: r.StartedAt, EndedAt: r.EndedAt,
	}
	if until := r.EndedAt; r.StartedAt != 0 {
		if until == 0 {
			until = s.t.World.Now()
		}
		out.RuntimeMs = int64(until - r.StartedAt)
	}
	return out, err
}

// treeList is the answer of list.
type treeList struct {
	Total  int   `json:"total"`
	Active []row `json:"active"`
	Recent []row `json:"recent"`
}

func (s subagentsTool) list(tx *store.Tx, scope core.ToolScope, p subagentsArgs) (treeList, error) {
	out := treeList{Active: []row{}, Recent: []row{}}
	f := s.finder(tx, scope)
	if p.Recent > 0 {
		f.Since = s.t.World.Now().Add(-time.Duration(p.Recent) * time.Minute)
	}
	all, err := f.All()
	if err != nil {
		return out, err
	}
	for _, t := range all {
		r, err := s.row(tx, t)
		if err != nil {
			return out, err
		}
		if t.Run.Status.Live() {
			out.Active = append(out.Active, r)
		} else {
			out.Recent = append(out.Recent, r)
		}
	}
	out.Total = len(all)
	return out, nil
}

// informed is the answer of info.
type informed struct {
	row
	Detail     string      `json:"detail,omitempty"`
	Mode       string      `json:"mode"`
	Cleanup    string      `json:"cleanup"`
	Depth      int         `json:"depth"`
	Role       string      `json:"role"`
	CreatedAt  core.Millis `json:"createdAt"`
	Transcript string      `json:"transcript"`
}

func (s subagentsTool) info(tx *store.Tx, t target.Target) (informed, error) {
	r, err := s.row(tx, t)
	return informed{
		row: r, Detail: t.Run.Detail, Mode: t.Run.Spec.Mode, Cleanup: t.Run.Spec.Cleanup, Depth: t.Run.Depth, Role: t.Run.Role, CreatedAt: t.Run.CreatedAt,
		Transcript: subagent.TranscriptRef(t.Run),
	}, err
}

// said is one message of a log.
type said struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

// logDefault is how many messages log shows, logText how much of each.
const (
	logDefault = 20
	logText    = 1000
)

// log shows the last messages of a sub-agent, without its calls and reasoning.
func (s subagentsTool) log(tx *store.Tx, t target.Target, limit int) (any, error) {
	if limit == 0 {
		limit = logDefault
	}
	history, err := tx.Said(t.Session, false)
	if err != nil {
		return nil, err
	}
	out := []said{}
	size := 0
	err = history.Newest(history.Total, func(row store.Row) (more bool, err error) {
		if row.Session != t.Session.ID { // inherited
			return false, nil
		}
		i, err := item(row, false)
		if err != nil || i.Kind != model.User && i.Kind != model.Assistant || i.Text == "" {
			return true, err
		}
		clean, _ := s.t.redactor.Text(i.Text)
		text := core.Clip(clean, logText)
		size += len(text)
		out = append(out, said{string(i.Kind), text})
		return len(out) < limit && size < maxResponse/2, nil
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(out)
	return map[string]any{"runId": t.Run.ID, "messages": out}, nil
}

// waiting is what the store keeps of a wait, in the body of its intent.
type waiting struct {
	Runs  []string    `json:"runs"`
	Until core.Millis `json:"until"`
}

// intentWait is the kind of the intent of a wait; it moves no run.
const intentWait = "subagents-wait"

// defaultSubagentsWait is how long wait waits.
const defaultSubagentsWait = 30

func (s subagentsTool) wait(ctx context.Context, scope core.ToolScope, p subagentsArgs, steps tool.Steps) error {
	w, err := s.begun(ctx, scope, p, steps)
	if err != nil {
		return err
	}
	spokenTo := false
	steps.Rest(ctx, func(ctx context.Context) { spokenTo, err = s.await(ctx, scope, w) })
	if err != nil && ctx.Err() == nil {
		return err
	}
	return steps.Finish(ctx, func(tx *store.Tx) (tool.Result, error) {
		if err := tx.CloseIntent(scope.Turn, scope.Seq, encode(w)); err != nil {
			return tool.Result{}, err
		}
		reason, tasks := "completed", map[string]core.TaskStatus{}
		for _, id := range w.Runs {
			run, found, err := lookUp(tx.RunByID(id))
			if err != nil {
				return tool.Result{}, err
			}
			if !found {
				continue
			}
			tasks[run.TaskID] = run.Status.Task()
			if run.Status.Live() {
				if reason = "timeout"; spokenTo {
					reason = "message"
				}
			}
		}
		shown := map[string]any{"reason": reason, "tasks": tasks, "note": "Results come to you as events."}
		return tool.Result{ToolResult: core.ToolResult{Text: encode(shown)}}, nil
	})
}

// await waits for the end of the runs, for the time, or until a message waits that
// the caller's turn will take: people do not wait behind it.
func (s subagentsTool) await(ctx context.Context, scope core.ToolScope, w waiting) (spokenTo bool, err error) {
	for _, id := range w.Runs {
		_, spokenTo, err = s.t.Runs.AwaitOr(ctx, id, w.Until, scope.Session, func(ctx context.Context) (bool, error) { return s.spokenTo(ctx, scope) })
		if err != nil || spokenTo || ctx.Err() != nil {
			return spokenTo, err
		}
	}
	return false, nil
}

// waitingRows bounds how many waiting rows of the caller are looked at.
const waitingRows = 64

// spokenTo reports whether a message of a person, or one to its run, waits for the
// caller.
func (s subagentsTool) spokenTo(ctx context.Context, scope core.ToolScope) (waits bool, err error) {
	err = s.t.DB.Read(ctx, func(tx *store.Tx) error {
		rows, err := tx.QueuedInbox(scope.Session, waitingRows)
		waits = slices.ContainsFunc(rows, func(r store.Inbox) bool {
			return r.Kind == store.InboxMessage || r.Kind == store.InboxSteer && r.ForRun == scope.Run
		})
		return err
	})
	return waits, err
}

// begun writes a wait, or finds what an earlier claim of the turn wrote.
func (s subagentsTool) begun(ctx context.Context, scope core.ToolScope, p subagentsArgs, steps tool.Steps) (w waiting, err error) {
	err = steps.Do(ctx, func(tx *store.Tx) error {
		w = waiting{}
		intent, found, err := lookUp(tx.IntentAt(scope.Turn, scope.Seq))
		if err != nil {
			return err
		}
		if found {
			return json.Unmarshal([]byte(intent.Body), &w)
		}
		timeout := defaultSubagentsWait
		if p.Timeout != nil {
			timeout = *p.Timeout
		}
		now := s.t.World.Now()
		w.Until = now.Add(time.Duration(timeout) * time.Second)
		named := p.Targets
		if p.Target != "" {
			named = []string{p.Target}
		}
		for _, token := range named {
			t, err := s.find(tx, scope, token)
			if err != nil {
				return err
			}
			if !slices.Contains(w.Runs, t.Run.ID) {
				w.Runs = append(w.Runs, t.Run.ID)
			}
		}
		if len(named) == 0 {
			live, err := tx.Descendants(scope.Session)
			if err != nil {
				return err
			}
			for _, r := range live {
				w.Runs = append(w.Runs, r.ID)
			}
		}
		return tx.InsertIntent(store.Intent{Turn: scope.Turn, Seq: scope.Seq, Kind: intentWait, Body: encode(w), At: now})
	})
	return w, err
}
