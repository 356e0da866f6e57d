package app_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// A person's spawn is the session's, on the person's account, in the place where
// it was asked for, and its outcome is told there.
func TestSpawnByCommand(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{agents: {entries: {main: {default: true}, other: {model: "demo/m2"}}, defaults: {subagents: {allowAgents: ["main", "other"]}}}}`,
		`{when: {user: "/cats/"}, delay: "5s", say: "They purr."}, {when: {event: "/ended ok: (.*)/"}, say: "Done: $1"},`)
	s.say("team", "/subagents spawn other find cats --thinking low")
	require.Contains(t, last(s.told("team")), "find cats is at work (1), with the agent other.")
	s.pass(time.Minute)
	require.Equal(t, "Done: They purr.", last(s.told("team")))
	run := s.runs()[0]
	require.Equal(t, core.RunOK, run.Status)
	require.Equal(t, core.DeliveryDelivered, run.Delivery)
	require.Equal(t, teamKey, run.RequesterID)
	require.Equal(t, "console:alice", run.Owner)
	require.Equal(t, "team", run.Origin.Conversation)
	require.NotEmpty(t, run.Anchor)
	require.Equal(t, []any{1, "leaf", "other", "demo/m2", "low", "run", "isolated"},
		[]any{run.Depth, run.Role, run.Agent, run.Spec.Model, run.Spec.Thinking, run.Spec.Mode, run.Spec.Context})
	require.Negative(t, run.Request, "it is a request of its own")
	s.say("team", "/subagents kill 1")
	require.Contains(t, last(s.told("team")), "target_ended")
}

// What a call is refused, a command is refused too, in the language of people and
// with the figures; nothing is left.
func TestSpawnByCommandIsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{messages: {language: "de"}, agents: {defaults: {subagents: {maxChildrenPerAgent: 1}}}}`,
		`{when: {user: "/./"}, delay: "1h", say: "slow"},`)
	for line, want := range map[string]string{
		"/subagents spawn nobody x":              `der Agent „nobody“ darf von hier aus nicht gestartet werden (diese dürfen: main) [agent_not_allowed]`,
		"/subagents spawn ÄÖ x":                  `[agent_unknown]`,
		"/subagents spawn main x --thinking all": `[thinking_unknown]`,
		"/subagents spawn main":                  `[command_usage]`,
	} {
		s.say("team", line)
		require.Contains(t, last(s.told("team")), want, line)
	}
	require.Empty(t, s.runs())
	s.say("team", "/subagents spawn main x")
	s.say("team", "/subagents spawn main y")
	require.Contains(t, last(s.told("team")), "1 von höchstens 1 Sub-Agenten dieser Unterhaltung sind tätig")
	require.Contains(t, last(s.told("team")), "[children_limit]")
	require.Len(t, s.runs(), 1)
	s.say("team", "/subagents spawn main y --thread")
	require.Contains(t, last(s.told("team")), "[children_limit]")
	require.Len(t, s.runs(), 1)
	require.Zero(t, s.openIntents())
	s.say("team", "/stop")
	s.say("team", "/subagents spawn main y")
	require.Len(t, s.runs(), 2, "the place is free again")
}

// TestSpawnByCommandSurvivesKills: after a kill at any point of a spawn with a
// thread, the sub-agent begins once, in one thread, and the command has one answer.
func TestSpawnByCommandSurvivesKills(t *testing.T) {
	t.Parallel()
	for _, point := range []string{world.IntakeBeforeCommit, world.IntakeAfterCommit, world.SpawnAfterReserve, world.SpawnAfterOpen, world.SpawnAfterCommit} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "", `{when: {user: "/cats/"}, delay: "5s", say: "They purr."}, {when: {event: "/./"}, say: "NO_REPLY"},`)
			fired := make(chan struct{})
			s.world.Arm(point, 1, world.TrapCut, func(string) { close(fired) })
			_, err := s.server.Post(s.Context(), testserver.Post{By: testserver.User{Name: "alice"}, At: at("team"), Text: "/subagents spawn main find cats --thread"})
			require.NoError(t, err)
			<-fired
			s.crash(time.Second)
			s.pass(time.Minute)
			require.Len(t, s.runs(), 1)
			require.Equal(t, core.RunOK, s.runs()[0].Status)
			require.Len(t, s.server.Threads(at("team")), 1)
			answers := 0
			for _, text := range s.told("team") {
				if strings.Contains(text, "in a thread of its own") {
					answers++
				}
			}
			require.Equal(t, 1, answers, "%q", s.told("team"))
			require.Contains(t, last(s.told(s.thread("team"))), "They purr.")
			require.Zero(t, s.openIntents())
		})
	}
}

// A stop while the thread is opened, and a thread that does not open: nothing of
// the spawn is left, and the person is told why.
func TestSpawnByCommandLeavesNothing(t *testing.T) {
	t.Parallel()
	t.Run("bindings are off", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, `{session: {threadBindings: {enabled: false}}}`, "")
		s.say("team", "/subagents spawn main find cats --thread")
		require.Contains(t, last(s.told("team")), "[bindings_disabled]")
		s.requireNothingLeft(s.dir)
		require.Zero(t, s.openIntents())
	})
	t.Run("stopped meanwhile", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, "", `{when: {user: "/cats/"}, say: "I should not be here."},`)
		var once atomic.Bool
		s.opening = func() {
			if once.CompareAndSwap(false, true) {
				require.NoError(t, s.app.DB().Write(s.Context(), func(tx *store.Tx) error {
					runs, err := tx.RecentRuns(1)
					if err != nil {
						return err
					}
					_, err = s.app.Subagents().StopRun(tx, runs[0])
					return err
				}))
			}
		}
		s.say("team", "/subagents spawn main find cats --thread")
		s.pass(time.Minute)
		require.Contains(t, last(s.told("team")), "[spawn_stopped]")
		s.requireNothingLeft(s.dir)
		require.Zero(t, s.openIntents())
	})
}

