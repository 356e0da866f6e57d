package bench_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
)

// spawner is a rig whose chats spawn a child with each message.
type spawner struct {
	*rig
	asked chan time.Time
	done  chan time.Duration
	sent  int
	runs  int
}

func newSpawner(tb testing.TB, storeURL string) *spawner {
	tb.Helper()
	const rules = `{ rules: [
		{ when: { user: "/^message/" }, call: [{ tool: "sessions_spawn", args: { task: "work", expectsCompletionMessage: false } }] },
		{ when: { lastTool: "sessions_spawn" }, say: "spawned" },
		{ when: { task: "/work/" }, say: "NO_REPLY" },
	] }`
	s := &spawner{asked: make(chan time.Time, 1), done: make(chan time.Duration, 1)}
	s.rig = newRigAt(tb, storeURL, rules, func(req modelRequest) {
		switch last := req.Items[len(req.Items)-1]; {
		case last.Kind == model.User && last.Text[0] == 'm':
			s.asked <- time.Now()
		case last.Kind == model.ToolOutput:
			if last.Failed {
				tb.Errorf("refused: %s", last.Text)
			}
			s.done <- time.Since(<-s.asked)
		}
	})
	fill(tb, s.app.DB(), 1000, func(tx *store.Tx, i int) error {
		_, err := tx.InsertSession(store.Session{Key: core.SubagentKey("main", fmt.Sprint(i)).String(), Agent: "main", Kind: core.SessionSubagent, CreatedAt: 1, UsedAt: 1})
		return err
	})
	return s
}

// spawn has a chat spawn, and returns the time from the model's call of
// sessions_spawn to its next request with the result: the journal of the answer
// and of the call, and the spawn itself.
func (s *spawner) spawn(tb testing.TB, chat string) time.Duration {
	tb.Helper()
	s.sent++
	require.NoError(tb, s.intake.Receive(tb.Context(), core.Message{
		ID: fmt.Sprint(s.sent), Event: core.EventMessage, Kind: core.Group, Text: "message", Author: core.Author{ID: "u"},
		Address: core.Address{Conversation: chat},
	}))
	return <-s.done
}

// finish adds n children of a session that ended an hour ago.
func (s *spawner) finish(tb testing.TB, requester int64, n int) {
	tb.Helper()
	hourAgo := core.ToMillis(time.Now().Add(-time.Hour))
	fill(tb, s.app.DB(), n, func(tx *store.Tx, _ int) error {
		s.runs++
		id := fmt.Sprintf("0%09d", s.runs)
		child, err := tx.InsertSession(store.Session{
			Key: core.SubagentKey("main", "old"+id).String(), Agent: "main", Kind: core.SessionSubagent, CreatedAt: hourAgo, UsedAt: hourAgo,
		})
		if err != nil {
			return err
		}
		err = tx.InsertRun(core.Run{
			ID: id, Root: fmt.Sprintf("session:%d", requester), TaskID: "t" + id, Session: child.ID, SessionKey: child.Key, Requester: requester,
			RequesterTurn: 1, Ordinal: s.runs, Completion: 1, Depth: 1, Role: "leaf", Agent: "main", Task: "an old piece of work", CreatedAt: hourAgo,
			Status: core.RunRunning, Delivery: core.DeliveryPending,
		})
		if err != nil {
			return err
		}
		if _, err = tx.EndRun(id, core.RunOK, "", "it was done", false, core.DeliveryDelivered, hourAgo); err != nil {
			return err
		}
		return tx.ArchiveSession(child.ID, hourAgo)
	})
}

// session is the id of a chat's session.
func (s *spawner) session(tb testing.TB, chat string) (id int64) {
	tb.Helper()
	key := core.GroupKey("main", core.Address{Channel: "console", Account: "default", Conversation: chat}).String()
	require.NoError(tb, s.app.DB().Read(tb.Context(), func(tx *store.Tx) error {
		x, err := tx.SessionByKey(key)
		id = x.ID
		return err
	}))
	return id
}

