package agent

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// Previews show answers while they are written; core/delivery implements it.
// None of its methods blocks.
type Previews interface {
	// PreviewEvery returns how often a message at an address may change, 0 where
	// nothing is to be shown before it is whole.
	PreviewEvery(at core.Address) time.Duration
	// Partial returns what of an unfinished text people may see.
	Partial(text string) string
	// Show has the preview in a row of the outbox show another text.
	Show(at core.Address, row int64, text string)
}

// previewAfter is how long an answer must be on its way before a part of it is
// shown: one that comes faster is posted once, whole.
const previewAfter = 700 * time.Millisecond

// writingEvery is how often what was written so far is looked at: each look
// reads all of it.
const writingEvery = 100 * time.Millisecond

// preview is what people see of the answer that is written now.
type preview struct {
	row int64 // of the outbox, 0 for nothing yet
	at  core.Address
	off bool // this answer is not shown
	// lost is set where the store did not say whether it took the row in.
	lost bool
}

// findPreview finds what an earlier claim of the turn had shown.
func (t *turn) findPreview(tx *store.Tx) error {
	if !t.l.Resumed && !t.l.Dead {
		return nil
	}
	p, err := openPreview(tx, t.l.Session.ID)
	if p.row != 0 {
		t.preview = p
	}
	return err
}

// shown returns the row of what people see of the answer, 0 for none. In a
// transaction that holds the session it is so: what was written before is
// there, or never will be.
func (t *turn) shown(tx *store.Tx) (int64, error) {
	if !t.preview.lost {
		return t.preview.row, nil
	}
	p, err := openPreview(tx, t.l.Session.ID)
	return p.row, err
}

// openPreview returns the preview of a session that nothing replaces.
func openPreview(tx *store.Tx, session int64) (preview, error) {
	rows, err := tx.OpenPreviews(session)
	if err != nil || len(rows) == 0 {
		return preview{}, err
	}
	newest := rows[len(rows)-1]
	return preview{row: newest.ID, at: newest.Address}, nil
}

// writing follows one try of an answer.
type writing struct {
	t     *turn
	ctx   context.Context
	text  strings.Builder
	since time.Time // of the first visible text
	last  time.Time // when a text was handed on
}

// showing returns what looks at the deltas of a try, nil where nobody could see
// them.
func (t *turn) showing(ctx context.Context) func(model.Delta) {
	if t.r.opts.Previews == nil || t.preview.off || t.run == nil && t.l.Turn.ReplyTo.IsZero() {
		return nil
	}
	w := &writing{t: t, ctx: ctx}
	return w.observe
}

// observe takes a delta in. The last one is not shown any more: the answer
// follows. A preview that stands from an earlier try is replaced at once.
func (w *writing) observe(d model.Delta) {
	w.text.WriteString(d.Text)
	if d.Done || w.t.preview.off || w.text.Len() == 0 {
		return
	}
	now := w.t.r.opts.World.Clock.Now()
	if w.since.IsZero() {
		w.since = now
	}
	p := &w.t.preview
	if p.row == 0 && now.Sub(w.since) < previewAfter || !w.last.IsZero() && now.Sub(w.last) < writingEvery {
		return
	}
	w.last = now
	if at := w.t.l.Turn.ReplyTo; p.row == 0 && w.t.run == nil && w.t.r.opts.Previews.PreviewEvery(at) == 0 {
		return // its account may be starting
	}
	text := w.t.r.opts.Previews.Partial(w.text.String())
	switch {
	case text == "":
	case p.row != 0:
		w.t.r.opts.Previews.Show(p.at, p.row, text)
	default:
		w.begin(text)
	}
}

// begin posts the preview. Where that fails the answer is not shown before its
// end, and the next step says why.
func (w *writing) begin(text string) {
	t := w.t
	p := preview{off: true}
	err := t.l.Step(w.ctx, func(tx *store.Tx) (err error) {
		p = preview{off: true}
		if p.at, err = t.r.opts.Ender.PreviewPlace(tx, t.l); err != nil || p.at.IsZero() || t.r.opts.Previews.PreviewEvery(p.at) == 0 {
			return err
		}
		p.row, err = t.r.opts.Ender.Preview(tx, t.l, text)
		p.off = p.row == 0
		return err
	})
	if err != nil {
		p = preview{off: true, lost: errors.Is(err, store.ErrCommit)}
		t.r.opts.Log.Debug("an answer is not shown while it is written", "turn", t.l.Turn.ID, "error", err)
	}
	t.preview = p
}
