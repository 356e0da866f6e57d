package config_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/config/json5"
)

// odd are files as people write them. The value of agents.defaults.maxSteps
// stands between « and », which are not in the file.
var odd = map[string]string{
	"one line":             `{agents:{defaults:{maxSteps:«5»}}}`,
	"one line, spaces":     `{ agents : { defaults : { maxSteps : «5» } } }`,
	"no last line break":   "{\n  agents: { defaults: { maxSteps: «5» } },\n}",
	"JSON":                 "{\n    \"agents\": {\n        \"defaults\": {\n            \"maxSteps\": «5»\n        }\n    }\n}\n",
	"single quotes":        "{ 'agents': { 'defaults': { 'maxSteps': «5», 'timezone': 'UTC' } } }\n",
	"mixed quotes":         "{ \"agents\": { 'defaults': { maxSteps: «5» } } }\n",
	"tabs":                 "{\n\tagents:\t{\n\t\tdefaults:\t{\n\t\t\tmaxSteps:\t«5»,\t// five\n\t\t},\n\t},\n}\n",
	"CR LF":                "{\r\n  // steps\r\n  agents: {\r\n    defaults: { maxSteps: «5» },\r\n  },\r\n}\r\n",
	"CR LF and LF":         "{\r\n  agents: {\n    defaults: {\r\n maxSteps: «5»\n } } }\r\n",
	"old line breaks":      "{\r  agents: { // c\r    defaults: { maxSteps: «5» } } }\r",
	"trailing commas":      "{ agents: { defaults: { maxSteps: «5», }, entries: { main: { default: true, skills: ['*',], }, }, }, }\n",
	"commas first":         "{ agents:\n    { defaults:\n        { timezone: 'UTC'\n        , maxSteps: «5»\n        , timeoutSeconds: 9\n        }\n    }\n}\n",
	"comments everywhere":  "/* 0 */ { /* 1 */ agents /* 2 */ : /* 3 */ { /* 4 */ defaults /* 5 */ : /* 6 */ { /* 7 */ maxSteps /* 8 */ : /* 9 */ «5» /* 10 */ , /* 11 */ } /* 12 */ } /* 13 */ } /* 14 */",
	"line comments":        "// a\n{ // b\n  agents: // c\n  { // d\n    defaults: // e\n    { // f\n      maxSteps: // g\n      «5» // h\n    } // i\n  } // j\n} // k\n// l",
	"code in comments":     "{ // agents: { defaults: { maxSteps: 6 } }\n  /* { maxSteps: 7, } */\n  agents: { /* } */ defaults: { // }\n    maxSteps: «5» } } }\n",
	"a key twice in texts": "{ agents: { defaults: { timezone: 'UTC', maxSteps: «5» }, entries: { main: { default: true, instructions: \"maxSteps: 5, // no comment\" } } } }\n",
	"escapes":              "{ agents: { defaults: { maxSteps: «5» }, entries: { main: { default: true, name: 'it\\'s \\u00fc \\x41 \\\n next', } } } }\n",
	"an escaped key":       "{ agents: { defaults: { max\\u0053teps: «5» } } }\n",
	"unicode":              "{ // Schritte für 🎩 и т. д.\n  agents: { defaults: { maxSteps: «5» }, entries: { main: { default: true, name: '日本語 👩‍👩‍👧', }, }, },\n}\n",
	"odd white space":      "{\u00a0agents:\u2003{\u3000defaults:\u2028{\u2029maxSteps:\v\f«5»\u00a0} } }\n",
	"byte order mark":      "\ufeff{ agents: { defaults: { maxSteps: «5» } } }\n",
	"hexadecimal":          "{ agents: { defaults: { maxSteps: «0x10», timeoutSeconds: +9 } } }\n",
	"a number with a sign": "{ agents: { defaults: { maxSteps: «+5», }, }, limits: { perUser: { usdPerDay: .5 } } }\n",
	"empty objects":        "{ models: {}, routes: [], session: { }, agents: { entries: {\n}, defaults: { subagents: {}, maxSteps: «5» } }, limits: { /* none */ } }\n",
	"deep":                 "{ plugins: { entries: { files: { command: 'skein:files', config: { a: { b: { c: { d: [ [ [ { e: { maxSteps: 1 } } ] ] ] } } } } } } }, agents: { defaults: { maxSteps: «5» } } }\n",
	"variables":            "{ models: { providers: { p: { type: 'openai', apiKey: '${KEY}', baseUrl: \"http://${HOST}/\" } } }, agents: { defaults: { model: 'p/m', maxSteps: «5» } } }\n",
	"secrets":              "{ models: { providers: { p: { type: 'openai', apiKey: { source: 'exec', id: 'pass show key' } } } }, agents: { defaults: { model: 'p/m', maxSteps: «5» } } }\n",
	"blank lines":          "\n\n{\n\n\n  agents: {\n\n    defaults: {\n\n      maxSteps:\n\n        «5»,\n\n    },\n\n  },\n\n}\n\n\n",
	"trailing spaces":      "{  \n  agents: {   \n    defaults: { maxSteps: «5»   ,   }   ,   \n  }   \n}   \n",
	"a comment like a URL": "{ agents: { defaults: { maxSteps: «5» /* http://x/*y */ } }, gateway: { publicUrl: 'https://x.example//y' } }\n",
}

