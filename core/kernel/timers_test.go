package kernel_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// deadlines is a source with one deadline; fired is called when it comes.
type deadlines struct {
	name  string
	due   atomic.Int64
	fired func(tx *store.Tx, now core.Millis)
}

func (d *deadlines) Name() string                        { return d.name }
func (d *deadlines) Next(*store.Tx) (core.Millis, error) { return core.Millis(d.due.Load()), nil }

func (d *deadlines) Fire(tx *store.Tx, now core.Millis) (int, error) {
	d.due.Store(0)
	d.fired(tx, now)
	return 1, nil
}

// A deadline that comes up while others fire is not missed, whether its source
// was looked at already or not.
func TestADeadlineThatComesWhileOthersFire(t *testing.T) {
	for _, before := range []bool{true, false} {
		path := place(t)
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, path)
			defer g.close()
			var late atomic.Int64
			later := &deadlines{name: "later", fired: func(_ *store.Tx, now core.Millis) { late.Store(int64(now)) }}
			first := &deadlines{name: "first", fired: func(tx *store.Tx, now core.Millis) {
				due := now.Add(time.Hour)
				later.due.Store(int64(due))
				tx.OnCommit(func() { g.k.Due(due) })
			}}
			due := g.world.Now().Add(time.Minute)
			first.due.Store(int64(due))
			if before {
				g.k.AddSource(later)
			}
			g.k.AddSource(first)
			if !before {
				g.k.AddSource(later)
			}
			g.start()
			sleep(3 * time.Hour)
			synctest.Wait()
			require.InDelta(t, int64(due.Add(time.Hour)), late.Load(), 1000)
		})
	}
}
