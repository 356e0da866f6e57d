package app_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/model/scripted"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
)

// drawnRun is one run of a drawn tree; the first one is the chat. It calls the
// model twice: it sends its children, and then says something.
type drawnRun struct {
	parent, depth int
	budget        int64 // tokens, 0 for none
	uses          [2]int64
	delay         int // milliseconds, of each call; no two are the same
}

func drawTree(t *rapid.T) []drawnRun {
	tree := make([]drawnRun, rapid.IntRange(2, 7).Draw(t, "runs"))
	for n := range tree {
		b := &tree[n]
		b.uses = [2]int64{rapid.Int64Range(0, 90).Draw(t, "first"), rapid.Int64Range(1, 90).Draw(t, "second")}
		b.delay = 1 << n // sums of them are all different
		if n == 0 {
			continue
		}
		for b.parent = rapid.IntRange(0, n-1).Draw(t, "parent"); tree[b.parent].depth == 3; {
			b.parent = tree[b.parent].parent
		}
		b.depth = tree[b.parent].depth + 1
		if rapid.Bool().Draw(t, "limited") {
			b.budget = rapid.Int64Range(1, 250).Draw(t, "budget")
		}
	}
	return tree
}

// rules are what the model does in a tree.
func rules(tree []drawnRun) string {
	var b strings.Builder
	for n := len(tree) - 1; n >= 0; n-- {
		var calls []string
		for c, child := range tree {
			if c == 0 || child.parent != n {
				continue
			}
			budget := ""
			if child.budget > 0 {
				budget = fmt.Sprintf(`, budget: {tokens: %d}`, child.budget)
			}
			calls = append(calls, fmt.Sprintf(`{tool: "sessions_spawn", args: {task: "work", label: "n%d"%s}}`, c, budget))
		}
		calls = append(calls, `{tool: "sessions_yield"}`)
		who := fmt.Sprintf(`task: "/^n%d$/", `, n)
		if n == 0 {
			who = ""
		}
		first, second := tree[n].uses[0], tree[n].uses[1]
		fmt.Fprintf(&b, "{when: {%suser: \"/./\"}, delay: \"%dms\", call: [%s], usage: {in: %d, out: 0}},\n", who, tree[n].delay, strings.Join(calls, ", "), first)
		fmt.Fprintf(&b, "{when: {%ssystem: \"/./\"}, delay: \"%dms\", say: \"done\", usage: {in: 0, out: %d}},\n", who, tree[n].delay, second)
	}
	return b.String()
}

// TestBudgetsOfTrees: in any tree with any budgets no run begins a model call
// when a limit that holds for it is used up; what was spent is what the turns
// say, of the request and of each run; and a limit is passed by calls in flight
// only.
func TestBudgetsOfTrees(t *testing.T) {
	t.Parallel()
	type plan struct {
		tree  []drawnRun
		limit int64
	}
	plans := rapid.Custom(func(rt *rapid.T) plan {
		return plan{drawTree(rt), rapid.SampledFrom([]int64{0, 1, 60, 150, 400}).Draw(rt, "limit")}
	})
	play := func(t *testing.T, tree []drawnRun, limit int64) {
		t.Helper()
		s := prepareScene(t, fmt.Sprintf(`{ agents: { defaults: { limits: { maxTokens: %d }, subagents: { maxSpawnDepth: 3, maxChildrenPerAgent: 20 } } } }`, limit), rules(tree))
		limits := func(string) subagent.Limits { return subagent.Limits{Tokens: limit} }
		var mu sync.Mutex
		var late []string
		s.options = func(o *app.Options) {
			o.Scripted = func(string) scripted.Options {
				return scripted.Options{State: s.state, OnRequest: func(r model.Request) {
					s.requests.add(r)
					if why := s.callOver(r.Task, limits); why != "" {
						mu.Lock()
						defer mu.Unlock()
						late = append(late, why)
					}
				}}
			}
		}
		s.start()
		s.say("team", "go")
		s.pass(time.Minute)
		require.Empty(t, late)
		s.checkSpending(tree, limit)
		s.stop()
	}
	for seed := range treesPlayed {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := plans.Example(seed)
			play(t, p.tree, p.limit)
		})
	}
}

// callOver names a budget that is used up on which the run with a label draws,
// "" for none.
func (s *scene) callOver(label string, limits func(string) subagent.Limits) (why string) {
	s.Helper()
	s.read(func(tx *store.Tx) error {
		runs, err := tx.RecentRuns(100)
		require.NoError(s, err)
		session, turn := store.Session{Agent: "main"}, store.Turn{Request: 1}
		for _, r := range runs {
			if r.Label == label && label != "" {
				turn = store.Turn{Run: r.ID, Request: r.Request}
			}
		}
		budgets, err := subagent.BudgetsOfTurn(tx, limits, turn, session, s.world.Now())
		for _, b := range budgets {
			if b.Tokens > 0 && b.LeftTokens() == 0 {
				why = fmt.Sprintf("%q begins a call with %d of %d tokens spent (%s %s)", label, b.Spent.Tokens, b.Tokens, b.Scope, b.Name)
			}
		}
		return err
	})
	return why
}

