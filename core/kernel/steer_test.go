package kernel_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
)

// A message to a run is taken by the turns of that run and by no other, whatever
// the queue mode, the place and the policy are.
func TestAMessageToARunIsTakenByItsTurns(t *testing.T) {
	steer := func(run string) func(*store.Inbox) {
		return func(r *store.Inbox) {
			r.Kind, r.Lane, r.ForRun, r.Policy = store.InboxSteer, store.LaneSubagent, run, "other"
		}
	}
	task := func(r *store.Inbox) {
		r.Kind, r.Lane, r.Run, r.ReplyTo = store.InboxTask, store.LaneSubagent, "r", core.Address{Channel: "c", Conversation: "x"}
	}
	for _, c := range []struct {
		name string
		send func(g *rig)
		want []string
	}{
		{"with its task", func(g *rig) {
			g.send("k", "task", task)
			g.send("k", "+go", steer("r"))
			g.send("k", "stray", steer("q"))
			g.start()
		}, []string{"task+go", "stray"}},
		{"at a boundary", func(g *rig) {
			g.start()
			g.send("k", "task", task)
			sleep(time.Second)
			g.send("k", "+go", steer("r"))
			g.send("k", "stray", steer("q"))
		}, []string{"task+go", "stray"}},
		{"not in a turn of a person", func(g *rig) {
			g.start()
			g.send("k", "hello", nil)
			sleep(time.Second)
			g.send("k", "go", steer("r"))
			g.send("k", " on", steer("r"))
		}, []string{"hello", "go on"}},
		{"with an outcome", func(g *rig) {
			g.send("k", "outcome", func(r *store.Inbox) { r.Kind, r.ForRun, r.Ordinal = store.InboxCompletion, "r", 1 })
			g.send("k", "go+", steer("r"))
			g.start()
		}, []string{"go+outcome"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, place(t))
				defer g.close()
				g.mode = kernel.QueueFollowup
				var turns []string
				g.r.hook = func(ctx context.Context, l *kernel.Lease) error {
					text := ""
					note := func(rows []store.Row) {
						for _, row := range rows {
							text += row.Body
						}
					}
					note(l.Input)
					if err := g.world.Clock.Sleep(ctx, 5*time.Second); err != nil {
						return err
					}
					var steered []store.Row
					err := l.Step(ctx, func(tx *store.Tx) (err error) { // it may run twice
						steered, err = l.TakeSteer(tx)
						return err
					})
					note(steered)
					turns = append(turns, text)
					return err
				}
				c.send(g)
				sleep(time.Minute)
				synctest.Wait()
				require.Equal(t, c.want, turns)
			})
		})
	}
}
