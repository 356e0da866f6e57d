package convtest

import (
	"context"
	"sync"

	"github.com/skein-bot/skein/core/world"
)

// watch sees every pass of a crash point in all lives of a runtime. It decides
// where the world is cut: at the point that a `crash` line named, or at the
// chosen pass of a random kill.
type watch struct {
	mu     sync.Mutex
	armed  string // by `crash`
	passes int    // those that a random kill may choose
	killAt int    // the pass of the random kill, counted from 1; 0 for none
	masked bool   // a command runs
	end    context.CancelFunc
	// fired is the point at which the world was cut, until it is taken.
	fired  string
	random bool   // the cut was the random kill
	killed string // where the random kill was, once it was
}

// attach makes a new world's crash points known. The returned context ends when
// one of them cuts it.
func (w *watch) attach(to *world.World) context.Context {
	ctx, end := context.WithCancel(context.Background())
	w.mu.Lock()
	w.end, w.fired, w.random = end, "", false
	w.mu.Unlock()
	to.Arm(world.AnyPoint, 1, world.TrapWatch, func(point string) {
		if w.pass(point) {
			to.Cut()
			end()
		}
	})
	return ctx
}

// pass counts a pass and says whether the world ends here.
func (w *watch) pass(point string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fired != "" {
		return false
	}
	if !w.masked {
		w.passes++
	}
	switch {
	case w.armed == point:
		w.armed, w.fired = "", point
	case w.killAt > 0 && w.passes >= w.killAt && !w.masked && w.killed == "":
		w.killed, w.fired, w.random = point, point, true
	default:
		return false
	}
	return true
}

// arm makes the next pass of a point cut the world.
func (w *watch) arm(point string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = point
}

// pending returns the point that is armed, "" if none.
func (w *watch) pending() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.armed
}

// mask keeps the random kill away while a command runs: a person who sees a
// command fail decides what to do, a script cannot.
func (w *watch) mask(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.masked = on
}

// hit returns where the world was cut, "" if it was not, and whether that was
// the random kill.
func (w *watch) hit() (point string, random bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fired, w.random
}

// count returns how many passes a random kill may choose from, and where it
// was.
func (w *watch) count() (passes int, killed string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.passes, w.killed
}

// detach ends what attach returned.
func (w *watch) detach() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end != nil {
		w.end()
	}
	w.fired, w.random = "", false
}
