package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/config/json5"
)

const reloadBase = `{
  models: { providers: { p: { type: "openai", apiKey: "$K" } } },
  agents: { defaults: { model: "p/a" }, entries: { main: { default: true } } },
  channels: { telegram: { accounts: { a: { token: "$A" } } }, console: {} },
  plugins: { entries: { files: { command: "skein:files", config: { depth: 1 } } } },
  gateway: { http: { token: "$T" } },
}`

// TestReloadPlan changes one thing at a time.
func TestReloadPlan(t *testing.T) {
	tests := []struct{ over, want string }{
		{`{}`, "nothing changes\n"},
		{`{ agents: { defaults: { model: "p/b" } } }`, "live  agents.defaults.model  \"p/a\" -> \"p/b\"\n"},
		{`{ agents: { entries: { helper: {} } } }`, "live  agents.entries.helper  added\n"},
		{`{ agents: { defaults: { subagents: { maxSpawnDepth: 2 } } } }`, "live  agents.defaults.subagents.maxSpawnDepth  added 2\n"},
		{`{ agents: { defaults: { maxConcurrent: 2 } } }`, "live  agents.defaults.maxConcurrent  16 -> 2\n"},
		{`{ models: { providers: { p: { apiKey: "$OTHER" } } } }`, "live  models.providers.p.apiKey  \"$K\" -> \"$OTHER\"\n"},
		{`{ routes: [{ agentId: "main", match: { channel: "console" } }] }`, "live  routes  added [{\"agentId\":\"main\",\"match\":{\"channel\":\"console\",\"accountId\":\"default\"}}]\n"},
		{`{ session: { threadBindings: { idleHours: 0 } } }`, "live  session.threadBindings.idleHours  added 0\n"},
		{`{ tools: { deny: ["exec"] } }`, "live  tools.deny  added [\"exec\"]\n"},
		{`{ messages: { language: "de" } }`, "live  messages.language  \"en\" -> \"de\"\n"},
		{`{ commands: { unauthorized: "silent" } }`, "live  commands.unauthorized  \"refuse\" -> \"silent\"\n"},
		{`{ limits: { perUser: { turnsPerDay: 5 } } }`, "live  limits.perUser.turnsPerDay  added 5\n"},
		{`{ delivery: { onAmbiguous: { other: "resend" } } }`, "live  delivery.onAmbiguous.other  \"hold\" -> \"resend\"\n"},
		{`{ alerts: { to: "console:default:main" } }`, "live  alerts.to  \"\" -> \"console:default:main\"\n"},
		{`{ gateway: { shutdownGraceSeconds: 5 } }`, "live  gateway.shutdownGraceSeconds  30 -> 5\n"},
		{`{ logging: { level: "debug" } }`, "live  logging.level  \"info\" -> \"debug\"\n"},
		{`{ skills: { paths: ["/skills"] } }`, "live  skills.paths  [\"/home/skein/.skein/skills\"] -> [\"/skills\"]\n"},
		{`{ channels: { telegram: { dmPolicy: "open" } } }`, "live  channels.telegram.dmPolicy  \"\" -> \"open\"\n"},
		{`{ channels: { telegram: { accounts: { a: { groups: { "-1": {} } } } } } }`, "live  channels.telegram.accounts.a.groups[\"-1\"]  added\n"},
		{`{ channels: { telegram: { accounts: { a: { queue: { cap: 2 } } } } } }`, "live  channels.telegram.accounts.a.queue.cap  added 2\n"},
		{`{ channels: { console: { threadBindings: { enabled: false } } } }`, "live  channels.console.threadBindings.enabled  added false\n"},
		{`{ channels: { telegram: { accounts: { a: { token: "$B" } } } } }`, "channel telegram:a  channels.telegram.accounts.a.token  \"$A\" -> \"$B\"\n"},
		{`{ channels: { telegram: { accounts: { b: { token: "$B" } } } } }`, "channel telegram:b  channels.telegram.accounts.b  added\n"},
		{`{ channels: { telegram: { enabled: false } } }`, "channel telegram  channels.telegram.enabled  true -> false\n"},
		{`{ channels: { webchat: {} } }`, "channel webchat  channels.webchat  added\n"},
		{`{ plugins: { entries: { files: { config: { depth: 2 } } } } }`, "plugin files  plugins.entries.files.config  {\"depth\":1} -> {\"depth\":2}\n"},
		{`{ plugins: { entries: { web: { command: "skein:web" } } } }`, "plugin web  plugins.entries.web  added\n"},
		{`{ store: { url: "sqlite:/other.db" } }`, "restart  store.url  \"sqlite:/home/skein/.skein/skein.db\" -> \"sqlite:/other.db\"\n"},
		{`{ gateway: { http: { listen: "127.0.0.1:1" } } }`, "restart  gateway.http.listen  \"127.0.0.1:7878\" -> \"127.0.0.1:1\"\n"},
		{`{ gateway: { stateDir: "/s" } }`, "restart  gateway.stateDir  \"\" -> \"/s\"\n"},
		{`{ logging: { format: "json" } }`, "restart  logging.format  \"text\" -> \"json\"\n"},
	}
	for _, tt := range tests {
		inUse, next := parse(t, reloadBase), layOver(t, reloadBase, tt.over)
		require.Equal(t, tt.want, config.Diff(inUse, next).String(), tt.over)
		if back := config.Diff(next, inUse); tt.over != `{}` {
			require.Len(t, back, 1, "the way back: %s", tt.over)
		}
	}
}

