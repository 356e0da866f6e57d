package subagent

import (
	"encoding/json"
	"fmt"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
)

// SetNotify chooses what people are told of a task that has not ended. Of one
// that has, what is told is on its way or done: the error has the code
// task_state.
func (e *Engine) SetNotify(tx *store.Tx, run core.Run, policy core.Notify) error {
	if err := tx.LockSession(run.Session); err != nil {
		return err
	}
	run, err := tx.RunByID(run.ID)
	if err != nil {
		return err
	}
	if !run.Status.Live() {
		return core.Errorf("task_state", "the task %q has ended: %s", run.Name(), run.Status.Task()).
			WithRemedy("the policy can be changed while a task goes on")
	}
	return tx.SetNotify(run.ID, policy)
}

// tellGoes tells the person that a turn begins with which a run starts or goes
// on after a wait. A turn that is taken up again after a crash is neither.
func (e *Engine) tellGoes(tx *store.Tx, l *kernel.Lease, run core.Run) error {
	switch run.Status {
	case core.RunQueued:
		return e.tellChange(tx, l, run, "start", e.Config.Language().TaskStarted(run.Name()))
	case core.RunWaiting:
		return e.tellChange(tx, l, run, "resume", e.Config.Language().TaskResumed(run.Name()))
	}
	return nil
}

// tellWaits tells the person that a run waits, and for what.
func (e *Engine) tellWaits(tx *store.Tx, l *kernel.Lease, run core.Run, out agent.Outcome) error {
	var t terms
	if out.Yield != nil {
		if err := json.Unmarshal(out.Yield, &t); err != nil {
			return fmt.Errorf("the terms of a wait: %w", err)
		}
	}
	text := e.Config.Language().TaskWaitsChildren(run.Name())
	if t.WaitFor == "message" {
		text = e.Config.Language().TaskWaitsMessage(run.Name())
	}
	return e.tellChange(tx, l, run, "wait", text)
}

// tellChange posts a change of a run's state in the chat that its requester was
// asked in, where the task's policy wants it, in the transaction of the change.
// Its once-key names the turn, so each change is told once, whatever runs again.
func (e *Engine) tellChange(tx *store.Tx, l *kernel.Lease, run core.Run, change, text string) error {
	if run.Notify != core.NotifyChanges {
		return nil
	}
	to, err := e.originOf(tx, run)
	if err != nil || to.IsZero() {
		return err
	}
	_, _, err = e.Poster.Post(tx, store.Outbox{
		OnceKey: fmt.Sprintf("change/%s/%s/%d", run.ID, change, l.Turn.ID), Kind: store.OutNotice, Address: to, Text: text,
		Session: run.Session, Run: run.ID, Owner: run.Owner, At: e.World.Now(),
	})
	return err
}
