package openai_test

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
	"github.com/skein-bot/skein/core/model/openai"
	"github.com/skein-bot/skein/core/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is a provider of a test server.
func service(t *testing.T, h http.HandlerFunc) *openai.Provider {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	p, err := openai.New(openai.Config{BaseURL: server.URL + "/v1/", Key: "sk-secret", Transport: transport, Clock: clock.Real{}})
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

// text and the like are events of a stream.
func event(data string) string { return "data: " + data + "\n\n" }

func text(s string) string {
	return event(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`, s))
}

func fragments(calls string) string {
	return event(`{"choices":[{"index":0,"delta":{"tool_calls":[` + calls + `]}}]}`)
}

func finish(reason string) string {
	return event(fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, reason))
}

const (
	usage = `data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":8}}}` + "\n\n"
	end   = "data: [DONE]\n\n"
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
	for _, c := range []struct {
		name, body string
		want       model.Item
		usage      model.Usage
	}{
		{
			name: "text and usage", body: text("hel") + text("lo") + finish("stop") + usage + end,
			want: model.Item{Text: "hello"}, usage: model.Usage{In: 12, Out: 5, CacheRead: 8},
		},
		{name: "only a finish reason", body: text("a") + finish("stop"), want: model.Item{Text: "a"}},
		{name: "only an end mark", body: text("a") + end, want: model.Item{Text: "a"}},
		{name: "no line end at the end", body: text("a") + "data: [DONE]", want: model.Item{Text: "a"}},
		{name: "what comes after the end mark is not read", body: text("a") + end + text("b"), want: model.Item{Text: "a"}},
		{
			name: "comments, names, CRLF, no space, BOM",
			body: "\uFEFF: hello\r\n\r\nevent: message\r\nid: 1\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\ndata:\r\ndata:[DONE]\r\n\r\n",
			want: model.Item{Text: "a"},
		},
		{name: "B395 null content, empty choices", body: event(`{"choices":[{"delta":{"role":"assistant","content":null}}]}`) + event(`{"choices":[]}`) + text("a") + finish("stop"), want: model.Item{Text: "a"}},
		{name: "an empty answer", body: finish("stop") + end},
		{name: "B397 the token limit", body: text("so") + finish("length") + end, want: model.Item{Text: "so", Cut: true}},
		{name: "a refusal is text", body: event(`{"choices":[{"delta":{"refusal":"I will not."}}]}`) + end, want: model.Item{Text: "I will not."}},
		{name: "reasoning_content", body: event(`{"choices":[{"delta":{"reasoning_content":"hm"}}]}`) + text("a") + end, want: model.Item{Text: "a", Think: "hm"}},
		{name: "reasoning", body: event(`{"choices":[{"delta":{"reasoning":"hm","content":""}}]}`) + text("a") + end, want: model.Item{Text: "a", Think: "hm"}},
		{name: "reasoning as a list of parts", body: event(`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]}}]}`) + end, want: model.Item{Text: "a", Think: "hm"}},
		{name: "reasoning as an object", body: event(`{"choices":[{"delta":{"reasoning":{"type":"text","text":"hm"}}}]}`) + text("a") + end, want: model.Item{Text: "a", Think: "hm"}},
		{
			name: "the whole message beside the deltas", body: text("a") + text("b") +
				event(`{"choices":[{"delta":{},"message":{"role":"assistant","content":"ab"},"finish_reason":"stop"}]}`) + end,
			want: model.Item{Text: "ab"},
		},
		{name: "the whole message alone", body: event(`{"choices":[{"message":{"role":"assistant","content":"ab"},"finish_reason":"stop"}]}`) + end, want: model.Item{Text: "ab"}},
		{name: "a whole answer in place of a stream", body: "{\n \"choices\": [{\"message\": {\"content\": \"a\", \"reasoning_content\": \"hm\"},\n\"finish_reason\": \"stop\"}],\n" +
			`"usage": {"prompt_tokens": 3, "completion_tokens": 1}}`, want: model.Item{Text: "a", Think: "hm"}, usage: model.Usage{In: 3, Out: 1}},
		{
			name: "a whole answer with calls, arguments as an object",
			body: `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","function":{"name":"x","arguments":{"n":1}}},{"id":"b","function":{"name":"y","arguments":null}}]},"finish_reason":"tool_calls"}]}`,
			want: model.Item{Calls: []core.ToolCall{tool("a", "x", `{"n":1}`), tool("b", "y", `{}`)}},
		},
		{name: "usage with nulls and extra fields", body: text("a") + finish("stop") + event(`{"id":7,"x":{},"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":1,"prompt_tokens_details":null,"prompt_cache_hit_tokens":2}}`) + end,
			want: model.Item{Text: "a"}, usage: model.Usage{In: 4, Out: 1, CacheRead: 2}},
		{
			name: "interleaved fragments without index",
			body: fragments(`{"id":"a","function":{"name":"x","arguments":"{\"n\""}}`) + fragments(`{"id":"b","function":{"name":"y","arguments":"{"}}`) +
				fragments(`{"id":"a","function":{"arguments":":1}"}}`) + fragments(`{"id":"b","function":{"arguments":"}"}}`) + finish("tool_calls") + end,
			want: model.Item{Calls: []core.ToolCall{tool("a", "x", `{"n":1}`), tool("b", "y", `{}`)}},
		},
		{
			name: "the id and the name in every fragment",
			body: fragments(`{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\""}}`) + fragments(`{"index":0,"id":"a","function":{"name":"x","arguments":":1}"}}`) + end,
			want: model.Item{Calls: []core.ToolCall{tool("a", "x", `{"n":1}`)}},
		},
		{
			name: "parallel calls in fragments",
			body: fragments(`{"index":0,"id":"a","type":"function","function":{"name":"x","arguments":""}}`) +
				fragments(`{"index":0,"function":{"arguments":"{\"n\""}},{"index":1,"id":"b","function":{"name":"y","arguments":"{"}}`) +
				fragments(`{"index":1,"function":{"arguments":"}"}}`) + fragments(`{"index":0,"function":{"arguments":":1}"}}`) +
				finish("tool_calls") + end,
			want: model.Item{Calls: []core.ToolCall{tool("a", "x", `{"n":1}`), tool("b", "y", `{}`)}},
		},
		{
			name: "one index for all calls",
			body: fragments(`{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}`) +
				fragments(`{"index":0,"id":"b","function":{"name":"x","arguments":"{\"n\":2}"}}`) + end,
			want: model.Item{Calls: []core.ToolCall{tool("a", "x", `{}`), tool("b", "x", `{"n":2}`)}},
		},
		{
			name: "no index, no id",
			body: fragments(`{"function":{"name":"x","arguments":"{}"}}`) + fragments(`{"function":{"name":"y","arguments":"{\"n\":"}}`) +
				fragments(`{"function":{"arguments":"2}"}}`) + end,
			want: model.Item{Calls: []core.ToolCall{tool("call_1", "x", `{}`), tool("call_2", "y", `{"n":2}`)}},
		},
		{
			name: "name and id in every fragment",
			body: fragments(`{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\""}}`) +
				fragments(`{"index":0,"id":"a","function":{"name":"x","arguments":":1}"}}`) + end,
			want: model.Item{Calls: []core.ToolCall{tool("a", "x", `{"n":1}`)}},
		},
		{
			name: "another id in every fragment",
			body: fragments(`{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\""}}`) +
				fragments(`{"index":0,"id":"b","function":{"arguments":":1}"}}`) + end,
			want: model.Item{Calls: []core.ToolCall{tool("a", "x", `{"n":1}`)}},
		},
		{
			name: "equal ids",
			body: fragments(`{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}},{"index":1,"id":"a","function":{"name":"y"}}`) + end,
			want: model.Item{Calls: []core.ToolCall{tool("a", "x", `{}`), tool("call_2", "y", `{}`)}},
		},
		{
			name: "arguments that are no JSON",
			body: fragments(`{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\":"}}`) + finish("length") + end,
			want: model.Item{Calls: []core.ToolCall{tool("a", "x", `"{\"n\":"`)}, Cut: true},
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

func TestStreamInSmallPieces(t *testing.T) {
	body := text("héllo €") + finish("stop") + end
	p := service(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range len(body) { // characters and lines are split over packets
			_, _ = io.WriteString(w, body[i:i+1])
			w.(http.Flusher).Flush()
		}
	})
	got, _, err := collect(t, p)
	require.NoError(t, err)
	require.Equal(t, "héllo €", got.Text)
}

func TestStreamKeepsAlive(t *testing.T) {
	p := service(t, sse(": wait\n\n"+event(`{"choices":[]}`)+fragments(`{"index":0,"id":"a","function":{"name":"x"}}`)+end))
	alive := 0
	_, _, err := model.Collect(t.Context(), clock.Real{}, p, model.Request{}, model.Options{OnDelta: func(d model.Delta) {
		if d.KeepAlive || d.Ping {
			alive++
		}
	}})
	require.NoError(t, err)
	require.Equal(t, 3, alive)
}

func TestRequest(t *testing.T) {
	var got *http.Request
	var body map[string]any
	p := service(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		_ = json.NewDecoder(r.Body).Decode(&body)
		sse(end)(w, r)
	})
	req := model.Request{
		Model: "m1", System: "be kind", Thinking: "low", MaxTokens: 100,
		Tools: []core.ToolSpec{
			{Name: "x", Description: "does x", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)},
			{Name: "y"},
		},
		Items: []model.Item{
			{Kind: model.User, Text: "hi", Author: &core.Author{ID: "1", Name: "Al"}},
			{Kind: model.Assistant, Think: "secret", Calls: []core.ToolCall{tool("functions.x:0", "x", `{"n":1}`), tool("b", "no such", `"{"`)}},
			{Kind: model.ToolOutput, CallID: "functions.x:0", Tool: "x"},
			{Kind: model.ToolOutput, CallID: "b", Tool: "no such", Text: "no JSON", Failed: true},
			{Kind: model.Note, Text: "restarted"},
		},
	}
	require.NoError(t, model.Validate(req.Items))
	_, _, err := model.Collect(t.Context(), clock.Real{}, p, req, model.Options{})
	require.NoError(t, err)
	require.Equal(t, "/v1/chat/completions", got.URL.Path)
	require.Equal(t, "Bearer sk-secret", got.Header.Get("Authorization"))

	// B391: an id that not every service takes is replaced, in the call and in
	// its result.
	id := body["messages"].([]any)[2].(map[string]any)["tool_calls"].([]any)[0].(map[string]any)["id"]
	require.Regexp(t, `^[a-zA-Z0-9_-]{1,40}$`, id)
	want := fmt.Sprintf(`{
		"model": "m1", "stream": true, "stream_options": {"include_usage": true}, "reasoning_effort": "low", "max_tokens": 100,
		"messages": [
			{"role": "system", "content": "be kind"},
			{"role": "user", "content": "[skein:message {\"from\":\"Al\",\"id\":\"1\"}]\nhi"},
			{"role": "assistant", "tool_calls": [
				{"id": %[1]q, "type": "function", "function": {"name": "x", "arguments": "{\"n\":1}"}},
				{"id": "b", "type": "function", "function": {"name": "no_such", "arguments": "{}"}}]},
			{"role": "tool", "tool_call_id": %[1]q, "content": "(no text)"},
			{"role": "tool", "tool_call_id": "b", "content": "[skein:tool-error]\nno JSON"},
			{"role": "user", "content": "[skein:note]\nrestarted\n[skein:end]"}
		],
		"tools": [
			{"type": "function", "function": {"name": "x", "description": "does x", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}},
			{"type": "function", "function": {"name": "y", "parameters": {"type": "object", "properties": {}}}}
		]
	}`, id)
	sent, err := json.Marshal(body)
	require.NoError(t, err)
	require.JSONEq(t, want, string(sent))
}

// sentBodies makes calls and returns the bodies of their requests; the service
// answers each with the next of answers.
func sentBodies(t *testing.T, req model.Request, answers ...http.HandlerFunc) (bodies []map[string]any, err error) {
	t.Helper()
	require.NoError(t, model.Validate(req.Items))
	p := service(t, func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		bodies = append(bodies, body)
		answers[min(len(bodies), len(answers))-1](w, r)
	})
	for range 2 {
		if _, _, err = model.Collect(t.Context(), clock.Real{}, p, req, model.Options{}); err != nil {
			return bodies, err
		}
	}
	return bodies, nil
}

func refuses(message string) http.HandlerFunc {
	return says(http.StatusBadRequest, "application/json", fmt.Sprintf(`{"error":{"message":%q}}`, message))
}

// TestB393IdsOfNineCharacters: ids for services that want them so, by the name
// of the model or after a refusal; call and result stay a pair.
func TestB393IdsOfNineCharacters(t *testing.T) {
	req := model.Request{Items: []model.Item{
		{Kind: model.User, Text: "hi"},
		{Kind: model.Assistant, Calls: []core.ToolCall{tool("call_1", "x", `{}`), tool("functions.x:0", "x", `{}`), tool("abcABC123", "x", `{}`)}},
		{Kind: model.ToolOutput, CallID: "functions.x:0", Tool: "x"},
		{Kind: model.ToolOutput, CallID: "call_1", Tool: "x"},
		{Kind: model.ToolOutput, CallID: "abcABC123", Tool: "x"},
	}}
	ids := func(body map[string]any) (calls, results []string) {
		for _, m := range body["messages"].([]any) {
			m := m.(map[string]any)
			if list, ok := m["tool_calls"].([]any); ok {
				for _, c := range list {
					calls = append(calls, c.(map[string]any)["id"].(string))
				}
			}
			if id, ok := m["tool_call_id"].(string); ok {
				results = append(results, id)
			}
		}
		return calls, results
	}
	check := func(body map[string]any) {
		calls, results := ids(body)
		require.Equal(t, []string{calls[1], calls[0], calls[2]}, results)
		for i, id := range calls {
			require.Regexp(t, `^[a-zA-Z0-9]{9}$`, id)
			require.NotContains(t, calls[:i], id)
		}
		require.Equal(t, "abcABC123", calls[2], "what is right already stays")
	}
	req.Model = "mistral-large-latest"
	bodies, err := sentBodies(t, req, sse(end))
	require.NoError(t, err)
	check(bodies[0])

	req.Model = "behind-a-proxy"
	bodies, err = sentBodies(t, req, refuses("Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."), sse(end))
	require.NoError(t, err)
	require.Len(t, bodies, 3, "it is learned once")
	calls, _ := ids(bodies[0])
	require.Equal(t, "call_1", calls[0])
	check(bodies[1])
	check(bodies[2])
}

// TestWhatAServiceRefusesIsLeftOut: services that do not know a parameter get
// requests without it from then on; a refusal of something else is one.
func TestWhatAServiceRefusesIsLeftOut(t *testing.T) {
	req := model.Request{Model: "m1", Thinking: "low", MaxTokens: 7, Items: []model.Item{
		{Kind: model.User, Text: "hi", Files: []model.File{{Name: "cat.png", Type: "image/png", Kind: model.Picture, Looked: true, Ref: "r", Data: "aGk="}}},
		{Kind: model.Assistant, Think: "hm", Calls: []core.ToolCall{tool("a", "x", `{}`)}},
		{Kind: model.ToolOutput, CallID: "a", Tool: "x"},
	}}
	bodies, err := sentBodies(t, req,
		refuses("Unrecognized request argument supplied: stream_options"), refuses("reasoning_effort is not supported"),
		refuses("Use 'max_completion_tokens' instead of 'max_tokens'"), refuses("the reasoning_content in the thinking mode must be passed back"),
		refuses("m1 does not support image input"), sse(end))
	require.NoError(t, err)
	require.Len(t, bodies, 7)
	first, err := json.Marshal(bodies[0]["messages"].([]any)[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"role": "user", "content": [
		{"type": "text", "text": "hi\n[skein:file {\"name\":\"cat.png\",\"type\":\"image/png\",\"note\":\"this picture\"}]"},
		{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]}`, string(first))
	last, err := json.Marshal(bodies[6])
	require.NoError(t, err)
	require.JSONEq(t, `{"model": "m1", "stream": true, "max_completion_tokens": 7, "messages": [
		{"role": "user", "content": "hi\n[skein:file {\"name\":\"cat.png\",\"type\":\"image/png\",\"note\":\"a picture, which you do not see here\"}]"},
		{"role": "assistant", "reasoning_content": "hm", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "x", "arguments": "{}"}}]},
		{"role": "tool", "tool_call_id": "a", "content": "(no text)"}]}`, string(last))

	bodies, err = sentBodies(t, req, refuses("stream_options again"))
	require.Equal(t, model.BadRequest, model.ClassOf(err))
	require.Len(t, bodies, 2, "the same refusal twice is one")
}

func TestRequestTokenLimit(t *testing.T) {
	for id, key := range map[string]string{"m1": "max_tokens", "gpt-4o": "max_tokens", "o3-mini": "max_completion_tokens", "openai/gpt-5": "max_completion_tokens"} {
		var body map[string]any
		p := service(t, func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewDecoder(r.Body).Decode(&body)
			sse(end)(w, r)
		})
		_, _, err := model.Collect(t.Context(), clock.Real{}, p, model.Request{Model: id, MaxTokens: 7, Thinking: "off"}, model.Options{})
		require.NoError(t, err)
		require.EqualValues(t, 7, body[key], id)
		require.NotContains(t, body, "reasoning_effort")
	}
}

func TestModels(t *testing.T) {
	p := service(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/models" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		says(http.StatusOK, "application/json", `{"object":"list","data":[{"id":"b"},{"id":""},{"id":"a"}]}`)(w, r)
	})
	ids, err := p.Models(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"b", "a"}, ids)

	for _, body := range []string{`{"data":[]}`, `<html>`, ``} {
		_, err = service(t, says(http.StatusOK, "text/html", body)).Models(t.Context())
		require.Equal(t, model.BadRequest, model.ClassOf(err))
		require.ErrorContains(t, err, "is the base URL right?")
	}
	_, err = service(t, says(http.StatusUnauthorized, "application/json", `{"error":{"message":"Incorrect API key provided: sk-secret"}}`)).Models(t.Context())
	require.Equal(t, model.Auth, model.ClassOf(err))
	require.NotContains(t, err.Error(), "sk-secret")
}

func TestNew(t *testing.T) {
	for _, base := range []string{"localhost:1234", "ftp://x/v1", "://", "http://"} {
		_, err := openai.New(openai.Config{BaseURL: base})
		require.ErrorContains(t, err, "write it like https://")
		require.Equal(t, "bad_base_url", core.ErrorCode(err))
	}
	_, err := openai.New(openai.Config{})
	require.NoError(t, err)
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
}

func TestStreamStalls(t *testing.T) {
	p := service(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, text("so far"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	_, _, err := model.Collect(t.Context(), clock.Real{}, p, model.Request{}, model.Options{Stall: 50 * time.Millisecond})
	require.Equal(t, model.Network, model.ClassOf(err))
	require.ErrorContains(t, err, "models.stallSeconds")
}

func TestStreamEndsWhenTheCallerLeaves(t *testing.T) {
	p := service(t, sse(strings.Repeat(text("la"), 100)+fragments(`{"index":0,"id":"a","function":{"name":"x"}}`)+end))
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
	p, err := openai.New(openai.Config{BaseURL: server.URL, Transport: w.Transport(&http.Transport{}), Clock: clock.Real{}})
	require.NoError(t, err)
	w.Cut()
	_, _, err = collect(t, p)
	require.ErrorIs(t, err, world.ErrKilled)
	require.False(t, asked)
}