func TestPlanQuestions(t *testing.T) {
	plan := config.Diff(parse(t, reloadBase), layOver(t, reloadBase, `{
  agents: { defaults: { model: "p/b" } },
  channels: { telegram: { accounts: { a: { token: "$B", apiRoot: "http://localhost:1" } } }, matrix: { homeserver: "https://hs", accessToken: "$M" } },
  plugins: { entries: { files: { start: "eager" } } },
  logging: { format: "json" },
}`))
	require.Equal(t, []string{"telegram:a", "matrix"}, plan.Owners(config.ClassChannel))
	require.Equal(t, []string{"files"}, plan.Owners(config.ClassPlugin))
	require.Len(t, plan.Of(config.ClassLive), 1)
	require.Len(t, plan.Of(config.ClassRestart), 1)
	require.Equal(t, `restart: logging.format: "text" -> "json"`, plan.Of(config.ClassRestart)[0].String())
}

// TestRotatedSecretIsAChange: the reference is the same, the value is not.
func TestRotatedSecretIsAChange(t *testing.T) {
	load := func(value string) *config.Config {
		c := parse(t, reloadBase)
		require.NoError(t, c.ResolveSecrets(config.Options{Env: func(name string) (string, bool) { return name + value, true }}))
		return c
	}
	require.Empty(t, config.Diff(load("1"), load("1")))
	plan := config.Diff(load("1"), load("2"))
	require.Equal(t, `live                models.providers.p.apiKey           changed
channel telegram:a  channels.telegram.accounts.a.token  changed
restart             gateway.http.token                  changed
`, plan.String())
}

func layOver(t *testing.T, base, over string) *config.Config {
	t.Helper()
	b, err := config.ParseTree("<base>", []byte(base), config.Options{})
	require.NoError(t, err)
	o, err := config.ParseTree("<over>", []byte(over), config.Options{})
	require.NoError(t, err)
	c, _, err := config.Decode(json5.Merge(b.Tree, o.Tree), config.Options{Env: noEnv, Home: "/home/skein", Built: config.AllParts()})
	require.NoError(t, err)
	return c
}

// TestPlanShowsNoVariables: free-form settings of plugins may hold credentials
// by variable, in a change of theirs and in that of an object around them.
func TestPlanShowsNoVariables(t *testing.T) {
	load := func(entries, value string) *config.Config {
		c, _, err := config.Parse("<test>", []byte(`{ plugins: { entries: {`+entries+`} } }`),
			config.Options{Home: "/home/skein", Built: config.AllParts(), Env: func(string) (string, bool) { return value, true }})
		require.NoError(t, err)
		return c
	}
	entry := func(key string) string { return `files: { command: "skein:files", config: { key: "` + key + `" } }` }
	for _, tt := range []struct {
		inUse, next *config.Config
		want        string
	}{
		{load(entry("${A}"), "sesame"), load(entry("${B}"), "sesame2"), `plugins.entries.files.config  {"key":"${A}"} -> {"key":"${B}"}`},
		{load(entry("${A}"), "sesame"), load(entry("${A}"), "sesame2"), "plugins.entries.files.config  changed"},
		{load("", "sesame"), load(entry("${A}"), "sesame"), "plugins.entries.files  added"},
		{load(entry("${A}"), "sesame"), load("", "sesame"), "plugins.entries.files  removed"},
	} {
		plan := config.Diff(tt.inUse, tt.next)
		require.Equal(t, "plugin files  "+tt.want+"\n", plan.String())
		require.NotContains(t, plan[0].Old+plan[0].New, "sesame", tt.want)
	}
}
