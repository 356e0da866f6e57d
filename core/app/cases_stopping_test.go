package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store"
)

// treeRules: "work" starts two leads, each with two workers, who need a minute.
const treeRules = `
  {when: {user: "/^work$/"}, call: [
    {tool: "sessions_spawn", args: {task: "lead", label: "lead-a"}}, {tool: "sessions_spawn", args: {task: "lead", label: "lead-b"}}], say: "at work"},
  {when: {task: "/lead/", user: "/./"}, say: "I have two workers.", call: [
    {tool: "sessions_spawn", args: {task: "work hard", label: "worker-a"}}, {tool: "sessions_spawn", args: {task: "work hard", label: "worker-b"}},
    {tool: "sessions_yield"}]},
  {when: {task: "/worker/"}, delay: "1m", say: "worked"},
  {when: {lastTool: "sessions_spawn"}, say: "they work"},
  {when: {event: "/./"}, say: "told"},`

const deep = `{ agents: { defaults: { subagents: { maxSpawnDepth: 3 } } } }`

// live returns the labels of the runs that live.
func (s *scene) live() (labels []string) {
	s.Helper()
	for _, r := range s.runs() {
		if r.Status.Live() {
			labels = append(labels, r.Label)
		}
	}
	return labels
}

// TestB179_StopEndsTheWholeTree: the turn, its sub-agents and theirs, and nothing
// of them is told later; also where a requester in between has ended already.
func TestB179_StopEndsTheWholeTree(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"/stop", "/new", "/reset", "/subagents kill all"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, deep, treeRules)
			s.say("team", "work")
			require.Len(t, s.live(), 6)
			s.pass(10 * time.Second)
			s.say("team", command)
			require.Contains(t, last(s.told("team")), "stopped 6 of 6")
			require.Empty(t, s.live())
			told := len(s.told("team"))
			s.pass(time.Hour)
			require.Len(t, s.told("team"), told, "nobody announces anything")
			require.Zero(t, s.load().Waits)
			for _, r := range s.runs() {
				require.Equal(t, core.RunCancelled, r.Status, r.Label)
				require.Equal(t, core.DeliveryNotRequired, r.Delivery, r.Label)
			}
			require.Equal(t, "I have two workers.", s.run("lead-a").Result, "what was visible is kept")
			require.True(t, s.run("lead-a").Partial)
		})
	}
	t.Run("a requester in between has ended", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, `{ agents: { defaults: { subagents: { maxSpawnDepth: 3, runTimeoutSeconds: 20 } } } }`, `
  {when: {user: "/^work$/"}, call: [{tool: "sessions_spawn", args: {task: "lead", label: "lead", runTimeoutSeconds: 5}}], say: "at work"},
  {when: {task: "/lead/", user: "/./"}, call: [{tool: "sessions_spawn", args: {task: "work hard", label: "worker"}}]},
  {when: {task: "/worker/"}, delay: "15s", say: "worked"},
  {when: {task: "/lead/", lastTool: "sessions_spawn"}, delay: "1m", say: "too late"},
  {when: {event: "/./"}, say: "told"}, {when: {lastTool: "sessions_spawn"}, say: "it works"},`)
		s.say("team", "work")
		s.pass(7 * time.Second)
		require.Equal(t, []string{"worker"}, s.live(), "the lead ran out of time")
		s.say("team", "/stop")
		require.Contains(t, last(s.told("team")), "stopped 1 of 1")
		require.Empty(t, s.live())
	})
}

// TestB181_EveryStopIsOneStop: the API, for a session and for a task, ends and
// counts what the command does.
func TestB181_EveryStopIsOneStop(t *testing.T) {
	t.Parallel()
	stop := func(s *scene, path string) (v app.StopView) {
		s.Helper()
		require.Equal(s, http.StatusOK, call(s.T, s.app.API(), http.MethodPost, path, "", &v))
		s.quiet()
		return v
	}
	t.Run("session", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, deep, treeRules)
		s.say("team", "work")
		v := stop(s, "/sessions/"+s.run("lead-a").RequesterID+"/stop")
		require.Equal(t, app.StopView{Tasks: 6}, v)
		require.Empty(t, s.live())
	})
	t.Run("task", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, deep, treeRules)
		s.say("team", "work")
		v := stop(s, "/tasks/"+s.run("lead-a").TaskID+"/cancel")
		require.Equal(t, app.StopView{Tasks: 3}, v)
		require.Equal(t, []string{"lead-b", "worker-a", "worker-b"}, s.live())
	})
}

