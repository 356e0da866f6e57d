package delivery

import (
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// patience is how long and how often a kind of message is retried.
type patience struct {
	first, most time.Duration // the pauses: the first, doubling to the longest
	window      time.Duration // from the first try to the last
	hold        time.Duration // how long followers wait for it
	end         store.OutboxState
}

func patienceFor(kind store.OutboxKind) patience {
	switch kind {
	case store.OutPreview: // only one that may be there already is tried again
		return patience{first: time.Second, most: 30 * time.Second, window: 30 * time.Minute, hold: 30 * time.Second, end: store.OutWithdrawn}
	case store.OutRetract: // its tries outlast those of the preview
		return patience{first: time.Second, most: 30 * time.Second, window: 30 * time.Minute, end: store.OutWithdrawn}
	case store.OutCommand:
		return patience{first: time.Second, most: 30 * time.Second, window: 2 * time.Minute, end: store.OutFailed}
	}
	return patience{first: 15 * time.Second, most: 5 * time.Minute, window: 30 * time.Minute, hold: 2 * time.Minute, end: store.OutBlocked}
}

// pause is the wait after the nth failure in a row. jitter, in [0, 1), makes it
// up to a tenth longer, so that what failed together does not return together.
func (p patience) pause(n int, jitter float64) time.Duration {
	d := p.most
	if shift := n - 1; shift < 16 {
		d = min(d, p.first<<shift)
	}
	return d + time.Duration(jitter*float64(d)/10)
}

// storePause is the wait after the nth failure of the store in a row: 1 s
// doubling to 1 min.
func storePause(n int) time.Duration {
	return min(time.Second<<min(n-1, 6), time.Minute)
}

// maxResends is how often in a row one part is sent again although it may have
// been sent.
const maxResends = 3

func classOf(err error) core.SendClass {
	if err == nil {
		return ""
	}
	class, _ := core.ClassifySend(err)
	return class
}

// failed decides what becomes of a row after a send that failed.
func (w *worker) failed(it *item, err error) verdict {
	class, after := core.ClassifySend(err)
	if class == core.SendAmbiguous && w.ctx.Err() != nil {
		return verdictLeft // cut short; the next start sees to it
	}
	it.row.Error = err.Error()
	if it.row.Kind == store.OutPreview && !w.findable(it, class) {
		return w.giveUp(it, store.OutWithdrawn)
	}
	switch class {
	case core.SendInvalid, core.SendTooLarge:
		return w.giveUp(it, store.OutFailed)
	case core.SendGone, core.SendClosed, core.SendForbidden:
		return w.undeliverable(it, class)
	case core.SendAmbiguous:
		return w.ambiguous(it)
	}
	return w.retry(it, after, store.OutQueued, patienceFor(it.row.Kind).end)
}

// findable reports whether a preview whose send failed may be there all the
// same, and can be found by the same send once more. It is not given up then:
// without its id nobody could take it away. That a later try was refused for a
// while says nothing about an earlier one.
func (w *worker) findable(it *item, class core.SendClass) bool {
	it.stands = it.stands || class == core.SendAmbiguous
	return it.stands && w.caps.NativeIdempotency && passes(class)
}

// passes reports whether a request that failed so can succeed later.
func passes(class core.SendClass) bool {
	return class == core.SendRetryable || class == core.SendAmbiguous || class == core.SendAuth || class == core.SendConflict
}

// ambiguous handles a send that may have succeeded.
func (w *worker) ambiguous(it *item) verdict {
	if w.caps.NativeIdempotency { // the same key again cannot make a second message
		return w.retry(it, 0, it.row.State, store.OutAmbiguous)
	}
	if !w.mayResend(it) {
		return w.giveUp(it, store.OutAmbiguous)
	}
	return w.retry(it, 0, store.OutSending, store.OutAmbiguous)
}

// mayResend asks the policy about a row that may have been sent, and marks it if
// it will be sent again.
func (w *worker) mayResend(it *item) bool {
	if it.resends >= maxResends || it.row.Kind.Aside() || w.s.opts.OnAmbiguous(it.row.Kind) != Resend {
		return false
	}
	it.resends++
	it.row.Resent = true
	w.log.Warn("a message may have been sent already; it is sent again", "outbox", it.row.ID, "kind", it.row.Kind, "reason", it.row.Error)
	w.troubled(it.row, func(st *Status) { st.Resent++ })
	return true
}

// retry schedules the next try, or ends the row as end if its time is up. after
// is the platform's own wait, 0 if it gave none; state is how the row waits.
func (w *worker) retry(it *item, after time.Duration, state, end store.OutboxState) verdict {
	p, now := patienceFor(it.row.Kind), w.s.opts.World.Now()
	it.row.Attempts++
	last := it.row.FirstTry.Add(p.window)
	next := min(now.Add(p.pause(it.row.Attempts, w.s.opts.World.Float())), last)
	if after > 0 {
		next = now.Add(max(after, time.Millisecond)) // shorter would be refused, longer is not needed
	}
	if now >= last || next > last {
		return w.giveUp(it, end)
	}
	row := it.row
	row.State, row.NextAt = state, next
	var ok bool
	if w.persist("record a failed send", func(tx *store.Tx, _ bool) (err error) {
		ok, err = tx.UpdateOutbox(row)
		return err
	}) != nil {
		return verdictLeft
	}
	if !ok {
		return verdictEnded // withdrawn meanwhile
	}
	it.row = row
	w.log.Warn("a message is tried again", "outbox", row.ID, "kind", row.Kind, "tries", row.Attempts, "in", next.Sub(now), "error", row.Error)
	w.troubled(row, func(st *Status) { st.Retries++ })
	return verdictWait
}

// giveUp ends a row without it being sent, and makes that known.
func (w *worker) giveUp(it *item, state store.OutboxState) verdict {
	now := w.s.opts.World.Now()
	row := it.row
	if row.Kind.Aside() {
		state = store.OutWithdrawn
	}
	row.State, row.EndedAt, row.NextAt = state, now, 0
	var ok bool
	if w.persist("record a message that was given up", func(tx *store.Tx, hooks bool) (err error) {
		if err := tx.LockSession(row.Session); err != nil {
			return err
		}
		if ok, err = tx.UpdateOutbox(row); err != nil || !ok || row.Kind.Aside() {
			return err
		}
		if err := w.orphan(tx, row); err != nil {
			return err
		}
		return w.hook(hooks, w.s.opts.OnGaveUp, tx, row, now)
	}) != nil {
		return verdictLeft
	}
	switch {
	case ok && row.Kind.Aside():
		w.log.Info("an answer is not shown while it is written", "outbox", row.ID, "kind", row.Kind, "reason", row.Error)
	case ok:
		w.gaveUp(row)
	}
	return verdictEnded
}

// gaveUp tells the log and the status, after the commit.
func (w *worker) gaveUp(row store.Outbox) {
	w.log.Error("a message was not delivered", "outbox", row.ID, "kind", row.Kind, "state", row.State, "tries", row.Attempts,
		"to", row.Address.String(), "error", row.Error, "remedy", "see `skein outbox`, then retry or dismiss it")
	w.troubled(row, func(st *Status) {
		switch row.State {
		case store.OutBlocked:
			st.Blocked++
		case store.OutAmbiguous:
			st.Ambiguous++
		default:
			st.Failed++
		}
	})
}

// undeliverable handles a place that cannot be written to: the row moves to the
// parent conversation or has failed, in the transaction of whatever the hook
// does about the place.
func (w *worker) undeliverable(it *item, class core.SendClass) verdict {
	now := w.s.opts.World.Now()
	var row store.Outbox
	var moved, ok bool
	if w.persist("record a message to a lost place", func(tx *store.Tx, hooks bool) (err error) {
		row = it.row
		if err := tx.LockSession(row.Session); err != nil {
			return err
		}
		if moved, err = w.move(tx, hooks, &row, class); err != nil {
			return err
		}
		if !moved {
			row = it.row
			row.State, row.EndedAt, row.NextAt = store.OutFailed, now, 0
		}
		if ok, err = tx.UpdateOutbox(row); err != nil || !ok || moved {
			return err
		}
		if err := w.orphan(tx, row); err != nil {
			return err
		}
		return w.hook(hooks, w.s.opts.OnGaveUp, tx, row, now)
	}) != nil {
		return verdictLeft
	}
	switch {
	case !ok:
		return verdictEnded
	case !moved:
		w.gaveUp(row)
		return verdictEnded
	}
	w.log.Warn("a message goes to the parent conversation", "outbox", row.ID, "from", it.row.Address.String(), "to", row.Address.String(), "reason", it.row.Error)
	w.troubled(row, func(*Status) {})
	it.row, it.resends = row, 0
	return verdictMoved
}

// move asks the hook for another address. Only the parent conversation counts:
// the audience of a message never gets larger than that, and because a parent
// has no parent, a row moves once.
func (w *worker) move(tx *store.Tx, hooks bool, row *store.Outbox, class core.SendClass) (bool, error) {
	if !hooks || w.s.opts.OnUndeliverable == nil {
		return false, nil
	}
	to, ok, err := w.s.opts.OnUndeliverable(tx, *row, class)
	if err != nil {
		return false, hookError{err}
	}
	text := w.s.gate(to.Text)
	if !ok || text == "" {
		return false, nil
	}
	if parent := row.Address.ParentConversation(); !to.Address.Same(parent) || to.Address.Same(row.Address) {
		w.log.Error("a message must not leave its conversation", "outbox", row.ID, "to", to.Address.String())
		return false, nil
	}
	row.Address, row.Text, row.Anchor = to.Address, text, ""
	row.State, row.Attempts, row.NextAt, row.FirstTry, row.PartsSent = store.OutQueued, 0, 0, 0, 0
	return true, nil
}
