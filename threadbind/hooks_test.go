package threadbind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
)

// watcher implements every hook and writes down what it was told.
type watcher struct {
	name  string
	mu    *sync.Mutex // where calls outlive their deadline
	calls *[]string
	err   error
	place *core.Address
	act   func(ctx context.Context)
}

var (
	_ SpawningHook       = watcher{}
	_ SpawnedHook        = watcher{}
	_ DeliveryTargetHook = watcher{}
	_ SubagentEndedHook  = watcher{}
	_ BindingCreatedHook = watcher{}
	_ BindingEndedHook   = watcher{}
)

func (w watcher) Name() string { return w.name }

func (w watcher) told(ctx context.Context, what string) error {
	w.write(w.name + " " + what)
	if w.act != nil {
		w.act(ctx)
	}
	return w.err
}

func (w watcher) write(call string) {
	if w.mu != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
	}
	*w.calls = append(*w.calls, call)
}

func (w watcher) SubagentSpawning(ctx context.Context, e SpawningEvent) (*core.Address, error) {
	return w.place, w.told(ctx, "spawning "+e.Run.ID)
}

func (w watcher) SubagentSpawned(ctx context.Context, e SpawnedEvent) error {
	return w.told(ctx, "spawned "+e.Run.ID+" "+e.Place.String())
}

func (w watcher) SubagentDeliveryTarget(ctx context.Context, e DeliveryTargetEvent) (*core.Address, error) {
	return w.place, w.told(ctx, "target "+e.Target.String())
}

func (w watcher) SubagentEnded(ctx context.Context, e SubagentEndedEvent) error {
	return w.told(ctx, "ended "+string(e.Run.Status))
}

func (w watcher) BindingCreated(ctx context.Context, b core.Binding) error {
	return w.told(ctx, "created "+b.Address.String())
}

func (w watcher) BindingEnded(ctx context.Context, b core.Binding) error {
	return w.told(ctx, "unbound "+b.Reason.String())
}

// mute implements no hook.
type mute struct{}

func (mute) Name() string { return "mute" }

func run() core.Run { return core.Run{ID: "r1", Origin: team, Status: core.RunOK} }

func TestHooksRunInOrder(t *testing.T) {
	var calls []string
	thread := team.InThread("T1")
	h := NewHooks(clock.Real{}, nil, 0, watcher{name: "a", calls: &calls}, mute{}, watcher{name: "b", calls: &calls})
	place, err := h.Spawning(t.Context(), SpawningEvent{Run: run(), Thread: true})
	require.NoError(t, err)
	require.True(t, place.IsZero())
	h.Spawned(t.Context(), SpawnedEvent{Run: run(), Place: thread})
	require.Equal(t, team, h.DeliveryTarget(t.Context(), DeliveryTargetEvent{Run: run(), Target: team}))
	h.SubagentEnded(t.Context(), SubagentEndedEvent{Run: run()})
	h.Wait()
	require.Equal(t, []string{
		"a spawning r1", "b spawning r1",
		"a spawned r1 fake:default:Team/T1", "b spawned r1 fake:default:Team/T1",
		"a target fake:default:Team", "b target fake:default:Team",
		"a ended ok", "b ended ok",
	}, calls)
}

func TestServiceTellsHooks(t *testing.T) {
	var calls []string
	f := newFixture(t)
	f.service.Hooks = NewHooks(f.service.Clock, nil, 0, watcher{name: "a", calls: &calls})
	f.focus(team, nil)
	_, err := f.unfocus(team, alice)
	require.NoError(t, err)
	require.Equal(t, []string{"a created fake:default:Team", "a unbound manual"}, calls)
}

func TestNoHooks(t *testing.T) {
	var h *Hooks
	place, err := h.Spawning(t.Context(), SpawningEvent{})
	require.NoError(t, err)
	require.True(t, place.IsZero())
	require.Equal(t, team, h.DeliveryTarget(t.Context(), DeliveryTargetEvent{Target: team}))
	require.False(t, h.Redirects())
	h.Spawned(t.Context(), SpawnedEvent{})
	h.Wait()
}

