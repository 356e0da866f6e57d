package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/world"
)

// onDemand makes the model call a tool with arguments when a person writes a
// word, and say "done" when it has the result.
func onDemand(word, tool, args string) string {
	return fmt.Sprintf("\n{when: {user: %q}, call: [{tool: %q, args: %s}]},\n{when: {lastTool: %q}, say: \"done\"},", "/^"+word+"$/", tool, args, tool)
}

// toolResult returns the newest tool result in a session as JSON, and whether it is
// a failure.
func (s *scene) toolResult(key string) (v map[string]any, failed bool) {
	s.Helper()
	items := s.history(key)
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].Kind == model.ToolOutput {
			require.NoError(s, json.Unmarshal([]byte(items[i].Text), &v), items[i].Text)
			return v, items[i].Failed
		}
	}
	require.Fail(s, "no tool result in "+key)
	return nil, false
}

// keys returns the keys of the rows of a list.
func keys(v map[string]any) (out []string) {
	rows, _ := v["sessions"].([]any)
	for _, r := range rows {
		key := r.(map[string]any)["key"].(string)
		if strings.Contains(key, ":subagent:") {
			key = "child of " + r.(map[string]any)["parent"].(string)
		}
		out = append(out, key)
	}
	return out
}

const (
	bobKey   = "agent:main:console:direct:bob"
	otherKey = "agent:other:console:direct:mallory"
)

// Two chats of one agent, each with a child, and a chat of another agent: who
// sees what, by every scope.
func TestVisibilityOfSessionTools(t *testing.T) {
	t.Parallel()
	const child, bobs = "child of " + teamKey, "child of " + bobKey
	for scope, want := range map[string]struct{ chat, child []string }{
		"self":  {[]string{teamKey}, nil},
		"tree":  {[]string{teamKey, child}, []string{child}},
		"agent": {[]string{teamKey, child, bobKey, bobs}, []string{child}},
		"all":   {[]string{teamKey, child, bobKey, bobs, otherKey}, []string{child}},
	} {
		t.Run(scope, func(t *testing.T) {
			t.Parallel()
			settings := fmt.Sprintf(`{
  tools: { sessions: { visibility: %q } },
  agents: { defaults: { subagents: { maxSpawnDepth: 2 } }, entries: { main: { default: true }, other: {} } },
  routes: [{ agentId: "other", match: { channel: "console", peer: { kind: "direct", id: "mallory" } } }] }`, scope)
			s := newScene(t, settings, onDemand("spawn", "sessions_spawn", `{task: "look around", taskName: "scout"}`)+
				onDemand("list", "sessions_list", `{}`)+onDemand("read", "sessions_history", `{session: "`+bobKey+`"}`)+
				onDemand("childs", "sessions_history", `{session: "scout"}`)+`
{when: {user: "/look around/"}, call: [{tool: "sessions_list", args: {}}]},`)
			s.says("bob", "dm:bob", "spawn")
			s.says("mallory", "dm:mallory", "hello")
			s.say("team", "spawn")
			s.say("team", "list")
			got, failed := s.toolResult(teamKey)
			require.False(t, failed)
			require.ElementsMatch(t, want.chat, keys(got))
			require.Equal(t, scope, got["visibility"])

			// The child, an orchestrator, sees its own tree at most.
			got, failed = s.toolResult(s.runs()[1].SessionKey)
			require.False(t, failed)
			if scope == "self" {
				want.child = []string{child}
			}
			require.Equal(t, want.child, keys(got))

			// What is listed can be read, and nothing else.
			s.say("team", "read")
			got, failed = s.toolResult(teamKey)
			if scope == "agent" || scope == "all" {
				require.Equal(t, bobKey, got["session"])
			} else {
				require.True(t, failed)
				require.Equal(t, "target_unknown", got["code"])
				require.Contains(t, got["error"], "tools.sessions.visibility is "+scope)
			}
			s.say("team", "childs")
			_, failed = s.toolResult(teamKey)
			require.Equal(t, scope == "self", failed)
			s.stop()
		})
	}
}

