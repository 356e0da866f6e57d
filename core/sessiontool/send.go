package sessiontool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/tool"
)

const sendSchema = `{
 "type":"object","additionalProperties":false,"required":["message"],
 "properties":{
  "session":{"type":"string","minLength":1,"maxLength":400,"description":"Whom to ask: a session key, a number, last, a task name, or the start of a run id. Either this or label."},
  "label":{"type":"string","minLength":1,"maxLength":200,"description":"Whom to ask, by label or title. Either this or session."},
  "message":{"type":"string","minLength":1,"maxLength":100000,"description":"The message, complete in itself: the other session knows nothing of this one."},
  "timeoutSeconds":{"type":"integer","minimum":0,"maximum":60,"description":"How long to wait for the answer; default 30. 0: do not wait. An answer that comes later comes as an event."}
 }}`

// defaultWait is how long sessions_send waits for an answer, in seconds.
const defaultWait = 30

type sendArgs struct {
	Session string `json:"session"`
	Label   string `json:"label"`
	Message string `json:"message"`
	Timeout int    `json:"timeoutSeconds"`
}

// sendTool is sessions_send. The message and the wait are rows: a restart finds
// them by the call's turn and step, and goes on waiting.
type sendTool struct {
	t    *Tools
	args *tool.Arguments
}

var _ tool.Durable = sendTool{}

func newSend(t *Tools) sendTool { return sendTool{t, tool.MustArguments(sendSchema)} }

// Spec implements core.Tool. It runs alone, because it gives the turn's slot
// back while it waits.
func (s sendTool) Spec() core.ToolSpec {
	return core.ToolSpec{
		Name: "sessions_send",
		Description: "Send one message to another session that you may see, and get its one answer. Nothing is posted to people there. " +
			"If the answer takes longer it comes to you as an event: do not ask again.",
		Schema: s.args.Schema(), Serial: true,
	}
}

// Invoke is never called: the effect of a message is rows of the store.
func (sendTool) Invoke(context.Context, core.ToolScope, core.ToolCall) (core.ToolResult, error) {
	return core.ToolResult{}, errors.New("sessions_send is durable")
}

// sending is what the store keeps of a call, in the body of its intent.
type sending struct {
	Run   string      `json:"run"`
	Until core.Millis `json:"until"` // 0: it does not wait
}

// intentSend is the kind of the intent of a call. It has no ref: the wait for a
// run does not move the run.
const intentSend = "send"

// InvokeDurable implements tool.Durable.
func (s sendTool) InvokeDurable(ctx context.Context, scope core.ToolScope, call core.ToolCall, steps tool.Steps) error {
	p := sendArgs{Timeout: defaultWait}
	err := s.args.Read(call.Args, &p)
	if err == nil && (p.Session == "") == (p.Label == "") {
		err = core.Errorf("bad_params", "name either session or label")
	}
	if err != nil {
		return finish(ctx, steps, err)
	}
	sent, err := s.sent(ctx, scope)
	if err == nil && sent.Run == "" {
		sent, err = s.send(ctx, scope, p, steps)
	}
	if err != nil {
		return finish(ctx, steps, err)
	}
	if sent.Until > 0 {
		steps.Rest(ctx, func(ctx context.Context) { _, err = s.t.Runs.Await(ctx, sent.Run, sent.Until) })
	}
	if err != nil && ctx.Err() == nil { // else the call ran out of time: it answers with what there is
		return err
	}
	return steps.Finish(ctx, func(tx *store.Tx) (tool.Result, error) { return s.answer(tx, scope, sent) })
}

// finish ends the call with a refusal, which was rolled back whole; another
// failure stays one.
func finish(ctx context.Context, steps tool.Steps, err error) error {
	res, err := refused(err)
	if err != nil {
		return err
	}
	return steps.Finish(ctx, func(*store.Tx) (tool.Result, error) { return tool.Result{ToolResult: res}, nil })
}

// sent finds what an earlier claim of the turn sent for this call.
func (s sendTool) sent(ctx context.Context, scope core.ToolScope) (sent sending, err error) {
	err = s.t.DB.Read(ctx, func(tx *store.Tx) error {
		intent, found, err := lookUp(tx.IntentAt(scope.Turn, scope.Seq))
		if err != nil || !found || intent.Kind != intentSend {
			return err
		}
		return json.Unmarshal([]byte(intent.Body), &sent)
	})
	return sent, err
}

// send writes the message and the wait for its answer.
func (s sendTool) send(ctx context.Context, scope core.ToolScope, p sendArgs, steps tool.Steps) (sent sending, err error) {
	var to store.Session
	find := func(tx *store.Tx) error {
		v, err := s.t.view(tx, scope.Session)
		if err == nil {
			to, err = v.find(cmp.Or(p.Session, p.Label))
		}
		return err
	}
	if err := s.t.DB.Read(ctx, find); err != nil {
		return sent, err
	}
	err = steps.DoWith(ctx, []int64{to.ID}, func(tx *store.Tx) error {
		now, found, err := lookUp(tx.SessionByID(to.ID))
		if err != nil {
			return err
		}
		if !found {
			return core.Errorf("target_unknown", "the session %s is gone", to.Key).WithRemedy("sessions_list has those that are there")
		}
		run, err := s.t.Runs.Send(tx, scope, now, p.Message)
		if err != nil {
			return err
		}
		sent = sending{Run: run.ID}
		if p.Timeout > 0 {
			sent.Until = run.CreatedAt.Add(time.Duration(p.Timeout) * time.Second)
		}
		return tx.InsertIntent(store.Intent{Turn: scope.Turn, Seq: scope.Seq, Kind: intentSend, Body: encode(sent), At: run.CreatedAt})
	})
	return sent, err
}

// sendResult is what the model gets.
type sendResult struct {
	Status  string         `json:"status"` // ok, no_reply, error, timeout or accepted
	RunID   string         `json:"runId"`
	Session string         `json:"session"`
	Reply   string         `json:"reply,omitempty"`
	Partial bool           `json:"partial,omitempty"`
	Ended   core.RunStatus `json:"ended,omitempty"` // where it did not end ok
	Detail  string         `json:"detail,omitempty"`
	Note    string         `json:"note,omitempty"`
}

// answer takes the answer, if it is there, so that it does not come as an event
// too.
func (s sendTool) answer(tx *store.Tx, scope core.ToolScope, sent sending) (tool.Result, error) {
	if err := tx.CloseIntent(scope.Turn, scope.Seq, encode(sent)); err != nil {
		return tool.Result{}, err
	}
	run, err := tx.RunByID(sent.Run)
	if err != nil {
		return tool.Result{}, err
	}
	out := sendResult{RunID: run.ID, Session: run.SessionKey}
	switch {
	case run.Status.Live() && sent.Until == 0:
		out.Status, out.Note = "accepted", "The answer comes to you as an event. Do not ask again; wait with sessions_yield if you need it."
	case run.Status.Live():
		out.Status = "timeout"
		out.Note = fmt.Sprintf("No answer yet (%s). It comes to you as an event. Do not ask again; wait with sessions_yield if you need it.", run.Status)
	default:
		if err := s.t.Runs.Answered(tx, run); err != nil {
			return tool.Result{}, err
		}
		out.Status, out.Reply, out.Partial = "ok", run.Result, run.Partial
		if run.Status != core.RunOK {
			out.Status, out.Ended, out.Detail = "error", run.Status, run.Detail
		} else if run.Result == "" {
			out.Status = "no_reply"
		}
	}
	return tool.Result{ToolResult: core.ToolResult{Text: encode(out), Error: out.Status == "error"}}, nil
}
