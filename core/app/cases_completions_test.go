package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
	"github.com/skein-bot/skein/threadbind"
)

// spawnRules make a chat spawn at "send X", and spawn and wait at "wait for X";
// the child is labelled X.
const spawnRules = `
  {when: {user: "/^send (\\w+)$/"}, call: [{tool: "sessions_spawn", args: {task: "do $1", label: "$1"}}]},
  {when: {user: "/^wait for (\\w+)$/"}, call: [
    {tool: "sessions_spawn", args: {task: "do $1", label: "$1"}}, {tool: "sessions_yield", args: {}}]},
  {when: {lastTool: "sessions_spawn"}, say: "sent"},`

// TestB079_ParentThatCannotTakeTheEvent: a parent in its last model call has no
// boundary left at which the result could join; the result gets a turn of its
// own, and where that turn fails too, the runtime tells it.
func TestB079_ParentThatCannotTakeTheEvent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ event, want string }{
		"turn of its own":  {`say: "they sleep"`, "they sleep"},
		"runtime's notice": {`fail: "500"`, "cats is done.\n\nCats sleep."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "", `
  {when: {user: "/^work$/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "cats"}}]},
  {when: {lastTool: "sessions_spawn"}, delay: "60s", say: "my own answer"},
  {when: {task: "/cats/"}, delay: "5s", say: "Cats sleep."},
  {when: {event: "/Cats sleep/"}, `+c.event+`},`)
			s.say("team", "work")
			s.pass(30 * time.Second)
			require.Equal(t, core.DeliverySessionQueued, s.run("cats").Delivery)
			require.Empty(t, s.told("team"))
			s.pass(time.Minute)
			require.Equal(t, []string{"my own answer", c.want}, s.told("team"))
			require.Equal(t, core.DeliveryDelivered, s.run("cats").Delivery)
		})
	}
}

// TestB081_GivingUpAPostSettlesTheWait: nothing can be posted for longer than
// it is tried; the parent's wait is settled all the same, the delivery is
// blocked, and messages are answered again.
func TestB081_GivingUpAPostSettlesTheWait(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRules+`
  {when: {task: "/cats/"}, delay: "5s", say: "Cats sleep."},
  {when: {event: "/Cats sleep/"}, say: "they sleep"},`)
	s.say("team", "wait for cats")
	s.outage.Store(true)
	s.pass(10 * time.Second)
	require.Zero(t, s.load().Waits, "the parent was woken")
	require.Equal(t, core.DeliverySessionQueued, s.run("cats").Delivery, "queued is not delivered")
	s.pass(time.Hour)
	run := s.run("cats")
	require.Equal(t, core.DeliveryBlocked, run.Delivery)
	require.NotEmpty(t, run.Detail)
	require.Empty(t, s.told("team"))
	s.outage.Store(false)
	s.say("team", "are you there?")
	s.pass(time.Minute)
	require.Contains(t, s.told("team"), "ok: are you there?")
}

// TestB083_LabelsNeedNotBeUnique: a third child with a label that two finished
// ones had is delivered like any other.
func TestB083_LabelsNeedNotBeUnique(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRules+`{when: {event: "/(\\d) of x/"}, say: "heard $1"},
  {when: {task: "/^x$/"}, say: "1 of x", times: 1}, {when: {task: "/^x$/"}, say: "2 of x", times: 1}, {when: {task: "/^x$/"}, say: "3 of x"},`)
	for i := 1; i <= 3; i++ {
		s.say("team", "send x")
		s.pass(time.Second)
		require.Equal(t, fmt.Sprintf("heard %d", i), last(s.told("team")))
	}
	for _, r := range s.runs() {
		require.Equal(t, "x", r.Label)
		require.Equal(t, core.DeliveryDelivered, r.Delivery)
	}
}

func last(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

// TestB085_PlainTextOfTheAnnounceTurn: the turn that gets a result answers in
// plain text and calls nothing; the text is posted once, in its topic.
func TestB085_PlainTextOfTheAnnounceTurn(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRules+`
  {when: {task: "/cats/"}, delay: "5s", say: "Cats sleep."},
  {when: {event: "/Cats sleep/"}, say: "they sleep"},`)
	topic := s.topic("team", "pets")
	s.say(topic, "wait for cats")
	s.pass(time.Hour)
	require.Equal(t, []string{"they sleep"}, s.told(topic))
	require.Empty(t, s.told("team"))
	require.Equal(t, core.DeliveryDelivered, s.run("cats").Delivery)
}

