package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
)

func TestOver(t *testing.T) {
	const now = core.Millis(1_000_000)
	three := Recent{}.Add(now - 59_000).Add(now - 59_000).Add(now)
	tests := []struct {
		name   string
		limits UserLimits
		use    Use
		turn   bool
		want   Limit
	}{
		{"no limits", UserLimits{}, Use{three, 1000, 1000}, true, LimitNone},
		{"room in the minute", UserLimits{MessagesPerMinute: 4}, Use{Recent: three}, true, LimitNone},
		{"the minute is full", UserLimits{MessagesPerMinute: 3}, Use{Recent: three}, true, LimitMinute},
		{"for a command too", UserLimits{MessagesPerMinute: 3}, Use{Recent: three}, false, LimitMinute},
		{"one turn is left", UserLimits{TurnsPerDay: 5}, Use{Turns: 4}, true, LimitNone},
		{"no turn is left", UserLimits{TurnsPerDay: 5}, Use{Turns: 5}, true, LimitTurns},
		{"a command is no turn", UserLimits{TurnsPerDay: 5}, Use{Turns: 5}, false, LimitNone},
		{"money is left", UserLimits{USDPerDay: 0.5}, Use{USD: 0.49}, true, LimitNone},
		{"the money is spent", UserLimits{USDPerDay: 0.5}, Use{USD: 0.5}, true, LimitDollars},
		{"a command costs nothing", UserLimits{USDPerDay: 0.5}, Use{USD: 0.5}, false, LimitNone},
		{"the minute comes first", UserLimits{3, 1, 0.1}, Use{three, 1, 1}, true, LimitMinute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, tt.limits.Over(tt.use, tt.turn, now))
		})
	}
	require.False(t, UserLimits{}.Any())
	require.True(t, UserLimits{MessagesPerMinute: 1}.Any())
	require.False(t, UserLimits{MessagesPerMinute: 1}.PerDay())
	require.True(t, UserLimits{USDPerDay: 1}.PerDay())
	require.True(t, UserLimits{TurnsPerDay: 1}.Any())
}

func TestAClockThatWasSetBackDoesNotSilence(t *testing.T) {
	const now = core.Millis(1_000_000_000)
	r := Recent{}.Add(now)
	require.Equal(t, 1, r.Count(now-5_000), "two nodes may differ a little")
	require.Zero(t, r.Count(now-core.Millis(time.Hour.Milliseconds())))
}

// TestNeverMoreThanTheLimit: whatever the pace, no window of 60 seconds holds
// more admitted messages than the limit, and 61 seconds of silence give all of
// it back. The counts go through the store's text each time.
func TestNeverMoreThanTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := UserLimits{MessagesPerMinute: rapid.IntRange(1, 30).Draw(t, "limit")}
		gap := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 10_000), rapid.SampledFrom([]int{1, 999, 1000, 60_000, 61_000}))
		now := core.Millis(rapid.Int64Range(0, 1_800_000_000_000).Draw(t, "now"))
		stored, admitted := "", []core.Millis{}
		for range rapid.IntRange(1, 200).Draw(t, "messages") {
			step := gap.Draw(t, "gap")
			now += core.Millis(step)
			recent := ParseRecent(stored)
			if limits.Over(Use{Recent: recent}, true, now) != LimitNone {
				require.Less(t, step, 61_000, "silence gives everything back")
				continue
			}
			stored = recent.Add(now).String()
			admitted = append(admitted, now)
			require.LessOrEqual(t, len(ParseRecent(stored)), 62, "what is kept is bounded")
			if n := limits.MessagesPerMinute; len(admitted) > n {
				first := admitted[len(admitted)-1-n]
				require.GreaterOrEqual(t, int64(now-first), int64(60_000), "%d messages within 60 s", n+1)
			}
		}
	})
}

func FuzzParseRecent(f *testing.F) {
	f.Add("1767225600:3 1767225604:1")
	f.Add(": 1: :1 1:0 1:-5 x:y 99999999999999999999:1")
	f.Fuzz(func(t *testing.T, text string) {
		r := ParseRecent(text)
		require.Equal(t, r.String(), ParseRecent(r.String()).String())
		require.GreaterOrEqual(t, r.Count(0), 0)
	})
}
