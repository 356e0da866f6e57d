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
// model called, the answer out.
func BenchmarkMessageOneAtATime(b *testing.B) {
	r := newRig(b)
	for range 200 {
		r.send(b, "warm")
	}
	var in, toModel, toAnswer []time.Duration
	began := cpu()
	n := 0
	for b.Loop() {
		x, y, z := r.send(b, fmt.Sprintf("g%d", n%16))
		in, toModel, toAnswer = append(in, x), append(toModel, y), append(toAnswer, z)
		n++
	}
	b.ReportMetric(float64(quantile(in, .5).Microseconds()), "intake-p50-µs")
	b.ReportMetric(float64(quantile(toModel, .5).Microseconds()), "model-p50-µs")
	b.ReportMetric(float64(quantile(toModel, .99).Microseconds()), "model-p99-µs")
	b.ReportMetric(float64(quantile(toAnswer, .5).Microseconds()), "answer-p50-µs")
	b.ReportMetric(float64((cpu()-began).Microseconds())/float64(n), "cpu-µs/msg")
}

// BenchmarkMessage64Sessions is the throughput of 64 conversations at once.
func BenchmarkMessage64Sessions(b *testing.B) {
	r := newRig(b)
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
