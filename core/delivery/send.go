package delivery

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
	"github.com/skein-bot/skein/core/world"
)

// verdict says what becomes of a row after a try.
type verdict int

const (
	verdictEnded verdict = iota // at an end, or not ours any more
	verdictWait                 // again at row.NextAt
	verdictMoved                // queued at another address
	verdictLeft                 // the worker is ending
)

var errNoReceipt = errors.New("the platform gave no message id")

// deliver tries to send what is unsent of a row. It runs without the lock and
// blocks for requests and commits.
func (w *worker) deliver(it *item) verdict {
	if w.ctx.Err() != nil || !w.holds() {
		return verdictLeft
	}
	if it.stale {
		if v, ok := w.reread(it); !ok {
			return v
		}
	}
	if it.row.Kind == store.OutRetract {
		return w.retract(it)
	}
	doubtful := it.unsure && !w.caps.NativeIdempotency
	it.stands = it.stands || it.unsure
	it.unsure = false
	if doubtful {
		it.row.Error = words.English().DetailSendCut()
		if !w.mayResend(it) {
			return w.giveUp(it, store.OutAmbiguous)
		}
	}
	if it.row.FirstTry == 0 {
		it.row.FirstTry = w.s.opts.World.Now()
	}
	parts := w.parts(it.row.Text, it.row.Kind.Literal())
	if it.row.Kind == store.OutPreview {
		parts = parts[:1]
	}
	if it.row.Preview != 0 && it.row.PartsSent == 0 {
		if v, ok := w.replace(it, parts); !ok {
			return v
		}
	}
	if !w.caps.NativeIdempotency && (doubtful || it.row.State != store.OutSending) {
		if v, ok := w.mark(it); !ok {
			return v
		}
	}
	if it.row.PartsSent >= len(parts) { // it is cut into fewer parts now than when it was begun
		return w.conclude(it)
	}
	for it.row.PartsSent < len(parts) {
		if w.halted() {
			return w.release(it)
		}
		if v, ok := w.sendPart(it, parts); !ok {
			return v
		}
	}
	return verdictEnded
}

