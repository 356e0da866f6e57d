package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
)

func TestStartAttemptCounts(t *testing.T) {
	a := kernel.StartAttempt{N: 1, Fence: 7}
	for _, c := range []struct {
		what     string
		owner    string
		fence    int64
		runsHere bool
		counts   bool
	}{
		{"it was claimed and does not start", "n1", 7, true, true},
		{"another node has claimed it", "n2", 7, false, true},
		{"it was cut off and hangs here", "", 7, true, true},
		{"it waits for a slot", "", 7, false, false},
		{"its process is gone, and this one is about to claim it", "", 8, true, false},
		{"its process is gone", "", 8, false, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			require.Equal(t, c.counts, a.Counts(store.Session{Owner: c.owner, Fence: c.fence}, c.runsHere))
		})
	}
}

func TestStartAttempt(t *testing.T) {
	for _, a := range []kernel.StartAttempt{{}, {N: 1, Fence: 1}, {N: 3, Fence: 1 << 40}} {
		require.Equal(t, a, kernel.ParseStartAttempt(a.String()))
	}
	require.Equal(t, kernel.StartAttempt{N: 2}, kernel.ParseStartAttempt("2"), "of an older build")
	require.Zero(t, kernel.ParseStartAttempt(""))
	require.Zero(t, kernel.ParseStartAttempt("x"))
}
