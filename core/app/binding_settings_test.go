package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// TestPartsOfADayAreKept: an ended record is kept for a quarter of a day, not
// for none.
func TestPartsOfADayAreKept(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ session: { threadBindings: { keepEndedDays: 0.25 } } }`, `{when: {lastTool: "sessions_spawn"}, say: "sent"},
  {when: {user: "/^send$/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "cats", thread: true}}]},`)
	s.say("team", "send")
	s.pass(time.Minute)
	run := s.run("cats").ID
	var bound core.Binding
	s.read(func(tx *store.Tx) (err error) {
		bound, _, err = tx.BindingOfRun(run)
		return err
	})
	kept := func() (ok bool) {
		s.read(func(tx *store.Tx) (err error) {
			_, ok, err = tx.BindingByID(bound.ID)
			return err
		})
		return ok
	}
	s.say(s.thread("team"), "/unfocus")
	s.pass(5 * time.Hour)
	require.True(t, kept())
	s.pass(2 * time.Hour)
	require.False(t, kept())
}

// TestARefusalNamesTheKey: who may not focus learns which key of the
// configuration says so.
func TestARefusalNamesTheKey(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ channels: { console: { accounts: { default: { threadBindings: { enabled: false } } } } } }`, spawnRules)
	s.say("team", "send cats")
	s.pass(time.Minute)
	s.say("team", "/focus cats")
	require.Contains(t, last(s.told("team")), "channels.console.accounts.default.threadBindings.enabled")
}
