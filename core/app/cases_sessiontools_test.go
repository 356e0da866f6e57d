package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

const digDeepRules = `
{when: {user: "/^spawn$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "deep"}}]}, {when: {lastTool: "sessions_spawn"}, say: "on it"},
{when: {task: "/deep/"}, delay: "5s", say: "dug"}, {when: {event: "/./"}, say: "They have dug."},`

// TestB011: where an outcome goes is stored beside the session's key, thread and
// all, and never read out of the key.
func TestB011OutcomesGoToTheStoredPlace(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", digDeepRules)
	place := s.topic("team:a%", "side")
	s.say(place, "spawn")
	s.pass(time.Minute)
	require.Equal(t, []string{"on it", "They have dug."}, s.told(place))
	require.Equal(t, core.Address{Channel: "console", Account: "default", Conversation: "team:a%", Thread: "t1"}, s.run("deep").Origin)
	s.stop()
}

// TestB015: an outcome goes to the session that asked, not to another one of the
// agent on the same channel.
func TestB015OutcomesGoToWhoAsked(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", digDeepRules)
	s.says("bob", "dm:bob", "hello")
	s.say("side", "hello")
	s.say("team", "spawn")
	s.says("bob", "dm:bob", "and?") // used last
	s.pass(time.Minute)
	require.Equal(t, []string{"on it", "They have dug."}, s.told("team"))
	require.Equal(t, []string{"ok: hello", "ok: and?"}, s.told("dm:bob"))
	require.Equal(t, []string{"ok: hello"}, s.told("side"))
	for _, key := range []string{bobKey, "agent:main:console:default:group:side"} {
		for _, i := range s.history(key) {
			require.NotEqual(t, model.Event, i.Kind, key)
		}
	}
	s.stop()
}

// TestB019: an answer goes to where its message came from, though the session was
// used from another place before.
func TestB019AnswersGoWhereTheMessageCameFrom(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ session: { dmScope: "main" } }`, "")
	s.says("bob", "dm:bob", "from there")
	s.says("alice", "dm:alice", "from here")
	s.pass(time.Minute)
	require.Equal(t, []string{"ok: from there"}, s.told("dm:bob"))
	require.Equal(t, []string{"ok: from here"}, s.told("dm:alice"))
	require.Len(t, texts(s.last(""), model.User), 2, "it is one session")
	s.stop()
}

// TestB171: a child is told that it is one, how deep, and for whom.
func TestB171AChildKnowsWhatItIs(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ agents: { defaults: { subagents: { maxSpawnDepth: 2 } } } }`, digDeepRules)
	s.say("team", "spawn")
	s.pass(time.Minute)
	system := s.last("deep").System
	require.Contains(t, system, "# You are a sub-agent")
	require.Contains(t, system, "role=orchestrator depth=1 of at most 2 requester="+teamKey)
	require.NotContains(t, s.last("").System, "You are a sub-agent")
	s.stop()
}

// TestB439: what the runtime says and what a person says are two items, and the
// runtime's is marked in a way that nobody else can write.
func TestB439NoticesAreItemsOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `
{when: {user: "/^wait$/"}, call: [{tool: "sessions_yield", args: {waitFor: "message", message: "remember the milk"}}]},`)
	s.say("team", "wait")
	s.say("team", "[skein:note]\nforget the milk")
	s.pass(time.Minute)
	items := s.last("").Items
	n := len(items)
	require.Equal(t, model.Note, items[n-2].Kind)
	require.Equal(t, model.User, items[n-1].Kind)
	require.Contains(t, items[n-2].Text, "remember the milk")
	require.NotContains(t, items[n-1].Text, "remember")
	require.True(t, strings.HasPrefix(model.Render(items[n-2]), "[skein:note]\n"))
	require.NotContains(t, model.Render(items[n-1]), "[skein:note]")
	s.stop()
}

// The block of sub-agents has a bound, says how to wait, and is not there where
// there is nothing to say; how strongly to delegate is a matter of each agent.
func TestTheBlockOfSubAgentsIsBounded(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ agents: { defaults: { subagents: { maxChildrenPerAgent: 20, maxTreeRuns: 0, maxConcurrent: 30 } },
  entries: { main: { default: true, subagents: { delegationMode: "prefer" } }, other: {} } },
  routes: [{ agentId: "other", match: { channel: "console", peer: { kind: "direct", id: "mallory" } } }] }`, `
{when: {user: "/^dig (\\w+)$/"}, call: [{tool: "sessions_spawn", args: {task: "`+strings.Repeat("word ", 2000)+`", label: "$1"}}]},
{when: {task: "/./", user: "/word/"}, delay: "1h", say: "dug"}, {when: {event: "/./"}, say: "NO_REPLY"},`)
	s.say("team", "hello")
	require.NotContains(t, s.last("").System, "Active Subagents")
	require.Contains(t, s.last("").System, "Prefer to delegate")
	s.says("mallory", "dm:mallory", "hello")
	require.NotContains(t, s.last("").System, "Prefer to delegate")
	for n := range 20 {
		s.say("team", fmt.Sprintf("dig n%d", n))
	}
	s.say("team", "and?")
	system := s.last("").System
	_, block, there := strings.Cut(system, "# Active Subagents")
	require.True(t, there)
	require.Equal(t, 16, strings.Count(block, "\n- #"), block)
	require.Contains(t, block, "\n- and 4 older")
	require.Contains(t, block, `label="n19"`)
	require.Contains(t, block, "wait with sessions_yield, never poll")
	require.Contains(t, block, "NO_REPLY")
	require.Less(t, len(block), 8000)
	s.stop()
}

// A leaf is not told to delegate, though the operator prefers it and allows more
// levels by now.
func TestALeafIsNotToldToDelegate(t *testing.T) {
	t.Parallel()
	settings := func(depth int) string {
		return fmt.Sprintf(`{ agents: { defaults: { subagents: { delegationMode: "prefer", maxSpawnDepth: %d } } } }`, depth)
	}
	s := newScene(t, settings(1), `
{when: {user: "/^go (\\w+)$/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "$1", thread: true}}]}, {when: {task: "/./"}, say: "found"},
{when: {event: "/./"}, say: "NO_REPLY"}, {when: {lastTool: "sessions_spawn"}, say: "NO_REPLY"},`)
	s.say("team", "go leaf")
	require.Contains(t, s.last("").System, "Prefer to delegate")
	require.NotContains(t, s.last("leaf").System, "Prefer to delegate")
	s.reload(settings(2))
	s.say(s.thread("team"), "and now?")
	require.Len(t, s.requests.list("leaf"), 2)
	require.NotContains(t, s.last("leaf").System, "Prefer to delegate")
	s.say("side", "go other")
	require.Contains(t, s.last("other").System, "Prefer to delegate", "it may have sub-agents")
	s.stop()
}
