package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// What services answer, read leniently: those that call themselves compatible
// differ in which values are null, numbers, lists or objects.

// chunk is one event of a stream, or a whole answer.
type chunk struct {
	Object  string          `json:"object"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Delta reply `json:"delta"`
	// Message is the answer as a whole: of services that do not stream, and in
	// the last event of some that do.
	Message reply `json:"message"`
	// FinishReason is null until the answer ends.
	FinishReason loose `json:"finish_reason"`
}

type reply struct {
	Content          parts      `json:"content"`
	Refusal          loose      `json:"refusal"`
	ReasoningContent parts      `json:"reasoning_content"`
	Reasoning        parts      `json:"reasoning"`
	ToolCalls        []fragment `json:"tool_calls"`
}

// text is what people may see of it.
func (m reply) text() string { return m.Content.text + string(m.Refusal) }

func (m reply) isEmpty() bool { return m.text() == "" && m.think() == "" && len(m.ToolCalls) == 0 }

// think is the reasoning, under whichever name it came.
func (m reply) think() string {
	for _, p := range []parts{m.ReasoningContent, m.Reasoning} {
		if s := p.think + p.text; s != "" {
			return s
		}
	}
	return m.Content.think
}

// fragment is a piece of a tool call, or all of one.
type fragment struct {
	Index    *int  `json:"index"`
	ID       loose `json:"id"`
	Function struct {
		Name      loose `json:"name"`
		Arguments loose `json:"arguments"` // JSON in a string, or the object itself
	} `json:"function"`
}

type usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	Details          struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	// PromptCacheHitTokens is DeepSeek's name for cached tokens.
	PromptCacheHitTokens int64 `json:"prompt_cache_hit_tokens"`
}

// loose is a string; any other value is taken as it is written, null as "".
type loose string

// UnmarshalJSON implements json.Unmarshaler.
func (l *loose) UnmarshalJSON(b []byte) error {
	*l = loose(text(b))
	return nil
}

// parts is a text that may come as a list of parts, with reasoning among them.
type parts struct{ text, think string }

// UnmarshalJSON implements json.Unmarshaler.
func (p *parts) UnmarshalJSON(b []byte) error {
	switch b = bytes.TrimSpace(b); {
	case len(b) == 0 || string(b) == "null":
		return nil
	case b[0] == '"':
		return json.Unmarshal(b, &p.text)
	case b[0] == '{':
		return p.part(b)
	case b[0] != '[':
		return fmt.Errorf("a text is expected, not %.20s", b)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	for _, one := range list {
		if err := p.part(one); err != nil {
			return err
		}
	}
	return nil
}

// part adds one part of a list.
func (p *parts) part(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		p.text += text(b)
		return nil
	}
	var one struct {
		Type     string `json:"type"`
		Text     loose  `json:"text"`
		Thinking parts  `json:"thinking"`
	}
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	if strings.Contains(one.Type, "thinking") || strings.Contains(one.Type, "reasoning") {
		p.think += string(one.Text) + one.Thinking.text
		return nil
	}
	p.text += string(one.Text)
	return nil
}
