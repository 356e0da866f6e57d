package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/tool"
)

// builtIn returns the specs of every tool that a chat of an owner has, with
// everything switched on.
func builtIn(t *testing.T) []core.ToolSpec {
	t.Helper()
	s := newScene(t, `{ tools: { sessions_spawn: { attachments: { enabled: true } } } }`, "")
	s.say("team", "hello")
	specs := s.last("").Tools
	require.NotEmpty(t, specs)
	s.stop()
	return specs
}

// Every built-in tool says strictly what it takes: the schema can be read by a
// library of its own, no object takes what it does not name, every parameter is
// explained or explains itself, and what is required is there. Groups of the tool
// policy know each of them.
func TestSchemasOfBuiltInToolsAreStrict(t *testing.T) {
	t.Parallel()
	grouped := make(map[string]bool)
	for _, g := range policy.GroupNames() {
		for _, name := range policy.GroupTools(g) {
			grouped[name] = true
		}
	}
	for _, spec := range builtIn(t) {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			require.True(t, grouped[spec.Name], "no group of the tool policy has it")
			require.Greater(t, len(spec.Description), 40, "what it is for is said")
			resolved := resolveSchema(t, spec)
			require.Error(t, resolved.Validate(map[string]any{"no such parameter": 1}))
			var root jsonschema.Schema
			require.NoError(t, json.Unmarshal(spec.Schema, &root))
			strict(t, "", &root)
		})
	}
}

