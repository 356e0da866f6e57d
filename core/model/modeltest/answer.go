package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Say answers with a text, as services do.
func Say(text string) Answer {
	return Stream(Text(text), Finish("end"), Usage(10, 2), End())
}

// ByKey answers by the credential of the request. Any other is refused, and
// named, as a careless service does.
func ByKey(answers map[string]Answer) Answer {
	return func(w http.ResponseWriter, r *http.Request, got Request) {
		answer, known := answers[got.Key()]
		if !known {
			answer = Refuse(http.StatusUnauthorized, "authentication_error", "no such key: "+got.Key())
		}
		answer(w, r, got)
	}
}

// Stream answers with these events and then ends the body.
func Stream(events ...Event) Answer {
	return func(w http.ResponseWriter, _ *http.Request, got Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, encode(got.Protocol, events))
	}
}

// Altered is Stream with the bytes of the whole changed.
func Altered(change func(string) string, events ...Event) Answer {
	return func(w http.ResponseWriter, _ *http.Request, got Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, change(encode(got.Protocol, events)))
	}
}

// ByteByByte is Stream in packets of one byte, so that lines and characters are
// split.
func ByteByByte(events ...Event) Answer {
	return func(w http.ResponseWriter, _ *http.Request, got Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, b := range []byte(encode(got.Protocol, events)) {
			_, _ = w.Write([]byte{b})
			flush(w)
		}
	}
}

// Broken is Stream whose connection breaks behind the events.
func Broken(events ...Event) Answer {
	return func(w http.ResponseWriter, r *http.Request, got Request) {
		Stream(events...)(w, r, got)
		flush(w)
		panic(http.ErrAbortHandler) // how net/http ends a connection
	}
}

// Dropped ends the connection before any answer.
func Dropped() Answer {
	return func(http.ResponseWriter, *http.Request, Request) { panic(http.ErrAbortHandler) }
}

// Sleeper is a clock, as far as Silent needs one.
type Sleeper interface {
	Sleep(ctx context.Context, d time.Duration) error
}

// Silent is Stream that stays open and says nothing more. While it does, idle
// is called again and again, with pauses on the wall clock; in virtual time it moves the
// clock, which the world would wait for otherwise.
func Silent(wall Sleeper, idle func(), events ...Event) Answer {
	return again(wall, idle, nil, events)
}

// Pinging is Silent with a sign of life after each idle.
func Pinging(wall Sleeper, idle func(), events ...Event) Answer {
	return again(wall, idle, []Event{Ping()}, events)
}

func again(wall Sleeper, idle func(), more, events []Event) Answer {
	return func(w http.ResponseWriter, r *http.Request, got Request) {
		Stream(events...)(w, r, got)
		for flush(w); wall.Sleep(r.Context(), 2*time.Millisecond) == nil; flush(w) {
			idle()
			_, _ = io.WriteString(w, encode(got.Protocol, more))
		}
	}
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// Status answers with a status, a body and headers, given in pairs.
func Status(code int, body string, headers ...string) Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(body, "<") {
			w.Header().Set("Content-Type", "text/html")
		}
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// Refuse answers with a status and an error in the form of the protocol.
func Refuse(code int, kind, message string, headers ...string) Answer {
	return func(w http.ResponseWriter, r *http.Request, got Request) {
		Status(code, failure(got.Protocol, kind, message), headers...)(w, r, got)
	}
}

func failure(p Protocol, kind, message string) string {
	if p == Anthropic {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q}}`, kind, message)
	}
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q}}`, message, kind)
}

// Whole answers with a text in one piece, as a service does that does not
// stream.
func Whole(text string) Answer {
	return func(w http.ResponseWriter, r *http.Request, got Request) {
		body := fmt.Sprintf(`{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],
			"usage":{"prompt_tokens":10,"completion_tokens":2}}`, text)
		if got.Protocol == Anthropic {
			body = fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"text","text":%q}],"stop_reason":"end_turn",
				"usage":{"input_tokens":10,"output_tokens":2}}`, text)
		}
		Status(http.StatusOK, body)(w, r, got)
	}
}

// Results answers with how many tool results the request ends with, and whether
// each belongs to one call and the ids are as the protocol wants them: "2
// results, paired".
func Results() Answer {
	return func(w http.ResponseWriter, r *http.Request, got Request) {
		calls, results := pairs(got)
		said := fmt.Sprintf("%d results, ", len(results))
		if paired(calls, results) {
			said += "paired"
		} else {
			said += fmt.Sprintf("not paired: %q and %q", calls, results)
		}
		Say(said)(w, r, got)
	}
}

func paired(calls, results []string) bool {
	open := make(map[string]bool)
	for _, id := range calls {
		if open[id] || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || id == "" {
			return false
		}
		open[id] = true
	}
	for _, id := range results {
		if !open[id] {
			return false
		}
		delete(open, id)
	}
	return len(open) == 0
}

// pairs returns the ids of the calls and of the results of a request.
func pairs(got Request) (calls, results []string) {
	var body struct {
		Messages []struct {
			Content   json.RawMessage `json:"content"`
			ToolCalls []struct {
				ID string `json:"id"`
			} `json:"tool_calls"`
			ToolCallID string `json:"tool_call_id"`
		} `json:"messages"`
	}
	if json.Unmarshal(got.Body, &body) != nil {
		return nil, nil
	}
	for _, m := range body.Messages {
		for _, c := range m.ToolCalls {
			calls = append(calls, c.ID)
		}
		if m.ToolCallID != "" {
			results = append(results, m.ToolCallID)
		}
		var blocks []struct {
			Type      string `json:"type"`
			ID        string `json:"id"`
			ToolUseID string `json:"tool_use_id"`
		}
		_ = json.Unmarshal(m.Content, &blocks) // a text is no list of blocks
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				calls = append(calls, b.ID)
			case "tool_result":
				results = append(results, b.ToolUseID)
			}
		}
	}
	return calls, results
}
