package delivery

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/store"
)

// What a message costs at 64 busy conversations, next to its bare rows: posts
// and receipts written by as many writers in the same number of transactions.
func BenchmarkDelivery(b *testing.B) {
	const conversations = 64
	for _, native := range []bool{true, false} {
		b.Run(fmt.Sprintf("native=%v", native), func(b *testing.B) {
			r := newRig(b, b.TempDir(), native, nil)
			defer r.down()
			inTurns(b, conversations, func(i int) {
				row := message("An answer of ordinary length, as most answers are.")
				row.Address = address(fmt.Sprint(i%conversations), "")
				require.NoError(b, r.tx(func(tx *store.Tx) error {
					_, _, err := r.s.Post(tx, row)
					return err
				}))
			})
			r.quiet()
			require.Len(b, r.platform.posts, b.N)
		})
		b.Run(fmt.Sprintf("rows/native=%v", native), func(b *testing.B) {
			r := newRig(b, b.TempDir(), native, nil)
			defer r.down()
			r.s.Stop(context.Background())
			inTurns(b, conversations, func(i int) {
				row := message("An answer of ordinary length, as most answers are.")
				row.Address = address(fmt.Sprint(i%conversations), "")
				require.NoError(b, r.tx(func(tx *store.Tx) (err error) {
					row.ID, _, err = tx.InsertOutbox(row)
					return err
				}))
				if !native {
					require.NoError(b, r.tx(func(tx *store.Tx) error {
						_, err := tx.MarkSending(row.ID, 1, false)
						return err
					}))
				}
				require.NoError(b, r.tx(func(tx *store.Tx) error {
					_, err := tx.RecordReceipt(row.ID, 0, "m", true, 1)
					return err
				}))
			})
		})
	}
}

// inTurns runs f b.N times by n writers.
func inTurns(b *testing.B, n int, f func(i int)) {
	b.Helper()
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range n {
		wg.Go(func() {
			for i := w; i < b.N; i += n {
				f(i)
			}
		})
	}
	wg.Wait()
}
