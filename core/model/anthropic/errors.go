package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	api "github.com/anthropics/anthropic-sdk-go"

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
func (p *Provider) refusal(err *api.Error) error {
	e := parseFailure([]byte(err.RawJSON())).typed(p, err.StatusCode)
	if e.Class == model.RateLimited || e.Class == model.Overloaded {
		e.After = model.RetryAfter(err.Response.Header, p.clock.Now())
	}
	return e
}

// noAnswer returns the error of an answer with a status of success that is not
// what was asked for.
func (p *Provider) noAnswer(resp *http.Response) error {
	kind := "of unknown kind"
	if t := resp.Header.Get("Content-Type"); t != "" {
		kind = core.Clip(t, 80)
	}
	return &model.Error{Class: model.BadRequest, Status: resp.StatusCode, Err: p.redacted(fmt.Errorf(
		"%w: %s answers, but not as an Anthropic-compatible service does (status %d, %s); is the base URL right?",
		model.ErrNoService, p.base, resp.StatusCode, kind))}
}

// failure is what the service says about an error.
type failure struct {
	Kind    string `json:"type"`
	Message string `json:"message"`
}

func parseFailure(body []byte) failure {
	var outer struct {
		Error failure `json:"error"`
	}
	_ = json.Unmarshal(body, &outer) // no JSON, no reason: the status tells
	return outer.Error
}

// status returns the status that belongs to the type of an error; inside a
// stream there is no other.
func (f failure) status() int {
	switch f.Kind {
	case "invalid_request_error":
		return http.StatusBadRequest
	case "authentication_error":
		return http.StatusUnauthorized
	case "billing_error":
		return http.StatusPaymentRequired
	case "permission_error":
		return http.StatusForbidden
	case "not_found_error":
		return http.StatusNotFound
	case "request_too_large":
		return http.StatusRequestEntityTooLarge
	case "rate_limit_error":
		return http.StatusTooManyRequests
	}
	return http.StatusInternalServerError // overloaded_error, api_error, timeout_error: the service's own trouble
}

// typed returns the error with its class; status is the answer's, 0 inside a
// stream.
func (f failure) typed(p *Provider, status int) *model.Error {
	class := f.class(status)
	if status == 0 {
		class = f.class(f.status())
	}
	err := errors.New(f.text(status))
	if class == model.Auth && (status == http.StatusPaymentRequired || f.Kind == "billing_error" || quotaText.MatchString(f.Message)) {
		err = fmt.Errorf("%w: %w", model.ErrNoCredit, err)
	}
	return &model.Error{Class: class, Status: status, Err: p.redacted(err)}
}

func (f failure) text(status int) string {
	said := core.Clip(f.Message, 400)
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

var (
	overflowText = regexp.MustCompile(`(?i)prompt is too long|exceeds? (the )?context|context (limit|length|window)|too many (input )?tokens`)
	policyText   = regexp.MustCompile(`(?i)content filter|usage polic`)
	quotaText    = regexp.MustCompile(`(?i)credit balance|billing`)
)

func (f failure) class(status int) model.ErrorClass {
	switch {
	case status == http.StatusTooManyRequests:
		return model.RateLimited
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired, status == http.StatusForbidden:
		return model.Auth
	case status == http.StatusRequestEntityTooLarge:
		return model.Overflow
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		return model.Overloaded
	case quotaText.MatchString(f.Message):
		return model.Auth
	case overflowText.MatchString(f.Message):
		return model.Overflow
	case policyText.MatchString(f.Message):
		return model.Refused
	}
	return model.BadRequest
}

// redacted takes the key out of an error's text.
func (p *Provider) redacted(err error) error { return model.Redacted(err, p.key) }
