package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

const teamKey = "agent:main:console:default:group:team"

// TestB199_CrashDuringAChild: a child whose process died goes on and is told
// once; one that lay too long is told as interrupted, once.
func TestB199_CrashDuringAChild(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		downtime time.Duration
		want     core.RunStatus
	}{
		"resumed": {time.Minute, core.RunOK},
		"too old": {3 * time.Hour, core.RunInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "", spawnRules+`
  {when: {task: "/cats/"}, delay: "30s", say: "Cats sleep."}, {when: {event: "/ended (\\w+)/"}, say: "told: $1"},`)
			s.say("team", "send cats")
			s.pass(10 * time.Second)
			require.Equal(t, core.RunRunning, s.run("cats").Status)
			s.crash(c.downtime)
			s.pass(time.Hour)
			require.Equal(t, []string{"sent", "told: " + string(c.want)}, s.told("team"))
			require.Equal(t, core.DeliveryDelivered, s.run("cats").Delivery)
			s.restart()
			s.pass(time.Hour)
			require.Len(t, s.told("team"), 2)
		})
	}
}

// TestB201_RowsThatNothingMoves: live runs without a turn, an input or a wait
// are interrupted at the start, and whoever asked is told.
func TestB201_RowsThatNothingMoves(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `{when: {event: "/./"}, say: "heard"},`)
	s.say("team", "hello")
	requester := s.session(teamKey)
	require.NoError(t, s.app.DB().Write(t.Context(), func(tx *store.Tx) error {
		for i := range 5 {
			label := fmt.Sprintf("lost-%d", i)
			child, err := tx.EnsureSession(store.Session{
				Key: "agent:main:subagent:" + label, Agent: "main", Kind: core.SessionSubagent, Title: label, Depth: 1, Parent: requester.ID,
				CreatedAt: s.world.Now(), UsedAt: s.world.Now(),
			})
			if err != nil {
				return err
			}
			err = tx.InsertRun(core.Run{
				ID: label, Root: "root", TaskID: "task-" + label, Session: child.ID, SessionKey: child.Key, Requester: requester.ID,
				RequesterID: requester.Key, Ordinal: i + 1, Completion: 1, Depth: 1, Agent: "main", Role: "leaf", Task: label, Label: label,
				Origin: requester.Address, Status: core.RunRunning, Delivery: core.DeliveryPending, CreatedAt: s.world.Now(),
				StartedAt: s.world.Now(), Spec: core.SpawnSpec{Mode: "run", Cleanup: "keep", ExpectsCompletion: true},
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	require.Zero(t, s.load().Runs, "they do not count as live")
	for _, r := range s.runs() {
		require.Equal(t, core.RunRunning, r.Status)
	}
	s.crash(time.Second)
	s.pass(time.Minute)
	require.Len(t, events(s.last("")), 5)
	for _, r := range s.runs() {
		require.Equal(t, core.RunInterrupted, r.Status)
		require.Equal(t, core.DeliveryDelivered, r.Delivery)
	}
}

// TestB203_ResumedTurnAndQueuedMessage: an interrupted turn, a message that was
// queued behind it and one that comes right after the start are three turns of
// one session, one after the other.
func TestB203_ResumedTurnAndQueuedMessage(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ messages: { queue: { mode: "followup" } } }`, `{when: {user: "/^first$/"}, delay: "30s", say: "ok: first"},`)
	s.say("team", "first")
	s.say("team", "second")
	s.pass(time.Second)
	s.kill()
	s.says("alice", "team", "third") // the platform holds it
	s.crash(time.Minute)
	s.pass(time.Hour)
	require.Equal(t, []string{"ok: first", "ok: second", "ok: third"}, s.told("team"))
	s.read(func(tx *store.Tx) error {
		turns, err := tx.TurnsOfSession(s.session(teamKey).ID, 10)
		require.Len(t, turns, 3)
		for _, x := range turns {
			require.Equal(t, store.TurnDone, x.State)
		}
		return err
	})
}

// TestB205_TopicKeepsItsHistory: after a restart a topic is the session that it
// was.
func TestB205_TopicKeepsItsHistory(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", "")
	topic := s.topic("team", "pets")
	s.say(topic, "my cat is Tom")
	s.restart()
	s.say(topic, "what is my cat?")
	s.crash(time.Minute)
	s.say(topic, "and now?")
	require.Equal(t, []string{"my cat is Tom", "what is my cat?", "and now?"}, texts(s.last(""), model.User))
	require.Equal(t, []string{"ok: my cat is Tom", "ok: what is my cat?"}, texts(s.last(""), model.Assistant))
}

// TestB207_CommandDeliveredTwice: an update with a command that comes again,
// also after a restart, has its effect once.
func TestB207_CommandDeliveredTwice(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", "")
	s.say("team", "hello")
	before := s.session(teamKey).Generation
	s.say("team", "/new")
	require.NoError(t, s.server.Dup())
	s.quiet()
	s.restart()
	require.NoError(t, s.server.Dup())
	s.quiet()
	require.Equal(t, before+1, s.session(teamKey).Generation)
	require.Len(t, s.told("team"), 2, "the answer to hello, and one reply")
}

// TestB209_KillInTheMiddleOfATurn: the message is in the transcript before a
// model sees it, so that nothing is lost with the process: the turn goes on.
func TestB209_KillInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `{when: {user: "/^think$/"}, delay: "1m", say: "thought"},`)
	s.say("team", "think")
	s.pass(10 * time.Second)
	s.crash(time.Minute)
	s.read(func(tx *store.Tx) error {
		rows, err := tx.Transcript(s.session(teamKey))
		require.Len(t, rows, 1)
		require.Contains(t, rows[0].Body, "think")
		return err
	})
	s.pass(time.Hour)
	require.Equal(t, []string{"thought"}, s.told("team"))
}

// TestB213_StopDuringALongTurn: a stop waits for its grace, saves the turn
// where it stands, and the next start goes on with it: no step runs twice.
func TestB213_StopDuringALongTurn(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ gateway: { shutdownGraceSeconds: 30 } }`, `
  {when: {user: "/^work$/"}, call: [{tool: "sessions_spawn", args: {task: "part", label: "part", expectsCompletionMessage: false}}]},
  {when: {lastTool: "sessions_spawn"}, delay: "6m", say: "worked"},`)
	s.say("team", "work")
	s.pass(time.Minute)
	began := s.clock.Now()
	s.stop()
	require.LessOrEqual(t, s.clock.Now().Sub(began), 30*time.Second)
	require.Empty(t, s.told("team"))
	s.start()
	s.pass(10 * time.Minute)
	require.Equal(t, []string{"worked"}, s.told("team"))
	require.Len(t, s.runs(), 1, "the finished call was not repeated")
}

// TestB213_StopWaitsForAShortTurn: a turn that ends within the grace is finished
// and answered before the stop; it is not run again.
func TestB213_StopWaitsForAShortTurn(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `{when: {user: "/^think$/"}, delay: "10s", say: "thought"},`)
	s.say("team", "think")
	s.stop()
	require.Equal(t, []string{"thought"}, s.told("team"))
	s.start()
	s.pass(time.Minute)
	require.Len(t, s.told("team"), 1)
	require.Len(t, s.requests.list(""), 1)
}

// TestB217_StopsAmongSenders: people write while the runtime stops, again and
// again; nothing panics, and every message is answered in the end.
func TestB217_StopsAmongSenders(t *testing.T) {
	t.Parallel()
	const people, each = 4, 10
	h := newHome(t, `{rules: []}`)
	settings := strings.Replace(baseConfig, "commands:", `messages: { queue: { mode: "collect", cap: 1000, debounceMs: 0 } }, commands:`, 1)
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "skein.json5"), []byte(settings), 0o600))
	h.start()
	var wg sync.WaitGroup
	for p := range people {
		wg.Go(func() {
			for i := range each {
				h.say("main", "", fmt.Sprintf("%d-%d.", p, i))
			}
		})
	}
	sent := make(chan struct{})
	go func() {
		wg.Wait()
		close(sent)
	}()
	for busy := true; busy; {
		select {
		case <-sent:
			busy = false
		default:
		}
		h.stop()
		h.start()
	}
	defer h.stop()
	h.say("main", "", "the end")
	h.expect("main", "the end")
	heard := make(map[string]int)
	require.NoError(t, h.app.DB().Read(t.Context(), func(tx *store.Tx) error {
		all, err := tx.SessionsByPrefix("agent:main", 10)
		require.NoError(t, err)
		require.Len(t, all, 1)
		rows, err := tx.Transcript(all[0])
		for _, r := range rows {
			if item, err := model.DecodeItem(r.Body); err == nil && item.Kind == model.User {
				heard[item.Text]++
			}
		}
		return err
	}))
	require.Len(t, heard, people*each+1)
	for text, n := range heard {
		require.Equal(t, 1, n, text)
	}
}
