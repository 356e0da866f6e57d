package app_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/command"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/words"
	"github.com/skein-bot/skein/threadbind"
)

// commandConfig answers the commands.
type commandConfig struct{}

func (commandConfig) AgentIDs() []string                        { return []string{"main"} }
func (commandConfig) AgentName(string) string                   { return "" }
func (commandConfig) Model(string) string                       { return "demo/m" }
func (commandConfig) FindModel(name string) (string, bool)      { return name, true }
func (commandConfig) Models() (refs, providers []string)        { return nil, nil }
func (commandConfig) Tools(agent.Scope) policy.Toolset          { return policy.Toolset{} }
func (commandConfig) PolicyOf(core.Message) string              { return "" }
func (commandConfig) DirectScope() core.DirectScope             { return core.ScopePerChannelPeer }
func (commandConfig) Limits(string) subagent.Limits             { return subagent.Limits{} }
func (commandConfig) USDPerDay(string, string) float64          { return 0 }
func (commandConfig) Language() words.Language                  { return words.Language{} }
func (commandConfig) QueueMode(string, string) kernel.QueueMode { return kernel.QueueSteer }

// commands is the set of commands on the rig.
func (r *rig) commands() command.Set {
	return command.New(command.Options{
		World: r.world, DB: r.db, Log: slog.New(slog.DiscardHandler), Config: commandConfig{}, Bindings: r.bindings, Stopper: r.engine, Spawner: r.engine,
		Poster: r.delivery,
	})
}

// command runs a command of alice's as intake does, and what comes after it. It
// returns the code of its refusal, "" for none.
func (r *rig) command(at core.Address, text string, change func(*command.Request)) (code string) {
	r.Helper()
	after := r.begin(at, text, change, &code)
	if after != nil {
		after(r.Context())
	}
	r.quiet()
	return code
}

// begin runs the transaction of a command.
func (r *rig) begin(at core.Address, text string, change func(*command.Request), code *string) (after func(context.Context)) {
	r.Helper()
	l, ok := command.Parse(text)
	require.True(r, ok)
	requester := r.session("agent:main:fake:default:group:Room", "")
	r.commandsRun++
	req := command.Request{
		Name: l.Name, Args: l.Args, Actor: "fake:alice", AgentID: "main", Session: requester, Now: r.world.Now(),
		Message: core.Message{ID: fmt.Sprintf("m%d", r.commandsRun), Address: at, Kind: core.Group, Author: core.Author{ID: "alice"}},
	}
	if change != nil {
		change(&req)
	}
	r.write(func(tx *store.Tx) error {
		reply, err := r.commands().Run(tx, req)
		var refusal *core.Error
		if errors.As(err, &refusal) {
			*code, reply = refusal.Code, command.Reply{Text: refusal.Error()}
		} else if err != nil {
			return err
		}
		after = reply.After
		if reply.Silent {
			return nil
		}
		_, _, err = r.delivery.Post(tx, store.Outbox{Kind: store.OutCommand, Address: at, Text: reply.Text})
		return err
	})
	return after
}

func TestFocusAndUnfocusAnswerWithOneMessage(t *testing.T) {
	r := newRig(t)
	r.child("cats", nil)
	require.Empty(t, r.command(room, "/focus cats", nil))
	thread := room.InThread("t-cats")
	require.Equal(t, []string{"cats listens in the thread “cats” now."}, r.channel.texts(room))
	require.Len(t, r.channel.texts(thread), 1, "the intro")
	r.channel.forget()

	require.Empty(t, r.command(thread, "/session idle", nil))
	require.Empty(t, r.command(thread, "/session idle 90m", nil))
	require.Equal(t, threadbind.CodeBadDuration, r.command(thread, "/session idle soon", nil))
	texts := r.channel.texts(thread)
	require.Len(t, texts, 3)
	require.Contains(t, texts[0], "Idle limit of cats: 1d.")
	require.Contains(t, texts[1], "Idle limit of cats: 1h 30m. It ends at 2026-03-01 13:30 UTC, in 1h 30m (idle)")
	r.channel.forget()

	require.Equal(t, threadbind.CodeNotOwner, r.command(thread, "/unfocus", func(req *command.Request) { req.Actor = "fake:bob" }))
	require.Equal(t, threadbind.CodeNotOwner, r.command(thread, "/unfocus", func(req *command.Request) { req.Actor = "" }))
	require.Len(t, r.channel.texts(thread), 2)
	r.channel.forget()
	require.Empty(t, r.command(thread, "/unfocus", nil))
	require.Len(t, r.channel.texts(thread), 1, "the farewell")
	require.Contains(t, r.channel.texts(thread)[0], "cats is not listening here any more: unfocused.")
	r.channel.forget()
	require.Equal(t, threadbind.CodeNotFocused, r.command(thread, "/unfocus", nil))
	require.Len(t, r.channel.texts(thread), 1)
	require.Empty(t, r.channel.texts(room))
}

