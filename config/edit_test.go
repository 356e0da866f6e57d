package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/config/json5"
)

// inMemory reads configurations from a map.
func inMemory(files map[string]string) config.Options {
	return config.Options{
		Home: "/home/skein", Built: config.AllParts(),
		Env: func(name string) (string, bool) { return "of-" + name, name != "NOPE" },
		ReadFile: func(name string) ([]byte, error) {
			if text, ok := files[name]; ok {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		},
	}
}

const editBase = `{
  // Providers.
  models: { providers: { p: { type: "openai", apiKey: "${KEY}" } } }, // keep
  agents: {
    defaults: { model: 'p/a', /* steps */ maxSteps: 5, },
  },
  channels: { telegram: { token: "$TOKEN" } },
}
`

// TestSet shows the one place of the file that changes.
func TestSet(t *testing.T) {
	tests := []struct{ path, value, old, want string }{
		{"agents.defaults.maxSteps", "7", "maxSteps: 5", "maxSteps: 7"},
		{"agents.defaults.maxSteps", " 0x10 // c", "maxSteps: 5", "maxSteps: 0x10"},
		{"agents.defaults.model", "p/b", "'p/a'", `"p/b"`},
		{"agents.defaults.model", "'p/b'", "'p/a'", "'p/b'"},
		{"agents.defaults.thinking", "high", "maxSteps: 5,", `maxSteps: 5, thinking: "high",`},
		{"logging.level", "debug", "\"$TOKEN\" } },\n", "\"$TOKEN\" } },\n  logging: { level: \"debug\" },\n"},
		{"delivery.onAmbiguous.other", "resend", "\"$TOKEN\" } },\n", "\"$TOKEN\" } },\n  delivery: { onAmbiguous: { other: \"resend\" } },\n"},
		{"channels.telegram.accounts.default.token", "$OTHER", `"$TOKEN"`, `"$OTHER"`},
		{"channels.telegram.token", "12", `"$TOKEN"`, `"12"`},
		{"models.providers.p.baseUrl", "http://${HOST}x", `"${KEY}" }`, `"${KEY}", baseUrl: "http://${HOST}x" }`},
		{`channels.telegram.groups["-100"].requireMention`, "false", `"$TOKEN" }`, `"$TOKEN", groups: { "-100": { requireMention: false } } }`},
		{"agents.entries.main.name", "42", "maxSteps: 5, },\n", "maxSteps: 5, },\n    entries: { main: { name: \"42\" } },\n"},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			e, err := config.Set("f", tt.path, tt.value, inMemory(map[string]string{"f": editBase}))
			require.NoError(t, err)
			require.Equal(t, "f", e.File)
			require.Equal(t, editBase, string(e.Old))
			require.Equal(t, strings.Replace(editBase, tt.old, tt.want, 1), string(e.New))
			require.Len(t, e.Plan, 1)
			require.NotContains(t, e.Plan.String(), "of-KEY")
		})
	}
}

