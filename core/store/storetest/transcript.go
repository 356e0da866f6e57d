package storetest

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// append adds transcript rows of a session's current generation and returns
// the id of the last.
func (s *suite) append(session int64, texts ...string) (last int64) {
	s.Helper()
	now := s.sessionNow(session)
	for _, text := range texts {
		last = do(s, func(tx *store.Tx) (int64, error) {
			return tx.AppendRow(store.Row{Session: session, Generation: now.Generation, Kind: "user", Body: text})
		})
	}
	return last
}

// fork makes a child that knows the parent's prompt up to row, as a spawn does.
func (s *suite) fork(parent, row int64) store.Session {
	s.Helper()
	p := s.sessionNow(parent)
	s.made++
	return do(s, func(tx *store.Tx) (store.Session, error) {
		return tx.InsertSession(store.Session{
			Key: fmt.Sprintf("agent:main:subagent:f%d", s.made), Agent: "main", Kind: core.SessionSubagent, ContextFrom: p.ContextFrom,
			ForkSession: p.ID, ForkGeneration: p.Generation, ForkRow: row, CreatedAt: 1, UsedAt: 1,
		})
	})
}

// prompt returns the texts of a session's prompt, whole those of its history.
func (s *suite) prompt(session int64) []string { return s.texts(session, (*store.Tx).Transcript) }
func (s *suite) whole(session int64) []string  { return s.texts(session, (*store.Tx).WholeTranscript) }

func (s *suite) texts(session int64, read func(*store.Tx, store.Session) ([]store.Row, error)) []string {
	s.Helper()
	now := s.sessionNow(session)
	return rowTexts(get(s, func(tx *store.Tx) ([]store.Row, error) { return read(tx, now) }))
}

func rowTexts(rows []store.Row) []string {
	out := []string{}
	for _, r := range rows {
		out = append(out, r.Body)
	}
	return out
}

// everything returns the texts of all histories of a session.
func (s *suite) everything(session int64) []string { s.Helper(); return s.texts(session, inPages(3)) }

func testTranscript(s *suite) {
	a, b := s.session(), s.session()
	last := func(id int64) int64 { return get(s, func(tx *store.Tx) (int64, error) { return tx.LastRow(id) }) }
	require.Zero(s, last(a.ID))
	want := store.Row{Session: a.ID, Generation: 1, Turn: 4, Seq: 2, Kind: "assistant", Body: `{"text":"héllo"}`, At: 100}
	want.ID = do(s, func(tx *store.Tx) (int64, error) { return tx.AppendRow(want) })
	require.Equal(s, []store.Row{want}, get(s, func(tx *store.Tx) ([]store.Row, error) { return tx.Transcript(a) }))
	require.Equal(s, want.ID, last(a.ID))
	require.Empty(s, s.prompt(b.ID))

	second := s.append(a.ID, "2")
	third := s.append(a.ID, "3")
	s.append(b.ID, "other")
	require.Equal(s, []string{want.Body, "2", "3"}, s.prompt(a.ID))
	require.Equal(s, []string{"3"}, rowTexts(get(s, func(tx *store.Tx) ([]store.Row, error) { return tx.RowsAfter(a, second) })))
	require.Equal(s, third, last(a.ID))

	s.write(func(tx *store.Tx) error { return tx.SetContextFrom(a.ID, second) })
	require.Equal(s, []string{"2", "3"}, s.prompt(a.ID), "what is compacted is not in the prompt")
	require.Equal(s, []string{want.Body, "2", "3"}, s.whole(a.ID), "but it stays in the history")

	s.write(func(tx *store.Tx) error { return tx.NewGeneration(a.ID) })
	require.Empty(s, s.prompt(a.ID))
	require.Equal(s, int64(2), s.sessionNow(a.ID).Generation)
	require.Zero(s, s.sessionNow(a.ID).ContextFrom)
	s.append(a.ID, "new")
	require.Equal(s, []string{"new"}, s.prompt(a.ID))
	require.Equal(s, []string{want.Body, "2", "3"}, rowTexts(get(s, func(tx *store.Tx) ([]store.Row, error) {
		return tx.WholeTranscript(a) // as it was read before
	})), "the older generation can still be read")
	require.Equal(s, []string{want.Body, "2", "3", "new"}, s.everything(a.ID))
}

