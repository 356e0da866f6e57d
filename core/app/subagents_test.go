package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/model"
)

// A wait for the next message is one resumed turn: the note and the message are
// in it together, and nobody sees a word about the note.
func TestAWaitForAMessageResumesOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `
  {when: {user: "/^ask me$/"}, call: [
    {tool: "sessions_yield", args: {waitFor: "message", message: "it was about the colour", acknowledgment: "Which colour?"}}]},
  {when: {user: "/^blue$/"}, say: "Blue it is."},`)
	s.say("team", "ask me")
	s.pass(time.Minute)
	s.say("team", "blue")
	s.pass(time.Minute)
	require.Equal(t, []string{"Which colour?", "Blue it is."}, s.told("team"))
	require.Contains(t, texts(s.last(""), model.Note), "Your note from before you waited: it was about the colour")
	require.Len(t, s.requests.list(""), 2)
}
