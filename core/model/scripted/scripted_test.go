package scripted_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/model/scripted"
	"github.com/skein-bot/skein/core/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func provider(t *testing.T, rules string, o scripted.Options) *scripted.Provider {
	t.Helper()
	parsed, err := scripted.ParseRules([]byte(`{"rules": [` + rules + `]}`))
	require.NoError(t, err)
	p, err := scripted.New(parsed, clock.Real{}, o)
	require.NoError(t, err)
	return p
}

func ask(t *testing.T, p model.Provider, req model.Request) (model.Item, model.Usage, error) {
	t.Helper()
	return model.Collect(t.Context(), clock.Real{}, p, req, model.Options{})
}

func user(text string) model.Item { return model.Item{Kind: model.User, Text: text} }

func result(tool, text string) model.Item {
	return model.Item{Kind: model.ToolOutput, Tool: tool, CallID: "call_1", Text: text}
}

func event(label, text string) model.Item {
	return model.Item{Kind: model.Event, Completion: &model.Completion{
		Source: "subagent", Label: label, Task: "find out about " + label, Status: core.RunOK, Result: text, Stats: "runtime 2s",
	}}
}

func items(i ...model.Item) model.Request { return model.Request{Items: i} }

func TestRulesMatch(t *testing.T) {
	note := model.Item{Kind: model.Note, Text: "resumed after a restart"}
	for _, c := range []struct {
		name, rules string
		req         model.Request
		want        string
	}{
		{"no rule", ``, items(user("hi")), "ok: hi"},
		{"no rule, no item", ``, items(), "ok: "},
		{"no rule, an event", ``, items(event("cats", "they sleep")), `ok: subagent task "cats" ended ok: they sleep`},
		{"no rule, only a note", ``, items(note), "ok: resumed after a restart"},
		{"user", `{"when":{"user":"/h(.)/"},"say":"<$1>"}`, items(user("hi")), "<i>"},
		{"user behind a note", `{"when":{"user":"/h(.)/"},"say":"<$1>"}`, items(user("hi"), note), "<i>"},
		{"user only if newest", `{"when":{"user":"/./"},"say":"no"}`, items(user("hi"), result("x", "r")), "ok: r"},
		{"first rule wins", `{"say":"one"},{"say":"two"}`, items(user("hi")), "one"},
		{"flags", `{"when":{"user":"/^A.B$/ism"},"say":"yes"}`, items(user("x\na\nb\ny")), "yes"},
		{"agent", `{"when":{"agent":"b"},"say":"no"},{"when":{"agent":"a"},"say":"yes"}`, model.Request{Agent: "a", Items: []model.Item{user("hi")}}, "yes"},
		{"task by label", `{"when":{"task":"/cat/"},"say":"yes"}`, model.Request{Task: "cats"}, "yes"},
		{"task by name", `{"when":{"task":"/cat/"},"say":"yes"}`, model.Request{TaskName: "cats"}, "yes"},
		{"task by text", `{"when":{"task":"/cat/"},"say":"yes"}`, model.Request{Task: "x", TaskText: "about cats"}, "yes"},
		{"no task", `{"when":{"task":"/.*/"},"say":"no"}`, items(user("hi")), "ok: hi"},
		{"task with user captures from user", `{"when":{"task":"/(c)at/","user":"/(h)i/"},"say":"$1"}`, model.Request{Task: "cats", Items: []model.Item{user("hi")}}, "h"},
		{"system", `{"when":{"system":"/terse/"},"say":"yes"}`, model.Request{System: "be terse"}, "yes"},
		{"lastTool", `{"when":{"lastTool":"y"},"say":"no"},{"when":{"lastTool":"x"},"say":"yes"}`, items(user("hi"), result("x", "r")), "yes"},
		{"lastTool and result", `{"when":{"lastTool":"x","result":"/(\\d+)/"},"say":"$1 $0 $2 $$1 ${1}0"}`, items(result("x", "a 42")), "42 42 $2 $1 420"},
		{"all that is there must match", `{"when":{"result":"/r/","user":"/hi/"},"say":"no"}`, items(user("hi"), result("x", "r")), "ok: r"},
		{"a result is no completion", `{"when":{"result":"/r/","event":"/r/"},"say":"no"}`, items(event("cats", "r")), `ok: subagent task "cats" ended ok: r`},
		{"event by label", `{"when":{"event":"/cats/"},"say":"yes"}`, items(event("cats", "r")), "yes"},
		{"event by task", `{"when":{"event":"/task: find out (.*)/"},"say":"$1"}`, items(event("cats", "r")), "about cats"},
		{"newest event of a batch first", `{"when":{"event":"/result (\\d)/"},"say":"$1"}`, items(event("a", "result 1"), event("b", "result 2")), "2"},
		{"whole batch", `{"when":{"event":"/result (1).*result (2)/s"},"say":"$1$2"}`, items(event("a", "result 1"), note, event("b", "result 2")), "12"},
		{"only this batch", `{"when":{"event":"/result 1/"},"say":"no"}`, items(event("a", "result 1"), user("u"), event("b", "2")), `ok: subagent task "b" ended ok: 2`},
		{"a group without part", `{"when":{"user":"/h(x)?i/"},"say":"<$1>"}`, items(user("hi")), "<>"},
		{"empty answer", `{"say":""}`, items(user("hi")), ""},
		{"no references without a pattern", `{"say":"it costs $1"}`, items(user("hi")), "it costs $1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := ask(t, provider(t, c.rules, scripted.Options{}), c.req)
			require.NoError(t, err)
			require.Equal(t, c.want, got.Text)
		})
	}
}

