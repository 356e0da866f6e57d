package app_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/threadbind"
)

// request is what the engine asks for the thread of a child.
func (r *rig) request(s store.Session) subagent.BindRequest {
	return subagent.BindRequest{
		ID: "b-" + s.Title, At: room, Kind: core.Group, Session: s.ID, SessionKey: s.Key, Agent: "main", Label: s.Title,
		Owner: "fake:alice", RunID: "run-" + s.Title, Intent: "1.1", Text: "task",
	}
}

// spawn binds a session in a thread of its own, as a spawn does.
func (r *rig) spawn(t *testing.T, s store.Session) (b core.Binding) {
	t.Helper()
	res := r.reserve(t, s)
	require.NoError(t, r.open(res, false, s, &b))
	r.quiet()
	return b
}

func (r *rig) reserve(t *testing.T, s store.Session) (res subagent.Reservation) {
	t.Helper()
	r.write(func(tx *store.Tx) (err error) {
		res, err = r.bindings.Reserve(tx, r.request(s))
		return err
	})
	require.Equal(t, core.BindingPending, res.Binding.Status)
	require.NotNil(t, res.Child)
	return res
}

func (r *rig) open(res subagent.Reservation, resumed bool, s store.Session, b *core.Binding) error {
	commit := func(o subagent.Opened) error {
		return r.db.Write(context.WithoutCancel(r.Context()), func(tx *store.Tx) (err error) {
			*b, err = r.bindings.Activate(tx, res.Binding.ID, o, s.ID, s.Key)
			return err
		})
	}
	abort := func(error) (aborted bool, err error) {
		err = r.db.Write(r.Context(), func(tx *store.Tx) error {
			aborted, err = r.bindings.Abort(tx, res.Binding.ID)
			return err
		})
		return aborted, err
	}
	return r.bindings.Open(r.Context(), res, resumed, commit, abort)
}

func TestSpawnInAThread(t *testing.T) {
	r := newRig(t)
	s, _ := r.child("cats", nil)
	b := r.spawn(t, s)
	require.Equal(t, core.BindingActive, b.Status)
	require.Equal(t, room.InThread("t-cats"), b.Address)
	require.Len(t, r.channel.texts(b.Address), 1)
	require.Contains(t, r.channel.texts(b.Address)[0], "cats is here.")
}

func TestAFailedThreadLeavesNothing(t *testing.T) {
	r := newRig(t)
	s, _ := r.child("cats", nil)
	res := r.reserve(t, s)
	r.channel.openError = errors.New("no")
	var b core.Binding
	err := r.open(res, false, s, &b)
	require.Equal(t, threadbind.CodeThreadFailed, core.ErrorCode(err))
	r.quiet()
	require.Equal(t, core.EndSpawnFailed, r.binding(res.Binding.ID).Reason)
	require.Empty(t, r.channel.sent)
}

func TestASpawnGoesOnAfterACrash(t *testing.T) {
	r := newRig(t)
	s, _ := r.child("cats", nil)
	res := r.reserve(t, s)
	r.channel.onOpen = r.world.Cut // the thread opens, and nobody learns of it
	var b core.Binding
	require.Error(t, r.open(res, false, s, &b))
	r.channel.onOpen = nil
	r.restart(time.Second)
	var again subagent.Reservation
	r.write(func(tx *store.Tx) (err error) {
		var ok bool
		again, ok, err = r.bindings.Restore(tx, res.Binding.ID, r.request(s))
		require.True(t, ok)
		return err
	})
	require.Equal(t, res.Child, again.Child)
	require.NoError(t, r.open(again, true, s, &b))
	require.Len(t, r.channel.opened, 1, "the thread was found")
	r.quiet()
	require.Len(t, r.channel.texts(b.Address), 1)
	r.write(func(tx *store.Tx) error {
		_, ok, err := r.bindings.Restore(tx, res.Binding.ID, r.request(s))
		require.False(t, ok, "it is not pending any more")
		return err
	})
}

// witness records what extensions are told.
type witness struct {
	events chan string
	veto   error
	place  *core.Address
}

func (*witness) Name() string { return "witness" }

func (w *witness) SubagentSpawning(_ context.Context, e threadbind.SpawningEvent) (*core.Address, error) {
	w.events <- "spawning " + e.Run.Label
	return w.place, w.veto
}

func (w *witness) SubagentSpawned(_ context.Context, e threadbind.SpawnedEvent) error {
	w.events <- "spawned " + e.Run.Label
	return nil
}

func (w *witness) SubagentEnded(_ context.Context, e threadbind.SubagentEndedEvent) error {
	w.events <- "run ended " + e.Run.Label
	return nil
}

func (w *witness) BindingCreated(_ context.Context, b core.Binding) error {
	w.events <- "created " + b.Label
	return nil
}

func (w *witness) BindingEnded(_ context.Context, b core.Binding) error {
	w.events <- "ended " + b.Label + " " + b.Reason.String()
	return nil
}

func (w *witness) SubagentDeliveryTarget(context.Context, threadbind.DeliveryTargetEvent) (*core.Address, error) {
	return w.place, nil
}

func TestExtensionsAreTold(t *testing.T) {
	w := &witness{events: make(chan string, 10)}
	r := newRig(t, w)
	s, run := r.child("cats", nil)
	b := r.focus(s, "t1")
	r.write(func(tx *store.Tx) error { return r.bindings.End(tx, b.ID, core.EndManual) })
	r.bindings.Spawned(run, b.Address)
	r.bindings.RunEnded(run)
	r.quiet()
	for _, want := range []string{"created cats", "ended cats manual", "spawned cats", "run ended cats"} {
		require.Equal(t, want, <-w.events)
	}
	elsewhere := room.InThread("elsewhere")
	w.place = &elsewhere
	require.Equal(t, elsewhere, r.bindings.DeliveryTarget(t.Context(), run, room))
	place, err := r.bindings.Spawning(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, &elsewhere, place)
	w.veto = errors.New("not today")
	_, err = r.bindings.Spawning(t.Context(), run)
	require.Equal(t, threadbind.CodeHookVeto, core.ErrorCode(err))
	w.veto, w.place = nil, nil
	place, err = r.bindings.Spawning(t.Context(), run)
	require.NoError(t, err)
	require.Nil(t, place)
}
