package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
)

// TestBindingsOfARemovedAccountEnd: what is bound on an account that left the
// configuration ends at the next start; an account that is only switched off
// keeps its bindings.
func TestBindingsOfARemovedAccountEnd(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `{when: {lastTool: "sessions_spawn"}, say: "sent"},
  {when: {user: "/^send$/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "cats", thread: true}}]},`)
	s.say("team", "send")
	s.pass(time.Minute)
	s.stop()

	open := func() (live []core.Binding) {
		s.read(func(tx *store.Tx) (err error) {
			live, err = tx.BindingsOfAccount("console", "default", 10)
			return err
		})
		return live
	}
	s.configure(`{ channels: { console: { accounts: { default: { enabled: false } } } } }`)
	s.start()
	live := open()
	require.Len(t, live, 1)
	s.stop()

	s.options = func(o *app.Options) {
		accounts := o.Config.Channels.Console.Accounts
		o.Config.Channels.Console.Accounts = map[string]config.ConsoleAccount{"another": accounts["default"]}
	}
	s.start()
	require.Empty(t, open())
	s.read(func(tx *store.Tx) error {
		b, _, err := tx.BindingByID(live[0].ID)
		require.Equal(t, core.EndAccountRemoved, b.Reason)
		return err
	})
}
