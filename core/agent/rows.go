package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// entry is one row of a history.
type entry struct {
	row, turn int64
	whole     model.Item // as it is stored
	item      model.Item // as it is sent
	size      int        // its tokens, as estimated
}

// limited returns the entry as it is sent with limits of its texts.
func (e entry) limited(maxResult, maxText int) entry {
	e.item = capped(e.whole, maxResult, maxText)
	e.size = itemTokens(e.item)
	return e
}

// history is what a prompt is made of: the newest compaction, and the rows that
// are sent as they are.
type history struct {
	head     *model.Item // nil where nothing was compacted
	headTurn int64
	entries  []entry
}

// readRows makes a history of the rows of a prompt, which are in step order. Of
// compactions the newest counts: it stands for the others too.
func readRows(rows []store.Row) (history, error) {
	var h history
	for _, r := range rows {
		item, err := decode(r)
		if err != nil {
			return h, err
		}
		if item.Kind == model.Compacted {
			h.head, h.headTurn = &item, r.Turn
			continue
		}
		h.entries = append(h.entries, entry{row: r.ID, turn: r.Turn, whole: item})
	}
	for n, e := range h.entries {
		var c model.Compaction
		if e.row < h.headRow() {
			c = h.compaction()
		}
		h.entries[n] = e.limited(c.MaxResult, c.MaxText)
	}
	return h, nil
}

func decode(r store.Row) (model.Item, error) {
	item, err := model.DecodeItem(r.Body)
	if err != nil {
		return item, fmt.Errorf("transcript row %d: %w", r.ID, err)
	}
	item.Row = r.ID
	return item, nil
}

// compaction is what the head says of itself, nothing where there is none.
func (h history) compaction() model.Compaction {
	if h.head == nil || h.head.Compaction == nil {
		return model.Compaction{}
	}
	return *h.head.Compaction
}

func (h history) headRow() int64 {
	if h.head == nil {
		return 0
	}
	return h.head.Row
}

// items are the history as it is sent: the summary, what was carried over it,
// and the rows.
func (h history) items() []model.Item {
	var out []model.Item
	if h.head != nil && h.head.Text != "" {
		out = append(out, *h.head)
	}
	out = append(out, h.compaction().Carried...)
	for _, e := range h.entries {
		out = append(out, e.item)
	}
	return out
}

// with is the history after a compaction by p, whose item is head.
func (h history) with(head model.Item, turn int64, p plan) history {
	out := history{head: &head, headTurn: turn}
	for _, e := range h.entries[p.cut:] {
		out.entries = append(out.entries, e.limited(p.maxResult, p.maxText))
	}
	return out
}

// capped returns an item whose texts are not longer than the limits, in bytes;
// 0 is no limit. What is cut off leaves a mark with how much it was: an empty
// result would look like a call that did nothing.
func capped(i model.Item, maxResult, maxText int) model.Item {
	switch i.Kind {
	case model.ToolOutput:
		i.Text = truncated(i.Text, maxResult)
	case model.Event:
		if c := i.Completion; c != nil && maxText > 0 && len(c.Result) > maxText {
			short := *c
			short.Result = truncated(c.Result, maxText)
			i.Completion = &short
		}
	case model.Compacted: // has a limit of its own
	case model.Assistant:
		i.Text, i.Calls = truncated(i.Text, maxText), cappedCalls(i.Calls, maxText)
	default:
		i.Text = truncated(i.Text, maxText)
		if maxText > 0 {
			i.Context, i.Files = cappedContext(i.Context), cappedFiles(i.Files, maxText)
		}
	}
	return i
}

// maxSeen is how much of each message of the background is sent where texts are
// cut, in bytes.
const maxSeen = 256

func cappedContext(seen []model.Item) (out []model.Item) {
	for _, i := range seen {
		i.Text = truncated(i.Text, maxSeen)
		out = append(out, i)
	}
	return out
}

func cappedFiles(files []model.File, limit int) (out []model.File) {
	for _, f := range files {
		f.Text = truncated(f.Text, limit)
		out = append(out, f)
	}
	return out
}

// cappedCalls returns calls whose arguments are not longer than limit bytes; in
// the place of longer ones stands an object that shows a part of them.
func cappedCalls(calls []core.ToolCall, limit int) []core.ToolCall {
	var out []core.ToolCall
	for n, c := range calls {
		short := truncated(string(c.Args), limit)
		if len(short) == len(c.Args) {
			continue
		}
		if out == nil {
			out = slices.Clone(calls)
		}
		if args, err := json.Marshal(map[string]string{"truncated": short}); err == nil {
			out[n].Args = model.Arguments(string(args))
		}
	}
	if out == nil {
		return calls
	}
	return out
}

// truncated keeps the beginning and the end of a text that is longer than limit
// bytes, and says between them how much is missing. It never makes a text
// longer; limit 0 is none.
func truncated(s string, limit int) string {
	const mark = len("\n[truncated 1234567890 bytes]\n")
	if limit <= 0 || len(s) <= limit+mark {
		return s
	}
	head, tail := limit*3/4, len(s)-limit/4
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[truncated %d bytes]\n%s", s[:head], tail-head, s[tail:])
}
