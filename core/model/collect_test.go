package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/world"
)

// fake is a provider that plays a function.
type fake func(ctx context.Context, yield func(model.Delta, error) bool)

func (f fake) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) { f(ctx, yield) }
}

func (f fake) Models(context.Context) ([]string, error) { return nil, nil }

// deltas is a provider that gives these deltas, then the error if not nil.
func deltas(err error, ds ...model.Delta) fake {
	return func(_ context.Context, yield func(model.Delta, error) bool) {
		for _, d := range ds {
			if !yield(d, nil) {
				return
			}
		}
		if err != nil {
			yield(model.Delta{}, err)
		}
	}
}

func call(id, name, args string) model.Delta {
	return model.Delta{Call: &core.ToolCall{ID: id, Name: name, Args: json.RawMessage(args)}}
}

var done = model.Delta{Done: true, Usage: model.Usage{In: 3, Out: 2}}

func TestCollect(t *testing.T) {
	cause := &model.Error{Class: model.Overloaded, Status: 503}
	used := []model.Item{{Kind: model.Assistant, Calls: []core.ToolCall{{ID: "a"}}}}
	for _, c := range []struct {
		name  string
		from  fake
		items []model.Item
		want  model.Item
		class model.ErrorClass
	}{
		{
			name: "text in pieces, thinking, keep-alives",
			from: deltas(nil, model.Delta{KeepAlive: true}, model.Delta{Think: "hm"}, model.Delta{Text: "he"}, model.Delta{Text: "llo"}, done),
			want: model.Item{Text: "hello", Think: "hm"},
		},
		{
			name: "nothing after the end mark counts",
			from: deltas(nil, model.Delta{Text: "a"}, done, model.Delta{Text: "b"}),
			want: model.Item{Text: "a"},
		},
		{
			name: "calls",
			from: deltas(nil, call("a", "x", `{"n":1}`), call("b", "y", ``), done),
			want: model.Item{Calls: []core.ToolCall{
				{ID: "a", Name: "x", Args: json.RawMessage(`{"n":1}`)}, {ID: "b", Name: "y", Args: json.RawMessage(`{}`)},
			}},
		},
		{
			name:  "ids used before in the message or the request, or empty, are replaced",
			from:  deltas(nil, call("a", "x", `{}`), call("b", "x", `{}`), call("b", "x", `{}`), call("", "x", `{}`), done),
			items: used,
			want: model.Item{Calls: []core.ToolCall{
				{ID: "call_2", Name: "x", Args: json.RawMessage(`{}`)}, {ID: "b", Name: "x", Args: json.RawMessage(`{}`)},
				{ID: "call_4", Name: "x", Args: json.RawMessage(`{}`)}, {ID: "call_5", Name: "x", Args: json.RawMessage(`{}`)},
			}},
		},
		{
			name: "arguments that are no object are kept as a string",
			from: deltas(nil, call("a", "x", `{"n":`), done),
			want: model.Item{Calls: []core.ToolCall{{ID: "a", Name: "x", Args: json.RawMessage(`"{\"n\":"`)}}},
		},
		{
			name: "a character split over deltas, NUL, invalid bytes",
			from: deltas(nil, model.Delta{Text: "\xe2\x82"}, model.Delta{Text: "\xac\x00"}, model.Delta{Text: "\xff!\xe2"}, done),
			want: model.Item{Text: "€\uFFFD\uFFFD!\uFFFD"},
		},
		{
			name: "the end at the token limit is marked",
			from: deltas(nil, model.Delta{Text: "so"}, model.Delta{Done: true, Cut: true}),
			want: model.Item{Text: "so", Cut: true},
		},
		{
			name:  "B395 no end mark: text stays, calls do not run",
			from:  deltas(nil, model.Delta{Text: "so"}, call("a", "x", `{}`)),
			want:  model.Item{Text: "so"},
			class: model.Truncated,
		},
		{
			name:  "an error keeps its class",
			from:  deltas(cause, model.Delta{Text: "so"}),
			want:  model.Item{Text: "so"},
			class: model.Overloaded,
		},
		{
			name:  "too much text is cut",
			from:  deltas(nil, model.Delta{Text: strings.Repeat("€", model.MaxText)}, done),
			want:  model.Item{Text: strings.Repeat("€", model.MaxText/3)},
			class: model.BadRequest,
		},
		{
			name:  "too many arguments",
			from:  deltas(nil, call("a", "x", `{"a":"`+strings.Repeat("x", model.MaxArgs)+`"}`), done),
			class: model.BadRequest,
		},
		{
			name: "too much reasoning is dropped",
			from: deltas(nil, model.Delta{Think: strings.Repeat("x", 2*model.MaxText)}, model.Delta{Text: "a"}, done),
			want: model.Item{Text: "a", Think: strings.Repeat("x", model.MaxText)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.Kind = model.Assistant
			got, usage, err := model.Collect(t.Context(), clock.Real{}, c.from, model.Request{Items: c.items}, model.Options{Stall: time.Minute})
			require.Equal(t, c.want, got)
			if c.class != "" {
				require.Equal(t, c.class, model.ClassOf(err))
				return
			}
			require.NoError(t, err)
			if !c.want.Cut {
				require.Equal(t, done.Usage, usage)
			}
		})
	}
}

