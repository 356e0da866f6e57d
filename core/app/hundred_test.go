package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

// TestAHundredChildren: eight run at a time, the others in the order of their
// spawns, second by second; what a person writes in the thread of a sub-agent is
// answered meanwhile as if nobody else were there.
func TestAHundredChildren(t *testing.T) {
	t.Parallel()
	const chats, each, slots = 5, 20, 8
	calls := strings.Repeat(`{tool: "sessions_spawn", args: {task: "sleep"}},`, each)
	s := newScene(t, `{ agents: { defaults: { subagents: { maxChildrenPerAgent: 20, maxTreeRuns: 0 } } } }`, `
  {when: {user: "/^all$/"}, call: [`+calls+`{tool: "sessions_yield"}]},
  {when: {user: "/^guide$/"}, call: [{tool: "sessions_spawn", args: {task: "guide", label: "guide", thread: true, mode: "session"}}]},
  {when: {task: "/^guide$/", user: "/guide/"}, say: "I am here."},
  {when: {task: "/^guide$/"}, delay: "100ms", say: "this way"},
  {when: {task: "/^sleep$/"}, delay: "1s", say: "slept"}, {when: {event: "/./"}, say: "NO_REPLY"},`)
	s.say("main", "guide")
	s.pass(time.Minute)
	thread := s.thread("main")
	began := s.world.Now()
	for i := range chats {
		s.say(fmt.Sprint("team", i), "all")
	}
	s.pass(2500 * time.Millisecond) // in the middle of the third eight
	asked := len(s.told(thread))
	s.say(thread, "where to?")
	s.pass(100 * time.Millisecond)
	require.Equal(t, []string{"this way"}, s.told(thread)[asked:])

	s.pass(time.Minute)
	n := 0
	for _, r := range s.runs() {
		if r.Label == "guide" {
			continue
		}
		require.Equal(t, core.RunOK, r.Status)
		require.EqualValues(t, 1000*(n/slots), r.StartedAt-began, "the start of child %d", n)
		n++
	}
	require.Equal(t, chats*each, n)
}
