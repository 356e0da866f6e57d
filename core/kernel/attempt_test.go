package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/kernel"
)

func TestStartAttempt(t *testing.T) {
	for _, a := range []kernel.StartAttempt{{}, {N: 1, Fence: 1}, {N: 3, Fence: 1 << 40}} {
		require.Equal(t, a, kernel.ParseStartAttempt(a.String()))
	}
	require.Equal(t, kernel.StartAttempt{N: 2}, kernel.ParseStartAttempt("2"), "of an older build")
	require.Zero(t, kernel.ParseStartAttempt(""))
	require.Zero(t, kernel.ParseStartAttempt("x"))
}
