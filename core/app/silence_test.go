package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// endings are the ways in which the sub-agent rex of a silence scene ends: each
// says a text at the end of its run, which the status does not depend on.
var endings = map[core.RunStatus]string{
	core.RunOK: `{when: {task: "/rex/"}, delay: "5s", say: %q},`,
	core.RunError: `
  {when: {task: "/rex/", user: "/./"}, delay: "5s", call: [{tool: "boom", args: {}}]},
  {when: {task: "/rex/"}, say: %q},`,
	core.RunTimeout: `
  {when: {task: "/rex/", user: "/./"}, delay: "5s", say: %q, call: [{tool: "boom", args: {}}]},
  {when: {task: "/rex/"}, delay: "1h", say: "too late"},`,
}

// silenceScene is a chat that sends rex, at "send" without waiting for it, at
// "wait" with, at "bound" into a thread, and answers what it hears of it so.
func silenceScene(t *testing.T, ends core.RunStatus, text, answer string) *scene {
	t.Helper()
	rex := `{tool: "sessions_spawn", args: {task: "dig", label: "rex", runTimeoutSeconds: 30}}`
	s := prepareScene(t, "", fmt.Sprintf(`
  {when: {user: "/^send$/"}, call: [%s]}, {when: {user: "/^wait$/"}, call: [%s, {tool: "sessions_yield"}]},
  {when: {user: "/^bound$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "rex", thread: true, mode: "run", runTimeoutSeconds: 30}}]},
  {when: {lastTool: "sessions_spawn"}, say: "NO_REPLY"},`, rex, rex)+
		fmt.Sprintf(endings[ends], text)+`{when: {event: "/./"}, `+answer+`},`)
	s.options = func(o *app.Options) { o.Tools = append(o.Tools, boom{}) }
	s.start()
	return s
}

// settled requires that rex has ended so and that nothing waits for it.
func (s *scene) settled(status core.RunStatus, delivery core.Delivery) {
	s.Helper()
	s.pass(time.Minute)
	s.pass(3 * time.Hour) // nothing comes later
	run := s.run("rex")
	require.Equal(s, status, run.Status, run.Detail)
	require.Equal(s, delivery, run.Delivery)
	require.Zero(s, s.load().Waits)
	s.read(func(tx *store.Tx) error {
		pending, err := tx.CompletionPending(run.Requester, run.ID)
		require.False(s, pending, "its event was not taken")
		return err
	})
}

// TestWhatASubagentKeepsToItself: a token of silence of one that ended well is
// its decision, whether or not its agent waits; anything else is told.
func TestWhatASubagentKeepsToItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ends   core.RunStatus
		text   string
		silent bool
		result string // what its agent is given
	}{
		{core.RunOK, "a bone", false, "a bone"},
		{core.RunOK, "", false, ""},
		{core.RunOK, "ANNOUNCE_SKIP", true, ""},
		{core.RunOK, " ANNOUNCE_SKIP\n", true, ""},
		{core.RunOK, "NO_REPLY", true, ""},
		{core.RunOK, "no_reply", true, ""},
		{core.RunOK, "No_Reply\n", true, ""},
		{core.RunOK, "announce_skip", false, "announce_skip"}, // only exactly so
		{core.RunOK, "I say NO_REPLY", false, "I say NO_REPLY"},
		{core.RunOK, "ANNOUNCE_SKIP.", false, "ANNOUNCE_SKIP."},
		{core.RunError, "a bone", false, "a bone"}, // its claim, as a part
		{core.RunError, "", false, ""},
		{core.RunError, "ANNOUNCE_SKIP", false, ""},
		{core.RunError, "no_reply", false, ""},
		{core.RunTimeout, "half a bone", false, "half a bone"},
		{core.RunTimeout, "", false, ""},
		{core.RunTimeout, "ANNOUNCE_SKIP", false, ""},
		{core.RunTimeout, "No_Reply", false, ""},
	} {
		for _, how := range []string{"send", "wait"} {
			t.Run(fmt.Sprintf("%s %q %s", c.ends, c.text, how), func(t *testing.T) {
				t.Parallel()
				s := silenceScene(t, c.ends, c.text, `say: "heard"`)
				s.say("team", how)
				before := len(s.requests.list(""))
				delivery, told, turns := core.DeliveryDelivered, []string{"heard"}, 1
				if c.silent {
					delivery = core.DeliveryNotRequired
					if how == "send" {
						told, turns = nil, 0
					}
				}
				s.settled(c.ends, delivery)
				require.Equal(t, told, s.told("team"))
				require.Len(t, s.requests.list(""), before+turns)
				if turns == 0 {
					return
				}
				got := events(s.last(""))
				require.Len(t, got, 1)
				require.Equal(t, []any{c.ends, c.result, c.ends != core.RunOK, c.silent}, []any{got[0].Status, got[0].Result, got[0].Partial, got[0].Told})
				require.Equal(t, c.silent, got[0].Untold == model.UntoldSilence)
			})
		}
	}
}

