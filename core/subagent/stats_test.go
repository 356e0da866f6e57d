package subagent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

func TestStats(t *testing.T) {
	run := core.Run{
		StartedAt: 1000, EndedAt: 313_000, SessionKey: "agent:a:subagent:x", Session: 7,
		Usage: core.Usage{TokensIn: 10_100, TokensOut: 2_200},
	}
	for want, cost := range map[string]core.Usage{
		"est. $0.04":              {MicroUSD: 42_200},
		"est. under $0.01":        {MicroUSD: 1_230},
		"est. $0.00":              {},
		"est. $0.02 (partial)":    {MicroUSD: 20_200, Unpriced: 2_200},
		"est. unknown (no price)": {Unpriced: 12_300},
	} {
		run.MicroUSD, run.Unpriced = cost.MicroUSD, cost.Unpriced
		require.Equal(t, "runtime 5m12s · tokens 12.3k (in 10.1k / out 2.2k) · "+want+" · agent:a:subagent:x · 7 · session:7", Stats(run))
	}
	require.Contains(t, Stats(core.Run{}), "runtime n/a · tokens 0 (in 0 / out 0) · est. $0.00 · ")
}
