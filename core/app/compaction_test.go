package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// longTool gives back as much text as it is asked for.
type longTool struct{}

func (longTool) Spec() core.ToolSpec {
	return core.ToolSpec{
		Name: "read", Description: "Reads.", ReadOnly: true,
		Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"size":{"type":"string"}}}`),
	}
}

func (longTool) Invoke(_ context.Context, _ core.ToolScope, c core.ToolCall) (core.ToolResult, error) {
	var args struct{ Name, Size string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return core.ToolResult{}, err
	}
	n := 0
	if _, err := fmt.Sscan(args.Size, &n); err != nil {
		return core.ToolResult{}, err
	}
	return core.ToolResult{Text: args.Name + " begins. " + strings.Repeat("x ", n/2)}, nil
}

// window is the context window of the model of these tests, in tokens.
const window = 6000

// compactConfig is a model with a small window, and few tools.
var compactConfig = fmt.Sprintf(`{
  models: { providers: { demo: { models: [{ id: "m", contextTokens: %d }] } } },
  tools: { allow: ["read"] },
  agents: { defaults: { maxSteps: 60 } } }`, window)

// forkConfig is one whose agent starts sub-agents too.
var forkConfig = strings.Replace(compactConfig, `["read"]`, `["read", "sessions_spawn"]`, 1)

// summaryRule makes the model a summariser that keeps what was planted, and
// only that.
const summaryRule = `
  {when: {system: "/^Summarise a conversation/", user: "/(?s)(vault code is \\d+).*(cat is called \\w+).*(launch is on \\w+)/"}, say: "Facts: the $1, the $2, the $3.", usage: {in: 900, out: 20}},`

// compactScene is a scene with a small window.
func compactScene(t *testing.T, settings, rules string) *scene {
	t.Helper()
	s := prepareScene(t, settings, rules)
	s.options = func(o *app.Options) { o.Tools = append(o.Tools, longTool{}) }
	s.start()
	return s
}

// checkRequests looks at every request that reached the model: no service could
// refuse one for its form, and none is over the window.
func (s *scene) checkRequests(window int) {
	s.Helper()
	for n, req := range s.requests.all {
		require.NoError(s, model.Validate(req.Items), "request %d", n)
		require.LessOrEqual(s, requestTokens(req), window, "request %d", n)
	}
}

// requestTokens counts as the scripted model does, which is what it reports.
func requestTokens(req model.Request) int {
	n := utf8.RuneCountInString(req.System)
	for _, i := range req.Items {
		n += utf8.RuneCountInString(model.Text(i))
		for _, c := range i.Calls {
			n += len(c.Name) + len(c.Args)
		}
	}
	return n / 4
}

// compactions returns the compaction rows of a session's whole history.
func (s *scene) compactions(key string) (out []model.Item) {
	s.Helper()
	for _, i := range s.history(key) {
		if i.Kind == model.Compacted {
			out = append(out, i)
		}
	}
	return out
}

// history returns everything a session has stored, compacted or not.
func (s *scene) history(key string) (out []model.Item) {
	s.Helper()
	session := s.session(key)
	s.read(func(tx *store.Tx) error {
		rows, err := tx.WholeTranscript(session)
		for _, r := range rows {
			item, err := model.DecodeItem(r.Body)
			require.NoError(s, err)
			out = append(out, item)
		}
		return err
	})
	return out
}

// said is what a request shows of a conversation, summary and results included.
func said(req model.Request) string { return model.Transcript(model.Request{Items: req.Items}) }

// TestALongConversationKeepsWhatWasPlanted: 200 turns, some with tools, through
// compactions; restarts in between change nothing. What was planted in the first
// messages is there at the end, every request was sound and within the window,
// and no row was lost.
func TestALongConversationKeepsWhatWasPlanted(t *testing.T) {
	s := compactScene(t, compactConfig, summaryRule+`
  {when: {user: "/^read (\\w+)/"}, say: "I look.", call: [{tool: "read", args: {name: "$1", size: "900"}}, {tool: "read", args: {name: "$1b", size: "300"}}]},
  {when: {lastTool: "read", result: "/^(\\w+) begins/"}, say: "I have read $1."},`)
	s.say("team", "the vault code is 4711, never forget it")
	s.say("team", "my cat is called Mia")
	s.say("team", "and the launch is on Friday")
	const turns = 200
	for n := 4; n <= turns; n++ {
		if n%5 == 0 {
			s.say("team", fmt.Sprintf("read file%d", n))
		} else {
			s.say("team", fmt.Sprintf("message %d, with some words: %s", n, strings.Repeat("blah ", 20)))
		}
		if n%67 == 0 {
			s.restart()
		}
	}
	s.say("team", "what was the code, the name and the day?")
	last := said(s.last(""))
	for _, fact := range []string{"vault code is 4711", "cat is called Mia", "launch is on Friday"} {
		require.Contains(t, last, fact)
	}
	require.NotContains(t, last, "message 9,", "it was summarised long ago")
	require.Contains(t, last, "message 199,", "the last turns are whole")

	rows := s.compactions(teamKey)
	require.GreaterOrEqual(t, len(rows), 3)
	for _, c := range rows {
		require.Less(t, c.Compaction.After, c.Compaction.Before)
		require.Equal(t, model.CompactedByModel, c.Compaction.By)
	}
	require.Less(t, len(rows), turns/4, "not again and again")
	s.checkRequests(window)
	require.Len(t, s.told("team"), turns+1+turns/5, "an answer to each message, and a word before each call")

	var people []string
	for _, i := range s.history(teamKey) {
		if i.Kind == model.User {
			people = append(people, i.Text)
		}
	}
	require.Len(t, people, turns+1, "the older rows stay")
	require.Equal(t, "the vault code is 4711, never forget it", people[0])
	s.stop()
}

// TestALongTurnIsCompactedOnItsWay: one turn with many steps, whose results are
// many times the window. It never loses sight of what it was asked.
func TestALongTurnIsCompactedOnItsWay(t *testing.T) {
	s := compactScene(t, compactConfig, summaryRule+`
  {when: {system: "/^Summarise a conversation/"}, say: "The agent reads files one after the other."},
  {when: {user: "/^read everything/"}, call: [{tool: "read", args: {name: "file", size: "3000"}}, {tool: "read", args: {name: "other", size: "3000"}}]},
  {when: {lastTool: "read"}, call: [{tool: "read", args: {name: "file", size: "3000"}}, {tool: "read", args: {name: "other", size: "3000"}}], times: 40},
  {when: {lastTool: "read"}, say: "All is read."},`)
	s.say("team", "read everything about badgers")
	require.Equal(t, []string{"All is read."}, s.told("team"))
	rows := s.compactions(teamKey)
	require.Greater(t, len(rows), 5)
	require.Less(t, len(rows), 42, "not at every step")
	s.checkRequests(window)
	for n, req := range s.requests.all {
		require.Contains(t, said(req), "read everything about badgers", "request %d", n)
	}
	// The next turn goes on from there.
	s.say("team", "thank you")
	require.Contains(t, said(s.last("")), "The agent reads files")
	s.stop()
}

// TestB381ACrashAnywhereInACompaction: at every crash point of a turn that
// compacts in its midst, killed and started again: the history is compacted once
// for each time it was without a crash, nothing is lost, and there is one answer.
func TestB381ACrashAnywhereInACompaction(t *testing.T) {
	rules := summaryRule + `
  {when: {system: "/^Summarise a conversation/"}, say: "What was read."},
  {when: {user: "/^read all/"}, delay: "1s", call: [{tool: "read", args: {name: "one", size: "9000"}}]},
  {when: {lastTool: "read", result: "/^one/"}, call: [{tool: "read", args: {name: "two", size: "9000"}}]},
  {when: {lastTool: "read", result: "/^two/"}, call: [{tool: "read", args: {name: "three", size: "2000"}}]},
  {when: {lastTool: "read", result: "/^three/"}, say: "All is read."},`
	play := func(point string, nth int) (s *scene, fired bool) {
		s = compactScene(t, compactConfig, rules)
		s.say("team", "the vault code is 4711")
		s.say("team", "read all") // the turn waits for its first answer
		if nth > 0 {
			s.world.Arm(point, nth, world.TrapCut, nil)
		}
		s.pass(10 * time.Second)
		if fired = s.world.Err() != nil; fired {
			s.crash(time.Second)
			s.pass(time.Minute)
		}
		return s, fired
	}
	whole, _ := play("", 0)
	want := len(whole.compactions(teamKey))
	require.Positive(t, want)
	history := inShort(whole.history(teamKey))
	whole.stop()

	for point, passes := range map[string]int{ // at least; for each compaction one of these is its own
		world.ToolStarted: 3, world.ToolAfterCall: 3, world.TurnBeforeEnd: 1, world.TurnAfterEnd: 1,
		world.ModelAfterCall: 4 + want, world.StepAfterCommit: 3 + 3 + 3 + 1 + want,
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			for nth := 1; ; nth++ {
				s, fired := play(point, nth)
				if !fired {
					require.Greater(t, nth, passes)
					s.stop()
					return
				}
				require.Equal(t, []string{"ok: the vault code is 4711", "All is read."}, s.told("team"), "pass %d", nth)
				require.Len(t, s.compactions(teamKey), want, "pass %d", nth)
				require.Equal(t, history, inShort(s.history(teamKey)), "pass %d", nth)
				s.checkRequests(window)
				s.stop()
			}
		})
	}
}

// inShort is a history in short, without its compactions: what a service reported
// about sizes is not known after a crash, so they may come a step earlier.
func inShort(items []model.Item) (out []string) {
	for _, i := range items {
		if i.Kind != model.Compacted {
			out = append(out, string(i.Kind)+" "+core.Clip(i.Text, 20))
		}
	}
	return out
}

// TestB403AnOverflowHasThreeEnds: a request that the model refuses as too large
// is answered after a compaction, or after a trim, or the person is told.
func TestB403AnOverflowHasThreeEnds(t *testing.T) {
	fill := func(s *scene) {
		for n := range 12 {
			s.say("team", fmt.Sprintf("message %d: %s", n, strings.Repeat("words ", 100)))
		}
	}
	t.Run("compacted and retried", func(t *testing.T) {
		s := compactScene(t, compactConfig, `
  {when: {system: "/^Summarise a conversation/"}, say: "A summary."},
  {when: {user: "/^too much/"}, fail: "overflow", say: "It fits now."},`)
		fill(s)
		require.Empty(t, s.compactions(teamKey))
		s.say("team", "too much")
		require.Equal(t, "It fits now.", newest(s.told("team")))
		rows := s.compactions(teamKey)
		require.Len(t, rows, 1)
		require.Equal(t, model.CompactedByModel, rows[0].Compaction.By)
		require.Contains(t, said(s.last("")), "A summary.")
		s.say("team", "and on")
		require.Equal(t, "ok: and on", newest(s.told("team")))
		require.Len(t, s.compactions(teamKey), 1)
		s.stop()
	})
	t.Run("trimmed and retried", func(t *testing.T) {
		s := compactScene(t, compactConfig, `
  {when: {system: "/^Summarise a conversation/"}, fail: "500"},
  {when: {user: "/^too much/"}, fail: "overflow", say: "It fits now."},`)
		fill(s)
		s.say("team", "too much")
		s.pass(time.Minute)
		require.Equal(t, "It fits now.", newest(s.told("team")))
		rows := s.compactions(teamKey)
		require.Len(t, rows, 1)
		require.Equal(t, model.CompactedByTrim, rows[0].Compaction.By)
		require.Regexp(t, `\[\d+ messages left out without a summary\]\n(.*\n)+- alice: message \d+: words`, said(s.last("")))
		s.stop()
	})
	t.Run("told", func(t *testing.T) {
		s := compactScene(t, compactConfig, `
  {when: {user: "/^too much/"}, fail: "overflow"},
  {when: {system: "/^Summarise a conversation/"}, fail: "overflow"},`)
		fill(s)
		s.say("team", "too much")
		s.pass(time.Minute)
		require.Equal(t, "This did not work: the model did not answer: the conversation is longer than it can read; start afresh with /new.", newest(s.told("team")))
		s.say("team", "/new")
		s.say("team", "hello")
		require.Equal(t, "ok: hello", newest(s.told("team")), "the remedy is one")
		s.stop()
	})
}

func newest[T any](list []T) (v T) {
	if len(list) > 0 {
		v = list[len(list)-1]
	}
	return v
}

// TestB403WhatNoCompactionHelpsIsSaid: instructions that fill the window.
func TestB403WhatNoCompactionHelpsIsSaid(t *testing.T) {
	s := compactScene(t, `{
  models: { providers: { demo: { models: [{ id: "m", contextTokens: 2000 }] } } },
  agents: { entries: { main: { instructions: "`+strings.Repeat("Be good. ", 1500)+`" } } } }`, ``)
	s.say("team", "hello")
	require.Regexp(t, `^This did not work: .*instructions, files and tools alone need about \d+ tokens, and the model reads 2000; an operator must shorten them`, newest(s.told("team")))
	require.Empty(t, s.requests.all, "nothing is paid for")
	s.stop()
}

// TestB405AFailedSummaryIsNotPaidForAgainAndAgain: while a request still fits,
// a turn tries once, and goes on without.
func TestB405AFailedSummaryIsNotPaidForAgainAndAgain(t *testing.T) {
	s := compactScene(t, compactConfig, `
  {when: {system: "/^Summarise a conversation/"}, fail: "overflow", say: "no"},
  {when: {user: "/^read/"}, call: [{tool: "read", args: {name: "a", size: "10"}}]},
  {when: {lastTool: "read"}, call: [{tool: "read", args: {name: "a", size: "10"}}], times: 5},
  {when: {lastTool: "read"}, say: "read"},`)
	summaries := func() (n int) {
		for _, req := range s.requests.all {
			if strings.HasPrefix(req.System, "Summarise") {
				n++
			}
		}
		return n
	}
	for n := 0; summaries() == 0; n++ {
		require.Less(t, n, 60)
		s.say("team", fmt.Sprintf("message %d: %s", n, strings.Repeat("words ", 60)))
	}
	before := summaries()
	s.say("team", "read it")
	require.Equal(t, "read", newest(s.told("team")))
	require.LessOrEqual(t, summaries()-before, 1)
	s.checkRequests(window)
	s.stop()
}

// TestAForkReadsRightOverACompaction: a child that is forked after a compaction
// knows the summary and the last turns; what the parent does later does not
// change what the child reads.
func TestAForkReadsRightOverACompaction(t *testing.T) {
	s := compactScene(t, forkConfig, summaryRule+`
  {when: {user: "/^send a child/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "kid", context: "fork"}}]},
  {when: {task: "/kid/"}, say: "The kid has looked."},
  {when: {lastTool: "sessions_spawn"}, say: "sent"},
  {when: {event: "/kid/"}, say: "NO_REPLY"},`)
	s.say("team", "the vault code is 4711")
	s.say("team", "my cat is called Mia")
	s.say("team", "the launch is on Friday")
	n := 0
	chat := func(compactions int) {
		for ; len(s.compactions(teamKey)) < compactions; n++ {
			require.Less(t, n, 200)
			s.say("team", fmt.Sprintf("message %d: %s", n, strings.Repeat("words ", 60)))
		}
	}
	chat(1)
	before := fmt.Sprintf("message %d:", n-1)
	s.say("team", "send a child")
	req := s.last("kid")
	for _, want := range []string{"Facts: the vault code is 4711, the cat is called Mia", before, "send a child", "[Subagent Task]"} {
		require.Contains(t, said(req), want)
	}
	require.NotContains(t, said(req), "message 0:")
	chat(3)
	kid := s.run("kid")
	s.read(func(tx *store.Tx) error {
		session, err := tx.SessionByID(kid.Session)
		require.NoError(t, err)
		rows, err := tx.Transcript(session)
		require.NoError(t, err)
		var texts []string
		for _, r := range rows {
			texts = append(texts, r.Body)
		}
		all := strings.Join(texts, "\n")
		require.Contains(t, all, before)
		require.Contains(t, all, "Facts:")
		require.NotContains(t, all, fmt.Sprintf("message %d:", n-1))
		return nil
	})
	s.checkRequests(window)
	s.stop()
}

// TestAFallbackThatReadsLessGetsLess: the request fits the model that is asked,
// and the history stays as it is for the one that reads more.
func TestAFallbackThatReadsLessGetsLess(t *testing.T) {
	noLeak(t)
	var mu sync.Mutex
	sizes := map[string][]int{}
	down := false
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var req struct{ Model string }
		_ = json.Unmarshal(body, &req)
		mu.Lock()
		sizes[req.Model] = append(sizes[req.Model], len(body)/4)
		refuse := down && req.Model == "large"
		mu.Unlock()
		if refuse {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"message":"no"}}`)
			return
		}
		_, _ = io.WriteString(w, sse(content("from "+req.Model), finished, end))
	}))
	defer service.Close()
	s := compactScene(t, `{
  models: { providers: { x: { type: "openai", baseUrl: "`+service.URL+`", apiKey: "k", models: [
    { id: "large", contextTokens: 50000 }, { id: "small", contextTokens: 4000 }] } } },
  tools: { profile: "minimal" },
  agents: { defaults: { model: "x/large", fallbacks: ["x/small"] } } }`, "")
	for n := range 40 {
		s.say("team", fmt.Sprintf("message %d: %s", n, strings.Repeat("words ", 120)))
	}
	mu.Lock()
	down = true
	mu.Unlock()
	s.say("team", "the last message")
	require.Equal(t, "from small", newest(s.told("team")))
	require.Empty(t, s.compactions(teamKey))
	mu.Lock()
	require.Greater(t, newest(sizes["large"]), 4000)
	require.Less(t, newest(sizes["small"]), 4000)
	down = false
	mu.Unlock()
	s.pass(10 * time.Minute)
	s.say("team", "and again")
	require.Equal(t, "from large", newest(s.told("team")))
	require.Greater(t, newest(sizes["large"]), 4000, "nothing was lost for it")
	s.stop()
}

