package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/model"
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
	s := newScene(t, "", onDemand("read", "sessions_history", `{session: "current"}`)+onDemand("whole", "sessions_history", `{session: "current", includeTools: true, offset: 0, limit: 3}`)+`
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
	s.stop()
}
