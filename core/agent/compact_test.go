package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// transcripts makes rows of a session as turns write them: several inputs, calls
// in parallel with results in any order, messages that join a turn at a
// boundary, completions, notes, and an earlier compaction now and then.
func transcripts(t *rapid.T) []store.Row {
	var rows []store.Row
	calls := 0
	text := func(name string) string {
		word := rapid.SampledFrom([]string{"a fact. ", "wörter ", "日本語 ", "[skein:note] "}).Draw(t, name+" word")
		return strings.Repeat(word, rapid.IntRange(1, 400).Draw(t, name+" length"))
	}
	add := func(turn int64, seq int, i model.Item) {
		id := int64(len(rows) + 1)
		rows = append(rows, store.Row{ID: id, Turn: turn, Seq: seq, Kind: string(i.Kind), Body: i.Encode()})
	}
	for turn := range rapid.IntRange(1, 8).Draw(t, "turns") {
		turn, seq := int64(turn+1), 0
		add(turn, seq, model.Item{Kind: rapid.SampledFrom([]model.ItemKind{model.User, model.User, model.Note}).Draw(t, "input"), Text: text("user")})
		for range rapid.IntRange(0, 4).Draw(t, "steps") {
			seq++
			answer := model.Item{Kind: model.Assistant, Text: text("said")}
			for range rapid.IntRange(1, 3).Draw(t, "calls") {
				calls++
				args, err := json.Marshal(map[string]string{"q": text("args")})
				require.NoError(t, err)
				answer.Calls = append(answer.Calls, core.ToolCall{ID: fmt.Sprintf("call_%d", calls), Name: "look", Args: args})
			}
			add(turn, seq, answer)
			for _, n := range rapid.Permutation(indexes(len(answer.Calls))).Draw(t, "order") { // in which they end
				add(turn, seq+1+n, model.Item{Kind: model.ToolOutput, CallID: answer.Calls[n].ID, Tool: "look", Text: text("result")})
			}
			seq += len(answer.Calls)
			switch rapid.IntRange(0, 5).Draw(t, "boundary") {
			case 0:
				add(turn, seq, model.Item{Kind: model.User, Text: text("steered")})
			case 1:
				add(turn, seq, model.Item{Kind: model.Event, Completion: &model.Completion{Label: "x", Status: core.RunOK, Result: text("event")}})
			}
		}
		add(turn, seq+1, model.Item{Kind: model.Assistant, Text: text("answer")})
	}
	if rapid.Bool().Draw(t, "open") { // the turn in progress has no answer yet
		rows = rows[:len(rows)-1]
	}
	return rows
}

func indexes(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

// TestB381ACompactionNeverPartsACallFromItsResult: any transcript, any window,
// compacted again and again: what is sent is valid without repair, is read back
// from the rows just so, gets smaller each time, and has what the turn is about.
func TestB381ACompactionNeverPartsACallFromItsResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := transcripts(t)
		h, err := readRows(inStepOrder(rows))
		require.NoError(t, err)
		require.NoError(t, model.Validate(h.items()), "the generator")
		turn := rows[len(rows)-1].Turn
		from, seq := int64(0), 1000
		for range 4 {
			room := rapid.IntRange(40, 4000).Draw(t, "room")
			b := budget{goal: room * goalPart / 100, keep: room * keepPart / 100, summary: max(room*summaryPart/100, 60)}
			p, ok := h.plan(turn, b)
			if !ok {
				continue
			}
			before := h
			head := model.Item{Kind: model.Compacted, Text: "summary", Row: int64(len(rows) + 1), Compaction: &model.Compaction{
				By: model.CompactedByModel, Carried: p.carried, MaxResult: p.maxResult, MaxText: p.maxText,
			}}
			if p.cut == 0 {
				head.Text, _ = h.summary()
			}
			h = h.with(head, turn, p)
			require.NoError(t, model.Validate(h.items()))
			require.Less(t, itemsTokens(h.items()), itemsTokens(before.items()))
			require.LessOrEqual(t, itemsTokens(h.items()), p.after, "the plan keeps its word")
			seq++
			rows = append(rows, store.Row{ID: head.Row, Turn: turn, Seq: seq, Kind: string(head.Kind), Body: head.Encode()})
			if p.cut > 0 {
				from = h.entries[0].row
			}
			var sent []store.Row
			for _, r := range rows {
				if r.ID >= from {
					sent = append(sent, r)
				}
			}
			again, err := readRows(inStepOrder(sent))
			require.NoError(t, err)
			require.Equal(t, unnumbered(h.items()), unnumbered(again.items()), "as the next turn reads it")
			require.Equal(t, newestInput(before, turn), newestInput(h, turn), "what the turn is about")
		}
	})
}

// unnumbered returns items without their rows, which are not stored with what
// is carried.
func unnumbered(items []model.Item) (out []model.Item) {
	for _, i := range items {
		i.Row = 0
		if i.Compaction != nil {
			c := *i.Compaction
			c.Carried = unnumbered(c.Carried)
			i.Compaction = &c
		}
		out = append(out, i)
	}
	return out
}

