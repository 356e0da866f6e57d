package kernel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
)

// shared is what one turn took: whose it is, and the bodies of its rows.
type shared struct {
	owner string
	rows  []string
}

// TestATurnHasOneAddressAndOnePolicy: whatever waits, comes during turns and
// joins them, by whichever queue mode, a turn only ever takes rows of its own
// reply address and sender policy; each row is taken once, and those of one
// address and policy in their order.
func TestATurnHasOneAddressAndOnePolicy(t *testing.T) {
	modes := []kernel.QueueMode{kernel.QueueSteer, kernel.QueueFollowup, kernel.QueueCollect}
	kinds := []store.InboxKind{store.InboxMessage, store.InboxMessage, store.InboxDropped, store.InboxCompletion, store.InboxWake, store.InboxTask}
	type arrival struct {
		owner string
		kind  store.InboxKind
		after time.Duration
	}
	plans := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) arrival {
		return arrival{
			rapid.SampledFrom([]string{"t|", "t|narrow", "u|"}).Draw(t, "owner"), rapid.SampledFrom(kinds).Draw(t, "kind"),
			time.Duration(rapid.IntRange(0, 3).Draw(t, "after")) * 300 * time.Millisecond,
		}
	}), 1, 8)
	rapid.Check(t, func(rt *rapid.T) {
		mode, plan := rapid.SampledFrom(modes).Draw(rt, "mode"), plans.Draw(rt, "arrivals")
		var turns []shared // one session: one turn at a time
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, place(t))
			defer g.close()
			g.mode = mode
			g.r.hook = func(ctx context.Context, l *kernel.Lease) error {
				took, err := takeAtBoundaries(ctx, g, l)
				turns = append(turns, took)
				return err
			}
			g.start()
			for i, a := range plan {
				sleep(a.after)
				g.send("k", fmt.Sprintf("%d %s %s", i, a.owner, a.kind), func(r *store.Inbox) {
					thread, policy, _ := strings.Cut(a.owner, "|")
					r.ReplyTo = core.Address{Channel: "c", Account: "a", Conversation: "x", Thread: thread}
					r.Policy, r.Kind = policy, a.kind
				})
			}
			sleep(5 * time.Minute)
			synctest.Wait()
		})
		checkShared(rt, turns, len(plan))
	})
}

// takeAtBoundaries is a turn with two boundaries.
func takeAtBoundaries(ctx context.Context, g *rig, l *kernel.Lease) (took shared, err error) {
	took.owner = l.Turn.ReplyTo.Thread + "|" + l.Turn.Policy
	note := func(rows []store.Row) {
		for _, row := range rows {
			took.rows = append(took.rows, row.Body)
		}
	}
	note(l.Input)
	for range 2 {
		if err := g.world.Clock.Sleep(ctx, 400*time.Millisecond); err != nil {
			return took, err
		}
		var rows []store.Row
		err := l.Step(ctx, func(tx *store.Tx) (err error) {
			rows, err = l.TakeSteer(tx)
			return err
		})
		if err != nil {
			return took, err
		}
		note(rows)
	}
	return took, nil
}

func checkShared(t *rapid.T, turns []shared, sent int) {
	var all []string
	last := make(map[string]int)
	for _, turn := range turns {
		for _, body := range turn.rows {
			var i int
			var owner, kind string
			_, err := fmt.Sscan(body, &i, &owner, &kind)
			require.NoError(t, err)
			require.Equal(t, turn.owner, owner, "%v", turns)
			if kind == string(store.InboxMessage) {
				require.GreaterOrEqual(t, i, last[owner], "%v", turns)
				last[owner] = i
			}
			all = append(all, body)
		}
	}
	require.Len(t, all, sent)
	slices.Sort(all)
	require.Len(t, slices.Compact(all), sent, "each is taken once")
}
