package openai_test

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
	"github.com/skein-bot/skein/core/model/openai"
	"github.com/skein-bot/skein/core/world"
)

func TestErrors(t *testing.T) {
	const js = "application/json"
	for _, c := range []struct {
		name   string
		server http.HandlerFunc
		class  model.ErrorClass
		want   string
	}{
		{"B399 rate limit", says(429, js, `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`), model.RateLimited, "Rate limit reached (status 429)"},
		{"no money left", says(429, js, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`), model.Auth, "quota"},
		{"payment", says(402, js, `{"error":{"message":"Insufficient Balance"}}`), model.Auth, "Insufficient Balance"},
		{"bad key", says(401, js, `{"error":{"message":"Incorrect API key provided: sk-secret.","code":"invalid_api_key"}}`), model.Auth, "provided: ***."},
		{"forbidden", says(403, js, `{"error":{"message":"Country not supported"}}`), model.Auth, "Country"},
		{"context by code", says(400, js, `{"error":{"message":"too big","code":"context_length_exceeded"}}`), model.Overflow, "too big"},
		{"context by message", says(400, js, `{"error":{"message":"This model's maximum context length is 8192 tokens."}}`), model.Overflow, "8192"},
		{"context, llama.cpp", says(400, js, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`), model.Overflow, "context size"},
		{"context, vllm", says(400, js, `{"object":"error","message":"max context length is 10 tokens, reduce the length","code":400}`), model.Overflow, "reduce"},
		{"body too large", says(413, "text/plain", ``), model.Overflow, "413 Request Entity Too Large"},
		{"content policy", says(400, js, `{"error":{"message":"flagged","code":"content_filter"}}`), model.Refused, "flagged"},
		{"bad request", says(400, js, `{"error":{"message":"Unknown parameter","type":"invalid_request_error","code":null}}`), model.BadRequest, "Unknown parameter"},
		{"validation", says(422, js, `{"detail":[{"msg":"field required"}]}`), model.BadRequest, "field required"},
		{"no such model", says(404, js, `{"error":"model 'm1' not found"}`), model.BadRequest, "model 'm1' not found (status 404)"},
		{"a list of one error", says(400, js, `[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]`), model.BadRequest, "bad"},
		{"server error", says(500, js, `{"error":{"message":"oops"}}`), model.Overloaded, "oops (status 500)"},
		{"HTML 502", says(502, "text/html", `<html><body>Bad gateway</body></html>`), model.Overloaded, "the service answers 502 Bad Gateway"},
		{"overloaded", says(529, js, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`), model.Overloaded, "Overloaded"},

		{"200 with an error", says(200, js, `{"error":{"message":"Rate limit","code":429}}`), model.RateLimited, "Rate limit (status 429)"},
		{"200 with an error of many lines", says(200, js, "{\n \"error\": {\n\"message\": \"no such model\", \"type\": \"invalid_request_error\"}\n}\n"), model.BadRequest, "no such model"},
		{"200 with HTML", says(200, "text/html", "<html>\n<p>Welcome</p>"), model.BadRequest, "(text/html); is the base URL right?"},
		{"200 with nothing", sse(""), model.BadRequest, "(with nothing); is the base URL right?"},
		{"error inside the stream", sse(text("so") + event(`{"error":{"message":"overloaded","type":"server_error"}}`)), model.Overloaded, "overloaded"},
		{"rate limit inside the stream", sse(event(`{"error":{"message":"slow down","type":"rate_limit_error"}}`)), model.RateLimited, "slow down"},
		{"overflow inside the stream", sse(event(`{"error":{"message":"prompt is too long","type":"invalid_request_error"}}`)), model.Overflow, "too long"},
		{"bad request inside the stream", sse(event(`{"error":{"message":"no","type":"invalid_request_error"}}`)), model.BadRequest, "no"},
		{"an error beside its fields", sse(text("so") + event(`{"object":"error","message":"slow down","type":"x","code":429}`)), model.RateLimited, "slow down"},
		{"finish_reason error", sse(text("so") + finish("error") + end), model.Overloaded, "with an error"},
		{"calls announced, none made", sse(finish("tool_calls") + end), model.Truncated, "holds none"},
		{"a whole answer cut short", says(200, js, `{"choices":[{"message":{"content":"a`), model.Truncated, "cannot be read"},
		{"content filter", sse(text("so") + finish("content_filter") + end), model.Refused, "content filter"},

		{"cut off", sse(text("so")), model.Truncated, "without finish_reason or [DONE]"},
		{"cut off in a line", sse(text("so") + `data: {"choices":[{"del`), model.Truncated, "cannot be read"},
		{"cut off by the connection", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9999")
			_, _ = io.WriteString(w, text("so"))
		}, model.Truncated, "broke off: unexpected EOF"},
		{"garbage", sse("data: {]\n\n"), model.Truncated, "cannot be read"},
		{"an endless line", sse("data: " + strings.Repeat("x", 33<<20)), model.BadRequest, "a line of more than"},
		{"endless arguments", sse(strings.Repeat(fragments(`{"index":0,"id":"a","function":{"name":"x","arguments":"`+strings.Repeat("x", 1<<16)+`"}}`), 257)), model.BadRequest, "tool arguments"},
		{"endless calls", sse(strings.Repeat(fragments(`{"index":0,"function":{"name":"x","arguments":"{}"}}`), 129)), model.BadRequest, "tool calls"},
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

func TestConnectionErrors(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	p, err := openai.New(openai.Config{BaseURL: server.URL, Clock: clock.Real{}})
	require.NoError(t, err)
	_, _, err = collect(t, p)
	var e *model.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, model.Network, e.Class)

	failing := roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("no route for sk-secret") })
	p, err = openai.New(openai.Config{Key: "sk-secret", Transport: failing, Clock: clock.Real{}})
	require.NoError(t, err)
	_, err = p.Models(t.Context())
	require.ErrorContains(t, err, "no route for ***")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		header, value string
		status        int
		want          time.Duration
	}{
		{"Retry-After", "7", 429, 7 * time.Second},
		{"Retry-After", " 1.5 ", 503, 1500 * time.Millisecond},
		{"Retry-After", "Fri, 02 Jan 2026 03:05:05 GMT", 429, time.Minute},
		{"Retry-After", "Fri, 02 Jan 2026 03:00:00 GMT", 429, 0},
		{"Retry-After-Ms", "250", 429, 250 * time.Millisecond},
		{"Retry-After", "1e300", 429, 7 * 24 * time.Hour},
		{"Retry-After", "-3", 429, 0},
		{"Retry-After", "NaN", 429, 0},
		{"Retry-After", "soon", 429, 0},
		{"Retry-After", "7", 400, 0},
	} {
		answer := roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: c.status, Header: http.Header{c.header: {c.value}}, Body: io.NopCloser(strings.NewReader(""))}, nil
		})
		p, err := openai.New(openai.Config{Transport: answer, Clock: clock.NewVirtual(now, new(world.Work))})
		require.NoError(t, err)
		_, _, err = collect(t, p)
		var e *model.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, c.want, e.After, "%s: %s", c.header, c.value)
		require.Equal(t, c.status, e.Status)
	}
}
