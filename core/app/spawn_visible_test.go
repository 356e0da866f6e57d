package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

const visibleRules = `
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "plan", label: "plan b", visible: true, group: "work"}}]},
  {when: {task: "/plan b/", user: "/^what next/"}, say: "next comes c"},
  {when: {task: "/plan b/"}, delay: "10s", say: "planned"}, {when: {event: "/planned/"}, say: "The plan is made."},` + sayResult

// TestVisibleSession: it is listed with its group, tells its result, answers
// people who focus it, and is not archived.
func TestVisibleSession(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", visibleRules)
	s.say("team", "go")
	got := s.result("team")
	require.Equal(t, "accepted", got["status"])
	require.Equal(t, "session", got["mode"])
	require.Regexp(t, `^agent:main:dashboard:[0-9a-f-]{36}$`, got["childSessionKey"])
	require.Contains(t, got["note"], "/focus plan b leads to it")
	s.pass(time.Minute)
	require.Equal(t, "The plan is made.", last(s.told("team")))

	s.pass(100 * time.Hour)
	key := fmt.Sprint(got["childSessionKey"])
	require.Zero(t, s.session(key).ArchivedAt)
	s.read(func(tx *store.Tx) error {
		list, err := app.Views{Config: s.app.Config(), Now: s.world.Now()}.Sessions(tx, false, 10)
		require.NotEmpty(t, list)
		var found app.SessionView
		for _, x := range list {
			if x.Key == key {
				found = x
			}
		}
		require.Equal(t, core.SessionDashboard, found.Kind)
		require.Equal(t, "work", found.Group)
		require.Equal(t, "plan b", found.Title)
		return err
	})
	s.say("team", "/focus plan b")
	place := s.thread("team")
	s.say(place, "what next?")
	require.Equal(t, "next comes c", last(s.told(place)))
	require.Contains(t, s.last("plan b").System, "You are a sub-agent")
	require.NotContains(t, toolNames(s.last("plan b")), "sessions_spawn", "it is a leaf")
	s.pass(25 * time.Hour)
	require.Contains(t, last(s.told(place)), "/focus plan b resumes it.", "it is not archived, so there is no time limit")
}

// TestVisibleSessionCounts: it takes a place like every other child, and a kill
// during its spawn leaves one or none.
func TestVisibleSessionCounts(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{agents: {defaults: {subagents: {maxChildrenPerAgent: 1}}}}`, visibleRules)
	s.world.Arm(world.SpawnAfterCommit, 1, world.TrapCut, nil)
	s.say("team", "go")
	s.crash(time.Second)
	require.Len(t, s.runs(), 1)
	s.say("team", "go")
	require.Equal(t, "children_limit", s.result("team")["code"])
	s.pass(time.Minute)
	require.Len(t, s.runs(), 1)
}

// TestVisibleSessionOfAChild: a sub-agent whose tools a sender's policy fixed
// starts none; one without such a list does.
func TestVisibleSessionOfAChild(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.Replace(senderSettings, `deny: ["sessions_yield"]`, `allow: ["sessions_spawn"]`, 1), `
  {when: {user: "/^send (\\w+)$/"}, call: [{tool: "sessions_spawn", args: {task: "show", label: "$1"}}]},
  {when: {task: "/./", user: "/show/"}, call: [{tool: "sessions_spawn", args: {task: "x", label: "shown", visible: true}}]},
  {when: {task: "/./", lastTool: "sessions_spawn", result: "/(visible_inherited|accepted)/"}, say: "$1"},`+sayResult)
	s.says("bob", "team", "send bobs")
	s.pass(time.Minute)
	require.Equal(t, "visible_inherited", s.run("bobs").Result)
	require.Len(t, s.runs(), 1)
	s.say("team", "send free")
	s.pass(time.Minute)
	require.Equal(t, core.SessionDashboard, s.session(s.run("shown").SessionKey).Kind)
}

// TestVisibleFork: a visible session may begin with the conversation of the same
// agent.
func TestVisibleFork(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{agents: {defaults: {subagents: {allowAgents: ["*"]}}, entries: {main: {default: true}, other: {}}}}`,
		spawnRule("fork", `{task: "x", label: "fork", visible: true, context: "fork"}`)+
			spawnRule("other", `{task: "x", label: "other", visible: true, context: "fork", agentId: "other"}`)+sayResult)
	s.say("team", "the colour is teal")
	s.say("team", "go fork")
	require.Equal(t, "fork", s.result("team")["context"])
	require.Contains(t, texts(s.last("fork"), "user"), "the colour is teal")
	s.say("team", "go other")
	require.Equal(t, "bad_params", s.result("team")["code"])
	require.Contains(t, s.result("team")["error"], "same agent only")
}
