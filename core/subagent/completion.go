package subagent

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

// completion makes the typed event of an ended run.
func completion(run core.Run, posted core.Address) model.Completion {
	c := model.Completion{
		Source: source(run.Kind), RunID: run.ID, TaskID: run.TaskID, SessionKey: run.SessionKey, SessionID: run.Session, Number: run.Completion,
		Ordinal: run.Ordinal, Label: run.Label, Task: run.Task, TaskName: run.TaskName, Status: run.Status, Detail: run.Detail,
		Result: run.Result, Partial: run.Partial, Ref: TranscriptRef(run), Stats: Stats(run), PostedIn: posted.String(),
	}
	if len(c.Result) > inlineResult {
		cut := inlineResult
		for cut > 0 && !utf8.RuneStart(c.Result[cut]) {
			cut--
		}
		c.Result, c.Truncated = c.Result[:cut], true
	}
	return c
}

// source says what an event is of.
func source(k core.RunKind) string {
	if k == core.RunSend {
		return "send"
	}
	return "subagent"
}

// TranscriptRef is what `skein sessions transcript` takes to print the whole
// transcript of a run's session.
func TranscriptRef(run core.Run) string { return fmt.Sprintf("session:%d", run.Session) }

// Stats is the line of figures about a run.
func Stats(run core.Run) string {
	return fmt.Sprintf("runtime %s · tokens %s (in %s / out %s) · est. %s · %s · %d · %s", runtime(run),
		short(run.Tokens()), short(run.TokensIn), short(run.TokensOut), run.Cost(), run.SessionKey, run.Session,
		TranscriptRef(run))
}

func runtime(run core.Run) string {
	if run.StartedAt == 0 || run.EndedAt == 0 {
		return "n/a"
	}
	return run.EndedAt.Sub(run.StartedAt).Round(time.Second).String()
}

// short writes a token count: 999, 1.2k, 12.3k, 1.2m.
func short(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 999_950:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1000), ".0") + "k"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e6), ".0") + "m"
}

// appendNote adds a note of the runtime to the turn's transcript.
func (e *Engine) appendNote(tx *store.Tx, l *kernel.Lease, text string) error {
	item := model.Item{Kind: model.Note, Text: text, At: e.World.Now()}
	_, err := tx.AppendRow(store.Row{
		Session: l.Session.ID, Generation: l.Turn.Generation, Turn: l.Turn.ID, Seq: l.Turn.Seq, Kind: string(model.Note), Body: item.Encode(),
		At: item.At,
	})
	return err
}

// Sent notes that an outbox row reached its platform: the runs it tells of are
// delivered, and a run-mode child leaves its thread. Delivery calls it in the
// receipt transaction.
func (e *Engine) Sent(tx *store.Tx, row store.Outbox, now core.Millis) error {
	for _, id := range row.Tells {
		if err := e.settled(tx, id, core.DeliveryDelivered, now); err != nil {
			return err
		}
	}
	return e.leaveThread(tx, row)
}

// GaveUp notes that an outbox row will not be sent: the runs it was to tell of
// are blocked, visible and retryable.
func (e *Engine) GaveUp(tx *store.Tx, row store.Outbox, now core.Millis) error {
	for _, id := range row.Tells {
		run, err := tx.RunByID(id)
		if errors.Is(err, store.ErrNotFound) {
			continue // its data was deleted
		}
		if err != nil {
			return err
		}
		if err := e.blocked(tx, run, words.English().DetailMessageLost(row.Error, int(row.ID), string(row.State)), now); err != nil {
			return err
		}
	}
	return e.leaveThread(tx, row)
}

// leaveThread ends the binding of a run-mode child once its outcome is posted.
func (e *Engine) leaveThread(tx *store.Tx, row store.Outbox) error {
	if row.Run == "" || !strings.HasPrefix(row.OnceKey, "run/") {
		return nil
	}
	run, err := tx.RunByID(row.Run)
	if err != nil {
		return err
	}
	if run.Spec.Mode != modeRun || run.Status.Live() {
		return nil
	}
	b, ok, err := tx.BindingOfRun(run.ID)
	if err != nil || !ok {
		return err
	}
	return e.Bindings.End(tx, b.ID, core.EndSessionEnded)
}
