package convtest

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeApp is a runtime without anything in it.
type fakeApp struct {
	world  *world.World
	start  func(ctx context.Context) error
	stop   func(ctx context.Context) error
	killed int
}

func (f *fakeApp) Start(ctx context.Context) error {
	if f.start != nil {
		return f.start(ctx)
	}
	return nil
}

func (f *fakeApp) Stop(ctx context.Context) error {
	if f.stop != nil {
		return f.stop(ctx)
	}
	return nil
}

func (f *fakeApp) Kill() {
	f.killed++
	f.world.Cut()
}

func (f *fakeApp) Reload(context.Context, *config.Config) (app.Reloaded, error) {
	return app.Reloaded{}, nil
}
func (f *fakeApp) API() http.Handler { return nil }
func (f *fakeApp) DB() *store.DB     { return nil }

// newTestStage returns a stage whose runtimes are fakes that set up changes.
func newTestStage(t *testing.T, setUp func(f *fakeApp)) (*stage, *[]*fakeApp) {
	t.Helper()
	s := newStage(start(), 1)
	s.patience = 5 * time.Second
	var all []*fakeApp
	s.make = func(w *world.World) (App, error) {
		f := &fakeApp{world: w}
		if setUp != nil {
			setUp(f)
		}
		all = append(all, f)
		return f, nil
	}
	return s, &all
}

func TestWaitStepsFromDueTimeToDueTime(t *testing.T) {
	s, _ := newTestStage(t, nil)
	var at []time.Duration
	for _, d := range []time.Duration{3 * time.Second, time.Second, time.Minute} {
		s.clock.AfterFunc(d, func() { at = append(at, s.clock.Now().Sub(start())) })
	}
	asked := 0
	found, err := s.wait(30*time.Second, func() (bool, error) {
		asked++
		return len(at) == 2, nil
	})
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, []time.Duration{time.Second, 3 * time.Second}, at)
	require.Equal(t, 3, asked)
	require.Equal(t, 3*time.Second, s.clock.Now().Sub(start()), "no more time passes than is needed")

	found, err = s.wait(30*time.Second, func() (bool, error) { return false, nil })
	require.NoError(t, err)
	require.False(t, found)
	require.Equal(t, 3*time.Second, s.clock.Now().Sub(start()), "what lies behind the limit is not waited for")

	require.NoError(t, s.advance(2*time.Minute))
	require.Equal(t, 123*time.Second, s.clock.Now().Sub(start()))
	require.Len(t, at, 3)
}

func TestWaitLetsWorkEndFirst(t *testing.T) {
	s, _ := newTestStage(t, nil)
	end := s.work.Begin("turn")
	ended := make(chan struct{})
	go func() {
		<-ended
		end()
	}()
	s.clock.AfterFunc(time.Second, func() {})
	go close(ended)
	require.NoError(t, s.settle())
	n, _ := s.work.State()
	require.Zero(t, n)
}

func TestAStuckWorldNamesItsHolders(t *testing.T) {
	s, _ := newTestStage(t, nil)
	s.patience = 20 * time.Millisecond
	end := s.work.Begin("turn")
	require.EqualError(t, s.settle(), "the world does not become quiet within 20ms of wall time; 1 in progress: turn=1")
	end()
	require.NoError(t, s.settle())
}

func TestTimersWithoutEndAreFound(t *testing.T) {
	s, _ := newTestStage(t, nil)
	var again func()
	again = func() { s.clock.AfterFunc(0, again) }
	again()
	_, err := s.wait(time.Hour, func() (bool, error) { return false, nil })
	require.ErrorContains(t, err, "timers fire without end at 2026-01-05T09:00:00Z")
}

