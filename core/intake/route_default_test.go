package intake

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

// TestB177_TheDefaultAgentIsExplicit: further agents and their rules never
// change who answers where no rule fits.
func TestB177_TheDefaultAgentIsExplicit(t *testing.T) {
	where := Match{Channel: "telegram", Account: "default", Conversation: "-100", Kind: core.Group, Peer: "-100"}
	for _, rules := range [][]Rule{
		nil,
		{{Agent: "x", Channel: "discord"}},
		{{Agent: "x", Channel: "discord"}, {Agent: "y", Channel: "telegram", Account: "second"}, {Agent: "a", Channel: "telegram", PeerKind: core.Group, Peer: "-200"}},
	} {
		agent, _ := NewRouter(rules, "d").Route(where)
		require.Equal(t, "d", agent)
	}
}
