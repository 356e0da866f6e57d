package subagent

import (
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// planArchive sets when the session of an ended run is archived. A session
// that is bound is archived from the end of its binding.
func (e *Engine) planArchive(tx *store.Tx, run core.Run, settled bool) error {
	if err := e.endWorktree(tx, run); err != nil {
		return err
	}
	if run.Kind == core.RunSend && kindOf(run.SessionKey) != core.SessionSubagent {
		return nil // a chat lives on
	}
	if run.Spec.Cleanup == cleanupDelete {
		if !settled { // once it is told or let go
			return tx.SetArchiveDue(run.Session, 0)
		}
		return e.archiveDeleted(tx, run, e.World.Now())
	}
	return e.PlanArchive(tx, run.Session, run.RequesterID, run.EndedAt)
}

// PlanArchive sets the archive deadline of a sub-agent session counted from
// since; the end of a binding calls it too.
func (e *Engine) PlanArchive(tx *store.Tx, session int64, requesterKey string, since core.Millis) error {
	agentID := agentOf(requesterKey)
	if s, err := tx.SessionByID(session); orNothing(err) != nil || s.Kind == core.SessionDashboard {
		return orNothing(err) // people keep it for as long as they like
	}
	after := e.Config.Subagents(agentID).ArchiveAfter
	if after <= 0 {
		return nil
	}
	due := since.Add(after)
	tx.OnCommit(func() { e.kernel.Due(due) })
	return tx.SetArchiveDue(session, due)
}

func kindOf(key string) core.SessionKind {
	k, _ := core.ParseSessionKey(key)
	return k.Kind
}

// Restore brings an archived session back. It is archived again when it has not
// been used for as long as a sub-agent's session is kept after its end. The error
// for people has the code session_state.
func (e *Engine) Restore(tx *store.Tx, s store.Session) error {
	now, due := e.World.Now(), core.Millis(0)
	if after := e.Config.Subagents(s.Agent).ArchiveAfter; after > 0 && s.Kind == core.SessionSubagent {
		due = now.Add(after)
		tx.OnCommit(func() { e.kernel.Due(due) })
	}
	ok, err := tx.RestoreSession(s.ID, due, now)
	if err == nil && !ok {
		return core.Errorf("session_state", "the session %s is not archived", s.Key).WithRemedy("`skein sessions list --archived` lists those that are")
	}
	return err
}

func agentOf(key string) string {
	if k, err := core.ParseSessionKey(key); err == nil {
		return k.Agent
	}
	return ""
}

// settled notes what became of an outcome, which nothing is to do with any more: a
// child with cleanup "delete" is archived then, and not before, however long that
// takes.
func (e *Engine) settled(tx *store.Tx, runID string, d core.Delivery, now core.Millis) error {
	if err := tx.SetDelivery(runID, d, "", now); err != nil {
		return err
	}
	run, err := tx.RunByID(runID)
	if err != nil {
		return orNothing(err) // its data was deleted
	}
	return e.archiveDeleted(tx, run, now)
}

// archiveDeleted archives a child with cleanup "delete", whose outcome is told or
// let go, at once.
func (e *Engine) archiveDeleted(tx *store.Tx, run core.Run, now core.Millis) error {
	if run.Spec.Cleanup != cleanupDelete || run.Status.Live() {
		return nil
	}
	tx.OnCommit(func() { e.kernel.Due(now) })
	return tx.SetArchiveDue(run.Session, now)
}

// archiveBatch bounds how long one batch holds the writer.
const archiveBatch = 100

// Archive returns the engine's deadlines for the kernel.
func (e *Engine) Archive() kernel.Source { return archiveSource{e} }

type archiveSource struct{ e *Engine }

// Name implements kernel.Source.
func (archiveSource) Name() string { return "archive" }

// Next implements kernel.Source.
func (archiveSource) Next(tx *store.Tx) (core.Millis, error) { return tx.NextArchiveDue() }

// Fire implements kernel.Source. A session with a live binding, at work, or with
// cleanup "delete" and an outcome that is not told yet, is not archived: it gets
// a later deadline.
func (s archiveSource) Fire(tx *store.Tx, now core.Millis) (int, error) {
	if err := tx.Crash(world.ArchiveBefore); err != nil {
		return 0, err
	}
	due, err := tx.ArchiveDueSessions(now, archiveBatch)
	if err != nil {
		return 0, err
	}
	for _, session := range due {
		bound, err := tx.BindingsOfSession(session.ID)
		if err != nil {
			return 0, err
		}
		busy, _, err := tx.SessionBusy(session.ID)
		if err != nil {
			return 0, err
		}
		run, err := tx.LatestRunOfSession(session.ID)
		if orNothing(err) != nil {
			return 0, err
		}
		untold := run.Spec.Cleanup == cleanupDelete && !run.Delivery.Settled()
		switch {
		case len(bound) > 0 || untold: // planned anew at the end of the binding, or once it is told or let go
			err = tx.SetArchiveDue(session.ID, 0)
		case busy:
			err = tx.SetArchiveDue(session.ID, now.Add(time.Minute))
		default:
			err = s.archive(tx, session.ID, run, now)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(due), nil
}

// archive archives a session; with cleanup "delete" the files that were handed
// to it go.
func (s archiveSource) archive(tx *store.Tx, session int64, run core.Run, now core.Millis) error {
	if run.Spec.Cleanup == cleanupDelete {
		if err := s.e.letGoOfFiles(tx, session); err != nil {
			return err
		}
	}
	return tx.ArchiveSession(session, now)
}
