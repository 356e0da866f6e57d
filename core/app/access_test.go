package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/policy"
)

// configOf reads a configuration from text, with every part built.
func configOf(t *testing.T, src string) *config.Config {
	t.Helper()
	cfg, _, err := config.Parse("skein.json5", []byte(src), config.Options{Built: config.AllParts()})
	require.NoError(t, err)
	return cfg
}

func TestAccessOfPlaces(t *testing.T) {
	cfg := configOf(t, `{
  agents: { entries: { main: { default: true }, ops: {} } },
  channels: {
    telegram: { token: "$T", groupPolicy: "open", allowFrom: ["me"], groups: {
      "-1": { requireMention: false, agentId: "ops", topics: { "7": { requireMention: true } } },
    } },
    discord: { token: "$D", guilds: { g: { roles: ["staff"], channels: {
      general: {}, mine: { allowFrom: ["me"] }, room: { agentId: "ops" }, thread: { enabled: false },
    } } }, groups: { lobby: {} } },
  },
}`)
	tests := []struct {
		name    string
		query   app.RouteQuery
		access  string
		rule    string
		agent   string
		mention bool
	}{
		{"an open group hears everybody, though direct chats are listed", app.RouteQuery{Channel: "telegram", Peer: "-9", Sender: "you"},
			"allow", "groupPolicy", "main", true},
		{"a group", app.RouteQuery{Channel: "telegram", Peer: "-1", Sender: "you"}, "allow", "groupPolicy", "ops", false},
		{"a topic in it", app.RouteQuery{Channel: "telegram", Peer: "-1", Thread: "7", Sender: "you"}, "allow", "groupPolicy", "ops", true},
		{"the guild's role", app.RouteQuery{Channel: "discord", Peer: "general", Guild: "g", Sender: "you", Roles: []string{"staff"}},
			"allow", `guilds["g"].roles`, "main", true},
		{"a channel's list replaces people and roles", app.RouteQuery{Channel: "discord", Peer: "mine", Guild: "g", Sender: "you", Roles: []string{"staff"}},
			"deny", `guilds["g"].channels["mine"].allowFrom`, "main", true},
		{"a thread's entry beats its channel's", app.RouteQuery{Channel: "discord", Peer: "thread", Parent: "room", Guild: "g", Sender: "you", Roles: []string{"staff"}},
			"deny", `guilds["g"].channels["thread"].enabled`, "ops", true},
		{"a thread of a listed group", app.RouteQuery{Channel: "discord", Peer: "t", Parent: "lobby", Sender: "you"},
			"allow", `groups["lobby"]`, "main", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.query.Account, tt.query.Kind = "default", core.Group
			view := app.Explain(cfg, tt.query)
			require.Equal(t, []any{tt.access, tt.rule, tt.agent, tt.mention},
				[]any{view.Access, view.AccessRule, view.Agent, view.RequireMention})
		})
	}
}

// TestToolGroupsAgree: the groups that a configuration may name are those that
// the tool policy knows.
func TestToolGroupsAgree(t *testing.T) {
	require.Equal(t, policy.GroupNames(), config.ToolGroups())
}
