package storetest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/store"
)

// inPages reads all histories of a session page by page.
func inPages(limit int) func(*store.Tx, store.Session) ([]store.Row, error) {
	return func(tx *store.Tx, now store.Session) (out []store.Row, err error) {
		for after := int64(0); ; after = out[len(out)-1].ID {
			rows, err := tx.HistoriesFrom(now, after, limit)
			if err != nil || len(rows) == 0 {
				return out, err
			}
			out = append(out, rows...)
		}
	}
}

// said returns what a part of a session's current history has.
func (s *suite) said(session int64, tools bool, read func(store.Said, func(store.Row) (bool, error)) error) (texts []string, total int) {
	s.Helper()
	now := s.sessionNow(session)
	rows := get(s, func(tx *store.Tx) (out []store.Row, err error) {
		h, err := tx.Said(now, tools)
		if err != nil {
			return nil, err
		}
		total = h.Total
		return out, read(h, func(r store.Row) (bool, error) {
			out = append(out, r)
			return true, nil
		})
	})
	return rowTexts(rows), total
}

func from(offset, limit int) func(store.Said, func(store.Row) (bool, error)) error {
	return func(h store.Said, do func(store.Row) (bool, error)) error { return h.From(offset, limit, do) }
}

func newest(limit int) func(store.Said, func(store.Row) (bool, error)) error {
	return func(h store.Said, do func(store.Row) (bool, error)) error { return h.Newest(limit, do) }
}

// requirePages: a page from any message, and the newest ones, are a part of the
// messages that stand.
func (s *suite) requirePages(t require.TestingT, c *copied) {
	s.Helper()
	want := rowTexts(slices.DeleteFunc(slices.Clone(c.history), func(r store.Row) bool { return r.Replaced }))
	for offset := range len(want) + 2 {
		for _, limit := range []int{0, 1, 2, 100} {
			first := min(offset, len(want))
			got, total := s.said(c.id, true, from(offset, limit))
			require.Len(t, want, total)
			require.Equal(t, want[first:min(first+limit, len(want))], got, "session %d from %d, %d of them", c.id, offset, limit)
		}
	}
	for limit := range len(want) + 2 {
		got, _ := s.said(c.id, true, newest(limit))
		slices.Reverse(got)
		require.Equal(t, want[max(0, len(want)-limit):], got, "session %d, the newest %d", c.id, limit)
	}
}

// testTranscriptInPages: pages of any size have every row of all histories once,
// what was inherited first, also where a page ends between two histories.
func testTranscriptInPages(s *suite) {
	parent := s.session()
	s.append(parent.ID, "p1", "p2")
	child := s.fork(parent.ID, s.append(parent.ID, "p3"))
	grand := s.fork(child.ID, s.append(child.ID, "c1", "c2"))
	want := []string{"p1", "p2", "p3", "c1", "c2"}
	for generation := range 4 {
		if generation != 2 { // nothing was said in that one
			text := strconv.Itoa(generation)
			s.append(grand.ID, text+"a", text+"b")
			want = append(want, text+"a", text+"b")
		}
		s.append(parent.ID, "other")
		s.append(child.ID, "other")
		s.write(func(tx *store.Tx) error { return tx.NewGeneration(grand.ID) })
	}
	for limit := 1; limit < 14; limit++ {
		require.Equal(s, want, s.texts(grand.ID, inPages(limit)), "%d a page", limit)
	}
	own := []string{}
	for after := int64(0); ; {
		rows := get(s, func(tx *store.Tx) ([]store.Row, error) { return tx.RowsFrom(grand.ID, after, 3) })
		if len(rows) == 0 {
			break
		}
		own, after = append(own, rowTexts(rows)...), rows[len(rows)-1].ID
	}
	require.Equal(s, want[5:], own, "without what it inherited")
}

// testTranscriptOfLargeRows: a page of large rows ends early, and the next goes on.
func testTranscriptOfLargeRows(s *suite) {
	a := s.session()
	var want []string
	for i := range 7 {
		want = append(want, strconv.Itoa(i)+strings.Repeat("x", 400_000))
	}
	s.append(a.ID, want...)
	first := get(s, func(tx *store.Tx) (int, error) {
		rows, err := tx.HistoriesFrom(a, 0, 1000)
		return len(rows), err
	})
	require.Equal(s, 3, first, "a megabyte")
	require.True(s, slices.Equal(want, s.texts(a.ID, inPages(1000)))) // too long to be shown
}

// testTranscriptSaid: without tools neither their results count nor answers that
// only call some; what is erased counts as it is then, and who has enough stops.
func testTranscriptSaid(s *suite) {
	a := s.session()
	ids := map[string]int64{}
	add := func(kind, body string) {
		ids[body] = do(s, func(tx *store.Tx) (int64, error) {
			return tx.AppendRow(store.Row{Session: a.ID, Generation: 1, Kind: kind, Body: body})
		})
	}
	const asked, called, result, both, answer = `{"kind":"user","text":"q"}`, `{"kind":"assistant","think":"t","calls":[{"text":""}]}`,
		`{"kind":"tool","text":"r"}`, `{"kind":"assistant","text":"wait","calls":[]}`, `{"kind":"assistant","text":"ü"}`
	add("message", asked)
	add("assistant", called)
	add("tool", result)
	add("assistant", both)
	add("assistant", answer)
	for tools, want := range map[bool][]string{true: {asked, called, result, both, answer}, false: {asked, both, answer}} {
		got, total := s.said(a.ID, tools, from(0, 100))
		require.Equal(s, want, got)
		require.Len(s, want, total)
		got, _ = s.said(a.ID, tools, from(1, 2))
		require.Equal(s, want[1:3], got)
		got, _ = s.said(a.ID, tools, newest(2))
		require.Equal(s, []string{answer, both}, got)
	}
	var many []string
	for i := range 130 { // more than one statement asks for
		many = append(many, strconv.Itoa(i))
	}
	b := s.session()
	s.append(b.ID, many...)
	got, total := s.said(b.ID, false, from(3, 120))
	require.Len(s, many, total)
	require.Equal(s, many[3:123], got)
	got, _ = s.said(b.ID, false, newest(1<<40))
	slices.Reverse(got)
	require.Equal(s, many, got)

	enough := 0
	s.said(a.ID, true, func(h store.Said, _ func(store.Row) (bool, error)) error {
		return h.From(0, 100, func(store.Row) (bool, error) { enough++; return enough < 2, nil })
	})
	require.Equal(s, 2, enough)

	s.write(func(tx *store.Tx) error { return tx.BlankRow(ids[both], `{"kind":"assistant"}`) })
	s.write(func(tx *store.Tx) error { return tx.SetRowBody(a.ID, ids[called], `{"kind":"assistant","text":"now"}`) })
	got, total = s.said(a.ID, false, newest(100))
	require.Equal(s, []string{answer, `{"kind":"assistant","text":"now"}`, asked}, got)
	require.Equal(s, 3, total)
}
