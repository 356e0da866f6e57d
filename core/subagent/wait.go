package subagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

// TimerWait is the kind of timer that ends a wait at its deadline; its ref is
// the turn.
const TimerWait = "wait"

// TimerRun is the kind of timer that ends a run which waits when its time is
// over; its ref is the run.
const TimerRun = "run"

// The kinds of a store.Wait.
const (
	WaitChildren = "children"
	WaitMessage  = "message"
)

// terms are what sessions_yield asked for, kept with its result until the end
// of the turn.
type terms struct {
	Message  string `json:"message,omitempty"`
	Ack      string `json:"ack,omitempty"`
	Join     string `json:"join"` // "all", "any" or a number
	Deadline int64  `json:"deadlineSeconds,omitempty"`
	WaitFor  string `json:"waitFor"`
}

// termsOf returns what a turn that yields has asked for.
func termsOf(out agent.Outcome) (t terms, err error) {
	if err := json.Unmarshal(out.Yield, &t); err != nil {
		return t, fmt.Errorf("the terms of a wait: %w", err)
	}
	return t, nil
}

// need is how many of n children must have ended.
func (t terms) need(n int) int {
	switch t.Join {
	case "", "all":
		return n
	case "any":
		return min(1, n)
	}
	k, err := strconv.Atoi(t.Join)
	if err != nil {
		return n
	}
	return min(max(k, 1), n)
}

// batch returns the children that a chain of turns spawned and that its
// session has not consumed yet, in spawn order.
func (e *Engine) batch(tx *store.Tx, session, chain int64) ([]core.Run, error) {
	children, err := tx.ChildrenOfChain(session, chain)
	if err != nil {
		return nil, err
	}
	var out []core.Run
	for _, r := range children {
		open := r.Status.Live()
		if !open {
			if open, err = tx.CompletionPending(session, r.ID); err != nil {
				return nil, err
			}
		}
		if open && r.Spec.ExpectsCompletion {
			out = append(out, r)
		}
	}
	return out, nil
}

// arm makes the session wait for a batch. If the batch is settled already its
// events are queued instead and wake the session.
func (e *Engine) arm(tx *store.Tx, l *kernel.Lease, batch []core.Run, t terms) error {
	now := e.World.Now()
	w := store.Wait{
		Turn: l.Turn.ID, Session: l.Session.ID, Run: l.Turn.Run, Kind: WaitChildren, Need: t.need(len(batch)), ReplyTo: l.Turn.ReplyTo,
		Anchor: l.Turn.Anchor, Note: t.Message, At: now,
	}
	ended := 0
	for _, r := range batch {
		w.Batch = append(w.Batch, r.ID)
		if !r.Status.Live() {
			ended++
		}
	}
	if ended >= w.Need {
		return e.release(tx, w, l.Turn.Chain)
	}
	for _, r := range batch {
		if err := tx.SetCompletionState(l.Session.ID, r.ID, store.InboxHeld); err != nil {
			return err
		}
	}
	if t.Deadline > 0 {
		w.Deadline = now.Add(time.Duration(t.Deadline) * time.Second)
		if err := tx.SetTimer(store.Timer{Kind: TimerWait, Ref: strconv.FormatInt(w.Turn, 10), Due: w.Deadline}); err != nil {
			return err
		}
		tx.OnCommit(func() { e.kernel.Due(w.Deadline) })
	}
	return tx.InsertWait(w)
}

// release queues what a settled wait held back, its private note first.
func (e *Engine) release(tx *store.Tx, w store.Wait, chain int64) error {
	for _, id := range w.Batch {
		if err := tx.SetCompletionState(w.Session, id, store.InboxQueued); err != nil {
			return err
		}
	}
	if w.Kind == WaitMessage {
		if err := e.setPending(tx, w.Session, w.Run, store.InboxQueued); err != nil {
			return err
		}
	}
	if w.Note == "" {
		return nil
	}
	return e.queueNote(tx, w, chain, ownNote(w))
}

