package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/model"
)

// sceneWithTool is a scene whose agents have the tool "ask" besides.
func sceneWithTool(t *testing.T, settings, rules string) *scene {
	t.Helper()
	s := prepareScene(t, settings, rules)
	s.options = func(o *app.Options) { o.Tools = []core.Tool{asks{make(chan core.ToolScope, 1)}} }
	s.start()
	return s
}

// B165, at the call: a tool that was removed is refused under every spelling of
// its name, and the model is told which rule it was; the tool itself is never
// reached.
func TestB165_DeniedToolsAreRefusedAtTheCall(t *testing.T) {
	t.Parallel()
	probe := asks{make(chan core.ToolScope, 1)}
	name := probe.Spec().Name
	s := prepareScene(t, `{ tools: { subagents: { tools: { deny: ["`+name[:3]+`*"] } } } }`, spawnRules+`
  {when: {task: "/scout/"}, call: [
    {tool: "`+name+`", args: {}}, {tool: "`+strings.ToUpper(name)+`", args: {}}, {tool: "message", args: {}}, {tool: "nothing", args: {}}], times: 1},`)
	s.options = func(o *app.Options) { o.Tools = []core.Tool{probe} }
	s.start()
	s.say("team", "send scout")
	s.pass(time.Minute)
	require.Empty(t, probe.scopes, "the tool was never called")
	results := texts(s.last("scout"), model.ToolOutput)
	require.Len(t, results, 4)
	require.Contains(t, results[0], `tool_denied: "`+name+`" is not allowed here, it was removed by sub-agent (deny `+name[:3]+`*)`)
	require.Contains(t, results[1], "tool_unknown: ")
	require.Regexp(t, "^tool_(unknown|denied): ", results[2])
	require.Regexp(t, `^tool_unknown: there is no tool "nothing" here; available: .*sessions_yield`, results[3])
	require.Equal(t, core.RunError, s.run("scout").Status, "every call failed")
}

// TestB175_NilInheritsAndEmptyIsNone: a child has its agent's tools after the
// policy; an empty list is none, a list exactly these.
func TestB175_NilInheritsAndEmptyIsNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, tools string
		want        []string
	}{
		{"unset", `{}`, []string{"ask", "sessions_spawn", "sessions_yield"}},
		{"empty", `{ subagents: { tools: { allow: [] } } }`, nil},
		{"a list", `{ subagents: { tools: { allow: ["Sessions_Y*"] } } }`, []string{"sessions_yield"}},
		{"an agent that is to have none", `{ allow: [] }`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := sceneWithTool(t, `{
  tools: `+c.tools+`,
  agents: { defaults: { subagents: { maxSpawnDepth: 3 } } },
}`, spawnRules)
			s.say("team", "hello")
			if c.name == "an agent that is to have none" {
				require.Empty(t, toolNames(s.last("")))
				return
			}
			s.say("team", "send scout")
			s.pass(time.Minute)
			if c.want == nil {
				require.Empty(t, toolNames(s.last("scout")))
				return
			}
			require.Subset(t, toolNames(s.last("scout")), c.want)
			if c.name == "a list" {
				require.Equal(t, c.want, toolNames(s.last("scout")))
			}
		})
	}
}

// TestAnAgentThatNeedsToolsAndHasNone: the turn ends with an error that names
// what became of each tool, and no model is called.
func TestAnAgentThatNeedsToolsAndHasNone(t *testing.T) {
	t.Parallel()
	s := sceneWithTool(t, `{
  tools: { deny: ["sessions_*"] },
  agents: { entries: { main: { tools: { allow: ["sessions_spawn", "weather"] } } } },
}`, "")
	s.say("team", "hello")
	s.pass(time.Minute)
	require.Empty(t, s.requests.list(""))
	require.Equal(t, []string{"This did not work: the agent main needs tools, and its policy leaves none: " +
		"sessions_spawn: removed by global (deny sessions_*); weather: there is no such tool " +
		"(an operator must change its tools; /tools verbose explains them)."}, s.told("team"))

	// Whoever says that there shall be none means it.
	s.reload(`{
  tools: { deny: ["sessions_*"] },
  agents: { entries: { main: { tools: { allow: ["sessions_spawn"] } } } },
  channels: { console: { groups: { team: { toolsBySender: { alice: { allow: [] } } } } } },
}`)
	s.say("team", "hello")
	require.Len(t, s.requests.list(""), 1)
	require.Empty(t, toolNames(s.last("")))
}