// generated makes a file with the key among neighbours in a random layout.
func generated(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 7)) // #nosec G404 -- a layout, not a secret
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	gap := func() string {
		return pick("", " ", "\n", "\r\n\t", " // } «x\n", "/* , { */", "\n  // ünd\n  ", "\t")
	}
	key := func(name string) string { return gap() + pick(name, `"`+name+`"`, "'"+name+"'") + gap() + ":" + gap() }
	object := func(members ...string) string {
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		return "{" + strings.Join(members, gap()+",") + gap() + pick("", ",") + gap() + "}"
	}
	number := pick("5", "0x0F", "+7", "1e2", "12.")
	defaults := object(
		key("maxSteps")+"«"+number+"»", key("timezone")+pick("'UTC'", `"Europe/Berlin"`), key("timeoutSeconds")+pick("0", "90"),
		key("subagents")+object(key("maxSpawnDepth")+"2", key("allowAgents")+pick("[]", "['*']", "[ /* all */ \"*\", ]")),
	)
	agents := object(key("defaults")+defaults, key("entries")+object(key("main")+object(key("default")+"true", key("name")+"'m // \"'")))
	file := object(key("agents")+agents, key("logging")+object(key("level")+pick("'info'", `"debug"`)), key("limits")+pick("{}", "{ }", "{ // none\n}"))
	return strings.ReplaceAll(gap()+file+gap(), "«x", "x")
}

// files are the odd and the generated files: fifty and more.
func files() map[string]string {
	all := make(map[string]string, len(odd)+30)
	for name, text := range odd {
		all[name] = text
	}
	for seed := range uint64(30) {
		all[fmt.Sprintf("generated %d", seed)] = generated(seed)
	}
	return all
}

// TestB345_FiftyFiles sets a key in each file and compares every byte outside
// the value; then takes the key out, and nothing else goes but white space and a
// comma.
func TestB345_FiftyFiles(t *testing.T) {
	all := files()
	require.GreaterOrEqual(t, len(all), 50)
	for name, marked := range all {
		t.Run(name, func(t *testing.T) {
			before, rest, _ := strings.Cut(marked, "«")
			_, after, _ := strings.Cut(rest, "»")
			src := strings.NewReplacer("«", "", "»", "").Replace(marked)
			opts := inMemory(map[string]string{"f": src})

			e, err := config.Set("f", "agents.defaults.maxSteps", "77", opts)
			require.NoError(t, err, "%s", src)
			require.Equal(t, before+"77"+after, string(e.New))
			require.Len(t, e.Plan, 1)

			e, err = config.Unset("f", "agents.defaults.maxSteps", opts)
			require.NoError(t, err, "%s", src)
			require.True(t, isSubsequence(string(e.New), src), "%s\n%s", src, e.New)
			tree, err := json5.Parse("f", []byte(src))
			require.NoError(t, err)
			m := tree.At("agents", "defaults").Member("maxSteps")
			around := src[:m.KeyPos.Offset] + src[m.Value.End:]
			require.Equal(t, comments(around), comments(string(e.New)), "comments around it stay")
			tree, err = json5.Parse("f", e.New)
			require.NoError(t, err, "%s", e.New)
			require.Nil(t, tree.At("agents", "defaults", "maxSteps"))

			back, err := config.Set("f", "agents.defaults.maxSteps", "5", inMemory(map[string]string{"f": string(e.New)}))
			require.NoError(t, err)
			require.True(t, isSubsequence(string(e.New), string(back.New)))
		})
	}
}