// queueNote puts a note of the runtime into the resumed turn.
func (e *Engine) queueNote(tx *store.Tx, w store.Wait, chain int64, text string) error {
	turn, err := tx.TurnByID(w.Turn)
	if err != nil {
		return err
	}
	row := e.note(w, chain, text)
	row.Policy, row.Owner = turn.Policy, turn.Owner
	_, err = tx.InsertInbox(row)
	return err
}

// note is a note of the runtime for whoever waits.
func (e *Engine) note(w store.Wait, chain int64, text string) store.Inbox {
	item := model.Item{Kind: model.Note, Text: text, At: e.World.Now()}
	row := store.Inbox{
		Session: w.Session, Kind: store.InboxWake, Lane: store.LaneMain, ReplyTo: w.ReplyTo, Anchor: w.Anchor, ForRun: w.Run, Chain: chain,
		Body: item.Encode(), At: item.At,
	}
	if w.Run != "" {
		row.Lane = store.LaneSubagent
	}
	return row
}

// ownNote words the private note of a wait for the turn that it ends in.
func ownNote(w store.Wait) string { return "Your note from before you waited: " + w.Note }

// joinWait finds the wait that a run's event belongs to. It holds the row
// back, or releases the whole batch if the event settles it.
func (e *Engine) joinWait(tx *store.Tx, run core.Run, row *store.Inbox) (waited, released bool, err error) {
	waits, err := tx.Waits(row.Session)
	if err != nil {
		return false, false, err
	}
	for _, w := range waits {
		if !slices.Contains(w.Batch, run.ID) {
			continue
		}
		ended, err := e.countEnded(tx, w.Batch)
		if err != nil {
			return false, false, err
		}
		row.ReplyTo, row.Anchor = w.ReplyTo, w.Anchor
		if ended < w.Need {
			row.State = store.InboxHeld
			return true, false, nil
		}
		if err := e.disarm(tx, w); err != nil {
			return false, false, err
		}
		return true, true, e.release(tx, w, row.Chain)
	}
	return false, false, nil
}

// holdForMessage holds an event back whose run waits for a message and for
// nothing else: it comes with that message, or at the deadline. A chat holds
// nothing, because people are to hear of an outcome: it has a turn on the event,
// and goes on waiting.
func (e *Engine) holdForMessage(tx *store.Tx, row *store.Inbox) (bool, error) {
	if row.ForRun == "" {
		return false, nil
	}
	waits, err := tx.Waits(row.Session)
	if err != nil {
		return false, err
	}
	for _, w := range waits {
		if w.Kind == WaitMessage && w.Run == row.ForRun {
			row.ReplyTo, row.Anchor, row.State = w.ReplyTo, w.Anchor, store.InboxHeld
			return true, nil
		}
	}
	return false, nil
}

// setPending holds back, or lets go of, the events that wait for a run.
func (e *Engine) setPending(tx *store.Tx, session int64, run string, to store.InboxState) error {
	if run == "" {
		return nil
	}
	rows, err := tx.PendingCompletions(session, run)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := tx.SetCompletionState(session, r.Run, to); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) countEnded(tx *store.Tx, batch []string) (n int, err error) {
	for _, id := range batch {
		r, err := tx.RunByID(id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return 0, err
		}
		if err != nil || !r.Status.Live() {
			n++
		}
	}
	return n, nil
}

func (e *Engine) disarm(tx *store.Tx, w store.Wait) error {
	if err := tx.DropTimer(TimerWait, strconv.FormatInt(w.Turn, 10)); err != nil {
		return err
	}
	return tx.DeleteWait(w.Turn)
}

