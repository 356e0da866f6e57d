package anthropic

import (
	"regexp"
	"strings"

	api "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

// defaultMaxTokens limits an answer where the request does not; the service
// needs a limit. Thinking comes on top of it.
const defaultMaxTokens = 8192

// noText stands for a text that is empty, which the service refuses.
const noText = "(no text)"

// request returns req in the service's form. Its items must be valid
// (model.Repair).
func request(req model.Request) api.MessageNewParams {
	out := api.MessageNewParams{
		Model: req.Model, Messages: messages(req.Items), Tools: tools(req.Tools), MaxTokens: int64(req.MaxTokens),
	}
	if out.MaxTokens <= 0 {
		out.MaxTokens = defaultMaxTokens
	}
	if strings.TrimSpace(req.System) != "" {
		out.System = []api.TextBlockParam{{Text: req.System, CacheControl: api.NewCacheControlEphemeralParam()}}
	}
	think(&out, req)
	return out
}

// thinking is what a level asks for.
type thinking struct {
	budget int64 // tokens
	effort api.OutputConfigEffort
}

// level returns what a level asks for; ok is false where it asks for nothing.
func level(name string) (t thinking, ok bool) {
	switch name {
	case "minimal":
		return thinking{1024, api.OutputConfigEffortLow}, true
	case "low":
		return thinking{4096, api.OutputConfigEffortLow}, true
	case "medium":
		return thinking{8192, api.OutputConfigEffortMedium}, true
	case "high":
		return thinking{16384, api.OutputConfigEffortHigh}, true
	}
	return thinking{}, false
}

// budgeted matches the vendor's models that take a budget; it has replaced
// that by an effort since.
var budgeted = regexp.MustCompile(`claude-(3|[a-z]+-4(-[0-5])?(-\d{8}|-latest)?$)`)

// think asks for thinking, whose tokens count against the limit too.
func think(out *api.MessageNewParams, req model.Request) {
	t, ok := level(req.Thinking)
	switch {
	case !ok:
		return
	case strings.Contains(req.Model, "claude-") && !budgeted.MatchString(req.Model):
		out.Thinking.OfAdaptive = &api.ThinkingConfigAdaptiveParam{Display: api.ThinkingConfigAdaptiveDisplaySummarized}
		out.OutputConfig.Effort = t.effort
	case afterTool(req.Items):
		return // the service would want the signature of what was thought before
	default:
		out.Thinking = api.ThinkingConfigParamOfEnabled(t.budget)
	}
	out.MaxTokens += t.budget
}

// afterTool reports whether the model has called a tool since it last gave an
// answer, so that its turn goes on.
func afterTool(items []model.Item) bool {
	for n := len(items) - 1; n >= 0; n-- {
		switch items[n].Kind {
		case model.ToolOutput:
			return true
		case model.Assistant:
			return false
		}
	}
	return false
}

// messages returns the items as turns: what one role says in a row is one
// message, so that all results of a message's calls stand right after it.
func messages(items []model.Item) []api.MessageParam {
	var out []api.MessageParam
	for _, i := range items {
		role := api.MessageParamRoleUser
		if i.Kind == model.Assistant {
			role = api.MessageParamRoleAssistant
		}
		if len(out) == 0 && role == api.MessageParamRoleAssistant {
			out = append(out, api.NewUserMessage(api.NewTextBlock(noText))) // the service wants the user first
		}
		if len(out) == 0 || out[len(out)-1].Role != role {
			out = append(out, api.MessageParam{Role: role})
		}
		last := &out[len(out)-1]
		last.Content = append(last.Content, blocks(i)...)
	}
	if len(out) > 0 {
		end := out[len(out)-1].Content
		*end[len(end)-1].GetCacheControl() = api.NewCacheControlEphemeralParam()
	}
	return out
}

// blocks returns one item; never nothing. Thinking is not sent back.
func blocks(i model.Item) []api.ContentBlockParamUnion {
	text := model.Render(i)
	empty := strings.TrimSpace(text) == ""
	if empty {
		text = noText
	}
	if i.Kind == model.ToolOutput {
		return []api.ContentBlockParamUnion{api.NewToolResultBlock(model.SentID(i.CallID), text, i.Failed)}
	}
	var out []api.ContentBlockParamUnion
	if !empty || len(i.Calls) == 0 {
		out = append(out, api.NewTextBlock(text))
	}
	for _, c := range i.Calls {
		out = append(out, api.NewToolUseBlock(model.SentID(c.ID), model.SentArgs(c), model.SentName(c.Name)))
	}
	return out
}

func tools(specs []core.ToolSpec) []api.ToolUnionParam {
	var out []api.ToolUnionParam
	for _, s := range specs {
		t := api.ToolParam{Name: s.Name, InputSchema: api.ToolInputSchemaParam{Properties: struct{}{}}}
		if s.Description != "" {
			t.Description = api.String(s.Description)
		}
		if len(s.Schema) > 0 {
			t.InputSchema = param.Override[api.ToolInputSchemaParam](s.Schema)
		}
		out = append(out, api.ToolUnionParam{OfTool: &t})
	}
	return out
}