// newestInput reports whether a prompt has an input of a turn.
func newestInput(h history, turn int64) bool {
	if h.headTurn == turn && len(h.compaction().Carried) > 0 {
		return true
	}
	for _, e := range h.entries {
		if e.turn == turn && (e.item.Kind == model.User || e.item.Kind == model.Event) {
			return true
		}
	}
	return false
}

// TestB385AShorterRequestIsValid: what is left out of one request goes in whole
// groups too, with the newest input kept, and it has as few tokens as asked for
// where that is possible.
func TestB385AShorterRequestIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, err := readRows(inStepOrder(transcripts(t)))
		require.NoError(t, err)
		items := h.items()
		if rapid.Bool().Draw(t, "compacted") {
			items = append([]model.Item{{Kind: model.Compacted, Text: strings.Repeat("kept ", 300)}}, items...)
		}
		room := rapid.IntRange(1, 6000).Draw(t, "room")
		got := squeeze(items, room)
		require.NoError(t, model.Validate(got))
		require.Equal(t, got, model.Repair(got))
		if room >= 4000 {
			require.LessOrEqual(t, itemsTokens(got), room)
		}
		if input := lastInput(h.entries); input >= 0 {
			require.True(t, strings.HasPrefix(inputs(got), inputs(items)[:10]), "the newest input stays")
		}
	})
}

// inputs is the beginning of the newest input.
func inputs(items []model.Item) string {
	for n := len(items) - 1; n >= 0; n-- {
		switch items[n].Kind {
		case model.User:
			return items[n].Text + strings.Repeat(" ", 10)
		case model.Event:
			return items[n].Completion.Result + strings.Repeat(" ", 10)
		}
	}
	return ""
}

// TestB387AHistoryThatBeginsWithAResultIsSound: rows as a sweep of old ones may
// leave them.
func TestB387AHistoryThatBeginsWithAResultIsSound(t *testing.T) {
	rows := []store.Row{
		{ID: 5, Turn: 1, Seq: 2, Body: model.Item{Kind: model.ToolOutput, CallID: "gone", Tool: "look", Text: "x"}.Encode()},
		{ID: 6, Turn: 2, Body: model.Item{Kind: model.User, Text: "go on"}.Encode()},
	}
	h, err := readRows(rows)
	require.NoError(t, err)
	turn := &turn{items: h.items()}
	require.Equal(t, []model.Item{{Kind: model.User, Text: "go on", Row: 6}}, turn.promptItems())
}

// TestB405NoPlanWithoutProgress: a history that no way makes shorter is left
// alone, and one whose bulk is tool output gets shorter by that alone.
func TestB405NoPlanWithoutProgress(t *testing.T) {
	small := historyOf(
		model.Item{Kind: model.User, Text: "hello"}, model.Item{Kind: model.Assistant, Text: "hi"}, model.Item{Kind: model.User, Text: "and?"},
	)
	_, ok := small.plan(1, budget{goal: 1, keep: 1, summary: 60})
	require.False(t, ok, "a summary would be longer than what it stands for")

	bulky := historyOf(
		model.Item{Kind: model.User, Text: "look"},
		model.Item{Kind: model.Assistant, Calls: []core.ToolCall{{ID: "1", Name: "look", Args: json.RawMessage(`{}`)}}},
		model.Item{Kind: model.ToolOutput, CallID: "1", Tool: "look", Text: strings.Repeat("line of output\n", 2000)},
	)
	p, ok := bulky.plan(1, budget{goal: 2000, keep: 1000, summary: 300})
	require.True(t, ok)
	require.Zero(t, p.cut, "nothing is summarised")
	require.Equal(t, 4096, p.maxResult, "the mildest that reaches the goal")
}

// TestACutPartsRowsByTheirNumbers: where a prompt begins is a number of a row.
// A note that was written late under an early step stands before rows with
// smaller numbers: no cut may come between them.
func TestACutPartsRowsByTheirNumbers(t *testing.T) {
	h := historyOf(make([]model.Item, 5)...)
	for n, row := range []int64{1, 4, 2, 3, 5} {
		h.entries[n].row, h.entries[n].item.Kind = row, model.User
	}
	require.Equal(t, []int{0, 1, 4}, h.legalCuts())
}

func historyOf(items ...model.Item) (h history) {
	for n, i := range items {
		h.entries = append(h.entries, entry{row: int64(n + 1), turn: 1, whole: i}.limited(0, 0))
	}
	return h
}

