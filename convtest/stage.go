package convtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/world"
)

// maxPatience is how long, in wall time, the world may be busy, or something
// may take that the script asked for.
const maxPatience = 30 * time.Second

// maxSteps bounds how often timers may fire while the clock stands still.
const maxSteps = 100_000

// stage is the virtual time of a script and the runtime that lives in it, one
// life after the other. It is for one goroutine.
type stage struct {
	clock   *clock.Virtual
	work    *world.Work
	servers []testserver.Server
	seed    uint64
	// patience is maxPatience, except in tests of this package.
	patience time.Duration
	// make makes a runtime in a new world.
	make func(w *world.World) (App, error)

	watch  watch
	lives  int
	app    App             // nil while it is down
	crash  context.Context // ends when a crash point cuts the world of app
	steps  int             // since the clock moved
	onLife func(what string)
}

func newStage(start time.Time, seed uint64) *stage {
	work := new(world.Work)
	return &stage{
		clock: clock.NewVirtual(start, work), work: work, seed: seed, patience: maxPatience, crash: context.Background(), onLife: func(string) {},
	}
}

// up reports whether the runtime runs.
func (s *stage) up() bool { return s.app != nil }

// errStuck is the cause of a context whose patience ended.
var errStuck = errors.New("patience has ended")

// stuck is the error of what did not happen while patience lasted.
func (s *stage) stuck(what string) error {
	return fmt.Errorf("%s within %s of wall time; %s", what, s.patience, s.work.Holders())
}

// patient returns a context that ends when patience does, with errStuck.
func (s *stage) patient(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	t := clock.Real{}.AfterFunc(s.patience, func() { cancel(errStuck) })
	return ctx, func() {
		t.Stop()
		cancel(nil)
	}
}

// settle waits until the world is quiet: nothing is in progress, and nothing
// will happen before the clock moves. It deals with a cut of the world.
func (s *stage) settle() error {
	for {
		err := s.quiet(s.crash)
		point, random := s.watch.hit()
		if point == "" {
			return err
		}
		if err := s.collapse(point, random); err != nil {
			return err
		}
	}
}

// quiet waits until nothing is in progress or ctx ends.
func (s *stage) quiet(parent context.Context) error {
	ctx, cancel := s.patient(parent)
	defer cancel()
	for {
		if err := s.work.Zero(ctx); err != nil {
			if errors.Is(context.Cause(ctx), errStuck) {
				return s.stuck("the world does not become quiet")
			}
			return err
		}
		n, version := s.work.State()
		for range 8 { // lets whoever was about to count something do so
			runtime.Gosched()
		}
		woken := s.clock.WakeCancelled()
		if m, again := s.work.State(); n == 0 && m == 0 && version == again && woken == 0 {
			return nil
		}
		if ctx.Err() != nil && errors.Is(context.Cause(ctx), errStuck) {
			return s.stuck("the world does not come to rest")
		}
	}
}

// step moves the clock to the next due time, if there is one up to limit.
func (s *stage) step(limit time.Time) (moved bool, err error) {
	due, ok := s.clock.Next()
	if !ok || due.After(limit) {
		return false, nil
	}
	s.steps++
	if due.After(s.clock.Now()) {
		s.steps = 0
	}
	if s.steps > maxSteps {
		return false, fmt.Errorf("timers fire without end at %s; %s", s.clock.Now().Format(time.RFC3339Nano), s.work.Holders())
	}
	s.moveTo(due)
	return true, nil
}

// moveTo moves the clock.
func (s *stage) moveTo(t time.Time) {
	s.clock.AdvanceTo(t)
	for _, server := range s.servers {
		server.Moved()
	}
}

// wait lets time pass, as little as possible and at most d, until done says so
// in a quiet world. It reports whether done did. After a random kill d begins
// anew: what the kill undid takes its time again.
func (s *stage) wait(d time.Duration, done func() (bool, error)) (bool, error) {
	limit, lives := s.clock.Now().Add(d), s.lives
	for {
		if err := s.settle(); err != nil {
			return false, err
		}
		if s.lives != lives {
			limit, lives = s.clock.Now().Add(d), s.lives
		}
		ok, err := done()
		if ok && err == nil {
			return true, nil
		}
		if point, _ := s.watch.hit(); point != "" {
			continue // what was asked of the runtime got no answer
		}
		if err != nil {
			return false, err
		}
		if moved, err := s.step(limit); !moved || err != nil {
			return false, err
		}
	}
}

// advance lets d pass.
func (s *stage) advance(d time.Duration) error {
	limit := s.clock.Now().Add(d)
	for moved := true; moved; {
		err := s.settle()
		if err == nil {
			moved, err = s.step(limit)
		}
		if err != nil {
			return err
		}
	}
	s.moveTo(limit)
	return s.settle()
}

// idleLimit bounds how long idle lets scripted delays go on.
const idleLimit = 10 * time.Minute

// idle waits until the runtime has nothing to do now. After ten minutes it is
// content with what there is.
func (s *stage) idle() error {
	_, err := s.wait(idleLimit, func() (bool, error) {
		if !s.up() {
			return true, nil
		}
		busy, err := busy(context.Background(), s.app, core.ToMillis(s.clock.Now()))
		return !busy, err
	})
	return err
}

// hold runs f with the clock at rest, as work of its own. A cut of the world
// meanwhile is left to settle.
func (s *stage) hold(what string, f func(ctx context.Context) error) error {
	defer s.work.Begin(what)()
	return s.drive(what, f)
}

// drive runs f, and lets time pass where f waits for somebody who sleeps. A cut
// of the world meanwhile is left to settle.
func (s *stage) drive(what string, f func(ctx context.Context) error) error {
	ctx, cancel := s.patient(context.Background())
	defer cancel()
	result := make(chan error, 1)
	returned, done := context.WithCancel(ctx)
	go func() {
		defer done()
		result <- f(ctx)
	}()
	limit := s.clock.Now().Add(driveLimit)
	for {
		select {
		case err := <-result:
			if err != nil && errors.Is(context.Cause(ctx), errStuck) {
				return s.stuck(what + " does not end")
			}
			return err
		case <-ctx.Done():
			return s.stuck(what + " does not end")
		default:
		}
		if s.work.Zero(returned) == nil && !s.endsSoon(returned) && s.clock.Sleepers() > 0 {
			if _, err := s.step(limit); err != nil {
				return err
			}
		}
	}
}

const (
	driveLimit = time.Hour
	// driveGrace is how long, in wall time, something may go on in a quiet
	// world before the clock moves for it.
	driveGrace = 5 * time.Millisecond
)

// endsSoon reports whether ctx ends, or the world gets busy, within the grace.
func (s *stage) endsSoon(ctx context.Context) bool {
	_, before := s.work.State()
	if (clock.Real{}).Sleep(ctx, driveGrace) != nil {
		return true
	}
	n, after := s.work.State()
	return n != 0 || before != after
}