func TestFocusInPlaceIsAnsweredByItsIntro(t *testing.T) {
	r := newRig(t)
	r.settings.Placement = core.PlacementCurrent
	r.child("cats", nil)
	r.child("dogs", func(run *core.Run) { run.Ordinal = 2 })
	at := room.InThread("t1")
	for i, text := range []string{"/focus cats", "/focus cats", "/focus 2"} {
		r.pass(time.Minute)
		require.Empty(t, r.command(at, text, nil))
		require.Len(t, r.channel.texts(at), i+1, "one message for each command")
	}
	require.Contains(t, r.channel.texts(at)[2], "dogs is listening here now.")
	require.Equal(t, threadbind.CodeAlreadyFocused, r.command(at, "/focus cats", func(req *command.Request) { req.Actor = "fake:bob" }))
}

func TestALimitThatEndsTheBindingIsAnsweredByItsFarewell(t *testing.T) {
	r := newRig(t)
	s, _ := r.child("cats", nil)
	b := r.focus(s, "t1")
	r.pass(2 * time.Hour)
	r.channel.forget()
	require.Empty(t, r.command(room.InThread("t1"), "/session max-age 1h", nil))
	require.Equal(t, core.EndMaxAge, r.binding(b.ID).Reason)
	require.Len(t, r.channel.texts(room.InThread("t1")), 1)
}

// Nothing can be said in a place that is suspended: the answer goes the way of
// every reply to a lost place.
func TestUnfocusOfASuspendedBindingIsAnswered(t *testing.T) {
	r := newRig(t)
	s, _ := r.child("cats", nil)
	r.focus(s, "t1")
	at := room.InThread("t1")
	r.write(func(tx *store.Tx) error {
		return r.bindings.PlaceChanged(tx, core.PlaceChange{Event: core.PlaceLocked, Address: at})
	})
	r.channel.fail(at, core.SendClosed)
	r.channel.forget()
	require.Empty(t, r.command(at, "/unfocus", nil))
	require.Len(t, r.channel.texts(room), 1)
	require.Contains(t, r.channel.texts(room)[0], "The thread is closed, so this comes here:\n\ncats is not listening here any more: unfocused.")
}

func TestAFocusGoesOnAfterACrash(t *testing.T) {
	r := newRig(t)
	r.child("cats", nil)
	var code string
	after := r.begin(room, "/focus cats", nil, &code)
	r.channel.onOpen = r.world.Cut // the thread opens, and nobody learns of it
	after(r.Context())
	r.channel.onOpen = nil
	r.restart(time.Minute)
	require.Empty(t, r.channel.texts(room))
	require.NoError(t, r.commands().Recover(t.Context()))
	r.quiet()
	require.Len(t, r.channel.opened, 1, "the thread was found, not opened twice")
	require.Equal(t, []string{"cats listens in the thread “cats” now."}, r.channel.texts(room))
	require.Len(t, r.channel.texts(room.InThread("t-cats")), 1)
	require.Len(t, r.channel.sent, 2)
}

func TestAFocusThatFailsIsRefusedOnce(t *testing.T) {
	r := newRig(t)
	r.child("cats", nil)
	r.channel.openError = errors.New("no")
	r.command(room, "/focus cats", nil)
	require.Equal(t, []string{"the channel could not open a thread (try again, or work without a thread) [thread_failed]"}, r.channel.texts(room))
	require.Len(t, r.channel.sent, 1)
	require.NoError(t, r.db.Read(t.Context(), func(tx *store.Tx) error {
		live, err := tx.LiveBindings("", 10)
		require.Empty(t, live)
		return err
	}))
}

func TestBindingsThatAreOff(t *testing.T) {
	r := newRig(t)
	r.child("cats", nil)
	r.settings.Enabled = false
	require.Equal(t, threadbind.CodeBindingsDisabled, r.command(room, "/focus cats", nil))
	r.command(room, "/agents", nil)
	texts := r.channel.texts(room)
	require.Len(t, texts, 2)
	require.Contains(t, texts[0], "session.threadBindings.enabled")
	require.Contains(t, texts[1], "1. cats · queued · bindings unavailable")
}
