package anthropic

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	api "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

// errLeft ends a stream whose caller has stopped listening.
var errLeft = errors.New("the caller left")

// stream reads the answer to one call.
type stream struct {
	p     *Provider
	ctx   context.Context
	resp  *http.Response
	yield func(model.Delta, error) bool

	model    string // that was asked
	halves   model.Surrogates
	calls    []*partial
	thoughts []*thought
	argBytes int
	usage    model.Usage
	stop     api.StopReason // "" until one came
	finished bool           // message_stop came
	events   bool           // at least one event came
	said     bool           // visible text came
}

// partial is a call that is still coming in.
type partial struct {
	index    int64
	id, name string
	whole    json.RawMessage // arguments that came at once
	args     strings.Builder
}

// thought is a signed piece of reasoning that is still coming in.
type thought struct {
	index           int64
	text, signature strings.Builder
	redacted        string
}

// read gives out the deltas until the answer is whole.
func (s *stream) read() error {
	events := ssestream.NewDecoder(s.resp)
	for !s.finished && events.Next() {
		if err := s.event(events.Event()); err != nil {
			return err
		}
	}
	switch err := events.Err(); {
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	case errors.Is(err, bufio.ErrTooLong):
		return &model.Error{Class: model.BadRequest, Err: errors.New("the service sent a line that is too long to be read")}
	case s.finished || s.stop != "":
		return s.end()
	case err != nil:
		return &model.Error{Class: model.Truncated, Err: s.p.redacted(fmt.Errorf("the stream broke off: %w", err))}
	case !s.events:
		return s.p.noAnswer(s.resp)
	}
	return &model.Error{Class: model.Truncated, Err: errors.New("the stream ended without stop_reason or message_stop")}
}

// whole reads an answer that came in one piece: an error, or of a service that
// does not stream, all of it.
func (s *stream) whole() error {
	body, err := io.ReadAll(s.resp.Body)
	if err != nil {
		return s.p.broken(s.ctx, err)
	}
	if f := parseFailure(body); f != (failure{}) {
		return f.typed(s.p, 0)
	}
	var m api.Message
	switch err := json.Unmarshal(body, &m); {
	case err != nil:
		return &model.Error{Class: model.Truncated, Err: fmt.Errorf("the answer cannot be read: %w", err)}
	case m.Role == "":
		return s.p.noAnswer(s.resp)
	}
	for n, block := range m.Content {
		start := api.MessageStreamEventUnion{Type: "content_block_start", Index: int64(n)}
		if err := json.Unmarshal([]byte(block.RawJSON()), &start.ContentBlock); err != nil {
			return s.p.noAnswer(s.resp)
		}
		if err := s.message(start); err != nil {
			return err
		}
	}
	s.stop = m.StopReason
	s.count(m.Usage.InputTokens, m.Usage.CacheCreationInputTokens, m.Usage.CacheReadInputTokens, m.Usage.OutputTokens)
	return s.end()
}

// event takes one event in.
func (s *stream) event(e ssestream.Event) error {
	switch e.Type {
	case "":
		return nil // every event of this protocol has a name
	case "error":
		s.events = true
		return parseFailure(e.Data).typed(s.p, 0)
	case "ping":
		s.events = true
		return s.send(model.Delta{Ping: true})
	}
	s.events = true
	var m api.MessageStreamEventUnion
	if err := json.Unmarshal(s.halves.Join(e.Data), &m); err != nil {
		return &model.Error{Class: model.Truncated, Err: fmt.Errorf("an event of the stream cannot be read: %w", err)}
	}
	return s.message(m)
}

