package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStatusSaysWhatIsWaitedFor: a conversation that waits is not idle. /status
// names what it waits for and until when, in each language, and no longer once
// that is over.
func TestStatusSaysWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]struct{ all, some, message, idle string }{
		"en": {
			"Now: waits for its sub-agents (Ann, Bob, Cid, …), until 2026-03-01 12:10:00 UTC\n", "Now: waits for 1 of its sub-agents (Ann, Cid)\n",
			"Now: waits for a message\n", "Now: idle\n",
		},
		"de": {
			"Jetzt: wartet auf seine Sub-Agenten (Ann, Bob, Cid, …), bis 01.03.2026, 12:10:00 UTC\n",
			"Jetzt: wartet auf 1 seiner Sub-Agenten (Ann, Cid)\n", "Jetzt: wartet auf eine Nachricht\n", "Jetzt: untätig\n",
		},
		"es": {
			"Ahora: espera a sus subagentes (Ann, Bob, Cid, …), hasta 01/03/2026 12:10:00 UTC\n",
			"Ahora: espera a 1 de sus subagentes (Ann, Cid)\n", "Ahora: espera un mensaje\n", "Ahora: inactivo\n",
		},
	} {
		t.Run(tag, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, inLanguage(tag), `
  {when: {user: "/^all$/"}, call: [
    {tool: "sessions_spawn", args: {task: "slow", label: "Ann"}}, {tool: "sessions_spawn", args: {task: "slow", label: "Bob"}},
    {tool: "sessions_spawn", args: {task: "slow", label: "Cid"}}, {tool: "sessions_spawn", args: {task: "slow", label: "Dan"}},
    {tool: "sessions_yield", args: {deadlineSeconds: 600}}]},
  {when: {user: "/^two$/"}, call: [
    {tool: "sessions_spawn", args: {task: "slow", label: "Ann"}}, {tool: "sessions_spawn", args: {task: "quick", label: "Bob"}},
    {tool: "sessions_spawn", args: {task: "slow", label: "Cid"}}, {tool: "sessions_yield", args: {join: 2}}]},
  {when: {user: "/^ask$/"}, call: [{tool: "sessions_yield", args: {waitFor: "message"}}]},
  {when: {user: "/slow/"}, delay: "2m", say: "done"}, {when: {user: "/quick/"}, delay: "5s", say: "done"},
  {when: {user: "/thanks/"}, say: "Good."}, {when: {event: "/./"}, say: "NO_REPLY"},`)
			status := func() string {
				s.say("team", "/status")
				return last(s.told("team"))
			}
			require.Contains(t, status(), want.idle)
			s.say("team", "all")
			require.Contains(t, status(), want.all)
			s.pass(3 * time.Minute)
			require.Contains(t, status(), want.idle)
			s.say("team", "two")
			s.pass(10 * time.Second)
			require.Contains(t, status(), want.some, "one has ended")
			s.pass(3 * time.Minute)
			s.say("team", "ask")
			require.Contains(t, status(), want.message)
			s.say("team", "thanks")
			require.Contains(t, status(), want.idle)
		})
	}
}