func testTranscriptOfTurns(s *suite) {
	a := s.session()
	t1 := s.turn(a.ID)
	t2 := s.turn(a.ID)
	for _, r := range []store.Row{
		{Turn: t1.ID, Seq: 0, Kind: "user", Body: "u"}, {Turn: t1.ID, Seq: 1, Kind: "assistant", Body: "a"},
		{Turn: t1.ID, Seq: 3, Kind: "tool", Body: "t3"}, {Turn: t1.ID, Seq: 2, Kind: "tool", Body: "é2"},
		{Turn: t2.ID, Seq: 1, Kind: "assistant", Body: "b"},
	} {
		r.Session, r.Generation = a.ID, 1
		s.write(func(tx *store.Tx) error { _, err := tx.AppendRow(r); return err })
	}
	require.Equal(s, []string{"u", "a", "é2", "t3"}, rowTexts(get(s, func(tx *store.Tx) ([]store.Row, error) { return tx.RowsOfTurn(a, t1.ID) })), "by step")
	all := get(s, func(tx *store.Tx) ([]store.Row, error) { return tx.Transcript(a) })
	size := func(row int64) int64 {
		return get(s, func(tx *store.Tx) (int64, error) { return tx.TranscriptSize(a, row) })
	}
	require.Equal(s, []int64{0, 1, 7, 8}, []int64{size(0), size(all[0].ID), size(all[3].ID), size(1 << 40)}, "in bytes")
	require.Equal(s, 5, get(s, func(tx *store.Tx) (int, error) { return tx.CountRows(a.ID) }))
}

func testTranscriptOfForks(s *suite) {
	a := s.session()
	s.append(a.ID, "a1")
	cut := s.append(a.ID, "a2")
	child := s.fork(a.ID, cut)
	s.append(a.ID, "a3")
	require.Equal(s, []string{"a1", "a2"}, s.prompt(child.ID), "a child knows what was there at the fork")
	deep := s.append(child.ID, "c1")
	require.Equal(s, []string{"a1", "a2", "c1"}, s.prompt(child.ID))
	require.Equal(s, []string{"a1", "a2", "a3"}, s.prompt(a.ID))

	grand := s.fork(child.ID, deep)
	s.append(child.ID, "c2")
	s.append(grand.ID, "g1")
	require.Equal(s, []string{"a1", "a2", "c1", "g1"}, s.prompt(grand.ID), "a fork of a fork")
	size := get(s, func(tx *store.Tx) (int64, error) { return tx.TranscriptSize(s.sessionNow(grand.ID), 1<<40) })
	require.Equal(s, int64(8), size, "what was inherited counts for the size of the next fork")

	early := s.fork(child.ID, cut)
	require.Equal(s, []string{"a1", "a2"}, s.prompt(early.ID), "a fork at a row that was inherited itself")
	none := s.fork(child.ID, 0)
	require.Empty(s, s.prompt(none.ID))

	s.write(func(tx *store.Tx) error { return tx.SetContextFrom(grand.ID, deep) })
	require.Equal(s, []string{"c1", "g1"}, s.prompt(grand.ID), "a compaction inside what was inherited")
	require.Equal(s, []string{"a1", "a2", "c1", "g1"}, s.whole(grand.ID))
	s.write(func(tx *store.Tx) error { return tx.NewGeneration(grand.ID) })
	require.Empty(s, s.prompt(grand.ID), "a new generation inherits nothing")
	s.append(grand.ID, "g2")
	require.Equal(s, []string{"a1", "a2", "c1", "g1", "g2"}, s.everything(grand.ID), "but the history before it did")
}

// testTranscriptOfForksIsFixed: what happens to the parent after a fork changes
// nothing for the child.
func testTranscriptOfForksIsFixed(s *suite) {
	a := s.session()
	s.append(a.ID, "a1")
	second := s.append(a.ID, "a2")
	s.write(func(tx *store.Tx) error { return tx.SetContextFrom(a.ID, second) })
	child := s.fork(a.ID, second)
	s.append(child.ID, "c1")
	grand := s.fork(child.ID, s.append(child.ID, "c2"))
	want := func(when string) {
		s.Helper()
		require.Equal(s, []string{"a2", "c1", "c2"}, s.prompt(grand.ID), when)
		require.Equal(s, []string{"a1", "a2", "c1", "c2"}, s.whole(grand.ID), when)
	}
	want("at the fork")
	summarychild := s.append(child.ID, "summary")
	s.write(func(tx *store.Tx) error { return tx.SetContextFrom(child.ID, summarychild) })
	want("after a compaction of the parent")
	s.write(func(tx *store.Tx) error { return tx.NewGeneration(child.ID) })
	want("after /new in the parent")
	summarya := s.append(a.ID, "summary")
	s.write(func(tx *store.Tx) error { return tx.SetContextFrom(a.ID, summarya) })
	want("after a compaction of the grandparent")
	s.write(func(tx *store.Tx) error { return tx.NewGeneration(a.ID) })
	want("after /new in the grandparent")
	s.reopen()
	want("after a restart")
}

