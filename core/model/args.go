package model

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/skein-bot/skein/core"
)

// Arguments returns the arguments of a call as a model wrote them in a form
// that can be stored and sent: a JSON object, without NUL. Nothing at all
// becomes {}, and an object inside a JSON string, as some models write it, that
// object. Anything else is kept whole as a JSON string, which is how a ToolCall
// says that its arguments are unusable: see BadArgs. Arguments of what it
// returned is the same again.
func Arguments(raw string) json.RawMessage {
	raw = strings.TrimSpace(Clean(raw))
	if s := ""; strings.HasPrefix(raw, `"`) && json.Unmarshal([]byte(raw), &s) == nil {
		raw = strings.TrimSpace(Clean(s))
	}
	if raw == "" || raw == "null" {
		return json.RawMessage(`{}`)
	}
	if raw[0] != '{' || !json.Valid([]byte(raw)) {
		return encode(raw)
	}
	if !strings.Contains(raw, `\u0000`) {
		return json.RawMessage(raw)
	}
	var v any
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return encode(raw)
	}
	return encode(withoutNUL(v))
}

// BadArgs reports whether the model wrote arguments that are no JSON object,
// and returns what it wrote. The turn must not run such a call: it answers it
// with an error result that names the mistake, so that the model can repeat
// the call.
func BadArgs(call core.ToolCall) (raw string, bad bool) {
	args := bytes.TrimSpace(call.Args)
	if len(args) == 0 || args[0] == '{' && json.Valid(args) {
		return "", false
	}
	if json.Unmarshal(args, &raw) != nil {
		raw = string(args)
	}
	return raw, true
}

// encode returns v as JSON without HTML escapes; v holds only what a decoder
// made, so it cannot fail.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return json.RawMessage(bytes.TrimRight(b.Bytes(), "\n"))
}

func withoutNUL(v any) any {
	switch v := v.(type) {
	case string:
		return Clean(v)
	case []any:
		for i := range v {
			v[i] = withoutNUL(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, value := range v {
			clean[Clean(key)] = withoutNUL(value)
		}
		return clean
	}
	return v
}

// Clean replaces NUL and invalid UTF-8 in s, which stores and services refuse,
// by U+FFFD.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}