// TestSetRefuses pins what is never written.
func TestSetRefuses(t *testing.T) {
	tests := []struct{ path, value, want string }{
		{"agents.defaults.maxStep", "7", "agents.defaults.maxStep: unknown key (did you mean maxSteps?)"},
		{"agents.defaults.maxSteps", "many", `agents.defaults.maxSteps: expected a whole number from 1 to 1000, found "many"`},
		{"agents.defaults.model", "other/b", "other"},
		{"agents.defaults.fallbacks", "[", "the value is not JSON5"},
		{"agents.defaults.maxSteps.x", "7", "agents.defaults.maxSteps: it is a value without keys"},
		{"models.providers.p.apiKey.id", "7", "it is a secret and set as a whole"},
		{"routes.x", "7", "routes: it is a list (name an item of it, such as routes[0])"},
		{"channels.telegram.groups.x", "7", "expected an object"},
		{"agents.defaults.fallbacks[0]", "p/b", "there is no such item"},
		{"agents.defaults.fallbacks", "p/b", "expected a list, found \"p/b\" (write [\"p/b\"])"},
		{"routes[0].agentId", "main", "there is no such item (set the list as a whole)"},
		{"messages.queue.mode", "${NOPE}", "expected"},
		{"messages.language", "tlh", "expected a language that texts are shipped in, found \"tlh\" (shipped are en, de, es)"},
		{"alerts.to", "${NOPE}", "the environment variable NOPE is not set"},
		{"agents..model", "7", "is not the path of a key"},
		{"", "7", "the path of a key is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.path+"="+tt.value, func(t *testing.T) {
			_, err := config.Set("f", tt.path, tt.value, inMemory(map[string]string{"f": editBase}))
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// TestSetEditsTheFileThatHoldsTheKey pins includes: an existing key is changed
// where it stands, a new one is put beside its neighbours, and what would change
// more than one key is refused.
func TestSetEditsTheFileThatHoldsTheKey(t *testing.T) {
	files := map[string]string{
		"d/root":   `{ agents: { $include: "agents", defaults: { maxSteps: 5 } }, models: { $include: "models" }, channels: { console: { $include: "keys" }, webchat: { $include: "keys" } } }`,
		"d/agents": `{ defaults: { timeoutSeconds: 9 }, entries: { main: { default: true } } }`,
		"d/models": `{ stallSeconds: 7 }`,
		"d/keys":   `{ historyLimit: 3 }`,
	}
	tests := []struct{ path, file, want string }{
		{"agents.defaults.maxSteps", "d/root", strings.Replace(files["d/root"], "maxSteps: 5", "maxSteps: 8", 1)},
		{"agents.defaults.timeoutSeconds", "d/agents", strings.Replace(files["d/agents"], "9", "8", 1)},
		{"agents.defaults.maxConcurrent", "d/root", strings.Replace(files["d/root"], "maxSteps: 5", "maxSteps: 5, maxConcurrent: 8", 1)},
		{"agents.entries.main.maxSteps", "d/agents", strings.Replace(files["d/agents"], "true", "true, maxSteps: 8", 1)},
		{"models.stallSeconds", "d/models", `{ stallSeconds: 8 }`},
	}
	for _, tt := range tests {
		e, err := config.Set("d/root", tt.path, "8", inMemory(files))
		require.NoError(t, err, tt.path)
		require.Equal(t, tt.file, e.File)
		require.Equal(t, tt.want, string(e.New))
	}
	for path, value := range map[string]string{"channels.console.historyLimit": "8", "agents.defaults": "{ maxSteps: 8 }"} {
		_, err := config.Set("d/root", path, value, inMemory(files))
		require.ErrorIs(t, err, config.ErrScattered, path)
	}
}

// TestB345_SetChangesNothingElse draws files with comments and odd layout, sets
// one key, and compares every other byte.
func TestB345_SetChangesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{t: t}
		head := w.gap() + "{" + w.gap() + `plugins: { entries: { files: { command: "skein:files", config:` + w.gap()
		src := head + w.object(3) + w.gap() + "} } }" + w.gap() + "}" + w.gap()
		at := rapid.SampledFrom(w.paths).Draw(t, "path")
		add := rapid.Bool().Draw(t, "add")
		if add {
			at = at[:len(at)-1].Child("added")
		}
		path := append(config.Path{"plugins", "entries", "files", "config"}, at...).String()
		value := rapid.SampledFrom([]string{"1", "'x'", "[1, 2]", "{ a: '${KEY}' }", "null"}).Draw(t, "value")

		e, err := config.Set("f", path, value, inMemory(map[string]string{"f": src}))
		require.NoError(t, err, "%s\n%s", path, src)
		if add {
			require.True(t, isSubsequence(src, string(e.New)), "%s\n%s", src, e.New)
			return
		}
		steps, err := config.ParsePath(path)
		require.NoError(t, err)
		tree, err := json5.Parse("f", []byte(src))
		require.NoError(t, err)
		for i := range steps {
			steps[i] = strings.Trim(steps[i], "[]")
		}
		old := tree.At(steps...)
		require.Equal(t, src[:old.Pos.Offset]+value+src[old.End:], string(e.New))
	})
}

