package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"

	api "github.com/sashabaranov/go-openai"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

// request returns req in the service's form. Its items must be valid
// (model.Repair).
func request(req model.Request) api.ChatCompletionRequest {
	out := api.ChatCompletionRequest{
		Model: req.Model, Messages: messages(req), Tools: tools(req.Tools),
		Stream: true, StreamOptions: &api.StreamOptions{IncludeUsage: true},
	}
	if req.Thinking != "" && req.Thinking != "off" {
		out.ReasoningEffort = req.Thinking
	}
	if newTokenLimit.MatchString(req.Model) {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens //nolint:staticcheck // most compatible servers know no other key
	}
	return out
}

// newTokenLimit matches the models that refuse max_tokens; other servers may
// know nothing else.
var newTokenLimit = regexp.MustCompile(`(^|/)(o[1-9]|gpt-[5-9])`)

func messages(req model.Request) []api.ChatCompletionMessage {
	var out []api.ChatCompletionMessage
	if req.System != "" {
		out = append(out, api.ChatCompletionMessage{Role: api.ChatMessageRoleSystem, Content: req.System})
	}
	for _, i := range req.Items {
		out = append(out, message(i))
	}
	return out
}

// message returns one item. Reasoning is not sent back: services refuse it or
// charge for it.
func message(i model.Item) api.ChatCompletionMessage {
	m := api.ChatCompletionMessage{Role: api.ChatMessageRoleUser, Content: model.Render(i)}
	switch i.Kind {
	case model.Assistant:
		m.Role = api.ChatMessageRoleAssistant
		for _, c := range i.Calls {
			m.ToolCalls = append(m.ToolCalls, api.ToolCall{
				ID: callID(c.ID), Type: api.ToolTypeFunction,
				Function: api.FunctionCall{Name: toolName(c.Name), Arguments: arguments(c)},
			})
		}
	case model.ToolOutput:
		m.Role, m.ToolCallID = api.ChatMessageRoleTool, callID(i.CallID)
	}
	if m.Content == "" && len(m.ToolCalls) == 0 {
		m.Content = "(no text)" // an empty content would not be sent at all, and is refused then
	}
	return m
}

// arguments returns the arguments of a call as they are sent back: bad ones,
// which services refuse, as {}. The result of the call tells what was wrong.
func arguments(c core.ToolCall) string {
	if _, bad := model.BadArgs(c); bad || len(c.Args) == 0 {
		return "{}"
	}
	return string(c.Args)
}

func tools(specs []core.ToolSpec) []api.Tool {
	var out []api.Tool
	for _, s := range specs {
		schema := s.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out = append(out, api.Tool{Type: api.ToolTypeFunction, Function: &api.FunctionDefinition{
			Name: s.Name, Description: s.Description, Parameters: schema,
		}})
	}
	return out
}

var (
	goodID  = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
	badName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
)

// callID returns an id that every service takes; equal ids stay equal, so call
// and result still belong together.
func callID(id string) string {
	if goodID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// toolName returns the name of a call that a model may have made up in a form
// that services take back.
func toolName(name string) string {
	name = badName.ReplaceAllString(name, "_")
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), 64)]
}