// A fork that a person asks for has everything that was said, also where the agent
// is at work; and the budget of the command is one for all below it.
func TestSpawnByCommandForks(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{session: {threadBindings: {defaultSpawnContext: "fork"}}}`,
		`{when: {user: "/^hello$/"}, say: "Good day."}, {when: {user: "/^work$/"}, say: "Looking.", call: [{tool: "agents_list"}]},
		 {when: {lastTool: "agents_list", task: ""}, delay: "1m", say: "Worked."},
		 {when: {user: "/cats/"}, delay: "5s", say: "They purr."}, {when: {event: "/./"}, say: "NO_REPLY"},`)
	s.say("team", "hello")
	s.say("team", "work")
	s.say("team", "/subagents spawn main find cats --thread")
	s.pass(30 * time.Second)
	run := s.runs()[0]
	require.Equal(t, "fork", run.Spec.Context)
	request := s.last("")
	require.Equal(t, "find cats", request.TaskText)
	require.Len(t, texts(request, model.ToolOutput), 1, "what is finished of the running turn too")
	said := fmt.Sprint(texts(request, model.User), texts(request, model.Assistant))
	for _, want := range []string{"hello", "Good day.", "work", "Looking.", "find cats"} {
		require.Contains(t, said, want)
	}
}

// openIntents counts what is half done.
func (s *scene) openIntents() (n int) {
	s.Helper()
	s.read(func(tx *store.Tx) error {
		open, err := tx.OpenIntents(1<<62, 100)
		n = len(open)
		return err
	})
	return n
}

// A sub-agent that was started as a leaf stays one, also for the command of a
// person in its thread, when the operator lets sub-agents nest deeper.
func TestSpawnByCommandNotBelowALeaf(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `{when: {user: "/^go (\\w+)$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "$1", thread: true}}]},
  {when: {user: "/dig/"}, say: "dug"}, {when: {user: "/^y$/"}, say: "did y"},`+sayResult)
	s.say("team", "go old")
	leaf := s.thread("team")
	s.reload(`{agents: {defaults: {subagents: {maxSpawnDepth: 2}}}}`)
	s.say(leaf, "/subagents spawn main y")
	require.Contains(t, last(s.told(leaf)), "[depth_limit]")
	s.say("team", "go new")
	s.say("team/t2", "/subagents spawn main y")
	runs := s.runs()
	require.Len(t, runs, 3)
	require.Equal(t, 2, runs[2].Depth, "one that was started since may have some")
}

// Where a turn of the conversation would not have the tool, the command does not
// serve either, and names the stage that took it away.
func TestSpawnByCommandWithoutTheTool(t *testing.T) {
	t.Parallel()
	for stage, config := range map[string]string{
		`"profile" (not in minimal)`:        `{tools: {profile: "minimal"}}`,
		`"provider" (deny group:sessions)`:  `{tools: {byProvider: {demo: {deny: ["group:sessions"]}}}}`,
		`"global" (not in allow)`:           `{tools: {allow: ["read"]}}`,
		`"agent" (deny sessions_*)`:         `{agents: {entries: {main: {tools: {deny: ["sessions_*"]}}}}}`,
		`"agent's provider rules" (deny *)`: `{agents: {entries: {main: {tools: {byProvider: {demo: {deny: ["*"]}}}}}}}`,
		`"group" (not in allow)`:            `{channels: {console: {groups: {team: {tools: {allow: []}}}}}}`,
	} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, config, "")
			for _, line := range []string{"/subagents spawn main dig", "/subagents spawn main dig --thread"} {
				s.say("team", line)
				require.Contains(t, last(s.told("team")), stage)
				require.Contains(t, last(s.told("team")), "[tool_denied]")
			}
			require.Empty(t, s.runs())
			require.Zero(t, s.openIntents())
			s.requireNothingLeft(s.dir)
		})
	}
	t.Run("sender", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, `{messages: {language: "de"}, channels: {console: {groups: {team: {toolsBySender: {mallory: {deny: ["sessions_spawn"]}}}}}}}`, "")
		s.says("mallory", "team", "/subagents spawn main dig")
		require.Contains(t, last(s.told("team")), "in der Stufe „Absender“ (deny sessions_spawn)")
		require.Contains(t, last(s.told("team")), "[tool_denied]")
		require.Empty(t, s.runs())
		s.says("alice", "team", "/subagents spawn main dig")
		require.Len(t, s.runs(), 1)
	})
	t.Run("sub-agent", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, `{agents: {defaults: {subagents: {maxSpawnDepth: 2}}}, tools: {subagents: {tools: {deny: ["sessions_spawn"]}}}}`,
			`{when: {user: "/dig/"}, say: "dug"},`)
		s.say("team", "/subagents spawn main dig --thread")
		thread := s.thread("team")
		s.say(thread, "/subagents spawn main y")
		require.Contains(t, last(s.told(thread)), `"sub-agent" (deny sessions_spawn)`)
		require.Len(t, s.runs(), 1)
	})
}