// isSubsequence says whether every byte of a stands in b, in order.
func isSubsequence(a, b string) bool {
	for i := range len(b) {
		if a != "" && a[0] == b[i] {
			a = a[1:]
		}
	}
	return a == ""
}

// writer draws the text of objects, and notes the paths of their members.
type writer struct {
	t     *rapid.T
	at    config.Path
	paths []config.Path
}

func (w *writer) pick(from ...string) string { return rapid.SampledFrom(from).Draw(w.t, "text") }

func (w *writer) gap() string {
	return w.pick("", " ", "\n  ", "\r\n\t", " // a: {\n", "/* ${KEY} , } */", "\n  // \"\n  ")
}

func (w *writer) object(depth int) string {
	var b strings.Builder
	b.WriteString("{" + w.gap())
	count := rapid.IntRange(1, 4).Draw(w.t, "members")
	for i := range count {
		key := w.pick("k", "$", "'q -", "\"d.") + fmt.Sprint(i)
		name := strings.Trim(key, `'"`)
		if name != key {
			key += key[:1]
		}
		w.at = w.at.Child(name)
		w.paths = append(w.paths, w.at)
		b.WriteString(key + w.gap() + ":" + w.gap() + w.value(depth-1) + w.gap())
		w.at = w.at[:len(w.at)-1]
		if i < count-1 || rapid.Bool().Draw(w.t, "comma") {
			b.WriteString("," + w.gap())
		}
	}
	return b.String() + "}"
}

func (w *writer) value(depth int) string {
	if depth > 0 && rapid.Bool().Draw(w.t, "nest") {
		return w.object(depth)
	}
	return w.pick("0x1F", "'${KEY}'", `"//"`, "[1, {a: 2}, /* ] */ ]", "true", "null", `'it\'s'`, ".5")
}

// TestWriteKeepsFiveVersions pins what is beside the file after seven changes,
// and who may read it.
func TestWriteKeepsFiveVersions(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "skein.json5")
	src := func(steps int) string { return fmt.Sprintf("{ agents: { defaults: { maxSteps: %d } } } // c\n", steps) }
	require.NoError(t, os.WriteFile(file, []byte(src(10)), 0o644))
	link := filepath.Join(dir, "link.json5")
	require.NoError(t, os.Symlink("skein.json5", link))

	set := func(steps int) *config.Edit {
		e, err := config.Set(link, "agents.defaults.maxSteps", fmt.Sprint(steps), config.Options{})
		require.NoError(t, err)
		return e
	}
	for steps := 11; steps <= 17; steps++ {
		require.NoError(t, set(steps).Write())
	}
	require.NoError(t, set(17).Write(), "nothing changes, nothing is written")

	want := map[string]string{"skein.json5": src(17), "skein.json5.1": src(16), "skein.json5.2": src(15), "skein.json5.3": src(14), "skein.json5.4": src(13), "skein.json5.5": src(12)}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, len(want)+1, "nothing else is left: %v", entries)
	for name, text := range want {
		content, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, text, string(content), name)
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink, "the link stays one")

	late := set(18)
	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o600))
	require.ErrorContains(t, late.Write(), "changed by somebody else")
}

func TestPathsAreReadAsTheyAreWritten(t *testing.T) {
	for _, path := range []config.Path{{"a", "b-c"}, {"a", "[0]", "b"}, {"-100", "a.b", `"]`, "x"}, {"groups", "*", "ü"}} {
		read, err := config.ParsePath(path.String())
		require.NoError(t, err, path.String())
		require.Equal(t, path, read)
	}
	read, err := config.ParsePath("groups.-100['a b'][12]")
	require.NoError(t, err)
	require.Equal(t, config.Path{"groups", "-100", "a b", "[12]"}, read)
	for _, bad := range []string{".a", "a.", "a[", "a[x]", "a[-1]", `a["x]`, `a["x"`, "a[0]b"} {
		_, err := config.ParsePath(bad)
		require.Error(t, err, bad)
	}
}

