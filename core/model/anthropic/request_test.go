package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/model"
)

// sent makes a call and returns the body of its request.
func sent(t *testing.T, req model.Request) map[string]any {
	t.Helper()
	require.NoError(t, model.Validate(req.Items))
	var body map[string]any
	p := service(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/messages" && r.Header.Get("X-Api-Key") == "sk-secret" && r.Header.Get("Anthropic-Version") != "" {
			_ = json.NewDecoder(r.Body).Decode(&body)
		}
		sse(end)(w, r)
	})
	_, _, err := model.Collect(t.Context(), clock.Real{}, p, req, model.Options{})
	require.NoError(t, err)
	require.NotNil(t, body, "the service could not know the request")
	return body
}

func TestRequest(t *testing.T) {
	body := sent(t, model.Request{
		Model: "m1", System: "be kind", MaxTokens: 100, Thinking: "off",
		Tools: []core.ToolSpec{
			{Name: "x", Description: "does x", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}, {Name: "y"},
		},
		Items: []model.Item{
			{Kind: model.User, Text: "hi", Author: &core.Author{ID: "1", Name: "Al"}},
			{Kind: model.User, Text: "there"},
			{Kind: model.Assistant, Think: "secret", Calls: []core.ToolCall{tool("functions.x:0", "x", `{"n":1}`), tool("b", "no such", `"{"`)}},
			{Kind: model.ToolOutput, CallID: "functions.x:0", Tool: "x"},
			{Kind: model.ToolOutput, CallID: "b", Tool: "no such", Text: "no JSON", Failed: true},
			{Kind: model.Note, Text: "restarted"},
		},
	})
	// B391: an id that not every service takes is replaced, in the call and in
	// its result.
	id := body["messages"].([]any)[1].(map[string]any)["content"].([]any)[0].(map[string]any)["id"]
	require.Regexp(t, `^[a-zA-Z0-9_-]+$`, id)
	want := fmt.Sprintf(`{
		"model": "m1", "stream": true, "max_tokens": 100,
		"system": [{"type": "text", "text": "be kind", "cache_control": {"type": "ephemeral"}}],
		"messages": [
			{"role": "user", "content": [
				{"type": "text", "text": "[skein:message {\"from\":\"Al\",\"id\":\"1\"}]\nhi"},
				{"type": "text", "text": "there"}]},
			{"role": "assistant", "content": [
				{"type": "tool_use", "id": %[1]q, "name": "x", "input": {"n": 1}},
				{"type": "tool_use", "id": "b", "name": "no_such", "input": {}}]},
			{"role": "user", "content": [
				{"type": "tool_result", "tool_use_id": %[1]q, "is_error": false, "content": [{"type": "text", "text": "(no text)"}]},
				{"type": "tool_result", "tool_use_id": "b", "is_error": true, "content": [{"type": "text", "text": "[skein:tool-error]\nno JSON"}]},
				{"type": "text", "text": "[skein:note]\nrestarted\n[skein:end]", "cache_control": {"type": "ephemeral"}}]}
		],
		"tools": [
			{"name": "x", "description": "does x", "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}}},
			{"name": "y", "input_schema": {"type": "object", "properties": {}}}
		]
	}`, id)
	got, err := json.Marshal(body)
	require.NoError(t, err)
	require.JSONEq(t, want, string(got))
}

