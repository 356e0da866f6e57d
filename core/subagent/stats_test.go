package subagent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

func TestStats(t *testing.T) {
	usd := func(v float64) *float64 { return &v }
	run := core.Run{
		StartedAt: 1000, EndedAt: 313_000, TokensIn: 10_100, TokensOut: 2_200, SessionKey: "agent:a:subagent:x", Session: 7,
	}
	for want, price := range map[string]Price{
		"est. $0.04":              {usd(2), usd(10)},
		"est. under $0.01":        {usd(0.1), usd(0.1)},
		"est. $0.00":              {usd(0), usd(0)},
		"est. $0.02 (partial)":    {usd(2), nil},
		"est. unknown (no price)": {},
	} {
		require.Equal(t, "runtime 5m12s · tokens 12.3k (in 10.1k / out 2.2k) · "+want+" · agent:a:subagent:x · 7 · session:7", Stats(run, price))
	}
	require.Contains(t, Stats(core.Run{}, Price{}), "runtime n/a · tokens 0 (in 0 / out 0) · est. $0.00 · ")
}