func (s *scene) checkSpending(tree []drawnRun, limit int64) {
	s.Helper()
	s.read(func(tx *store.Tx) error {
		runs, err := tx.RecentRuns(100)
		require.NoError(s, err)
		used, names := map[string]int64{}, []string{""}
		above, bounds := map[string]string{}, map[string]int64{"": limit}
		for _, r := range runs {
			require.False(s, r.Status.Live(), "%s: %s", r.Label, r.Status)
			above[r.ID], names = r.RequesterRun, append(names, r.ID)
			if r.Spec.Budget != nil {
				bounds[r.ID] = r.Spec.Budget.Tokens
			}
		}
		list, err := app.Views{}.Sessions(tx, false, 100)
		require.NoError(s, err)
		for _, x := range list {
			turns, err := tx.TurnsOfSession(x.ID, 100)
			require.NoError(s, err)
			for _, turn := range turns {
				require.Equal(s, int64(1), turn.Request)
				used[""] += turn.Tokens()
				for run := turn.Run; run != ""; run = above[run] {
					used[run] += turn.Tokens()
				}
			}
		}
		spent, err := tx.Spent(1, names...)
		require.NoError(s, err)
		for _, name := range names {
			require.Equal(s, used[name], spent[name].Tokens, "of %q", name)
			if most := bounds[name]; most > 0 {
				require.Less(s, used[name], most+90*int64(len(tree)), "a limit of %d is passed by calls in flight only", most)
			}
		}
		for _, r := range runs {
			require.NotEqual(s, core.RunError, r.Status, r.Detail)
		}
		return nil
	})
}

// TestASentMessageDrawsOnTheRequest: what another session's answer used is used
// of the request that asked for it.
func TestASentMessageDrawsOnTheRequest(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ agents: { defaults: { limits: { maxTokens: 1000 } } }, tools: { sessions: { visibility: "all" } } }`, `
  {when: {user: "/^ask$/"}, call: [{tool: "sessions_send", args: {session: "`+bobKey+`", message: "how many?"}}], usage: {in: 100, out: 0}},
  {when: {user: "/how many/"}, say: "seven", usage: {in: 950, out: 0}},
  {when: {lastTool: "sessions_send"}, say: "bob says seven", usage: {in: 1, out: 0}},`)
	s.says("bob", "dm:bob", "hello")
	s.say("team", "ask")
	require.Contains(t, last(s.told("team")), "1050 of 1000 tokens")
	s.says("bob", "dm:bob", "hello")
	require.Contains(t, last(s.told("dm:bob")), "ok: hello", "the budget of his own requests is his own")
}

// TestASentMessageIsRefusedWithoutBudget: as a spawn is, before anything of it is
// written; what the other session's agent may spend in a day counts too.
func TestASentMessageIsRefusedWithoutBudget(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]string{
		"sessions_send": `{tool: "sessions_send", args: {session: "` + bobKey + `", message: "how many?"}}`,
		"subagents":     `{tool: "subagents", args: {action: "send", target: "kid", message: "how many?"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, `{ agents: { defaults: { limits: { maxTokens: 1000 } } }, tools: { sessions: { visibility: "all" } } }`, `
  {when: {user: "/^start$/"}, call: [{tool: "sessions_spawn", args: {task: "be there", label: "kid"}}], usage: {in: 1, out: 0}},
  {when: {task: "/kid/"}, say: "here", usage: {in: 1, out: 0}}, {when: {event: "/./"}, say: "NO_REPLY", usage: {in: 1, out: 0}},
  {when: {user: "/^ask$/"}, call: [`+tool+`], usage: {in: 1000, out: 0}},
  {when: {lastTool: "sessions_spawn"}, say: "started", usage: {in: 1, out: 0}},`)
			s.says("bob", "dm:bob", "hello")
			s.say("team", "start")
			s.pass(time.Minute)
			require.Len(t, s.runs(), 1)
			s.say("team", "ask")
			require.Contains(t, last(s.told("team")), "1000 of 1000 tokens")
			require.Len(t, s.runs(), 1)
			refusal := last(itemTexts(s.history(teamKey), model.ToolOutput))
			require.Contains(t, refusal, `"status":"forbidden","code":"budget"`)
			require.Contains(t, refusal, "1000 of 1000")
		})
	}
}

// itemTexts returns the texts of items of a kind.
func itemTexts(items []model.Item, kind model.ItemKind) (out []string) {
	for _, i := range items {
		if i.Kind == kind {
			out = append(out, i.Text)
		}
	}
	return out
}
