package anthropic_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/model/anthropic"
	"github.com/skein-bot/skein/core/world"
)

// failed is the body of an error.
func failed(kind, message string) string {
	return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"}}`
}

func TestErrors(t *testing.T) {
	const js = "application/json"
	for _, c := range []struct {
		name   string
		server http.HandlerFunc
		class  model.ErrorClass
		want   string
	}{
		{"B399 rate limit", says(429, js, failed("rate_limit_error", "Rate limit reached")), model.RateLimited, "Rate limit reached (status 429)"},
		{"bad key", says(401, js, failed("authentication_error", "invalid x-api-key sk-secret.")), model.Auth, "x-api-key ***."},
		{"forbidden", says(403, js, failed("permission_error", "not yours")), model.Auth, "not yours"},
		{"payment", says(402, js, failed("billing_error", "card")), model.Auth, "card"},
		{"no money left", says(400, js, failed("invalid_request_error", "Your credit balance is too low")), model.Auth, "credit"},
		{"context", says(400, js, failed("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")), model.Overflow, "too long"},
		{"context with the answer", says(400, js, failed("invalid_request_error", "input length and `max_tokens` exceed context limit: 1 + 2 > 2")), model.Overflow, "limit"},
		{"body too large", says(413, js, failed("request_too_large", "Request exceeds the maximum size")), model.Overflow, "size"},
		{"content policy", says(400, js, failed("invalid_request_error", "Output blocked by content filtering policy")), model.Refused, "blocked"},
		{"bad request", says(400, js, failed("invalid_request_error", "max_tokens: 99999 > 64000, which is the maximum")), model.BadRequest, "99999"},
		{"no such model", says(404, js, failed("not_found_error", "model: m1")), model.BadRequest, "model: m1 (status 404)"},
		{"server error", says(500, js, failed("api_error", "oops")), model.Overloaded, "oops (status 500)"},
		{"HTML 502", says(502, "text/html", `<html><body>Bad gateway</body></html>`), model.Overloaded, "the service answers 502 Bad Gateway"},
		{"overloaded", says(529, js, failed("overloaded_error", "Overloaded")), model.Overloaded, "Overloaded"},

		{"200 with an error", says(200, js, failed("overloaded_error", "Overloaded")), model.Overloaded, "Overloaded"},
		{"200 with an error of many lines", says(200, js, "\n{\n\"error\": {\"type\": \"rate_limit_error\"}}"), model.RateLimited, "reports an error"},
		{"a whole answer cut short", says(200, js, `{"role":"assistant","content":[`), model.Truncated, "cannot be read"},
		{"200 with other JSON", says(200, js, `{"hello":"world"}`), model.BadRequest, "is the base URL right?"},
		{"calls announced, none made", sse(start + stop("tool_use") + end), model.Truncated, "holds none"},
		{"200 with HTML", says(200, "text/html", "<html>\n<p>Welcome</p>"), model.BadRequest, "(status 200, text/html); is the base URL right?"},
		{"200 with nothing", sse(""), model.BadRequest, "is the base URL right?"},
		{"overloaded inside the stream", sse(start + text("so") + event(failed("overloaded_error", "Overloaded"))), model.Overloaded, "Overloaded"},
		{"rate limit inside the stream", sse(event(failed("rate_limit_error", "slow down"))), model.RateLimited, "slow down"},
		{"key inside the stream", sse(event(failed("authentication_error", "no sk-secret"))), model.Auth, "no ***"},
		{"overflow inside the stream", sse(event(failed("invalid_request_error", "prompt is too long"))), model.Overflow, "too long"},
		{"bad request inside the stream", sse(event(failed("not_found_error", "no"))), model.BadRequest, "no"},
		{"an error without a reason", sse("event: error\ndata: {]\n\n"), model.Overloaded, "the service reports an error"},
		{"a refusal", sse(start + text("so") + stop("refusal") + end), model.Refused, "refused"},

		{"cut off", sse(start + text("so")), model.Truncated, "without stop_reason or message_stop"},
		{"cut off in a line", sse(start + text("so") + "event: message_stop\ndata: {"), model.Truncated, "without stop_reason"},
		{"cut off by the connection", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9999")
			_, _ = io.WriteString(w, text("so"))
		}, model.Truncated, "broke off: unexpected EOF"},
		{"garbage", sse(event("{]")), model.Truncated, "cannot be read"},
		{"an endless line", sse("data: " + strings.Repeat("x", 33<<20)), model.BadRequest, "too long to be read"},
		{"endless arguments", sse(begin(0, `{"type":"tool_use","id":"a","name":"x"}`) + strings.Repeat(args(0, strings.Repeat("x", 1<<16)), 257)), model.BadRequest, "tool arguments"},
		{"endless calls", sse(strings.Repeat(begin(0, `{"type":"tool_use","name":"x"}`), 129)), model.BadRequest, "tool calls"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := collect(t, service(t, c.server))
			require.Equal(t, c.class, model.ClassOf(err), "%v", err)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "sk-secret")
			require.Empty(t, got.Calls)
		})
	}
}

func TestOneRequestPerCall(t *testing.T) {
	asked := 0
	_, _, err := collect(t, service(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		says(529, "application/json", failed("overloaded_error", "Overloaded"))(w, r)
	}))
	require.Equal(t, model.Overloaded, model.ClassOf(err))
	require.Equal(t, 1, asked)
}

func TestTheKeyFollowsNoRedirection(t *testing.T) {
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer other.Close()
	_, _, err := collect(t, service(t, http.RedirectHandler(other.URL, http.StatusTemporaryRedirect).ServeHTTP))
	require.Equal(t, model.BadRequest, model.ClassOf(err))
	require.ErrorContains(t, err, "status 307")
	require.False(t, asked)
}

func TestConnectionErrors(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	p, err := anthropic.New(anthropic.Config{BaseURL: server.URL, Clock: clock.Real{}})
	require.NoError(t, err)
	_, _, err = collect(t, p)
	var e *model.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, model.Network, e.Class)

	failing := roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("no route for sk-secret") })
	p, err = anthropic.New(anthropic.Config{Key: "sk-secret", Transport: failing, Clock: clock.Real{}})
	require.NoError(t, err)
	_, err = p.Models(t.Context())
	require.ErrorContains(t, err, "no route for ***")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		value  string
		status int
		want   time.Duration
	}{
		{"7", 429, 7 * time.Second},
		{"1.5", 529, 1500 * time.Millisecond},
		{"Fri, 02 Jan 2026 03:05:05 GMT", 429, time.Minute},
		{"7", 400, 0},
	} {
		answer := roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: c.status, Header: http.Header{"Retry-After": {c.value}}, Body: io.NopCloser(strings.NewReader("")), Request: r,
			}, nil
		})
		p, err := anthropic.New(anthropic.Config{Transport: answer, Clock: clock.NewVirtual(now, new(world.Work))})
		require.NoError(t, err)
		_, _, err = collect(t, p)
		var e *model.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, c.want, e.After, c.value)
		require.Equal(t, c.status, e.Status)
	}
}
