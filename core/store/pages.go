package store

import (
	"math"
	"slices"
)

// Ids of transcript rows ascend along a history: what a fork inherited is older
// than its own rows, and a history than the next one. So pages go by ids.

// Said is the messages of a session's current history, inherited ones first, for
// readers that show a part of it: whatever its size, they read the rows of that
// part, and of the others no more than the index. What a retry replaced is left
// out, as in the prompt. It is valid in its transaction.
type Said struct {
	// Total is how many messages there are.
	Total int

	tx     *Tx
	spans  []span
	counts []int // of the spans
	least  int64 // of the column said
}

// Said finds the messages of a session; with tools also results of tools, and
// answers that only call some.
func (tx *Tx) Said(s Session, tools bool) (Said, error) {
	spans, err := tx.spans(s, 0, math.MaxInt64)
	h := Said{tx: tx, spans: spans, counts: make([]int, len(spans)), least: 1}
	if tools {
		h.least = 0
	}
	for i, p := range spans {
		if err := tx.one(`SELECT COUNT(*)`+saidIn, h.args(p, p.upTo), &h.counts[i]); err != nil {
			return Said{}, err
		}
		h.Total += h.counts[i]
	}
	return h, err
}

// saidIn picks the messages with ids from $3 to $4 of a span that ends at $6; see
// standing.
const saidIn = ` FROM transcript WHERE session_id = $1 AND generation = $2 AND id >= $3 AND id <= $4 AND said >= $5
	AND (replaced = 0 OR replaced >= $6)`

func (h Said) args(p span, end int64, more ...any) []any {
	return append([]any{p.session, p.generation, p.from, p.upTo, h.least, end}, more...)
}

// From hands messages to do, oldest first, beginning with the one that has offset
// others before it: at most limit, until do wants no more. do must not use the
// transaction.
func (h Said) From(offset, limit int, do func(Row) (more bool, err error)) error {
	do, left := counted(do, limit)
	for i, p := range h.spans {
		if offset >= h.counts[i] {
			offset -= h.counts[i]
			continue
		}
		if *left <= 0 {
			return nil
		}
		if offset > 0 {
			if err := h.tx.one(`SELECT id`+saidIn+` ORDER BY id LIMIT 1 OFFSET $7`, h.args(p, p.upTo, offset), &p.from); err != nil {
				return err
			}
			offset = 0
		}
		forward := func(p *span, last int64) { p.from = last + 1 }
		if err := h.each(p, left, do, ` ORDER BY id`, forward); err != nil {
			return err
		}
	}
	return nil
}

// Newest hands messages to do, the newest first: at most limit, until do wants no
// more. do must not use the transaction.
func (h Said) Newest(limit int, do func(Row) (more bool, err error)) error {
	do, left := counted(do, limit)
	for i, p := range slices.Backward(h.spans) {
		if *left <= 0 {
			return nil
		}
		if h.counts[i] == 0 {
			continue
		}
		back := func(p *span, last int64) { p.upTo = last - 1 }
		if err := h.each(p, left, do, ` ORDER BY id DESC`, back); err != nil {
			return err
		}
	}
	return nil
}

// saidAtOnce is how many rows one statement asks for: a server sends all that were
// asked for, whoever stops listening.
const saidAtOnce = 50

// each hands the messages of a span to do in an order, while some are left to get;
// goOn moves the span's beginning, or its end, past the last one.
func (h Said) each(p span, left *int, do func(Row) (bool, error), order string, goOn func(p *span, last int64)) error {
	end := p.upTo
	for *left > 0 {
		got, asked := 0, min(*left, saidAtOnce)
		err := each(h.tx, scanRow, func(r Row) (bool, error) {
			got++
			goOn(&p, r.ID)
			return do(r)
		}, `SELECT `+rowColumns+saidIn+order+` LIMIT $7`, h.args(p, end, asked)...)
		if err != nil || got < asked {
			return err
		}
	}
	return nil
}

// counted counts what do is still to get: nothing once it wanted no more.
func counted(do func(Row) (bool, error), limit int) (counting func(Row) (bool, error), left *int) {
	left = &limit
	return func(r Row) (bool, error) {
		more, err := do(r)
		*left--
		if !more {
			*left = 0
		}
		return more, err
	}, left
}

// pageBytes is how much a page of rows has before it ends early.
const pageBytes = 1 << 20

// rowPage is a page on its way.
type rowPage struct {
	rows         []Row
	limit, bytes int
}

func (p *rowPage) full() bool { return len(p.rows) >= p.limit || p.bytes >= pageBytes }

func (p *rowPage) add(r Row) (more bool, err error) {
	p.rows, p.bytes = append(p.rows, r), p.bytes+len(r.Body)
	return !p.full(), nil
}

// HistoriesFrom returns the rows of all histories of a session with an id above
// after, compacted and replaced ones too, oldest first: before its own what the
// first history inherited. There are at most limit, and fewer where they have
// more than a megabyte; only an empty page is the end.
func (tx *Tx) HistoriesFrom(s Session, after int64, limit int) ([]Row, error) {
	s.Generation = firstGeneration
	spans, err := tx.spans(s, after+1, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	page := rowPage{limit: limit}
	for _, p := range spans[:len(spans)-1] {
		if err := tx.fill(&page, p); err != nil {
			return nil, err
		}
	}
	err = tx.fillOwn(&page, s.ID, after)
	return page.rows, err
}

// RowsFrom is HistoriesFrom without what the session inherited.
func (tx *Tx) RowsFrom(session, after int64, limit int) ([]Row, error) {
	page := rowPage{limit: limit}
	err := tx.fillOwn(&page, session, after)
	return page.rows, err
}

// fillOwn fills a page with rows of the session itself, one history after the
// other, because the index has them so.
func (tx *Tx) fillOwn(page *rowPage, session, after int64) error {
	var generation int64
	err := tx.one(`SELECT COALESCE(MAX(generation), 0) FROM transcript WHERE id = $1 AND session_id = $2`, []any{after, session}, &generation)
	for err == nil && !page.full() {
		if generation > 0 {
			if err := tx.fill(page, span{session, generation, after + 1, math.MaxInt64}); err != nil || page.full() {
				return err
			}
		}
		last := generation
		err = tx.one(`SELECT COALESCE(MIN(generation), 0) FROM transcript WHERE session_id = $1 AND generation > $2`, []any{session, last}, &generation)
		if generation == 0 {
			return err
		}
	}
	return err
}

// fill fills a page with rows of a span.
func (tx *Tx) fill(page *rowPage, p span) error {
	if page.full() {
		return nil
	}
	return each(tx, scanRow, page.add, `SELECT `+rowColumns+` FROM transcript WHERE session_id = $1 AND generation = $2 AND id >= $3 AND id <= $4
		ORDER BY id LIMIT $5`, p.session, p.generation, p.from, p.upTo, page.limit-len(page.rows))
}
