package subagent

import (
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// leaveWaits disarms what a run waited for.
func (e *Engine) leaveWaits(tx *store.Tx, run core.Run) error {
	if run.Spec.TimeoutSeconds > 0 {
		if err := tx.DropTimer(TimerRun, run.ID); err != nil {
			return err
		}
	}
	waits, err := tx.Waits(run.Session)
	if err != nil {
		return err
	}
	for _, w := range waits {
		if w.Run != run.ID {
			continue
		}
		if err := e.disarm(tx, w); err != nil {
			return err
		}
	}
	return nil
}

// passUp hands the outcomes on that a run had not taken when it ended: they go
// to whoever asked for it. What people wrote to it becomes a message to its
// session, and notes for it are dropped.
func (e *Engine) passUp(tx *store.Tx, run core.Run) error {
	rows, err := tx.PendingCompletions(run.Session, run.ID)
	if err != nil {
		return err
	}
	if err := tx.ReleaseInput(run.Session, run.ID); err != nil {
		return err
	}
	for _, row := range rows {
		if err := tx.DeleteInbox(row.ID); err != nil {
			return err
		}
		child, err := tx.RunByID(row.Run)
		if err != nil {
			return err
		}
		item, err := model.DecodeItem(row.Body)
		if err != nil {
			return err
		}
		if err := e.handBody(tx, child, row.Body, item.Completion != nil && item.Completion.Told); err != nil {
			return err
		}
	}
	return nil
}
