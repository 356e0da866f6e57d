package bench_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
)

// BenchmarkThreadWhileBusy is the time from a message in a sub-agent's thread to
// the model, with a hundred children of others at work or queued beside it: the
// lane of background work is full, and the message does not wait for it.
func BenchmarkThreadWhileBusy(b *testing.B) { whileBusy(b, "sqlite:skein.db") }

// BenchmarkPostgresThreadWhileBusy is BenchmarkThreadWhileBusy on PostgreSQL.
func BenchmarkPostgresThreadWhileBusy(b *testing.B) {
	if address, ok := server(b); ok {
		whileBusy(b, pgtest.New(b, address))
	}
}

func whileBusy(b *testing.B, storeURL string) {
	b.Helper()
	call := `{ tool: "sessions_spawn", args: { task: "busy", expectsCompletionMessage: false } },`
	// Seven chats ask for fifteen each; the model of a child is silent.
	r := newRigAt(b, storeURL, `{ rules: [
		{ when: { user: "/^message [1-7]$/" }, call: [`+strings.Repeat(call, 15)+`] },
		{ when: { task: "/busy/" }, delay: "1h", say: "NO_REPLY" },
		{ when: { lastTool: "sessions_spawn" }, say: "NO_REPLY" },
	] }`, nil)
	const threads = 64 // so that none has a history that takes long to read
	for i := range threads {
		guide(b, r, fmt.Sprint("thread", i))
	}
	for i := range 7 {
		require.NoError(b, r.intake.Receive(b.Context(), core.Message{
			ID: fmt.Sprint("spawn", i), Event: core.EventMessage, Kind: core.Group, Text: fmt.Sprint("message ", i+1), Author: core.Author{ID: "u"},
			Address: core.Address{Conversation: fmt.Sprint("busy", i)},
		}))
	}
	r.n = 10
	for live := 0; live < 100; <-time.After(10 * time.Millisecond) {
		require.NoError(b, r.app.DB().Read(b.Context(), func(tx *store.Tx) error {
			runs, err := tx.LiveRuns(1000)
			live = len(runs)
			return err
		}))
	}
	for i := range threads {
		r.send(b, fmt.Sprint("thread", i))
	}
	var toModel []time.Duration
	for b.Loop() {
		_, m, _ := r.send(b, fmt.Sprint("thread", len(toModel)%threads))
		toModel = append(toModel, m)
	}
	b.ReportMetric(float64(quantile(toModel, .5).Microseconds()), "model-p50-µs")
	b.ReportMetric(float64(quantile(toModel, .99).Microseconds()), "model-p99-µs")
}

// guide makes a sub-agent that lives at a place.
func guide(b *testing.B, r *rig, place string) {
	b.Helper()
	now := core.ToMillis(time.Now())
	require.NoError(b, r.app.DB().Write(b.Context(), func(tx *store.Tx) error {
		s, err := tx.InsertSession(store.Session{Key: core.SubagentKey("main", place).String(), Agent: "main", Kind: core.SessionSubagent, CreatedAt: now, UsedAt: now})
		if err != nil {
			return err
		}
		return tx.InsertBinding(core.Binding{
			ID: place, Address: core.Address{Channel: "console", Account: "default", Conversation: place}, Session: s.ID, SessionKey: s.Key, Agent: "main",
			Status: core.BindingActive, Target: core.TargetSubagent, BoundAt: now, LastActivity: now, Due: now.Add(24 * time.Hour),
		})
	}))
}
