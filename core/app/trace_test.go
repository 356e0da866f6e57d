package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/app"
)

// TestTrace: the tree of a task has who asked for it, what it did and what its
// own sub-agent did where it was started, the events and the receipts.
func TestTrace(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{agents: {defaults: {subagents: {maxSpawnDepth: 2}}}}`, spawnRules+`
  {when: {task: "/^lead$/", user: "/do lead/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "dig"}}, {tool: "sessions_yield", args: {}}]},
  {when: {task: "/^dig$/"}, delay: "1m", say: "dug"}, {when: {task: "/^lead$/", event: "/./"}, delay: "1m", say: "led"},
  {when: {event: "/led/"}, say: "told"},`)
	s.say("team", "send lead")
	s.pass(time.Hour)
	trace := func(label string) (view app.TraceView, lines []string) {
		require.Equal(t, 200, call(t, s.app.API(), "GET", "/tasks/"+s.run(label).TaskID+"/trace", "", &view))
		for _, x := range view.Steps {
			lines = append(lines, fmt.Sprintf("%d %s %s", x.Level, x.Kind, x.State))
		}
		return view, lines
	}
	view, lines := trace("lead")
	require.Empty(t, view.Above)
	require.Equal(t, []string{
		"0 task succeeded", "0 turn done", "0 model ", "0 tool done", "0 tool done",
		"1 task succeeded", "1 turn done", "1 model ", "1 end succeeded", "1 event ok",
		"0 turn done", "0 model ", "0 end succeeded", "0 event ok", "0 post sent",
	}, lines)
	post := view.Steps[len(view.Steps)-1]
	require.Equal(t, "told", post.Text)
	require.NotEmpty(t, post.Receipts)
	require.Equal(t, "console:default:team", post.Address)
	require.NotZero(t, view.Steps[1].TokensIn)
	answer := view.Steps[7]
	require.Equal(t, int64(60_000), int64(answer.EndedAt-answer.At), "how long the model took")
	require.Equal(t, "demo/m", answer.Model)
	require.Equal(t, int64(60_000), answer.FirstAfter, "and how long until its first word")
	turn := view.Steps[6]
	require.Positive(t, answer.TokensIn)
	require.Equal(t, []int64{turn.TokensIn, turn.TokensOut, turn.MicroUSD, turn.Unpriced}, []int64{answer.TokensIn, answer.TokensOut, answer.MicroUSD, answer.Unpriced},
		"a turn of one answer")

	view, lines = trace("dig")
	require.Len(t, view.Above, 1)
	require.Equal(t, "lead", view.Above[0].Name)
	require.Len(t, lines, 5)
}