// TestAChildThatNeedsToolsAndHasNone ends with the error as its outcome.
func TestAChildThatNeedsToolsAndHasNone(t *testing.T) {
	t.Parallel()
	s := sceneWithTool(t, `{ agents: { entries: { main: { tools: { allow: ["sessions_spawn"] } } } } }`, spawnRules)
	s.say("team", "send scout")
	s.pass(time.Minute)
	require.Empty(t, s.requests.list("scout"))
	require.Equal(t, core.RunError, s.run("scout").Status)
	require.Contains(t, s.run("scout").Detail, "sessions_spawn: removed by sub-agent (not for a sub-agent without children)")
}

// TestAlsoAllowOfTheAgentJoinsTheGlobalProfile, and with a profile of its own an
// agent has nothing of the global one.
func TestAlsoAllowOfTheAgentJoinsTheGlobalProfile(t *testing.T) {
	t.Parallel()
	s := sceneWithTool(t, `{
  tools: { profile: "minimal", alsoAllow: ["sessions_yield"] },
  agents: { entries: { main: { tools: { alsoAllow: ["sessions_spawn"] } } } },
}`, "")
	s.say("team", "hello")
	require.Subset(t, toolNames(s.last("")), []string{"sessions_spawn", "sessions_yield"})
	require.NotContains(t, toolNames(s.last("")), "ask")
	s.reload(`{
  tools: { profile: "messaging", alsoAllow: ["sessions_yield"] },
  agents: { entries: { main: { tools: { profile: "minimal", alsoAllow: ["sessions_spawn"] } } } },
}`)
	s.say("team", "hello")
	require.Contains(t, toolNames(s.last("")), "sessions_spawn")
	require.NotContains(t, toolNames(s.last("")), "sessions_yield")
}

// TestToolsByModel: rules for a model hold besides those of its provider, and a
// fallback of another provider is offered what its own rules leave.
func TestToolsByModel(t *testing.T) {
	t.Parallel()
	s := prepareScene(t, `{
  models: { providers: { other: { type: "scripted", file: "other.json5" } } },
  tools: { byProvider: { demo: { deny: ["ask"] }, "demo/m": { deny: ["sessions_yield"] }, "demo/n": { deny: ["*"] }, other: { deny: ["sessions_spawn"] } } },
  agents: { entries: { main: { fallbacks: ["other/x"] } } },
}`, `{when: {user: "/^fail$/"}, fail: "500"},`)
	s.options = func(o *app.Options) { o.Tools = []core.Tool{asks{}} }
	s.write("other.json5", `{rules: []}`)
	s.start()
	s.say("team", "hello")
	require.Contains(t, toolNames(s.last("")), "sessions_spawn")
	require.NotContains(t, toolNames(s.last("")), "ask")
	require.NotContains(t, toolNames(s.last("")), "sessions_yield")
	s.say("team", "fail")
	s.pass(time.Minute)
	require.Equal(t, "x", s.last("").Model)
	require.NotContains(t, toolNames(s.last("")), "sessions_spawn")
	require.Contains(t, toolNames(s.last("")), "sessions_yield")
}

// TestAGrandchildStandsWhereItWasAskedFor: the rules of the group hold at every
// depth, and so does the ceiling of whoever wrote there.
func TestAGrandchildStandsWhereItWasAskedFor(t *testing.T) {
	t.Parallel()
	s := sceneWithTool(t, `{
  agents: { defaults: { subagents: { maxSpawnDepth: 3 } } },
  channels: { console: { groups: { team: { tools: { deny: ["ask"] }, toolsBySender: { bob: { deny: ["sessions_yield"] } } } } } },
}`, `
  {when: {user: "/^dig$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "one"}}]},
  {when: {task: "/one/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "two"}}], times: 1},`)
	s.says("bob", "team", "dig")
	s.pass(time.Minute)
	for _, label := range []string{"one", "two"} {
		require.Contains(t, toolNames(s.last(label)), "sessions_spawn")
		require.NotContains(t, toolNames(s.last(label)), "ask", "the group's rule")
		require.NotContains(t, toolNames(s.last(label)), "sessions_yield", "bob's")
	}
	require.Equal(t, 2, s.run("two").Depth)
	require.Equal(t, "team", s.run("two").Spec.AskedAt.Conversation)
}

