package delivery

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
	"github.com/skein-bot/skein/core/world"
)

// PreviewEvery returns how often a message at an address may change while it is
// written, 0 where nothing is to be shown before it is whole: the account is not
// connected, its channel cannot do it, or the operator does not want it.
func (s *Service) PreviewEvery(at core.Address) time.Duration {
	w := s.worker(at)
	if w == nil || w.caps.StreamEvery <= 0 {
		return 0
	}
	_, deletes := w.account.Adapter.(core.Deleter)
	_, streams := w.account.Adapter.(core.Streamer)
	_, edits := w.account.Adapter.(core.Editor)
	wanted := !w.caps.StreamOff
	if s.opts.Stream != nil {
		wanted = s.opts.Stream(at.Channel, at.Account, wanted)
	}
	if !wanted || !deletes || !streams && !edits {
		return 0
	}
	return w.caps.StreamEvery
}

// Show has a preview show text, which came from Partial, as soon as the channel
// allows; a text that was not shown by then is dropped. It does not block, and
// does nothing once the preview was replaced. at is the preview's address, id
// its row.
func (s *Service) Show(at core.Address, id int64, text string) {
	if w := s.worker(at); w != nil {
		w.show(id, text)
	}
}

// DropPreview has a preview removed, unless a row is there to replace it.
func (s *Service) DropPreview(tx *store.Tx, id int64) error {
	claimed, err := tx.PreviewClaimed(id)
	if err != nil || claimed {
		return err
	}
	row, err := tx.OutboxByID(id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.postRetract(tx, row)
}

// postRetract puts the order to remove a preview into the outbox.
func (s *Service) postRetract(tx *store.Tx, preview store.Outbox) error {
	row := store.Outbox{
		OnceKey: fmt.Sprintf("preview/%d/retract", preview.ID), Kind: store.OutRetract, Address: preview.Address, State: store.OutQueued,
		Session: preview.Session, Owner: preview.Owner, Preview: preview.ID, At: s.opts.World.Now(),
	}
	id, fresh, err := tx.InsertOutbox(row)
	if err != nil || !fresh {
		return err
	}
	row.ID = id
	s.wake(tx, row)
	return nil
}

// draft is a preview that grows. All but the constant fields is under the
// worker's lock.
type draft struct {
	w     *worker
	row   int64
	every time.Duration

	next, shown string
	busy        bool        // an edit is under way
	over        bool        // no more edits
	early       bool        // there is no receipt yet: it, or a newer text, comes
	failures    int         // in a row
	from        core.Millis // no edit before
	timer       core.Timer
	await       *handover // who replaces it, waiting for the edit under way
}

// handover passes the work of an edit on to who waits for its end: the world is
// not quiet in between.
type handover struct{ ended, taken chan struct{} }

func (d *draft) disarm() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

// show sets the text of a draft.
func (w *worker) show(id int64, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopping {
		return
	}
	d := w.drafts[id]
	if d == nil {
		d = &draft{w: w, row: id, every: w.caps.StreamEvery}
		w.drafts[id] = d
	}
	d.next, d.early = text, false
	d.plan()
}

// plan sees to it that the newest text is shown in its time. w.mu is held.
func (d *draft) plan() {
	if d.over || d.busy || d.early || d.timer != nil || d.next == d.shown || d.w.stopping {
		return
	}
	if wait := d.from.Sub(d.w.s.opts.World.Now()); wait > 0 {
		var timer core.Timer
		timer = d.w.s.opts.World.Clock.AfterFunc(wait, func() {
			d.w.mu.Lock()
			defer d.w.mu.Unlock()
			if d.timer == timer {
				d.timer = nil
				d.plan()
			}
		})
		d.timer = timer
		return
	}
	d.busy = true
	done := d.w.s.opts.World.Work.Begin("edit")
	text := d.next
	d.w.wg.Go(func() {
		defer done()
		d.edit(text)
	})
}

// maxDraftFailures is after how many failures in a row a draft grows no more.
const maxDraftFailures = 3

// edit shows text, and notes what became of it.
func (d *draft) edit(text string) {
	w := d.w
	err := w.grow(d.row, text)
	class, after := core.ClassifySend(err)
	w.mu.Lock()
	d.busy, d.from = false, w.s.opts.World.Now().Add(max(d.every, after))
	switch {
	case err == nil:
		d.shown, d.failures = text, 0
	case errors.Is(err, errNotYet):
		d.early = true
	case class == core.SendRetryable && d.failures+1 < maxDraftFailures:
		d.failures++
	default:
		d.over = true
		w.log.Debug("an answer is not shown while it is written any more", "outbox", d.row, "error", err)
	}
	d.plan()
	await := d.await
	w.mu.Unlock()
	if await != nil {
		close(await.ended)
		<-await.taken
	}
}

// Why a preview is not edited.
var (
	errNotYet = errors.New("the preview has no receipt yet")
	errStands = errors.New("there is no such preview any more")
)

// grow edits a preview that stands. The store is asked each time: a turn that
// has lost its session does not know that another one went on.
func (w *worker) grow(preview int64, text string) error {
	row, id, err := w.preview(preview)
	switch {
	case err != nil:
		return err
	case row.State == store.OutQueued || row.State == store.OutSending:
		return errNotYet
	case id == "":
		return errStands
	}
	row.Text = text
	out := w.variants(row, 0, w.parts(text, false)[:1])[0]
	return w.change(id, out)
}

// preview reads the row of a preview and, where it stands, the platform's id.
func (w *worker) preview(id int64) (row store.Outbox, platform string, err error) {
	err = w.s.opts.DB.Read(w.ctx, func(tx *store.Tx) error {
		var err error
		if row, err = tx.OutboxByID(id); err != nil || row.State != store.OutSent {
			return err
		}
		parts, err := tx.SentParts(id)
		if len(parts) > 0 {
			platform = parts[0]
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return row, platform, err
}

// change is one edit by the adapter, under the same rules as a send.
func (w *worker) change(id string, out core.Outgoing) (err error) {
	return w.guarded(func(ctx context.Context) error {
		out.ReplyTo = ""
		switch a := w.account.Adapter.(type) {
		case core.Streamer:
			return a.Replace(ctx, id, out)
		case core.Editor:
			return a.Edit(ctx, out.Address, id, out.Text)
		}
		return &core.SendError{Class: core.SendInvalid, Err: errors.New("the channel cannot edit messages")}
	})
}

// guarded makes a request between the crash points of a send.
func (w *worker) guarded(request func(ctx context.Context) error) (err error) {
	if err := w.s.opts.World.Crash(world.OutboxBeforeSend); err != nil {
		return err
	}
	if !w.holds() || w.halted() {
		return ErrStopping
	}
	ctx, cancel := w.s.opts.World.Clock.WithTimeout(w.ctx, SendTimeout)
	defer cancel()
	func() {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("the adapter panicked: %v", r)
				w.log.Error("an adapter panicked", "panic", r, "stack", string(debug.Stack()))
			}
		}()
		err = request(ctx)
	}()
	if killed := w.s.opts.World.Crash(world.OutboxAfterSend); killed != nil {
		return killed
	}
	return err
}

// leaving reports whether a request failed because the worker ends.
func (w *worker) leaving(err error) bool {
	return w.s.opts.World.Err() != nil || err != nil && w.halted() && (w.ctx.Err() != nil || errors.Is(err, ErrStopping)) || !w.holds()
}

// stopDraft ends the edits of a preview. One that is under way is waited for,
// because it must not come after what replaces it. The draft is kept, so that
// no other can begin.
func (w *worker) stopDraft(preview int64) {
	w.mu.Lock()
	d := w.drafts[preview]
	if d == nil {
		d = &draft{w: w, row: preview}
		w.drafts[preview] = d
	}
	d.over = true
	d.disarm()
	if !d.busy {
		w.mu.Unlock()
		return
	}
	h := &handover{ended: make(chan struct{}), taken: make(chan struct{})}
	d.await = h
	w.mu.Unlock()
	unpark := w.s.opts.World.Work.Park()
	<-h.ended
	unpark()
	close(h.taken)
	w.mu.Lock()
	d.await = nil
	w.mu.Unlock()
}

// arrived notes the receipt of a row's first part: a preview may grow from now
// on, and what was replaced is forgotten.
func (w *worker) arrived(row store.Outbox) {
	if row.Preview == 0 && row.Kind != store.OutPreview {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.drafts, row.Preview)
	if row.Kind != store.OutPreview {
		return
	}
	d := w.drafts[row.ID]
	if d == nil {
		d = &draft{w: w, row: row.ID, every: w.caps.StreamEvery, next: row.Text}
		w.drafts[row.ID] = d
	}
	d.shown, d.early = row.Text, false
	d.from = w.s.opts.World.Now().Add(d.every)
	d.plan()
}

// replace makes the preview of a row into its first part; ok is true where the
// row goes on to be sent, because there is nothing to replace.
func (w *worker) replace(it *item, parts []string) (v verdict, ok bool) {
	w.stopDraft(it.row.Preview)
	preview, id, err := w.preview(it.row.Preview)
	if err != nil {
		return w.unread(it, err), false
	}
	if it.beside = !preview.Address.Same(it.row.Address); it.beside {
		return 0, true
	}
	if id == "" {
		it.beside = preview.State == store.OutQueued || preview.State == store.OutSending
		return 0, true
	}
	for _, out := range w.variants(it.row, 0, parts) {
		err = w.change(id, out)
		if class := classOf(err); class != core.SendInvalid && class != core.SendTooLarge {
			break
		}
	}
	switch class := classOf(err); {
	case w.leaving(err):
		return verdictLeft, false
	case err == nil:
		return w.receipt(it, 0, core.Receipt{ID: id}, len(parts) == 1)
	case class == core.SendAmbiguous: // the same edit once more changes nothing
		it.row.Error = err.Error()
		return w.retry(it, 0, it.row.State, store.OutAmbiguous), false
	case class == core.SendInvalid, class == core.SendTooLarge, class == core.SendGone, class == core.SendClosed, class == core.SendForbidden:
		w.log.Info("a preview cannot be edited; the message is sent beside it", "outbox", it.row.ID, "preview", it.row.Preview, "error", err)
		it.beside = true
		return 0, true
	}
	return w.failed(it, err), false
}

// unread handles a store that cannot be read at present.
func (w *worker) unread(it *item, err error) verdict {
	if w.ctx.Err() != nil {
		return verdictLeft
	}
	w.log.Error("a message could not be read; it is tried again", "outbox", it.row.ID, "error", err)
	it.row.NextAt = w.s.opts.World.Now().Add(storePause(1))
	return verdictWait
}

// replaced notes, with the receipt of a row's first part, that its preview
// stands no more, or has it removed.
func (w *worker) replaced(tx *store.Tx, it *item, now core.Millis) error {
	if !it.beside {
		return tx.ClosePreview(it.row.Preview, now)
	}
	preview, err := tx.OutboxByID(it.row.Preview)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.s.postRetract(tx, preview)
}

// orphan has the preview removed of a row that is given up.
func (w *worker) orphan(tx *store.Tx, row store.Outbox) error {
	if row.Preview == 0 || row.PartsSent > 0 {
		return nil
	}
	preview, err := tx.OutboxByID(row.Preview)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.s.postRetract(tx, preview)
}

// retract removes a preview.
func (w *worker) retract(it *item) verdict {
	if it.row.FirstTry == 0 {
		it.row.FirstTry = w.s.opts.World.Now()
	}
	w.stopDraft(it.row.Preview)
	preview, id, err := w.preview(it.row.Preview)
	switch {
	case err != nil:
		return w.unread(it, err)
	case preview.State == store.OutQueued || preview.State == store.OutSending:
		it.row.Error = words.English().DetailSendCut()
		return w.retry(it, 0, store.OutQueued, store.OutWithdrawn)
	case id != "":
		err = w.guarded(func(ctx context.Context) error {
			if a, ok := w.account.Adapter.(core.Deleter); ok {
				return a.Delete(ctx, preview.Address, id)
			}
			return nil
		})
		if w.leaving(err) {
			return verdictLeft
		}
		if class, after := core.ClassifySend(err); err != nil && passes(class) {
			it.row.Error = err.Error()
			return w.retry(it, after, store.OutQueued, store.OutWithdrawn)
		}
	}
	return w.retracted(it)
}

// retracted records that a preview is gone, or cannot be removed.
func (w *worker) retracted(it *item) verdict {
	row, now := it.row, w.s.opts.World.Now()
	row.State, row.EndedAt, row.NextAt = store.OutSent, now, 0
	err := w.persist("record a removal", func(tx *store.Tx, _ bool) error {
		if err := tx.ClosePreview(row.Preview, now); err != nil {
			return err
		}
		_, err := tx.UpdateOutbox(row)
		return err
	})
	if err != nil || w.s.opts.World.Crash(world.OutboxAfterReceipt) != nil {
		return verdictLeft
	}
	w.mu.Lock()
	delete(w.drafts, row.Preview)
	w.mu.Unlock()
	return verdictEnded
}
