package delivery

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// A preview that is on the platform without a receipt is found, however long that
// takes and whatever the platform says in between: by then its answer stands
// beside it, or nothing, and it goes.
func TestAPreviewOnItsWayAtItsEndIsTakenAway(t *testing.T) {
	stop := func(r *rig, _ int64) {
		require.NoError(r.t, r.tx(func(tx *store.Tx) error { _, err := r.s.Withdraw(tx, 7); return err }))
	}
	ends := map[string]struct {
		end  func(r *rig, preview int64)
		want []string
	}{
		"answered": {func(r *rig, p int64) { r.write(answer("It is done.", p)) }, []string{"It is done."}},
		"answered elsewhere": {func(r *rig, p int64) {
			row := answer("It is done.", p)
			row.Address = address("d", "")
			r.write(row)
		}, []string{"It is done."}},
		"dropped": {func(r *rig, p int64) {
			require.NoError(r.t, r.tx(func(tx *store.Tx) error { return r.s.DropPreview(tx, p) }))
		}, nil},
		"stopped": {stop, nil},
		"answered, then stopped": {func(r *rig, p int64) {
			row := answer("It is done.", p)
			row.Session = 7
			r.write(row)
			stop(r, p)
		}, nil},
	}
	lost, limited := fault{hang: true, effect: true}, fault{class: core.SendRetryable, after: 20 * time.Second}
	troubles := map[string][]fault{ // the outcomes of the preview's sends, then all is well
		"answered late":           {{slow: SendTimeout - time.Second}},
		"lost once":               {lost},
		"lost for long":           slices.Repeat([]fault{lost}, 12),
		"lost, then told to wait": {lost, limited, limited, {class: core.SendAuth}, {class: core.SendConflict}},
	}
	for ended, end := range ends {
		for troubled, faults := range troubles {
			t.Run(ended+"/"+troubled, func(t *testing.T) {
				t.Parallel()
				r := stream(t, true, nil)
				sends := 0
				r.platform.setScript(func(out core.Outgoing, _ int) fault {
					if !out.Draft || sends == len(faults) {
						return fault{}
					}
					sends++
					return faults[sends-1]
				})
				row := preview("It")
				row.Session = 7
				p := r.post(row)[0]
				require.Equal(t, 1, r.platform.sending())
				end.end(r, p)
				r.advance(25 * time.Minute)
				require.Equal(t, end.want, r.platform.seen())
				require.Equal(t, store.OutWithdrawn, r.row(p).State)
				require.Empty(t, r.givenUp())
			})
		}
	}
}

// A kill between the send of a preview and its receipt: the next process does not
// take the platform's refusal of the second send for the outcome of the first.
func TestAPreviewThatAKillLeftWithoutReceiptIsTakenAway(t *testing.T) {
	for name, class := range map[string]core.SendClass{
		"found": "", "limited": core.SendRetryable, "lost again": core.SendAmbiguous, "no access": core.SendAuth, "another process": core.SendConflict,
	} {
		t.Run(name, func(t *testing.T) {
			r := stream(t, true, nil)
			r.world.Arm(world.OutboxAfterSend, 1, world.TrapCut, func(string) {})
			row := preview("It")
			row.Session = 7
			p := r.post(row)[0]
			require.Error(t, r.world.Err())
			require.Equal(t, []string{"It..."}, r.platform.seen())
			r.platform.setScript(first(2, fault{class: class}))
			r.restart()
			r.drop(p)
			r.advance(time.Minute)
			require.Empty(t, r.platform.seen())
			require.Equal(t, store.OutWithdrawn, r.row(p).State)
		})
	}
}