// BenchmarkSpawn is the time of a spawn with 1,000 sessions present, and with so
// many finished children of all chats together in the ledger.
func BenchmarkSpawn(b *testing.B) {
	for _, n := range []int{0, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { spawns(b, newSpawner(b, "sqlite:skein.db"), n) })
	}
}

// BenchmarkPostgresSpawn is BenchmarkSpawn on PostgreSQL.
func BenchmarkPostgresSpawn(b *testing.B) {
	for _, n := range []int{0, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			if address, ok := server(b); ok {
				spawns(b, newSpawner(b, pgtest.New(b, address)), n)
			}
		})
	}
}

func spawns(b *testing.B, s *spawner, finished int) {
	b.Helper()
	const chats = 64
	for i := range chats {
		s.spawn(b, fmt.Sprint("g", i))
		s.finish(b, s.session(b, fmt.Sprint("g", i)), finished/chats)
	}
	var took, list []time.Duration
	n := 0
	for b.Loop() {
		took = append(took, s.spawn(b, fmt.Sprint("g", n%chats)))
		list = append(list, s.list(b))
		n++
	}
	b.ReportMetric(float64(quantile(took, .5).Microseconds()), "spawn-p50-µs")
	b.ReportMetric(float64(quantile(took, .99).Microseconds()), "spawn-p99-µs")
	b.ReportMetric(float64(quantile(list, .5).Microseconds()), "list-p50-µs")
}

// list takes the time of the first page of the ledger.
func (s *spawner) list(tb testing.TB) time.Duration {
	tb.Helper()
	began := time.Now()
	require.NoError(tb, s.app.DB().Read(tb.Context(), func(tx *store.Tx) error {
		_, err := tx.RecentRuns(50)
		return err
	}))
	return time.Since(began)
}

// TestFinishedChildrenCostNothing: what a spawn, a turn and the lists ask of the
// ledger takes as long with 10,000 finished children as without. The fastest of
// many tries are compared, with room for noise: what scans them all is over the
// bound by far.
func TestFinishedChildrenCostNothing(t *testing.T) {
	const rounds, most = 30, 10
	s := newSpawner(t, "sqlite:skein.db")
	s.spawn(t, "few")
	s.spawn(t, "many")
	s.finish(t, s.session(t, "few"), 60)
	ids := [2]int64{s.session(t, "few"), s.session(t, "many")}
	recent := core.ToMillis(time.Now().Add(-30 * time.Minute))
	questions := map[string]func(tx *store.Tx, chat int64) error{
		"children of a chat": func(tx *store.Tx, chat int64) error { _, err := tx.RunsOf(chat, recent); return err },
		"children of a turn": func(tx *store.Tx, chat int64) error { _, err := tx.ChildrenOfChain(chat, 99); return err },
		"live children":      func(tx *store.Tx, chat int64) error { _, err := tx.CountLiveRunsOf(chat); return err },
		"live runs of a tree": func(tx *store.Tx, chat int64) error {
			_, err := tx.CountLiveRunsOfTree(fmt.Sprint("session:", chat))
			return err
		},
		"the ledger": func(tx *store.Tx, _ int64) error { _, err := tx.RecentRuns(50); return err },
		"the failed ones": func(tx *store.Tx, _ int64) error {
			_, err := tx.ListRuns(store.RunFilter{Status: core.RunError}, 50)
			return err
		},
	}
	ask := func(chat int64, question func(tx *store.Tx, chat int64) error) time.Duration {
		fastest := time.Hour
		for range rounds {
			require.NoError(t, s.app.DB().Read(t.Context(), func(tx *store.Tx) error {
				began := time.Now()
				err := question(tx, chat)
				fastest = min(fastest, time.Since(began))
				return err
			}))
		}
		return fastest
	}
	before := make(map[string]time.Duration)
	for name, question := range questions {
		before[name] = ask(ids[0], question)
	}
	s.finish(t, ids[1], 10_000)
	for name, question := range questions {
		after := ask(ids[1], question)
		t.Logf("%s: %v, %v before", name, after, before[name])
		require.Less(t, after, most*before[name]+50*time.Microsecond, name)
	}
}
