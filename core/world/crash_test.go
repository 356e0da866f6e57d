package world_test

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/world"
)

func TestCrashPointsArePromised(t *testing.T) {
	promised := []string{
		"intake.before-commit", "intake.after-commit", "turn.claimed", "model.after-call", "tool.started", "tool.after-call",
		"step.after-commit", "turn.before-end", "turn.after-end", "spawn.after-reserve", "spawn.after-open", "spawn.after-commit",
		"completion.before-claim", "outbox.before-send", "outbox.after-send", "outbox.after-receipt", "binding.before-end",
		"binding.after-end", "timer.fired", "archive.before", "reload.applied",
		"spawn.after-files", "spawn.after-worktree", "worktree.before-remove", "worktree.after-remove",
	}
	points := world.Points()
	require.True(t, slices.IsSorted(points))
	require.Subset(t, points, promised)
	require.Len(t, slices.Compact(slices.Clone(points)), len(points))
	for _, p := range points {
		require.True(t, world.Known(p))
	}
	require.False(t, world.Known("turn.sometime"))
	require.False(t, world.Known(world.AnyPoint), "a pattern is no point")
}

func TestArm(t *testing.T) {
	pass := func(w *world.World, points ...string) (passed int) {
		for _, p := range points {
			if w.Crash(p) != nil {
				break
			}
			passed++
		}
		return passed
	}
	for _, c := range []struct {
		name  string
		point string
		nth   int
		pass  []string
		want  int    // so many of them were passed
		fired string // where it fired
	}{
		{"the next pass", world.TimerFired, 1, []string{world.TurnClaimed, world.TimerFired, world.TurnClaimed}, 1, world.TimerFired},
		{"no count is the next pass", world.TimerFired, 0, []string{world.TimerFired}, 0, world.TimerFired},
		{"the third pass", world.TimerFired, 3, []string{world.TimerFired, world.TimerFired, world.TurnClaimed, world.TimerFired}, 3, world.TimerFired},
		{"any point", world.AnyPoint, 2, []string{world.TimerFired, world.TurnClaimed, world.TurnClaimed}, 1, world.TurnClaimed},
		{"never reached", world.TimerFired, 2, []string{world.TimerFired, world.TurnClaimed}, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, _ := newWorld(1)
			var fired []string
			w.Arm(c.point, c.nth, world.TrapCut, func(name string) { fired = append(fired, name) })
			require.Equal(t, c.want, pass(w, c.pass...))
			if c.fired == "" {
				require.Empty(t, fired)
				require.NoError(t, w.Err())
				return
			}
			require.Equal(t, []string{c.fired}, fired)
			require.Equal(t, world.ErrKilled, w.Err())
			require.Zero(t, pass(w, world.TurnClaimed), "a cut world passes nothing")
			require.Len(t, fired, 1, "a trap fires once")
		})
	}
}

func TestWatch(t *testing.T) {
	w, _ := newWorld(1)
	var seen []string
	w.Arm(world.AnyPoint, 2, world.TrapWatch, func(name string) {
		if seen = append(seen, name); len(seen) == 2 {
			w.Cut()
		}
	})
	require.NoError(t, w.Crash(world.TurnClaimed), "before the second pass nobody is told")
	require.NoError(t, w.Crash(world.TimerFired))
	require.Equal(t, world.ErrKilled, w.Crash(world.TurnAfterEnd), "who is told may cut the world there")
	require.Equal(t, world.ErrKilled, w.Crash(world.TurnClaimed))
	require.Equal(t, []string{world.TimerFired, world.TurnAfterEnd}, seen)
}

func TestDisarm(t *testing.T) {
	w, _ := newWorld(1)
	w.Arm(world.TimerFired, 1, world.TrapCut, nil)
	w.Arm(world.TurnClaimed, 1, world.TrapCut, nil)
	require.NoError(t, w.Crash(world.TimerFired), "arming replaces what was armed")
	w.Disarm()
	require.NoError(t, w.Crash(world.TurnClaimed))
}

// dieVariable makes this test binary run into a trap that kills it.
const dieVariable = "WORLD_TEST_DIE"

func dieWhereAsked() {
	if os.Getenv(dieVariable) == "" {
		return
	}
	w := world.New(clock.Real{}, nil, 1)
	w.Arm(world.TurnAfterEnd, 1, world.TrapSIGKILL, func(name string) { _, _ = os.Stdout.WriteString(name) })
	_ = w.Crash(world.TurnAfterEnd)
	os.Exit(0)
}

func TestTrapKillsTheProcess(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), self)
	child.Env = append(os.Environ(), dieVariable+"=1")
	out, err := child.Output()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal())
	require.Equal(t, world.TurnAfterEnd, string(out))
}
