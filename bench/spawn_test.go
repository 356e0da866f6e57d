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

// finish adds n children of a session, with all that is kept of them: half of
// them ended two hours ago and are archived, half ended a minute ago.
func (s *spawner) finish(tb testing.TB, requester int64, n int) {
	tb.Helper()
	fill(tb, s.app.DB(), n, func(tx *store.Tx, i int) error {
		s.runs++
		at, archived := core.ToMillis(time.Now().Add(-time.Minute)), i%2 == 0
		if archived {
			at = core.ToMillis(time.Now().Add(-2 * time.Hour))
		}
		run, err := s.finished(tx, requester, at)
		if err != nil || !archived {
			return err
		}
		return tx.ArchiveSession(run.Session, at)
	})
}

// finished adds a child that asked for nothing, called one tool and was told of.
func (s *spawner) finished(tx *store.Tx, requester int64, at core.Millis) (core.Run, error) {
	id := fmt.Sprintf("0%09d", s.runs)
	child, err := tx.InsertSession(store.Session{
		Key: core.SubagentKey("main", "old"+id).String(), Agent: "main", Kind: core.SessionSubagent, Parent: requester, Depth: 1, CreatedAt: at, UsedAt: at,
	})
	if err != nil {
		return core.Run{}, err
	}
	r := core.Run{
		ID: id, Root: fmt.Sprintf("session:%d", requester), TaskID: "t" + id, Session: child.ID, SessionKey: child.Key, Requester: requester,
		RequesterTurn: int64(1_000_000 + s.runs), Ordinal: s.runs, Completion: 1, Depth: 1, Role: "leaf", Agent: "main", Task: "an old piece of work",
		CreatedAt: at, Status: core.RunRunning, Delivery: core.DeliveryPending,
	}
	if err := tx.InsertRun(r); err != nil {
		return r, err
	}
	turn, err := tx.InsertTurn(store.Turn{Session: child.ID, Generation: 1, Run: id, Kind: store.InboxTask, Lane: store.LaneSubagent, Request: r.RequesterTurn, Started: at})
	if err != nil {
		return r, err
	}
	for seq, kind := range []string{"task", "assistant", "tool", "assistant"} {
		if _, err := tx.AppendRow(store.Row{Session: child.ID, Generation: 1, Turn: turn.ID, Seq: seq, Kind: kind, Body: `{"text":"work"}`, At: at}); err != nil {
			return r, err
		}
	}
	if err := tx.StartStep(store.Step{Turn: turn.ID, Seq: 2, CallID: "c", Tool: "web_fetch"}, at); err != nil {
		return r, err
	}
	if err := tx.FinishStep(turn.ID, 2, at); err != nil {
		return r, err
	}
	if err := tx.EndTurn(turn.ID, store.TurnDone, "", core.Usage{TokensIn: 100, TokensOut: 10}, at); err != nil {
		return r, err
	}
	row, _, err := tx.InsertOutbox(store.Outbox{
		OnceKey: "old/" + id, Kind: store.OutFinal, Address: core.Address{Channel: "console", Account: "default", Conversation: "old"},
		Text: "It was done.", Session: requester, Tells: []string{id}, At: at,
	})
	if err != nil {
		return r, err
	}
	if _, err = tx.RecordReceipt(row, 0, "m"+id, true, at); err != nil {
		return r, err
	}
	_, err = tx.EndRun(id, core.RunOK, "", "it was done", false, core.DeliveryDelivered, at)
	return r, err
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
// many finished children of all chats together in the ledger. Its processor time
// is that from the message to the result of the call; what ends of the one before
// falls into it too.
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
	var spent time.Duration
	for b.Loop() {
		began := cpu()
		took = append(took, s.spawn(b, fmt.Sprint("g", n%chats)))
		spent += cpu() - began
		list = append(list, s.list(b))
		n++
	}
	b.ReportMetric(float64(quantile(took, .5).Microseconds()), "spawn-p50-µs")
	b.ReportMetric(float64(quantile(took, .99).Microseconds()), "spawn-p99-µs")
	b.ReportMetric(float64(spent.Microseconds())/float64(n), "cpu-µs/spawn")
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