// requesterAnswers are what an agent may do with an outcome that it is given,
// and whether that is a decision, an answer, or neither.
var requesterAnswers = []struct {
	name, rule string
	told       string // "" for a decision to be silent
	notice     bool   // the runtime tells the outcome
}{
	{"text", `say: "heard"`, "heard", false},
	{"text with a token in it", `say: "heard. NO_REPLY"`, "heard. NO_REPLY", false},
	{"silence", `say: "NO_REPLY"`, "", false},
	{"silence in other letters", `say: " no_Reply\n"`, "", false},
	{"nothing", `say: ""`, "", true},
	{"blank", `say: " \n"`, "", true},
	{"only thoughts", `think: "hm", say: ""`, "", true},
	{"nothing that may be shown", `say: "<think>secret</think>"`, "", true},
	{"failure", `fail: "overflow", call: [{tool: "nothing", args: {}}]`, "", true},
}

// TestWhatAnAgentSaysOfAnOutcome: its answer is posted, its decision to be
// silent is kept, and in any other case the runtime tells people, once.
func TestWhatAnAgentSaysOfAnOutcome(t *testing.T) {
	t.Parallel()
	outcomes := []struct {
		ends         core.RunStatus
		text, notice string
	}{
		{core.RunOK, "a bone", "rex is done.\n\na bone"},
		{core.RunOK, "", "rex is done. It finished without output."},
		{core.RunError, "a bone", "rex failed: every tool call failed. What it had so far:\n\na bone"},
		{core.RunTimeout, "half a bone", "rex ran out of time: its time was over after 30s (runTimeoutSeconds). What it had so far:\n\nhalf a bone"},
		{core.RunTimeout, "", "rex ran out of time: its time was over after 30s (runTimeoutSeconds)."},
	}
	for _, c := range requesterAnswers {
		for i, o := range outcomes {
			for _, how := range []string{"send", "wait"}[:max(1, 2-i)] {
				t.Run(fmt.Sprintf("%s, %s %q, %s", c.name, o.ends, o.text, how), func(t *testing.T) {
					t.Parallel()
					s := silenceScene(t, o.ends, o.text, c.rule)
					s.say("team", how)
					var told []string
					delivery := core.DeliveryDelivered
					switch {
					case c.notice:
						told = []string{o.notice}
					case c.told != "":
						told = []string{c.told}
					default:
						delivery = core.DeliveryNotRequired
					}
					s.settled(o.ends, delivery)
					require.Equal(t, told, s.told("team"))
				})
			}
		}
	}
}

// TestABoundOutcomeIsToldInItsThread: there and only there, whatever its
// requester says of it, unless it is silent itself.
func TestABoundOutcomeIsToldInItsThread(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ends     core.RunStatus
		text     string
		delivery core.Delivery
		thread   string // "" for nothing
	}{
		{core.RunOK, "a bone", core.DeliveryDelivered, "a bone"},
		{core.RunOK, "", core.DeliveryDelivered, "rex is done. It finished without output."},
		{core.RunOK, "ANNOUNCE_SKIP", core.DeliveryNotRequired, ""},
		{core.RunOK, "no_reply", core.DeliveryNotRequired, ""},
		{core.RunError, "no_reply", core.DeliveryDelivered, "rex failed: every tool call failed."},
		{core.RunTimeout, "ANNOUNCE_SKIP", core.DeliveryDelivered, "rex ran out of time: its time was over after 30s (runTimeoutSeconds)."},
	} {
		for _, answer := range []string{`say: ""`, `say: "NO_REPLY"`, `fail: "overflow", call: [{tool: "nothing", args: {}}]`} {
			t.Run(fmt.Sprintf("%s %q %s", c.ends, c.text, answer), func(t *testing.T) {
				t.Parallel()
				s := silenceScene(t, c.ends, c.text, answer)
				s.say("team", "bound")
				thread := s.thread("team")
				s.settled(c.ends, c.delivery)
				if strings.HasPrefix(answer, "fail") && c.thread != "" {
					require.Len(t, s.told("team"), 1) // of the turn, not of the outcome
					require.Contains(t, s.told("team")[0], "This did not work")
				} else {
					require.Empty(t, s.told("team"))
				}
				outcomes := 0
				for _, text := range s.told(thread) {
					require.NotContains(t, text, "NO_REPLY")
					if text == c.thread {
						outcomes++
					}
				}
				if c.thread == "" {
					require.Len(t, s.told(thread), 2, "what begins and what ends the thread: %q", s.told(thread))
					return
				}
				require.Equal(t, 1, outcomes, "%q", s.told(thread))
			})
		}
	}
}

// TestAFailedTurnIsToldToWhoAsked: an outcome that came into the turn of a
// person's message does not stand for the answer to that.
func TestAFailedTurnIsToldToWhoAsked(t *testing.T) {
	t.Parallel()
	s := prepareScene(t, "", `
  {when: {user: "/^work$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "rex"}}]},
  {when: {lastTool: "sessions_spawn"}, delay: "20s", call: [{tool: "boom", args: {}}]},
  {when: {task: "/rex/"}, delay: "5s", say: "a bone"},
  {when: {event: "/rex/"}, fail: "overflow", call: [{tool: "nothing", args: {}}]},`)
	s.options = func(o *app.Options) { o.Tools = append(o.Tools, boom{}) }
	s.start()
	s.say("team", "work")
	s.settled(core.RunOK, core.DeliveryDelivered)
	require.Len(t, s.told("team"), 2)
	require.Equal(t, "rex is done.\n\na bone", s.told("team")[0])
	require.Contains(t, s.told("team")[1], "This did not work")
}
