package app_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// slowStart is a tool that turns wait for before they start, as for a server of
// tools that does not answer.
type slowStart struct {
	s *scene
	// hangs is how many of the next starts hang, each as long as for.
	hangs atomic.Int64
	lasts atomic.Int64 // a time.Duration
	life  atomic.Pointer[world.World]
}

func (h *slowStart) Spec() core.ToolSpec {
	if w := h.s.world; h.life.Swap(w) != w {
		// it is being registered
	} else if h.hangs.Add(-1) >= 0 {
		_ = h.s.clock.Sleep(h.s.world.Context(), time.Duration(h.lasts.Load()))
	}
	return core.ToolSpec{Name: "slow_start", Schema: []byte(`{"type":"object"}`)}
}

func (h *slowStart) Invoke(context.Context, core.ToolScope, core.ToolCall) (core.ToolResult, error) {
	return core.ToolResult{}, nil
}

func (h *slowStart) hang(starts int, d time.Duration) {
	h.lasts.Store(int64(d))
	h.hangs.Store(int64(starts))
}

// startScene is a scene whose turns can be slow to start.
func startScene(t *testing.T, settings, rules string) (*scene, *slowStart) {
	t.Helper()
	s := prepareScene(t, settings, rules)
	h := &slowStart{s: s}
	s.options = func(o *app.Options) { o.Tools = append(o.Tools, h) }
	s.start()
	return s, h
}

const startRules = `
  {when: {user: "/^go$/"}, delay: "5s", call: [{tool: "sessions_spawn", args: {task: "dig", label: "rex"}}]},
  {when: {lastTool: "sessions_spawn"}, say: "started"},
  {when: {task: "/./"}, delay: "10s", say: "a bone"},
  {when: {event: "/task \"(\\w+)\" ended (\\w+)/"}, say: "I tell: $1 $2"},`

// TestB103_AcceptedButNeverStarted: a child that has a slot and does not start
// ends at the deadline, and its requester hears of it.
func TestB103_AcceptedButNeverStarted(t *testing.T) {
	t.Parallel()
	s, h := startScene(t, "", startRules)
	s.say("team", "go")
	h.hang(1, time.Hour)
	s.pass(64 * time.Second)
	require.Equal(t, core.RunQueued, s.run("rex").Status)
	require.Equal(t, []string{"started"}, s.told("team"))
	s.pass(2 * time.Second)
	run := s.run("rex")
	require.Equal(t, core.RunError, run.Status)
	require.Equal(t, "it did not start within 1m (start_timeout)", run.Detail)
	require.Equal(t, []string{"started", "I tell: rex error"}, s.told("team"))
	s.pass(2 * time.Hour) // the start comes to nothing
	require.Len(t, s.told("team"), 2)
	require.Empty(t, s.requests.list("rex"))
}

// TestB149_StartsThatWait: what waits for a slot, and what starts in time, is
// not touched; neither is one whose start a crash cut off.
func TestB149_StartsThatWait(t *testing.T) {
	t.Parallel()
	s, h := startScene(t, `{agents: {defaults: {subagents: {maxConcurrent: 1}}}}`, `
  {when: {user: "/^go$/"}, delay: "5s", call: [
    {tool: "sessions_spawn", args: {task: "dig", label: "rex"}}, {tool: "sessions_spawn", args: {task: "dig", label: "fido"}}]},
  {when: {lastTool: "sessions_spawn"}, say: "NO_REPLY"},
  {when: {task: "/rex/"}, delay: "10m", say: "a bone"}, {when: {task: "/fido/"}, say: "a stick"},
  {when: {event: "/task \"(\\w+)\" ended (\\w+)/"}, say: "I tell: $1 $2"},`)
	s.say("team", "go")
	h.hang(1, 55*time.Second)
	s.pass(time.Minute)
	require.Equal(t, core.RunRunning, s.run("rex").Status)
	s.pass(5 * time.Minute)
	require.Equal(t, core.RunQueued, s.run("fido").Status, "it has no slot yet")
	h.hang(1, time.Hour)
	s.pass(5*time.Minute + 30*time.Second) // rex has ended, and fido has the slot
	s.crash(10 * time.Minute)
	s.pass(time.Minute)
	require.Equal(t, core.RunOK, s.run("fido").Status, s.run("fido").Detail)
	require.ElementsMatch(t, []string{"I tell: rex ok", "I tell: fido ok"}, s.told("team"))
}

// TestATurnOnAnOutcomeThatNeverStarts: three attempts of two minutes, then the
// runtime tells the outcome; the session works on when the start comes free.
func TestATurnOnAnOutcomeThatNeverStarts(t *testing.T) {
	t.Parallel()
	s, h := startScene(t, "", startRules)
	s.say("team", "go")
	s.pass(10 * time.Second)
	h.hang(1, time.Hour)
	s.pass(5*time.Second + 6*time.Minute - 2*time.Second)
	require.Equal(t, []string{"started"}, s.told("team"))
	s.pass(3 * time.Second)
	require.Equal(t, []string{"started", "rex is done.\n\na bone"}, s.told("team"))
	require.Equal(t, core.DeliveryDelivered, s.run("rex").Delivery)
	s.pass(2 * time.Hour)
	s.say("team", "hello")
	require.Equal(t, []string{"started", "rex is done.\n\na bone", "ok: hello"}, s.told("team"))
	require.Len(t, events(s.last("")), 1, "the event is in the history all the same")
}

