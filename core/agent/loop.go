package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
	"github.com/skein-bot/skein/core/world"
)

// defaultMaxSteps is agents.*.maxSteps when unset.
const defaultMaxSteps = 50

// loop runs the turn from where it stands until its end is written.
func (t *turn) loop(ctx context.Context) error {
	limit := t.def.MaxSteps
	if limit <= 0 {
		limit = defaultMaxSteps
	}
	if pending := t.pendingCalls(); len(pending) > 0 {
		if done, err := t.runCalls(ctx, pending); done || err != nil {
			return err
		}
	} else if t.out.Yield != nil {
		return t.yield(ctx)
	} else if t.final != nil { // the crash came between the last step and the end
		t.finalAnswer(t.final.Text)
		return t.end(ctx)
	} else if t.stoodAtBoundary() {
		if err := t.boundary(ctx); err != nil {
			return err
		}
	}
	for {
		if t.steps >= limit {
			return t.stopLooping(ctx, limit)
		}
		if err := t.look(ctx); err != nil {
			return err
		}
		answer, err := t.call(ctx)
		if err != nil {
			return err
		}
		if err := t.r.opts.World.Crash(world.ModelAfterCall); err != nil {
			return err
		}
		if len(answer.Calls) == 0 {
			return t.finish(ctx, answer)
		}
		if done, err := t.runStep(ctx, answer); done || err != nil {
			return err
		}
	}
}

// finish journals the answer that ends the turn, like every other step: what
// comes between it and the end (hooks, a full disk, a crash) does not have the
// model asked again.
func (t *turn) finish(ctx context.Context, answer model.Item) error {
	if answer.Cut {
		answer.Text += " (truncated)"
	}
	t.seq++
	row, usage := t.row(answer, t.seq), t.usage
	err := t.step(ctx, func(tx *store.Tx) error {
		if _, err := tx.AppendRow(row); err != nil {
			return err
		}
		return t.progress(tx, usage)
	})
	if err != nil {
		return err
	}
	t.usage = core.Usage{}
	t.items = append(t.items, answer)
	t.finalAnswer(answer.Text)
	return t.end(ctx)
}

// finalAnswer notes the answer that ends the turn. An empty one leaves the
// latest visible text of a run's turn as its result; in a chat that text has
// been posted already.
func (t *turn) finalAnswer(text string) {
	t.out.State, t.out.Status = store.TurnDone, core.RunOK
	switch {
	case IsSilence(text):
		t.out.Text, t.out.Silence = "", silenceOf(text)
	case t.run == nil:
		t.out.Spoke = t.out.Text != ""
		t.out.Text = visible(text)
	default:
		t.noteText(text)
	}
}

// stopLooping ends a turn that called tools again and again, with what it has
// said so far. The steps before a crash count.
func (t *turn) stopLooping(ctx context.Context, limit int) error {
	t.out.State, t.out.Status, t.out.Partial = store.TurnFailed, core.RunError, true
	t.out.Detail = words.English().DetailStepLimit(limit)
	return t.end(ctx)
}

// runStep journals a model answer with calls, then runs them.
func (t *turn) runStep(ctx context.Context, answer model.Item) (done bool, err error) {
	t.seq++
	answer, calls := t.withhold(answer, t.seq+1)
	row := t.row(answer, t.seq)
	usage := t.usage
	err = t.step(ctx, func(tx *store.Tx) error {
		if _, err := tx.AppendRow(row); err != nil {
			return err
		}
		if err := t.keepWithheld(tx, calls); err != nil {
			return err
		}
		shown, err := t.shown(tx)
		if err != nil {
			return err
		}
		if text := visible(answer.Text); text != "" || shown != 0 {
			if err := t.r.opts.Ender.Progress(tx, t.l, row.Seq, text, shown); err != nil {
				return err
			}
		}
		return t.progress(tx, usage)
	})
	if err != nil {
		return false, err
	}
	t.usage, t.preview = core.Usage{}, preview{}
	t.items = append(t.items, answer)
	t.answerSeq = t.seq
	t.noteOwn(answer)
	return t.runCalls(ctx, calls)
}

// progress notes that the turn finished a step.
func (t *turn) progress(tx *store.Tx, usage core.Usage) error {
	if t.run != nil {
		if err := tx.StepProgress(t.run.ID); err != nil {
			return err
		}
	}
	return tx.StepDone(t.l.Turn.ID, t.seq, usage, t.r.opts.World.Now())
}

// stoodAtBoundary reports whether a turn that is continued had its tool results
// but may not have taken what arrived while the tools ran.
func (t *turn) stoodAtBoundary() bool {
	if !t.l.Resumed {
		return false
	}
	for _, i := range slices.Backward(t.items) {
		if i.Kind != model.Note {
			return i.Kind == model.ToolOutput
		}
	}
	return false
}

// boundary takes what arrived meanwhile and may join the turn. It writes only
// if something did: what comes a moment later is taken at the next boundary, or
// gets its own turn.
func (t *turn) boundary(ctx context.Context) error {
	waiting := false
	err := t.r.opts.DB.Read(ctx, func(tx *store.Tx) error {
		queued, err := tx.QueuedInbox(t.l.Session.ID, 1)
		waiting = len(queued) > 0
		return err
	})
	if err != nil {
		return storeError{err}
	}
	notice, late := t.timeNotice()
	if !waiting && !late {
		return nil
	}
	var rows []store.Row
	err = t.step(ctx, func(tx *store.Tx) (err error) {
		t.l.Turn.Seq = t.seq
		if rows, err = t.l.TakeSteer(tx); err != nil || !late {
			return err
		}
		if isFirst, err := tx.WarnRun(t.run.ID, notice.At); err != nil || !isFirst {
			return err
		}
		row := t.row(notice, t.seq)
		row.ID, err = tx.AppendRow(row)
		rows = append(rows, row)
		return err
	})
	if err != nil {
		return err
	}
	t.warned = t.warned || late
	return t.appendRows(rows)
}

// timeNoticeStart begins the notice that a run gets when most of its time is
// over; timeNoticeAt is at which part of it, in percent.
const (
	timeNoticeStart = "Most of your time is over: "
	timeNoticeAt    = 80
)

// timeNotice returns the one notice of a run whose time is nearly over.
func (t *turn) timeNotice() (notice model.Item, due bool) {
	deadline := t.r.opts.Ender.Deadline(t.run)
	if deadline == 0 || t.warned {
		return notice, false
	}
	now, started := t.r.opts.World.Now(), t.run.StartedAt
	if now.Sub(started) < deadline.Sub(started)*timeNoticeAt/100 {
		return notice, false
	}
	left := deadline.Sub(now).Round(time.Second)
	return model.Item{Kind: model.Note, At: now, Text: fmt.Sprintf("%s%s are left. Finish now, and say what is still missing.", timeNoticeStart, left)}, true
}