func TestB407WhatIsCutOffLeavesAMark(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	for _, limit := range []int{1, 256, 4096} {
		got := truncated(long, limit)
		require.Regexp(t, `^ä*\n\[truncated \d+ bytes\]\nä*$`, got)
		var missing int
		_, err := fmt.Sscanf(strings.Trim(got, "ä\n"), "[truncated %d bytes]", &missing)
		require.NoError(t, err)
		require.Equal(t, len(long), strings.Count(got, "ä")*2+missing)
	}
	require.Equal(t, long, truncated(long, 0), "no limit")
	require.Equal(t, "short", truncated("short", 3), "never longer than it was")
	require.Empty(t, truncated("", 3))
}

func TestCutArgumentsStayAnObject(t *testing.T) {
	args, err := json.Marshal(map[string]string{"text": strings.Repeat(`"<é>`, 3000)})
	require.NoError(t, err)
	i := model.Item{Kind: model.Assistant, Calls: []core.ToolCall{{ID: "1", Name: "a", Args: json.RawMessage(`{}`)}, {ID: "2", Name: "b", Args: args}}}
	got := capped(i, 0, 512)
	require.JSONEq(t, `{}`, string(got.Calls[0].Args))
	require.Less(t, len(got.Calls[1].Args), 2000)
	_, bad := model.BadArgs(got.Calls[1])
	require.False(t, bad)
	require.Equal(t, string(args), string(i.Calls[1].Args), "the transcript keeps the whole")
}

func TestADigestHasTheNewestBeginnings(t *testing.T) {
	h := historyOf()
	h.head = &model.Item{Kind: model.Compacted, Text: "the vault code is 4711"}
	for n := range 100 {
		i := model.Item{Kind: model.User, Text: fmt.Sprintf("message %d %s", n, strings.Repeat("more ", 100))}
		h.entries = append(h.entries, entry{row: int64(n + 2), turn: int64(n), whole: i}.limited(0, 0))
	}
	got := digest(h, plan{cut: 90}, 500)
	require.LessOrEqual(t, tokens(got), 500)
	require.Contains(t, got, "the vault code is 4711")
	require.Contains(t, got, "message 89 ")
	require.NotContains(t, got, "message 90 ", "it is not left out")
	require.Regexp(t, `\[\d+ messages left out without a summary\]`, got)
}

func TestALongPartIsReadInSeveralCalls(t *testing.T) {
	h := historyOf()
	for n := range 400 {
		i := model.Item{Kind: model.User, Text: fmt.Sprintf("message %d. %s", n, strings.Repeat("word ", 200))}
		h.entries = append(h.entries, entry{row: int64(n + 1), turn: int64(n), whole: i}.limited(0, 0))
	}
	for _, room := range []int{50_000, 27_000, 1000} {
		parts := summaryInput(h, plan{cut: 400}, room)
		require.LessOrEqual(t, len(parts), summaryParts)
		for _, part := range parts {
			require.LessOrEqual(t, tokens(part), room+40)
		}
		require.Contains(t, parts[0], "message 0.")
		require.Contains(t, parts[len(parts)-1], "message 399.")
		require.Equal(t, room == 1000, strings.Contains(strings.Join(parts, ""), "was left out here"))
	}
}

func TestSizesLearnFromCalls(t *testing.T) {
	var s sizes
	w := Window{Context: 10_000, Output: 1000}
	require.Equal(t, 100, s.scale("a", 100))
	s.observe("a", 100, 0)
	require.Equal(t, 100, s.scale("a", 100), "a service that does not say")
	for range 10 {
		s.observe("a", 100, 200)
	}
	require.Equal(t, 200, s.scale("a", 100))
	require.Equal(t, 100, s.unscale("a", 200))
	require.Equal(t, 100, s.scale("b", 100), "each model counts for itself")
	s.observe("b", 1, 1_000_000)
	require.Equal(t, 100*maxRatio, s.scale("b", 100), "not to be believed")

	require.Equal(t, w, s.window("a", w, 1))
	s.overflowed("a", 6000, 1)
	require.Equal(t, Window{Context: 4200}, s.window("a", w, 2))
	s.overflowed("a", 0, 2)
	require.Equal(t, Window{Context: 4200}, s.window("a", w, 2), "a request that was taken at once")
	require.Equal(t, w, s.window("a", w, core.Millis(1).Add(2*limitCount)), "for a while")
	require.Equal(t, 8000, w.soft())
	require.Equal(t, 6000, Window{Context: 10_000, Output: 4000}.soft())
	require.Equal(t, 2500, Window{Context: 10_000, Output: 20_000}.soft())
}

// TestTheBoundIsABound: the cheap look that spares most requests the count.
func TestTheBoundIsABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, err := readRows(inStepOrder(transcripts(t)))
		require.NoError(t, err)
		turn := &turn{system: rapid.String().Draw(t, "system"), items: h.items()}
		turn.offer.Tools = []core.ToolSpec{{Name: "look", Description: rapid.String().Draw(t, "description"), Schema: json.RawMessage(`{"type":"object"}`)}}
		require.LessOrEqual(t, turn.fixed()+itemsTokens(turn.items), turn.mostTokens()+2)
	})
}
