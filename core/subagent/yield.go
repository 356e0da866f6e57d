package subagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/tool"
)

// YieldTool is sessions_yield.
type YieldTool struct{ e *Engine }

var _ tool.Durable = YieldTool{}

// Tools returns the tools of the engine, to be registered.
func (e *Engine) Tools() []core.Tool { return []core.Tool{SpawnTool{e}, YieldTool{e}} }

var yieldArguments = tool.MustArguments(`{
 "type":"object","additionalProperties":false,
 "properties":{
  "message":{"type":"string","description":"Private note for your resumed turn."},
  "acknowledgment":{"type":"string","description":"A line shown to people now."},
  "join":{"description":"When to wake: all children (default), any, or after how many.","anyOf":[{"type":"string","enum":["all","any"]},{"type":"integer","minimum":1,"maximum":1000}]},
  "deadlineSeconds":{"type":"integer","minimum":1,"maximum":31536000,"description":"Wake at the latest after this long, with what has come."},
  "waitFor":{"type":"string","enum":["children","message"],"description":"message: wait for the next message instead of children."}
 }}`)

// Spec implements core.Tool. It runs after the other calls of its message, so
// that it sees the children they spawned.
func (YieldTool) Spec() core.ToolSpec {
	return core.ToolSpec{
		Name: "sessions_yield",
		Description: "End this turn and wait for the children it spawned. You are resumed once, with every result in spawn order. " +
			"This is how to wait; never poll.",
		Schema: yieldArguments.Schema(), Serial: true,
	}
}

// Invoke is never called: the effect of a wait is rows of the store.
func (YieldTool) Invoke(context.Context, core.ToolScope, core.ToolCall) (core.ToolResult, error) {
	return core.ToolResult{}, errors.New("sessions_yield is durable")
}

// InvokeDurable implements tool.Durable.
func (t YieldTool) InvokeDurable(ctx context.Context, scope core.ToolScope, call core.ToolCall, steps tool.Steps) error {
	want, err := parseYield(call.Args)
	if err != nil {
		return refuse(ctx, steps, err)
	}
	ends, err := json.Marshal(want)
	if err != nil {
		return err
	}
	return steps.Finish(ctx, func(tx *store.Tx) (tool.Result, error) {
		turn, err := tx.TurnByID(scope.Turn)
		if err != nil {
			return tool.Result{}, err
		}
		chain := turn.Chain
		if chain == 0 {
			chain = turn.ID
		}
		if want.WaitFor == WaitMessage {
			return tool.Result{ToolResult: core.ToolResult{Text: `{"status":"yielded","waitFor":"message"}`}, Ends: ends}, nil
		}
		batch, err := t.e.batch(tx, scope.Session, chain)
		if err != nil {
			return tool.Result{}, err
		}
		if len(batch) == 0 {
			return tool.Result{ToolResult: core.ToolResult{
				Text: `{"status":"nothing_pending","note":"no child of this turn is open; go on"}`,
			}}, nil
		}
		var names []string
		for _, r := range batch {
			names = append(names, r.Name())
		}
		text := tool.Encode(map[string]any{"status": "yielded", "waitingFor": names, "need": want.need(len(batch))})
		return tool.Result{ToolResult: core.ToolResult{Text: text}, Ends: ends}, nil
	})
}

func parseYield(raw json.RawMessage) (terms, error) {
	var p struct {
		Message  string          `json:"message"`
		Ack      string          `json:"acknowledgment"`
		Join     json.RawMessage `json:"join"`
		Deadline int64           `json:"deadlineSeconds"`
		WaitFor  string          `json:"waitFor"`
	}
	if err := yieldArguments.Read(raw, &p); err != nil {
		return terms{}, err
	}
	t := terms{Message: p.Message, Ack: p.Ack, Deadline: p.Deadline, WaitFor: cmp.Or(p.WaitFor, WaitChildren), Join: "all"}
	if len(p.Join) > 0 {
		t.Join = strings.Trim(string(p.Join), `"`) // all, any or a number
	}
	return t, nil
}
