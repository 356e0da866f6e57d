package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/policy"
)

func TestNamedAt(t *testing.T) {
	t.Parallel()
	off := false
	s := policy.Settings{
		GroupPolicy: policy.GroupOpen,
		Groups: map[string]policy.Group{
			"*": {}, "g1": {Topics: map[string]policy.Place{"t2": {Enabled: &off}}}, "g2": {Place: policy.Place{Enabled: &off}},
		},
		Guilds: map[string]policy.Guild{
			"*":  {Channels: map[string]policy.Place{"*": {}}},
			"s1": {Channels: map[string]policy.Place{"*": {}, "c1": {}, "c2": {Enabled: &off}}},
			"s2": {Place: policy.Place{Enabled: &off}, Channels: map[string]policy.Place{"c3": {}}},
		},
	}
	at := func(conversation, thread, parent string) core.Address {
		return core.Address{Channel: "discord", Account: "default", Conversation: conversation, Thread: thread, Parent: parent}
	}
	for _, c := range []struct {
		to   core.Address
		want string
	}{
		{at("g1", "", ""), `allow: group-listed (groups["g1"])`},
		{at("g1", "t1", ""), `allow: group-listed (groups["g1"])`},
		{at("g1", "t2", ""), `deny: place-disabled (groups["g1"].topics["t2"].enabled)`},
		{at("g2", "", ""), `deny: place-disabled (groups["g2"].enabled)`},
		{at("g3", "", ""), `deny: group-not-listed (groups)`},
		{at("*", "", ""), `deny: group-not-listed (groups)`},
		{at("x", "", "g1"), `allow: group-listed (groups["g1"])`},
		{at("c1", "", ""), `allow: group-listed (guilds["s1"].channels["c1"])`},
		{at("x", "", "c1"), `allow: group-listed (guilds["s1"].channels["c1"])`},
		{at("c2", "", ""), `deny: place-disabled (guilds["s1"].channels["c2"].enabled)`},
		{at("c3", "", ""), `deny: place-disabled (guilds["s2"].enabled)`},
	} {
		require.Equal(t, c.want, s.NamedAt(c.to).String(), "%v", c.to)
	}
	s.GroupPolicy = policy.GroupDisabled
	require.Equal(t, "deny: group-disabled (groupPolicy)", s.NamedAt(at("g1", "", "")).String())
}

func TestNamedDirect(t *testing.T) {
	t.Parallel()
	s := policy.Settings{DMPolicy: policy.DMOpen, AllowFrom: []string{"*", "7", "telegram:8"}}
	require.True(t, s.NamedDirect("telegram", "7").Allowed())
	require.True(t, s.NamedDirect("telegram", "8").Allowed())
	require.False(t, s.NamedDirect("discord", "8").Allowed())
	require.False(t, s.NamedDirect("telegram", "9").Allowed(), "everybody may write to the bot, which names nobody")
	require.False(t, s.NamedDirect("telegram", "*").Allowed())
	require.False(t, s.NamedDirect("telegram", "").Allowed())
	s.DMPolicy = policy.DMDisabled
	require.Equal(t, "deny: dm-disabled (dmPolicy)", s.NamedDirect("telegram", "7").String())
}
