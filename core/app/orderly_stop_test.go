package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

// lie stops the runtime in good order and starts it again later.
func (s *scene) lie(downtime time.Duration) {
	s.Helper()
	s.stop()
	s.clock.AdvanceTo(s.clock.Now().Add(downtime))
	s.start()
}

// TestOrderlyStopAgesNothing: what a graceful stop put down goes on at the next
// start, however long that takes and however often it comes; its age counts from
// there, for a crash that follows.
func TestOrderlyStopAgesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after func(s *scene)
		want  core.RunStatus
	}{
		"stopped":                       {func(s *scene) { s.lie(72 * time.Hour) }, core.RunOK},
		"stopped, then killed":          {func(s *scene) { s.lie(72 * time.Hour); s.crash(time.Minute) }, core.RunOK},
		"stopped, then killed for long": {func(s *scene) { s.lie(72 * time.Hour); s.crash(3 * time.Hour) }, core.RunInterrupted},
		"killed, then stopped":          {func(s *scene) { s.crash(time.Minute); s.lie(72 * time.Hour) }, core.RunOK},
		"killed for long":               {func(s *scene) { s.crash(3 * time.Hour) }, core.RunInterrupted},
		"stopped again and again": {func(s *scene) {
			for range 8 { // more than attempts, and than resumes within two minutes
				s.lie(time.Second)
			}
		}, core.RunOK},
		"killed again and again": {func(s *scene) {
			for range 3 {
				s.crash(time.Second)
			}
		}, core.RunInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, `{ gateway: { shutdownGraceSeconds: 1 } }`, spawnRules+`
  {when: {task: "/cats/"}, delay: "60s", say: "Cats sleep."}, {when: {event: "/ended (\\w+)/"}, say: "told: $1"},`)
			s.say("team", "send cats")
			s.pass(10 * time.Second)
			require.Equal(t, core.RunRunning, s.run("cats").Status)
			c.after(s)
			s.pass(time.Hour)
			require.Equal(t, []string{"sent", "told: " + string(c.want)}, s.told("team"))
			require.Equal(t, core.DeliveryDelivered, s.run("cats").Delivery)
		})
	}
}

// TestOrderlyStopIsNoAttempt: a turn that is to tell of an outcome is given up
// after three crashes; stops in good order are none.
func TestOrderlyStopIsNoAttempt(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ gateway: { shutdownGraceSeconds: 1 } }`, spawnRules+`
  {when: {task: "/cats/"}, say: "Cats sleep."}, {when: {event: "/ended (\\w+)/"}, delay: "60s", say: "told: $1"},`)
	s.say("team", "send cats")
	s.pass(time.Second)
	require.Equal(t, core.RunOK, s.run("cats").Status)
	for range 8 {
		s.lie(time.Hour)
	}
	s.pass(time.Hour)
	require.Equal(t, []string{"sent", "told: ok"}, s.told("team"))
}

// TestOldRunThatWaits: a run may wait for its children for as long as they need;
// what a crash interrupts is the turn that it was woken for.
func TestOldRunThatWaits(t *testing.T) {
	t.Parallel()
	for name, interrupt := range map[string]func(s *scene){
		"killed":  func(s *scene) { s.crash(time.Minute) },
		"stopped": func(s *scene) { s.lie(72 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, `{ gateway: { shutdownGraceSeconds: 1 }, agents: { defaults: { subagents: { maxSpawnDepth: 2 } } } }`, spawnRules+`
  {when: {task: "/^boss$/", user: "/do boss/"}, call: [{tool: "sessions_spawn", args: {task: "do sloth", label: "sloth"}}, {tool: "sessions_yield"}]},
  {when: {task: "/sloth/", user: "/Subagent Task/", lastTool: ""}, call: [{tool: "sessions_yield", args: {waitFor: "message", deadlineSeconds: 18000}}]},
  {when: {task: "/sloth/", user: "/./"}, say: "Slowly."},
  {when: {task: "/^boss$/", event: "/./"}, delay: "60s", say: "It took long."},
  {when: {event: "/ended (\\w+)/"}, say: "told: $1"},`)
			s.say("team", "send boss")
			s.pass(3 * time.Hour)
			require.Equal(t, core.RunWaiting, s.run("boss").Status)
			s.crash(time.Minute) // while it waits
			for s.run("sloth").Status.Live() {
				s.pass(10 * time.Second)
			}
			require.Equal(t, core.RunRunning, s.run("boss").Status)
			interrupt(s) // in the turn that tells
			s.pass(time.Hour)
			require.Equal(t, core.RunOK, s.run("boss").Status)
			require.Equal(t, []string{"sent", "told: ok"}, s.told("team"))
		})
	}
}
