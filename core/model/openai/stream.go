package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

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

	halves   model.Surrogates
	calls    assembly
	usage    model.Usage
	finish   string       // the finish_reason, "" until one came
	finished bool         // [DONE] came
	events   bool         // at least one event came
	said     bool         // visible text came
	stray    bytes.Buffer // what is no event
}

// read gives out the deltas until the answer is whole.
func (s *stream) read() error {
	lines := bufio.NewScanner(io.LimitReader(s.resp.Body, maxStream))
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	for !s.finished && lines.Scan() {
		if err := s.line(lines.Bytes()); err != nil {
			return err
		}
	}
	switch err := lines.Err(); {
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	case errors.Is(err, bufio.ErrTooLong):
		return &model.Error{Class: model.BadRequest, Err: fmt.Errorf("the service sent a line of more than %d bytes", maxLine)}
	case s.finished || s.finish != "":
		return s.end()
	case err != nil:
		return &model.Error{Class: model.Truncated, Err: s.p.redacted(fmt.Errorf("the stream broke off: %w", err))}
	case !s.events:
		return s.whole()
	}
	return &model.Error{Class: model.Truncated, Err: errors.New("the stream ended without finish_reason or [DONE]")}
}

// whole reads what is no stream: the answer in one piece, of a service that
// does not stream, or something else.
func (s *stream) whole() error {
	var c chunk
	body := bytes.TrimSpace(s.stray.Bytes())
	switch err := json.Unmarshal(body, &c); {
	case err != nil && bytes.HasPrefix(body, []byte("{")):
		return &model.Error{Class: model.Truncated, Err: fmt.Errorf("the answer cannot be read: %w", err)}
	case err != nil, len(c.Choices) == 0:
		return s.p.noAnswer(s.resp, body)
	}
	if err := s.chunk(c); err != nil {
		return err
	}
	return s.end()
}

// line takes one line in.
func (s *stream) line(line []byte) error {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\uFEFF")))
	data, isData := bytes.CutPrefix(line, []byte("data:"))
	data = bytes.TrimSpace(data)
	switch {
	case !isData && bytes.HasPrefix(line, []byte(":")): // a comment
		return s.send(model.Delta{Ping: true})
	case !isData:
		if !s.events && s.stray.Len()+len(line) < maxStray {
			s.stray.Write(line)
			s.stray.WriteByte('\n')
		}
		return nil
	case len(data) == 0:
		return nil
	case string(data) == "[DONE]":
		s.events, s.finished = true, true
		return nil
	}
	s.events = true
	data = s.halves.Join(data)
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return &model.Error{Class: model.Truncated, Err: fmt.Errorf("an event of the stream cannot be read: %w", err)}
	}
	if c.Object == "error" { // the fields of an error stand beside it
		return parseError(data).typed(s.p, 0)
	}
	return s.chunk(c)
}

func (s *stream) chunk(c chunk) error {
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return parseError(c.Error).typed(s.p, 0)
	}
	if u := c.Usage; u != nil {
		s.usage = model.Usage{In: u.PromptTokens, Out: u.CompletionTokens, CacheRead: max(u.Details.CachedTokens, u.PromptCacheHitTokens)}
	}
	if len(c.Choices) == 0 {
		return s.send(model.Delta{Ping: true})
	}
	choice := c.Choices[0]
	if f := string(choice.FinishReason); f != "" && f != "null" {
		s.finish = f
	}
	m := choice.Delta
	if !s.said && len(s.calls.calls) == 0 && m.isEmpty() { // what the deltas have said is not said twice
		m = choice.Message
	}
	d := model.Delta{Text: m.text(), Think: m.think()}
	for _, f := range m.ToolCalls {
		if err := s.calls.add(f); err != nil {
			return err
		}
	}
	s.said = s.said || d.Text != ""
	d.KeepAlive = d.Text == "" && d.Think == ""
	d.Ping = d.KeepAlive && len(m.ToolCalls) == 0
	return s.send(d)
}

// end gives out the calls and the end mark.
func (s *stream) end() error {
	switch s.finish {
	case "content_filter":
		return &model.Error{Class: model.Refused, Err: errors.New("the service's content filter stopped the answer")}
	case "error":
		return &model.Error{Class: model.Overloaded, Err: errors.New("the service ended the answer with an error")}
	case "tool_calls", "function_call":
		if len(s.calls.calls) == 0 && !s.said {
			return &model.Error{Class: model.Truncated, Err: errors.New("the answer announces tool calls and holds none")}
		}
	}
	for _, call := range s.calls.finished() {
		if err := s.send(model.Delta{Call: &call}); err != nil {
			return err
		}
	}
	return s.send(model.Delta{Done: true, Usage: s.usage, Cut: s.finish == "length" || s.finish == "max_tokens"})
}

func (s *stream) send(d model.Delta) error {
	if !s.yield(d, nil) {
		return errLeft
	}
	return nil
}
