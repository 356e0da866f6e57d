package policy

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
)

func TestScopeOf(t *testing.T) {
	bySender := Settings{Groups: map[string]Group{
		"team": {Place: Place{ToolsBySender: map[string]Rules{"bob": {Deny: []string{"exec"}}, "*": {Deny: []string{"*"}}}}},
		"open": {Place: Place{Tools: Rules{Deny: []string{"exec"}}}},
	}}
	common := Settings{Groups: map[string]Group{"*": {}}}
	message := func(kind core.ConversationKind, conversation, id string) core.Message {
		return core.Message{
			Kind: kind, Guild: "g", Author: core.Author{ID: id},
			Address: core.Address{Channel: "x", Account: "default", Conversation: conversation},
		}
	}
	bob := bySender.ScopeOf(message(core.Group, "team", "bob"))
	carol := bySender.ScopeOf(message(core.Group, "team", "carol"))
	require.NotEqual(t, bob.String(), carol.String(), "different rules")
	require.Equal(t, carol, bySender.ScopeOf(message(core.Group, "team", "dave")), "the same rules")
	require.Empty(t, bySender.ScopeOf(message(core.Group, "open", "bob")).String(), "no rules by sender")
	require.Empty(t, bySender.ScopeOf(message(core.Direct, "bob", "bob")).String())
	require.True(t, common.ScopeOf(message(core.Direct, "bob", "bob")).Direct)
	require.Empty(t, common.ScopeOf(message(core.Group, "x", "bob")).String())
	require.Equal(t, Scope{Guild: "g"}, Settings{Guilds: map[string]Guild{"g": {}}}.ScopeOf(message(core.Group, "c", "bob")))
}

func TestScopeIsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Scope{
			Direct: rapid.Bool().Draw(t, "direct"), Guild: rapid.String().Draw(t, "guild"),
			Entries: rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "entries"),
		}
		if len(s.Entries) == 0 {
			s.Entries = nil
		}
		require.Equal(t, s, ParseScope(s.String()))
	})
	require.Zero(t, ParseScope("%"))
}
