package app_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

// waitRules have a sub-agent that starts two others and waits for a message
// instead of them.
const waitRules = `
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "lead", label: "lead", thread: true, mode: "run"}}, {tool: "sessions_yield"}]},
  {when: {task: "/^one$/"}, delay: "2m", say: "first bone"}, {when: {task: "/^two$/"}, delay: "1m", say: "second bone"},
  {when: {task: "/^lead$/", event: "/bone/"}, say: "Bones came."},
  {when: {task: "/^lead$/", user: "/lead/"}, call: [
    {tool: "sessions_spawn", args: {task: "dig one", label: "one"}}, {tool: "sessions_spawn", args: {task: "dig two", label: "two"}},
    {tool: "sessions_yield", args: {waitFor: "message", message: "ask for the colour", deadlineSeconds: 3600}}]},
  {when: {event: "/: (.*)/"}, say: "told: $1"},`

// TestYieldForAMessageInsteadOfChildren: what children come to does not wake a run
// that waits for a message; it comes with that message, or at the deadline, in
// the order of the spawns; and it is never lost.
func TestYieldForAMessageInsteadOfChildren(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end     func(s *scene)
		message bool
	}{
		"steered":               {func(s *scene) { s.say("team", "/subagents steer lead teal") }, true},
		"written in its thread": {func(s *scene) { s.say(s.thread("team"), "teal") }, true},
		"killed, then steered": {func(s *scene) {
			s.crash(time.Minute)
			s.say("team", "/subagents steer lead teal")
		}, true},
		"deadline": {func(s *scene) { s.pass(time.Hour) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, `{ agents: { defaults: { subagents: { maxSpawnDepth: 2 } } } }`, waitRules)
			s.say("team", "go")
			s.pass(30 * time.Minute)
			for _, label := range []string{"one", "two"} {
				require.Equal(t, core.RunOK, s.run(label).Status)
				require.Equal(t, core.DeliverySessionQueued, s.run(label).Delivery)
			}
			require.Equal(t, core.RunWaiting, s.run("lead").Status)
			require.Len(t, s.requests.list("lead"), 1, "nothing has woken it")
			c.end(s)
			s.pass(2 * time.Hour)
			require.Equal(t, core.RunOK, s.run("lead").Status)
			require.Equal(t, "Bones came.", s.run("lead").Result)
			require.Len(t, s.requests.list("lead"), 2, "one turn has it all")
			final := s.last("lead")
			require.Equal(t, c.message, slices.Contains(texts(final, model.User), "teal"))
			came := events(final)
			require.Len(t, came, 2)
			require.Equal(t, []string{"first bone", "second bone"}, []string{came[0].Result, came[1].Result})
			require.NotEmpty(t, texts(final, model.Note), "its own, and that of the deadline")
			for _, label := range []string{"one", "two"} {
				require.Equal(t, core.DeliveryDelivered, s.run(label).Delivery)
			}
		})
	}
}

// TestYieldForAMessageInAChat: a person always learns an outcome, so in a chat a
// child's end has a turn of its own; the wait stays armed, with its note, for the
// message.
func TestYieldForAMessageInAChat(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "rex"}},
    {tool: "sessions_yield", args: {waitFor: "message", message: "it was about the colour", acknowledgment: "Which colour?"}}]},
  {when: {task: "/rex/"}, delay: "1m", say: "a bone"}, {when: {event: "/bone/"}, say: "A bone was found."}, {when: {user: "/teal/"}, say: "Teal it is."},`)
	s.say("team", "go")
	s.pass(30 * time.Minute)
	require.Equal(t, []string{"Which colour?", "A bone was found."}, s.told("team"))
	require.Empty(t, texts(s.last(""), model.Note), "this is not what it waits for")
	require.Equal(t, core.DeliveryDelivered, s.run("rex").Delivery)
	s.crash(time.Minute)
	s.say("team", "teal")
	require.Equal(t, "Teal it is.", last(s.told("team")))
	require.Contains(t, last(texts(s.last(""), model.Note)), "it was about the colour")
}
