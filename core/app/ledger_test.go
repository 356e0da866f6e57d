package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
)

// notify chooses what people are told of the run with a label.
func (s *scene) notify(label string, policy core.Notify) (view app.TaskView) {
	s.Helper()
	status := call(s.T, s.app.API(), "POST", "/tasks/"+s.run(label).TaskID+"/notify", fmt.Sprintf(`{"policy":%q}`, policy), &view)
	require.Equal(s, 200, status)
	s.quiet()
	return view
}

// TestNotifyStateChanges: with the policy state_changes a task's start, waits
// and resumes are told in the chat of whoever asked, each once, over a crash in
// the middle, besides the outcome.
func TestNotifyStateChanges(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{agents: {defaults: {subagents: {maxConcurrent: 1, maxSpawnDepth: 2}}}}`, spawnRules+`
  {when: {task: "/^first$/"}, delay: "1m", say: "first is done"},
  {when: {task: "/^lead$/", user: "/do lead/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "dig"}}, {tool: "sessions_yield", args: {}}]},
  {when: {task: "/^dig$/"}, delay: "5m", say: "dug"},
  {when: {task: "/^lead$/", event: "/./"}, delay: "1m", say: "led"},
  {when: {event: "/first is done/"}, say: "one"}, {when: {event: "/led/"}, say: "two"},`)
	s.say("team", "send first")
	s.say("team", "send lead")
	require.Equal(t, core.RunQueued, s.run("lead").Status)
	view := s.notify("lead", core.NotifyChanges)
	require.Equal(t, core.NotifyChanges, view.Notify)
	s.pass(2 * time.Minute) // lead has begun, and waits for dig
	s.crash(time.Second)
	s.pass(5 * time.Minute) // lead goes on
	s.crash(time.Second)
	s.pass(time.Hour)
	var changes []string
	for _, text := range s.told("team") {
		if strings.HasPrefix(text, "lead ") {
			changes = append(changes, text)
		}
	}
	require.Equal(t, []string{"lead has started.", "lead waits for its sub-agents.", "lead goes on."}, changes)
	require.Equal(t, "two", last(s.told("team")))
	require.Equal(t, core.DeliveryDelivered, s.run("lead").Delivery)

	status, code := refused(t, s.app.API(), "POST", "/tasks/"+s.run("lead").TaskID+"/notify", `{"policy":"silent"}`)
	require.Equal(t, 409, status)
	require.Equal(t, "task_state", code)
	_, code = refused(t, s.app.API(), "POST", "/tasks/"+s.run("lead").TaskID+"/notify", `{"policy":"loud"}`)
	require.Equal(t, "bad_request", code)
}

// TestNotifySilent: the outcome of a silent task, good or bad, starts no turn
// and no notice, also where it lives in a thread; it is in the ledger, and it
// is never blocked. Whoever waits for it gets it.
func TestNotifySilent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ send, answer, status string }{
		"ok":       {"send cats", `say: "Cats sleep."`, "succeeded"},
		"failed":   {"send cats", `fail: "500"`, "failed"},
		"a thread": {"thread cats", `fail: "500"`, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "", spawnRules+`
  {when: {user: "/^thread (\\w+)$/"}, call: [{tool: "sessions_spawn", args: {task: "do $1", label: "$1", thread: true}}]},
  {when: {task: "/cats/"}, delay: "1m", `+c.answer+`}, {when: {event: "/./"}, say: "heard"},`)
			s.say("team", c.send)
			s.notify("cats", core.NotifySilent)
			s.pass(time.Hour)
			require.Equal(t, []string{"sent"}, s.told("team"))
			for _, thread := range s.server.Threads(at("team")) {
				require.NotContains(t, strings.Join(s.told("team/"+thread.ID), "\n"), "cats failed")
			}
			run := s.run("cats")
			require.Equal(t, c.status, string(run.Status.Task()))
			require.Equal(t, core.DeliveryNotRequired, run.Delivery)
		})
	}
}

// TestNotifySilentIsWaitedFor: a join gets the outcome of a silent task.
func TestNotifySilentIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRules+`
  {when: {task: "/cats/"}, delay: "1m", say: "Cats sleep."}, {when: {event: "/Cats sleep/"}, say: "they sleep"},`)
	s.say("team", "wait for cats")
	s.notify("cats", core.NotifySilent)
	s.pass(time.Hour)
	require.Equal(t, []string{"they sleep"}, s.told("team"))
	require.Zero(t, s.load().Waits)
}

// TestTasksOfTheLedger: lists are limited by state, agent and kind; a task is
// found by the key of its session; a row that nothing moves is not live.
func TestTasksOfTheLedger(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRules+`{when: {task: "/cats/"}, say: "Cats sleep."}, {when: {task: "/dogs/"}, delay: "1h", say: "Dogs run."},`)
	s.say("team", "send cats")
	s.say("team", "send dogs")
	list := func(query string) (names []string) {
		var tasks []app.TaskView
		require.Equal(t, 200, call(t, s.app.API(), "GET", "/tasks"+query, "", &tasks), query)
		for _, x := range tasks {
			names = append(names, x.Name+" "+string(x.Status))
		}
		return names
	}
	require.Equal(t, []string{"dogs running", "cats succeeded"}, list(""))
	require.Equal(t, []string{"dogs running"}, list("?status=running"))
	require.Equal(t, []string{"cats succeeded"}, list("?status=succeeded&agent=main&runtime=subagent"))
	require.Empty(t, list("?agent=other"))
	require.Empty(t, list("?runtime=cron"))
	for _, bad := range []string{"?status=ok", "?runtime=x"} {
		_, code := refused(t, s.app.API(), "GET", "/tasks"+bad, "")
		require.Equal(t, "bad_request", code, bad)
	}
	var detail app.TaskDetail
	require.Equal(t, 200, call(t, s.app.API(), "GET", "/tasks/"+s.run("cats").SessionKey, "", &detail))
	require.Equal(t, "cats", detail.Name)
	_, code := refused(t, s.app.API(), "GET", "/tasks/"+teamKey, "")
	require.Equal(t, "task_unknown", code)

	s.deadRow("ghost")
	require.Equal(t, []string{"ghost interrupted", "dogs running", "cats succeeded"}, list(""))
	require.Equal(t, []string{"dogs running"}, list("?status=running"))
}
