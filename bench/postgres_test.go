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

func (c *bareCommit) commit(b *testing.B) time.Duration {
	b.Helper()
	began := time.Now()
	_, err := c.conn.Exec(b.Context(), "INSERT INTO bare (body) VALUES ($1)", "a message of a person, as long as people write")
	require.NoError(b, err)
	return time.Since(began)
}

// BenchmarkPostgresOneAtATime is BenchmarkMessageOneAtATime on PostgreSQL, beside
// a bare commit of one row on the same server.
func BenchmarkPostgresOneAtATime(b *testing.B) {
	r, address, ok := newPostgresRig(b)
	if !ok {
		return
	}
	bare := newBareCommit(b, address)
	for range 200 {
		r.send(b, "warm")
		bare.commit(b)
	}
	var in, toModel, toAnswer, limit []time.Duration
	var spent time.Duration
	n := 0
	for b.Loop() {
		limit = append(limit, bare.commit(b))
		began := cpu()
		x, y, z := r.send(b, fmt.Sprintf("g%d", n%16))
		spent += cpu() - began
		in, toModel, toAnswer = append(in, x), append(toModel, y), append(toAnswer, z)
		n++
	}
	for _, m := range []struct {
		name string
		of   []time.Duration
		q    float64
	}{
		{"bare-p50-µs", limit, .5}, {"bare-p99-µs", limit, .99}, {"intake-p50-µs", in, .5}, {"model-p50-µs", toModel, .5},
		{"model-p99-µs", toModel, .99}, {"answer-p50-µs", toAnswer, .5},
	} {
		b.ReportMetric(float64(quantile(m.of, m.q).Microseconds()), m.name)
	}
	b.ReportMetric(float64(spent.Microseconds())/float64(n), "cpu-µs/msg")
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
