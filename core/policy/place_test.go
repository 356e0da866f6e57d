package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

// server is a guild whose members of the role "staff" are heard in two
// channels.
func server() Settings {
	return Settings{Guilds: map[string]Guild{
		"g": {Place: Place{Roles: []string{"staff"}, AllowFrom: []string{"bob"}}, Channels: map[string]Place{
			"general": {}, "mine": {AllowFrom: []string{"alice"}}, "off": {Enabled: ptr(false)}, "thread": {AllowFrom: []string{"*"}},
		}},
		"free": {Place: Place{RequireMention: ptr(false)}},
		"some": {Channels: map[string]Place{"off": {Enabled: ptr(false)}, "*": {RequireMention: ptr(false)}}},
	}}
}

func inGuild(guild, channel, parent string, roles ...string) Request {
	r := request(core.Group, core.Address{Channel: "discord", Account: "default", Conversation: channel, Parent: parent}, server(), nil)
	r.Guild, r.Roles, r.Mentioned = guild, roles, true
	return r
}

func TestGuilds(t *testing.T) {
	tests := []struct {
		name string
		in   Request
		want string
	}{
		{"a role of the guild", inGuild("g", "general", "", "staff"), `allow: role-listed (guilds["g"].users)`},
		{"none of its roles", inGuild("g", "general", ""), `deny: sender-not-listed (guilds["g"].users)`},
		{"a channel's list", inGuild("g", "mine", ""), `allow: sender-listed (guilds["g"].channels["mine"].allowFrom)`},
		{"a channel off", inGuild("g", "off", "", "staff"), `deny: place-disabled (guilds["g"].channels["off"].enabled)`},
		{"not named", inGuild("g", "other", "", "staff"), `deny: place-disabled (guilds["g"].channels)`},
		{"a thread of a channel", inGuild("g", "t1", "general", "staff"), `allow: role-listed (guilds["g"].users)`},
		{"no channels named", inGuild("free", "any", ""), `allow: group-listed (guilds["free"])`},
		{"others by *", inGuild("some", "any", ""), `allow: group-listed (guilds["some"].channels["*"])`},
		{"an exact one replaces *", inGuild("some", "off", ""), `deny: place-disabled (guilds["some"].channels["off"].enabled)`},
		{"another guild", inGuild("strange", "any", ""), "deny: group-not-listed (groups)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, Decide(tt.in).String()) })
	}
}

// TestB227_ThreadOfAGuildChannel: an explicit entry of the thread beats the one
// of its channel.
func TestB227_ThreadOfAGuildChannel(t *testing.T) {
	require.Equal(t, `deny: place-disabled (guilds["g"].channels["off"].enabled)`, Decide(inGuild("g", "t1", "off", "staff")).String())
	r := inGuild("g", "thread", "mine")
	r.Author.ID = "carol"
	require.Equal(t, `allow: sender-listed (guilds["g"].channels["thread"].allowFrom)`, Decide(r).String())
}

// TestAListReplacesTheRolesToo: a channel's list of people leaves nothing of
// the guild's roles.
func TestAListReplacesTheRolesToo(t *testing.T) {
	r := inGuild("g", "mine", "", "staff")
	r.Author.ID = "carol"
	require.Equal(t, `deny: sender-not-listed (guilds["g"].channels["mine"].allowFrom)`, Decide(r).String())
}

func TestAgentAndToolsOfAPlace(t *testing.T) {
	deny := func(tool string) Rules { return Rules{Deny: []string{tool}} }
	s := Settings{
		Groups: map[string]Group{
			"team": {Place: Place{Agent: "ops", Tools: deny("exec"), ToolsBySender: map[string]Rules{"bob": deny("read")}}, Topics: map[string]Place{
				"7": {Agent: "main", Tools: deny("write"), ToolsBySender: map[string]Rules{"*": deny("web")}},
			}},
			"*": {Place: Place{Agent: "others"}},
		},
		Guilds: map[string]Guild{"g": {Channels: map[string]Place{"c": {Agent: "guild", Tools: deny("edit")}}}},
	}
	at := func(conversation, thread, parent string) core.Address {
		return core.Address{Channel: "x", Account: "default", Conversation: conversation, Thread: thread, Parent: parent}
	}
	tests := []struct {
		name  string
		at    core.Address
		guild string
		agent string
		rules []Rules
		maps  int
	}{
		{"group", at("team", "", ""), "", "ops", []Rules{deny("exec")}, 1},
		{"topic", at("team", "7", ""), "", "main", []Rules{deny("exec"), deny("write")}, 2},
		{"another topic", at("team", "8", ""), "", "ops", []Rules{deny("exec")}, 1},
		{"a thread that is a conversation", at("t", "", "team"), "", "ops", []Rules{deny("exec")}, 1},
		{"another group", at("x", "", ""), "", "others", nil, 0},
		{"a channel of a guild", at("c", "", ""), "g", "guild", []Rules{deny("edit")}, 0},
		{"a thread of it", at("t", "", "c"), "g", "guild", []Rules{deny("edit")}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rules, maps := s.ToolsAt(tt.at, tt.guild)
			require.Equal(t, tt.rules, rules)
			require.Len(t, maps, tt.maps)
			require.Equal(t, tt.agent, s.AgentAt(tt.at, tt.guild))
		})
	}
}