func TestSpawningVetoAndPlace(t *testing.T) {
	first, second := team.InThread("T1"), team.InThread("T2")
	elsewhere := core.Address{Channel: "other", Account: "default", Conversation: "X"}
	tests := []struct {
		name  string
		hooks []watcher
		want  core.Address
		says  string
		calls int
	}{
		{"a veto ends it", []watcher{{err: errors.New("not on Sundays")}, {}}, core.Address{}, "not on Sundays", 1},
		{"a veto after a place", []watcher{{place: &first}, {err: errDown}}, first, "down", 2},
		{"the first place wins", []watcher{{}, {place: &first}, {place: &second}}, first, "", 3},
		{"a place elsewhere", []watcher{{place: &elsewhere}}, core.Address{}, "not on the requester's account", 1},
		{"a panic", []watcher{{act: func(context.Context) { panic("oops") }}}, core.Address{}, "oops", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var calls []string
			var all []Extension
			for i, w := range tt.hooks {
				w.name, w.calls = fmt.Sprintf("x%d", i), &calls
				all = append(all, w)
			}
			place, err := NewHooks(clock.Real{}, nil, 0, all...).Spawning(t.Context(), SpawningEvent{Run: run()})
			require.Equal(t, tt.want, place)
			require.Len(t, calls, tt.calls)
			if tt.says == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, CodeHookVeto, core.ErrorCode(err))
			require.ErrorContains(t, err, tt.says)
		})
	}
}

func TestDeliveryTarget(t *testing.T) {
	var calls []string
	var logged bytes.Buffer
	thread := team.InThread("T1")
	elsewhere := core.Address{Channel: "fake", Account: "second", Conversation: "Team"}
	h := NewHooks(clock.Real{}, slog.New(slog.NewTextHandler(&logged, nil)), 0,
		watcher{name: "a", calls: &calls, place: &thread},
		watcher{name: "b", calls: &calls, place: &elsewhere},
		watcher{name: "c", calls: &calls, place: &team, err: errDown},
	)
	require.Equal(t, thread, h.DeliveryTarget(t.Context(), DeliveryTargetEvent{Run: run(), Target: team}))
	require.Equal(t, []string{"a target fake:default:Team", "b target fake:default:Team/T1", "c target fake:default:Team/T1"}, calls)
	require.Contains(t, logged.String(), "another account")
	require.Contains(t, logged.String(), "the platform is down")
}

func TestObserversFailAlone(t *testing.T) {
	var calls []string
	var logged bytes.Buffer
	h := NewHooks(clock.Real{}, slog.New(slog.NewTextHandler(&logged, nil)), 0,
		watcher{name: "a", calls: &calls, err: errDown},
		watcher{name: "b", calls: &calls, act: func(context.Context) { panic("oops") }},
		watcher{name: "c", calls: &calls},
	)
	h.BindingEnded(t.Context(), activeBinding())
	require.Len(t, calls, 3)
	require.Contains(t, logged.String(), "extension=a")
	require.Contains(t, logged.String(), "oops")
}

func TestHookDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		release := make(chan struct{})
		var mu sync.Mutex
		stubborn := watcher{name: "stubborn", mu: &mu, calls: &calls, act: func(context.Context) { <-release }}
		polite := watcher{name: "polite", mu: &mu, calls: &calls, act: func(ctx context.Context) { <-ctx.Done() }}
		h := NewHooks(clock.Real{}, nil, 3*time.Second, stubborn, polite)
		start := time.Now()
		_, err := h.Spawning(t.Context(), SpawningEvent{Run: run()})
		require.Equal(t, CodeHookVeto, core.ErrorCode(err), "a veto hook that does not answer refuses")
		require.ErrorContains(t, err, "within 3s")
		require.Equal(t, 3*time.Second, time.Since(start))

		h.BindingCreated(t.Context(), activeBinding())
		require.Equal(t, 9*time.Second, time.Since(start), "both were left behind")
		close(release)
		h.Wait()
		require.Len(t, calls, 3)
	})
}
