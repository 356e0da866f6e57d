package app_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// TestAChainOfFiveTellsOneAnswer: each level sees its direct child alone, and
// the answer lands once, at the top.
func TestAChainOfFiveTellsOneAnswer(t *testing.T) {
	t.Parallel()
	var rules strings.Builder
	rules.WriteString(`{when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "l1", label: "l1"}}, {tool: "sessions_yield"}]},`)
	for i := 1; i < 5; i++ {
		fmt.Fprintf(&rules, `{when: {task: "/^l%d$/", user: "/Subagent Task/"}, call: [{tool: "sessions_spawn", args: {task: "l%d", label: "l%d"}}, {tool: "sessions_yield"}]},`, i, i+1, i+1)
		fmt.Fprintf(&rules, `{when: {task: "/^l%d$/", event: "/task \"(\\w+)\" ended (\\w+): (.*)/"}, say: "l%d heard $1 say ($3)"},`, i, i)
	}
	rules.WriteString(`{when: {task: "/^l5$/"}, delay: "5s", say: "gold"},{when: {event: "/ended (\\w+): (.*)/"}, say: "top heard ($2)"},`)
	s := newScene(t, `{agents: {defaults: {subagents: {maxSpawnDepth: 5}}}}`, rules.String())
	s.say("team", "go")
	s.crash(time.Second)
	s.pass(time.Minute)
	require.Equal(t, []string{"top heard (l1 heard l2 say (l2 heard l3 say (l3 heard l4 say (l4 heard l5 say (gold)))))"}, s.told("team"))
	for i := 1; i <= 5; i++ {
		name := fmt.Sprintf("l%d", i)
		require.Equal(t, core.DeliveryDelivered, s.run(name).Delivery, name)
		seen := []string{}
		for _, e := range events(s.last(name)) {
			seen = append(seen, e.Label)
		}
		if i < 5 {
			require.Equal(t, []string{fmt.Sprintf("l%d", i+1)}, seen, name)
		} else {
			require.Empty(t, seen)
		}
	}
}

// TestOutcomesOfGoneRequesters: what asked is deleted or over, and whoever asked
// for that hears it, over several levels.
func TestOutcomesOfGoneRequesters(t *testing.T) {
	t.Parallel()
	const rules = `
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "l1", label: "l1"}}]},
  {when: {task: "/^l1$/", user: "/Subagent Task/"}, call: [{tool: "sessions_spawn", args: {task: "l2", label: "l2"}}]},
  {when: {task: "/^l2$/", user: "/Subagent Task/"}, call: [{tool: "sessions_spawn", args: {task: "l3", label: "l3"}}]},
  {when: {task: "/^l3$/"}, delay: "30s", say: "gold"},
  {when: {event: "/task \"(\\w+)\" ended (\\w+): (.*)/"}, say: "heard $1 say $3"},
  {when: {lastTool: "sessions_spawn"}, say: "started"},`
	for name, gone := range map[string][]string{"nobody": nil, "its requester": {"l2"}, "both above it": {"l1", "l2"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, `{agents: {defaults: {subagents: {maxSpawnDepth: 3}}}}`, rules)
			s.say("team", "go")
			s.pass(10 * time.Second)
			runs := map[string]core.Run{"l1": s.run("l1"), "l2": s.run("l2")}
			require.NoError(t, s.app.DB().Write(t.Context(), func(tx *store.Tx) error {
				e := tx.NewErasure()
				for _, g := range gone {
					e.Session(runs[g].Session)
				}
				_, err := e.Counts()
				return err
			}))
			s.pass(5 * time.Minute)
			told := "heard l1 say heard l2 say heard l3 say gold"
			if len(gone) > 0 {
				told = "heard l3 say gold"
			}
			require.Equal(t, []string{"started", told}, s.told("team"))
			require.Equal(t, core.DeliveryDelivered, s.run("l3").Delivery)
		})
	}
}

// TestB139_B197_ATimeoutSaysWhatWasDone: the event has how long it ran, what it
// called last, what it said, and what to do; and people get one line even where
// the requester says nothing.
func TestB139_B197_ATimeoutSaysWhatWasDone(t *testing.T) {
	t.Parallel()
	s := compactScene(t, "", `
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "rex", runTimeoutSeconds: 180}}, {tool: "sessions_yield"}]},
  {when: {task: "/dig/", user: "/Subagent Task/"}, say: "Half a bone.", call: [{tool: "read", args: {name: "a", size: "10"}}]},
  {when: {task: "/dig/"}, delay: "1h", say: "A bone."},
  {when: {event: "/./"}, say: ""},`)
	s.say("team", "go")
	s.pass(4 * time.Minute)
	e := events(s.last(""))[0]
	require.Equal(t, core.RunTimeout, e.Status)
	require.Equal(t, []any{"Half a bone.", true, "read", 1, "its time was over after 3m (runTimeoutSeconds)"},
		[]any{e.Result, e.Partial, e.LastTool, e.ToolCalls, e.Detail})
	require.Contains(t, e.Stats, "runtime 3m0s")
	require.Equal(t, []string{"rex ran out of time: its time was over after 3m (runTimeoutSeconds). What it had so far:\n\nHalf a bone."}, s.told("team"))
	s.stop()
}