// WaitDue is the effect of a wait's deadline: the session is woken with what
// has come so far. The kernel calls it in the timer's transaction.
func (e *Engine) WaitDue(tx *store.Tx, t store.Timer, _ core.Millis) error {
	id, err := strconv.ParseInt(t.Ref, 10, 64)
	if err != nil {
		return fmt.Errorf("timer %s has a bad ref: %w", t.Kind, err)
	}
	w, err := tx.WaitByTurn(id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	turn, err := tx.TurnByID(id)
	if err != nil {
		return err
	}
	ended, err := e.countEnded(tx, w.Batch)
	if err != nil {
		return err
	}
	if err := tx.DeleteWait(id); err != nil {
		return err
	}
	text := fmt.Sprintf("The deadline of your wait has passed: %d of %d children have ended. The others go on, and their results follow.",
		ended, len(w.Batch))
	if w.Kind == WaitMessage {
		text = "The deadline of your wait has passed: no message has come."
	}
	if err := e.queueNote(tx, w, turn.Chain, text); err != nil {
		return err
	}
	if err := e.release(tx, w, turn.Chain); err != nil {
		return err
	}
	lane := store.LaneMain
	if w.Run != "" {
		lane = store.LaneSubagent
	}
	return e.ready(tx, w.Session, lane, true)
}

// yieldRun parks a run because its turn asked to wait. It reports false if
// there is nothing left to wait for and nothing queued, so that the run ends.
func (e *Engine) yieldRun(tx *store.Tx, l *kernel.Lease, run core.Run, out agent.Outcome) (parked bool, err error) {
	t, err := termsOf(out)
	if err != nil {
		return false, err
	}
	instead := []string{t.WaitFor}
	if t.WaitFor == WaitMessage { // and not for children any more
		instead = append(instead, WaitChildren)
	}
	if err := e.dropWaits(tx, l, run, instead...); err != nil { // this one stands for them
		return false, err
	}
	if t.WaitFor == WaitMessage {
		// What came while the turn called for the wait is the message.
		if more, err := tx.SteersRun(l.Session.ID, run.ID); more || err != nil {
			return false, err
		}
	}
	parked, err = e.yield(tx, l, t)
	if parked && err == nil {
		err = e.parkRun(tx, l, run, out)
	}
	return parked, err
}

func (e *Engine) parkRun(tx *store.Tx, l *kernel.Lease, run core.Run, out agent.Outcome) error {
	if out.Text != "" {
		if err := tx.SetRunResult(run.ID, out.Text); err != nil {
			return err
		}
	}
	if err := e.tellWaits(tx, l, run, out); err != nil {
		return err
	}
	if due := e.Deadline(&run); due != 0 { // a turn limits itself
		tx.OnCommit(func() { e.kernel.Due(due) })
		if err := tx.SetTimer(store.Timer{Kind: TimerRun, Ref: run.ID, Due: due}); err != nil {
			return err
		}
	}
	return tx.SetRunStatus(run.ID, core.RunWaiting, e.World.Now())
}

// RunDue is the effect of the time limit of a run that waits: it ends. The runs
// that it waits for go on, and their outcomes go to whoever asked for it. The
// kernel calls it in the timer's transaction.
func (e *Engine) RunDue(tx *store.Tx, t store.Timer, now core.Millis) error {
	run, err := tx.RunByID(t.Ref)
	if err == nil {
		err = tx.LockSession(run.Requester, run.Session)
	}
	if err == nil {
		run, err = tx.RunByID(t.Ref)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil || run.Status != core.RunWaiting {
		return err
	}
	due := e.Deadline(&run)
	if due == 0 || due > now {
		return nil
	}
	if _, err := tx.RunningTurn(run.Session); err == nil {
		return nil // it has been woken, and its turn limits itself
	} else if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return e.finish(tx, run, Ended{
		Status: core.RunTimeout, Detail: words.English().DetailRunTimeout(now.Sub(run.StartedAt)), Text: run.Result, Partial: true,
	})
}

// park makes a run wait whose turn ended while children of it live: it is
// woken once, when all have settled, and then tells its own result.
func (e *Engine) park(tx *store.Tx, l *kernel.Lease, run core.Run, out agent.Outcome) (parked bool, err error) {
	open, err := tx.OpenChildrenOfRun(l.Session.ID, run.ID)
	if err != nil {
		return false, err
	}
	open = slices.DeleteFunc(open, func(r core.Run) bool { return !r.Spec.ExpectsCompletion })
	if len(open) == 0 {
		return false, nil
	}
	if err := e.arm(tx, l, open, terms{Join: "all"}); err != nil {
		return false, err
	}
	return true, e.parkRun(tx, l, run, out)
}

// yieldChat ends a chat turn that waits: its acknowledgment is shown. Where all
// that it waited for was stopped meanwhile, that is its answer.
func (e *Engine) yieldChat(tx *store.Tx, l *kernel.Lease, out agent.Outcome) error {
	t, err := termsOf(out)
	if err != nil {
		return err
	}
	parked, err := e.yield(tx, l, t)
	if err != nil {
		return err
	}
	if !parked {
		out.Yield = nil
		if out.Text == "" && !out.Spoke {
			out.Text = t.Ack
		}
		return e.endChat(tx, l, out)
	}
	if t.Ack == "" || t.Ack == out.Text || l.Turn.ReplyTo.IsZero() {
		return nil
	}
	_, _, err = e.Poster.Post(tx, store.Outbox{
		OnceKey: fmt.Sprintf("turn/%d/ack", l.Turn.ID), Kind: store.OutProgress, Address: l.Turn.ReplyTo, Anchor: l.Turn.Anchor,
		Text: t.Ack, Session: l.Session.ID, Owner: l.Turn.Owner, At: e.World.Now(),
	})
	return err
}

// yield arms the wait that a turn asked for. parked is also true where the
// batch is settled already and its events are queued for the next turn.
func (e *Engine) yield(tx *store.Tx, l *kernel.Lease, t terms) (parked bool, err error) {
	if t.WaitFor == WaitMessage {
		return true, e.armMessage(tx, l, t)
	}
	batch, err := e.batch(tx, l.Session.ID, l.Turn.Chain)
	if err != nil || len(batch) == 0 {
		return false, err
	}
	return true, e.arm(tx, l, batch, t)
}

// armMessage waits for the next message of a person, or to the run. Messages need
// no wait to start a turn; the row keeps the run alive, holds the deadline, and
// keeps the events of children from waking the run before.
func (e *Engine) armMessage(tx *store.Tx, l *kernel.Lease, t terms) error {
	w := store.Wait{
		Turn: l.Turn.ID, Session: l.Session.ID, Run: l.Turn.Run, Kind: WaitMessage, ReplyTo: l.Turn.ReplyTo, Anchor: l.Turn.Anchor,
		Note: t.Message, At: e.World.Now(),
	}
	if t.Deadline > 0 {
		w.Deadline = w.At.Add(time.Duration(t.Deadline) * time.Second)
		if err := tx.SetTimer(store.Timer{Kind: TimerWait, Ref: strconv.FormatInt(w.Turn, 10), Due: w.Deadline}); err != nil {
			return err
		}
		tx.OnCommit(func() { e.kernel.Due(w.Deadline) })
	}
	if err := e.setPending(tx, w.Session, w.Run, store.InboxHeld); err != nil {
		return err
	}
	return tx.InsertWait(w)
}

// MessageArrived is called by intake before it queues a person's message: a
// run that waits for a message takes it.
func (e *Engine) MessageArrived(tx *store.Tx, row *store.Inbox) error {
	waits, err := tx.Waits(row.Session)
	if err != nil {
		return err
	}
	for _, w := range waits {
		if w.Kind != WaitMessage {
			continue
		}
		turn, err := tx.TurnByID(w.Turn)
		if err != nil {
			return err
		}
		row.ForRun, row.Chain = w.Run, turn.Chain
		if err := e.setPending(tx, w.Session, w.Run, store.InboxQueued); err != nil {
			return err
		}
		if w.Note != "" {
			note := e.note(w, turn.Chain, ownNote(w))
			// The message's own place and sender: the two make one turn.
			note.ReplyTo, note.Anchor, note.Policy, note.Owner, note.Lane = row.ReplyTo, row.Anchor, row.Policy, row.Owner, row.Lane
			if _, err := tx.InsertInbox(note); err != nil {
				return err
			}
		}
		return e.disarm(tx, w)
	}
	return nil
}