// stubborn is a tool that goes on for ten seconds, whatever happens.
type stubborn struct{ clock *clock.Virtual }

func (stubborn) Spec() core.ToolSpec {
	return core.ToolSpec{Name: "stubborn", Schema: json.RawMessage(`{"type":"object","additionalProperties":false}`)}
}

func (x stubborn) Invoke(ctx context.Context, _ core.ToolScope, _ core.ToolCall) (core.ToolResult, error) {
	return core.ToolResult{}, x.clock.Sleep(context.WithoutCancel(ctx), 10*time.Second)
}

// TestB183_AStuckChildHoldsNobodyUp: of two children one does not end when it is
// told to; the other has ended at once, and its slot is free.
func TestB183_AStuckChildHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := prepareScene(t, `{ agents: { defaults: { subagents: { maxConcurrent: 2 } } } }`, `
  {when: {user: "/^work$/"}, call: [
    {tool: "sessions_spawn", args: {task: "stuck", label: "stuck"}}, {tool: "sessions_spawn", args: {task: "nimble", label: "nimble"}}]},
  {when: {user: "/^more$/"}, call: [{tool: "sessions_spawn", args: {task: "next", label: "next-a"}}, {tool: "sessions_spawn", args: {task: "next", label: "next-b"}}]},
  {when: {task: "/stuck/"}, call: [{tool: "stubborn"}]},
  {when: {task: "/nimble|next/"}, delay: "1m", say: "done"},
  {when: {lastTool: "sessions_spawn"}, say: "they work"},`)
	s.options = func(o *app.Options) { o.Tools = []core.Tool{stubborn{s.clock}} }
	s.start()
	s.say("team", "work")
	s.pass(time.Second)
	s.say("team", "/stop")
	require.Contains(t, last(s.told("team")), "stopped 2 of 2")
	s.say("team", "more")
	require.Equal(t, core.RunRunning, s.run("next-a").Status, "the slot of the nimble one is free")
	require.Equal(t, core.RunQueued, s.run("next-b").Status, "the stuck one still has its own")
	s.pass(11 * time.Second) // the grace of tools is over, and the tool has ended
	require.Equal(t, core.RunRunning, s.run("next-b").Status)
}

// TestAStopDuringASpawn: a thread is being opened for a child when its tree is
// stopped, or the child alone; nothing of it lives on.
func TestAStopDuringASpawn(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"/stop", "/subagents kill all", "/subagents kill 1"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "", `
  {when: {user: "/^spawn$/"}, call: [{tool: "sessions_spawn", args: {task: "do it", label: "it", thread: true}}]},
  {when: {task: "/it/"}, say: "I should not be here"},
  {when: {lastTool: "sessions_spawn", result: "/(spawn_stopped)/"}, say: "refused: $1"},`)
			var once atomic.Bool
			s.opening = func() {
				if !once.CompareAndSwap(false, true) {
					return
				}
				_, err := s.server.Post(s.Context(), testserver.Post{By: testserver.User{Name: "alice"}, At: at("team"), Text: command})
				require.NoError(s, err)
				for stopped := false; !stopped; {
					require.NoError(s, (clock.Real{}).Sleep(s.Context(), time.Millisecond))
					require.NoError(s, s.app.DB().Read(s.Context(), func(tx *store.Tx) error {
						runs, err := tx.RecentRuns(5)
						stopped = len(runs) == 1 && !runs[0].Status.Live()
						return err
					}))
				}
			}
			s.say("team", "spawn")
			s.pass(time.Hour)
			require.True(t, once.Load())
			require.Empty(t, s.live())
			require.Zero(t, s.load().Bindings)
			require.Zero(t, s.load().Runs)
			told := strings.Join(s.told("team"), "\n")
			require.Contains(t, told, "stopped 1 of 1")
			require.NotContains(t, told, "I should not")
			if command != "/stop" {
				require.Contains(t, told, "refused: spawn_stopped")
			}
		})
	}
}