func (s *stream) message(m api.MessageStreamEventUnion) error {
	d := model.Delta{}
	switch m.Type {
	case "message_start":
		u := m.Message.Usage
		s.count(u.InputTokens, u.CacheCreationInputTokens, u.CacheReadInputTokens, u.OutputTokens)
	case "message_delta":
		u := m.Usage
		s.count(u.InputTokens, u.CacheCreationInputTokens, u.CacheReadInputTokens, u.OutputTokens)
		s.stop = m.Delta.StopReason
	case "message_stop":
		s.finished = true
		return nil
	case "content_block_start":
		d.Text, d.Think = m.ContentBlock.Text, m.ContentBlock.Thinking
		switch m.ContentBlock.Type {
		case "tool_use":
			s.calls = append(s.calls, begun(m))
		case "thinking", "redacted_thinking":
			s.thoughts = append(s.thoughts, &thought{index: m.Index, redacted: m.ContentBlock.Data})
			s.thinks(m.Index, m.ContentBlock.Thinking, m.ContentBlock.Signature)
		}
	case "content_block_delta":
		d.Text, d.Think = m.Delta.Text, m.Delta.Thinking
		s.fragment(m.Index, m.Delta.PartialJSON)
		s.thinks(m.Index, m.Delta.Thinking, m.Delta.Signature)
	}
	if s.argBytes > model.MaxArgs || len(s.calls) > model.MaxCalls {
		return &model.Error{Class: model.BadRequest, Err: fmt.Errorf(
			"%w: more than %d tool calls or %d bytes of tool arguments", model.ErrTooLarge, model.MaxCalls, model.MaxArgs)}
	}
	s.said = s.said || d.Text != ""
	d.KeepAlive = d.Text == "" && d.Think == ""
	return s.send(d)
}

// count takes the usage so far. Later counts replace earlier ones, and may
// leave the input out.
func (s *stream) count(in, written, read, out int64) {
	if all := in + written + read; all > 0 {
		s.usage.In, s.usage.CacheRead, s.usage.CacheWrite = all, read, written
	}
	s.usage.Out = max(s.usage.Out, out)
}

// begun returns the call of a block that starts. Its input is {} then, but
// some services send all of it here.
func begun(m api.MessageStreamEventUnion) *partial {
	c := &partial{index: m.Index, id: m.ContentBlock.ID, name: m.ContentBlock.Name}
	c.whole, _ = json.Marshal(m.ContentBlock.Input) // it was decoded from JSON
	return c
}

// fragment adds to the arguments of the latest call of a block.
func (s *stream) fragment(index int64, args string) {
	for n := len(s.calls) - 1; n >= 0; n-- {
		if s.calls[n].index == index {
			s.calls[n].args.WriteString(args)
			s.argBytes += len(args)
			return
		}
	}
}

// thinks adds to the latest piece of reasoning of a block.
func (s *stream) thinks(index int64, text, signature string) {
	for n := len(s.thoughts) - 1; n >= 0; n-- {
		if t := s.thoughts[n]; t.index == index {
			if t.text.Len() <= model.MaxText { // what is longer is not kept anyway
				t.text.WriteString(text)
			}
			t.signature.WriteString(signature)
			return
		}
	}
}

// end gives out the calls and the end mark.
func (s *stream) end() error {
	if s.stop == api.StopReasonRefusal {
		return &model.Error{Class: model.Refused, Err: errors.New("the model refused to answer")}
	}
	for _, t := range s.thoughts {
		if t.signature.Len() == 0 && t.redacted == "" {
			continue // a service that does not sign wants nothing back
		}
		given := &model.Thought{Model: s.model, Text: t.text.String(), Signature: t.signature.String(), Redacted: t.redacted}
		if err := s.send(model.Delta{Thought: given, KeepAlive: true}); err != nil {
			return err
		}
	}
	if s.stop == api.StopReasonToolUse && len(s.calls) == 0 && !s.said {
		return &model.Error{Class: model.Truncated, Err: errors.New("the answer announces tool calls and holds none")}
	}
	for _, c := range s.calls {
		args := c.args.String()
		if args == "" {
			args = string(c.whole)
		}
		if err := s.send(model.Delta{Call: &core.ToolCall{ID: c.id, Name: c.name, Args: model.Arguments(args)}}); err != nil {
			return err
		}
	}
	cut := s.stop == api.StopReasonMaxTokens || s.stop == api.StopReasonModelContextWindowExceeded
	return s.send(model.Delta{Done: true, Usage: s.usage, Cut: cut})
}

func (s *stream) send(d model.Delta) error {
	if !s.yield(d, nil) {
		return errLeft
	}
	return nil
}
