package modeltest

import (
	"fmt"
	"strings"
)

// Event is a piece of a streamed answer, in either protocol.
type Event func(p Protocol) string

func encode(p Protocol, events []Event) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(e(p))
	}
	return b.String()
}

// data is an event with this JSON, per protocol; Anthropic's are named by their
// type.
func data(openai, anthropic string) Event {
	return func(p Protocol) string {
		if p == OpenAI {
			return "data: " + openai + "\n\n"
		}
		kind := strings.TrimPrefix(anthropic, `{"type":"`)
		kind, _, _ = strings.Cut(kind, `"`)
		return "event: " + kind + "\ndata: " + anthropic + "\n\n"
	}
}

// Text is a piece of the text.
func Text(s string) Event {
	return data(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`, s),
		fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, s))
}

// Call is a call of a tool, n counting from 0, with the first piece of its
// arguments.
func Call(n int, id, tool, args string) Event {
	return func(p Protocol) string {
		if p == OpenAI {
			return data(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]}}]}`,
				n, id, tool, args), "")(p)
		}
		return data("", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}}`,
			n+1, id, tool))(p) + Args(n, args)(p)
	}
}

// Args is another piece of the arguments of call n.
func Args(n int, args string) Event {
	return data(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"function":{"arguments":%q}}]}}]}`, n, args),
		fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`, n+1, args))
}

// Finish is why the answer ends: "end", "length", "tools" or "refusal".
func Finish(why string) Event {
	openai := map[string]string{"end": "stop", "length": "length", "tools": "tool_calls", "refusal": "content_filter"}[why]
	anthropic := map[string]string{"end": "end_turn", "length": "max_tokens", "tools": "tool_use", "refusal": "refusal"}[why]
	return data(fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, openai),
		fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":2}}`, anthropic))
}

// Usage says what the answer used; Anthropic's stream says it at its start, so
// that its place does not matter.
func Usage(in, out int) Event {
	return data(fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, in, out),
		fmt.Sprintf(`{"type":"message_start","message":{"role":"assistant","content":[],"usage":{"input_tokens":%d,"output_tokens":%d}}}`, in, out))
}

// End is the mark behind a whole answer.
func End() Event { return data("[DONE]", `{"type":"message_stop"}`) }

// Empty is an event that says nothing.
func Empty() Event { return data(`{"choices":[]}`, `{"type":"content_block_stop","index":0}`) }

// Ping is a sign of life.
func Ping() Event {
	return func(p Protocol) string {
		if p == OpenAI {
			return ": ping\n\n"
		}
		return data("", `{"type":"ping"}`)(p)
	}
}

// Failure is an error in the middle of a stream.
func Failure(kind, message string) Event {
	return func(p Protocol) string { return data(failure(p, kind, message), failure(p, kind, message))(p) }
}

// Raw is these bytes.
func Raw(s string) Event { return func(Protocol) string { return s } }
