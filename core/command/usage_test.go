package command

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/words"
)

// TestUsage: what was used here, by whom, since when, and what is left of each
// budget that is set; costs that are a part say so.
func TestUsage(t *testing.T) {
	r := newRig(t)
	req := r.request("/usage")
	require.Equal(t, "This conversation, with its sub-agents: 0 tokens · $0.00\nYou, today: 0 tokens · $0.00\nYou, in the last 30 days: 0 tokens · $0.00",
		r.run(req), "nothing is limited")

	use := func(session int64, run string, u core.Usage, ago time.Duration) {
		r.write(func(tx *store.Tx) error {
			turn, err := tx.InsertTurn(store.Turn{
				Session: session, Generation: 1, Kind: store.InboxMessage, Lane: store.LaneMain, Owner: req.Actor, Run: run, Started: 1,
			})
			if err != nil {
				return err
			}
			return tx.EndTurn(turn.ID, store.TurnDone, "", u, req.Now.Add(-ago))
		})
	}
	child := r.child(req.Session, "cats", func(run *core.Run) { run.Spec.Budget = &core.Budget{Tokens: 500, USD: 0.002} })
	use(child.Session, child.ID, core.Usage{TokensIn: 90, TokensOut: 10, Unpriced: 100, MicroUSD: 0}, 0)
	use(req.Session.ID, "", core.Usage{TokensIn: 1000, TokensOut: 100, MicroUSD: 42_000}, 29*24*time.Hour)
	use(req.Session.ID, "", core.Usage{TokensIn: 200, MicroUSD: 9_000}, 31*24*time.Hour)
	use(req.Session.ID, "", core.Usage{TokensIn: 300, MicroUSD: 6_000}, 0)
	r.config.limits = subagent.Limits{Tokens: 1000, MicroUSD: 5_000, DayMicroUSD: 2_000_000}
	r.config.usdPerDay = 0.5
	require.Equal(t, `This conversation, with its sub-agents: 1700 tokens · $0.06 (partial)
You, today: 400 tokens · under $0.01 (partial)
You, in the last 30 days: 1500 tokens · $0.05 (partial)
Budget of the agent main for today: $1.99 (partial) of $2.00 are left
Budget of a request: 700 of 1000 tokens are left of the latest
Budget of a request: $0.00 of $0.005 are left of the latest
Your limit for today: $0.49 (partial) of $0.50 are left`, r.run(r.request("/usage cost")))

	bound := r.request("/usage")
	bound.Session, bound.Bound, bound.Operator = r.session(child.SessionKey, "", 0), true, true
	require.Equal(t, `This conversation, with its sub-agents: 100 tokens · unknown (no price)
You, today: 400 tokens · under $0.01 (partial)
You, in the last 30 days: 1500 tokens · $0.05 (partial)
Budget of the agent main for today: $1.99 (partial) of $2.00 are left
Budget of a request: 900 of 1000 tokens are left of the latest
Budget of a request: $0.005 (partial) of $0.005 are left of the latest
Budget of cats: 400 of 500 tokens are left
Budget of cats: $0.002 (partial) of $0.002 are left`, r.run(bound), "an owner has no limit")

	r.config.language, _ = words.Find("de")
	require.Contains(t, r.run(r.request("/usage")), "Du, heute: 400 Token · unter $0.01 (ein Teil)\n")
	require.Contains(t, r.refused(CodeUsage, r.request("/usage please")), "write /usage alone")
}

// TestUsageOfNobody: where the platform does not say who asks, and in a place
// without a session.
func TestUsageOfNobody(t *testing.T) {
	r := newRig(t)
	req := r.request("/usage")
	req.Actor, req.Session = "", store.Session{}
	require.Equal(t, "This conversation, with its sub-agents: 0 tokens · $0.00", r.run(req))
}