// comments counts what looks like the beginning of a comment.
func comments(text string) int { return strings.Count(text, "//") + strings.Count(text, "/*") }

// TestUnset shows what goes with a key.
func TestUnset(t *testing.T) {
	tests := []struct{ path, src, want string }{
		{"logging.level", `{ logging: { level: "info" } }`, `{ logging: { } }`},
		{"logging", `{ store: {}, logging: { level: "info" } }`, `{ store: {} }`},
		{"store", `{ store: {}, logging: {} }`, `{ logging: {} }`},
		{"store", "{\n  // where\n  store: {}, // here\n  logging: {},\n}", "{\n  // where\n  // here\n  logging: {},\n}"},
		{"logging", "{\n  store: {},\n  logging: {}\n}", "{\n  store: {}\n}"},
		{"logging", "{\n  store: {}, // keep\n  logging: {},\n}", "{\n  store: {}, // keep\n}"},
		{"store", "{\r\n  store: {},\r\n  logging: {},\r\n}", "{\r\n  logging: {},\r\n}"},
		{"logging", "{ store: {} // a,\n, logging: {} }", "{ store: {} // a,\n }"},
		{"messages", "{ store: {} }", ""}, // it is not there
		{"channels.console.accounts.default.name", "{ channels: { console: { name: 'x' } } }", "{ channels: { console: { } } }"},
	}
	for _, tt := range tests {
		e, err := config.Unset("f", tt.path, inMemory(map[string]string{"f": tt.src}))
		require.NoError(t, err, tt.src)
		require.Equal(t, tt.want, string(e.New), tt.src)
	}
	for path, want := range map[string]string{
		"agents.entries.main.nme": "did you mean name?", "routes[0]": "set the list as a whole",
		"models.providers.p.type": "expected one of", "agents.defaults.model": "several files",
	} {
		_, err := config.Unset("f", path, inMemory(map[string]string{
			"f":    `{ $include: "base", models: { providers: { p: { type: "openai" } } }, agents: { defaults: { model: "p/a" } }, routes: [] }`,
			"base": `{ agents: { defaults: { model: "p/b" } } }`,
		}))
		require.ErrorContains(t, err, want, path)
	}
}

// TestEditsAtOnce: of many at the same time none is lost.
func TestEditsAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "skein.json5")
	require.NoError(t, os.WriteFile(file, []byte(`{ plugins: { entries: { files: { command: "skein:files", config: {} } } } }`), 0o600))
	edit := func(key string) error {
		unlock, err := config.Lock(file)
		if err != nil {
			return err
		}
		e, err := config.Set(file, "plugins.entries.files.config."+key, "1", config.Options{})
		if err == nil {
			err = e.Write()
		}
		return errors.Join(err, unlock())
	}
	const edits = 20
	var all sync.WaitGroup
	failed := make(chan error, edits)
	for i := range edits {
		all.Go(func() { failed <- edit(fmt.Sprintf("k%d", i)) })
	}
	all.Wait()
	close(failed)
	for err := range failed {
		require.NoError(t, err)
	}
	c, _, err := config.Load(file, config.Options{})
	require.NoError(t, err)
	require.Len(t, c.Tree().At("plugins", "entries", "files", "config").Members, edits)
}
