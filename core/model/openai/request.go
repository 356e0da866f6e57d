package openai

import (
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
				ID: model.SentID(c.ID), Type: api.ToolTypeFunction,
				Function: api.FunctionCall{Name: model.SentName(c.Name), Arguments: string(model.SentArgs(c))},
			})
		}
	case model.ToolOutput:
		m.Role, m.ToolCallID = api.ChatMessageRoleTool, model.SentID(i.CallID)
	}
	if m.Content == "" && len(m.ToolCalls) == 0 {
		m.Content = "(no text)" // an empty content would not be sent at all, and is refused then
	}
	return m
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
