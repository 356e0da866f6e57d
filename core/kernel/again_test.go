package kernel_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
)

// What comes for a session between the end of its turn and that of its slot is
// served where it belongs: an outcome before new runs, and a person in the lane
// of people, however full the other one is.
func TestWhatComesAtTheEndOfATurn(t *testing.T) {
	for name, c := range map[string]struct {
		comes store.Inbox
		want  []string
	}{
		"outcome": {store.Inbox{Kind: store.InboxCompletion, Lane: store.LaneSubagent}, []string{"run", "comes", "new"}},
		"person":  {store.Inbox{Kind: store.InboxMessage, Lane: store.LaneMain}, []string{"run", "new", "comes"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, place(t))
				defer g.close()
				g.slots[store.LaneSubagent] = 1
				comes := func() {
					g.send("k", "comes", func(r *store.Inbox) { r.Kind, r.Lane = c.comes.Kind, c.comes.Lane })
				}
				g.r.hook = func(ctx context.Context, l *kernel.Lease) error {
					if seen := g.r.seen(); seen[len(seen)-1] != "run" {
						return g.world.Clock.Sleep(ctx, time.Hour)
					}
					g.send("other", "new", func(r *store.Inbox) { r.Kind, r.Lane = store.InboxTask, store.LaneSubagent })
					require.NoError(t, end(ctx, l))
					comes()
					return store.ErrFenced // it is over
				}
				g.start()
				g.send("k", "run", func(r *store.Inbox) { r.Kind, r.Lane = store.InboxTask, store.LaneSubagent })
				sleep(time.Second)
				synctest.Wait()
				if c.comes.Lane == store.LaneMain { // it has waited for nobody
					require.ElementsMatch(t, c.want, g.r.seen())
					return
				}
				require.Equal(t, c.want[:2], g.r.seen())
				sleep(2 * time.Hour)
				synctest.Wait()
				require.Equal(t, c.want, g.r.seen())
			})
		})
	}
}

// A person's message behind an outcome that waits for a slot gets the session a
// slot of people.
func TestAPersonBehindAnOutcomeDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, place(t))
		defer g.close()
		g.slots[store.LaneSubagent] = 1
		g.r.hook = func(ctx context.Context, l *kernel.Lease) error {
			if seen := g.r.seen(); !slices.Contains(seen, "run") || len(seen) != 1 {
				return g.world.Clock.Sleep(ctx, time.Hour)
			}
			g.send("other", "new", func(r *store.Inbox) { r.Kind, r.Lane = store.InboxTask, store.LaneSubagent })
			g.send("k", "outcome", func(r *store.Inbox) { r.Kind, r.Lane = store.InboxTask, store.LaneSubagent })
			g.send("k", "person", nil)
			return nil
		}
		g.start()
		g.send("k", "run", func(r *store.Inbox) { r.Kind, r.Lane = store.InboxTask, store.LaneSubagent })
		sleep(time.Second)
		synctest.Wait()
		require.ElementsMatch(t, []string{"run", "new", "outcome"}, g.r.seen(), "both run at once")
	})
}