// TestB089_IdleParentIsWoken: nobody writes after the spawn, and the result is
// told nevertheless.
func TestB089_IdleParentIsWoken(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRules+`
  {when: {task: "/cats/"}, delay: "20m", say: "Cats sleep."},
  {when: {event: "/Cats sleep/"}, say: "they sleep"},`)
	s.say("team", "send cats")
	require.Equal(t, []string{"sent"}, s.told("team"))
	require.False(t, s.session("agent:main:console:default:group:team").Ready)
	s.pass(20 * time.Minute)
	require.Equal(t, []string{"sent", "they sleep"}, s.told("team"))
}

// TestB091_LastChildWakesLikeTheOthers: each child that nobody waits for
// starts a turn of its parent, the last one too.
func TestB091_LastChildWakesLikeTheOthers(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRules+`
  {when: {task: "/one/"}, delay: "1m", say: "result of one"},
  {when: {task: "/two/"}, delay: "1m", say: "result of two"},
  {when: {event: "/result of (\\w+)/"}, say: "heard $1"},`)
	s.say("team", "send one")
	s.pass(10 * time.Second)
	s.say("team", "send two")
	s.pass(2 * time.Minute)
	require.Equal(t, []string{"sent", "sent", "heard one", "heard two"}, s.told("team"))
}

// TestB093_AnUndeliveredResultIsKept: the channel is down for days, long over
// every retention; what is told in the end is the whole text.
func TestB093_AnUndeliveredResultIsKept(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Cats sleep a lot. ", 800) + "The end."
	s := newScene(t, `{
  agents: { defaults: { subagents: { archiveAfterMinutes: 1 } } },
  session: { retention: { transcriptDays: 1, archivedDays: 1, outboxDays: 1, dedupeDays: 1, eventsDays: 1 } },
}`, fmt.Sprintf(`
  {when: {user: "/^cats$/"}, call: [{tool: "sessions_spawn", args: {task: "do cats", label: "cats", thread: true, mode: "run"}}]},
  {when: {task: "/cats/"}, say: %q},
  {when: {lastTool: "sessions_spawn"}, say: "sent"},
  {when: {event: "/./"}, say: "NO_REPLY"},`, long))
	s.outage.Store(true)
	s.say("team", "cats")
	s.pass(72 * time.Hour)
	require.Equal(t, core.DeliveryBlocked, s.run("cats").Delivery)
	s.outage.Store(false)
	s.retryOutbox()
	s.pass(time.Minute)
	require.Contains(t, s.told(s.thread("team")), long)
	require.Equal(t, core.DeliveryDelivered, s.run("cats").Delivery)
}

// TestB095_OneAnswerForABatch: two children, one wait, one final text; nothing
// of the children is posted raw.
func TestB095_OneAnswerForABatch(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `
  {when: {user: "/^both$/"}, call: [
    {tool: "sessions_spawn", args: {task: "cats", label: "cats"}}, {tool: "sessions_spawn", args: {task: "dogs", label: "dogs"}},
    {tool: "sessions_yield", args: {acknowledgment: "on it"}}]},
  {when: {task: "/cats/"}, delay: "20s", say: "Cats sleep."},
  {when: {task: "/dogs/"}, delay: "5s", say: "Dogs bark."},
  {when: {event: "/./"}, say: "cats sleep, dogs bark"},`)
	s.say("team", "both")
	s.pass(time.Hour)
	require.Equal(t, []string{"on it", "cats sleep, dogs bark"}, s.told("team"))
	require.Len(t, s.requests.list(""), 2)
	got := events(s.last(""))
	require.Len(t, got, 2)
	require.Equal(t, []string{"cats", "dogs"}, []string{got[0].Label, got[1].Label}, "in the order of the spawns")
}

// TestB097_TheCompletionIsTyped: the parent gets fields, not prose to parse,
// and is told what to do with them.
func TestB097_TheCompletionIsTyped(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRules+`{when: {task: "/cats/"}, say: "Cats sleep."}, {when: {event: "/./"}, say: "good"},`)
	s.say("team", "send cats")
	s.pass(time.Second)
	got := events(s.last(""))
	require.Len(t, got, 1)
	run := s.run("cats")
	require.Equal(t, model.Completion{
		Source: "subagent", RunID: run.ID, TaskID: run.TaskID, SessionKey: run.SessionKey, SessionID: run.Session, Number: 1, Ordinal: 1,
		Label: "cats", Task: "do cats", Status: core.RunOK, Result: "Cats sleep.", Ref: got[0].Ref, Stats: got[0].Stats,
	}, got[0])
	require.Contains(t, got[0].Stats, run.SessionKey)
}

