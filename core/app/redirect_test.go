package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/threadbind"
)

// redirect is an extension that sends answers to completions elsewhere, and
// writes to the store while it is asked.
type redirect struct{ s *scene }

func (redirect) Name() string { return "redirect" }

func (x redirect) SubagentDeliveryTarget(ctx context.Context, e threadbind.DeliveryTargetEvent) (*core.Address, error) {
	if err := x.s.app.DB().Write(ctx, func(*store.Tx) error { return nil }); err != nil {
		return nil, err
	}
	to := e.Target
	to.Conversation = x.s.server.Address(at("archive")).Conversation
	return &to, nil
}

// TestRedirectDoesNotHoldTheStore: hooks are asked outside transactions, for
// the agent's answer and for the runtime's notice alike.
func TestRedirectDoesNotHoldTheStore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ event, want string }{
		"answer": {`say: "they sleep"`, "they sleep"},
		"notice": {`fail: "500"`, "cats is done.\n\nCats sleep."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := prepareScene(t, "", spawnRules+`
  {when: {task: "/cats/"}, delay: "5s", say: "Cats sleep."},
  {when: {event: "/Cats sleep/"}, `+c.event+`},`)
			s.options = func(o *app.Options) { o.Extensions = append(o.Extensions, redirect{s}) }
			s.start()
			s.say("archive", "hello")
			s.say("team", "send cats")
			s.pass(time.Minute)
			require.Equal(t, []string{"sent"}, s.told("team"))
			require.Equal(t, []string{"ok: hello", c.want}, s.told("archive"))
			require.Equal(t, core.DeliveryDelivered, s.run("cats").Delivery)
		})
	}
}