func TestRequestBeginsWithTheUser(t *testing.T) {
	body := sent(t, model.Request{Items: []model.Item{{Kind: model.Assistant, Text: "Good morning."}, {Kind: model.User, Text: " "}}})
	got, err := json.Marshal(body["messages"])
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"role": "user", "content": [{"type": "text", "text": "(no text)"}]},
		{"role": "assistant", "content": [{"type": "text", "text": "Good morning."}]},
		{"role": "user", "content": [{"type": "text", "text": "(no text)", "cache_control": {"type": "ephemeral"}}]}
	]`, string(got))
}

func TestRequestThinking(t *testing.T) {
	hi := []model.Item{{Kind: model.User, Text: "hi"}}
	step := slices.Concat(hi, []model.Item{
		{Kind: model.Assistant, Calls: []core.ToolCall{tool("a", "x", `{}`)}}, {Kind: model.ToolOutput, CallID: "a", Tool: "x", Text: "done"},
	})
	next := slices.Concat(step, []model.Item{{Kind: model.Assistant, Text: "It is done."}}, hi)
	signed := slices.Clone(step)
	signed[1].Thoughts = []model.Thought{{Model: "claude-opus-4-20250514", Text: "hm", Signature: "xyz"}}
	budget := func(n int) string { return fmt.Sprintf(`{"type":"enabled","budget_tokens":%d}`, n) }
	const adaptive = `{"type":"adaptive","display":"summarized"}`
	for _, c := range []struct {
		model, level string
		items        []model.Item
		maxTokens    int
		thinking     string
		effort       any
		limit        int
	}{
		{"claude-sonnet-4-5", "", hi, 0, `null`, nil, 8192},
		{"claude-sonnet-4-5", "off", hi, 7, `null`, nil, 7},
		{"claude-sonnet-4-5", "minimal", hi, 0, budget(1024), nil, 9216},
		{"claude-sonnet-4-5-20250929", "low", hi, 0, budget(4096), nil, 12288},
		{"claude-3-7-sonnet-latest", "medium", hi, 0, budget(8192), nil, 16384},
		{"some-other", "high", hi, 100, `null`, nil, 100}, // the limit leaves no room for it
		{"some-other", "high", hi, 9000, budget(7976), nil, 9000},
		{"claude-opus-4-20250514", "high", signed, 0, budget(16384), nil, 24576},
		{"claude-opus-4-1", "high", signed, 0, `null`, nil, 8192},      // another model signed it
		{"claude-opus-4-20250514", "high", step, 0, `null`, nil, 8192}, // no signature to send back
		{"claude-opus-4-1", "low", next, 0, budget(4096), nil, 12288},
		{"claude-opus-4-6", "minimal", hi, 0, adaptive, "low", 9216},
		{"claude-sonnet-5", "high", step, 0, adaptive, "high", 24576},
	} {
		body := sent(t, model.Request{Model: c.model, Thinking: c.level, Items: c.items, MaxTokens: c.maxTokens})
		got, err := json.Marshal(body["thinking"])
		require.NoError(t, err)
		require.JSONEq(t, c.thinking, string(got), c.model)
		output, _ := body["output_config"].(map[string]any)
		require.Equal(t, c.effort, output["effort"], c.model)
		require.EqualValues(t, c.limit, body["max_tokens"], c.model)
	}
}

func TestRequestThatCannotBeEncoded(t *testing.T) {
	p := service(t, sse(end))
	_, _, err := model.Collect(t.Context(), clock.Real{}, p, model.Request{Tools: []core.ToolSpec{{Name: "x", Schema: json.RawMessage(`{`)}}}, model.Options{})
	require.Equal(t, model.BadRequest, model.ClassOf(err))
	require.ErrorContains(t, err, "encode the request")
}

// TestThoughtsAreSentBack: a turn with thinking goes on after a call; only the
// model that thought gets its thoughts, and only while it is to think.
func TestThoughtsAreSentBack(t *testing.T) {
	req := model.Request{Model: "claude-opus-4-6", Thinking: "low", Items: []model.Item{
		{Kind: model.User, Text: "hi"},
		{
			Kind: model.Assistant, Text: "Let me see.", Calls: []core.ToolCall{tool("a", "x", `{}`)}, Think: "hm",
			Thoughts: []model.Thought{{Model: "claude-opus-4-6", Text: "hm", Signature: "xyz"}, {Model: "claude-opus-4-6", Redacted: "zzz"}},
		},
		{Kind: model.ToolOutput, CallID: "a", Tool: "x", Text: "done"},
	}}
	answer := func() string {
		got, err := json.Marshal(sent(t, req)["messages"].([]any)[1].(map[string]any)["content"])
		require.NoError(t, err)
		return string(got)
	}
	const rest = `{"type":"text","text":"Let me see."},{"type":"tool_use","id":"a","name":"x","input":{}}]`
	require.JSONEq(t, `[{"type":"thinking","thinking":"hm","signature":"xyz"},{"type":"redacted_thinking","data":"zzz"},`+rest, answer())
	req.Thinking = "off"
	require.JSONEq(t, `[`+rest, answer())
	req.Thinking, req.Model = "low", "claude-opus-4-7"
	require.JSONEq(t, `[`+rest, answer())
}

func TestPicturesAreSent(t *testing.T) {
	body := sent(t, model.Request{Items: []model.Item{{
		Kind: model.User, Text: "what is this?",
		Files: []model.File{{Name: "cat.png", Type: "image/png", Kind: model.Picture, Looked: true, Ref: "r", Data: "aGk="}},
	}}})
	got, err := json.Marshal(body["messages"])
	require.NoError(t, err)
	require.JSONEq(t, `[{"role": "user", "content": [
		{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
		{"type": "text", "text": "what is this?\n[skein:file {\"name\":\"cat.png\",\"type\":\"image/png\",\"note\":\"this picture\"}]",
			"cache_control": {"type": "ephemeral"}}]}]`, string(got))
}