// TestB099_SeveralResultsAtOnce: three children of an idle parent end, one in
// failure; within seconds each is told once.
func TestB099_SeveralResultsAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `
  {when: {user: "/^all$/"}, call: [
    {tool: "sessions_spawn", args: {task: "do one", label: "one"}}, {tool: "sessions_spawn", args: {task: "do two", label: "two"}},
    {tool: "sessions_spawn", args: {task: "do three", label: "three"}}]},
  {when: {lastTool: "sessions_spawn"}, say: "sent"},
  {when: {task: "/two/"}, delay: "30s", fail: "overflow", call: [{tool: "nothing", args: {}}]},
  {when: {task: "/one|three/"}, delay: "30s", say: "done"},
  {when: {event: "/./"}, say: "heard"},`)
	s.say("team", "all")
	require.Equal(t, []string{"sent"}, s.told("team"))
	s.pass(35 * time.Second)
	seen := make(map[string]core.RunStatus)
	for _, ev := range events(s.last("")) {
		require.NotContains(t, seen, ev.Label, "told twice")
		seen[ev.Label] = ev.Status
	}
	require.Equal(t, map[string]core.RunStatus{"one": core.RunOK, "two": core.RunError, "three": core.RunOK}, seen)
	for _, r := range s.runs() {
		require.Equal(t, core.DeliveryDelivered, r.Delivery, r.Label)
	}
	n := len(s.told("team"))
	s.pass(time.Hour)
	require.Len(t, s.told("team"), n)
}

// TestB103_EverySpawnHasAResult: a spawn that goes wrong inside is an error
// result of its call; an accepted one is started after a crash that came
// first; and one that never gets going is told as a failure.
func TestB103_EverySpawnHasAResult(t *testing.T) {
	t.Parallel()
	t.Run("panic", func(t *testing.T) {
		t.Parallel()
		s := prepareScene(t, "", `
  {when: {user: "/^bound$/"}, call: [{tool: "sessions_spawn", args: {task: "do it", label: "it", thread: true}}]},
  {when: {lastTool: "sessions_spawn", result: "/(accepted|error|forbidden)/"}, say: "spawn: $1"},`)
		s.options = func(o *app.Options) { o.Extensions = []threadbind.Extension{spawnPanics{}} }
		s.start()
		s.say("team", "bound")
		s.pass(time.Minute)
		require.Regexp(t, "^spawn: (error|forbidden)$", last(s.told("team")))
		require.Empty(t, s.runs(), "nothing of it is left")
		require.Empty(t, s.server.Threads(at("team")))
		require.Zero(t, s.load().Bindings)
	})
	t.Run("crash", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, "", spawnRules+`{when: {task: "/it/"}, say: "done"}, {when: {event: "/ended (\\w+)/"}, say: "told: $1"},`)
		s.world.Arm(world.SpawnAfterCommit, 1, world.TrapCut, nil)
		s.says("alice", "team", "wait for it")
		s.crash(time.Minute)
		s.pass(time.Minute)
		require.Equal(t, []string{"told: ok"}, s.told("team"))
	})
	t.Run("stall", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, "", spawnRules+`{when: {task: "/it/"}, fail: "stall"}, {when: {event: "/ended (\\w+)/"}, say: "told: $1"},`)
		s.say("team", "wait for it")
		s.pass(time.Hour)
		require.Equal(t, []string{"told: error"}, s.told("team"))
	})
}

// spawnPanics is an extension with a bug.
type spawnPanics struct{}

func (spawnPanics) Name() string { return "spawn-panics" }

func (spawnPanics) SubagentSpawning(context.Context, threadbind.SpawningEvent) (*core.Address, error) {
	panic("a bug")
}

