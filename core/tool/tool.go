// Package tool is the registry of what agents can call, and the contract of
// built-in tools whose effect lives in the store.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// Durable is a tool whose effect is rows of the store. The turn calls
// InvokeDurable instead of Invoke: the tool commits its effect together with
// its result through Steps.Finish, so a crash finds both or neither. After a
// restart it is called again for a call that did not finish; what it did in an
// earlier Steps.Do it must find by its scope (turn and step) and continue.
type Durable interface {
	core.Tool
	InvokeDurable(ctx context.Context, scope core.ToolScope, call core.ToolCall, steps Steps) error
}

// Withholder is a tool with arguments that the transcript must not keep. They
// lie apart from it until the call has its result; what models, people and
// programs are shown of the call later has what Withhold left.
type Withholder interface {
	core.Tool
	// Withhold returns the arguments without what is not kept, and whether it
	// took anything out. The arguments need not be valid.
	Withhold(args json.RawMessage) (kept json.RawMessage, taken bool)
}

// Steps are the transactions of one tool call. Each fails with
// store.ErrFenced once the turn has lost its session; the tool then returns
// that error at once.
type Steps interface {
	// Do runs a transaction that does not finish the call.
	Do(ctx context.Context, fn func(tx *store.Tx) error) error
	// DoWith is Do for a transaction that touches other sessions: they are locked
	// first, all in one order.
	DoWith(ctx context.Context, also []int64, fn func(tx *store.Tx) error) error
	// Finish runs the transaction that finishes the call with the result that
	// fn returns. It must be called exactly once.
	Finish(ctx context.Context, fn func(tx *store.Tx) (Result, error)) error
	// Rest runs wait, for a call that waits for others, without a slot of the
	// turn's lane (kernel.Lease.Rest): it must be outside of Do and Finish, of a
	// tool that is Serial, and wait by core.Clock.Sleep.
	Rest(ctx context.Context, wait func(ctx context.Context))
}

// Result is what a durable call gives back.
type Result struct {
	core.ToolResult
	// Ends, if not nil, asks the turn to end after this message's calls; it is
	// JSON for whoever ends the turn (the terms of a wait).
	Ends json.RawMessage
}

// Registry holds tools by name. The zero value is empty and ready to use. It
// is safe for concurrent use.
type Registry struct {
	mu    sync.RWMutex
	tools map[string]core.Tool
}

// Add registers tools; a name that is taken is an error.
func (r *Registry) Add(tools ...core.Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tools == nil {
		r.tools = make(map[string]core.Tool)
	}
	for _, t := range tools {
		name := t.Spec().Name
		if _, taken := r.tools[name]; taken {
			return fmt.Errorf("tool %q is registered twice", name)
		}
		r.tools[name] = t
	}
	return nil
}

// Lookup returns the tool of that name.
func (r *Registry) Lookup(name string) (core.Tool, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t, ok := r.tools[name]
	return t, ok
}

// Names returns the registered names, sorted.
func (r *Registry) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	names := make([]string, 0, len(r.tools))
	for n := range r.tools {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Encode writes a result for a model as JSON; <, > and & stay as they are. A
// value that cannot be written is an internal error, as JSON.
func Encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return `{"status":"error","code":"internal"}`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
