package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// post makes the model post to an address when a person writes "post".
func post(to string) string {
	return onDemand("post", "message", fmt.Sprintf(`{to: %q, text: "news"}`, to))
}

// Where an agent may post of its own accord, and why not.
func TestMessageGoesWhereThePolicyAllows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, settings, to, code, why string }{
		{"the conversation of the turn", "", "console:default:team", "", ""},
		{"a thread of it", "", "console:default:team/t1", "", ""},
		{"another group", "", "console:default:side", "message_not_allowed", "group-not-listed (groups)"},
		{"people may write there, nobody named it", `groups: { "*": {} },`, "console:default:side", "message_not_allowed", "group-not-listed"},
		{"a group that is named", `groups: { side: {}, "*": {} },`, "console:default:side", "", ""},
		{"a thread of it", `groups: { side: {}, "*": {} },`, "console:default:side/t2", "", ""},
		{"a named group that is off", `groups: { side: { enabled: false }, "*": {} },`, "console:default:side", "message_not_allowed", `place-disabled (groups["side"].enabled)`},
		{"a direct chat of somebody", "", "console:default:dm:bob", "bad_address", ""},
		{"a direct chat of somebody", "", "console:default:dm%3Abob", "message_not_allowed", "sender-not-listed (allowFrom)"},
		{"a direct chat of somebody who is named", `allowFrom: ["bob", "*"],`, "console:default:dm%3Abob", "", ""},
		{"a direct chat of an owner", "", "console:default:dm%3Aalice", "", ""},
		{"an account that is not there", "", "console:second:team", "account_unknown", ""},
		{"a channel that is not there", "", "telegram:default:1", "account_unknown", ""},
		{"no address", "", "team", "bad_address", ""},
	} {
		t.Run(c.name+" "+c.to, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, `{ channels: { console: { `+c.settings+` } } }`, post(c.to))
			s.says("bob", "dm:bob", "hi")
			s.says("alice", "dm:alice", "hi")
			require.Equal(t, []string{"team/t1", "side/t2"}, []string{s.topic("team", "one"), s.topic("side", "two")})
			s.say("team", "post")
			s.pass(time.Minute)
			got, failed := s.toolResult(teamKey)
			if c.code != "" {
				require.True(t, failed, got)
				require.Equal(t, c.code, got["code"])
				require.Contains(t, got["error"], c.why)
				s.stop()
				return
			}
			require.False(t, failed, got)
			require.Equal(t, "queued", got["status"])
			place := strings.ReplaceAll(strings.TrimPrefix(c.to, "console:default:"), "%3A", ":")
			require.Contains(t, s.told(place), "news")
			s.stop()
		})
	}
}

// TestB007: one grammar of addresses: what the tool and the API take leads to the
// same place, the thread included.
func TestB007OneGrammarOfAddresses(t *testing.T) {
	t.Parallel()
	const to = "console:default:team/t1"
	s := newScene(t, "", post(to))
	s.topic("team", "side")
	s.say("team", "post")
	req := httptest.NewRequest(http.MethodPost, "/api/v1/send", strings.NewReader(`{"to":"`+to+`","message":"news"}`))
	rec := httptest.NewRecorder()
	s.app.API().ServeHTTP(rec, req)
	require.Equal(t, http.StatusOK, rec.Code, rec.Body.String())
	s.pass(time.Minute)
	require.Equal(t, []string{"news", "news"}, s.told("team/t1"))
	var sent []store.Outbox
	s.read(func(tx *store.Tx) error {
		rows, err := tx.ListOutbox(store.OutSent, 10)
		for _, r := range rows {
			if r.Text == "news" {
				sent = append(sent, r)
			}
		}
		return err
	})
	require.Len(t, sent, 2)
	require.Equal(t, sent[0].Address, sent[1].Address)
	require.Equal(t, "t1", sent[0].Address.Thread)
	s.stop()
}