func TestSessionsListFilters(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]int{
		`{}`: 3, `{kinds: ["subagent"]}`: 2, `{kinds: ["cron"]}`: 0, `{label: "CATS"}`: 1, `{label: "cat"}`: 0, `{search: "Dog"}`: 1,
		`{limit: 2}`: 2, `{agentId: "main"}`: 3, `{agentId: "x"}`: 0, `{archived: true}`: 0, `{activeMinutes: 1}`: 1, `{activeMinutes: 60}`: 3,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "", `
{when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "about cats", label: "cats"}}, {tool: "sessions_spawn", args: {task: "about dogs", label: "dogs"}}]},
{when: {lastTool: "sessions_spawn"}, say: "done"}, {when: {event: "/./"}, say: "NO_REPLY"},`+onDemand("list", "sessions_list", args))
			s.say("team", "go")
			s.pass(2 * time.Minute)
			s.say("team", "list")
			got, failed := s.toolResult(teamKey)
			require.False(t, failed, got)
			require.Len(t, got["sessions"], want)
			require.Equal(t, args == `{limit: 2}`, got["truncated"] == true)
			for _, r := range got["sessions"].([]any) {
				for _, secret := range []string{"address", "conversation", "account", "owner"} {
					require.NotContains(t, r, secret)
				}
			}
			s.stop()
		})
	}
}

