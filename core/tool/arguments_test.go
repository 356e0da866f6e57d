package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/tool"
)

const sample = `{"type":"object","additionalProperties":false,"required":["name"],"properties":{
	"name":{"type":"string","minLength":1,"maxLength":5,"pattern":"^[a-z]*$","description":"A name."},
	"mode":{"type":"string","enum":["fast","slow"]},
	"count":{"type":"integer","minimum":0,"maximum":10,"description":"How many."},
	"share":{"type":"number","minimum":0.5,"description":"A part."},
	"sure":{"type":"boolean","description":"Whether."},
	"tags":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b"]},"description":"Tags."},
	"join":{"anyOf":[{"type":"string","enum":["all","any"]},{"type":"integer","minimum":1}],"description":"When."},
	"some":{"type":"object","additionalProperties":false,"minProperties":1,"properties":{"x":{"type":"number","exclusiveMinimum":1,"description":"X."}},"description":"Some."},
	"at":{"type":"object","additionalProperties":false,"required":["x"],"properties":{"x":{"type":"integer","description":"X."}},"description":"Where."}
}}`

func TestArgumentsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	args := tool.MustArguments(sample)
	for _, c := range []struct{ raw, code, text string }{
		{``, "bad_params", "name is missing"},
		{`{`, "bad_params", "the arguments are no JSON: unexpected EOF"},
		{`[]`, "bad_params", "the arguments must be an object"},
		{`{"name":"a"} x`, "bad_params", "something follows the arguments (write one JSON object)"},
		{`{"name":"a","nam":1}`, "unknown_param", `unknown parameter "nam" (known: at, count, join, mode, name, share, some, sure, tags)`},
		{`{"Name":"a"}`, "unknown_param", `unknown parameter "Name" (known: at, count, join, mode, name, share, some, sure, tags)`},
		{`{"name":""}`, "bad_params", "name is empty"},
		{`{"name":null}`, "bad_params", "name must be a string"},
		{`{"name":"abcdef"}`, "bad_params", "name has 6 characters, more than 5"},
		{`{"name":"A"}`, "bad_params", `name "A" is not allowed (it must match ^[a-z]*$)`},
		{`{"name":"a","mode":"x"}`, "bad_params", `mode "x" is unknown (use fast, slow)`},
		{`{"name":"a","count":11}`, "bad_params", "count is 11, above 10"},
		{`{"name":"a","count":-1}`, "bad_params", "count is -1, below 0"},
		{`{"name":"a","count":1.5}`, "bad_params", "count must be a whole number"},
		{`{"name":"a","share":0.4}`, "bad_params", "share is 0.4, below 0.5"},
		{`{"name":"a","sure":"yes"}`, "bad_params", "sure must be true or false"},
		{`{"name":"a","tags":[]}`, "bad_params", "tags has 0 entries, fewer than 1"},
		{`{"name":"a","tags":["a","b","a"]}`, "bad_params", "tags has 3 entries, more than 2"},
		{`{"name":"a","tags":["c"]}`, "bad_params", `tags[0] "c" is unknown (use a, b)`},
		{`{"name":"a","join":0}`, "bad_params", "join must be all or any or a whole number from 1"},
		{`{"name":"a","some":{}}`, "bad_params", "some has 0 entries, fewer than 1"},
		{`{"name":"a","some":{"x":1}}`, "bad_params", "some.x is 1, not above 1"},
		{`{"name":"a","at":{}}`, "bad_params", "at.x is missing"},
		{`{"name":"a","at":{"y":1}}`, "unknown_param", `unknown parameter "at.y" (known: x)`},
	} {
		err := args.Read(json.RawMessage(c.raw), &struct{}{})
		require.EqualError(t, err, c.text, c.raw)
		require.Equal(t, c.code, core.ErrorCode(err), c.raw)
	}
}

func TestArgumentsAreRead(t *testing.T) {
	t.Parallel()
	var p struct {
		Name  string          `json:"name"`
		Count int             `json:"count"`
		Join  json.RawMessage `json:"join"`
		At    struct{ X int64 }
	}
	err := tool.MustArguments(sample).Read(json.RawMessage(`{"name":"a","count":3.0,"join":2,"at":{"x":1e2}}`), &p)
	require.NoError(t, err)
	require.Equal(t, 3, p.Count)
	require.EqualValues(t, 100, p.At.X)
	require.JSONEq(t, `2`, string(p.Join))
}

// What is refused is exactly what the schema refuses, by another reading of it.
func TestArgumentsRefuseWhatTheSchemaRefuses(t *testing.T) {
	t.Parallel()
	args := tool.MustArguments(sample)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(args.Schema(), &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	value := rapid.OneOf(
		rapid.Just(`null`), rapid.Just(`true`), rapid.Just(`""`), rapid.Just(`"abc"`), rapid.Just(`"all"`), rapid.Just(`"fast"`), rapid.Just(`0`),
		rapid.Just(`3`), rapid.Just(`3.0`), rapid.Just(`3.5`), rapid.Just(`-1`), rapid.Just(`11`), rapid.Just(`[]`), rapid.Just(`["a"]`), rapid.Just(`["a","a","b"]`),
		rapid.Just(`{}`), rapid.Just(`{"x":1}`), rapid.Just(`{"x":1,"y":2}`), rapid.Just(`{"x":"1"}`), rapid.Just(`"über"`), rapid.Just(`"überall"`),
	)
	keys := rapid.SampledFrom(append(args.Names(), "other", "Name", "name", "name"))
	rapid.Check(t, func(t *rapid.T) {
		object := make(map[string]json.RawMessage)
		for key, v := range rapid.MapOfN(keys, value, 0, 4).Draw(t, "arguments") {
			object[key] = json.RawMessage(v)
		}
		raw, err := json.Marshal(object)
		require.NoError(t, err)
		var instance any
		require.NoError(t, json.Unmarshal(raw, &instance))
		require.Equal(t, resolved.Validate(instance) == nil, args.Read(raw, &struct{}{}) == nil, string(raw))
	})
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"name":"a"}`, `{"name":"a","count":1e400}`, `{"name":"a","count":1e9}`, `[`, `"{}"`} {
		f.Add(s)
	}
	args := tool.MustArguments(sample)
	f.Fuzz(func(t *testing.T, raw string) {
		var p struct {
			Count int64 `json:"count"`
		}
		if err := args.Read(json.RawMessage(raw), &p); err != nil {
			require.NotEmpty(t, core.ErrorCode(err))
			return
		}
		require.LessOrEqual(t, p.Count, int64(10))
	})
}

func TestSchemasThatTakeAnythingPanic(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"type":"object","properties":{}}`, `{"type":"string"}`, `{"type":"object","additionalProperties":false,"oneOf":[]}`, `{`,
		`{"type":"object","additionalProperties":false,"properties":{"x":{"type":"object"}}}`,
	} {
		require.Panics(t, func() { tool.MustArguments(schema) }, schema)
	}
}
