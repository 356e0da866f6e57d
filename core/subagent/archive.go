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
// been used for as long as its requester's agent keeps a sub-agent's session after
// its end. The error for people has the code session_state.
func (e *Engine) Restore(tx *store.Tx, s store.Session) error {
	now, due := e.World.Now(), core.Millis(0)
	keeper := s.Agent
	switch parent, err := tx.SessionByID(s.Parent); {
	case err == nil:
		keeper = parent.Agent
	case orNothing(err) != nil:
		return err
	}
	if after := e.Config.Subagents(keeper).ArchiveAfter; after > 0 && s.Kind == core.SessionSubagent {
		due = now.Add(after)
		tx.OnCommit(func() { e.kernel.Due(due) })
	}
	ok, err := tx.RestoreSession(s.ID, due, now)
	if err == nil && !ok {
		return core.Errorf("session_state", "the session %s is not archived", s.Key).WithRemedy("`skein sessions list --archived` lists those that are")
	}
	return err
}

// ArchiveNow archives the session of a sub-agent, or a visible one, before its
// time. It is refused (session_live, session_state) where the session is bound or
// at work, where sub-agents below it are, and for conversations.
func (e *Engine) ArchiveNow(tx *store.Tx, s store.Session) error {
	if err := tx.LockSession(s.ID); err != nil {
		return err
	}
	live, _, err := tx.SessionLive(s.ID)
	switch {
	case err != nil:
		return err
	case !live:
		return core.Errorf("session_state", "the session %s is archived already", s.Key).WithRemedy("`skein sessions restore` brings it back")
	case !s.Kind.Spawned():
		return core.Errorf("session_state", "%s is a conversation, and those are not archived", s.Key).WithRemedy("/new in the conversation begins it anew")
	}
	bound, err := tx.BindingsOfSession(s.ID)
	if err != nil {
		return err
	}
	if len(bound) > 0 {
		return core.Errorf("session_live", "the session %s listens in %s", s.Key, bound[0].Address).WithRemedy("end that first: `skein bindings end %s`", bound[0].ID)
	}
	does, err := tx.Activity(s.ID)
	if err != nil {
		return err
	}
	below, err := tx.Descendants(s.ID)
	if err != nil {
		return err
	}
	if does != (store.Activity{}) || len(below) > 0 {
		return core.Errorf("session_live", "the session %s is at work, or sub-agents below it are", s.Key).
			WithRemedy("wait for the end, or stop it first: `skein sessions stop %s`", s.Key)
	}
	run, err := tx.LatestRunOfSession(s.ID)
	if orNothing(err) != nil {
		return err
	}
	if run.Spec.Cleanup == cleanupDelete && !run.Delivery.Settled() {
		return core.Errorf("session_live", "the outcome of %s is not told yet, and its files would go", s.Key).
			WithRemedy("`skein tasks retry %s` tells it, `skein tasks dismiss %s` lets it go", run.TaskID, run.TaskID)
	}
	return e.archive(tx, s.ID, run, e.World.Now())
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
			err = s.e.archive(tx, session.ID, run, now)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(due), nil
}

// archive archives a session; with cleanup "delete" the files that were handed
// to it go.
func (e *Engine) archive(tx *store.Tx, session int64, run core.Run, now core.Millis) error {
	if run.Spec.Cleanup == cleanupDelete {
		if err := e.letGoOfFiles(tx, session); err != nil {
			return err
		}
	}
	return tx.ArchiveSession(session, now)
}
