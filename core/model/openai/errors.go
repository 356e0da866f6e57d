package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

// broken returns the error of a connection that failed, or the cause of ctx if
// that is why.
func (p *Provider) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &model.Error{Class: model.Network, Err: p.redacted(err)}
}

// refusal returns the error of an answer with a status of failure.
func (p *Provider) refusal(resp *http.Response, body []byte) error {
	f := parseFailure(body)
	e := f.typed(p, resp.StatusCode)
	if e.Class == model.RateLimited || e.Class == model.Overloaded {
		e.After = model.RetryAfter(resp.Header, p.clock.Now())
	}
	return e
}

// noAnswer returns the error of an answer with a status of success that is not
// what was asked for: an error in its body, or no service at all.
func (p *Provider) noAnswer(resp *http.Response, body []byte) error {
	if f := parseFailure(body); f.known() {
		return f.typed(p, 0)
	}
	return &model.Error{Class: model.BadRequest, Status: resp.StatusCode, Err: fmt.Errorf(
		"%w: %s answers, but not as an OpenAI-compatible service does (%s); is the base URL right? It often ends in /v1",
		model.ErrNoService, p.base, kind(resp, body))}
}

// kind says what came instead of an answer.
func kind(resp *http.Response, body []byte) string {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return "with nothing"
	case resp.Header.Get("Content-Type") != "":
		return core.Clip(resp.Header.Get("Content-Type"), 80)
	}
	return "of unknown kind"
}

// failure is what a service says about an error. Services differ: the error
// is an object, a list of one, or a string; its code a name, a status or null.
type failure struct {
	message, kind, code string
	status              int
}

func (f failure) known() bool { return f != failure{} }

func parseFailure(body []byte) failure {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return failure{}
	}
	if len(outer.Error) > 0 && string(outer.Error) != "null" {
		return parseError(outer.Error)
	}
	f := failure{message: outer.Message}
	if f.message == "" && len(outer.Detail) > 0 {
		f.message = text(outer.Detail)
	}
	return f
}

// parseError reads the value of "error".
func parseError(raw json.RawMessage) failure {
	var e struct {
		Message json.RawMessage `json:"message"`
		Type    json.RawMessage `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return failure{message: text(raw)}
	}
	f := failure{message: text(e.Message), kind: text(e.Type), code: text(e.Code)}
	if n, err := strconv.Atoi(f.code); err == nil && n >= 400 && n < 600 {
		f.status = n
	}
	if f.message == "" {
		f.message = string(raw)
	}
	return f
}

// text returns a JSON string as text and any other value as it is written.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

var (
	overflowText = regexp.MustCompile(`(?i)maximum context length|context[ _](length|window|size)|prompt is too long|` +
		`input (is|length is|was) too long|reduce the length|too many (input )?tokens|exceeds? the (model's )?(maximum|max) (input|tokens|length)`)
	policyText = regexp.MustCompile(`(?i)content[ _](filter|policy|management)|responsible_?ai|safety`)
	quotaText  = regexp.MustCompile(`(?i)insufficient_quota|billing|credit balance|payment`)
)

// typed returns the class of f; status is the answer's, 0 inside a stream.
func (f failure) typed(p *Provider, status int) *model.Error {
	if status == 0 {
		status = f.status
	}
	class, err := f.class(status), errors.New(f.text(status))
	if class == model.Auth && (status == http.StatusPaymentRequired || quotaText.MatchString(f.code+" "+f.message)) {
		err = fmt.Errorf("%w: %w", model.ErrNoCredit, err)
	}
	return &model.Error{Class: class, Status: status, Err: p.redacted(err)}
}

func (f failure) text(status int) string {
	said := core.Clip(f.message, 400)
	switch {
	case said == "" && status == 0:
		return "the service reports an error"
	case said == "":
		return fmt.Sprintf("the service answers %d %s", status, http.StatusText(status))
	case status == 0:
		return said
	}
	return fmt.Sprintf("%s (status %d)", said, status)
}

func (f failure) class(status int) model.ErrorClass {
	named := f.code + " " + f.kind
	said := named + " " + f.message
	limited := status == http.StatusTooManyRequests || status == 0 && strings.Contains(named, "rate_limit")
	switch {
	case status == http.StatusPaymentRequired, limited && quotaText.MatchString(said):
		return model.Auth
	case limited:
		return model.RateLimited
	case status == http.StatusUnauthorized, status == 0 && strings.Contains(named, "authentication"):
		return model.Auth
	case status == http.StatusRequestEntityTooLarge, strings.Contains(named, "context_length"), strings.Contains(named, "exceed_context"):
		return model.Overflow
	case status < 500 && overflowText.MatchString(f.message):
		return model.Overflow
	case status < 500 && policyText.MatchString(named):
		return model.Refused
	case status == http.StatusForbidden:
		return model.Auth
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		return model.Overloaded
	case status >= 300, strings.Contains(named, "invalid_request"):
		return model.BadRequest
	}
	return model.Overloaded // an error inside a stream, without a reason: the service's own trouble
}

// redacted takes the key out of an error's text.
func (p *Provider) redacted(err error) error { return model.Redacted(err, p.key) }