func TestCalls(t *testing.T) {
	p := provider(t, `{"when":{"user":"/say (.*)/s"},"think":"about $1","call":[
		{"tool":"echo","args":{"text":"<$1>","deep":[{"n":1.50,"t":"$1"}]}},{"tool":"yield"}]}`, scripted.Options{})
	req := items(user("say \"a\"\n\\b <c>"), model.Item{Kind: model.Note})
	got, _, err := ask(t, p, req)
	require.NoError(t, err)
	require.Empty(t, got.Text)
	require.Equal(t, "about \"a\"\n\\b <c>", got.Think)
	require.Equal(t, []core.ToolCall{
		{ID: "call_1", Name: "echo", Args: json.RawMessage(`{"deep":[{"n":1.50,"t":"\"a\"\n\\b <c>"}],"text":"<\"a\"\n\\b <c>>"}`)},
		{ID: "call_2", Name: "yield", Args: json.RawMessage(`{}`)},
	}, got.Calls)

	again, _, err := ask(t, p, req)
	require.NoError(t, err)
	require.Equal(t, got, again, "ids depend on the request alone")

	later, _, err := ask(t, p, items(got, result("echo", "x"), user("say y")))
	require.NoError(t, err)
	require.Equal(t, "call_3", later.Calls[0].ID)
	require.Equal(t, "call_4", later.Calls[1].ID)
}

func TestUsage(t *testing.T) {
	_, usage, err := ask(t, provider(t, `{"say":"x","usage":{"in":7,"out":9}}`, scripted.Options{}), items(user("hi")))
	require.NoError(t, err)
	require.Equal(t, model.Usage{In: 7, Out: 9}, usage)
	_, usage, err = ask(t, provider(t, `{"say":"éééé"}`, scripted.Options{}), model.Request{System: "1234", Items: []model.Item{user("12345")}})
	require.NoError(t, err)
	require.Equal(t, model.Usage{In: 3, Out: 1}, usage)
}

func TestTextIsStreamed(t *testing.T) {
	text := strings.Repeat("lé ", 50)
	var pieces []string
	got, _, err := model.Collect(t.Context(), clock.Real{}, provider(t, `{"say":"`+text+`"}`, scripted.Options{}), items(user("hi")),
		model.Options{OnDelta: func(d model.Delta) {
			if d.Text != "" {
				pieces = append(pieces, d.Text)
			}
		}})
	require.NoError(t, err)
	require.Equal(t, text, got.Text)
	require.Equal(t, text, strings.Join(pieces, ""))
	require.Len(t, pieces, 8)
}

func TestFailures(t *testing.T) {
	for fail, want := range map[string]model.ErrorClass{
		"429": model.RateLimited, "500": model.Overloaded, "overflow": model.Overflow, "drop": model.Truncated,
	} {
		t.Run(fail, func(t *testing.T) {
			only := provider(t, fmt.Sprintf(`{"fail":%q,"times":2}`, fail), scripted.Options{})
			for range 2 {
				got, _, err := ask(t, only, items(user("hi")))
				require.Equal(t, want, model.ClassOf(err))
				require.Equal(t, fail == "drop", got.Text == "ok:", "%q", got.Text)
			}
			got, _, err := ask(t, only, items(user("hi")))
			require.NoError(t, err, "the rule has ended")
			require.Equal(t, "ok: hi", got.Text)

			answers := provider(t, fmt.Sprintf(`{"say":"fine","fail":%q,"times":2}`, fail), scripted.Options{})
			for use := range 2 {
				req := items(user("hi"))
				req.ID = fmt.Sprint("turn ", use)
				_, _, err := ask(t, answers, req)
				require.Equal(t, want, model.ClassOf(err))
				for range 2 { // the retry, and its repetition after a crash
					got, _, err := ask(t, answers, req)
					require.NoError(t, err)
					require.Equal(t, "fine", got.Text)
				}
			}
			got, _, err = ask(t, answers, items(user("hi")))
			require.NoError(t, err)
			require.Equal(t, "ok: hi", got.Text)
		})
	}
}

func TestFailureOncePerUseWithoutRequestIDs(t *testing.T) {
	p := provider(t, `{"when":{"user":"/hi/"},"say":"fine","fail":"overflow"}`, scripted.Options{})
	for range 2 {
		_, _, err := ask(t, p, items(user("long ago"), user("hi")))
		require.Equal(t, model.Overflow, model.ClassOf(err))
		got, _, err := ask(t, p, items(user("hi"))) // compacted
		require.NoError(t, err)
		require.Equal(t, "fine", got.Text)
	}
}

