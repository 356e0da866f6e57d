package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/world"
)

// The rules of cases are g07 and parts of g01 and g08: what a spawn resolves to.

// spawnRule has alice's message "go <name>" spawn with these arguments, and says
// the result of every spawn.
func spawnRule(name, args string) string {
	return fmt.Sprintf(`{when: {user: "/^go %s$/"}, call: [{tool: "sessions_spawn", args: %s}]},`, name, args)
}

const sayResult = `{when: {lastTool: "sessions_spawn", result: "/(.+)/s"}, say: "$1"}, {when: {event: "/./"}, say: "NO_REPLY"},`

// result is the newest result of a spawn that was said.
func (s *scene) result(place string) (out map[string]any) {
	s.Helper()
	require.NoError(s, json.Unmarshal([]byte(last(s.told(place))), &out))
	return out
}

// TestB153_ChildrenRunAtOnce: four sleepers of one second take one second.
func TestB153_ChildrenRunAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{agents: {defaults: {subagents: {maxConcurrent: 12}}}}`, `
  {when: {user: "/^go$/"}, call: [
    {tool: "sessions_spawn", args: {task: "sleep", label: "a"}}, {tool: "sessions_spawn", args: {task: "sleep", label: "b"}},
    {tool: "sessions_spawn", args: {task: "sleep", label: "c"}}, {tool: "sessions_spawn", args: {task: "sleep", label: "d"}}, {tool: "sessions_yield"}]},
  {when: {task: "/./"}, delay: "1s", say: "slept"}, {when: {event: "/./"}, say: "all slept"},`)
	s.say("team", "go")
	s.pass(1500 * time.Millisecond)
	require.Equal(t, "all slept", last(s.told("team")))
	for _, r := range s.runs() {
		require.EqualValues(t, 1000, r.EndedAt-r.StartedAt)
	}
}

// TestB155_AWaitingParentGivesItsSlotBack: with one slot, a parent that waits
// for its child does not keep it from running.
func TestB155_AWaitingParentGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{agents: {defaults: {subagents: {maxConcurrent: 1, maxSpawnDepth: 2}}}}`, `
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "lead", label: "lead"}}]},
  {when: {task: "/lead/", user: "/lead/"}, call: [{tool: "sessions_spawn", args: {task: "help", label: "help"}}, {tool: "sessions_yield"}]},
  {when: {task: "/help/"}, delay: "1s", say: "helped"}, {when: {event: "/helped/"}, say: "led"}, {when: {event: "/led/"}, say: "It is done."},`)
	s.say("team", "go")
	s.pass(time.Minute)
	require.Equal(t, core.RunOK, s.run("help").Status)
	require.Equal(t, "led", s.run("lead").Result)
	require.Equal(t, "It is done.", last(s.told("team")))
}

// TestB159_TheModelOfTheTarget: another agent runs with its own model, and with
// the rules for sub-agents or the call before that.
func TestB159_TheModelOfTheTarget(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ agents: {
    defaults: { subagents: { allowAgents: ["*"] } },
    entries: { main: { default: true, model: "demo/m1" }, analyst: { model: "demo/m2" }, plain: {} } } }`,
		spawnRule("analyst", `{task: "x", label: "analyst", agentId: "analyst"}`)+
			spawnRule("self", `{task: "x", label: "self"}`)+
			spawnRule("plain", `{task: "x", label: "plain", agentId: "plain"}`)+
			spawnRule("call", `{task: "x", label: "call", agentId: "analyst", model: "demo/m3"}`)+
			spawnRule("unknown", `{task: "x", label: "unknown", agentId: "analyst", model: "nobody/m9"}`)+sayResult)
	for label, want := range map[string]string{"analyst": "demo/m2", "self": "demo/m1", "plain": "demo/m", "call": "demo/m3", "unknown": "demo/m2"} {
		s.say("team", "go "+label)
		require.Equal(t, want, s.result("team")["resolvedModel"], label)
		require.Equal(t, "demo", s.result("team")["resolvedProvider"], label)
		_, id, _ := strings.Cut(want, "/")
		require.Equal(t, id, s.last(label).Model, label)
		require.Equal(t, label == "unknown", strings.Contains(fmt.Sprint(s.result("team")["warnings"]), `"nobody/m9" is unknown and was skipped`), label)
	}
}

// TestB161_AnAgentWithAHyphen: the key of its child reads back.
func TestB161_AnAgentWithAHyphen(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ agents: { defaults: { subagents: { allowAgents: ["*"] } }, entries: { main: { default: true }, "re-searcher_2": {} } } }`,
		spawnRule("x", `{task: "x", agentId: "re-searcher_2"}`)+sayResult)
	s.say("team", "go x")
	key, err := core.ParseSessionKey(fmt.Sprint(s.result("team")["childSessionKey"]))
	require.NoError(t, err)
	require.Equal(t, "re-searcher_2", key.Agent)
	require.Equal(t, core.SessionSubagent, key.Kind)
}

