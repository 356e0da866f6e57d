package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
)

// TestB133_ALimitIsNoSuccess: a child that a limit ends half way is told by
// its limit, and what it said so far as a part.
func TestB133_ALimitIsNoSuccess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spawn, settings string
		want            core.RunStatus
	}{
		"time":   {`, runTimeoutSeconds: 30`, "", core.RunTimeout},
		"steps":  {"", `{ agents: { defaults: { maxSteps: 3 } } }`, core.RunError},
		"budget": {`, budget: {tokens: 1000}`, "", core.RunBudget},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, c.settings, fmt.Sprintf(`
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "rex"%s}}]},
  {when: {lastTool: "sessions_spawn"}, say: "NO_REPLY"},
  {when: {task: "/rex/"}, delay: "4s", usage: {in: 300, out: 10}, say: "I am half way.", call: [{tool: "nothing", args: {}}]},
  {when: {event: "/ended (\\w+)/"}, say: "told: $1"},`, c.spawn))
			s.say("team", "go")
			s.pass(10 * time.Minute)
			run := s.run("rex")
			require.Equal(t, []any{c.want, true, "I am half way."}, []any{run.Status, run.Partial, run.Result}, run.Detail)
			require.NotEmpty(t, run.Detail)
			require.Equal(t, []string{"told: " + string(c.want)}, s.told("team"))
		})
	}
}

// TestB135_TheResultIsThatOfTheLastTry: a try that failed leaves nothing in it.
func TestB135_TheResultIsThatOfTheLastTry(t *testing.T) {
	t.Parallel()
	for _, fail := range []string{"429", "500", "drop", "stall"} {
		t.Run(fail, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "", spawnRules+fmt.Sprintf(`
  {when: {task: "/cats/"}, fail: %q, say: "Cats sleep all day."}, {when: {event: "/ ended (.*)/"}, say: "$1"},`, fail))
			s.say("team", "wait for cats")
			s.pass(time.Hour)
			require.Greater(t, len(s.requests.list("cats")), 1, "it was tried again")
			require.Equal(t, []string{"ok: Cats sleep all day."}, s.told("team"))
			require.Equal(t, "Cats sleep all day.", s.run("cats").Result)
		})
	}
}

