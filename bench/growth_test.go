package bench_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// fill runs make for 0..n-1 in transactions of a thousand.
func fill(tb testing.TB, db *store.DB, n int, one func(tx *store.Tx, i int) error) {
	tb.Helper()
	for from := 0; from < n; from += 1000 {
		require.NoError(tb, db.Write(context.Background(), func(tx *store.Tx) error {
			for i := from; i < min(from+1000, n); i++ {
				if err := one(tx, i); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// BenchmarkGrowthSessions is the cost of a message with many sessions in the
// store: it must stay flat.
func BenchmarkGrowthSessions(b *testing.B) {
	for _, n := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := newRig(b)
			fill(b, r.app.DB(), n, func(tx *store.Tx, i int) error {
				_, err := tx.InsertSession(store.Session{
					Key:   core.GroupKey("main", core.Address{Channel: "console", Account: "default", Conversation: fmt.Sprintf("other%d", i)}).String(),
					Agent: "main", Kind: core.SessionGroup, CreatedAt: 1, UsedAt: 1,
				})
				return err
			})
			measureCPU(b, r)
		})
	}
}

// BenchmarkGrowthTranscript is the cost of a message with a long transcript
// behind a compaction: it must stay flat.
func BenchmarkGrowthTranscript(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := newRig(b)
			for i := range 16 {
				r.send(b, fmt.Sprintf("g%d", i))
			}
			var sessions []store.Session
			require.NoError(b, r.app.DB().Read(context.Background(), func(tx *store.Tx) (err error) {
				sessions, err = tx.Sessions(false, 100)
				return err
			}))
			for _, s := range sessions {
				fill(b, r.app.DB(), n, func(tx *store.Tx, i int) error {
					_, err := tx.AppendRow(store.Row{Session: s.ID, Generation: 1, Kind: "message", Body: `{"kind":"user","text":"an old message of some length"}`, At: 1})
					return err
				})
				require.NoError(b, r.app.DB().Write(context.Background(), func(tx *store.Tx) error {
					summary := model.Item{Kind: model.Compacted, Text: "What was said before.", Compaction: &model.Compaction{By: model.CompactedByModel, Rows: n}}
					row, err := tx.AppendRow(store.Row{Session: s.ID, Generation: 1, Kind: string(model.Compacted), Body: summary.Encode(), At: 1})
					if err != nil {
						return err
					}
					return tx.SetContextFrom(s.ID, row)
				}))
			}
			measureCPU(b, r)
		})
	}
}

func measureCPU(b *testing.B, r *rig) {
	b.Helper()
	for range 100 {
		r.send(b, "warm")
	}
	began, n := cpu(), 0
	for b.Loop() {
		r.send(b, fmt.Sprintf("g%d", n%16))
		n++
	}
	b.ReportMetric(float64((cpu()-began).Microseconds())/float64(n), "cpu-µs/msg")
}

// BenchmarkBindingProbe is a look-up of the live binding of a place in the
// store, hit and miss.
func BenchmarkBindingProbe(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			bare := newBare(b)
			fill(b, bare.db, n, func(tx *store.Tx, i int) error {
				return tx.InsertBinding(core.Binding{
					ID: fmt.Sprintf("b%09d", i), Address: core.Address{Channel: "console", Account: "default", Conversation: fmt.Sprintf("c%d", i/10), Thread: fmt.Sprint(i % 10)},
					Session: int64(i), Status: core.BindingActive, Target: core.TargetSubagent, BoundAt: 1, LastActivity: 1, Due: core.Millis(i + 1),
				})
			})
			i := 0
			for b.Loop() {
				i = (i*7919 + 1) % n
				require.NoError(b, bare.db.Read(context.Background(), func(tx *store.Tx) error {
					for range 100 { // one snapshot, many probes
						i = (i*7919 + 1) % n
						place := core.Place{Channel: "console", Account: "default", Conversation: fmt.Sprintf("c%d", i/10), Thread: fmt.Sprint(i % 10)}
						if _, ok, err := tx.BindingAt(place); err != nil || !ok {
							return fmt.Errorf("%v: %v %w", place, ok, err)
						}
					}
					return nil
				}))
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/100, "µs/probe")
		})
	}
}