// TestB105_ChildrenOfADelegatedLead: a lead that was itself spawned starts two
// children; both run, although no person's turn is near, and the lists answer.
func TestB105_ChildrenOfADelegatedLead(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ agents: { defaults: { subagents: { maxSpawnDepth: 2 } } } }`, `
  {when: {user: "/^delegate$/"}, call: [{tool: "sessions_spawn", args: {task: "lead the work", label: "lead"}}]},
  {when: {task: "/lead/", user: "/./"}, call: [
    {tool: "sessions_spawn", args: {task: "part one", label: "one"}}, {tool: "sessions_spawn", args: {task: "part two", label: "two"}}]},
  {when: {task: "/lead/", lastTool: "sessions_spawn"}, say: "my people work"},
  {when: {task: "/lead/", event: "/./"}, say: "one and two are done"},
  {when: {lastTool: "sessions_spawn"}, say: "sent"},
  {when: {task: "/one|two/"}, delay: "1m", say: "part done"},
  {when: {event: "/one and two are done/"}, say: "all done"},`)
	s.say("team", "delegate")
	s.say("team", "/subagents list")
	require.Contains(t, last(s.told("team")), "lead")
	require.Equal(t, core.RunWaiting, s.run("lead").Status, "it waits for its children")
	require.Equal(t, core.RunRunning, s.run("one").Status)
	require.Equal(t, core.RunRunning, s.run("two").Status)
	s.pass(5 * time.Minute)
	require.Equal(t, "all done", last(s.told("team")))
	for _, label := range []string{"one", "two", "lead"} {
		require.Equal(t, core.RunOK, s.run(label).Status)
		require.Equal(t, core.DeliveryDelivered, s.run(label).Delivery)
	}
	require.Equal(t, "one and two are done", s.run("lead").Result)
}

// TestB107_ABatchOfNothing: where every spawn was refused the calls say so, and
// a wait for them returns at once instead of never; in a chat and in a lead.
func TestB107_ABatchOfNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ agents: { defaults: { subagents: { maxSpawnDepth: 2 } } } }`, `
  {when: {user: "/^lead$/"}, call: [{tool: "sessions_spawn", args: {task: "a batch", label: "lead"}}, {tool: "sessions_yield"}]},
  {when: {user: "/a batch/"}, call: [
    {tool: "sessions_spawn", args: {task: "part one", agentId: "nobody"}}, {tool: "sessions_spawn", args: {task: "part two", agentId: "nobody"}},
    {tool: "sessions_yield"}]},
  {when: {lastTool: "sessions_yield", result: "/nothing_pending/"}, say: "nobody works for me"},
  {when: {event: "/nobody works for me/"}, say: "the lead is alone"},`)
	for _, c := range []struct{ say, answer, label string }{
		{"a batch", "nobody works for me", ""}, {"lead", "the lead is alone", "lead"},
	} {
		s.say("team", c.say)
		require.Equal(t, c.answer, last(s.told("team")), "with no time gone by")
		var refused int
		for _, i := range s.requests.list(c.label)[1].Items {
			var answer struct{ Status, Code string }
			if i.Tool == "sessions_spawn" && i.Failed && json.Unmarshal([]byte(i.Text), &answer) == nil {
				require.Equal(t, "forbidden", answer.Status)
				require.Equal(t, "agent_not_allowed", answer.Code)
				refused++
			}
		}
		require.Equal(t, 2, refused)
		require.Zero(t, s.load().Waits)
		require.Zero(t, s.load().Runs)
	}
	require.Len(t, s.runs(), 1, "only the lead")
}

// TestB109_AWaitThatExpires: the deadline of a wait ends the wait, not the
// child; its later success is told once, and so is a later failure.
func TestB109_AWaitThatExpires(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		child string
		want  core.RunStatus
	}{
		"success": {`delay: "10m", say: "Cats sleep."`, core.RunOK},
		"failure": {`delay: "1h", say: "too late"`, core.RunTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "", `
  {when: {user: "/^wait$/"}, call: [
    {tool: "sessions_spawn", args: {task: "cats", label: "cats", runTimeoutSeconds: 1200}}, {tool: "sessions_yield", args: {deadlineSeconds: 60}}]},
  {when: {task: "/cats/"}, `+c.child+`},
  {when: {event: "/ended (\\w+)/"}, say: "told: $1"},`)
			s.say("team", "wait")
			s.pass(2 * time.Minute)
			require.Zero(t, s.load().Waits)
			require.Equal(t, core.RunRunning, s.run("cats").Status, "it goes on")
			require.Len(t, s.told("team"), 1, "the parent has gone on")
			require.Empty(t, events(s.last("")))
			s.pass(2 * time.Hour)
			require.Equal(t, c.want, s.run("cats").Status)
			require.Equal(t, core.DeliveryDelivered, s.run("cats").Delivery)
			require.Len(t, s.told("team"), 2)
			require.Len(t, events(s.last("")), 1)
			require.Equal(t, c.want, events(s.last(""))[0].Status)
		})
	}
}

// retryOutbox sends again what was given up.
func (s *scene) retryOutbox() {
	s.Helper()
	var rows []store.Outbox
	s.read(func(tx *store.Tx) (err error) {
		rows, err = tx.ListOutbox(store.OutBlocked, 100)
		return err
	})
	require.NotEmpty(s, rows)
	for _, row := range rows {
		require.NoError(s, s.app.DB().Write(s.Context(), func(tx *store.Tx) error { return s.app.Delivery().Retry(tx, row.ID) }))
	}
	s.quiet()
}