// TestB163_AMissingFieldIsNamed: a spawn without anything is refused by what is
// missing, and leaves nothing.
func TestB163_AMissingFieldIsNamed(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRule("x", `{}`)+sayResult)
	s.say("team", "go x")
	require.Equal(t, "bad_params", s.result("team")["code"])
	require.Contains(t, s.result("team")["error"], "task is empty")
	require.Empty(t, s.runs())
}

// TestB171_AChildKnowsWhatItIs: its prompt says its role, its depth and who
// asked.
func TestB171_AChildKnowsWhatItIs(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{agents: {defaults: {subagents: {maxSpawnDepth: 2}}}}`,
		spawnRule("lead", `{task: "lead", label: "lead"}`)+`
  {when: {task: "/lead/", user: "/lead/"}, call: [{tool: "sessions_spawn", args: {task: "help", label: "help"}}]},`+sayResult)
	s.say("team", "go lead")
	s.pass(time.Minute)
	require.Contains(t, s.last("lead").System, "You are a sub-agent")
	require.Contains(t, s.last("lead").System, "role=orchestrator depth=1 of at most 2 requester="+teamKey)
	require.Contains(t, s.last("help").System, "role=leaf depth=2 of at most 2 requester="+s.run("lead").SessionKey)
	require.NotContains(t, s.last("").System, "sub-agent\n")
}

// TestB175_NoListIsNotAnEmptyOne: a child has its parent's tools where nobody
// narrows them, and exactly those that the sender's rules leave.
func TestB175_NoListIsNotAnEmptyOne(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{
  agents: { defaults: { subagents: { maxSpawnDepth: 3 } } },
  channels: { console: { groups: { team: { toolsBySender: { bob: { allow: ["sessions_spawn"] } } } } } },
}`, `{when: {user: "/^send (\\w+)$/"}, call: [{tool: "sessions_spawn", args: {task: "do $1", label: "$1"}}]},
  {when: {task: "/bobs/", user: "/./"}, call: [{tool: "sessions_spawn", args: {task: "further", label: "further"}}]},`+sayResult)
	s.say("team", "send free")
	s.pass(time.Minute)
	require.Nil(t, s.run("free").Spec.ToolCeiling)
	require.Subset(t, toolNames(s.last("free")), []string{"sessions_spawn", "sessions_yield"})
	s.says("bob", "team", "send bobs")
	s.pass(time.Minute)
	require.Equal(t, []string{"sessions_spawn"}, s.run("bobs").Spec.ToolCeiling)
	require.Equal(t, []string{"sessions_spawn"}, toolNames(s.last("bobs")))
	require.Equal(t, []string{"sessions_spawn"}, s.run("further").Spec.ToolCeiling)
}

// TestB185_TheOperatorsTimeLimit: it holds where a call says nothing, and a call
// only shortens it: an explicit 0 lifts nothing.
func TestB185_TheOperatorsTimeLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit, call string
		want        int64
		warns       bool
	}{
		{"600", ``, 600, false},
		{"600", `, runTimeoutSeconds: 30`, 30, false},
		{"600", `, runTimeoutSeconds: 600`, 600, false},
		{"600", `, runTimeoutSeconds: 900`, 600, true},
		{"600", `, runTimeoutSeconds: 0`, 600, true},
		{"0", ``, 0, false},
		{"0", `, runTimeoutSeconds: 0`, 0, false},
		{"0", `, runTimeoutSeconds: 30`, 30, false},
	} {
		s := newScene(t, `{agents: {defaults: {subagents: {runTimeoutSeconds: `+c.limit+`}}}}`,
			spawnRule("x", `{task: "x", label: "x"`+c.call+`}`)+`{when: {task: "/x/"}, delay: "2h", say: "done"},`+sayResult)
		s.say("team", "go x")
		require.Equal(t, c.want, s.run("x").Spec.TimeoutSeconds, "%+v", c)
		require.Equal(t, c.warns, strings.Contains(fmt.Sprint(s.result("team")["warnings"]), "the limit is 600"), "%+v", c)
		s.pass(3 * time.Hour)
		if c.want == 0 {
			require.Equal(t, core.RunOK, s.run("x").Status)
			continue
		}
		require.Equal(t, core.RunTimeout, s.run("x").Status, "%+v", c)
		require.InDelta(t, c.want*1000, int64(s.run("x").EndedAt-s.run("x").StartedAt), 1000)
	}
}

