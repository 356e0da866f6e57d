package app_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/config/json5"
)

// observed is what a person's message and command lead to.
type observed struct {
	Requests                       int
	Agent, Model, Thinking, System string
	Tools, Told                    string
}

// observe lets bob say something in the group, and use a command there.
func (s *scene) observe() (o observed) {
	s.Helper()
	requests, told := len(s.requests.list("")), len(s.told("team"))
	s.says("bob", "team", "hello")
	s.says("bob", "team", "/help")
	s.quiet()
	o.Requests = len(s.requests.list("")) - requests
	o.Told = strings.Join(s.told("team")[told:], "\n")
	if o.Requests > 0 {
		r := s.last("")
		o.Agent, o.Model, o.Thinking, o.System = r.Agent, r.Model, r.Thinking, r.System
		tools, err := json.Marshal(r.Tools)
		require.NoError(s, err)
		o.Tools = string(tools)
	}
	return o
}

// hotBase is what the table's settings are laid over.
const hotBase = `{ agents: { entries: { helper: {}, main: { default: true } } } }`

// hot has a change for each group of live keys, after which the next message or
// turn is another. A key is proven by the longest prefix of its path.
var hot = []struct{ keys, settings string }{
	{"models.providers", `{ models: { providers: { demo: { file: "other.json5" } } } }`},
	{"agents.defaults.model", `{ agents: { defaults: { model: "demo/other" } } }`},
	{"agents.defaults.thinking", `{ agents: { defaults: { thinking: "high" } } }`},
	{"agents.defaults.timezone", `{ agents: { defaults: { timezone: "Asia/Tokyo" } } }`},
	{"agents.defaults.subagents.delegationMode", `{ agents: { defaults: { subagents: { delegationMode: "prefer" } } } }`},
	{"agents.entries", `{ agents: { entries: { main: { instructions: "You help a lot." } } } }`},
	{"agents.entries.<name>.model", `{ agents: { entries: { main: { model: "demo/own" } } } }`},
	{"agents.entries.<name>.thinking", `{ agents: { entries: { main: { thinking: "low" } } } }`},
	{"agents.entries.<name>.timezone", `{ agents: { entries: { main: { timezone: "Asia/Tokyo" } } } }`},
	{"agents.entries.<name>.default", `{ agents: { entries: { main: { default: false }, helper: { default: true } } } }`},
	{"agents.entries.<name>.tools", `{ agents: { entries: { main: { tools: { deny: ["sessions_spawn"] } } } } }`},
	{"agents.entries.<name>.subagents", `{ agents: { entries: { main: { subagents: { delegationMode: "prefer" } } } } }`},
	{"routes", `{ routes: [{ agentId: "helper", match: { channel: "console", accountId: "*" } }] }`},
	{"tools.profile", `{ tools: { profile: "minimal" } }`},
	{"tools.alsoAllow", `{ tools: { profile: "minimal", alsoAllow: ["sessions_spawn"] } }`},
	{"tools.allow", `{ tools: { allow: ["sessions_yield"] } }`},
	{"tools.deny", `{ tools: { deny: ["sessions_spawn"] } }`},
	{"tools.byProvider", `{ tools: { byProvider: { demo: { deny: ["sessions_spawn"] } } } }`},
	{"commands", `{ commands: { allowFrom: ["console:alice"] } }`},
	{"messages.language", `{ messages: { language: "de" } }`},
	{"limits", `{ limits: { perUser: { messagesPerMinute: 1 } } }`},
	{"channels.console.groupPolicy", `{ channels: { console: { groupPolicy: "disabled" } } }`},
	{"channels.console.groupAllowFrom", `{ channels: { console: { groupPolicy: "allowlist", groups: { "*": {} }, groupAllowFrom: ["carol"] } } }`},
	{"channels.console.groups", `{ channels: { console: { groups: { "*": { enabled: false } } } } }`},
	{"channels.console.requireMention", `{ channels: { console: { requireMention: true } } }`},
	{"channels.console.limits", `{ channels: { console: { limits: { perUser: { messagesPerMinute: 1 } } } } }`},
	{"channels.console.accounts", `{ channels: { console: { accounts: { default: { requireMention: true } } } } }`},
}

