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

	api "github.com/sashabaranov/go-openai"

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

	calls    assembly
	usage    model.Usage
	finish   api.FinishReason // "" until one came
	finished bool             // [DONE] came
	events   bool             // at least one event came
	stray    bytes.Buffer     // the start of what is no event
}

// chunk is one event of the stream.
type chunk struct {
	Choices []struct {
		Delta struct {
			api.ChatCompletionStreamChoiceDelta
			Reasoning string `json:"reasoning"`
		} `json:"delta"`
		FinishReason api.FinishReason `json:"finish_reason"`
	} `json:"choices"`
	Usage *api.Usage      `json:"usage"`
	Error json.RawMessage `json:"error"`
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
		return s.p.noAnswer(s.resp, s.stray.Bytes())
	}
	return &model.Error{Class: model.Truncated, Err: errors.New("the stream ended without finish_reason or [DONE]")}
}

// line takes one line in.
func (s *stream) line(line []byte) error {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\uFEFF")))
	data, isData := bytes.CutPrefix(line, []byte("data:"))
	data = bytes.TrimSpace(data)
	switch {
	case !isData && bytes.HasPrefix(line, []byte(":")): // a comment
		return s.send(model.Delta{KeepAlive: true})
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
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return &model.Error{Class: model.Truncated, Err: fmt.Errorf("an event of the stream cannot be read: %w", err)}
	}
	return s.chunk(c)
}

func (s *stream) chunk(c chunk) error {
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return parseError(c.Error).typed(s.p, 0)
	}
	if u := c.Usage; u != nil {
		s.usage = model.Usage{In: int64(u.PromptTokens), Out: int64(u.CompletionTokens)}
		if u.PromptTokensDetails != nil {
			s.usage.CacheRead = int64(u.PromptTokensDetails.CachedTokens)
		}
	}
	if len(c.Choices) == 0 {
		return s.send(model.Delta{KeepAlive: true})
	}
	choice := c.Choices[0]
	if choice.FinishReason != "" && choice.FinishReason != api.FinishReasonNull {
		s.finish = choice.FinishReason
	}
	d := model.Delta{Text: choice.Delta.Content + choice.Delta.Refusal, Think: choice.Delta.ReasoningContent}
	if d.Think == "" {
		d.Think = choice.Delta.Reasoning
	}
	for _, fragment := range choice.Delta.ToolCalls {
		if err := s.calls.add(fragment); err != nil {
			return err
		}
	}
	d.KeepAlive = d.Text == "" && d.Think == ""
	return s.send(d)
}

// end gives out the calls and the end mark.
func (s *stream) end() error {
	if s.finish == api.FinishReasonContentFilter {
		return &model.Error{Class: model.Refused, Err: errors.New("the service's content filter stopped the answer")}
	}
	for _, call := range s.calls.finished() {
		if err := s.send(model.Delta{Call: &call}); err != nil {
			return err
		}
	}
	return s.send(model.Delta{Done: true, Usage: s.usage, Cut: s.finish == api.FinishReasonLength})
}

func (s *stream) send(d model.Delta) error {
	if !s.yield(d, nil) {
		return errLeft
	}
	return nil
}
