package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

// assembly puts tool calls together from their fragments.
type assembly struct {
	calls []*partial
	index map[int]*partial // the latest call of each index
	bytes int
}

// partial is a call that is still coming in.
type partial struct {
	id, name string
	args     strings.Builder
}

// add takes one fragment in. It belongs to the latest call of its index; without
// an index to the call of its id, else to the latest of all; unless it starts a
// new one.
func (a *assembly) add(f fragment) error {
	var call *partial
	switch {
	case f.Index != nil:
		call = a.index[*f.Index]
	case len(a.calls) > 0:
		call = a.calls[len(a.calls)-1]
		for _, c := range a.calls {
			if f.ID != "" && f.Function.Name == "" && c.id == string(f.ID) {
				call = c
			}
		}
	}
	if call == nil || call.endsBefore(f) {
		call = new(partial)
		a.calls = append(a.calls, call)
		if a.index == nil {
			a.index = make(map[int]*partial)
		}
		if f.Index != nil {
			a.index[*f.Index] = call
		}
	}
	if call.id == "" {
		call.id = string(f.ID)
	}
	if call.name == "" {
		call.name = string(f.Function.Name)
	}
	call.args.WriteString(string(f.Function.Arguments))
	a.bytes += len(f.Function.Arguments)
	if a.bytes > model.MaxArgs || len(a.calls) > model.MaxCalls {
		return &model.Error{Class: model.BadRequest, Err: fmt.Errorf(
			"%w: more than %d tool calls or %d bytes of tool arguments", model.ErrTooLarge, model.MaxCalls, model.MaxArgs)}
	}
	return nil
}

// endsBefore reports whether f starts another call although the service gives
// it this one's index, as those do that send 0 always: it names a tool again,
// under another id, or without any id after whole arguments.
func (c *partial) endsBefore(f fragment) bool {
	if f.Function.Name == "" || c.name == "" {
		return false
	}
	if f.ID == "" {
		return json.Valid([]byte(c.args.String()))
	}
	return string(f.ID) != c.id
}

// finished returns the calls in the order in which they began.
func (a *assembly) finished() []core.ToolCall {
	var out []core.ToolCall
	for _, c := range a.calls {
		out = append(out, core.ToolCall{ID: c.id, Name: c.name, Args: model.Arguments(c.args.String())})
	}
	return out
}