func resolveSchema(t *testing.T, spec core.ToolSpec) *jsonschema.Resolved {
	t.Helper()
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(spec.Schema, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	return resolved
}

func strict(t *testing.T, at string, s *jsonschema.Schema) {
	t.Helper()
	if s.Type == "object" {
		require.NotNil(t, s.AdditionalProperties, "%s: additionalProperties", at)
		require.NotNil(t, s.AdditionalProperties.Not, "%s: additionalProperties is false", at)
	}
	for _, name := range s.Required {
		require.Contains(t, s.Properties, name, "%s: required", at)
	}
	for name, p := range s.Properties {
		require.True(t, p.Description != "" || len(p.Enum) > 0, "%s.%s has neither a description nor its values", at, name)
		require.True(t, p.Type != "" || len(p.AnyOf) > 0, "%s.%s has no type", at, name)
		strict(t, at+"."+name, p)
	}
	if s.Items != nil {
		strict(t, at+"[]", s.Items)
	}
	for _, sub := range s.AnyOf {
		strict(t, at, sub)
	}
}

// What a tool refuses as wrongly formed is what its schema refuses: for the tools
// whose calls have no effect before their arguments are read.
func TestToolsRefuseWhatTheirSchemaRefuses(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", "")
	defer s.stop()
	s.say("team", "hello")
	tools := s.app.Registry()
	for _, spec := range s.last("").Tools {
		t.Run(spec.Name, func(t *testing.T) {
			resolved := resolveSchema(t, spec)
			x, ok := tools.Lookup(spec.Name)
			require.True(t, ok)
			rapid.Check(t, func(rt *rapid.T) {
				raw := drawArguments(rt, spec)
				var instance any
				require.NoError(rt, json.Unmarshal(raw, &instance))
				wrong := resolved.Validate(instance) != nil
				code := formOf(t.Context(), rt, s, x, raw)
				refused := code == "bad_params" || code == "unknown_param" || code == "delivery_param" || code == "thinking_unknown"
				if wrong { // with any code: some say more than that the form is wrong
					require.NotEmpty(rt, code, "the schema refuses %s", raw)
				} else if refused {
					require.True(rt, beyond(spec.Name, raw), "the schema takes %s, the tool said %q", raw, code)
				}
			})
		})
	}
}

// drawArguments is an object with parameters of the tool, right and wrong ones.
func drawArguments(t *rapid.T, spec core.ToolSpec) json.RawMessage {
	var root jsonschema.Schema
	require.NoError(t, json.Unmarshal(spec.Schema, &root))
	names := slices.Sorted(maps.Keys(root.Properties))
	out := make(map[string]json.RawMessage)
	for _, name := range names {
		if slices.Contains(root.Required, name) && rapid.IntRange(0, 9).Draw(t, name+" given") > 0 || rapid.IntRange(0, 3).Draw(t, name+" given") == 0 {
			out[name] = json.RawMessage(drawValue(t, name, root.Properties[name]))
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "more") == 0 {
		out[rapid.SampledFrom([]string{"other", "", "Session", "x y"}).Draw(t, "other")] = json.RawMessage(`1`)
	}
	raw, err := json.Marshal(out)
	require.NoError(t, err)
	return raw
}

func drawValue(t *rapid.T, name string, s *jsonschema.Schema) string {
	values := []string{`null`, `true`, `1`, `-1`, `1.5`, `61`, `""`, `"x"`, `"console:default:team"`, `[]`, `[1]`, `{}`, `{"x":1}`}
	right := values
	switch {
	case len(s.Enum) > 0:
		right = nil
		for _, e := range s.Enum {
			right = append(right, fmt.Sprintf("%q", e))
		}
	case s.Type == "string":
		right = []string{`"x"`, `"cats"`, `"console:default:team"`}
	case s.Type == "integer":
		right = []string{`1`, `2.0`, `5`}
	case s.Type == "boolean":
		right = []string{`true`, `false`}
	}
	if rapid.IntRange(0, 4).Draw(t, name+" wrong") == 0 {
		right = values
	}
	return rapid.SampledFrom(right).Draw(t, name)
}

// formOf calls a tool far enough to have its arguments read, and returns the code
// of its refusal.
func formOf(ctx context.Context, t *rapid.T, s *scene, x core.Tool, raw json.RawMessage) string {
	res, err := callTool(ctx, s, x, core.ToolCall{ID: "c", Name: x.Spec().Name, Args: raw})
	if err != nil {
		return core.ErrorCode(err)
	}
	var refusal struct{ Code string }
	if !res.Error || !strings.HasPrefix(res.Text, "{") {
		return ""
	}
	require.NoError(t, json.Unmarshal([]byte(res.Text), &refusal), res.Text)
	return refusal.Code
}

// errUndone undoes what a call did.
var errUndone = errors.New("undone")

// onlyArguments are the steps of a call of which nothing stays.
type onlyArguments struct {
	s        *scene
	res      core.ToolResult
	finished bool
}

func (o *onlyArguments) Do(ctx context.Context, fn func(tx *store.Tx) error) error {
	return o.DoWith(ctx, nil, fn)
}

func (o *onlyArguments) DoWith(context.Context, []int64, func(tx *store.Tx) error) error {
	return errUndone
}

func (o *onlyArguments) Rest(context.Context, func(context.Context)) {}

func (o *onlyArguments) Finish(ctx context.Context, fn func(tx *store.Tx) (tool.Result, error)) error {
	err := o.s.app.DB().Write(ctx, func(tx *store.Tx) error {
		res, err := fn(tx)
		if err != nil {
			return err
		}
		o.res, o.finished = res.ToolResult, true
		return errUndone
	})
	if o.finished {
		return nil
	}
	return err
}

// callTool calls a tool for a turn that does not exist.
func callTool(ctx context.Context, s *scene, x core.Tool, call core.ToolCall) (core.ToolResult, error) {
	scope := core.ToolScope{Agent: "main"}
	d, durable := x.(tool.Durable)
	if !durable {
		return x.Invoke(ctx, scope, call)
	}
	steps := &onlyArguments{s: s}
	err := d.InvokeDurable(ctx, scope, call, steps)
	return steps.res, err
}

// beyond tells what a tool refuses besides, because no schema of the kind that
// models are shown can say it.
func beyond(name string, raw json.RawMessage) bool {
	switch name {
	case "sessions_spawn", "subagents": // their parameters depend on each other
		return true
	case "sessions_send": // one of two
		var p map[string]any
		_ = json.Unmarshal(raw, &p)
		_, session := p["session"]
		_, label := p["label"]
		return session == label
	}
	return false
}
