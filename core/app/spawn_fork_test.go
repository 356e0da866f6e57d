package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// shown returns the results that a request shows, by the tools of their calls
// in the order of the calls.
func shown(req model.Request) (out [][2]string) {
	for _, i := range req.Items {
		if i.Kind == model.ToolOutput {
			out = append(out, [2]string{i.Tool, i.Text})
		}
	}
	return out
}

// TestForkHasTheTurnInProgress: a fork has what has ended of the very message
// that spawns it, and for each call that has not, a result that says so: also
// after a crash, in a fork of a fork, and after a compaction-free restart.
func TestForkHasTheTurnInProgress(t *testing.T) {
	t.Parallel()
	const own, other = "This is the call that started you. You are the sub-agent: your task follows.",
		"This call had not ended when you were started. It is your requester's, and its result goes there."
	s := newScene(t, `{ agents: { defaults: { subagents: { maxSpawnDepth: 2 } } } }`, `
  {when: {user: "/^go$/"}, say: "Three at once.", call: [
    {tool: "agents_list"},
    {tool: "sessions_spawn", args: {task: "do first", label: "first", context: "fork"}},
    {tool: "sessions_spawn", args: {task: "do second", label: "second", context: "fork"}},
    {tool: "sessions_yield"}]},
  {when: {task: "/^first$/", user: "/do first/"}, delay: "30s", call: [{tool: "sessions_spawn", args: {task: "do third", label: "third", context: "fork"}}, {tool: "sessions_yield"}]},
  {when: {task: "/^third$/"}, delay: "30s", say: "third is done"},
  {when: {task: "/^second$/"}, delay: "30s", say: "second is done"},
  {when: {event: "/third is done/"}, say: "first is done"},
  {when: {event: "/./"}, say: "all is done"},`)
	s.say("team", "hello")
	s.say("team", "go")
	s.pass(10 * time.Second)
	s.crash(time.Minute) // the children go on, with what they had
	s.pass(time.Hour)
	require.Equal(t, "all is done", last(s.told("team")))

	first, second, third := s.requests.list("first"), s.last("second"), s.last("third")
	spawned := shown(second)[1][1]
	require.Contains(t, spawned, `"status":"accepted"`, "the second child knows what became of the first one's call")
	require.Contains(t, shown(first[0])[0][1], "agents")
	for _, req := range first {
		require.Equal(t, [][2]string{{"sessions_spawn", own}, {"sessions_spawn", other}, {"sessions_yield", other}}, shown(req)[1:4])
	}
	require.Equal(t, [][2]string{{"sessions_spawn", spawned}, {"sessions_spawn", own}, {"sessions_yield", other}}, shown(second)[1:])
	require.Equal(t, [][2]string{{"sessions_spawn", own}, {"sessions_yield", other}}, shown(third)[4:], "a fork of a fork")
	for n, req := range s.requests.all {
		require.NoError(t, model.Validate(req.Items), "request %d", n)
	}
	require.Equal(t, "do third", third.TaskText)
	require.Equal(t, []string{"hello", "go"}, texts(third, model.User)[:2])
}

// TestForkThatIsUndone leaves nothing of what it was given.
func TestForkThatIsUndone(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `
  {when: {user: "/^go$/"}, call: [{tool: "agents_list"}, {tool: "sessions_spawn", args: {task: "x", label: "x", thread: true, context: "fork"}}]},
  {when: {lastTool: "sessions_spawn", result: "/(.*)/"}, say: "$1"},`)
	require.NoError(t, s.server.Fault(testserver.Fault{Method: "open-child", Kind: testserver.FaultSlow, After: 20 * time.Second}))
	s.say("team", "go")
	child := s.run("x").Session
	s.pass(time.Minute)
	require.Contains(t, last(s.told("team")), "thread_timeout")
	require.NotZero(t, child)
	s.read(func(tx *store.Tx) error {
		n, err := tx.CountRows(child)
		require.Zero(t, n)
		return err
	})
	require.Empty(t, s.runs())
}
