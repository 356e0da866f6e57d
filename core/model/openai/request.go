package openai

import (
	"encoding/json"

	api "github.com/sashabaranov/go-openai"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

// request returns req in the form that its service wants. Its items must be
// valid (model.Repair).
func request(req model.Request, q quirks) api.ChatCompletionRequest {
	out := api.ChatCompletionRequest{Model: req.Model, Messages: messages(req, q), Tools: tools(req.Tools), Stream: true}
	if !q.noStreamOptions {
		out.StreamOptions = &api.StreamOptions{IncludeUsage: true}
	}
	if req.Thinking != "" && req.Thinking != "off" && !q.noEffort {
		out.ReasoningEffort = req.Thinking
	}
	if q.newTokenLimit {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens //nolint:staticcheck // most compatible servers know no other key
	}
	return out
}

func messages(req model.Request, q quirks) []api.ChatCompletionMessage {
	var out []api.ChatCompletionMessage
	if req.System != "" {
		out = append(out, api.ChatCompletionMessage{Role: api.ChatMessageRoleSystem, Content: req.System})
	}
	id := model.SentID
	if q.shortIDs {
		id = model.ShortIDs()
	}
	for _, i := range req.Items {
		out = append(out, message(i, q, id))
	}
	return out
}

// message returns one item; id gives call ids the form in which they are sent.
// Reasoning is not sent back, for services refuse it or charge for it, but to
// those that want it with the calls it led to.
func message(i model.Item, q quirks, id func(string) string) api.ChatCompletionMessage {
	m := api.ChatCompletionMessage{Role: api.ChatMessageRoleUser}
	switch i.Kind {
	case model.User:
		return userMessage(i, q)
	case model.Assistant:
		m.Role = api.ChatMessageRoleAssistant
		for _, c := range i.Calls {
			m.ToolCalls = append(m.ToolCalls, api.ToolCall{
				ID: id(c.ID), Type: api.ToolTypeFunction,
				Function: api.FunctionCall{Name: model.SentName(c.Name), Arguments: string(model.SentArgs(c))},
			})
		}
		if len(i.Calls) > 0 && q.wantsReasoning && !q.noReasoningField {
			m.ReasoningContent = i.Think
		}
	case model.ToolOutput:
		m.Role, m.ToolCallID = api.ChatMessageRoleTool, id(i.CallID)
	}
	m.Content = model.Render(i)
	if m.Content == "" && len(m.ToolCalls) == 0 {
		m.Content = noText
	}
	return m
}

// noText stands for an empty content, which would not be sent at all, and is
// refused then.
const noText = "(no text)"

// userMessage returns what a person wrote, with the pictures behind it.
func userMessage(i model.Item, q quirks) api.ChatCompletionMessage {
	m := api.ChatCompletionMessage{Role: api.ChatMessageRoleUser}
	if q.noPictures {
		i = model.WithoutPictures(i)
	}
	text := model.Render(i)
	if text == "" {
		text = noText
	}
	for _, f := range i.Files {
		if f.Data != "" {
			url := "data:" + f.Type + ";base64," + f.Data
			m.MultiContent = append(m.MultiContent, api.ChatMessagePart{Type: api.ChatMessagePartTypeImageURL, ImageURL: &api.ChatMessageImageURL{URL: url}})
		}
	}
	if len(m.MultiContent) == 0 {
		m.Content = text
		return m
	}
	m.MultiContent = append([]api.ChatMessagePart{{Type: api.ChatMessagePartTypeText, Text: text}}, m.MultiContent...)
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