// TestB389ParallelResultsAndAnEventAreAllKept: three calls at once, and a
// completion that comes meanwhile.
func TestB389ParallelResultsAndAnEventAreAllKept(t *testing.T) {
	s := compactScene(t, forkConfig, `
  {when: {user: "/^go/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "kid"}}]},
  {when: {task: "/kid/"}, delay: "1s", say: "found"},
  {when: {lastTool: "sessions_spawn"}, delay: "2s", call: [{tool: "read", args: {name: "a", size: "10"}}, {tool: "read", args: {name: "b", size: "10"}}, {tool: "read", args: {name: "c", size: "10"}}]},
  {when: {event: "/kid/"}, say: "all there"},`)
	s.say("team", "go")
	s.pass(10 * time.Second)
	var got []string
	for _, i := range s.history(teamKey) {
		switch {
		case i.Kind == model.ToolOutput && i.Tool == "read":
			got = append(got, strings.Fields(i.Text)[0])
		case i.Kind == model.Event:
			got = append(got, "event")
		}
	}
	slices.Sort(got)
	require.Equal(t, []string{"a", "b", "c", "event"}, got)
	s.checkRequests(window)
	s.stop()
}

// TestASummaryIsAskedOfAFallbackToo: where the model's own service says to wait
// for half an hour, nobody waits: the next model writes the summary.
func TestASummaryIsAskedOfAFallbackToo(t *testing.T) {
	noLeak(t)
	var mu sync.Mutex
	var summaries []string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var req struct{ Model string }
		_ = json.Unmarshal(body, &req)
		answer := "from " + req.Model
		if strings.Contains(string(body), "Summarise a conversation") {
			mu.Lock()
			summaries = append(summaries, req.Model)
			mu.Unlock()
			if req.Model == "a" {
				w.Header().Set("Retry-After", "1800")
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(w, `{"error":{"message":"later"}}`)
				return
			}
			answer = "Summary by " + req.Model
		}
		_, _ = io.WriteString(w, sse(content(answer), finished, end))
	}))
	defer service.Close()
	s := compactScene(t, `{
  models: { providers: { x: { type: "openai", baseUrl: "`+service.URL+`", apiKey: "k", models: [{ id: "a", contextTokens: 4000 }, { id: "b", contextTokens: 4000 }] } } },
  tools: { profile: "minimal" },
  agents: { defaults: { model: "x/a", fallbacks: ["x/b"] } } }`, "")
	s.say("team", "hello")
	for n := 0; len(s.compactions(teamKey)) == 0; n++ {
		require.Less(t, n, 60)
		s.say("team", fmt.Sprintf("message %d: %s", n, strings.Repeat("words ", 60)))
	}
	require.Equal(t, "from a", newest(s.told("team")), "at once")
	require.Equal(t, "Summary by b", s.compactions(teamKey)[0].Text)
	mu.Lock()
	require.Equal(t, []string{"a", "b"}, summaries)
	mu.Unlock()
	s.stop()
}

