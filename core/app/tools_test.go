package app_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/model"
)

// toolNames are the tools that a request offers.
func toolNames(req model.Request) (out []string) {
	for _, t := range req.Tools {
		out = append(out, t.Name)
	}
	slices.Sort(out)
	return out
}

func TestToolsByProvider(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{
  models: { providers: { other: { type: "scripted" } } },
  tools: { byProvider: { demo: { deny: ["sessions_yield"] } } },
  agents: { entries: { main: { tools: { byProvider: { demo: { deny: ["sessions_spawn"] }, other: { deny: ["*"] } } } } } },
}`, "")
	s.say("team", "hello")
	require.NotContains(t, toolNames(s.last("")), "sessions_yield")
	require.NotContains(t, toolNames(s.last("")), "sessions_spawn")

	s.reload(`{
  models: { providers: { other: { type: "scripted" } } },
  tools: { byProvider: { other: { deny: ["sessions_yield"] } } },
}`)
	s.say("team", "hello")
	require.Subset(t, toolNames(s.last("")), []string{"sessions_yield", "sessions_spawn"})
}

// senderSettings let bob do less than others in the group "team", and nobody
// much in other groups.
const senderSettings = `{
  agents: { defaults: { subagents: { maxSpawnDepth: 3 } } },
  channels: { console: { groups: {
    team: { toolsBySender: { bob: { deny: ["sessions_yield"] } } },
    "*": { tools: { allow: [] } },
  } } },
}`

// TestToolsBySender: each person has their own tools, and their messages do not
// share a turn.
func TestToolsBySender(t *testing.T) {
	t.Parallel()
	s := newScene(t, senderSettings, `{when: {user: "/^slow$/"}, delay: "10s", say: "done"},`)
	s.says("bob", "team", "hello")
	require.NotContains(t, toolNames(s.last("")), "sessions_yield")
	require.Contains(t, toolNames(s.last("")), "sessions_spawn")
	s.say("team", "slow")
	require.Contains(t, toolNames(s.last("")), "sessions_yield")
	s.says("bob", "team", "me too")
	s.say("team", "and me")
	s.pass(time.Minute)
	var turns [][]string
	for _, r := range s.requests.list("")[2:] {
		turns = append(turns, toolNames(r))
	}
	require.Len(t, turns, 2, "bob's message and alice's are two turns")
	require.NotEqual(t, turns[0], turns[1])

	s.say("dm:alice", "hello")
	require.Contains(t, toolNames(s.last("")), "sessions_spawn", "what holds in all groups does not hold in direct chats")
	s.say("elsewhere", "hello")
	require.Empty(t, toolNames(s.last("")))
}

// TestB165_DeniedToolsInChildren: what the agent, the place and the sender may
// not do, a child may not do either.
func TestB165_DeniedToolsInChildren(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{
  agents: { defaults: { subagents: { maxSpawnDepth: 3 } }, entries: { main: { tools: { deny: ["subagents"] } } } },
  channels: { console: { groups: { team: { tools: { deny: ["sessions_yield"] } } } } },
}`, spawnRules)
	s.say("team", "send scout")
	s.pass(time.Minute)
	require.Contains(t, toolNames(s.last("scout")), "sessions_spawn")
	require.NotContains(t, toolNames(s.last("scout")), "sessions_yield", "of the place that it was asked for in")
	require.NotContains(t, toolNames(s.last("scout")), "subagents")
}

// TestB167_SenderPolicyIsFrozenAtSpawn: a child keeps what its requester's
// sender might do at the spawn, whatever the rules become; a person who writes
// to it has their own.
func TestB167_SenderPolicyIsFrozenAtSpawn(t *testing.T) {
	t.Parallel()
	s := newScene(t, senderSettings, `
  {when: {user: "/^send (\\w+)$/"}, call: [{tool: "sessions_spawn", args: {task: "do $1", label: "$1", thread: true}}]},
  {when: {lastTool: "sessions_spawn"}, say: "sent"},`)
	s.says("bob", "team", "send scout")
	s.pass(time.Minute)
	require.NotEmpty(t, s.run("scout").Spec.ToolCeiling)
	require.NotContains(t, s.run("scout").Spec.ToolCeiling, "sessions_yield")
	require.NotContains(t, toolNames(s.last("scout")), "sessions_yield")
	require.NotContains(t, toolNames(s.last("")), "sessions_yield", "the turn that the completion started is bob's too")

	s.say(s.thread("team"), "hello")
	require.Contains(t, toolNames(s.last("scout")), "sessions_yield", "alice's own policy")
	s.says("bob", s.thread("team"), "hello")
	require.NotContains(t, toolNames(s.last("scout")), "sessions_yield", "bob's own policy")

	s.say("team", "send free")
	s.pass(time.Minute)
	require.Nil(t, s.run("free").Spec.ToolCeiling)
	require.Contains(t, toolNames(s.last("free")), "sessions_yield")
}
