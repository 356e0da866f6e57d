package bench_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/target"
)

// work is what an operation asked of the database, by statement.
type work struct {
	statements, pages map[string]int
}

// watch returns what a store was asked for while f ran.
func watch(db *store.DB, f func()) work {
	w := work{statements: map[string]int{}, pages: map[string]int{}}
	var mu sync.Mutex
	defer db.Watch(func(s store.Statement) {
		// Retention looks at the oldest rows of each table when its time has come.
		if strings.Contains(s.Query, "AS head") {
			return
		}
		q := strings.Join(strings.Fields(s.Query), " ")
		mu.Lock()
		defer mu.Unlock()
		w.statements[q]++
		w.pages[q] += s.Pages
	})()
	f()
	return w
}

func (w work) total() (pages int) {
	for _, n := range w.pages {
		pages += n
	}
	return pages
}

// spawnToEnd has a chat spawn, and waits until the child has ended.
func (s *spawner) spawnToEnd(tb testing.TB, chat string) {
	tb.Helper()
	s.spawn(tb, chat)
	requester := s.session(tb, chat)
	require.Eventually(tb, func() bool {
		live := 1
		require.NoError(tb, s.app.DB().Read(tb.Context(), func(tx *store.Tx) error {
			runs, err := tx.LiveChildrenOf(requester)
			live = len(runs)
			return err
		}))
		return live == 0
	}, time.Minute, time.Millisecond)
}

// TestFinishedChildrenCostNothing: a chat with 10,000 finished children asks of
// the database for a spawn, from the message to the child's end, and for each of
// the lists, what a chat with 60 does. Counted are the pages of the file that
// each statement looks at: they do not depend on how busy the machine is, and a
// statement that reads all finished children, their turns, steps, messages or
// transcripts looks at hundreds.
func TestFinishedChildrenCostNothing(t *testing.T) {
	const finished = 10_000
	s := newSpawner(t, "sqlite:skein.db")
	for range 3 {
		s.spawnToEnd(t, "few")
		s.spawnToEnd(t, "many")
	}
	few, many := s.session(t, "few"), s.session(t, "many")
	s.finish(t, few, 60)
	s.spawnToEnd(t, "few")
	before := map[string]work{"a spawn": watch(s.app.DB(), func() { s.spawnToEnd(t, "few") })}
	for name, question := range s.questions() {
		before[name] = s.ask(t, few, question)
	}
	s.finish(t, many, finished)
	s.spawnToEnd(t, "many")
	after := map[string]work{"a spawn": watch(s.app.DB(), func() { s.spawnToEnd(t, "many") })}
	for name, question := range s.questions() {
		after[name] = s.ask(t, many, question)
	}
	for name, w := range after {
		t.Logf("%s: %d pages, %d with few", name, w.total(), before[name].total())
		for q := range w.statements {
			t.Logf("    %d %s", w.pages[q], q)
			// The trees of a large table are a level deeper. What was not asked before
			// found nothing to look at then.
			most := max(3*before[name].pages[q], 20*w.statements[q])
			require.LessOrEqual(t, w.pages[q], most, "%s: pages of %q", name, q)
		}
	}
}

// questions are what lists and turns ask of a chat's children.
func (s *spawner) questions() map[string]func(tx *store.Tx, chat int64) error {
	recent := core.ToMillis(time.Now().Add(-30 * time.Minute))
	return map[string]func(tx *store.Tx, chat int64) error{
		"news of a turn":     func(tx *store.Tx, chat int64) error { _, err := tx.NewsOf(chat, recent, 9); return err },
		"children of a turn": func(tx *store.Tx, chat int64) error { _, err := tx.ChildrenOfChain(chat, 99); return err },
		"children of a run":  func(tx *store.Tx, _ int64) error { _, err := tx.ChildrenOfRun("0000000001"); return err },
		"open ones of a run": func(tx *store.Tx, chat int64) error { _, err := tx.OpenChildrenOfRun(chat, "0000000001"); return err },
		"tools of a run":     func(tx *store.Tx, _ int64) error { _, err := tx.ToolsOfRun("0000000001"); return err },
		"live children":      func(tx *store.Tx, chat int64) error { _, err := tx.CountLiveRunsOf(chat); return err },
		"live runs of a tree": func(tx *store.Tx, chat int64) error {
			_, err := tx.CountOthersOfTree(fmt.Sprint("session:", chat), "")
			return err
		},
		"descendants":     func(tx *store.Tx, chat int64) error { _, err := tx.Descendants(chat); return err },
		"untold ones":     func(tx *store.Tx, chat int64) error { _, err := tx.BlockedRunsOf(chat, 50); return err },
		"who asked below": func(tx *store.Tx, chat int64) error { _, err := tx.AskingBelow(chat); return err },
		"untold ones of a tree": func(tx *store.Tx, chat int64) error {
			_, err := tx.CountBlocked(fmt.Sprint("session:", chat))
			return err
		},
		"the ledger": func(tx *store.Tx, _ int64) error { _, err := tx.RecentRuns(50); return err },
		"the failed ones": func(tx *store.Tx, _ int64) error {
			_, err := tx.ListRuns(store.RunFilter{Status: core.RunError}, 50)
			return err
		},
		"a list since a moment ago": func(tx *store.Tx, chat int64) error {
			_, err := target.Finder{Tx: tx, Session: chat, Since: core.ToMillis(time.Now()), Tree: true}.All()
			return err
		},
	}
}

func (s *spawner) ask(tb testing.TB, chat int64, question func(tx *store.Tx, chat int64) error) work {
	tb.Helper()
	return watch(s.app.DB(), func() {
		require.NoError(tb, s.app.DB().Read(tb.Context(), func(tx *store.Tx) error { return question(tx, chat) }))
	})
}

// TestAnOrdinaryMessageAsksLittle: a message and its answer in a chat without
// sub-agents take so many statements and not more, and none of them is about
// sub-agents.
func TestAnOrdinaryMessageAsksLittle(t *testing.T) {
	const messages, most = 20, 26
	r := newRig(t)
	for range 5 {
		r.send(t, "g")
	}
	w := watch(r.app.DB(), func() {
		for range messages {
			r.send(t, "g")
		}
	})
	n := 0
	for q, times := range w.statements {
		t.Logf("%5.1f %s", float64(times)/messages, q)
		n += times
		for _, table := range []string{"run", "wait", "binding", "spawn_key", "attachment", "worktree", "intent", "withheld"} {
			require.NotRegexp(t, `\b(FROM|JOIN|INTO|UPDATE) `+table+`\b`, q)
		}
	}
	// The receipt of the last answer may come after it, and one from before.
	require.LessOrEqual(t, n, most*messages+most/2)
	require.Greater(t, n, messages, "they were counted")
}
