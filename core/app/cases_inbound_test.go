package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// TestB225_AThreadStartsEmpty: a new thread under a busy conversation has a
// history of its own.
func TestB225_AThreadStartsEmpty(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", "")
	s.say("team", "we talk about cats")
	s.say("team", "and about dogs")
	s.say(s.topic("team", "birds"), "do birds sleep?")
	require.Equal(t, []string{"do birds sleep?"}, texts(s.last(""), model.User))
	require.Empty(t, texts(s.last(""), model.Assistant))
}

// TestB229_TheRuntimeDecidesKeys: with one shared scope every direct chat is
// the main session, whatever the client calls it.
func TestB229_TheRuntimeDecidesKeys(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ session: { dmScope: "main" } }`, "")
	s.says("alice", "dm:alice", "one")
	s.says("bob", "dm:bob", "two")
	s.says("local", "dm:local", "three")
	s.read(func(tx *store.Tx) error {
		all, err := tx.Sessions(false, 10)
		require.Len(t, all, 1)
		require.Equal(t, "agent:main:main", all[0].Key)
		return err
	})
	require.Equal(t, []string{"ok: two"}, s.told("dm:bob"), "each is answered where they wrote")
}

// TestB231_TwoConsolesInterleaved: two people write at the same time; each is
// answered in their own chat, from their own history.
func TestB231_TwoConsolesInterleaved(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `{when: {user: "/^slow (\\w+)$/"}, delay: "10s", say: "slow $1"},`)
	s.says("alice", "dm:alice", "slow alice")
	s.pass(2 * time.Second)
	s.says("bob", "dm:bob", "slow bob")
	s.pass(2 * time.Second)
	s.says("alice", "dm:alice", "quick alice")
	s.says("bob", "dm:bob", "quick bob")
	s.pass(time.Minute)
	for _, who := range []string{"alice", "bob"} {
		require.Equal(t, []string{"slow " + who, "ok: quick " + who}, s.told("dm:"+who))
	}
}

// asks is a tool that notes in which session it was called, in a goroutine of
// its own.
type asks struct{ scopes chan core.ToolScope }

func (asks) Spec() core.ToolSpec {
	return core.ToolSpec{Name: "ask", Description: "Asks.", Schema: json.RawMessage(`{"type":"object"}`), ReadOnly: true}
}

func (a asks) Invoke(_ context.Context, scope core.ToolScope, _ core.ToolCall) (core.ToolResult, error) {
	go func() { a.scopes <- scope }()
	return core.ToolResult{Text: "asked"}, nil
}

// TestB233_ToolsKnowTheirSession: a tool of a background child is told the
// child's session, from which the chain of requesters follows.
func TestB233_ToolsKnowTheirSession(t *testing.T) {
	t.Parallel()
	a := asks{make(chan core.ToolScope)}
	s := prepareScene(t, "", spawnRules+`
  {when: {task: "/it/", user: "/./"}, call: [{tool: "ask"}]}, {when: {task: "/it/"}, say: "done"}, {when: {event: "/./"}, say: "good"},`)
	s.options = func(o *app.Options) { o.Tools = []core.Tool{a} }
	s.start()
	s.say("team", "wait for it")
	scope, run := <-a.scopes, s.run("it")
	require.Equal(t, run.Session, scope.Session)
	require.Equal(t, run.ID, scope.Run)
	require.Equal(t, teamKey, run.RequesterID)
}

// TestB243_AnOverflowIsNamed: with room for three, two of five messages that
// come during a turn find no room; the person is told how many, and which.
func TestB243_AnOverflowIsNamed(t *testing.T) {
	t.Parallel()
	for overflow, c := range map[string]struct{ heard, not, named []string }{
		"summarize": {heard: []string{"1", "2", "3", "4", "5"}, named: []string{"1", "2"}}, // those in a list
		"old":       {heard: []string{"3", "4", "5"}, not: []string{"1", "2"}, named: []string{"1", "2"}},
		"new":       {heard: []string{"1", "2", "3"}, not: []string{"4", "5"}, named: []string{"4", "5"}},
	} {
		t.Run(overflow, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, `{ messages: { queue: { mode: "collect", cap: 3, overflow: "`+overflow+`" } } }`,
				`{when: {user: "/^think$/"}, delay: "10s", say: "thought"},`)
			s.say("team", "think")
			for _, n := range []string{"1", "2", "3", "4", "5"} {
				s.say("team", "message "+n)
			}
			s.pass(time.Minute)
			var notices []string
			for _, text := range s.told("team") {
				if text != "" && text[0] == '2' {
					notices = append(notices, text)
				}
			}
			require.Len(t, notices, 1)
			require.Regexp(t, "^2 messages [^\\n]*\n> message "+c.named[0]+"\n> message "+c.named[1]+"$", notices[0])
			prompt := ""
			for _, i := range s.last("").Items {
				prompt += i.Text + "\n"
			}
			for _, n := range c.heard {
				require.Contains(t, prompt, "message "+n)
			}
			for _, n := range c.not {
				require.NotContains(t, prompt, "message "+n)
			}
		})
	}
}

// fails is a tool that fails in every way a tool can.
type fails struct{ calls *atomic.Int64 }

func (fails) Spec() core.ToolSpec {
	return core.ToolSpec{Name: "fail", Description: "Fails.", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (f fails) Invoke(context.Context, core.ToolScope, core.ToolCall) (core.ToolResult, error) {
	if f.calls.Add(1)%2 == 0 {
		panic("a bug")
	}
	return core.ToolResult{}, errors.New("no luck")
}

// TestB251_AFailedToolFreesItsLane: after an error and after a panic of a tool
// the session is free, and the next message gets a whole answer.
func TestB251_AFailedToolFreesItsLane(t *testing.T) {
	t.Parallel()
	s := prepareScene(t, "", `{when: {user: "/^use it$/"}, call: [{tool: "fail"}, {tool: "fail"}]}, {when: {lastTool: "fail"}, fail: "overflow", call: [{tool: "fail"}]},`)
	s.options = func(o *app.Options) { o.Tools = []core.Tool{fails{new(atomic.Int64)}} }
	s.start()
	s.say("team", "use it")
	s.pass(time.Minute)
	require.False(t, s.session(teamKey).Ready)
	require.Zero(t, s.load().Turns)
	for _, text := range []string{"hello", "again"} {
		s.say("team", text)
		require.Equal(t, "ok: "+text, last(s.told("team")))
	}
}

// TestB253_CommandsThatAreRefused: a command of somebody who may not use it
// gets one line an hour, or by configuration none.
func TestB253_CommandsThatAreRefused(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]int{"refuse": 1, "silent": 0} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, `{ commands: { allowFrom: ["console:alice"], unauthorized: "`+setting+`" } }`, "")
			s.says("mallory", "team", "/new")
			s.says("mallory", "team", "/status")
			require.Len(t, s.told("team"), want)
			require.Empty(t, s.requests.list(""), "no model is asked")
			s.pass(time.Hour)
			s.says("mallory", "team", "/new")
			require.Len(t, s.told("team"), 2*want)
			s.say("team", "/status")
			require.Len(t, s.told("team"), 2*want+1)
		})
	}
	s := newScene(t, "", "")
	s.say("team", "/compact")
	require.Len(t, s.told("team"), 1, "an unknown command gets one line too")
	require.Empty(t, s.requests.list(""))
}

// TestB255_SteeringThatWasNotUsed: a message that came to steer a turn without
// a further boundary is an ordinary message afterwards, and is in the next
// prompt once, as what it is.
func TestB255_SteeringThatWasNotUsed(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ messages: { queue: { mode: "steer" } } }`, `{when: {user: "/^think$/"}, delay: "10s", say: "thought"},`)
	s.say("team", "think")
	s.pass(time.Second)
	s.say("team", "steer left")
	s.pass(time.Minute)
	require.Equal(t, []string{"thought", "ok: steer left"}, s.told("team"))
	s.say("team", "unrelated")
	require.Equal(t, "ok: unrelated", last(s.told("team")))
	require.Equal(t, []string{"think", "steer left", "unrelated"}, texts(s.last(""), model.User))
	require.Equal(t, []string{"thought", "ok: steer left"}, texts(s.last(""), model.Assistant))
}
