package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/config/json5"
)

func resolvedSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(config.Schema(), &schema))
	require.Equal(t, "https://json-schema.org/draft/2020-12/schema", schema.Schema)
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	return resolved
}

func TestSchemaAcceptsTheSample(t *testing.T) {
	src, err := os.ReadFile("testdata/sample.json5")
	require.NoError(t, err)
	tree, err := json5.Parse("sample.json5", src)
	require.NoError(t, err)
	require.NoError(t, resolvedSchema(t).Validate(tree.Interface()))
}

func TestSchemaRefuses(t *testing.T) {
	schema := resolvedSchema(t)
	for _, src := range []string{
		`{ sesion: {} }`,
		`{ agents: { defaults: { subagents: { maxSpawnDepth: 6 } } } }`,
		`{ agents: { defaults: { maxSteps: "5" } } }`,
		`{ logging: { level: "loud" } }`,
		`{ channels: { console: { allowBots: "true" } } }`,
		`{ routes: [{}] }`,
		`{ models: { providers: { p: { type: "openai", apiKey: { sorce: "env" } } } } }`,
	} {
		tree, err := json5.Parse("", []byte(src))
		require.NoError(t, err)
		require.Error(t, schema.Validate(tree.Interface()), src)
	}
}

// TestEveryKeyRoundTrips draws documents from the description of the keys. Each
// must be accepted by the decoder and by the schema, and come back the same
// from encoding and decoding (B349, for every key).
func TestEveryKeyRoundTrips(t *testing.T) {
	schema := resolvedSchema(t)
	opts := config.Options{Env: noEnv, Home: "/home/skein", Built: config.AllParts()}
	rapid.Check(t, func(t *rapid.T) {
		d := &drawer{t: t}
		tree := d.object(config.Keys())
		text, err := json.Marshal(tree)
		require.NoError(t, err)
		require.NoError(t, schema.Validate(tree.Interface()), "%s", text)

		c, _, err := config.Parse("<drawn>", text, opts)
		require.NoError(t, err)
		written, err := json.Marshal(c)
		require.NoError(t, err)
		again, _, err := config.Parse("<written>", written, opts)
		require.NoError(t, err, "%s", written)
		require.Empty(t, config.Diff(c, again), "%s\n%s", text, written)
		require.Empty(t, config.Diff(again, c))
		rewritten, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(written), string(rewritten))
	})
}

// drawer draws values that are right, also between keys: there is one agent,
// one provider, for which the agent has a credential too, and no two accounts with
// one credential.
type drawer struct {
	t       *rapid.T
	secrets int
}

func (d *drawer) coin() bool { return rapid.Bool().Draw(d.t, "coin") }

func (d *drawer) object(k *config.Key) *json5.Node {
	n := json5.NewObject()
	for _, f := range k.Fields {
		if d.leaveOut(f) {
			continue
		}
		if f.Name == "allow" && n.Get("alsoAllow") != nil {
			continue // one or the other
		}
		n.Set(f.Name, d.value(f))
	}
	return n
}

// leaveOut spares keys that depend on others, and a random half of the rest.
func (d *drawer) leaveOut(f *config.Key) bool {
	switch {
	case f.Direct || slices.Contains([]string{"projects", "roles", "default"}, f.Name):
		return true
	case f.Required || slices.Contains([]string{"models", "gateway", "providers", "entries", "token", "homeserver", "accessToken", "serverUrl", "password", "webhookSecret", "publicUrl", "accounts", "apiKey"}, f.Name):
		return false
	}
	return d.coin()
}

func (d *drawer) value(k *config.Key) *json5.Node {
	switch k.Kind {
	case config.KindObject:
		return d.object(k)
	case config.KindMap:
		n := json5.NewObject()
		n.Set(mapName(k), d.value(k.Elem))
		return n
	case config.KindList:
		n := &json5.Node{Kind: json5.Array}
		for range rapid.IntRange(0, 2).Draw(d.t, "length") {
			n.Items = append(n.Items, d.value(k.Elem))
		}
		return n
	case config.KindBoolean:
		return json5.NewBool(d.coin())
	case config.KindInteger:
		return number(rapid.Int64Range(int64(low(k)), int64(high(k))).Draw(d.t, k.Name))
	case config.KindDecimal:
		return number(rapid.Float64Range(low(k), high(k)).Draw(d.t, k.Name))
	case config.KindEnum:
		word := rapid.SampledFrom(k.Enum).Draw(d.t, k.Name)
		if b, err := strconv.ParseBool(word); err == nil {
			return json5.NewBool(b)
		}
		return json5.NewString(word)
	case config.KindSecret:
		d.secrets++
		return json5.NewString(fmt.Sprintf("$SECRET_%d", d.secrets))
	case config.KindAny:
		return json5.NewString("anything")
	}
	return json5.NewString(textOf(k.Format))
}

// mapName is the one name under which a map has an entry.
func mapName(k *config.Key) string {
	switch k.Names {
	case "agentId":
		return "main"
	case "channel":
		return "console"
	}
	return "default"
}

func textOf(format string) string {
	switch format {
	case "model":
		return "default/some-model"
	case "agentId", "agentIdOrAll":
		return "main"
	case "url":
		return "https://example.org/x"
	case "timezone":
		return "UTC"
	case "language":
		return "de-AT"
	case "sender":
		return "console:local"
	case "address":
		return "console:default:main"
	case "channel":
		return "console"
	case "listen":
		return "127.0.0.1:0"
	case "store":
		return "sqlite:/tmp/x.db"
	case "sha256":
		return fmt.Sprintf("%064d", 7)
	case "path":
		return "/some/path"
	}
	return "a text with ünicode"
}

func low(k *config.Key) float64 {
	if k.Min != nil {
		return *k.Min
	}
	return 0
}

func high(k *config.Key) float64 {
	if k.Max != nil {
		return *k.Max
	}
	return low(k) + 1e6
}

func number[T int64 | float64](v T) *json5.Node {
	return &json5.Node{Kind: json5.Number, Num: float64(v), Text: fmt.Sprint(v)}
}

// FuzzParse looks for panics in everything behind the JSON5 parser.
func FuzzParse(f *testing.F) {
	sample, err := os.ReadFile("testdata/sample.json5")
	require.NoError(f, err)
	f.Add(sample)
	f.Add([]byte(reloadBase))
	f.Add([]byte(`{ channels: { console: [] }, routes: [{ match: 1 }], agents: { entries: { "": null } }, store: { url: "${" } }`))
	opts := config.Options{Env: noEnv, Home: "/home/skein", ReadFile: func(string) ([]byte, error) { return nil, os.ErrNotExist }, RunProgram: func(string) ([]byte, error) { return nil, os.ErrNotExist }}
	f.Fuzz(func(t *testing.T, src []byte) {
		c, _, err := config.Parse("<fuzz>", src, opts)
		if err != nil {
			var problems config.InvalidError
			require.ErrorAs(t, err, &problems)
			require.NotEmpty(t, problems)
			return
		}
		_ = c.ResolveSecrets(opts)
		require.Empty(t, config.Diff(c, c))
		_, err = json.Marshal(c)
		require.NoError(t, err)
	})
}