func TestSessionStatus(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ agents: { defaults: { timezone: "Europe/Berlin", thinking: "low" } },
  models: { providers: { demo: { models: [{ id: "m", cost: { input: 10, output: 20 } }] } } } }`,
		onDemand("spawn", "sessions_spawn", `{task: "about cats", label: "cats"}`)+onDemand("status", "session_status", `{}`)+
			onDemand("cats", "session_status", `{session: "cats"}`)+`
{when: {task: "/cats/"}, say: "Cats sleep.", usage: {in: 100000, out: 1000}}, {when: {event: "/./"}, say: "NO_REPLY"},`)
	s.say("team", "spawn")
	s.say("team", "status")
	card, failed := s.toolResult(teamKey)
	require.False(t, failed)
	require.Equal(t, teamKey, card["key"])
	require.Equal(t, "running", card["status"])
	require.Equal(t, "demo/m", card["model"])
	require.Equal(t, "low", card["thinking"])
	require.Equal(t, "2026-03-01T13:00:00+01:00", card["now"])
	require.Equal(t, "Europe/Berlin", card["timeZone"])
	tasks := card["tasks"].([]any)
	require.Len(t, tasks, 1)
	task := tasks[0].(map[string]any)
	require.Equal(t, "cats", task["name"])
	require.Equal(t, "succeeded", task["status"])
	require.Equal(t, "$1.02", task["cost"])
	require.EqualValues(t, 1, task["number"])
	require.Positive(t, card["usage"].(map[string]any)["tokensIn"])

	s.say("team", "cats")
	card, _ = s.toolResult(teamKey)
	require.Equal(t, "idle", card["status"])
	require.Equal(t, teamKey, card["parent"])
	require.Equal(t, "cats", card["task"].(map[string]any)["name"])
	s.stop()
}

func TestAgentsListNamesWhatCanBeStarted(t *testing.T) {
	t.Parallel()
	for allow, want := range map[string]string{
		``:                              `main=demo/m`,
		`allowAgents: ["*"],`:           `main=demo/m other=demo/o zoe=demo/m`,
		`allowAgents: ["zoe", "gone"],`: `main=demo/m zoe=demo/m`,
		`allowAgents: ["zoe"], requireAgentId: true,`:  `zoe=demo/m`,
		`allowAgents: ["other"], model: "demo/child",`: `main=demo/child other=demo/child`,
	} {
		t.Run(allow, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, `{ agents: { entries: { main: { default: true, subagents: { `+allow+` } }, zoe: {}, other: { name: "Otto", model: "demo/o" } } } }`,
				onDemand("agents", "agents_list", `{}`))
			s.say("team", "agents")
			got, failed := s.toolResult(teamKey)
			require.False(t, failed)
			require.Equal(t, "main", got["requester"])
			require.Equal(t, strings.Contains(allow, "*"), got["allowAny"])
			var list []string
			for _, a := range got["agents"].([]any) {
				a := a.(map[string]any)
				list = append(list, fmt.Sprint(a["id"], "=", a["model"]))
				require.Equal(t, map[string]any{"id": "subagent", "source": "default"}, a["agentRuntime"])
			}
			require.Equal(t, want, strings.Join(list, " "))
			s.stop()
		})
	}
}

// What stands in a history: no tool calls unless asked for, no reasoning, no
// credentials, and the pages together have everything once.
func TestSessionsHistory(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", onDemand("read", "sessions_history", `{session: "current"}`)+onDemand("whole", "sessions_history", `{session: "current", includeTools: true, offset: 0, limit: 3}`)+
		onDemand("both", "sessions_history", `{session: "current"}`)+`
{when: {user: "/^look/"}, say: "I look.", call: [{tool: "agents_list"}]}, {when: {lastTool: "agents_list"}, say: "I looked."},
{when: {user: "/^token/"}, think: "secret thoughts", say: "It is ghp_16C7e42F292c6912E7710c838347Ae178B4a."},`)
	s.say("team", "token?")
	s.say("team", "read")
	got, failed := s.toolResult(teamKey)
	require.False(t, failed)
	raw, _ := json.Marshal(got)
	require.NotContains(t, string(raw), "ghp_")
	require.NotContains(t, string(raw), "secret thoughts")
	require.Contains(t, string(raw), "It is [redacted].")
	require.Equal(t, true, got["contentRedacted"])
	require.EqualValues(t, 3, got["totalMessages"]) // token?, its answer, read
	require.Equal(t, false, got["hasMore"])
	s.say("team", "whole")
	got, _ = s.toolResult(teamKey)
	require.EqualValues(t, 3, got["nextOffset"])
	require.Equal(t, true, got["hasMore"])
	require.Len(t, got["messages"], 3)
	s.say("team", "look")
	s.say("team", "both")
	got, _ = s.toolResult(teamKey)
	raw, _ = json.Marshal(got)
	require.Contains(t, string(raw), "I look.", "what was said with a call")
	require.NotContains(t, string(raw), "agents_list")
	s.stop()
}

// sendScene is a scene in which the team can ask bob's chat.
func sendScene(t *testing.T, args, rules string) *scene {
	t.Helper()
	s := newScene(t, `{ tools: { sessions: { visibility: "agent" } } }`, onDemand("ask", "sessions_send", args)+rules)
	s.says("bob", "dm:bob", "hello")
	require.Equal(t, []string{"ok: hello"}, s.told("dm:bob"))
	return s
}

const askBob = `{session: "` + bobKey + `", message: "what time is it?"}`

func TestSessionsSendGetsOneAnswer(t *testing.T) {
	t.Parallel()
	s := sendScene(t, askBob, `
{when: {user: "/what time/"}, delay: "5s", say: "It is noon."},`)
	s.say("team", "ask")
	s.pass(10 * time.Second)
	require.Equal(t, []string{"done"}, s.told("team"))
	require.Equal(t, []string{"ok: hello"}, s.told("dm:bob"), "people there see nothing of it")
	got, failed := s.toolResult(teamKey)
	require.False(t, failed)
	require.Equal(t, "ok", got["status"])
	require.Equal(t, "It is noon.", got["reply"])

	run := s.runs()[0]
	require.Equal(t, core.RunSend, run.Kind)
	require.Equal(t, core.RunOK, run.Status)
	require.Equal(t, core.DeliveryDelivered, run.Delivery)
	require.Equal(t, bobKey, run.SessionKey)
	asked := s.requests.list("")
	require.Contains(t, model.Transcript(s.last(run.Name())), `[skein:agent {"agent":"main","session":"`+teamKey+`","run":"`+run.ID+`"}]`)
	require.NotContains(t, model.Transcript(asked[len(asked)-1]), "[skein:event]\n", "the answer comes once")
	require.Zero(t, s.session(bobKey).ArchiveDue, "a chat is not archived because it answered")
	s.pass(2 * time.Hour)
	require.Equal(t, []string{"done"}, s.told("team"))
	s.stop()
}

func TestSessionsSendLateAnswerIsAnEvent(t *testing.T) {
	t.Parallel()
	for args, status := range map[string]string{
		`{session: "` + bobKey + `", message: "what time is it?", timeoutSeconds: 0}`: "accepted",
		`{session: "` + bobKey + `", message: "what time is it?", timeoutSeconds: 3}`: "timeout",
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			s := sendScene(t, args, `
{when: {user: "/what time/"}, delay: "5s", say: "It is noon."}, {when: {event: "/answer of .*ended ok: It is noon/"}, say: "Bob says noon."},`)
			s.say("team", "ask")
			s.pass(4 * time.Second)
			got, failed := s.toolResult(teamKey)
			require.False(t, failed)
			require.Equal(t, status, got["status"])
			require.Equal(t, []string{"done"}, s.told("team"))
			s.pass(4 * time.Second)
			require.Equal(t, []string{"done", "Bob says noon."}, s.told("team"))
			require.Equal(t, core.DeliveryDelivered, s.runs()[0].Delivery)
			s.stop()
		})
	}
}

func TestSessionsSendRefusals(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{message: "x"}`: "bad_params",
		`{session: "a", label: "b", message: "x"}`:                      "bad_params",
		`{session: "current", message: "x"}`:                            "send_self",
		`{session: "agent:main:main:gone", message: "x"}`:               "target_unknown",
		`{label: "nobody", message: "x"}`:                               "target_unknown",
		`{session: "` + teamKey + `:thread:t1", message: "x"}`:          "session_thread",
		`{session: "` + bobKey + `", message: ""}`:                      "bad_params",
		`{session: "` + bobKey + `", message: "x", timeoutSeconds: 61}`: "bad_params",
		`{session: "` + bobKey + `", message: "x", to: "y"}`:            "unknown_param",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			s := sendScene(t, args, "")
			s.says("bob", s.topic("team", "side"), "hi")
			s.say("team", "ask")
			got, failed := s.toolResult(teamKey)
			require.True(t, failed, got)
			require.Equal(t, want, got["code"])
			require.Empty(t, s.runs(), "a refused message leaves nothing")
			s.stop()
		})
	}
}