// TestB137_AnIdleChildIsNotDone: one whose turn has ended while it waits for its
// own children, or for a message, is not told of until it has ended.
func TestB137_AnIdleChildIsNotDone(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{
		"waits for its children":   `call: [{tool: "sessions_spawn", args: {task: "dig", label: "rex"}}, {tool: "sessions_yield"}]`,
		"ends while a child works": `call: [{tool: "sessions_spawn", args: {task: "dig", label: "rex"}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, `{ agents: { defaults: { subagents: { maxSpawnDepth: 2 } } } }`, `
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "lead", label: "lead"}}]},
  {when: {task: "/lead/", user: "/./"}, `+first+`}, {when: {task: "/lead/", event: "/a bone/"}, say: "all is dug"},
  {when: {task: "/lead/"}, say: "All is done, I think."},
  {when: {lastTool: "sessions_spawn"}, say: "NO_REPLY"}, {when: {task: "/rex/"}, delay: "1m", say: "a bone"},
  {when: {event: "/ ended (.*)/"}, say: "$1"},`)
			s.say("team", "go")
			s.pass(50 * time.Second)
			require.Equal(t, core.RunWaiting, s.run("lead").Status)
			require.Equal(t, core.DeliveryPending, s.run("lead").Delivery)
			require.Empty(t, s.told("team"))
			s.pass(time.Minute)
			require.Equal(t, core.RunOK, s.run("lead").Status)
			require.Equal(t, []string{"ok: all is dug"}, s.told("team"))
		})
	}
}

// TestB145_ASpawnIsMadeOfItsOwnRequest: nothing of one that was refused is in
// what the next one is asked.
func TestB145_ASpawnIsMadeOfItsOwnRequest(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `
  {when: {user: "/^go$/"}, call: [
    {tool: "sessions_spawn", args: {task: "burn the letters", label: "first", agentId: "nobody"}},
    {tool: "sessions_spawn", args: {task: "water the flowers", label: "second"}}]},
  {when: {lastTool: "sessions_spawn"}, say: "NO_REPLY"}, {when: {task: "/./"}, say: "done"}, {when: {event: "/./"}, say: "NO_REPLY"},`)
	s.say("team", "go")
	s.pass(time.Minute)
	require.Len(t, s.runs(), 1)
	for _, req := range s.requests.list("second") {
		whole := fmt.Sprintf("%s %+v", req.System, req.Items)
		require.Contains(t, whole, "water the flowers")
		require.NotContains(t, whole, "letters")
		require.NotContains(t, whole, "nobody")
	}
	require.Len(t, s.requests.list("second"), 1)
	require.Empty(t, s.requests.list("first"))
}

// TestB147_AClaimIsNotAStatus: a child whose every call failed has failed, and
// what it says of itself is handed over as a part.
func TestB147_AClaimIsNotAStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		calls  string
		status core.RunStatus
	}{
		"every call failed": {`[{tool: "boom", args: {}}, {tool: "boom", args: {}}]`, core.RunError},
		"one call worked":   {`[{tool: "boom", args: {}}, {tool: "keep", args: {}}]`, core.RunOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := prepareScene(t, "", spawnRules+`
  {when: {task: "/cats/", user: "/./"}, call: `+c.calls+`}, {when: {task: "/cats/"}, say: "I did it all!"},
  {when: {event: "/ ended (\\w+)/"}, say: "$1"},`)
			s.options = func(o *app.Options) { o.Tools = append(o.Tools, boom{}, new(keeper)) }
			s.start()
			s.say("team", "wait for cats")
			s.pass(time.Minute)
			require.Equal(t, []string{string(c.status)}, s.told("team"))
			run, event := s.run("cats"), events(s.last(""))[0]
			require.Equal(t, c.status == core.RunError, run.Partial)
			require.Equal(t, c.status, run.Status)
			require.Equal(t, "I did it all!", event.Result, "its claim")
			require.Equal(t, c.status, event.Status)
		})
	}
}

// TestB195_ALimitOfSilenceIsFedByTheStream: a child that says a little now and
// then lives for as long as it does; one that says nothing ends, and the reason
// names the timer.
func TestB195_ALimitOfSilenceIsFedByTheStream(t *testing.T) {
	t.Parallel()
	settings := `{ models: { stallSeconds: 45 } }`
	t.Run("slow", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, settings, spawnRules+`
  {when: {task: "/cats/"}, pace: "40s", say: "one two three four five six seven eight nine ten"}, {when: {event: "/ ended (.*)/"}, say: "$1"},`)
		s.say("team", "wait for cats")
		s.pass(190 * time.Second) // far more than the limit
		require.Equal(t, core.RunRunning, s.run("cats").Status)
		s.pass(3 * time.Minute)
		require.Equal(t, []string{"ok: one two three four five six seven eight nine ten"}, s.told("team"))
		require.Len(t, s.requests.list("cats"), 1, "it was asked once")
	})
	t.Run("silent", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, settings, spawnRules+`{when: {task: "/cats/"}, fail: "stall"}, {when: {event: "/ ended (.*)/"}, say: "$1"},`)
		s.say("team", "wait for cats")
		s.pass(40 * time.Second)
		require.Equal(t, core.RunRunning, s.run("cats").Status)
		s.pass(time.Hour)
		require.Equal(t, core.RunError, s.run("cats").Status)
		require.Contains(t, s.run("cats").Detail, "models.stallSeconds")
		require.Contains(t, last(s.told("team")), "models.stallSeconds")
	})
}

// TestB215_EveryWayDownIsResumed: however the process goes, with a turn and a
// child in the middle of their work, both are resumed and told once.
func TestB215_EveryWayDownIsResumed(t *testing.T) {
	t.Parallel()
	for name, down := range map[string]func(s *scene){
		"a stop that ends its grace": func(s *scene) { s.restart() },
		"a kill":                     func(s *scene) { s.crash(time.Second) },
		"a stop, then a kill": func(s *scene) {
			s.restart()
			s.crash(time.Second)
		},
		"a reload of the channel": func(s *scene) {
			s.reload(`{ gateway: { shutdownGraceSeconds: 5 }, channels: { console: { requireMention: true } } }`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, `{ gateway: { shutdownGraceSeconds: 5 } }`, spawnRules+`
  {when: {user: "/^think$/"}, delay: "60s", say: "thought"},
  {when: {task: "/cats/"}, delay: "60s", say: "Cats sleep."}, {when: {event: "/ ended (.*)/"}, say: "$1"},`)
			s.say("team", "wait for cats")
			s.says("alice", "other", "think")
			s.pass(10 * time.Second)
			down(s)
			require.Empty(t, append(s.told("team"), s.told("other")...))
			s.pass(10 * time.Minute)
			require.Equal(t, []string{"ok: Cats sleep."}, s.told("team"))
			require.Equal(t, []string{"thought"}, s.told("other"))
		})
	}
}