func TestEffective(t *testing.T) {
	c, _, err := config.Parse("<test>", []byte(`{
  models: { providers: { p: { type: "openai", apiKey: "literal-secret", baseUrl: "http://${HOST}/v1" } } },
  agents: { defaults: { model: "p/a", maxSteps: 5, subagents: { maxSpawnDepth: 2 } }, entries: { main: { default: true, timeoutSeconds: 0 } } },
  session: { threadBindings: { idleHours: 3 } },
  channels: { telegram: { token: "$TOKEN", queue: { cap: 4 } }, console: {} },
  plugins: { entries: { files: { command: "skein:files", config: { key: "${HOST}", list: [1, { a: 2 }] } } } },
}`), config.Options{Home: "/home/skein", Built: config.AllParts(), Env: func(string) (string, bool) { return "host", true }})
	require.NoError(t, err)
	tests := []struct{ path, want string }{
		{"agents.defaults.maxSteps", "5"},
		{"agents.entries.main.maxSteps", "5"},
		{"agents.entries.main.timeoutSeconds", "0"},
		{"agents.entries.main.model", `"p/a"`},
		{"agents.entries.main.thinking", `"off"`},
		{"agents.entries.main.subagents.maxSpawnDepth", "2"},
		{"agents.entries.main.subagents.maxTreeRuns", "16"},
		{"session.threadBindings.idleHours", "3"},
		{"channels.console.accounts.default.threadBindings.idleHours", "3"},
		{"channels.console.threadBindings.maxAgeHours", "0"},
		{"channels.console.threadBindings.enabled", "true"},
		{"channels.telegram.queue", `{"mode":"steer","debounceMs":500,"cap":4,"overflow":"summarize"}`},
		{"channels.telegram.token", `"$TOKEN"`},
		{"channels.telegram.dmPolicy", `"pairing"`},
		{"channels.console.dmPolicy", `"open"`},
		{"channels.console.accounts.default.allowBots", "false"},
		{"channels.discord", "null"},
		{"models.providers.p.apiKey", `"***"`},
		{"models.providers.p.baseUrl", `"http://host/v1"`},
		{"plugins.entries.files.config.key", `"${HOST}"`},
		{"plugins.entries.files.config.list[1].a", "2"},
		{"plugins.entries.files.config.none", "null"},
		{"routes", "null"},
		{"store.url", `"sqlite:/home/skein/.skein/skein.db"`},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			got, err := c.Effective(tt.path)
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(got))
		})
	}
	all, err := c.Effective("")
	require.NoError(t, err)
	require.NotContains(t, string(all), "literal-secret")
	_, err = c.Effective("agents.defalts")
	require.EqualError(t, err, "agents.defalts: unknown key (did you mean defaults?)")
}

// TestWriteKeepsAModeForTheGroup pins that a file which only its owner and a
// group may read stays readable for the group.
func TestWriteKeepsAModeForTheGroup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "skein.json5")
	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o600))
	require.NoError(t, os.Chmod(file, 0o640))
	e, err := config.Set(file, "agents.defaults.maxSteps", "9", config.Options{})
	require.NoError(t, err)
	require.NoError(t, e.Write())
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
}

func ExampleSet() {
	files := map[string]string{"skein.json5": "{\n  agents: { defaults: { maxSteps: 5 } }, // few\n}\n"}
	edit, err := config.Set("skein.json5", "agents.defaults.maxSteps", "20", inMemory(files))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s%s", edit.New, edit.Plan)
	// Output:
	// {
	//   agents: { defaults: { maxSteps: 20 } }, // few
	// }
	// live  agents.defaults.maxSteps  5 -> 20
}
