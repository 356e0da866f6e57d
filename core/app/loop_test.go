package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/testserver"
)

// botSays has another bot write in a place.
func (s *scene) botSays(place, text string) {
	s.Helper()
	_, err := s.server.Post(s.Context(), testserver.Post{By: testserver.User{Name: "helper", Bot: true}, At: at(place), Text: text})
	require.NoError(s, err)
	s.quiet()
}

// TestB473_TwoBotsEndTheirTalk: of two bots that answer each other at once, 20
// messages within a minute are heard, over a kill too; then none for a minute.
// The owners are told once, and the doctor says so as long as it lasts.
func TestB473_TwoBotsEndTheirTalk(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{
  alerts: { to: "console:default:alerts" },
  channels: { console: { allowBots: true } },
  limits: { perUser: { messagesPerMinute: 0 } },
}`, "")
	require.NoError(t, s.server.SetPlace(at("alerts"), testserver.KindGroup))
	heard := func() int { return len(s.requests.list("")) }
	for i := range 12 {
		s.botSays("team", fmt.Sprint("ping ", i))
	}
	s.crash(time.Second)
	for i := range 30 {
		s.botSays("team", fmt.Sprint("pong ", i))
	}
	require.Equal(t, 20, heard())
	want := "Alert: the bot helper wrote 20 messages within 1m in console:default:team, as if two bots answered each other; " +
		"it is not heard there for 1m. Set allowBots of that place to \"mentions\" or false, or have the other bot stop answering."
	require.Equal(t, []string{want}, s.alerts("alerts"))
	require.Contains(t, findings(s.doctor()), "notice bot_loop console:default:team")

	s.restart()
	s.botSays("team", "are you there?")
	require.Equal(t, 20, heard(), "the silence outlives the process")
	s.say("team", "hello")
	require.Equal(t, 21, heard(), "people are heard")
	s.botSays("elsewhere", "hello")
	require.Equal(t, 22, heard(), "and so is the bot in other conversations")
	s.botSays(s.topic("team", "aside"), "hello")
	require.Equal(t, 22, heard(), "a thread is no other conversation")

	s.pass(time.Minute)
	require.NotContains(t, findings(s.doctor()), "notice bot_loop console:default:team")
	for range 25 {
		s.botSays("team", "again")
	}
	require.Equal(t, 42, heard())
	require.Len(t, s.alerts("alerts"), 1, "one message within the cool-down")
	require.Equal(t, 2, s.doctor().Alerts[0].Times)
}

// TestBotsAreIgnoredByDefault: nothing that a bot writes is heard unless it is
// allowed, and none of it is counted.
func TestBotsAreIgnoredByDefault(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", "")
	for range 30 {
		s.botSays("team", "@bot hello")
		s.botSays("team", "/status")
	}
	require.Empty(t, s.requests.list(""))
	require.Len(t, s.told("team"), 60, "of bots: what the other one said, and nothing else")
	require.Empty(t, s.doctor().Alerts)
}
