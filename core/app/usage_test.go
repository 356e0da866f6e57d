package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
)

// TestCostIsBooked: every turn keeps what its calls cost, its person's day the
// sum, a run and the line about it the same; a model without prices has tokens
// only.
func TestCostIsBooked(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{
  models: { providers: { demo: { models: [{ id: "m", cost: { input: 2, output: 10 } }] } } },
  agents: { defaults: { subagents: { model: "demo/half" } } } }`, `
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "dig"}}], usage: {in: 1000, out: 100}},
  {when: {lastTool: "sessions_spawn"}, say: "sent", usage: {in: 2000, out: 100}},
  {when: {task: "/dig/"}, say: "a bone", usage: {in: 500, out: 10}},
  {when: {event: "/bone/"}, say: "It found a bone.", usage: {in: 3000, out: 200}},
  {say: "hm", usage: {in: 1, out: 1}},`)
	s.say("team", "go")
	s.pass(time.Minute)
	require.Equal(t, "It found a bone.", last(s.told("team")))

	s.read(func(tx *store.Tx) error {
		list, err := app.Views{}.Sessions(tx, false, 10)
		require.NoError(t, err)
		turns := map[string][]core.Usage{}
		for _, l := range list {
			rows, err := tx.TurnsOfSession(l.ID, 10)
			require.NoError(t, err)
			for _, turn := range rows {
				turns[string(l.Kind)] = append(turns[string(l.Kind)], turn.Usage)
			}
		}
		require.Equal(t, map[string][]core.Usage{
			"group": {
				{TokensIn: 3000, TokensOut: 200, MicroUSD: 8_000},
				{TokensIn: 3000, TokensOut: 200, MicroUSD: 8_000}, // two calls
			},
			"subagent": {{TokensIn: 500, TokensOut: 10, Unpriced: 510}},
		}, turns)
		day, err := tx.UsageOf("console:alice", store.DayOf(s.world.Now()))
		require.NoError(t, err)
		require.Equal(t, store.DayUsage{Turns: 3, Usage: core.Usage{TokensIn: 6500, TokensOut: 410, MicroUSD: 16_000, Unpriced: 510}}, day)
		return nil
	})
	require.Equal(t, core.Usage{TokensIn: 500, TokensOut: 10, Unpriced: 510}, s.run("dig").Usage)
	events := s.last("").Items
	require.Contains(t, events[len(events)-1].Completion.Stats, "est. unknown (no price)")
}