// elsewhere names what shows that other live keys are read anew, and the keys
// that nothing in the runtime reads.
var elsewhere = map[string]string{
	"$schema":             "for editors",
	"models.stallSeconds": "asked for each call (catalogue.Limits)", "tools.timeoutSeconds": "asked for each call (catalogue.Limits)",
	"agents.defaults.fallbacks": "part of the same definition as the model", "agents.defaults.maxSteps": "part of the same definition",
	"agents.defaults.timeoutSeconds": "part of the same definition", "agents.defaults.maxConcurrent": "asked for each claim (App.slots)",
	"agents.defaults.subagents": "TestB343_RulesForSubagents", "agents.defaults.limits": "asked for each spawn",
	"agents.projects": "not in every build", "skills": "not in every build", "cron": "not in every build", "alerts": "asked for each alert",
	"session.dmScope": "TestB343_DirectScope", "session.threadBindings": "TestExpiry", "session.retention": "TestOldRowsAreSwept",
	"session.reset": "asked for each message", "session.resetByType": "asked for each message", "session.resetByChannel": "asked for each message",
	"messages.queue": "asked for each message (intakeConfig.Queue)", "messages.historyLimit": "asked for each message",
	"delivery.onAmbiguous": "asked for each send (App.onAmbiguous)", "gateway.shutdownGraceSeconds": "read by Stop",
	"logging.level": "TestB343_TheLogFollowsItsLevel", "tools.subagents": "asked for each tool (App.ceiling)", "tools.sessions": "asked for each call",
	"tools.sessions_spawn": "asked for each spawn", "tools.approval": "not in every build", "channels": "as channels.console: one type for all",
}

// TestB343_HotKeysTakeEffect: after a reload the next message and the next turn
// go by the new value.
func TestB343_HotKeysTakeEffect(t *testing.T) {
	t.Parallel()
	for _, tt := range hot {
		t.Run(tt.keys, func(t *testing.T) {
			t.Parallel()
			s := prepareScene(t, hotBase, "")
			s.write("other.json5", `{ rules: [{ when: {}, say: "another script" }] }`)
			s.start()
			s.observe()
			before := s.observe()
			require.Equal(t, 1, before.Requests)
			s.reload(hotBase)
			require.Equal(t, before, s.observe(), "without a change nothing is another")
			s.reload(laid(t, hotBase, tt.settings))
			require.NotEqual(t, before, s.observe())
		})
	}
}

// TestB343_EveryHotKeyIsProven: a live key that joins the configuration has to be
// proven too.
func TestB343_EveryHotKeyIsProven(t *testing.T) {
	proven := func(path string) bool {
		for prefix := path; prefix != ""; prefix = prefix[:max(0, strings.LastIndexByte(prefix, '.'))] {
			if _, ok := elsewhere[prefix]; ok {
				return true
			}
			for _, tt := range hot {
				if tt.keys == prefix {
					return true
				}
			}
		}
		return false
	}
	var visit func(k *config.Key, path string)
	visit = func(k *config.Key, path string) {
		for _, f := range k.Fields {
			visit(f, strings.TrimPrefix(path+"."+f.Name, "."))
		}
		if k.Elem != nil && len(k.Elem.Fields) > 0 {
			visit(k.Elem, path+".<name>")
		} else if len(k.Fields) == 0 && k.Reload == config.ClassLive {
			require.True(t, proven(path), "%s is live: show in this file that it is read anew", path)
		}
	}
	visit(config.Keys(), "")
}

// TestB343_DirectScope: the next message of a person is in another session.
func TestB343_DirectScope(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", "")
	s.say("dm:alice", "hello")
	require.Len(t, s.last("").Items, 1)
	s.reload(`{ session: { dmScope: "main" } }`)
	s.say("dm:alice", "hello again")
	require.Len(t, s.last("").Items, 1, "the history before is in the session before")
}

// TestB343_RulesForSubagents: the next spawn goes by them.
func TestB343_RulesForSubagents(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `{when: {lastTool: "sessions_spawn"}, say: "done"},
  {when: {user: "/^send$/"}, call: [{tool: "sessions_spawn", args: {task: "look"}}]},`)
	refused := func() bool {
		s.say("team", "send")
		items, err := json.Marshal(s.last("").Items)
		require.NoError(t, err)
		return strings.Contains(string(items), "agent_required")
	}
	require.False(t, refused())
	s.reload(`{ agents: { defaults: { subagents: { requireAgentId: true } } } }`)
	require.True(t, refused())
}

// laid lays settings over others.
func laid(t *testing.T, base, over string) string {
	t.Helper()
	b, err := json5.Parse("base", []byte(base))
	require.NoError(t, err)
	o, err := json5.Parse("over", []byte(over))
	require.NoError(t, err)
	text, err := json.Marshal(json5.Merge(b, o))
	require.NoError(t, err)
	return string(text)
}
