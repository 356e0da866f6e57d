package bench_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/skein-bot/skein/core/model"
)

type modelRequest = model.Request

// BenchmarkMessageOneAtATime is the latency of an idle system: message in, the
// model called, the answer out. Between two messages the same rows are written
// in one bare commit, to a store of its own on the same disk: the limit.
func BenchmarkMessageOneAtATime(b *testing.B) { oneAtATime(b, newRig(b), newBare(b)) }

// committer is the limit beside which messages are measured.
type committer interface {
	commit(tb testing.TB) time.Duration
}

// oneAtATime sends one message after the other, with a bare commit between two.
func oneAtATime(b *testing.B, r *rig, bare committer) {
	b.Helper()
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
	report := func(d []time.Duration, q float64, name string) {
		b.ReportMetric(float64(quantile(d, q).Microseconds()), name)
	}
	report(limit, .5, "bare-p50-µs")
	report(limit, .99, "bare-p99-µs")
	report(in, .5, "intake-p50-µs")
	report(toModel, .5, "model-p50-µs")
	report(toModel, .99, "model-p99-µs")
	report(toAnswer, .5, "answer-p50-µs")
	b.ReportMetric(float64(quantile(toModel, .5))/float64(quantile(limit, .5)), "model/bare-p50")
	b.ReportMetric(float64(quantile(toModel, .99))/float64(quantile(limit, .99)), "model/bare-p99")
	b.ReportMetric(float64(spent.Microseconds())/float64(n), "cpu-µs/msg")
}

// BenchmarkMessage64Sessions is the throughput of 64 conversations at once.
func BenchmarkMessage64Sessions(b *testing.B) { sixtyFour(b, newRig(b)) }

// sixtyFour sends as fast as 64 conversations answer.
func sixtyFour(b *testing.B, r *rig) {
	b.Helper()
	var wg sync.WaitGroup
	began, start := cpu(), time.Now()
	work := make(chan struct{})
	for i := range 64 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range work {
				r.send(b, fmt.Sprintf("g%d", i))
			}
		}()
	}
	n := 0
	for b.Loop() {
		work <- struct{}{}
		n++
	}
	close(work)
	wg.Wait()
	b.ReportMetric(float64(n)/time.Since(start).Seconds(), "msg/s")
	b.ReportMetric(float64((cpu()-began).Microseconds())/float64(n), "cpu-µs/msg")
}
