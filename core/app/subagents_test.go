package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/world"
)

// A wait for the next message is one resumed turn: the note and the message are
// in it together, and nobody sees a word about the note.
func TestAWaitForAMessageResumesOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `
  {when: {user: "/^ask me$/"}, call: [
    {tool: "sessions_yield", args: {waitFor: "message", message: "it was about the colour", acknowledgment: "Which colour?"}}]},
  {when: {user: "/^blue$/"}, say: "Blue it is."},`)
	s.say("team", "ask me")
	s.pass(time.Minute)
	s.say("team", "blue")
	s.pass(time.Minute)
	require.Equal(t, []string{"Which colour?", "Blue it is."}, s.told("team"))
	require.Contains(t, texts(s.last(""), model.Note), "Your note from before you waited: it was about the colour")
	require.Len(t, s.requests.list(""), 2)
}

// At 80 % of its time a child is told once, at its next boundary.
func TestAChildIsToldOnceThatItsTimeIsNearlyOver(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `
  {when: {user: "/^dig$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "digger", runTimeoutSeconds: 100}}]},
  {when: {task: "/digger/"}, delay: "27s", call: [{tool: "sessions_yield", args: {}}], times: 3},
  {when: {task: "/digger/"}, delay: "5s", call: [{tool: "sessions_yield", args: {}}], times: 1},
  {when: {task: "/digger/"}, say: "dug"},`)
	s.say("team", "dig")
	s.pass(80 * time.Second)
	require.Empty(t, notes(s.last("digger")), "after 54 s it has time")
	s.pass(time.Minute)
	require.Equal(t, []string{"Most of your time is over: 19s are left. Finish now, and say what is still missing."}, notes(s.last("digger")))
	require.Len(t, s.requests.list("digger"), 5)
	require.Equal(t, core.RunOK, s.run("digger").Status)
}

func notes(req model.Request) []string { return texts(req, model.Note) }

// Trouble of the provider that is over within 15 s fails no run.
func TestTroubleOfFifteenSecondsFailsNoRun(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `
  {when: {user: "/^dig$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "digger"}}]},
  {when: {task: "/digger/"}, fail: "500", times: 4},
  {when: {task: "/digger/"}, say: "dug"},`)
	s.say("team", "dig")
	s.pass(16 * time.Second)
	require.Equal(t, core.RunOK, s.run("digger").Status)
	require.Equal(t, "dug", s.run("digger").Result)
}

// An agent that nobody configured is unknown, also where all are allowed; the
// session of a child is named by a UUID.
func TestASpawnNamesItsAgentAndItsSession(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{agents: {defaults: {subagents: {allowAgents: ["*"]}}}}`, `
  {when: {user: "/^nobody$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", agentId: "nobody"}}]},
  {when: {user: "/^self$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", agentId: "main"}}]},
  {when: {lastTool: "sessions_spawn", result: "/\"code\":\"(\\w+)\"|\"childSessionKey\":\"([^\"]+)\"/"}, say: "$1$2"},
  {when: {event: "/./"}, say: "NO_REPLY"},`)
	s.say("team", "nobody")
	s.say("team", "self")
	told := s.told("team")
	require.Equal(t, "agent_unknown", told[0])
	require.Regexp(t, `^agent:main:subagent:[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, told[1])
}

// The prompt lists the sub-agents of a session, and says where work is to be
// delegated.
func TestThePromptListsSubAgents(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{agents: {defaults: {subagents: {delegationMode: "prefer"}}}}`, `
  {when: {user: "/^dig (\\w+)$/"}, call: [
    {tool: "sessions_spawn", args: {task: "dig \"deep\"", label: "$1", taskName: "$1", thread: true}}]},
  {when: {task: "/slow/"}, delay: "1h", say: "dug"},
  {when: {event: "/./"}, say: "NO_REPLY"},`)
	s.say("team", "dig slow")
	s.say("team", "dig fast")
	s.pass(time.Minute)
	s.say("team", "and?")
	system := s.last("").System
	require.Contains(t, system, "Prefer to delegate")
	require.Regexp(t, `# Active Subagents\n\n.*\nLive:\n- #1 running run=\w+ session=agent:main:subagent:[0-9a-f-]+ label="slow" `+
		`task="dig \\"deep\\"" taskName="slow" binding="console:default:team/t1" tokens=\d+ delivery=pending\n`+
		`Ended in the last 30 minutes:\n- #2 ok run=\w+ .* binding="console:default:team/t2" tokens=[1-9]\d* delivery=delivered\n?$`, system)
	require.NotContains(t, s.last("slow").System, "Prefer to delegate", "a leaf cannot")
}

// A sub-agent that ended long ago is still listed while somebody can talk to it.
func TestAgentsListsWhoIsBound(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `
  {when: {user: "/^dig (\\w+)$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "$1", thread: true}}]},
  {when: {task: "/./"}, say: "dug"}, {when: {event: "/./"}, say: "NO_REPLY"},`)
	s.say("team", "dig deep")
	s.pass(2 * time.Hour)
	s.say("team", "/agents")
	require.Contains(t, last(s.told("team")), "1. deep · succeeded after 0s · thread:deep · expires in 22h (idle)")
	s.say("team/t1", "/unfocus")
	s.say("team", "/agents")
	require.Contains(t, last(s.told("team")), "No sub-agents")
}

// A refused command names its code.
func TestARefusalNamesItsCode(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", "")
	for text, code := range map[string]string{
		"/unfocus": "not_focused", "/session idle": "not_focused", "/focus nobody": "target_unknown", "/fly": "command_unknown",
	} {
		s.say("team", text)
		require.Regexp(t, `\(.+\) \[`+code+`\]$`, last(s.told("team")))
	}
}

// A /focus whose thread does not open in time says so, and leaves nothing.
func TestAFocusThatTakesTooLong(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `
  {when: {user: "/^dig$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "deep"}}]},
  {when: {task: "/./"}, say: "dug"}, {when: {event: "/./"}, say: "NO_REPLY"},`)
	s.say("team", "dig")
	require.NoError(t, s.server.Fault(testserver.Fault{Method: "open-child", Kind: testserver.FaultSlow, After: 20 * time.Second}))
	s.say("team", "/focus deep")
	s.pass(time.Minute)
	require.Contains(t, last(s.told("team")), "[thread_timeout]")
	require.Empty(t, s.server.Threads(at("team")))
	s.say("team", "/focus deep")
	require.Equal(t, "deep listens in the thread “deep” now.", last(s.told("team")))
}

// Where the turn that is to tell of an outcome crashes the process three times,
// the runtime tells it itself.
func TestAnOutcomeIsToldAfterThreeAttempts(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `
  {when: {user: "/^dig$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "deep"}}]},
  {when: {task: "/deep/"}, delay: "5s", say: "dug"},
  {when: {event: "/./"}, delay: "1s", say: "They have dug."},`)
	s.say("team", "dig")
	for _, call := range []int{2, 1, 1} { // the first one is the child's own
		s.world.Arm(world.ModelAfterCall, call, world.TrapCut, nil)
		s.pass(10 * time.Second)
		require.Error(t, s.world.Err())
		s.crash(time.Minute)
	}
	s.pass(time.Minute)
	require.Equal(t, "deep is done.\n\ndug", last(s.told("team")))
	require.Equal(t, core.DeliveryDelivered, s.run("deep").Delivery)
}