func TestTimesOverARestart(t *testing.T) {
	rules := `{"say":"one","times":1},{"say":"two"}`
	state := scripted.NewState()
	say := func(id string, s *scripted.State) string {
		got, _, err := ask(t, provider(t, rules, scripted.Options{State: s}), model.Request{ID: id})
		require.NoError(t, err)
		return got.Text
	}
	require.Equal(t, "one", say("a", state))
	require.Equal(t, "one", say("a", state), "the same call, repeated after a crash")
	require.Equal(t, "two", say("b", state))
	require.Equal(t, "two", say("", state))
	require.Equal(t, "one", say("b", scripted.NewState()), "a fresh state begins again")
}

func TestOnRequest(t *testing.T) {
	var seen []string
	p := provider(t, ``, scripted.Options{OnRequest: func(r model.Request) { seen = append(seen, r.Agent) }})
	for _, agent := range []string{"a", "b"} {
		_, _, err := ask(t, p, model.Request{Agent: agent})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"a", "b"}, seen)
	ids, err := p.Models(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"scripted"}, ids)
}

// TestDelay and TestStall run in virtual time: the clock moves when the call
// sleeps.
func TestDelay(t *testing.T) {
	for delay, stall := range map[string]time.Duration{"3s": 2 * time.Second, "25m": 11 * time.Second} {
		took, got, err := virtually(t, fmt.Sprintf(`{"think":"hm","say":"done","delay":%q}`, delay), stall)
		require.NoError(t, err)
		require.Equal(t, "done", got.Text)
		want, _ := time.ParseDuration(delay)
		require.Equal(t, want, took)
	}
}

func TestStall(t *testing.T) {
	took, _, err := virtually(t, `{"say":"never","delay":"3s","fail":"stall"}`, time.Minute)
	require.Equal(t, model.Network, model.ClassOf(err))
	require.ErrorContains(t, err, "models.stallSeconds")
	require.Equal(t, 63*time.Second, took)
}

func virtually(t *testing.T, rule string, stall time.Duration) (took time.Duration, got model.Item, err error) {
	t.Helper()
	work := new(world.Work)
	start := time.Unix(1_000_000, 0)
	virtual := clock.NewVirtual(start, work)
	rules, err := scripted.ParseRules([]byte(`{"rules":[` + rule + `]}`))
	require.NoError(t, err)
	p, err := scripted.New(rules, virtual, scripted.Options{})
	require.NoError(t, err)
	finished := make(chan struct{})
	end := work.Begin("turn")
	go func() {
		defer close(finished)
		defer end()
		got, _, err = model.Collect(t.Context(), virtual, p, items(user("hi")), model.Options{Stall: stall})
	}()
	for {
		require.NoError(t, work.Zero(t.Context()))
		due, ok := virtual.Next()
		if !ok {
			break
		}
		virtual.AdvanceTo(due)
	}
	<-finished
	return virtual.Now().Sub(start), got, err
}

func TestStreamEndsWithItsContext(t *testing.T) {
	p := provider(t, `{"fail":"stall"}`, scripted.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := model.Collect(ctx, clock.Real{}, p, items(user("hi")), model.Options{OnDelta: func(model.Delta) { cancel() }})
	require.ErrorIs(t, err, context.Canceled)
	asked := false
	p = provider(t, ``, scripted.Options{OnRequest: func(model.Request) { asked = true }})
	_, _, err = model.Collect(ctx, clock.Real{}, p, items(user("hi")), model.Options{})
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, asked, "no request leaves after the end")
}

func TestStreamEndsWhenTheCallerLeaves(t *testing.T) {
	p := provider(t, `{"say":"a long answer","think":"hm","call":[{"tool":"x"}]}`, scripted.Options{})
	for n := range 7 {
		seen := 0
		for _, err := range p.Stream(t.Context(), items(user("hi"))) {
			require.NoError(t, err)
			seen++
			if seen > n {
				break
			}
		}
		require.Equal(t, min(n+1, 6), seen)
	}
}

func ExampleNew() {
	rules, err := scripted.ParseRules([]byte(`{"rules": [
		{"when": {"user": "/research (\\w+)/"}, "say": "Looking into $1.", "call": [{"tool": "sessions_spawn", "args": {"task": "$1"}}]}
	]}`))
	if err != nil {
		panic(err)
	}
	p, err := scripted.New(rules, clock.Real{}, scripted.Options{})
	if err != nil {
		panic(err)
	}
	req := model.Request{Items: []model.Item{{Kind: model.User, Text: "research cats"}}}
	answer, _, err := model.Collect(context.Background(), clock.Real{}, p, req, model.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Text)
	fmt.Println(answer.Calls[0].Name, string(answer.Calls[0].Args))
	// Output:
	// Looking into cats.
	// sessions_spawn {"task":"cats"}
}