// A session that is to answer cannot ask back: one message, one answer.
func TestSessionsSendDoesNotGoInCircles(t *testing.T) {
	t.Parallel()
	s := sendScene(t, askBob, `
{when: {user: "/what time/"}, call: [{tool: "sessions_send", args: {session: "`+teamKey+`", message: "why?"}}]},`)
	s.say("team", "ask")
	s.pass(time.Minute)
	got, failed := s.toolResult(bobKey)
	require.True(t, failed)
	require.Equal(t, "send_loop", got["code"])
	require.Equal(t, "forbidden", got["status"])
	require.Equal(t, []string{"done"}, s.told("team"))
	require.Len(t, s.runs(), 1)
	s.stop()
}

// What becomes of an answer that is none.
func TestSessionsSendOutcomes(t *testing.T) {
	t.Parallel()
	for say, want := range map[string]map[string]any{
		`say: "NO_REPLY"`:  {"status": "no_reply"},
		`fail: "overflow"`: {"status": "error", "ended": "error"},
	} {
		t.Run(say, func(t *testing.T) {
			t.Parallel()
			s := sendScene(t, askBob, `
{when: {user: "/what time/"}, `+say+`},`)
			s.say("team", "ask")
			s.pass(2 * time.Minute)
			got, _ := s.toolResult(teamKey)
			for k, v := range want {
				require.Equal(t, v, got[k], got)
			}
			require.Equal(t, []string{"done"}, s.told("team"))
			s.stop()
		})
	}
}

// A kill at every point of a call, before and after the message, during the wait
// and with the answer: one message, one answer, told once.
func TestACrashAnywhereInASend(t *testing.T) {
	play := func(t *testing.T, point string, nth int) bool {
		t.Helper()
		s := sendScene(t, askBob, `
{when: {user: "/what time/"}, delay: "5s", say: "It is noon."},`)
		s.world.Arm(point, nth, world.TrapCut, nil)
		s.says("alice", "team", "ask")
		s.pass(10 * time.Second)
		fired := s.world.Err() != nil
		s.world.Disarm()
		if fired {
			s.crash(time.Second)
			s.pass(time.Minute)
		}
		require.Equal(t, []string{"done"}, s.told("team"), "%s, pass %d", point, nth)
		runs := s.runs()
		require.Len(t, runs, 1, "%s, pass %d", point, nth)
		require.Equal(t, core.RunOK, runs[0].Status, "%s, pass %d", point, nth)
		require.Equal(t, core.DeliveryDelivered, runs[0].Delivery, "%s, pass %d", point, nth)
		got, failed := s.toolResult(teamKey)
		require.False(t, failed, "%s, pass %d", point, nth)
		require.Equal(t, "It is noon.", got["reply"], "%s, pass %d", point, nth)
		require.Zero(t, s.load().Inbox, "%s, pass %d", point, nth)
		s.stop()
		return fired
	}
	for _, point := range []string{
		world.TurnClaimed, world.ModelAfterCall, world.ToolStarted, world.ToolAfterCall, world.StepAfterCommit,
		world.TurnBeforeEnd, world.TurnAfterEnd, world.CompletionBeforeClaim, world.OutboxBeforeSend, world.OutboxAfterReceipt,
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			passes := 1
			for play(t, point, passes) {
				passes++
			}
			require.Greater(t, passes, 1, "the point is passed")
		})
	}
}

// While it waits for the answer the turn has no slot: it cannot keep the other
// session from answering, nor people from being heard.
func TestSessionsSendGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ tools: { sessions: { visibility: "agent" } }, agents: { defaults: { maxConcurrent: 1 } } }`,
		onDemand("ask", "sessions_send", askBob)+`
{when: {user: "/what time/"}, delay: "5s", say: "It is noon."},`)
	s.says("bob", "dm:bob", "hello")
	s.say("team", "ask")
	s.pass(time.Second)
	s.says("mallory", "dm:mallory", "hello")
	require.Equal(t, []string{"ok: hello"}, s.told("dm:mallory"))
	s.pass(10 * time.Second)
	require.Equal(t, []string{"done"}, s.told("team"))
	s.stop()
}
