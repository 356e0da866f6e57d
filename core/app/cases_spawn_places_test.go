package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// final is the newest answer on its way out or sent.
func (s *scene) final() (out store.Outbox) {
	s.Helper()
	s.read(func(tx *store.Tx) error {
		rows, err := tx.ListOutbox("", 50)
		for _, r := range rows {
			if r.Kind == store.OutFinal {
				out = r
				return nil
			}
		}
		return err
	})
	return out
}

// TestB013_B031_ResultsGoToTheThreadThatAsked: what a spawn in a thread brings
// back is answered there, as a reply to the message that asked.
func TestB013_B031_ResultsGoToTheThreadThatAsked(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRules+`
  {when: {task: "/it/"}, delay: "5s", say: "found"}, {when: {event: "/found/"}, say: "It was found."},`)
	place := s.topic("team", "search")
	ref := s.says("alice", place, "send it")
	s.pass(time.Minute)
	require.Equal(t, "It was found.", last(s.told(place)))
	require.Empty(t, s.told("team"))
	out := s.final()
	require.Equal(t, at(place).Thread, out.Address.Thread)
	require.Equal(t, ref.ID, out.Anchor)
	require.Equal(t, at(place).Thread, s.run("it").Origin.Thread)
	require.Equal(t, ref.ID, s.run("it").Anchor)
}

// TestB033_AWakeKnowsWhereItWasAsked: the turn that a child's end starts, after a
// wait and a restart, speaks in the thread where the spawn was.
func TestB033_AWakeKnowsWhereItWasAsked(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRules+`
  {when: {task: "/it/"}, delay: "1m", say: "found"}, {when: {event: "/found/"}, say: "It was found."},`)
	place := s.topic("team", "search")
	s.say(place, "wait for it")
	s.crash(time.Second)
	s.say("team", "hello")
	s.pass(2 * time.Minute)
	require.Equal(t, "It was found.", last(s.told(place)))
	require.NotContains(t, s.told("team"), "It was found.")
	require.Equal(t, at(place).Thread, s.final().Address.Thread)
}

// TestB035_ATargetOfItsOwnIsRefused: a spawn says no target of its own, in any
// spelling; what it does not know it does not ignore.
func TestB035_ATargetOfItsOwnIsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRule("deliver", `{task: "x", deliver: {channel: "console", to: "elsewhere"}}`)+
		spawnRule("channel", `{task: "x", channel: "console"}`)+spawnRule("thread", `{task: "x", thread_id: "t1"}`)+
		spawnRule("runtime", `{task: "x", runtime: "acp"}`)+sayResult)
	for name, code := range map[string]string{"deliver": "delivery_param", "channel": "delivery_param", "thread": "delivery_param", "runtime": "bad_params"} {
		s.say("team", "go "+name)
		require.Equal(t, code, s.result("team")["code"], name)
	}
	require.Empty(t, s.runs())
	require.Empty(t, s.told("elsewhere"))
}

// TestB177_TheDefaultAgentIsTheOneThatSaysSo: another agent in the configuration
// does not become the one that answers.
func TestB177_TheDefaultAgentIsTheOneThatSaysSo(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ agents: { entries: { main: { default: true } } } }`, "")
	s.say("team", "hello")
	require.Equal(t, "main", s.last("").Agent)
	s.reload(`{ agents: { entries: { aaa: {}, main: { default: true }, zzz: {} } } }`)
	s.say("team", "hello again")
	require.Equal(t, "main", s.last("").Agent)
	require.Equal(t, "agent:main:console:default:group:team", core.GroupKey("main", core.Address{Channel: "console", Account: "default", Conversation: "team"}).String())
}
