package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/model/anthropic"
	"github.com/skein-bot/skein/core/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is a provider of a test server.
func service(t *testing.T, h http.HandlerFunc) *anthropic.Provider {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	p, err := anthropic.New(anthropic.Config{BaseURL: server.URL + "/v1/", Key: "sk-secret", Transport: transport, Clock: clock.Real{}})
	require.NoError(t, err)
	return p
}

// says is a server that answers every request with these bytes.
func says(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func sse(body string) http.HandlerFunc { return says(http.StatusOK, "text/event-stream", body) }

// event and the like are events of a stream.
func event(data string) string {
	var e struct{ Type string }
	if json.Unmarshal([]byte(data), &e) != nil {
		e.Type = "message_delta"
	}
	return "event: " + e.Type + "\ndata: " + data + "\n\n"
}

func begin(n int, block string) string {
	return event(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, n, block))
}

func delta(n int, d string) string {
	return event(fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, n, d))
}

func text(s string) string { return delta(0, fmt.Sprintf(`{"type":"text_delta","text":%q}`, s)) }

func args(n int, s string) string {
	return delta(n, fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, s))
}

func stop(reason string) string {
	return event(fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":5}}`, reason))
}

const (
	start = "event: message_start\n" + `data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],` +
		`"usage":{"input_tokens":3,"cache_creation_input_tokens":1,"cache_read_input_tokens":8,"output_tokens":1}}}` + "\n\n"
	ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	end  = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

func collect(t *testing.T, p model.Provider) (model.Item, model.Usage, error) {
	t.Helper()
	req := model.Request{Model: "m1", Items: []model.Item{{Kind: model.User, Text: "hi"}}}
	return model.Collect(t.Context(), clock.Real{}, p, req, model.Options{Stall: time.Minute})
}

func tool(id, name, args string) core.ToolCall {
	return core.ToolCall{ID: id, Name: name, Args: json.RawMessage(args)}
}

func TestStream(t *testing.T) {
	all := model.Usage{In: 12, Out: 5, CacheRead: 8, CacheWrite: 1}
	for _, c := range []struct {
		name, body string
		want       model.Item
		usage      model.Usage
	}{
		{
			name: "text and usage",
			body: start + begin(0, `{"type":"text","text":""}`) + ping + text("hel") + text("lo") +
				event(`{"type":"content_block_stop","index":0}`) + stop("end_turn") + end,
			want: model.Item{Text: "hello"}, usage: all,
		},
		{name: "only a stop reason", body: text("a") + stop("end_turn"), want: model.Item{Text: "a"}, usage: model.Usage{Out: 5}},
		{name: "only an end mark", body: text("a") + end, want: model.Item{Text: "a"}},
		{name: "a stop sequence", body: text("a") + stop("stop_sequence") + end, want: model.Item{Text: "a"}, usage: model.Usage{Out: 5}},
		{name: "what comes after the end mark is not read", body: text("a") + end + text("b"), want: model.Item{Text: "a"}},
		{name: "comments, CRLF, events of another kind", body: ": hi\r\n\r\n" + event(`{"type":"news","x":1}`) + text("a") + end, want: model.Item{Text: "a"}},
		{name: "an empty answer", body: start + stop("end_turn") + end, usage: all},
		{name: "B397 the token limit", body: start + text("so") + stop("max_tokens") + end, want: model.Item{Text: "so", Cut: true}, usage: all},
		{name: "the end of the window", body: start + text("so") + stop("model_context_window_exceeded") + end, want: model.Item{Text: "so", Cut: true}, usage: all},
		{
			name: "thinking",
			body: start + begin(0, `{"type":"thinking","thinking":"","signature":""}`) + delta(0, `{"type":"thinking_delta","thinking":"hm"}`) +
				delta(0, `{"type":"signature_delta","signature":"xyz"}`) + begin(1, `{"type":"redacted_thinking","data":"zzz"}`) +
				begin(2, `{"type":"text","text":"a"}`) + stop("end_turn") + end,
			want: model.Item{Text: "a", Think: "hm"}, usage: all,
		},
		{
			name: "thinking before a call is kept with its signature",
			body: start + begin(0, `{"type":"thinking","thinking":"","signature":""}`) + delta(0, `{"type":"thinking_delta","thinking":"h"}`) +
				delta(0, `{"type":"thinking_delta","thinking":"m"}`) + delta(0, `{"type":"signature_delta","signature":"xyz"}`) +
				begin(1, `{"type":"redacted_thinking","data":"zzz"}`) + begin(2, `{"type":"thinking","thinking":"unsigned"}`) +
				begin(3, `{"type":"tool_use","id":"a","name":"x","input":{}}`) + stop("tool_use") + end,
			want: model.Item{
				Think: "hmunsigned", Calls: []core.ToolCall{tool("a", "x", `{}`)},
				Thoughts: []model.Thought{{Model: "m1", Text: "hm", Signature: "xyz"}, {Model: "m1", Redacted: "zzz"}},
			},
			usage: all,
		},
		{
			name: "parallel calls in fragments",
			body: start + text("Let me see.") + begin(1, `{"type":"tool_use","id":"a","name":"x","input":{}}`) + args(1, "") + args(1, `{"n"`) + args(1, `:1}`) +
				begin(2, `{"type":"tool_use","id":"b","name":"y","input":{}}`) + stop("tool_use") + end,
			want: model.Item{Text: "Let me see.", Calls: []core.ToolCall{tool("a", "x", `{"n":1}`), tool("b", "y", `{}`)}}, usage: all,
		},
		{
			name: "interleaved fragments, and arguments that come at once",
			body: begin(0, `{"type":"tool_use","id":"a","name":"x"}`) + begin(1, `{"type":"tool_use","id":"b","name":"x","input":{"n":2}}`) +
				begin(2, `{"type":"tool_use","id":"","name":"x"}`) + args(0, `{"n":`) + args(2, `{"n":`) + args(0, `1}`) + args(2, `3}`) + end,
			want: model.Item{Calls: []core.ToolCall{tool("a", "x", `{"n":1}`), tool("b", "x", `{"n":2}`), tool("call_3", "x", `{"n":3}`)}},
		},
		{
			name: "arguments that are no JSON",
			body: start + begin(0, `{"type":"tool_use","id":"a","name":"x","input":{}}`) + args(0, `{"n":`) + stop("max_tokens") + end,
			want: model.Item{Calls: []core.ToolCall{tool("a", "x", `"{\"n\":"`)}, Cut: true}, usage: all,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.Kind = model.Assistant
			got, usage, err := collect(t, service(t, sse(c.body)))
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, c.usage, usage)
		})
	}
}