// TestAForkInTheTurnThatWasCompacted: a child that is forked later in the very
// turn whose history was compacted on its way.
func TestAForkInTheTurnThatWasCompacted(t *testing.T) {
	s := compactScene(t, forkConfig, `
  {when: {system: "/^Summarise a conversation/"}, say: "What was read."},
  {when: {task: "/kid/"}, say: "The kid has looked."},
  {when: {user: "/^read all about owls/"}, call: [{tool: "read", args: {name: "one", size: "9000"}}]},
  {when: {lastTool: "read", result: "/^one/"}, call: [{tool: "read", args: {name: "two", size: "9000"}}]},
  {when: {lastTool: "read", result: "/^two/"}, call: [{tool: "read", args: {name: "three", size: "3000"}}]},
  {when: {lastTool: "read", result: "/^three/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "kid", context: "fork"}}]},
  {when: {lastTool: "sessions_spawn"}, say: "sent"},
  {when: {event: "/kid/"}, say: "NO_REPLY"},`)
	s.say("team", "read all about owls")
	require.NotEmpty(t, s.compactions(teamKey))
	kid := said(s.last("kid"))
	for _, want := range []string{"What was read.", "read all about owls", "three begins.", "[Subagent Task]"} {
		require.Contains(t, kid, want)
	}
	require.NotContains(t, kid, "one begins.")
	s.crash(time.Minute)
	s.checkRequests(window)
	s.stop()
}