// TestB187_ALimitOfACall: the limit of a call is honoured under its name, and
// under another the refusal says the name; nothing is ignored.
func TestB187_ALimitOfACall(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRule("right", `{task: "x", label: "x", runTimeoutSeconds: 30}`)+
		spawnRule("wrong", `{task: "x", label: "y", timeoutSeconds: 30}`)+
		spawnRule("both", `{task: "x", label: "y", timeoutSeconds: 30, runTimeoutSeconds: 60}`)+`{when: {task: "/x/"}, delay: "2h", say: "done"},`+sayResult)
	for _, name := range []string{"wrong", "both"} {
		s.say("team", "go "+name)
		require.Equal(t, "unknown_param", s.result("team")["code"])
		require.Contains(t, s.result("team")["error"], "it is called runTimeoutSeconds here")
	}
	s.say("team", "go right")
	s.pass(time.Minute)
	require.Equal(t, core.RunTimeout, s.run("x").Status)
	require.Len(t, s.runs(), 1)
}

// TestSpawnThinking: the call, the rules for sub-agents, then the level of the
// turn that asks.
func TestSpawnThinking(t *testing.T) {
	t.Parallel()
	rules := spawnRule("plain", `{task: "x", label: "plain"}`) + spawnRule("call", `{task: "x", label: "call", thinking: "low"}`) +
		spawnRule("lead", `{task: "lead", label: "lead", thinking: "high"}`) +
		`{when: {task: "/lead/", user: "/lead/"}, call: [{tool: "sessions_spawn", args: {task: "help", label: "help"}}]},` + sayResult
	settings := `{agents: {defaults: {thinking: "medium", subagents: {maxSpawnDepth: 2%s}}}}`
	s := newScene(t, fmt.Sprintf(settings, ""), rules)
	for label, want := range map[string]string{"plain": "medium", "call": "low"} {
		s.say("team", "go "+label)
		require.Equal(t, want, s.last(label).Thinking, label)
	}
	s.say("team", "go lead")
	s.pass(time.Minute)
	require.Equal(t, "high", s.last("help").Thinking, "the level of the turn that asked")
	s.reload(fmt.Sprintf(settings, `, thinking: "minimal"`))
	s.say("team", "go plain")
	require.Equal(t, "minimal", s.last("plain").Thinking)
}

// TestSpawnKey: a spawn under a key of the same requester gives the first result
// again, over a restart too; a refused one is not remembered, and another
// requester has keys of its own.
func TestSpawnKey(t *testing.T) {
	t.Parallel()
	spawn := `{tool: "sessions_spawn", args: {task: "dig", label: "digger", idempotencyKey: "k"}}`
	s := newScene(t, `{agents: {defaults: {subagents: {maxSpawnDepth: 2, maxChildrenPerAgent: 1}}}}`, `
  {when: {user: "/^go$/"}, call: [`+spawn+`, `+spawn+`, {tool: "sessions_spawn", args: {task: "dig", label: "other", idempotencyKey: "o"}}, {tool: "sessions_yield"}]},
  {when: {task: "/digger/"}, delay: "1m", say: "dug"},
  {when: {event: "/digger/"}, call: [`+spawn+`, {tool: "sessions_spawn", args: {task: "dig", label: "other", idempotencyKey: "o"}}]},
  {when: {lastTool: "sessions_spawn"}, say: "told"}, {when: {event: "/./"}, say: "NO_REPLY"},`)
	s.say("team", "go")
	require.Len(t, s.runs(), 1)
	s.crash(time.Second)
	s.pass(2 * time.Minute)
	require.Len(t, s.runs(), 2, "the key of the spawn that was refused is free")
	var results []string
	for _, i := range s.last("").Items {
		if i.Kind == model.ToolOutput && i.Tool == "sessions_spawn" {
			results = append(results, i.Text)
		}
	}
	require.Len(t, results, 5)
	require.Equal(t, results[0], results[1])
	require.Contains(t, results[2], "1 of 1 children are live")
	require.Equal(t, results[0], results[3], "the chain goes on after a wait and a restart")
	s.say("team", "go")
	require.Len(t, s.runs(), 3, "another message is another chain")
}