// TestB021: from a thread the parent can be written to, and what cannot is
// refused as such, not as a channel that does not exist.
func TestB021AThreadMayWriteToItsParent(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", post("console:default:team")+onDemand("far", "message", `{to: "console:default:side", text: "news"}`))
	place := s.topic("team", "side")
	s.say(place, "post")
	s.pass(time.Minute)
	require.Equal(t, []string{"news"}, s.told("team"))
	s.say(place, "far")
	got, _ := s.toolResult(teamKey + ":thread:t1")
	require.Equal(t, "message_not_allowed", got["code"])
	require.Contains(t, got["error"], "not permitted from here")
	s.stop()
}

// A kill at every point of a post: it comes once.
func TestMessageIsPostedOnce(t *testing.T) {
	t.Parallel()
	for _, point := range []string{world.ToolStarted, world.ToolAfterCall, world.StepAfterCommit, world.OutboxBeforeSend, world.OutboxAfterReceipt} {
		for nth := 1; ; nth++ {
			s := newScene(t, "", post("console:default:team"))
			s.world.Arm(point, nth, world.TrapCut, nil)
			s.say("team", "post")
			s.pass(time.Minute)
			fired := s.world.Err() != nil
			s.world.Disarm()
			if fired {
				s.crash(time.Second)
				s.pass(10 * time.Minute)
			}
			require.Equal(t, []string{"news", "done"}, s.told("team"), "%s, pass %d", point, nth)
			s.stop()
			if !fired {
				require.Greater(t, nth, 1, point)
				break
			}
		}
	}
}

// Only an owner's own message has the gateway looked at or reloaded.
func TestGatewayIsForOwners(t *testing.T) {
	t.Parallel()
	s := prepareScene(t, "", onDemand("status", "gateway", `{action: "status"}`)+onDemand("reload", "gateway", `{action: "reload"}`)+
		onDemand("wrong", "gateway", `{action: "stop"}`)+`
{when: {user: "/^spawn$/"}, call: [{tool: "sessions_spawn", args: {task: "look after the gateway", label: "child"}}]}, {when: {lastTool: "sessions_spawn"}, say: "done"},
{when: {task: "/child/", user: "/gateway/"}, call: [{tool: "gateway", args: {action: "status"}}]}, {when: {event: "/./"}, say: "NO_REPLY"},`)
	s.options = func(o *app.Options) {
		o.LoadConfig = func() (*config.Config, error) { return s.config(), nil }
	}
	s.start()
	s.say("team", "status")
	got, failed := s.toolResult(teamKey)
	require.False(t, failed, got)
	require.Equal(t, true, got["running"])
	require.Len(t, got["channels"], 1)

	s.configure(`{ agents: { defaults: { maxSteps: 9 } } }`)
	s.say("team", "reload")
	got, failed = s.toolResult(teamKey)
	require.False(t, failed, got)
	require.Contains(t, fmt.Sprint(got["changes"]), "agents.defaults.maxSteps")
	require.Equal(t, 9, s.app.Config().Agents.Defaults.MaxSteps)

	s.say("team", "wrong")
	got, failed = s.toolResult(teamKey)
	require.True(t, failed)
	require.Equal(t, "bad_params", got["code"])

	for _, action := range []string{"status", "reload"} {
		s.says("mallory", "team", action)
		got, failed = s.toolResult(teamKey)
		require.True(t, failed)
		require.Equal(t, "owner_only", got["code"])
		require.Equal(t, "forbidden", got["status"])
	}

	// A sub-agent has not even the tool.
	s.say("team", "spawn")
	s.pass(time.Minute)
	for _, spec := range s.last("child").Tools {
		require.NotEqual(t, "gateway", spec.Name)
	}
	s.stop()
}

// A message of somebody else that joined an owner's turn takes the right away.
func TestGatewayNotWhereOthersHaveASay(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `
{when: {user: "/^slowly$/"}, delay: "10s", call: [{tool: "sessions_list", args: {}}]},
{when: {user: "/^reload it$/"}, call: [{tool: "gateway", args: {action: "reload"}}]}, {when: {lastTool: "gateway"}, say: "done"},`)
	s.say("team", "slowly")
	s.says("mallory", "team", "reload it")
	s.pass(time.Minute)
	got, failed := s.toolResult(teamKey)
	require.True(t, failed)
	require.Equal(t, "owner_only", got["code"])
	s.stop()
}
