package sessiontool

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
	"github.com/skein-bot/skein/core/target"
	"github.com/skein-bot/skein/core/world"
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

// newHistory returns tools on an empty store.
func newHistory(t *testing.T) *Tools {
	t.Helper()
	path := pgtest.StoreURL(t, filepath.Join(t.TempDir(), "skein.db"))
	db, err := store.Open(t.Context(), pgtest.Options(path, world.New(clock.Real{}, nil, 1)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return New(Options{DB: db})
}

// with adds a session that has messages, or goes on after those of another; the
// messages have the numbers of their rows then.
func (t *Tools) with(tb require.TestingT, key string, from store.Session, items []model.Item) (s store.Session) {
	require.NoError(tb, t.DB.Write(context.Background(), func(tx *store.Tx) (err error) {
		s = store.Session{Key: key, Agent: "main", Kind: core.SessionSubagent}
		if from.ID > 0 {
			s.ForkSession, s.ForkGeneration = from.ID, from.Generation
			if s.ForkRow, err = tx.LastRow(from.ID); err != nil {
				return err
			}
		}
		if s, err = tx.InsertSession(s); err != nil {
			return err
		}
		for n, i := range items {
			row := store.Row{Session: s.ID, Generation: s.Generation, Seq: n, Kind: string(i.Kind), Body: i.Encode()}
			if items[n].Row, err = tx.AppendRow(row); err != nil {
				return err
			}
		}
		return nil
	}))
	return s
}

// read reads a page.
func (t *Tools) read(tb require.TestingT, s store.Session, p historyArgs) (page historyPage) {
	require.NoError(tb, t.DB.Read(context.Background(), func(tx *store.Tx) (err error) {
		page, err = t.page(tx, s, p)
		return err
	}))
	return page
}

// Following nextOffset shows every message once, in results that fit; those that a
// fork inherited come first. Without tools that is every message but results and
// what only calls tools.
func TestPagesHaveEverythingOnce(t *testing.T) {
	t.Parallel()
	tools, sessions := newHistory(t), 0
	rapid.Check(t, func(t *rapid.T) {
		var items []model.Item
		for row := range rapid.IntRange(0, 12).Draw(t, "items") {
			items = append(items, drawItem(t, row+1))
		}
		inherited := rapid.IntRange(0, len(items)).Draw(t, "inherited")
		sessions++
		parent := tools.with(t, fmt.Sprint("agent:main:subagent:p", sessions), store.Session{}, items[:inherited])
		s := tools.with(t, fmt.Sprint("agent:main:subagent:c", sessions), parent, items[inherited:])
		withTools := rapid.Bool().Draw(t, "tools")
		var want []int64
		for _, i := range items {
			if withTools || i.Kind != model.ToolOutput && (i.Kind != model.Assistant || i.Text != "") {
				want = append(want, i.Row)
			}
		}
		p := historyArgs{Limit: rapid.IntRange(1, 6).Draw(t, "limit"), Offset: new(int), IncludeTools: withTools}
		var rows []int64
		for {
			page := tools.read(t, s, p)
			checkPage(t, page, p.Limit)
			rows = append(rows, rowsOf(t, page)...)
			require.Equal(t, len(want), page.TotalMessages)
			if page.NextOffset == nil {
				require.False(t, page.HasMore)
				break
			}
			require.Greater(t, *page.NextOffset, *p.Offset, "it goes on")
			p.Offset = page.NextOffset
		}
		require.Equal(t, want, rows)
		newest := tools.read(t, s, historyArgs{Limit: p.Limit, IncludeTools: withTools})
		checkPage(t, newest, p.Limit)
		require.Nil(t, newest.NextOffset, "the newest come without an offset")
		if len(want) > 0 {
			require.Equal(t, want[newest.Offset:], rowsOf(t, newest))
			require.Less(t, newest.Offset, len(want))
		}
	})
}

// TestAPageIsReadAlone: a page of a history of 10,000 messages asks of the database
// what one of 500 does, whatever the page, in so many statements: the rows of the
// page, and of the others the index. Half of the messages is inherited.
func TestAPageIsReadAlone(t *testing.T) {
	t.Parallel()
	tools := newHistory(t)
	history := func(key string, n int) store.Session {
		var s store.Session
		for _, part := range []string{"p", "c"} {
			items := make([]model.Item, n/2)
			for i := range items {
				items[i] = model.Item{Kind: model.User, Text: strings.Repeat("word ", 100)}
			}
			s = tools.with(t, "agent:main:subagent:"+part+key, s, items)
		}
		return s
	}
	few, many := history("few", 500), history("many", 10_000)
	ask := func(s store.Session, p historyArgs) (page historyPage, rows, others, statements int) {
		defer tools.DB.Watch(func(st store.Statement) {
			statements++
			if strings.HasPrefix(st.Query, "SELECT id, session_id, generation") {
				rows += st.Pages
			} else {
				others += st.Pages
			}
		})()
		return tools.read(t, s, p), rows, others, statements
	}
	for _, offset := range []int{-1, 0, 200, 240, 400} {
		before, after := historyArgs{Limit: 50}, historyArgs{Limit: 50}
		if offset >= 0 {
			far := offset * 20
			before.Offset, after.Offset = &offset, &far
		}
		page, least, _, _ := ask(few, before)
		require.Len(t, page.Messages, 50)
		page, most, others, statements := ask(many, after)
		require.Len(t, page.Messages, 50)
		require.Equal(t, 10_000, page.TotalMessages)
		t.Logf("from %d: %d statements, %d pages for rows (%d with few), %d for others", page.Offset, statements, most, least, others)
		require.LessOrEqual(t, statements, 6, "the parent, two counts, where the page begins, and the rows of it")
		require.LessOrEqual(t, most, 2*least, "a tree is a level deeper")
		require.LessOrEqual(t, others, 150, "10,000 entries of the index")
	}
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
	tools := newHistory(t)
	text := encode(tools.read(t, tools.with(t, "k", store.Session{}, items), historyArgs{Limit: 10, IncludeTools: true}))
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
	tools := newHistory(t)
	text := encode(tools.read(t, tools.with(t, "k", store.Session{}, []model.Item{item}), historyArgs{Limit: 1}))
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

// The log of a sub-agent is what people and it said last, oldest first: nothing
// that it inherited, no results, and no credentials.
func TestLogOfASubAgent(t *testing.T) {
	t.Parallel()
	tools := newHistory(t)
	parent := tools.with(t, "p", store.Session{}, []model.Item{{Kind: model.User, Text: "inherited"}})
	var items []model.Item
	for n := range 70 {
		items = append(items, model.Item{Kind: model.User, Text: fmt.Sprint("do ", n)}, model.Item{Kind: model.Note, Text: "a note"},
			model.Item{Kind: model.Assistant, Calls: []core.ToolCall{{ID: "1", Name: "exec", Args: json.RawMessage(`{}`)}}},
			model.Item{Kind: model.ToolOutput, CallID: "1", Text: "result"}, model.Item{Kind: model.Assistant, Text: fmt.Sprint("did ", n)})
	}
	items = append(items, model.Item{Kind: model.Assistant, Text: "key ghp_16C7e42F292c6912E7710c838347Ae178B4a" + strings.Repeat(" long", 1000)})
	child := tools.with(t, "c", parent, items)
	log := func(limit int) (texts []string) {
		require.NoError(t, tools.DB.Read(t.Context(), func(tx *store.Tx) error {
			shown, err := subagentsTool{t: tools}.log(tx, target.Target{Session: child}, limit)
			if err != nil {
				return err
			}
			for _, m := range shown.(map[string]any)["messages"].([]said) {
				texts = append(texts, m.Role+": "+m.Text)
			}
			return nil
		}))
		return texts
	}
	got := log(3)
	require.Len(t, got, 3)
	require.Equal(t, []string{"user: do 69", "assistant: did 69"}, got[:2])
	require.NotContains(t, got[2], "ghp_16C7")
	require.Len(t, []rune(got[2]), len("assistant: ")+logText)
	require.Len(t, log(0), logDefault)
	require.Equal(t, "user: do 0", log(1000)[0], "not what it inherited")
	require.Len(t, log(1000), 141)
}