func TestAWholeAnswerInPlaceOfAStream(t *testing.T) {
	got, usage, err := collect(t, service(t, says(http.StatusOK, "application/json", `{"id":"msg_1","type":"message","role":"assistant","content":[
		{"type":"thinking","thinking":"hm","signature":"xyz"},{"type":"text","text":"Let me see."},{"type":"tool_use","id":"a","name":"x","input":{"n":1}}],
		"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":5}}`)))
	require.NoError(t, err)
	require.Equal(t, model.Item{
		Kind: model.Assistant, Text: "Let me see.", Think: "hm", Calls: []core.ToolCall{tool("a", "x", `{"n":1}`)},
		Thoughts: []model.Thought{{Model: "m1", Text: "hm", Signature: "xyz"}},
	}, got)
	require.Equal(t, model.Usage{In: 3, Out: 5}, usage)
}

func TestStreamGivesKeepAlives(t *testing.T) {
	p := service(t, sse(start+ping+begin(0, `{"type":"tool_use","id":"a","name":"x"}`)+args(0, `{}`)+end))
	alive := 0
	for d, err := range p.Stream(t.Context(), model.Request{}) {
		require.NoError(t, err)
		if d.KeepAlive || d.Ping {
			alive++
		}
	}
	require.Equal(t, 4, alive)
}

