package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

// An outcome that one turn takes and a later one of its chain tells: the first
// waits before it says anything. That the outcome is another chain's, or a
// sub-agent's whose requester is gone, makes no difference, and neither does what
// wakes the chain. Nobody is left without it, and none is told twice.
func TestOutcomesTakenBeforeAWaitAreTold(t *testing.T) {
	t.Parallel()
	const taken = `
  {when: {user: "/^first$/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "cats"}}]},
  {when: {user: "/^second$/"}, delay: "10s", call: [{tool: "sessions_list"}]},
  {when: {task: "/cats/"}, delay: "10s", say: "cats sleep"}, {when: {task: "/dogs/"}, delay: "30s", say: "dogs bark"},
  {when: {lastTool: "sessions_spawn"}, say: "sent"},`
	for name, c := range map[string]struct {
		rules string
		want  []string
		cats  core.Delivery
	}{
		"told with the others": {
			`{when: {event: "/cats sleep/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "dogs"}}, {tool: "sessions_yield"}]},
			 {when: {event: "/dogs bark/"}, say: "cats sleep, dogs bark"},`,
			[]string{"cats sleep, dogs bark"}, core.DeliveryDelivered,
		},
		"the turn that was to tell fails": {
			`{when: {event: "/cats sleep/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "dogs"}}, {tool: "sessions_yield"}]},
			 {when: {event: "/dogs bark/"}, fail: "overflow"},`,
			[]string{"dogs is done.\n\ndogs bark", "cats is done.\n\ncats sleep"}, core.DeliveryDelivered,
		},
		"it says nothing": {
			`{when: {event: "/cats sleep/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "dogs"}}, {tool: "sessions_yield"}]},
			 {when: {event: "/dogs bark/"}, say: ""},`,
			[]string{"dogs is done.\n\ndogs bark", "cats is done.\n\ncats sleep"}, core.DeliveryDelivered,
		},
		"it chooses silence": {
			`{when: {event: "/cats sleep/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "dogs"}}, {tool: "sessions_yield"}]},
			 {when: {event: "/dogs bark/"}, say: "NO_REPLY"},`,
			nil, core.DeliveryNotRequired,
		},
		"a deadline wakes it": {
			`{when: {event: "/cats sleep/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "dogs"}}, {tool: "sessions_yield", args: {deadlineSeconds: 5}}]},
			 {when: {event: "/dogs bark/"}, say: "dogs bark"}, {when: {result: "/yielded/"}, say: ""},`,
			[]string{"cats is done.\n\ncats sleep", "dogs bark"}, core.DeliveryDelivered,
		},
		"a message wakes it": {
			`{when: {event: "/cats sleep/"}, call: [{tool: "sessions_yield", args: {waitFor: "message"}}]}, {when: {user: "/third/"}, say: "cats sleep"},`,
			[]string{"cats sleep"}, core.DeliveryDelivered,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "", taken+c.rules)
			s.say("team", "first")
			s.pass(5 * time.Second)
			s.say("team", "second")
			s.pass(11 * time.Second)
			require.Equal(t, core.DeliverySessionQueued, s.run("cats").Delivery, "it is taken")
			if name == "a message wakes it" {
				s.say("team", "third")
			}
			s.pass(time.Minute)
			var told []string
			for _, text := range s.told("team") {
				if text != "sent" {
					told = append(told, text)
				}
			}
			require.Equal(t, c.want, told)
			require.Equal(t, c.cats, s.run("cats").Delivery)
			s.pass(time.Hour)
			found, _ := s.audited("")
			require.Empty(t, found, "nothing is left on its way")
			s.stop()
		})
	}
}

// What a stop ends is told to nobody: an outcome on its way to the session too
// whose requester was gone, whether it lies in the inbox, was taken by the turn in
// progress or by one that waits.
func TestAStopSettlesWhatWasHandedUp(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]string{
		"in the inbox":            `{when: {user: "/^think$/"}, delay: "60s", say: "thought"},`,
		"taken by the turn":       `{when: {user: "/^think$/"}, delay: "20s", call: [{tool: "sessions_list"}]}, {when: {event: "/bones/"}, delay: "60s", say: "bones"},`,
		"taken by one that waits": `{when: {user: "/^think$/"}, delay: "20s", call: [{tool: "sessions_list"}]}, {when: {event: "/bones/"}, call: [{tool: "sessions_yield", args: {waitFor: "message"}}]},`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, `{ agents: { defaults: { subagents: { maxSpawnDepth: 2 } } } }`, fmt.Sprintf(`
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "lead", label: "lead", runTimeoutSeconds: 5}}]},
  {when: {task: "/lead/", user: "/lead/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "rex"}}, {tool: "sessions_yield"}]},
  {when: {task: "/rex/"}, delay: "25s", say: "bones"}, %s
  {when: {lastTool: "sessions_spawn"}, say: "NO_REPLY"}, {when: {event: "/timeout/"}, say: "NO_REPLY"},`, busy))
			s.say("team", "go")
			s.pass(10 * time.Second)
			s.say("team", "think")
			s.pass(25 * time.Second)
			require.Equal(t, core.RunOK, s.run("rex").Status)
			require.Equal(t, core.DeliverySessionQueued, s.run("rex").Delivery)
			s.say("team", "/stop")
			s.pass(time.Hour)
			require.Equal(t, core.DeliveryNotRequired, s.run("rex").Delivery)
			require.NotContains(t, fmt.Sprint(s.told("team")), "bones")
			s.stop()
		})
	}
}