// TestAnEndedLeafStaysALeaf: the role of a child outlives its run and a change
// of the configuration; the person who writes to it has their own policy
// otherwise.
func TestAnEndedLeafStaysALeaf(t *testing.T) {
	t.Parallel()
	s := sceneWithTool(t, "", `
  {when: {user: "/^send$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "scout", thread: true}}]},`)
	s.say("team", "send")
	s.pass(time.Minute)
	require.Equal(t, core.RunOK, s.run("scout").Status)
	s.reload(`{ agents: { defaults: { subagents: { maxSpawnDepth: 3 } } } }`)
	s.say(s.thread("team"), "hello")
	require.NotContains(t, toolNames(s.last("scout")), "sessions_spawn")
	require.Contains(t, toolNames(s.last("scout")), "sessions_yield")
}

// TestALateCompletionKeepsTheCeiling: a turn of a child without a sender has
// the tools that the spawn left it, also when its run has ended.
func TestALateCompletionKeepsTheCeiling(t *testing.T) {
	t.Parallel()
	const settings = `{
  agents: { defaults: { subagents: { maxSpawnDepth: 3 } } },
  channels: { console: { groups: { team: { toolsBySender: { bob: { deny: ["ask"] } } } } } },
}`
	s := sceneWithTool(t, settings, `
  {when: {user: "/^dig$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "one", thread: true}}]},
  {when: {task: "/one/", user: "/^now$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "two"}}], times: 1},
  {when: {task: "/two/"}, delay: "60s", say: "dug"},`)
	s.says("bob", "team", "dig")
	s.pass(10 * time.Second)
	s.says("alice", s.thread("team"), "now")
	require.Contains(t, toolNames(s.last("one")), "ask", "alice's own policy")
	s.pass(2 * time.Minute)
	require.Equal(t, core.RunOK, s.run("two").Status)
	last := s.last("one")
	require.NotEmpty(t, texts(last, model.Event), "the completion came")
	require.NotContains(t, toolNames(last), "ask", "nobody wrote: the ceiling of the spawn holds")
}

// TestToolsCommand is /tools as people see it: in a group, and in the thread of
// a child.
func TestToolsCommand(t *testing.T) {
	t.Parallel()
	s := sceneWithTool(t, `{
  tools: { profile: "coding", alsoAllow: ["ask"], deny: ["ask"] },
  channels: { console: { groups: { team: { toolsBySender: { bob: { deny: ["sessions_spawn"] } } } } } },
}`, `
  {when: {user: "/^send$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "scout", thread: true}}]},`)
	s.says("bob", "team", "/tools verbose")
	text := last(s.told("team"))
	require.Contains(t, text, "Tools of main: ")
	require.Contains(t, text, "global (deny ask): ask\n")
	require.Contains(t, text, "sender (deny sessions_spawn): sessions_spawn")
	s.say("team", "/tools verbose")
	require.NotContains(t, last(s.told("team")), "sender")
	s.say("team", "send")
	s.pass(time.Minute)
	s.say(s.thread("team"), "/tools verbose")
	require.Regexp(t, `sub-agent \(only with sub-agents of its own\): .*sessions_spawn`, last(s.told(s.thread("team"))))
	require.Equal(t, toolNames(s.last("scout")), listed(last(s.told(s.thread("team")))), "what it says is what the model was offered")
}

// listed are the tools that a reply of /tools names.
func listed(text string) []string {
	first, _, _ := strings.Cut(text, "\n")
	_, names, _ := strings.Cut(first, ": ")
	return strings.Split(names, ", ")
}

// TestModelCommand: the next turn asks the model that was chosen, in a thread the
// child's does, and its own run too.
func TestModelCommand(t *testing.T) {
	t.Parallel()
	s := sceneWithTool(t, `{ models: { providers: { demo: { models: [{ id: "m" }, { id: "big" }] } } } }`, `
  {when: {user: "/^send$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "scout", thread: true}}]},
  {when: {task: "/scout/"}, delay: "1m", say: "dug"},`)
	s.say("team", "/model big")
	s.say("team", "hello")
	require.Equal(t, "big", s.last("").Model)
	s.say("team", "/model")
	require.Contains(t, last(s.told("team")), "Model: demo/big, chosen for this conversation")
	s.restart()
	s.say("team", "hello")
	require.Equal(t, "big", s.last("").Model, "it is kept")
	s.say("elsewhere", "hello")
	require.Equal(t, "m", s.last("").Model, "of one conversation")
	s.say("team", "/model default")
	s.say("team", "send")
	s.pass(10 * time.Second)
	require.Equal(t, "m", s.last("scout").Model)
	s.say(s.thread("team"), "/model big")
	s.pass(2 * time.Minute)
	s.say(s.thread("team"), "more")
	s.pass(2 * time.Minute)
	require.Equal(t, "big", s.last("scout").Model)
	s.say("team", "hello")
	require.Equal(t, "m", s.last("").Model)
}
