package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

// controlRules: "work" starts two workers, who take a note every ten seconds.
const controlRules = `
  {when: {user: "/^work$/"}, call: [
    {tool: "sessions_spawn", args: {task: "dig", label: "digger", taskName: "dig"}}, {tool: "sessions_spawn", args: {task: "rest", label: "sleeper"}}], say: "at work"},
  {when: {task: "/digger/", user: "/be brief/"}, say: "brief: gold"},
  {when: {task: "/digger/", user: "/how deep/"}, say: "ten metres"},
  {when: {task: "/digger/", user: "/Subagent Task/"}, delay: "40s", call: [{tool: "sessions_yield"}]},
  {when: {task: "/sleeper/"}, delay: "10m", say: "slept"},
  {when: {user: "/^steer$/"}, call: [{tool: "subagents", args: {action: "steer", target: "dig", message: "be brief"}}]},
  {when: {user: "/^ask$/"}, call: [{tool: "subagents", args: {action: "send", target: "1", message: "how deep?"}}]},
  {when: {user: "/^wait$/"}, call: [{tool: "subagents", args: {action: "wait", timeoutSeconds: 20}}]},
  {when: {user: "/^cancel (.*)$/"}, call: [{tool: "subagents", args: {action: "cancel", target: "$1"}}]},
  {when: {user: "/^list$/"}, call: [{tool: "subagents", args: {action: "list"}}]},
  {when: {lastTool: "subagents", result: "/(.*)/s"}, say: "tool: $1"},
  {when: {lastTool: "sessions_spawn"}, say: "they work"},
  {when: {event: "/(.*)/s"}, say: "event: $1"},`

const lists = `{ agents: { defaults: { subagents: { maxSpawnDepth: 2 } } } }`

// An agent has its own sub-agents in hand: it lists, waits, steers, asks and
// stops them.
func TestAnAgentControlsItsSubagents(t *testing.T) {
	t.Parallel()
	s := newScene(t, lists, controlRules)
	s.say("team", "work")
	s.say("team", "list")
	require.Contains(t, last(s.told("team")), `"total":2`)
	require.Contains(t, last(s.told("team")), `"taskName":"dig"`)

	s.say("team", "wait")
	s.pass(19 * time.Second)
	s.crash(0) // a wait survives a restart, and ends when it was to end
	s.pass(2 * time.Second)
	require.Contains(t, last(s.told("team")), `"reason":"timeout"`)

	s.say("team", "steer")
	s.pass(time.Minute)
	require.Equal(t, core.RunOK, s.run("digger").Status)
	require.Equal(t, "brief: gold", s.run("digger").Result)
	s.say("team", "steer")
	require.Contains(t, last(s.told("team")), "target_ended")

	s.say("team", "ask")
	s.pass(time.Minute)
	require.Contains(t, last(s.told("team")), "ten metres", "one answer, as an event")

	s.say("team", "cancel "+s.run("sleeper").TaskID)
	require.Contains(t, last(s.told("team")), `"stopped":1`)
	require.Equal(t, core.RunCancelled, s.run("sleeper").Status)

	s.says("bob", "dm:bob", "cancel "+s.run("sleeper").TaskID)
	require.Contains(t, last(s.told("dm:bob")), "target_not_yours", "it is not below that session")
}

// A wait takes several tasks by whatever names them, ends when all have, and at
// once when somebody writes: a person does not stand behind it.
func TestAWaitForSeveralEndsForAMessage(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `
  {when: {user: "/^work$/"}, call: [
    {tool: "sessions_spawn", args: {task: "dig", label: "a"}}, {tool: "sessions_spawn", args: {task: "dig", label: "b"}}, {tool: "sessions_spawn", args: {task: "dig", label: "c"}}], say: "at work"},
  {when: {task: "/a/"}, delay: "5s", say: "gold"}, {when: {task: "/b/"}, delay: "12s", say: "coal"}, {when: {task: "/c/"}, delay: "10m", say: "clay"},
  {when: {user: "/^wait (.*)$/"}, call: [{tool: "subagents", args: {action: "wait", targets: ["a", "2", "b"], timeoutSeconds: 60}}]},
  {when: {user: "/^all$/"}, call: [{tool: "subagents", args: {action: "wait", targets: ["a", "b", "c"], timeoutSeconds: 60}}]},
  {when: {user: "/^bad$/"}, call: [{tool: "subagents", args: {action: "info", targets: ["a"]}}]},
  {when: {user: "/^are you there/"}, say: "I am."},
  {when: {lastTool: "subagents", result: "/(.*)/s"}, say: "tool: $1"}, {when: {lastTool: "sessions_spawn"}, say: "they work"}, {when: {event: "/./"}, say: "NO_REPLY"},`)
	s.say("team", "work")
	s.say("team", "wait both")
	s.pass(11 * time.Second)
	result, _ := s.toolResult(teamKey)
	require.NotContains(t, result, "reason", "one of them works still")
	s.pass(2 * time.Second)
	result, _ = s.toolResult(teamKey)
	require.Equal(t, "completed", result["reason"])
	require.Len(t, result["tasks"], 2, "named twice is one")

	s.say("team", "all")
	s.pass(10 * time.Second)
	before := len(s.told("team"))
	s.say("team", "are you there?")
	require.Greater(t, len(s.told("team")), before, "the person waits for no moment")
	require.Contains(t, strings.Join(s.told("team"), "\n"), "I am.")
	result, _ = s.toolResult(teamKey)
	require.Equal(t, "message", result["reason"])

	s.say("team", "bad")
	require.Contains(t, last(s.told("team")), "takes one target")
}
