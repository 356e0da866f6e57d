package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNewChoosesTheModel: /new <model> is what the session's turns ask and
// /status shows, until the next /new; a run keeps the model of its spawn, and
// where people write to it later, so do they.
func TestNewChoosesTheModel(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ agents: { defaults: { subagents: { model: "demo/small" } } } }`, `
  {when: {user: "/^send (\\w+)$/"}, call: [{tool: "sessions_spawn", args: {task: "do $1", label: "$1", thread: true}}]},
  {when: {lastTool: "sessions_spawn"}, say: "sent"},`)
	asked := func(label string) string { return s.last(label).Model }
	status := func(place string) string {
		s.say(place, "/status")
		return last(s.told(place))
	}
	s.say("team", "hello")
	require.Equal(t, "m", asked(""))

	s.say("team", "/new demo/large")
	require.Contains(t, status("team"), "Model: demo/large")
	s.say("team", "hello")
	require.Equal(t, "large", asked(""))
	s.crash(time.Second)
	s.say("team", "hello")
	require.Equal(t, "large", asked(""))

	s.say("team", "send scout")
	s.pass(time.Minute)
	require.Equal(t, "small", asked("scout"), "a run has the model of its spawn")
	thread := s.thread("team")
	s.say(thread, "hello")
	require.Equal(t, "small", asked("scout"))
	require.Contains(t, status(thread), "Model: demo/small")
	s.say(thread, "/new demo/large")
	require.Contains(t, status(thread), "Model: demo/large")
	s.say(thread, "hello")
	require.Equal(t, "large", asked("scout"))

	s.say("team", "/new")
	s.say("team", "hello")
	require.Equal(t, "m", asked(""))
}
