package core

import (
	"context"
	"encoding/json"
)

// ToolSpec describes a tool to a model and to the tool policy.
type ToolSpec struct {
	Name        string
	Description string
	// Schema is the JSON Schema of the arguments, an object.
	Schema json.RawMessage
	// ReadOnly and Idempotent tools may run again after a crash; another tool
	// that a crash interrupted is reported as "effect unknown" instead.
	ReadOnly   bool
	Idempotent bool
	// Serial forbids running it beside other calls of the same message.
	Serial bool
}

// ToolCall is one call by a model.
type ToolCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// RunEnder is a tool that keeps something for a run that calls it: tabs,
// processes, temporary files. RunEnded is called after a run that called the
// tool has ended, however it did, whether or not its transcript is kept. It is
// called at least once: after a crash once more, and perhaps by a process that
// knows nothing of the run. What returns an error is tried again at the next
// start. It is called outside turns and may block until ctx ends.
type RunEnder interface {
	Tool
	RunEnded(ctx context.Context, run string) error
}

// ToolResult is what a call gives back. Error marks a failure that the model
// may handle; it is text all the same.
type ToolResult struct {
	Text  string `json:"text"`
	Error bool   `json:"error,omitempty"`
}

// ToolScope is where a call happens: its turn and step, for ever the same over
// a restart.
type ToolScope struct {
	Agent   string
	Session int64
	Turn    int64
	Seq     int
	Run     string
	Reply   Address
	Sender  Author
	// Dir is the working directory of the call, an absolute path: relative
	// names in its arguments start there. "" where the agent has none.
	Dir string
}

// Tool is something an agent can call. Invoke is called by the turn, in a
// goroutine of its own, at most once at a time per call id; its context
// carries the tool deadline and ends when the turn is stopped. An error is a
// failure of the tool, shown to the model as its text; a *Error keeps its
// code. After a restart Invoke may be called again for the same scope if the
// tool is read-only or idempotent.
type Tool interface {
	Spec() ToolSpec
	Invoke(ctx context.Context, scope ToolScope, call ToolCall) (ToolResult, error)
}
