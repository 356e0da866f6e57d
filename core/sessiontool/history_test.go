package sessiontool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

// drawItem is a message of any kind and size; some are larger than a result.
func drawItem(t *rapid.T, row int) model.Item {
	text := func(name string) string {
		unit := rapid.SampledFrom([]string{"a", "ü", "😀", "<", "\"", "\n", "\x01", "\u2028", "word "}).Draw(t, name+" of")
		return strings.Repeat(unit, rapid.SampledFrom([]int{0, 1, 30, 3999, 4000, 4001, 20_000}).Draw(t, name+" times"))
	}
	i := model.Item{Row: int64(row), Kind: rapid.SampledFrom([]model.ItemKind{model.User, model.Assistant, model.ToolOutput, model.Note, model.Compacted}).Draw(t, "kind")}
	i.Text, i.Think = text("text"), "thinks"
	i.Thoughts = []model.Thought{{Model: "m", Text: "thinks", Signature: "signed", Redacted: "replay"}}
	switch i.Kind {
	case model.Assistant:
		for n := range rapid.SampledFrom([]int{0, 1, 3, 25}).Draw(t, "calls") {
			args, _ := json.Marshal(map[string]string{"x": text(fmt.Sprint("call ", n))})
			i.Calls = append(i.Calls, core.ToolCall{ID: fmt.Sprint(n), Name: "exec", Args: args})
		}
	case model.User:
		i.Author = &core.Author{ID: "1", Name: text("name")}
		i.Files = []model.File{{Name: "cat.png", Type: "image/png", Kind: model.Picture, Data: "iVBORw0KGgo", Ref: "ref"}}
	}
	return i
}

// Following nextOffset shows every message once, in results that fit.
func TestPagesHaveEverythingOnce(t *testing.T) {
	t.Parallel()
	tools := New(Options{})
	rapid.Check(t, func(t *rapid.T) {
		var items []model.Item
		for row := range rapid.IntRange(0, 12).Draw(t, "items") {
			items = append(items, drawItem(t, row+1))
		}
		p := historyArgs{Limit: rapid.IntRange(1, 6).Draw(t, "limit"), Offset: new(int)}
		var rows []int64
		for {
			page := tools.page("agent:main:main", items, p)
			checkPage(t, page, p.Limit)
			rows = append(rows, rowsOf(t, page)...)
			require.Equal(t, len(items), page.TotalMessages)
			if page.NextOffset == nil {
				require.False(t, page.HasMore)
				break
			}
			require.Greater(t, *page.NextOffset, *p.Offset, "it goes on")
			p.Offset = page.NextOffset
		}
		require.Len(t, rows, len(items))
		for n, row := range rows {
			require.EqualValues(t, n+1, row)
		}
		newest := tools.page("agent:main:main", items, historyArgs{Limit: p.Limit})
		checkPage(t, newest, p.Limit)
		require.Nil(t, newest.NextOffset, "the newest come without an offset")
		if len(items) > 0 {
			shown := rowsOf(t, newest)
			require.Equal(t, items[len(items)-1].Row, shown[len(shown)-1])
			require.EqualValues(t, newest.Offset+1, shown[0])
		}
	})
}

func rowsOf(t *rapid.T, page historyPage) (rows []int64) {
	for _, raw := range page.Messages {
		var m message
		require.NoError(t, json.Unmarshal(raw, &m))
		rows = append(rows, m.Row)
	}
	return rows
}

func checkPage(t *rapid.T, page historyPage, limit int) {
	text := encode(page)
	require.LessOrEqual(t, len(text), maxResponse)
	require.LessOrEqual(t, len(page.Messages), limit)
	for _, hidden := range []string{"thinks", "signed", "replay", "iVBORw0KGgo"} {
		require.NotContains(t, text, hidden)
	}
	truncated, dropped := false, 0
	for _, raw := range page.Messages {
		var m message
		require.NoError(t, json.Unmarshal(raw, &m))
		for _, b := range m.Blocks {
			require.LessOrEqual(t, utf8.RuneCountInString(b.Text), maxBlock)
			truncated = truncated || b.Truncated || b.Text == omitted
			if b.Text == omitted {
				dropped++
			}
		}
	}
	require.Equal(t, truncated, page.ContentTruncated)
	require.Equal(t, dropped, page.DroppedMessages)
}

// A message of many blocks can be too large for any result; the marker stands
// for it, and what is around it is shown.
func TestTooLargeAMessageIsOmitted(t *testing.T) {
	t.Parallel()
	big := model.Item{Kind: model.Assistant, Row: 2, Text: "I call."}
	for n := range 40 {
		args, _ := json.Marshal(strings.Repeat("x", 5000))
		big.Calls = append(big.Calls, core.ToolCall{ID: fmt.Sprint(n), Name: "write", Args: args})
	}
	items := []model.Item{{Kind: model.User, Row: 1, Text: "before"}, big, {Kind: model.User, Row: 3, Text: "after"}}
	text := encode(New(Options{}).page("k", items, historyArgs{Limit: 10}))
	require.Contains(t, text, `{"row":2,"role":"assistant","blocks":[{"type":"text","text":"[sessions_history omitted: message too large]"}]}`)
	require.Contains(t, text, "before")
	require.Contains(t, text, "after")
	require.Contains(t, text, `"droppedMessages":1`)
}

// What is cut has no half of a credential.
func TestCredentialsGoBeforeTheCut(t *testing.T) {
	t.Parallel()
	secret := "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	item := model.Item{Kind: model.User, Row: 1, Text: strings.Repeat("a", maxBlock-20) + " " + secret}
	text := encode(New(Options{}).page("k", []model.Item{item}, historyArgs{Limit: 1}))
	require.NotContains(t, text, secret[:12])
}

func TestBlocksOfAMessage(t *testing.T) {
	t.Parallel()
	item := model.Item{
		Kind: model.User, Row: 7, Text: "what is this?", Author: &core.Author{ID: "1", Name: "Ann"}, At: 1_700_000_000_000,
		Quote:   &core.Quote{Author: core.Author{Name: "Bob"}, Text: "look"},
		Context: []model.Item{{Kind: model.User, Text: "hi all", Author: &core.Author{Name: "Cid"}}},
		Files:   []model.File{{Name: "a.txt", Type: "text/plain", Size: 3, Kind: model.Document, Text: "abc"}},
	}
	require.JSONEq(t, `{"row":7,"role":"user","at":"2023-11-14T22:13:20Z","author":"Ann","blocks":[
		{"type":"context","author":"Cid","text":"hi all"},{"type":"quote","author":"Bob","text":"look"},{"type":"text","text":"what is this?"},
		{"type":"file","name":"a.txt","mediaType":"text/plain","bytes":3,"text":"abc"}]}`, string(New(Options{}).message(item, maxResponse).raw))
}