func TestCollectStopsAnEndlessModel(t *testing.T) {
	endless := func(piece model.Delta) fake {
		return func(_ context.Context, yield func(model.Delta, error) bool) {
			for yield(piece, nil) {
			}
		}
	}
	for _, piece := range []model.Delta{{Text: strings.Repeat("la ", 9999)}, call("a", "x", `{"y":1}`)} {
		_, _, err := model.Collect(t.Context(), clock.Real{}, endless(piece), model.Request{}, model.Options{})
		require.Equal(t, model.BadRequest, model.ClassOf(err))
		require.False(t, model.ClassOf(err).Transient())
	}
}

func TestCollectShowsDeltas(t *testing.T) {
	var seen []model.Delta
	_, _, err := model.Collect(t.Context(), clock.Real{},
		deltas(nil, model.Delta{Text: "a\xe2\x82"}, model.Delta{Text: "\xac"}, call("", "x", `[]`), done),
		model.Request{}, model.Options{OnDelta: func(d model.Delta) { seen = append(seen, d) }})
	require.NoError(t, err)
	require.Equal(t, []model.Delta{{Text: "a"}, {Text: "€"}, call("call_1", "x", `"[]"`), done}, seen)
}

// virtual is a world whose clock moves when no work is in progress.
type virtual struct {
	clock *clock.Virtual
	work  *world.Work
}

func newVirtual() virtual {
	work := new(world.Work)
	return virtual{clock.NewVirtual(time.Unix(1_000_000, 0), work), work}
}

// run calls f as counted work and moves the clock until it has returned.
func (v virtual) run(t *testing.T, f func()) {
	t.Helper()
	finished := make(chan struct{})
	end := v.work.Begin("test")
	go func() {
		defer close(finished)
		defer end()
		f()
	}()
	for {
		require.NoError(t, v.work.Zero(t.Context()))
		due, ok := v.clock.Next()
		if !ok {
			<-finished
			return
		}
		v.clock.AdvanceTo(due)
	}
}

func TestCollectStall(t *testing.T) {
	v := newVirtual()
	start := v.clock.Now()
	var err error
	var got model.Item
	silent := fake(func(ctx context.Context, yield func(model.Delta, error) bool) {
		for range 3 { // within the limit: each delta begins it anew
			if v.clock.Sleep(ctx, 50*time.Second) != nil || !yield(model.Delta{Text: "x"}, nil) {
				return
			}
		}
		yield(model.Delta{}, v.clock.Sleep(ctx, time.Hour))
	})
	v.run(t, func() {
		got, _, err = model.Collect(t.Context(), v.clock, silent, model.Request{}, model.Options{Stall: time.Minute})
	})
	require.Equal(t, "xxx", got.Text)
	require.Equal(t, model.Network, model.ClassOf(err))
	require.ErrorContains(t, err, "models.stallSeconds")
	require.Equal(t, 210*time.Second, v.clock.Now().Sub(start))
	_, waits := v.clock.Next()
	require.False(t, waits, "a timer is left")
}

// TestCollectEndsOnPingsAlone: signs of life prolong the wait for a token, but
// not for ever; a token begins it anew.
func TestCollectEndsOnPingsAlone(t *testing.T) {
	v := newVirtual()
	start := v.clock.Now()
	var err error
	var got model.Item
	pinging := fake(func(ctx context.Context, yield func(model.Delta, error) bool) {
		for n := 0; ; n++ {
			d := model.Delta{Ping: true}
			if n == 4 {
				d = model.Delta{Text: "x"}
			}
			if v.clock.Sleep(ctx, 50*time.Second) != nil || !yield(d, nil) {
				return
			}
		}
	})
	v.run(t, func() {
		got, _, err = model.Collect(t.Context(), v.clock, pinging, model.Request{}, model.Options{Stall: time.Minute})
	})
	require.Equal(t, "x", got.Text)
	require.ErrorIs(t, err, model.ErrStalled)
	require.Equal(t, 250*time.Second+300*time.Second, v.clock.Now().Sub(start))
}

func TestCollectStallDoesNotCountTheObserver(t *testing.T) {
	v := newVirtual()
	var err error
	v.run(t, func() {
		_, _, err = model.Collect(t.Context(), v.clock, deltas(nil, model.Delta{Text: "a"}, model.Delta{Text: "b"}, done), model.Request{},
			model.Options{Stall: time.Second, OnDelta: func(model.Delta) { _ = v.clock.Sleep(t.Context(), time.Minute) }})
	})
	require.NoError(t, err)
}

func TestCollectEndsWithItsContext(t *testing.T) {
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	p := fake(func(ctx context.Context, yield func(model.Delta, error) bool) {
		yield(model.Delta{Text: "so far"}, nil)
		cancel(stopped)
		<-ctx.Done()
		yield(model.Delta{}, errors.New("connection closed"))
	})
	got, _, err := model.Collect(ctx, clock.Real{}, p, model.Request{}, model.Options{Stall: time.Minute})
	require.Equal(t, stopped, err)
	require.Equal(t, "so far", got.Text)
}