// reread fetches a row whose text is not in memory, or that may have ended.
func (w *worker) reread(it *item) (v verdict, ok bool) {
	var row store.Outbox
	err := w.s.opts.DB.Read(w.ctx, func(tx *store.Tx) (err error) {
		row, err = tx.OutboxByID(it.row.ID)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && row.State != store.OutQueued && row.State != store.OutSending:
		return verdictEnded, false
	case w.ctx.Err() != nil:
		return verdictLeft, false
	case err != nil:
		w.log.Error("a message could not be read; it is tried again", "outbox", it.row.ID, "error", err)
		it.row.NextAt = w.s.opts.World.Now().Add(storePause(1))
		return verdictWait, false
	}
	w.mu.Lock()
	it.row, it.stale = row, false
	w.texts++
	w.mu.Unlock()
	return 0, true
}

// mark commits that a request is about to leave, where the platform could not
// tell a second one from the first.
func (w *worker) mark(it *item) (v verdict, ok bool) {
	err := w.persist("record a send", func(tx *store.Tx, _ bool) (err error) {
		ok, err = tx.MarkSending(it.row.ID, it.row.FirstTry, it.row.Resent)
		return err
	})
	switch {
	case err != nil:
		return verdictLeft, false
	case !ok:
		return verdictEnded, false
	}
	it.row.State = store.OutSending
	return 0, true
}

// parts renders and cuts a text; literal is one without markup. Equal texts
// give equal parts. A renderer that
// panics costs the message its form, not the process its life.
func (w *worker) parts(text string, literal bool) (parts []string) {
	defer func() {
		if r := recover(); r != nil {
			w.log.Error("a message could not be rendered; it is sent as it is", "panic", r, "stack", string(debug.Stack()))
			parts = []string{text}
		}
	}()
	render, rendered := w.s.opts.Render, text
	if literal {
		render = w.s.opts.Literal
	}
	if render != nil {
		rendered = render(w.account.Channel, text)
	}
	cut := []string{rendered}
	if split := w.s.opts.Split; split != nil {
		cut = split(rendered, w.caps)
	}
	for _, p := range cut {
		if strings.TrimSpace(p) != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 { // nothing of it is visible in the channel's notation
		return []string{text}
	}
	return parts
}

// sendPart sends the row's next part and records its receipt; ok is true if the
// row may go on.
func (w *worker) sendPart(it *item, parts []string) (v verdict, ok bool) {
	part := it.row.PartsSent
	var receipt core.Receipt
	var err error
	for _, out := range w.variants(it.row, part, parts) {
		if w.s.opts.World.Crash(world.OutboxBeforeSend) != nil || !w.holds() {
			return verdictLeft, false
		}
		receipt, err = w.request(out)
		if w.s.opts.World.Crash(world.OutboxAfterSend) != nil {
			return verdictLeft, false
		}
		if err == nil && receipt.ID == "" {
			err = errNoReceipt
		}
		if class := classOf(err); class != core.SendInvalid && class != core.SendTooLarge {
			break
		}
	}
	if err != nil {
		return w.failed(it, err), false
	}
	return w.receipt(it, part, receipt, part == len(parts)-1)
}

// variants returns how a part may be sent, best first: further ones are for
// platforms that refuse the first. Only the first part answers the anchor.
func (w *worker) variants(row store.Outbox, part int, parts []string) []core.Outgoing {
	text := parts[part]
	out := core.Outgoing{Address: row.Address, Text: text, Key: w.s.messageKey(row, part), Persona: row.Persona, Draft: row.Kind == store.OutPreview}
	if part == 0 {
		out.ReplyTo = row.Anchor
	}
	if len(parts) == 1 && !row.Kind.Literal() && text != row.Text {
		out.Markdown = row.Text
	}
	all := []core.Outgoing{out}
	if plain := w.s.opts.Plain; plain != nil {
		if p := plain(w.account.Channel, text); p != text && strings.TrimSpace(p) != "" {
			out.Text = p
			all = append(all, out)
		}
	}
	if out.ReplyTo != "" {
		out.ReplyTo = ""
		all = append(all, out)
	}
	return all
}

// messageKey names one part for ever, across restarts and stores. The stamp
// makes a row that was moved to another place another message there, and one
// that got a used id because an older store was restored.
func (s *Service) messageKey(row store.Outbox, part int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d\x00%s\x00%s", row.At, row.Address.Conversation, row.Address.Thread)
	return s.opts.Instance + "/" + strconv.FormatInt(row.ID, 10) + "-" + strconv.FormatUint(h.Sum64(), 36) + "/" + strconv.Itoa(part)
}

// request is one call of the adapter under its deadline. A panic there is an
// error of unknown class.
func (w *worker) request(out core.Outgoing) (receipt core.Receipt, err error) {
	ctx, cancel := w.s.opts.World.Clock.WithTimeout(w.ctx, SendTimeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the adapter panicked: %v", r)
			w.log.Error("an adapter panicked", "panic", r, "stack", string(debug.Stack()))
		}
	}()
	return w.account.Adapter.Send(ctx, out)
}

// receipt records that a part reached the platform, and with the last one that
// the message is sent. Only this is tried again if it fails, never the send.
func (w *worker) receipt(it *item, part int, r core.Receipt, last bool) (v verdict, ok bool) {
	now := w.s.opts.World.Now()
	if last {
		w.yield(it)
	}
	var state store.OutboxState
	err := w.persist("record a receipt", func(tx *store.Tx, hooks bool) (err error) {
		if err := tx.LockSession(it.row.Session); err != nil {
			return err
		}
		if state, err = tx.RecordReceipt(it.row.ID, part, r.ID, last, now); err != nil {
			return err
		}
		if part == 0 && it.row.Preview != 0 {
			if err := w.replaced(tx, it, now); err != nil {
				return err
			}
		}
		if !last || it.row.Kind.Aside() {
			return nil
		}
		row := it.row
		row.State, row.PartsSent, row.NextAt, row.EndedAt, row.Error = state, part+1, 0, now, ""
		return w.hook(hooks, w.s.opts.OnSent, tx, row, now)
	})
	if err != nil || w.s.opts.World.Crash(world.OutboxAfterReceipt) != nil {
		return verdictLeft, false
	}
	it.row.PartsSent, it.row.Attempts, it.row.Error, it.resends = part+1, 0, "", 0
	if part == 0 {
		w.arrived(it.row)
	}
	if last && it.row.Kind.Aside() {
		return verdictEnded, false
	}
	if last {
		w.note(func(st *Status) { st.Sent, st.LastSent = st.Sent+1, now })
		return verdictEnded, false
	}
	it.row.FirstTry = now
	return verdictEnded, state == store.OutQueued || state == store.OutSending
}

// holds reports whether the account is still this node's to send for.
func (w *worker) holds() bool {
	h := w.s.opts.Holds
	return h == nil || h(w.account.Channel, w.account.ID)
}

// release leaves a row of which nothing is on its way to the next start.
func (w *worker) release(it *item) verdict {
	if it.row.State == store.OutSending {
		it.row.State = store.OutQueued
		_ = w.persist("release a message", func(tx *store.Tx, _ bool) error {
			_, err := tx.UpdateOutbox(it.row)
			return err
		})
	}
	return verdictLeft
}

// conclude records a row as sent whose parts all have receipts.
func (w *worker) conclude(it *item) verdict {
	now := w.s.opts.World.Now()
	row := it.row
	row.State, row.EndedAt, row.NextAt, row.Error = store.OutSent, now, 0, ""
	err := w.persist("record a receipt", func(tx *store.Tx, hooks bool) error {
		if err := tx.LockSession(row.Session); err != nil {
			return err
		}
		ok, err := tx.UpdateOutbox(row)
		if err != nil || !ok {
			return err
		}
		return w.hook(hooks, w.s.opts.OnSent, tx, row, now)
	})
	if err != nil {
		return verdictLeft
	}
	return verdictEnded
}

// hookError is the failure of a hook, as opposed to the store's.
type hookError struct{ error }

func (e hookError) Unwrap() error { return e.error }

func (w *worker) hook(on bool, f func(*store.Tx, store.Outbox, core.Millis) error, tx *store.Tx, row store.Outbox, now core.Millis) error {
	if !on || f == nil {
		return nil
	}
	if err := f(tx, row, now); err != nil {
		return hookError{err}
	}
	return nil
}

// maxHookTries is how often a transaction is tried with its hook.
const maxHookTries = 3

// persist runs a transaction until it commits: what happened outside must not
// be forgotten because the store is in trouble. hooks is false once the hook has
// failed too often. It returns an error only when the worker is ending.
func (w *worker) persist(what string, fn func(tx *store.Tx, hooks bool) error) error {
	opts, failures := w.s.opts, 0
	for n := 1; ; n++ {
		err := opts.DB.Write(context.WithoutCancel(w.ctx), func(tx *store.Tx) error {
			if opts.Guard != nil {
				if err := opts.Guard(tx, w.account.Channel, w.account.ID); err != nil {
					return err
				}
			}
			return fn(tx, failures < maxHookTries)
		})
		if err == nil {
			return nil
		}
		if opts.World.Err() != nil || errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrNodeLost) {
			return err
		}
		var hook hookError
		if errors.As(err, &hook) {
			failures++
		}
		w.log.Error("delivery could not write; it tries again", "to", what, "error", err)
		if err := opts.World.Clock.Sleep(w.ctx, storePause(n)); err != nil {
			return err
		}
	}
}
