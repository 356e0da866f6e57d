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
		Model: req.Model, Tools: tools(req.Tools), MaxTokens: int64(req.MaxTokens),
	}
	if out.MaxTokens <= 0 {
		out.MaxTokens = defaultMaxTokens
	}
	if strings.TrimSpace(req.System) != "" {
		out.System = []api.TextBlockParam{{Text: req.System, CacheControl: api.NewCacheControlEphemeralParam()}}
	}
	thinks := think(&out, req)
	if !thinks {
		req.Model = "" // no model takes thoughts back
	}
	out.Messages = messages(req.Model, req.Items)
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

// minBudget is the smallest budget that the service takes.
const minBudget = 1024

// think asks for thinking, whose tokens count against the limit too, and
// reports whether it did.
func think(out *api.MessageNewParams, req model.Request) bool {
	t, ok := level(req.Thinking)
	if ok && req.MaxTokens > 0 { // the limit is the model's own
		t.budget = min(t.budget, int64(req.MaxTokens)-minBudget)
	}
	switch {
	case !ok, t.budget < minBudget:
		return false
	case strings.Contains(req.Model, "claude-") && !budgeted.MatchString(req.Model):
		out.Thinking.OfAdaptive = &api.ThinkingConfigAdaptiveParam{Display: api.ThinkingConfigAdaptiveDisplaySummarized}
		out.OutputConfig.Effort = t.effort
	case wantsThoughts(req):
		return false // it has none to show, and would be refused
	default:
		out.Thinking = api.ThinkingConfigParamOfEnabled(t.budget)
	}
	if req.MaxTokens <= 0 {
		out.MaxTokens += t.budget
	}
	return true
}

// wantsThoughts reports whether the turn goes on after calls whose thoughts the
// service would want to see, but which the transcript does not have: another
// model made the calls, or this one before it was asked to think.
func wantsThoughts(req model.Request) bool {
	after := false
	for n := len(req.Items) - 1; n >= 0; n-- {
		switch i := req.Items[n]; i.Kind {
		case model.ToolOutput:
			after = true
		case model.Assistant:
			return after && len(thoughts(req.Model, i)) == 0
		}
	}
	return false
}

// thoughts returns the signed thoughts of an item that a model takes back.
func thoughts(id string, i model.Item) (out []api.ContentBlockParamUnion) {
	for _, t := range i.Thoughts {
		switch {
		case t.Model != id:
		case t.Redacted != "":
			out = append(out, api.NewRedactedThinkingBlock(t.Redacted))
		default:
			out = append(out, api.NewThinkingBlock(t.Signature, t.Text))
		}
	}
	return out
}

// messages returns the items as turns: what one role says in a row is one
// message, so that all results of a message's calls stand right after it.
func messages(id string, items []model.Item) []api.MessageParam {
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
		last.Content = append(last.Content, blocks(id, i)...)
	}
	if len(out) > 0 {
		end := out[len(out)-1].Content
		if mark := end[len(end)-1].GetCacheControl(); mark != nil {
			*mark = api.NewCacheControlEphemeralParam()
		}
	}
	return out
}

// blocks returns one item; never nothing. Only signed thoughts are sent back,
// and only to the model that had them; id is "" where it is not to think.
func blocks(id string, i model.Item) []api.ContentBlockParamUnion {
	text := model.Render(i)
	empty := strings.TrimSpace(text) == ""
	if empty {
		text = noText
	}
	if i.Kind == model.ToolOutput {
		return []api.ContentBlockParamUnion{api.NewToolResultBlock(model.SentID(i.CallID), text, i.Failed)}
	}
	out := thoughts(id, i)
	for _, f := range i.Files {
		if f.Data != "" {
			out = append(out, api.NewImageBlockBase64(f.Type, f.Data))
		}
	}
	if !empty || len(out)+len(i.Calls) == 0 {
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
