package intake

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

func TestABotIsSilencedForAWhile(t *testing.T) {
	g, bot, other := newLoopGuard(), talk{"c", "a", "helper"}, talk{"c", "a", "other"}
	now := core.Millis(1_000_000)
	say := func(who talk) (heard bool) {
		heard = !g.silenced(who, now)
		g.note(who, now)
		return heard
	}
	for range loopEvents {
		require.True(t, say(bot))
		now = now.Add(time.Second)
	}
	require.False(t, say(bot), "the 21st within a minute")
	require.True(t, say(other), "each bot for itself")
	now = now.Add(loopSilence - time.Millisecond)
	require.False(t, say(bot), "what it says meanwhile does not prolong the silence")
	now = now.Add(time.Millisecond)
	require.True(t, say(bot))
	for range 100 {
		now = now.Add(loopWindow / loopEvents)
		require.True(t, say(bot), "a slow talk goes on for ever")
	}
	now = now.Add(time.Hour)
	require.True(t, say(talk{"c", "b", "helper"}))
	require.Len(t, g.talks, 1, "those that are quiet are forgotten")
}
