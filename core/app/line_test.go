package app

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
	"github.com/skein-bot/skein/core/world"
)

func newTestLine(t *testing.T) (*line, *world.World) {
	t.Helper()
	w := world.New(clock.NewVirtual(time.Unix(1, 0), nil), nil, 1)
	return newLine(w, "test"), w
}

func TestALineKeepsOrderAndFinishesWhatItHas(t *testing.T) {
	l, w := newTestLine(t)
	var got []int
	for i := range 5 {
		l.add(func(context.Context) { got = append(got, i) })
	}
	n, _ := w.Work.State()
	require.Equal(t, 1, n, "what waits is work")
	l.start()
	l.stop(t.Context())
	require.Equal(t, []int{0, 1, 2, 3, 4}, got)
	l.add(func(context.Context) { t.Error("it ran after the stop") })
	l.stop(t.Context())
	n, _ = w.Work.State()
	require.Zero(t, n, w.Work.Holders())
}

func TestALineThatSleepsHoldsNobodyUp(t *testing.T) {
	work := new(world.Work)
	virtual := clock.NewVirtual(time.Unix(1, 0), work)
	l := newLine(world.New(virtual, work, 1), "test")
	l.start()
	second := false
	l.add(func(ctx context.Context) {
		l.add(func(context.Context) { second = true })
		require.NoError(t, virtual.Sleep(ctx, time.Minute))
	})
	require.NoError(t, work.Zero(t.Context()), "what waits behind a sleeper is no work yet")
	virtual.AdvanceTo(virtual.Now().Add(time.Minute))
	l.stop(t.Context())
	require.True(t, second)
}

func TestALineIsCut(t *testing.T) {
	for name, cut := range map[string]func(*world.World, context.CancelFunc){
		"by the end of its time":  func(_ *world.World, cancel context.CancelFunc) { cancel() },
		"by the end of its world": func(w *world.World, _ context.CancelFunc) { w.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			l, w := newTestLine(t)
			ctx, cancel := context.WithCancel(t.Context())
			started := make(chan struct{})
			l.start()
			l.add(func(ctx context.Context) { close(started); <-ctx.Done() })
			l.add(func(context.Context) { t.Error("it ran after the cut") })
			<-started
			cut(w, cancel)
			l.stop(ctx)
			n, _ := w.Work.State()
			require.Zero(t, n, w.Work.Holders())
		})
	}
}

func TestALineThatWasNotStarted(t *testing.T) {
	l, w := newTestLine(t)
	l.add(func(context.Context) { t.Error("it ran") })
	l.stop(t.Context())
	n, _ := w.Work.State()
	require.Zero(t, n)
}

func TestAUnitRunsAgainWhereAnotherNodeWasFaster(t *testing.T) {
	w := world.New(clock.NewVirtual(time.Unix(1, 0), nil), nil, 1)
	opts := pgtest.Options(pgtest.StoreURL(t, t.TempDir()+"/skein.db"), w)
	opts.Rehearse = false // its tries are counted
	db, err := store.Open(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	b := NewBindings(BindingsOptions{World: w, DB: db})
	tries := 0
	require.NoError(t, b.write(t.Context(), func(*store.Tx) error {
		tries++
		if tries < placeRetries {
			return store.ErrPlaceTaken
		}
		return nil
	}))
	require.Equal(t, placeRetries, tries)
	require.ErrorIs(t, b.write(t.Context(), func(*store.Tx) error { return store.ErrPlaceTaken }), store.ErrPlaceTaken)
}