func TestDriveLetsTimePassForSleepers(t *testing.T) {
	s, _ := newTestStage(t, nil)
	s.clock.AfterFunc(10*time.Minute, func() {})
	err := s.drive("the stop", func(ctx context.Context) error {
		defer s.work.Begin("turn")()
		return s.clock.Sleep(ctx, 5*time.Second)
	})
	require.NoError(t, err)
	require.Equal(t, 5*time.Second, s.clock.Now().Sub(start()))

	failed := errors.New("no")
	require.Equal(t, failed, s.hold("the start", func(context.Context) error { return failed }))

	s.patience = 20 * time.Millisecond
	err = s.drive("the stop", func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	require.ErrorContains(t, err, "the stop does not end within 20ms")
	require.Equal(t, 5*time.Second, s.clock.Now().Sub(start()), "nobody slept")
}

func TestKillAndStart(t *testing.T) {
	s, apps := newTestStage(t, nil)
	require.NoError(t, s.start())
	require.True(t, s.up())
	require.NoError(t, s.kill())
	require.NoError(t, s.kill(), "killing what is down is nothing")
	require.False(t, s.up())
	require.NoError(t, s.start())
	require.Len(t, *apps, 2)
	require.Equal(t, 1, (*apps)[0].killed)
	require.NotEqual(t, (*apps)[0].world.NewID(), (*apps)[1].world.NewID(), "each life has ids of its own")
	require.NoError(t, s.stop())
	require.False(t, s.up())
}

func TestARuntimeThatLeavesWorkBehindIsFound(t *testing.T) {
	s, _ := newTestStage(t, nil)
	require.NoError(t, s.start())
	end := s.work.Begin("timers")
	defer end()
	s.patience = 20 * time.Millisecond
	require.ErrorContains(t, s.kill(), "the runtime has ended, but its work does not within 20ms of wall time; 1 in progress: timers=1")
}

func TestAStartThatFails(t *testing.T) {
	s, apps := newTestStage(t, func(f *fakeApp) {
		f.start = func(context.Context) error { return errors.New("no store") }
	})
	require.EqualError(t, s.start(), "the runtime does not start: no store")
	require.False(t, s.up())
	require.Equal(t, 1, (*apps)[0].killed, "what was half started is ended")
	s.make = func(*world.World) (App, error) { return nil, errors.New("no config") }
	require.EqualError(t, s.start(), "the runtime does not start: no config")
}

func TestAnArmedCrashPointTakesTheRuntimeDown(t *testing.T) {
	s, apps := newTestStage(t, nil)
	var lives []string
	s.onLife = func(what string) { lives = append(lives, what) }
	require.NoError(t, s.start())
	s.watch.arm(world.TurnClaimed)
	made := (*apps)[0]
	require.NoError(t, made.world.Crash(world.TimerFired))
	require.Equal(t, world.ErrKilled, made.world.Crash(world.TurnClaimed))
	require.NoError(t, s.settle())
	require.False(t, s.up(), "it stays down until a line starts it")
	require.Equal(t, []string{"killed at turn.claimed"}, lives)
	require.Empty(t, s.watch.pending())
	require.NoError(t, s.start())
	require.NoError(t, (*apps)[1].world.Crash(world.TurnClaimed), "a line arms one pass")
}

func TestACrashPointDuringTheStart(t *testing.T) {
	s, apps := newTestStage(t, func(f *fakeApp) {
		f.start = func(context.Context) error { return f.world.Crash(world.TimerFired) }
	})
	s.watch.arm(world.TimerFired)
	require.NoError(t, s.start())
	require.False(t, s.up())
	require.NoError(t, s.start())
	require.True(t, s.up())

	s.watch.killAt = 3 // the next one: the random kill starts again by itself
	require.NoError(t, s.stop())
	require.NoError(t, s.start())
	require.True(t, s.up())
	require.Len(t, *apps, 4)
}

func TestTheRandomKillStartsAgain(t *testing.T) {
	s, apps := newTestStage(t, nil)
	s.watch.killAt = 3
	require.NoError(t, s.start())
	pass := func(point string) error { return (*apps)[len(*apps)-1].world.Crash(point) }
	require.NoError(t, pass(world.TurnClaimed))
	require.NoError(t, pass(world.TurnClaimed))
	s.watch.mask(true)
	require.NoError(t, pass(world.TurnBeforeEnd), "while a command runs nothing is killed")
	s.watch.mask(false)
	require.Equal(t, world.ErrKilled, pass(world.TurnAfterEnd))
	require.NoError(t, s.settle())
	require.True(t, s.up())
	require.Len(t, *apps, 2)
	require.NoError(t, pass(world.TurnAfterEnd), "once is enough")
	passes, at := s.watch.count()
	require.Equal(t, 4, passes)
	require.Equal(t, world.TurnAfterEnd, at)
}

func TestARandomKillGivesALineItsTimeAnew(t *testing.T) {
	s, apps := newTestStage(t, nil)
	s.watch.killAt = 1
	require.NoError(t, s.start())
	s.clock.AfterFunc(20*time.Second, func() { _ = (*apps)[0].world.Crash(world.TimerFired) })
	came := false
	s.clock.AfterFunc(45*time.Second, func() { came = true })
	found, err := s.wait(30*time.Second, func() (bool, error) { return came, nil })
	require.NoError(t, err)
	require.True(t, found)
}

func TestAStopThatIsKilled(t *testing.T) {
	s, apps := newTestStage(t, func(f *fakeApp) {
		f.stop = func(context.Context) error { return f.world.Crash(world.TurnBeforeEnd) }
	})
	s.watch.killAt = 1
	require.NoError(t, s.start())
	require.NoError(t, s.stop())
	require.False(t, s.up())
	require.Equal(t, 1, (*apps)[0].killed)

	s.watch.killed, s.watch.killAt = "x", 0
	require.NoError(t, s.start())
	(*apps)[1].stop = func(context.Context) error { return errors.New("disk full") }
	require.EqualError(t, s.stop(), "the graceful stop: disk full")
	require.NoError(t, s.kill())
}