// TestTheAttemptsOfATurnOnAnOutcome: each is a claim, and counts over a crash.
func TestTheAttemptsOfATurnOnAnOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		hangs int
		told  string
	}{
		{"two", 2, "I tell: rex ok"},
		{"three", 3, "rex is done.\n\na bone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, h := startScene(t, `{agents: {defaults: {subagents: {announceTimeoutMs: 60000}}}}`, startRules)
			s.say("team", "go")
			s.pass(10 * time.Second)
			h.hang(c.hangs, 61*time.Second) // a second longer than it may
			s.pass(10 * time.Second)
			s.crash(10 * time.Minute) // the first attempt, however long the runtime was away
			s.pass(4 * time.Minute)
			require.Equal(t, []string{"started", c.told}, s.told("team"))
			require.Equal(t, core.DeliveryDelivered, s.run("rex").Delivery)
		})
	}
}

// TestATurnOnAnOutcomeThatHasNoSlot: time without a slot does not count.
func TestATurnOnAnOutcomeThatHasNoSlot(t *testing.T) {
	t.Parallel()
	s, _ := startScene(t, `{agents: {defaults: {maxConcurrent: 1, subagents: {announceTimeoutMs: 60000}}}}`,
		`{when: {user: "/^think$/"}, delay: "30m", say: "thought"},`+startRules)
	s.say("team", "go")
	s.pass(6 * time.Second)
	s.say("other", "think")
	s.pass(29 * time.Minute)
	require.Equal(t, core.RunOK, s.run("rex").Status)
	require.Equal(t, []string{"started"}, s.told("team"))
	s.pass(2 * time.Minute)
	require.Equal(t, []string{"started", "I tell: rex ok"}, s.told("team"))
}

// TestAnOrchestratorThatIsNotResumed: it ends, and its requester hears of it.
func TestAnOrchestratorThatIsNotResumed(t *testing.T) {
	t.Parallel()
	s, h := startScene(t, `{agents: {defaults: {subagents: {maxSpawnDepth: 2}}}}`, `
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "lead", label: "lead"}}]},
  {when: {lastTool: "sessions_spawn", task: "/lead/"}, say: "I wait."},
  {when: {lastTool: "sessions_spawn"}, say: "started"},
  {when: {task: "/lead/", user: "/Subagent Task/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "rex"}}]},
  {when: {task: "/rex/"}, delay: "10s", say: "a bone"},
  {when: {event: "/task \"(\\w+)\" ended (\\w+) \\((.*)\\)/"}, say: "I tell: $1 $2 $3"},`)
	s.say("team", "go")
	s.pass(5 * time.Second)
	h.hang(1, time.Hour)
	s.pass(5*time.Second + 6*time.Minute + time.Second)
	require.Equal(t, core.RunError, s.run("lead").Status)
	require.Equal(t, []string{"started", "I tell: lead error it did not start within 2m (start_timeout)"}, s.told("team"))
	require.Equal(t, core.DeliveryDelivered, s.run("rex").Delivery)
	s.read(func(tx *store.Tx) error {
		due, err := tx.DueTimers(s.world.Now().Add(time.Hour), 10)
		require.Empty(t, due)
		return err
	})
}

// TestARunThatWaitsKeepsItsTime: its limit ends it while it waits, the runs that
// it waits for go on, and what they find goes to whoever asked for it.
func TestARunThatWaitsKeepsItsTime(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{agents: {defaults: {subagents: {maxSpawnDepth: 2}}}}`, `
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "lead", label: "lead", runTimeoutSeconds: 60}}]},
  {when: {lastTool: "sessions_spawn", task: "/lead/"}, say: "So far nothing."},
  {when: {lastTool: "sessions_spawn"}, say: "started"},
  {when: {task: "/lead/", user: "/Subagent Task/"}, call: [
    {tool: "sessions_spawn", args: {task: "dig", label: "rex"}}, {tool: "sessions_spawn", args: {task: "dig", label: "fido"}}]},
  {when: {task: "/rex/"}, delay: "10s", say: "a bone"}, {when: {task: "/fido/"}, delay: "10m", say: "a stick"},
  {when: {event: "/task \"(\\w+)\" ended (\\w+)[^\\n]*/"}, say: "I tell: $0"},`)
	s.say("team", "go")
	s.pass(59 * time.Second)
	require.Equal(t, core.RunWaiting, s.run("lead").Status)
	s.crash(5 * time.Minute)
	lead := s.run("lead")
	require.Equal(t, core.RunTimeout, lead.Status)
	require.True(t, lead.Partial)
	require.Equal(t, core.RunRunning, s.run("fido").Status)
	s.pass(15 * time.Minute)
	require.Equal(t, core.RunOK, s.run("fido").Status)
	for _, name := range []string{"lead", "rex", "fido"} {
		require.Equal(t, core.DeliveryDelivered, s.run(name).Delivery, name)
	}
	require.Equal(t, "started", s.told("team")[0])
	require.Contains(t, last(s.told("team")), `"fido" ended ok: a stick`)
	seen := map[string]int{}
	for _, e := range events(s.last("")) {
		seen[e.Label]++
	}
	require.Equal(t, map[string]int{"lead": 1, "rex": 1, "fido": 1}, seen)
}
