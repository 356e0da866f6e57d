package bench_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/store/pgtest"
)

// server starts a PostgreSQL whose commits wait for the disk, on this machine;
// ok is false where none is installed.
func server(b *testing.B) (address string, ok bool) {
	b.Helper()
	s, err := pgtest.Start(b.Context(), pgtest.Settings{Durable: true})
	if errors.Is(err, pgtest.ErrNotInstalled) {
		return "", false
	}
	require.NoError(b, err)
	b.Cleanup(s.Stop)
	return s.URL("postgres"), true
}

// newPostgresRig is a rig on a database of its own.
func newPostgresRig(b *testing.B) (r *rig, address string, ok bool) {
	b.Helper()
	if address, ok = server(b); !ok {
		return nil, "", false
	}
	return newRigAt(b, pgtest.New(b, address), `{ rules: [] }`, nil), address, true
}

// bareCommit is one row in one transaction on the same server: the limit.
type bareCommit struct{ conn *pgx.Conn }

func newBareCommit(b *testing.B, address string) *bareCommit {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), address)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, conn.Close(context.Background())) })
	_, err = conn.Exec(b.Context(), "CREATE TABLE bare (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body TEXT)")
	require.NoError(b, err)
	return &bareCommit{conn}
}

func (c *bareCommit) commit(tb testing.TB) time.Duration {
	tb.Helper()
	began := time.Now()
	_, err := c.conn.Exec(tb.Context(), "INSERT INTO bare (body) VALUES ($1)", "a message of a person, as long as people write")
	require.NoError(tb, err)
	return time.Since(began)
}

// BenchmarkPostgresOneAtATime is BenchmarkMessageOneAtATime on PostgreSQL, beside
// a bare commit of one row on the same server.
func BenchmarkPostgresOneAtATime(b *testing.B) {
	if r, address, ok := newPostgresRig(b); ok {
		oneAtATime(b, r, newBareCommit(b, address))
	}
}

// BenchmarkPostgres64Sessions is the throughput of one node at 64 conversations.
func BenchmarkPostgres64Sessions(b *testing.B) {
	if r, _, ok := newPostgresRig(b); ok {
		sixtyFour(b, r)
	}
}

// BenchmarkPostgresProducer is what one writer gets while 200 conversations are
// busy: each of those has one message on its way at any time.
func BenchmarkPostgresProducer(b *testing.B) {
	r, _, ok := newPostgresRig(b)
	if !ok {
		return
	}
	stop, handled := make(chan struct{}), atomic.Int64{}
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r.send(b, fmt.Sprintf("busy%d", i))
				handled.Add(1)
			}
		})
	}
	var in []time.Duration
	began, before := time.Now(), handled.Load()
	n := 0
	for b.Loop() {
		x, _, _ := r.send(b, fmt.Sprintf("mine%d", n%200))
		in = append(in, x)
		n++
	}
	took := time.Since(began)
	b.ReportMetric(float64(handled.Load()-before)/took.Seconds(), "others-msg/s")
	b.ReportMetric(1/quantile(in, .5).Seconds(), "intake/s")
	b.ReportMetric(float64(quantile(in, .5).Microseconds()), "intake-p50-µs")
	b.ReportMetric(float64(quantile(in, .99).Microseconds()), "intake-p99-µs")
	close(stop)
	wg.Wait()
}
