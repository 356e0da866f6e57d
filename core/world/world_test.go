package world_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/world"
)

func TestMain(m *testing.M) {
	dieWhereAsked()
	goleak.VerifyTestMain(m)
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newWorld(seed uint64) (*world.World, *clock.Virtual) {
	work := new(world.Work)
	v := clock.NewVirtual(start, work)
	return world.New(v, work, seed), v
}

func TestCut(t *testing.T) {
	w, _ := newWorld(1)
	require.NoError(t, w.Err())
	require.NoError(t, w.Context().Err())
	require.NoError(t, w.Crash(world.TurnClaimed))
	w.Cut()
	w.Cut()
	require.Equal(t, world.ErrKilled, w.Err())
	require.Equal(t, world.ErrKilled, w.Crash(world.TurnClaimed))
	require.Equal(t, world.ErrKilled, context.Cause(w.Context()))
}

func TestNewMakesItsOwnWork(t *testing.T) {
	w := world.New(clock.Real{}, nil, 1)
	w.Work.Begin("x")()
	require.Equal(t, core.ToMillis(start), func() core.Millis { w, _ := newWorld(1); return w.Now() }())
}

func TestIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		pauses := rapid.SliceOfN(rapid.IntRange(0, 2), 1, 50).Draw(t, "pauses")
		ids := func(seed uint64) (out []string) {
			w, v := newWorld(seed)
			for _, ms := range pauses {
				v.AdvanceTo(v.Now().Add(time.Duration(ms) * time.Millisecond))
				out = append(out, w.NewID())
			}
			return out
		}
		got := ids(seed)
		require.True(t, slices.IsSorted(got), "ids are ordered by their making")
		require.Len(t, slices.Compact(slices.Clone(got)), len(got), "an id comes twice")
		require.Equal(t, got, ids(seed), "one seed, one series")
		require.NotEqual(t, got, ids(seed+1))
		parsed, err := ulid.ParseStrict(got[0])
		require.NoError(t, err)
		require.Equal(t, start.Add(time.Duration(pauses[0])*time.Millisecond).UnixMilli(), int64(parsed.Time()))
	})
}

func TestFloat(t *testing.T) {
	one, _ := newWorld(7)
	two, _ := newWorld(7)
	for range 100 {
		f := one.Float()
		require.InDelta(t, two.Float(), f, 0, "one seed, one series")
		require.GreaterOrEqual(t, f, 0.0)
		require.Less(t, f, 1.0)
	}
}

func TestTransport(t *testing.T) {
	for _, c := range []struct {
		name      string
		cut       func(w *world.World, served bool) bool // at this moment
		asked, ok bool
	}{
		{"a living world", func(*world.World, bool) bool { return false }, true, true},
		{"cut before: no request leaves", func(_ *world.World, served bool) bool { return !served }, false, false},
		{"cut meanwhile: the request counts, its answer is lost", func(_ *world.World, served bool) bool { return served }, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, _ := newWorld(1)
			asked := false
			server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				asked = true
				if c.cut(w, true) {
					w.Cut()
				}
				_, _ = io.WriteString(rw, "hello")
			}))
			defer server.Close()
			if c.cut(w, false) {
				w.Cut()
			}
			body := &closing{Reader: strings.NewReader("question")}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
			require.NoError(t, err)
			resp, err := w.Transport(server.Client().Transport).RoundTrip(req)
			require.Equal(t, c.asked, asked)
			if !c.ok {
				require.Equal(t, world.ErrKilled, err)
				require.True(t, body.closed)
				return
			}
			require.NoError(t, err)
			defer func() { _ = resp.Body.Close() }()
			got, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, "hello", string(got))
		})
	}
}

// closing is a request body that knows whether it was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

func TestTransportPassesErrorsOn(t *testing.T) {
	w, _ := newWorld(1)
	down := errors.New("down")
	base := roundTripper(func(*http.Request) (*http.Response, error) { return nil, down })
	client := &http.Client{Transport: w.Transport(base)}
	resp, err := client.Get("http://example.invalid/")
	if err == nil {
		_ = resp.Body.Close()
	}
	require.ErrorIs(t, err, down)
	w.Cut()
	client = &http.Client{Transport: w.Transport(nil)}
	resp, err = client.Get("http://example.invalid/")
	if err == nil {
		_ = resp.Body.Close()
	}
	require.ErrorIs(t, err, world.ErrKilled)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func ExampleWorld() {
	w := world.New(clock.Real{}, nil, 1)
	w.Arm(world.OutboxAfterSend, 2, world.TrapCut, nil)
	fmt.Println(w.Crash(world.OutboxAfterSend))
	fmt.Println(w.Crash(world.OutboxBeforeSend))
	fmt.Println(w.Crash(world.OutboxAfterSend))
	fmt.Println(w.Err())
	// Output:
	// <nil>
	// <nil>
	// killed
	// killed
}
