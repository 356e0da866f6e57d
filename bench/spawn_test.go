package bench_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// BenchmarkSpawn is the time from the model's call of sessions_spawn to the
// model's next request with the result, with 1,000 sessions present: the
// journal of the answer, of the call, and the spawn itself.
func BenchmarkSpawn(b *testing.B) {
	const rules = `{ rules: [
		{ when: { user: "/^message/" }, call: [{ tool: "sessions_spawn", args: { task: "work", expectsCompletionMessage: false } }] },
		{ when: { lastTool: "sessions_spawn" }, say: "spawned" },
		{ when: { task: "/work/" }, say: "NO_REPLY" },
	] }`
	asked := make(chan time.Time, 1)
	done := make(chan time.Duration, 1)
	r := newRigWith(b, rules, func(req modelRequest) {
		switch last := req.Items[len(req.Items)-1]; {
		case last.Kind == model.User && last.Text[0] == 'm':
			asked <- time.Now()
		case last.Kind == model.ToolOutput:
			if last.Failed {
				b.Errorf("refused: %s", last.Text)
			}
			done <- time.Since(<-asked)
		}
	})
	fill(b, r.app.DB(), 1000, func(tx *store.Tx, i int) error {
		_, err := tx.InsertSession(store.Session{Key: core.SubagentKey("main", fmt.Sprint(i)).String(), Agent: "main", Kind: core.SessionSubagent, CreatedAt: 1, UsedAt: 1})
		return err
	})
	var took []time.Duration
	n := 0
	for b.Loop() {
		n++
		if err := r.intake.Receive(b.Context(), core.Message{
			ID: fmt.Sprint(n), Event: core.EventMessage, Kind: core.Group, Text: "message", Author: core.Author{ID: "u"},
			Address: core.Address{Conversation: fmt.Sprintf("g%d", n%64)},
		}); err != nil {
			b.Fatal(err)
		}
		took = append(took, <-done)
	}
	b.ReportMetric(float64(quantile(took, .5).Microseconds()), "spawn-p50-µs")
	b.ReportMetric(float64(quantile(took, .99).Microseconds()), "spawn-p99-µs")
}
