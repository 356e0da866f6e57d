package subagent

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// completion makes the typed event of an ended run.
func completion(run core.Run, posted core.Address, price Price) model.Completion {
	c := model.Completion{
		Source: "subagent", RunID: run.ID, TaskID: run.TaskID, SessionKey: run.SessionKey, SessionID: run.Session, Number: run.Completion,
		Ordinal: run.Ordinal, Label: run.Label, Task: run.Task, TaskName: run.TaskName, Status: run.Status, Detail: run.Detail,
		Result: run.Result, Partial: run.Partial, Ref: TranscriptRef(run), Stats: Stats(run, price), PostedIn: posted.String(),
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

// TranscriptRef is what `skein sessions transcript` takes to print the whole
// transcript of a run's session.
func TranscriptRef(run core.Run) string { return fmt.Sprintf("session:%d", run.Session) }

// Stats is the line of figures about a run, at the price of its model.
func Stats(run core.Run, price Price) string {
	return fmt.Sprintf("runtime %s · tokens %s (in %s / out %s) · %s · %s · %d · %s", runtime(run),
		short(run.TokensIn+run.TokensOut), short(run.TokensIn), short(run.TokensOut), estimate(run, price), run.SessionKey, run.Session,
		TranscriptRef(run))
}

// Price is what a model costs, in US dollars per million tokens; nil is
// unknown.
type Price struct{ In, Out *float64 }

// price is that of the model of a run that used some.
func (e *Engine) price(run core.Run) Price {
	if run.TokensIn+run.TokensOut == 0 {
		return Price{}
	}
	return e.Config.Price(run.Spec.Model)
}

// estimate words what a run cost. What has no price is left out of the sum, and
// said to be.
func estimate(run core.Run, price Price) string {
	var usd float64
	known, partial := false, false
	for _, part := range []struct {
		tokens int64
		price  *float64
	}{{run.TokensIn, price.In}, {run.TokensOut, price.Out}} {
		switch {
		case part.price != nil:
			usd, known = usd+float64(part.tokens)*(*part.price)/1e6, true
		case part.tokens > 0:
			partial = true
		}
	}
	text := fmt.Sprintf("$%.2f", usd)
	if usd > 0 && usd < 0.01 {
		text = "under $0.01"
	}
	switch {
	case partial && !known:
		return "est. unknown (no price)"
	case partial:
		return "est. " + text + " (partial)"
	}
	return "est. " + text
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
		if err := tx.SetDelivery(id, core.DeliveryDelivered, "", now); err != nil {
			return err
		}
		if err := e.archiveDeleted(tx, id, now); err != nil {
			return err
		}
	}
	return e.leaveThread(tx, row)
}

// GaveUp notes that an outbox row will not be sent: the runs it was to tell of
// are blocked, visible and retryable.
func (e *Engine) GaveUp(tx *store.Tx, row store.Outbox, now core.Millis) error {
	for _, id := range row.Tells {
		if err := tx.SetDelivery(id, core.DeliveryBlocked, fmt.Sprintf("message %d is %s: %s", row.ID, row.State, row.Error), now); err != nil {
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
