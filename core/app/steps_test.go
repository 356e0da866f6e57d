package app_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// TestTheLoopGuardCountsOverACrash: a turn that calls tools for ever ends after
// maxSteps model answers, those before a crash included.
func TestTheLoopGuardCountsOverACrash(t *testing.T) {
	t.Parallel()
	s := compactScene(t, `{ agents: { defaults: { maxSteps: 4 } } }`, `
  {when: {user: "/^go/"}, delay: "1s", say: "I begin.", call: [{tool: "read", args: {name: "a", size: "10"}}]},
  {when: {lastTool: "read"}, call: [{tool: "read", args: {name: "a", size: "10"}}]},`)
	s.say("team", "go")
	s.world.Arm(world.StepAfterCommit, 7, world.TrapCut, nil) // in the third step
	s.pass(10 * time.Second)
	require.Error(t, s.world.Err())
	s.crash(time.Second)
	s.pass(time.Minute)
	require.Equal(t, []string{"I begin.", "This did not work: it was stopped after 4 steps without an answer (maxSteps)."}, s.told("team"))
	answers := 0
	for _, i := range s.history(teamKey) {
		if i.Kind == model.Assistant {
			answers++
		}
	}
	require.Equal(t, 4, answers)
	s.say("team", "hello")
	require.Equal(t, "ok: hello", last(s.told("team")), "the next turn counts anew")
	s.stop()
}

// TestTheLoopGuardKeepsWhatAChildHasSaid: the requester gets it, marked partial.
func TestTheLoopGuardKeepsWhatAChildHasSaid(t *testing.T) {
	t.Parallel()
	s := compactScene(t, `{ agents: { defaults: { maxSteps: 4 } } }`, `
  {when: {user: "/^send/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "kid"}}]},
  {when: {lastTool: "sessions_spawn"}, say: "sent"},
  {when: {task: "/kid/"}, say: "Half of it is red.", call: [{tool: "read", args: {name: "a", size: "10"}}]},
  {when: {event: "/kid/"}, say: "heard"},`)
	s.say("team", "send a kid")
	s.pass(time.Minute)
	run := s.run("kid")
	require.Equal(t, core.RunError, run.Status)
	require.Equal(t, "Half of it is red.", run.Result)
	require.True(t, run.Partial)
	require.Contains(t, run.Detail, "4 steps")
	s.stop()
}

// slowTool takes a minute of virtual time.
type slowTool struct{ clock core.Clock }

func (slowTool) Spec() core.ToolSpec { return core.ToolSpec{Name: "slow", ReadOnly: true} }
func (s slowTool) Invoke(ctx context.Context, _ core.ToolScope, _ core.ToolCall) (core.ToolResult, error) {
	return core.ToolResult{Text: "done"}, s.clock.Sleep(ctx, time.Minute)
}

// TestAToolHasADeadline: the model gets a typed error in time, and goes on.
func TestAToolHasADeadline(t *testing.T) {
	t.Parallel()
	s := prepareScene(t, `{ tools: { timeoutSeconds: 20 } }`, `
  {when: {user: "/^go/"}, call: [{tool: "slow"}, {tool: "read", args: {name: "quick", size: "10"}}]},
  {when: {lastTool: "read"}, say: "I go on."},`)
	s.options = func(o *app.Options) { o.Tools = append(o.Tools, slowTool{s.clock}, longTool{}) }
	s.start()
	s.say("team", "go")
	s.pass(19 * time.Second)
	require.Empty(t, s.told("team"))
	s.pass(2 * time.Second)
	require.Equal(t, []string{"I go on."}, s.told("team"))
	results := texts(s.last(""), model.ToolOutput)
	require.Equal(t, "tool_timeout: the call was stopped after 20s (tools.timeoutSeconds); what it did until then is not known", results[0])
	require.Contains(t, results[1], "quick", "the other call is not touched")
	s.stop()
}

// TestALongResultNamesWhereTheWholeIs: the prompt has the first 32 KiB and the
// row, and the transcript has that row whole.
func TestALongResultNamesWhereTheWholeIs(t *testing.T) {
	t.Parallel()
	s := compactScene(t, "", `
  {when: {user: "/^go/"}, call: [{tool: "read", args: {name: "log", size: "100000"}}]},
  {when: {lastTool: "read"}, say: "read"},`)
	s.say("team", "go")
	sent := texts(s.last(""), model.ToolOutput)[0]
	require.Less(t, len(sent), 33<<10)
	require.Regexp(t, `\[cut here: 32768 of 1000\d\d bytes shown\. .*The whole is row \d+ of the transcript`, sent)
	row := sent[strings.Index(sent, "whole is row ")+len("whole is row "):]
	row, _, _ = strings.Cut(row, " ")
	require.Greater(t, len(s.transcriptRow(row).Text), 99_000)
	// A restart reads the same.
	s.restart()
	s.say("team", "and?")
	require.Equal(t, sent, texts(s.last(""), model.ToolOutput)[0])
	s.stop()
}

// transcriptRow finds a row by its number, as "skein sessions transcript" prints
// it.
func (s *scene) transcriptRow(number string) (row app.RowView) {
	s.Helper()
	s.read(func(tx *store.Tx) error {
		rows, err := app.Views{}.Transcript(tx, teamKey, false, 0, 1000)
		for _, r := range rows {
			if strconv.FormatInt(r.Row, 10) == number {
				row = r
			}
		}
		return err
	})
	return row
}
