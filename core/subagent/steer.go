package subagent

import (
	"errors"
	"slices"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// TaskMark begins the first input of a spawned run.
const TaskMark = "[Subagent Task]\n"

// CodeTargetEnded refuses what only a live run can take.
const CodeTargetEnded = "target_ended"

// Steer gives a live run a message for its next boundary: before its next model
// call, after the tools that it runs. Nothing of its work is lost. A run that
// waits is woken, and goes on waiting afterwards; one that has not begun finds it
// with its task; one that is about to end goes on. item is a User item, owner the
// person behind it. A run that has ended is refused with CodeTargetEnded.
func (e *Engine) Steer(tx *store.Tx, run core.Run, item model.Item, owner string) error {
	if err := tx.LockSession(run.Session); err != nil {
		return err
	}
	run, err := tx.RunByID(run.ID)
	if err != nil {
		return err
	}
	if !run.Status.Live() {
		return ended(run)
	}
	item.At = e.World.Now()
	row := store.Inbox{
		Session: run.Session, Kind: store.InboxSteer, Lane: store.LaneSubagent, Policy: run.Spec.Policy, Owner: owner, ForRun: run.ID,
		Body: item.Encode(), At: item.At,
	}
	if err := e.placeOf(tx, run, &row); err != nil {
		return err
	}
	if _, err := tx.InsertInbox(row); err != nil {
		return err
	}
	return e.ready(tx, run.Session, store.LaneSubagent, true)
}

// ended is the refusal of what only a live run can take.
func ended(run core.Run) error {
	return core.Errorf(CodeTargetEnded, "%q has ended: %s", core.Clip(run.Name(), 60), run.Status.Task()).
		WithRemedy("send starts another turn in its session")
}

// placeOf sets where a turn answers that a message to a run starts, and which
// chain of turns it goes on with. A wait for a message is over with it.
func (e *Engine) placeOf(tx *store.Tx, run core.Run, row *store.Inbox) error {
	waits, err := tx.Waits(run.Session)
	if err != nil {
		return err
	}
	for _, w := range waits {
		if w.Run != run.ID {
			continue
		}
		turn, err := tx.TurnByID(w.Turn)
		if err != nil && !errors.Is(err, store.ErrNotFound) { // it may have been swept
			return err
		}
		row.ReplyTo, row.Anchor, row.Chain = w.ReplyTo, w.Anchor, turn.Chain
		if w.Kind != WaitMessage {
			return nil
		}
		if err := e.setPending(tx, w.Session, w.Run, store.InboxQueued); err != nil {
			return err
		}
		if w.Note != "" {
			if err := e.queueNote(tx, w, turn.Chain, ownNote(w)); err != nil {
				return err
			}
		}
		return e.disarm(tx, w)
	}
	turn, err := tx.RunningTurn(run.Session)
	if err == nil && turn.Run == run.ID {
		row.ReplyTo, row.Anchor, row.Chain = turn.ReplyTo, turn.Anchor, turn.Chain
		return nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	b, bound, err := tx.BindingOfRun(run.ID)
	if err == nil && bound && b.Status != core.BindingPending {
		row.ReplyTo = b.Address
	}
	return err
}

// goesOn keeps a run whose turn has ended well, and that was steered meanwhile or
// waits for children since before the turn: its next turn takes what is there.
func (e *Engine) goesOn(tx *store.Tx, l *kernel.Lease, run core.Run, out agent.Outcome) (bool, error) {
	more, err := tx.SteersRun(l.Session.ID, run.ID)
	if err != nil {
		return false, err
	}
	if !more {
		waits, err := e.waitsOf(tx, l, run, WaitChildren)
		if err != nil || len(waits) == 0 {
			return false, err
		}
	}
	return true, e.parkRun(tx, l, run, out)
}

// waitsOf returns the waits of a run, of these kinds, that were armed before this
// turn.
func (e *Engine) waitsOf(tx *store.Tx, l *kernel.Lease, run core.Run, kinds ...string) (out []store.Wait, err error) {
	if l.Session.Waits == 0 {
		return nil, nil
	}
	waits, err := tx.Waits(l.Session.ID)
	for _, w := range waits {
		if w.Run == run.ID && w.Turn != l.Turn.ID && slices.Contains(kinds, w.Kind) {
			out = append(out, w)
		}
	}
	return out, err
}

// dropWaits ends such waits: the run waits anew, or has ended.
func (e *Engine) dropWaits(tx *store.Tx, l *kernel.Lease, run core.Run, kinds ...string) error {
	waits, err := e.waitsOf(tx, l, run, kinds...)
	if err != nil {
		return err
	}
	for _, w := range waits {
		if err := e.disarm(tx, w); err != nil {
			return err
		}
	}
	return nil
}
