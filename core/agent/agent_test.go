package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRowsOfATurnAreInStepOrder(t *testing.T) {
	row := func(id, turn int64, seq int) store.Row { return store.Row{ID: id, Turn: turn, Seq: seq} }
	got := inStepOrder([]store.Row{row(1, 7, 0), row(2, 7, 1), row(3, 7, 3), row(4, 7, 2), row(5, 8, 0), row(6, 8, 1), row(7, 9, 0)})
	var ids []int64
	for _, r := range got {
		ids = append(ids, r.ID)
	}
	require.Equal(t, []int64{1, 2, 4, 3, 5, 6, 7}, ids)
}

func TestSilenceIsExact(t *testing.T) {
	for text, silent := range map[string]bool{
		"NO_REPLY": true, " no_reply\n": true, "ANNOUNCE_SKIP": true, "announce_skip": false, "NO_REPLY.": false, "well, NO_REPLY": false, "": false,
	} {
		require.Equal(t, silent, IsSilence(text), "%q", text)
		if silent {
			require.Empty(t, visible(text))
		}
	}
}

func TestAHistoryIsUsedByTheVeryNextClaimOnly(t *testing.T) {
	lease := func(id, fence int64) *kernel.Lease {
		return &kernel.Lease{Session: store.Session{ID: id}, Turn: store.Turn{Generation: 1, Fence: fence}}
	}
	items := []model.Item{{Kind: model.User, Text: "a"}}
	for _, c := range []struct {
		name  string
		fence int64
		edit  func(*kernel.Lease)
		hit   bool
	}{
		{"next", 5, nil, true},
		{"a claim in between", 6, nil, false},
		{"resumed", 5, func(l *kernel.Lease) { l.Resumed = true }, false},
		{"begun anew", 5, func(l *kernel.Lease) { l.Turn.Generation = 2 }, false},
		{"compacted", 5, func(l *kernel.Lease) { l.Session.ContextFrom = 9 }, false},
		{"another session", 5, func(l *kernel.Lease) { l.Session.ID = 2 }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache := newHistoryCache(4)
			cache.put(store.Session{ID: 1}, store.Turn{Generation: 1, Fence: 4}, items)
			l := lease(1, c.fence)
			if c.edit != nil {
				c.edit(l)
			}
			got, hit := cache.take(l)
			require.Equal(t, c.hit, hit)
			if hit {
				require.Equal(t, items, got)
				_, again := cache.take(l)
				require.False(t, again, "it is taken once")
			}
		})
	}
}

func TestTheCacheForgetsTheOldestAndTheLarge(t *testing.T) {
	cache := newHistoryCache(2)
	for id := int64(1); id <= 3; id++ {
		cache.put(store.Session{ID: id}, store.Turn{}, []model.Item{{Text: "x"}})
	}
	require.Len(t, cache.byID, 2)
	require.NotContains(t, cache.byID, int64(1))
	cache.put(store.Session{ID: 9}, store.Turn{}, []model.Item{{Text: strings.Repeat("x", maxCachedBytes+1)}})
	require.NotContains(t, cache.byID, int64(9))
	cache.drop(2)
	require.Len(t, cache.byID, 1)
}

func TestLongToolResultsAreCutInThePromptOnly(t *testing.T) {
	long := strings.Repeat("ä", maxPromptResult)
	items := []model.Item{{Kind: model.User, Text: long}, {Kind: model.ToolOutput, Text: long}}
	got := trimForPrompt(items)
	require.Equal(t, long, got[0].Text)
	require.Less(t, len(got[1].Text), maxPromptResult+200)
	require.Contains(t, got[1].Text, fmt.Sprintf("of %d bytes shown", len(long)))
	require.Equal(t, long, items[1].Text, "the transcript keeps the whole")
}

