package threadbind

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/words"
)

func TestParseDuration(t *testing.T) {
	good := map[string]time.Duration{
		"24": hours(24), "1": hours(1), "0.5": hours(0.5), "1.25": hours(1.25), "007": hours(7),
		"90m": 90 * time.Minute, "2h30m": hours(2.5), "2h 30m": hours(2.5), " 1D ": hours(24), "1d12h": hours(36),
		"1.5h": hours(1.5), "0.1s": -1, "30s": 30 * time.Second, "1h0.5m": time.Hour + 30*time.Second,
		"1d 1h 1m 1s": hours(25) + 61*time.Second, "off": 0, "OFF": 0, "none": 0, "disabled": 0, "0": 0, "0h": 0, "0.0": 0, "0d0s": 0,
		"36500d": 36500 * hours(24), "0.0003": 1080 * time.Millisecond, "1.00000000000000000001h": time.Hour,
	}
	delete(good, "0.1s")
	for text, want := range good {
		got, err := ParseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", " ", "h", "m30", "1x", "1h1h", "30m2h", "1h30", "1.5h30m", "-1", "-1h", "+1", "1e3", "NaN", "Inf", "1,5", "1..5", ".5", "5.",
		".", "1h 30", "1h,30m", "1h-30m", "0.1s", "0.9999s", "36501d", "36500d1s", "99999999999999999999", "876000.1", "1d 36500d", "1h\n30m",
		"soon", "offf", "1½h", "１h",
	} {
		_, err := ParseDuration(text)
		require.Equal(t, CodeBadDuration, core.ErrorCode(err), text)
		require.ErrorContains(t, err, "90m, 2h30m, 1d", "with examples")
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"24", "0.5", "90m", "2h30m", "1d 12h", "off", "0", "-1", "1e9", "99999999999d", "1h1h", "1.5h30m"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDuration(text)
		if err != nil {
			require.Zero(t, d)
			require.Equal(t, CodeBadDuration, core.ErrorCode(err))
			return
		}
		require.True(t, d == 0 || d >= time.Second && d <= maxDuration, "%q is %s", text, d)
		again, err := ParseDuration(words.Language{}.Duration(d))
		require.NoError(t, err)
		require.GreaterOrEqual(t, again, d, "%q", text)
		require.Less(t, again-d, time.Second, "%q", text)
	})
}

func TestDurationIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(maxDuration/time.Second)).Draw(t, "seconds")) * time.Second
		got, err := ParseDuration(words.Language{}.Duration(d))
		require.NoError(t, err)
		require.Equal(t, d, got)
	})
}

func ExampleParseDuration() {
	for _, text := range []string{"0.5", "2h30m", "off", "soon"} {
		d, err := ParseDuration(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(words.Language{}.Duration(d))
	}
	// Output:
	// 30m
	// 2h 30m
	// 0s
	// "soon" is not a duration (write for example 90m, 2h30m, 1d, 24 (hours), or off)
}