func TestModels(t *testing.T) {
	p := service(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/models" || r.Header.Get("X-Api-Key") != "sk-secret" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		says(http.StatusOK, "application/json", `{"data":[{"id":"b","type":"model"},{"id":""},{"id":"a"}],"has_more":false}`)(w, r)
	})
	ids, err := p.Models(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"b", "a"}, ids)

	for _, body := range []string{`{"data":[]}`, `<html>`, ``} {
		_, err = service(t, says(http.StatusOK, "text/html", body)).Models(t.Context())
		require.Equal(t, model.BadRequest, model.ClassOf(err))
		require.ErrorContains(t, err, "is the base URL right?")
	}
	_, err = service(t, says(http.StatusUnauthorized, "application/json", `{"error":{"message":"invalid x-api-key sk-secret"}}`)).Models(t.Context())
	require.Equal(t, model.Auth, model.ClassOf(err))
	require.NotContains(t, err.Error(), "sk-secret")
}

func TestNew(t *testing.T) {
	for _, base := range []string{"localhost:1234", "ftp://x/v1", "://", "http://"} {
		_, err := anthropic.New(anthropic.Config{BaseURL: base})
		require.ErrorContains(t, err, "write it like https://")
		require.Equal(t, "bad_base_url", core.ErrorCode(err))
	}
	_, err := anthropic.New(anthropic.Config{})
	require.NoError(t, err)
}

func TestTheEnvironmentIsNotRead(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"} {
		t.Setenv(name, "of-somebody-else")
	}
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	var sent http.Header
	answer := roundTripper(func(r *http.Request) (*http.Response, error) {
		sent = r.Header
		require.Equal(t, "api.anthropic.com", r.URL.Host)
		return nil, errors.New("unplugged")
	})
	p, err := anthropic.New(anthropic.Config{Transport: answer, Clock: clock.Real{}})
	require.NoError(t, err)
	_, err = p.Models(t.Context())
	require.ErrorContains(t, err, "unplugged")
	require.Empty(t, sent.Get("X-Api-Key")+sent.Get("Authorization"))
}

func TestStreamEndsWithItsContext(t *testing.T) {
	closed := make(chan struct{})
	p := service(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, text("so far"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(closed)
	})
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	got, _, err := model.Collect(ctx, clock.Real{}, p, model.Request{}, model.Options{OnDelta: func(model.Delta) { cancel(stopped) }})
	require.ErrorIs(t, err, stopped)
	require.Equal(t, "so far", got.Text)
	<-closed // the server has seen the connection end

	for _, err := range p.Stream(ctx, model.Request{}) {
		require.Equal(t, stopped, err, "a context that has ended before")
	}
}

func TestStreamEndsWhenTheCallerLeaves(t *testing.T) {
	p := service(t, sse(strings.Repeat(text("la"), 100)+begin(1, `{"type":"tool_use","id":"a","name":"x"}`)+end))
	for _, err := range p.Stream(t.Context(), model.Request{}) {
		require.NoError(t, err)
		break
	}
	for d, err := range p.Stream(t.Context(), model.Request{}) {
		require.NoError(t, err)
		if d.Call != nil {
			break
		}
	}
}

func TestNoRequestLeavesACutWorld(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	w := world.New(clock.Real{}, nil, 1)
	p, err := anthropic.New(anthropic.Config{BaseURL: server.URL, Transport: w.Transport(&http.Transport{}), Clock: clock.Real{}})
	require.NoError(t, err)
	w.Cut()
	_, _, err = collect(t, p)
	require.ErrorIs(t, err, world.ErrKilled)
	require.False(t, asked)
}