func TestContextFilesAreCutWithAMark(t *testing.T) {
	def := Definition{Instructions: "Help.", ContextFiles: []ContextFile{{Name: "AGENTS.md", Text: strings.Repeat("a", maxContextFile+1)}, {Name: "TOOLS.md", Text: "short"}}}
	l := &kernel.Lease{Turn: store.Turn{ReplyTo: core.Address{Channel: "console", Account: "default", Conversation: "main", Thread: "t1"}}}
	got := systemPrompt(def, l, "about", time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	require.True(t, strings.HasPrefix(got, "Help."))
	require.Equal(t, 1, strings.Count(got, "[cut here"))
	require.Contains(t, got, "# TOOLS.md\n\nshort")
	require.Contains(t, got, "Monday, 30 November 2026, 12:00 UTC")
	require.Contains(t, got, "a thread of ")
	require.True(t, strings.HasSuffix(got, "about"))
}

func TestEveryModelErrorHasWordsForPeople(t *testing.T) {
	for _, class := range []model.ErrorClass{
		model.RateLimited, model.Overloaded, model.Overflow, model.Auth, model.BadRequest, model.Refused, model.Network, model.Truncated,
	} {
		got := explain(&model.Error{Class: class, Err: errors.New("secret detail")})
		require.NotContains(t, got, "secret detail")
		require.NotContains(t, got, "the call failed")
	}
	require.Equal(t, "boom", explain(errors.New("boom")))
}

func TestPausesDoubleAndHonourTheService(t *testing.T) {
	require.Equal(t, time.Second, pause(1, errors.New("x")))
	require.Equal(t, 4*time.Second, pause(3, errors.New("x")))
	require.Equal(t, 7*time.Second, pause(1, &model.Error{Class: model.RateLimited, After: 7 * time.Second}))
	require.Equal(t, time.Hour, pause(1, &model.Error{Class: model.RateLimited, After: time.Hour}))
}

func TestAPanicOfAToolIsItsFailure(t *testing.T) {
	_, err := invoke(context.Background(), panicTool{}, core.ToolScope{}, core.ToolCall{Name: "boom"})
	require.ErrorContains(t, err, "the tool boom panicked: ouch")
	res := failure(context.Background(), err, time.Second)
	require.True(t, res.Error)
	require.NotContains(t, res.Text, "\n", "no stack for the model")
}

type panicTool struct{}

func (panicTool) Spec() core.ToolSpec { return core.ToolSpec{Name: "boom"} }
func (panicTool) Invoke(context.Context, core.ToolScope, core.ToolCall) (core.ToolResult, error) {
	panic("ouch")
}

// stuckTool does not look at its context.
type stuckTool struct{ until chan struct{} }

func (stuckTool) Spec() core.ToolSpec { return core.ToolSpec{Name: "stuck"} }
func (s stuckTool) Invoke(context.Context, core.ToolScope, core.ToolCall) (core.ToolResult, error) {
	<-s.until
	return core.ToolResult{Text: "too late"}, nil
}

// TestAToolThatHangsDoesNotHangTheTurn: it gets its deadline and a little more,
// then a typed error stands for its result.
func TestAToolThatHangsDoesNotHangTheTurn(t *testing.T) {
	stuck := stuckTool{make(chan struct{})}
	defer close(stuck.until)
	w := world.New(clock.Real{}, nil, 1)
	turn := &turn{
		r: New(Options{World: w, Log: slog.New(slog.DiscardHandler)}), l: new(kernel.Lease),
		lim: Limits{ToolTimeout: time.Millisecond, ToolGrace: time.Millisecond},
	}
	ctx, cancel := w.Clock.WithTimeout(t.Context(), turn.lim.ToolTimeout)
	defer cancel()
	_, err := turn.invokeInTime(ctx, stuck, pendingCall{call: core.ToolCall{Name: "stuck"}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	res := failure(ctx, err, turn.lim.ToolTimeout)
	require.True(t, res.Error)
	require.Regexp(t, `^tool_timeout: the call was stopped after 1ms \(tools\.timeoutSeconds\)`, res.Text)
}