// TestB189_TheNoticeComesOnceOverARestart: at 80 % of its time, and not again.
func TestB189_TheNoticeComesOnceOverARestart(t *testing.T) {
	t.Parallel()
	s := compactScene(t, "", `
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "rex", runTimeoutSeconds: 60}}]},
  {when: {task: "/dig/"}, delay: "4s", call: [{tool: "read", args: {name: "a", size: "10"}}]},
  {when: {event: "/./"}, say: "heard"}, {when: {lastTool: "sessions_spawn"}, say: "sent"},`)
	s.say("team", "go")
	s.pass(47 * time.Second)
	require.Empty(t, notes(s.last("rex")))
	s.pass(3 * time.Second)
	require.Len(t, notes(s.last("rex")), 1)
	s.crash(time.Second)
	s.pass(7 * time.Second)
	count := 0
	for _, n := range notes(s.last("rex")) {
		if strings.HasPrefix(n, "Most of your time is over: ") {
			count++
		}
	}
	require.Equal(t, 1, count)
	s.stop()
}

// keeper is a tool that keeps something for each run.
type keeper struct {
	mu    sync.Mutex
	ended []string
	fails int
}

func (*keeper) Spec() core.ToolSpec { return core.ToolSpec{Name: "keep", Idempotent: true} }
func (*keeper) Invoke(context.Context, core.ToolScope, core.ToolCall) (core.ToolResult, error) {
	return core.ToolResult{Text: "kept"}, nil
}

func (k *keeper) RunEnded(_ context.Context, run string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fails > 0 {
		k.fails--
		return errors.New("not now")
	}
	k.ended = append(k.ended, run)
	return nil
}

func (k *keeper) told() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string{}, k.ended...)
}

// TestToolsHearOfTheEndOfARun: however it ends, over a crash and a failure too,
// and only those that the run called.
func TestToolsHearOfTheEndOfARun(t *testing.T) {
	t.Parallel()
	const rules = `
  {when: {user: "/^go (\\w+)$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "$1"}}]},
  {when: {task: "/./", user: "/Subagent Task/"}, call: [{tool: "keep", args: {}}]},
  {when: {task: "/idle/"}, delay: "1h", say: "late"}, {when: {task: "/./"}, delay: "5s", say: "dug"},
  {when: {event: "/./"}, say: "NO_REPLY"}, {when: {lastTool: "sessions_spawn"}, say: "sent"},`
	for name, c := range map[string]func(s *scene, k *keeper){
		"ok":      func(s *scene, _ *keeper) { s.pass(10 * time.Second) },
		"stopped": func(s *scene, _ *keeper) { s.pass(time.Second); s.say("team", "/stop") },
		"fails once": func(s *scene, k *keeper) {
			k.fails = 1
			s.pass(10 * time.Second)
			require.Empty(s, k.told())
			s.restart()
		},
		"crash": func(s *scene, _ *keeper) {
			s.world.Arm(world.TurnAfterEnd, 2, world.TrapCut, nil)
			s.pass(10 * time.Second)
			s.crash(time.Second)
			s.pass(10 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, k := prepareScene(t, "", rules), new(keeper)
			s.options = func(o *app.Options) { o.Tools = append(o.Tools, k) }
			s.start()
			s.say("team", "go rex")
			c(s, k)
			require.NotEmpty(t, k.told())
			for _, run := range k.told() {
				require.Equal(t, s.run("rex").ID, run)
			}
			n := len(k.told())
			s.restart()
			require.Len(t, k.told(), n, "it was told for good")
		})
	}
}

// TestAnArchivedSessionComesBack: with its history, until it has not been used
// for the time once more.
func TestAnArchivedSessionComesBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", digRules)
	s.say("team", "go rex")
	s.pass(30 * time.Minute)
	s.crash(time.Hour) // with the archive pending
	run := s.run("rex")
	require.NotZero(t, s.session(run.SessionKey).ArchivedAt)
	restore := func() int {
		return call(t, s.app.API(), http.MethodPost, fmt.Sprintf("/sessions/session:%d/restore", run.Session), "", nil)
	}
	require.Equal(t, http.StatusOK, restore())
	require.Zero(t, s.session(run.SessionKey).ArchivedAt)
	require.Equal(t, http.StatusConflict, restore(), "it is not archived")
	s.pass(2 * time.Hour)
	require.NotZero(t, s.session(run.SessionKey).ArchivedAt)
}