// op is one thing that happens to a session of the model.
type op struct {
	kind    string
	session int // of those that exist, modulo
	row     int // of its history, modulo
}

// copied is the model of a session: a fork copies.
type copied struct {
	id      int64
	history []store.Row
	from    int64
	turn    int64 // its last one
	retried int64 // the newest row at its last retry
}

func (c *copied) prompt() []string {
	return rowTexts(slices.DeleteFunc(slices.Clone(c.history), func(r store.Row) bool { return r.ID < c.from || r.Replaced }))
}

// testTranscriptModel: forks, compactions, retries and new generations in any
// order read as if each fork had copied its parent's history.
func testTranscriptModel(s *suite) {
	kinds := []string{"append", "append", "append", "retry", "turn", "compact", "fork", "fork", "new"}
	rapid.Check(s.T, func(t *rapid.T) {
		ops := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) op {
			return op{rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.IntRange(0, 5).Draw(t, "session"), rapid.IntRange(0, 20).Draw(t, "row")}
		}), 1, 25).Draw(t, "ops")
		model := []*copied{{id: s.session().ID}}
		// One unit for the whole case: rapid stops a failing case by a panic,
		// which must not happen inside the unit.
		require.NoError(t, s.db.Write(s.Context(), func(tx *store.Tx) error {
			for i, o := range ops {
				next, err := o.apply(tx, model[o.session%len(model)], strconv.Itoa(i))
				if err != nil {
					return err
				}
				if next != nil {
					model = append(model, next)
				}
			}
			return nil
		}))
		for i, c := range model {
			require.Equal(t, c.prompt(), s.prompt(c.id), "prompt of session %d", i)
			require.Equal(t, rowTexts(c.history), s.whole(c.id), "history of session %d", i)
			s.requirePages(t, c)
		}
	})
}

// apply does o to the session and to its model; a fork returns the child.
func (o op) apply(tx *store.Tx, c *copied, text string) (child *copied, err error) {
	now, err := tx.SessionByID(c.id)
	if err != nil {
		return nil, err
	}
	var row int64
	n := 0
	if len(c.history) > 0 {
		n = o.row%len(c.history) + 1
		row = c.history[n-1].ID
	}
	switch o.kind {
	case "append":
		r := store.Row{Session: c.id, Generation: now.Generation, Turn: c.turn, Kind: "user", Body: text}
		if r.ID, err = tx.AppendRow(r); err != nil {
			return nil, err
		}
		c.history = append(c.history, r)
	case "turn":
		c.turn++
	case "retry": // of a turn that is one of its own, not of those it inherited
		for i, r := range c.history {
			c.history[i].Replaced = r.Replaced || r.Session == c.id && r.Turn == c.turn
		}
		last, err := tx.LastRow(c.id)
		if err != nil {
			return nil, err
		}
		c.retried = max(c.retried, last) // its own, or what it inherited
		return nil, tx.ReplaceFrom(now, c.turn)
	case "compact":
		c.from = max(c.from, row)
		return nil, tx.SetContextFrom(c.id, c.from)
	case "new":
		c.history, c.from = nil, 0
		return nil, tx.NewGeneration(c.id)
	case "fork":
		if row <= c.retried {
			return nil, nil // forks are made at the newest row, and a retried turn has one already
		}
		made, err := tx.InsertSession(store.Session{
			Key: fmt.Sprintf("agent:main:subagent:m%d-%s", c.id, text), Agent: "main", Kind: core.SessionSubagent,
			ContextFrom: now.ContextFrom, ForkSession: now.ID, ForkGeneration: now.Generation, ForkRow: row,
		})
		return &copied{id: made.ID, history: slices.Clone(c.history[:n]), from: c.from, retried: c.retried}, err
	}
	return nil, nil
}
