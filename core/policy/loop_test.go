package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
)

func TestABotIsSilencedForAWhile(t *testing.T) {
	var talk Talk
	now := core.Millis(1_000_000)
	say := func() (heard, begins bool) {
		talk, heard, begins = talk.Hear(now)
		talk = ParseTalk(talk.String(), talk.Until) // as the store keeps it
		return heard, begins
	}
	for range LoopEvents {
		heard, _ := say()
		require.True(t, heard)
		now = now.Add(time.Second)
	}
	heard, begins := say()
	require.False(t, heard, "the 21st within a minute")
	require.True(t, begins)
	now = now.Add(LoopSilence - time.Millisecond)
	heard, begins = say()
	require.False(t, heard, "what it says meanwhile does not prolong the silence")
	require.False(t, begins, "nor begin another")
	now = now.Add(time.Millisecond)
	heard, _ = say()
	require.True(t, heard)
	for range 100 {
		now = now.Add(LoopWindow / LoopEvents)
		heard, _ = say()
		require.True(t, heard, "a slow talk goes on for ever")
	}
	require.LessOrEqual(t, len(talk.Recent), LoopEvents)
	now = 5
	heard, _ = say()
	require.True(t, heard, "what a clock that was set back wrote does not count")
}

// B473: whatever the pace, no more than 20 messages of a bot are heard within any
// 60 seconds, and after one too many nothing for 60 seconds.
func TestB473_NoMoreThanTwentyAMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var talk Talk
		var heardAt []core.Millis
		now, silent := core.Millis(1_000_000), core.Millis(0)
		for range rapid.IntRange(1, 150).Draw(t, "messages") {
			now = now.Add(time.Duration(rapid.IntRange(0, 9000).Draw(t, "pause")) * time.Millisecond)
			after, heard, begins := talk.Hear(now)
			talk = after
			if begins {
				silent = now
			}
			if !heard {
				continue
			}
			if silent != 0 {
				require.GreaterOrEqual(t, now.Sub(silent), LoopSilence)
			}
			heardAt = append(heardAt, now)
			n := 0
			for _, at := range heardAt {
				if at > now.Add(-LoopWindow) {
					n++
				}
			}
			require.LessOrEqual(t, n, LoopEvents)
		}
	})
}

func TestTalkPlace(t *testing.T) {
	thread := core.Address{Channel: "x", Account: "a", Conversation: "c", Thread: "t"}
	require.Equal(t, "x:a:c", TalkPlace(thread).String())
	of := core.Address{Channel: "x", Account: "a", Conversation: "thread", Parent: "c"}
	require.Equal(t, "x:a:c", TalkPlace(of).String(), "a thread that is a conversation of its own")
	require.Empty(t, ParseTalk("x y", 0).Recent)
}
