package model_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

// The words of transcripts in short: u user, a(x y) an assistant with calls,
// r(x) a result.
func u(text string) model.Item { return model.Item{Kind: model.User, Text: text} }

func a(text string, ids ...string) model.Item {
	i := model.Item{Kind: model.Assistant, Text: text, At: 7}
	for _, id := range ids {
		i.Calls = append(i.Calls, core.ToolCall{ID: id, Name: "tool", Args: json.RawMessage(`{}`)})
	}
	return i
}

func r(id, text string) model.Item {
	return model.Item{Kind: model.ToolOutput, CallID: id, Tool: "tool", Text: text}
}

func lost(id string) model.Item {
	i := r(id, model.Interrupted)
	i.Failed, i.At = true, 7
	return i
}

func list(items ...model.Item) []model.Item { return items }

func TestRepair(t *testing.T) {
	named := r("x", "1")
	named.Tool = "other"
	bad := a("t\x00", "x")
	bad.Calls[0].Name, bad.Calls[0].Args = "to\xffol", json.RawMessage(`{"a":`)
	good := a("t\uFFFD", "x")
	good.Calls[0].Name, good.Calls[0].Args = "to\uFFFDol", json.RawMessage(`"{\"a\":"`)
	goodResult := r("x", "1")
	goodResult.Tool = "to\uFFFDol"
	calling := u("hi")
	calling.Calls = a("", "x").Calls

	for _, c := range []struct {
		name     string
		in, want []model.Item
		fault    string // of in, as Validate tells it
	}{
		{"nothing", nil, nil, ""},
		{"valid", list(u("hi"), a("", "x", "y"), r("y", "2"), r("x", "1"), a("so")), list(u("hi"), a("", "x", "y"), r("y", "2"), r("x", "1"), a("so")), ""},
		{"B381 a result without its call", list(r("x", "1"), u("hi")), list(u("hi")), "item 1 (tool)"},
		{"B387 begins with a result, twice", list(r("x", "1"), r("y", "2")), nil, "item 1 (tool)"},
		{"B383 a call without its result", list(u("hi"), a("", "x"), u("more")), list(u("hi"), a("", "x"), lost("x"), u("more")), "1 calls before it"},
		{"at the end", list(a("", "x", "y"), r("y", "2")), list(a("", "x", "y"), r("y", "2"), lost("x")), "the last 1 calls"},
		{"a result further behind", list(a("", "x"), u("steer"), a("hm"), r("x", "1")), list(a("", "x"), r("x", "1"), u("steer"), a("hm")), "item 2 (user)"},
		{"a second result", list(a("", "x"), r("x", "1"), r("x", "2")), list(a("", "x"), r("x", "1")), "item 3 (tool)"},
		{"one id in two messages", list(a("", "x"), r("x", "1"), a("", "x"), r("x", "2")), list(a("", "x"), r("x", "1"), a("", "x_2"), r("x_2", "2")), "used twice"},
		{"one id in two messages, one result", list(a("", "x"), a("", "x"), r("x", "2")), list(a("", "x"), lost("x"), a("", "x_2"), r("x_2", "2")), "item 2 (assistant)"},
		{"one id twice in a message", list(a("", "x", "x"), r("x", "1"), r("x", "2")), list(a("", "x", "x_2"), r("x", "1"), r("x_2", "2")), "used twice"},
		{"empty ids", list(a("", "", ""), r("", "1"), r("", "2")), list(a("", "call_1", "call_2"), r("call_1", "1"), r("call_2", "2")), "is empty"},
		{"an id that looks like a replacement", list(a("", "x", "x"), r("x", "1"), r("x", "2"), a("", "x_2"), r("x_2", "3")),
			list(a("", "x", "x_2"), r("x", "1"), r("x_2", "2"), a("", "x_2_3"), r("x_2_3", "3")), "used twice"},
		{"an empty answer", list(u("hi"), a(" \n"), u("hello?")), list(u("hi"), u("hello?")), "neither text nor calls"},
		{"a result of another tool", list(a("", "x"), named), list(a("", "x"), r("x", "1")), `names the tool "other"`},
		{"what cannot be sent", list(bad, goodResult), list(good, goodResult), "cannot be sent"},
		{"calls of a user", list(calling, r("x", "1")), list(u("hi")), "only an assistant"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.fault == "" {
				require.NoError(t, model.Validate(c.in))
			} else {
				require.ErrorContains(t, model.Validate(c.in), c.fault)
			}
			before := fmt.Sprint(c.in)
			got := model.Repair(c.in)
			require.Equal(t, c.want, got)
			require.NoError(t, model.Validate(got))
			require.Equal(t, before, fmt.Sprint(c.in), "the input was changed")
		})
	}
}

func TestRepairCleansEveryText(t *testing.T) {
	const bad, good = "a\xffb\x00", "a\uFFFDb\uFFFD"
	author := func(s string) core.Author { return core.Author{ID: s, Name: s} }
	item := func(s string) model.Item {
		by := author(s)
		return model.Item{
			Kind: model.Event, Text: s, Think: s, MessageID: s, Author: &by, Quote: &core.Quote{ID: s, Author: author(s), Text: s},
			Completion: &model.Completion{
				Source: s, RunID: s, TaskID: s, SessionKey: s, Label: s, Task: s, TaskName: s, Status: core.RunStatus(s),
				Detail: s, Result: s, Ref: s, Stats: s, PostedIn: s,
			},
		}
	}
	in := item(bad)
	require.Error(t, model.Validate(list(in)))
	require.Equal(t, list(item(good)), model.Repair(list(in)))
	require.Equal(t, bad, in.Completion.Result, "the input was changed")
}

// transcript draws items that are mostly nearly valid.
func transcript(t *rapid.T) []model.Item {
	id := rapid.SampledFrom([]string{"", "x", "y", "x_2", "x_3", "call_1", "z\xff"})
	text := rapid.SampledFrom([]string{"", " ", "hi", "b\x00d"})
	var items []model.Item
	for range rapid.IntRange(0, 12).Draw(t, "n") {
		i := model.Item{
			Kind: rapid.SampledFrom([]model.ItemKind{model.User, model.Assistant, model.Assistant, model.ToolOutput, model.ToolOutput, model.Note}).Draw(t, "kind"),
			Text: text.Draw(t, "text"),
		}
		switch i.Kind {
		case model.ToolOutput:
			i.CallID, i.Tool = id.Draw(t, "result of"), rapid.SampledFrom([]string{"tool", "other"}).Draw(t, "tool")
		case model.Assistant:
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				i.Calls = append(i.Calls, core.ToolCall{ID: id.Draw(t, "id"), Name: "tool", Args: json.RawMessage(rapid.SampledFrom([]string{`{}`, `{`, ``}).Draw(t, "args"))})
			}
		}
		items = append(items, i)
	}
	return items
}

func TestRepairProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := transcript(t)
		got := model.Repair(items)
		require.NoError(t, model.Validate(got), "the output is valid")
		require.Equal(t, got, model.Repair(got), "repairing again changes nothing")
		if model.Validate(items) == nil {
			require.Equal(t, items, got, "valid items stay as they are")
		}
		calls := func(items []model.Item) (n int) {
			for _, i := range items {
				n += len(i.Calls)
			}
			return n
		}
		require.Equal(t, calls(items), calls(got), "no call is lost")
	})
}

func TestRepairKeepsTheBeginning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		valid := model.Repair(transcript(t))
		more := model.Repair(append(valid[:len(valid):len(valid)], transcript(t)...))
		require.Equal(t, fmt.Sprint(valid), fmt.Sprint(more[:len(valid)]))
	})
}
