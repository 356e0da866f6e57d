package sessiontool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/redact"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/tool"
	"github.com/skein-bot/skein/core/world"
)

// maxResponse is the most that one result has, in bytes.
const maxResponse = 80 << 10

// Visibility says which sessions the tools see (tools.sessions.visibility).
type Visibility string

// The scopes, from narrow to wide. Tree is the default.
const (
	VisibilitySelf  Visibility = "self"  // the session that asks
	VisibilityTree  Visibility = "tree"  // and what it started, at every depth
	VisibilityAgent Visibility = "agent" // every session of its agent
	VisibilityAll   Visibility = "all"   // every session
)

// Config answers from the live configuration.
type Config interface {
	Visibility() Visibility
	// Name is what people call an agent; Model its own model, Thinking how much it
	// reasons, Zone its time zone, nil for the host's.
	Name(agent string) string
	Model(agent string) string
	Thinking(agent string) string
	Zone(agent string) *time.Location
	// HasAccount reports whether the gateway has an account of a channel.
	HasAccount(channel, account string) bool
	// Named decides whether the operator named a place, in the access policy of
	// its account, so that agents may write there of their own accord.
	Named(tx *store.Tx, to core.Address) (policy.Decision, error)
	// Owner reports whether a person, "channel:id", is an owner of the installation.
	Owner(person string) bool
}

// Options make the tools.
type Options struct {
	World   *world.World
	DB      *store.DB
	Config  Config
	Runs    Runs
	Poster  Poster
	Gateway Gateway
}

// Poster puts messages into the outbox; core/delivery implements it.
type Poster interface {
	Post(tx *store.Tx, r store.Outbox) (id int64, fresh bool, err error)
}

// Gateway is what owners may have agents do with the gateway.
type Gateway interface {
	// Status and Reload return what is to be shown as JSON. Reload reads the
	// configuration anew and blocks until it is in force.
	Status(ctx context.Context) (any, error)
	Reload(ctx context.Context) (any, error)
}

// Runs is what the tools need of sub-agents; *subagent.Engine implements it.
type Runs interface {
	// Spawnable lists the agents that a session may start; see
	// subagent.Engine.Spawnable.
	Spawnable(agent, model string) (agents []subagent.Spawnable, anyAgent bool)
	// Send gives a session a message to answer, Await waits for the answer, and
	// Answered notes that the sender has it; see subagent.Engine.
	Send(tx *store.Tx, scope core.ToolScope, to store.Session, message string) (core.Run, error)
	Await(ctx context.Context, run string, until core.Millis) (core.Run, error)
	// AwaitOr is Await that input of a session can end early.
	AwaitOr(
		ctx context.Context, run string, until core.Millis, session int64, enough func(ctx context.Context) (bool, error),
	) (r core.Run, early bool, err error)
	Answered(tx *store.Tx, run core.Run) error
	// StopRun stops a run with all below it, Steer tells a live one something.
	StopRun(tx *store.Tx, run core.Run) (subagent.Stopped, error)
	Steer(tx *store.Tx, run core.Run, item model.Item, owner string) error
}

// Tools are the session tools; they share a redactor.
type Tools struct {
	Options
	redactor *redact.Redactor
}

// New returns the tools, to be registered with All.
func New(o Options) *Tools { return &Tools{o, redact.New()} }

// All returns the tools.
func (t *Tools) All() []core.Tool {
	return []core.Tool{t.list(), t.history(), t.status(), t.agents(), newSend(t), newMessage(t), newGateway(t), newSubagents(t)}
}

// look is a tool that reads the store.
type look struct {
	name, description string
	args              *tool.Arguments
	// call returns what is to be shown as JSON, in one read transaction.
	call func(tx *store.Tx, scope core.ToolScope, args json.RawMessage) (any, error)
	t    *Tools
}

// Spec implements core.Tool.
func (l look) Spec() core.ToolSpec {
	return core.ToolSpec{Name: l.name, Description: l.description, Schema: l.args.Schema(), ReadOnly: true, Idempotent: true}
}

// Invoke implements core.Tool.
func (l look) Invoke(ctx context.Context, scope core.ToolScope, call core.ToolCall) (core.ToolResult, error) {
	var shown any
	err := l.t.DB.Read(ctx, func(tx *store.Tx) (err error) {
		shown, err = l.call(tx, scope, call.Args)
		return err
	})
	if err != nil {
		return refused(err)
	}
	return core.ToolResult{Text: encode(shown)}, nil
}

// refused is the result of a call that was refused with a code; another failure
// stays one.
func refused(err error) (core.ToolResult, error) {
	code := core.ErrorCode(err)
	if code == "" || strings.HasPrefix(code, "store_") {
		return core.ToolResult{}, err
	}
	return core.ToolResult{Text: refusal(err), Error: true}, nil
}

// refusal is what a model reads of a refusal: the status word, the code, and the
// text with its remedy.
func refusal(err error) string {
	status := "error"
	switch code := core.ErrorCode(err); code {
	case "target_not_yours", "owner_only", "message_not_allowed", "send_loop", "session_thread", "children_limit", "tree_limit", "backlog", "budget":
		status = "forbidden"
	}
	return encode(struct {
		Status string `json:"status"`
		Code   string `json:"code"`
		Error  string `json:"error"`
	}{status, core.ErrorCode(err), err.Error()})
}

// encode writes JSON for a model, which cannot fail with what these tools show.
func encode(v any) string { return tool.Encode(v) }

// lookUp reads a row that may be missing.
func lookUp[T any](v T, err error) (T, bool, error) {
	if errors.Is(err, store.ErrNotFound) {
		return v, false, nil
	}
	return v, err == nil, err
}

// rfc3339 writes a time for a model, "" for none.
func rfc3339(m core.Millis) string {
	if m == 0 {
		return ""
	}
	return m.Time().Format("2006-01-02T15:04:05Z")
}

// clean is a text without credentials, cut to at most limit characters.
func (t *Tools) clean(s string, limit int) string {
	s, _ = t.redactor.Text(s)
	return core.Clip(s, limit)
}
