package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// helperRules make a chat spawn a helper in a thread, and let everybody say who
// heard what.
const helperRules = `
  {when: {user: "/^help$/"}, call: [{tool: "sessions_spawn", args: {task: "be there", label: "helper", thread: true}}]},
  {when: {lastTool: "sessions_spawn"}, say: "sent"},
  {when: {event: "/./"}, say: "NO_REPLY"},
  {when: {task: "/helper/", user: "/be there/"}, say: "ready"},
  {when: {task: "/helper/", user: "/^work$/"}, delay: "2h", say: "worked"},
  {when: {task: "/helper/", user: "/(.*)/"}, say: "helper: $1"},
  {when: {user: "/(.*)/"}, say: "agent: $1"},`

// bindings returns the records of bindings, the newest first.
func (s *scene) bindings(ended bool) (out []core.Binding) {
	s.Helper()
	s.read(func(tx *store.Tx) (err error) {
		out, err = tx.ListBindings(ended, 100)
		return err
	})
	return out
}

func idleHours(idle, maxAge float64) string {
	return fmt.Sprintf(`{ session: { threadBindings: { idleHours: %g, maxAgeHours: %g, defaultSpawnContext: "isolated" } } }`, idle, maxAge)
}

// TestExpiry: a binding ends at its deadline to the millisecond, for the right
// reason, whatever the deadline comes from.
func TestExpiry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		settings string
		// then is what happens in the thread after the spawn.
		then   func(s *scene, thread string)
		at     time.Duration // of the end, from the spawn; 0 is never
		reason core.EndReason
	}{
		{name: "idle", settings: idleHours(1, 0), at: time.Hour, reason: core.EndIdle},
		{name: "max-age", settings: idleHours(0, 2), at: 2 * time.Hour, reason: core.EndMaxAge},
		{name: "both, idle first", settings: idleHours(1, 2), at: time.Hour, reason: core.EndIdle},
		{name: "both, max-age first", settings: idleHours(3, 2), at: 2 * time.Hour, reason: core.EndMaxAge},
		{name: "tie", settings: idleHours(2, 2), at: 2 * time.Hour, reason: core.EndIdle},
		{name: "none", settings: idleHours(0, 0)},
		{name: "a message moves idle, not max-age", settings: idleHours(1, 1.5), at: 90 * time.Minute, reason: core.EndMaxAge,
			then: func(s *scene, thread string) {
				s.pass(50 * time.Minute)
				s.say(thread, "hello")
			}},
		{name: "own limit", settings: idleHours(1, 0), at: 3 * time.Hour, reason: core.EndIdle,
			then: func(s *scene, thread string) { s.say(thread, "/session idle 3h") }},
		{name: "own max-age", settings: idleHours(1, 0), at: 30 * time.Minute, reason: core.EndMaxAge,
			then: func(s *scene, thread string) { s.say(thread, "/session max-age 30m") }},
		{name: "own off", settings: idleHours(1, 0), then: func(s *scene, thread string) { s.say(thread, "/session idle off") }},
		{name: "reload", settings: idleHours(10, 0), at: time.Hour, reason: core.EndIdle,
			then: func(s *scene, _ string) { s.reload(idleHours(1, 0)) }},
		{name: "reload does not touch an own limit", settings: idleHours(10, 0), at: 5 * time.Hour, reason: core.EndIdle,
			then: func(s *scene, thread string) {
				s.say(thread, "/session idle 5h")
				s.reload(idleHours(1, 0))
			}},
		{name: "restart", settings: idleHours(2, 0), at: 2 * time.Hour, reason: core.EndIdle,
			then: func(s *scene, _ string) { s.crash(time.Hour) }},
		{name: "a turn of two hours", settings: idleHours(1, 0), at: 3 * time.Hour, reason: core.EndIdle,
			then: func(s *scene, thread string) { s.say(thread, "work") }},
		{name: "max-age during a turn", settings: idleHours(0, 1), at: time.Hour, reason: core.EndMaxAge,
			then: func(s *scene, thread string) { s.say(thread, "work") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, c.settings, helperRules)
			s.say("team", "help")
			thread, born := s.thread("team"), s.clock.Now()
			require.Contains(t, s.told(thread), "ready")
			if c.then != nil {
				c.then(s, thread)
			}
			if c.at == 0 {
				s.pass(1000 * time.Hour)
				s.say(thread, "still there?")
				require.Equal(t, "helper: still there?", last(s.told(thread)))
				return
			}
			s.pass(born.Add(c.at - time.Millisecond).Sub(s.clock.Now()))
			require.Len(t, s.bindings(false), 1, "one millisecond before")
			told := len(s.told(thread))
			s.pass(time.Millisecond)
			require.Empty(t, s.bindings(false))
			require.Equal(t, c.reason, s.bindings(true)[0].Reason)
			require.Equal(t, core.ToMillis(born.Add(c.at)), s.bindings(true)[0].EndedAt)
			require.Len(t, s.told(thread), told+1, "the farewell")
			s.say(thread, "anybody?")
			require.Equal(t, "agent: anybody?", last(s.told(thread)))
		})
	}
}

// TestNoLateMessageReachesTheChild: after a downtime more bindings are over
// than are ended at once, so that for some no timer has run; a message one
// millisecond after the deadline reaches the child in none of them.
func TestNoLateMessageReachesTheChild(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		late time.Duration
		who  string
	}{
		"one millisecond before": {-time.Millisecond, "helper"},
		"one millisecond after":  {time.Millisecond, "agent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, idleHours(1, 0), helperRules)
			s.say("team", "help")
			for range 14 {
				s.say("team", "/focus helper")
			}
			var places []string
			for _, b := range s.bindings(false) {
				places = append(places, "team/"+b.Address.Thread)
			}
			require.Len(t, places, 15)
			s.kill()
			s.clock.AdvanceTo(s.clock.Now().Add(time.Hour + c.late))
			for i, place := range places {
				s.says("alice", place, fmt.Sprintf("late %d", i))
			}
			s.start()
			require.Empty(t, s.server.Hub().Pending("default"), "all are taken in before time goes on")
			s.pass(time.Minute)
			for i, place := range places {
				require.Contains(t, s.told(place), fmt.Sprintf("%s: late %d", c.who, i))
			}
		})
	}
}