// TestSpawnKeyWithAThread: the same where the first spawn opened a thread, and
// crashed while it did.
func TestSpawnKeyWithAThread(t *testing.T) {
	t.Parallel()
	spawn := `{tool: "sessions_spawn", args: {task: "dig", label: "digger", thread: true, idempotencyKey: "k"}}`
	s := newScene(t, "", `{when: {user: "/^go$/"}, call: [`+spawn+`, `+spawn+`]}, {when: {task: "/digger/"}, delay: "1m", say: "dug"},`+sayResult)
	s.world.Arm(world.SpawnAfterReserve, 1, world.TrapCut, nil)
	s.say("team", "go")
	s.crash(time.Second)
	s.pass(time.Second)
	require.Len(t, s.runs(), 1)
	require.Len(t, s.server.Threads(at("team")), 1)
	require.Equal(t, "accepted", s.result("team")["status"])
	require.NotNil(t, s.result("team")["thread"])
}

// TestSpawnCwd: the tools of a child work where the call says, inside the
// workspace or a folder that an operator opened; no symlink leads out.
func TestSpawnCwd(t *testing.T) {
	t.Parallel()
	a := asks{make(chan core.ToolScope, 10)}
	s := prepareScene(t, "", "")
	dir, err := filepath.EvalSymlinks(s.dir)
	require.NoError(t, err)
	ws, more := filepath.Join(dir, "ws"), filepath.Join(dir, "more")
	for _, path := range []string{filepath.Join(ws, "src"), filepath.Join(more, "lib"), filepath.Join(dir, "ws2")} {
		require.NoError(t, os.MkdirAll(path, 0o700))
	}
	require.NoError(t, os.Symlink(dir, filepath.Join(ws, "out")))
	require.NoError(t, os.Symlink(filepath.Join(ws, "src"), filepath.Join(ws, "in")))
	s.write("ws/file", "x")
	settings := func(directories string) string {
		return fmt.Sprintf(`{ agents: { defaults: { subagents: { maxSpawnDepth: 2 } }, entries: { main: { workspace: %q } } }, tools: { sessions_spawn: { directories: [%s] } } }`, ws, directories)
	}
	s.configure(settings(""))
	s.write("model.json5", `{rules: [
  {when: {user: "/^go (.*)$/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "scout", cwd: "$1"}}]},
  {when: {task: "/scout/", user: "/look/"}, call: [{tool: "ask"}, {tool: "sessions_spawn", args: {task: "ask", label: "below"}}]},
  {when: {task: "/below/", user: "/ask/"}, call: [{tool: "ask"}]}, {when: {task: "/./"}, say: "done"},`+sayResult+`]}`)
	s.options = func(o *app.Options) { o.Tools = []core.Tool{a} }
	s.start()
	for _, c := range []struct{ cwd, code, want string }{
		{"src", "", filepath.Join(ws, "src")},
		{"in", "", filepath.Join(ws, "src")},
		{"src/../src", "", filepath.Join(ws, "src")},
		{ws, "", ws},
		{".", "", ws},
		{"out", "cwd_outside", "outside the workspace"},
		{"out/ws2", "cwd_outside", "outside the workspace"},
		{"..", "cwd_outside", "outside the workspace"},
		{ws + "2", "cwd_outside", "tools.sessions_spawn.directories"},
		{filepath.Join(more, "lib"), "cwd_outside", "outside the workspace"},
		{"/no/such", "cwd_outside", "outside the workspace"},
		{"nothing", "bad_params", "does not exist"},
		{"file", "bad_params", "is not a folder"},
	} {
		s.say("team", "go "+c.cwd)
		if c.code != "" {
			require.Equal(t, c.code, s.result("team")["code"], c.cwd)
			require.Contains(t, s.result("team")["error"], c.want, c.cwd)
			continue
		}
		require.Equal(t, "accepted", s.result("team")["status"], c.cwd)
		s.pass(time.Minute)
		require.Equal(t, c.want, (<-a.scopes).Dir, c.cwd)
		require.Equal(t, c.want, (<-a.scopes).Dir, "a child's child works where the child does")
	}
	s.reload(settings(fmt.Sprintf("%q", more)))
	s.say("team", "go "+filepath.Join(more, "lib"))
	require.Equal(t, filepath.Join(more, "lib"), (<-a.scopes).Dir)
}
