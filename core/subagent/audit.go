package subagent

import (
	"errors"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

// Severity says whether a finding of the audit needs somebody.
type Severity string

// The severities of a finding.
const (
	SeverityWarn  Severity = "warn"  // worth a look
	SeverityError Severity = "error" // people are not served as they should be
)

// Severities lists them.
func Severities() []Severity { return []Severity{SeverityWarn, SeverityError} }

// Code is the stable word for a kind of finding.
type Code string

// What the audit looks for.
const (
	FindStaleQueued  Code = "stale_queued"            // waits for a slot for over 10 minutes
	FindStaleRunning Code = "stale_running"           // has got nowhere for over 30 minutes
	FindLost         Code = "lost"                    // has not ended, and nothing moves it
	FindBlocked      Code = "delivery_blocked"        // nobody was told its outcome
	FindStuck        Code = "delivery_stuck"          // its outcome is to be told, and nothing brings it further
	FindNoCleanup    Code = "missing_cleanup"         // ended, and nothing will archive its session
	FindTimes        Code = "inconsistent_timestamps" // its times contradict each other or its status
	FindOrphan       Code = "orphan_session"          // a sub-agent's session without any run
	FindBacklog      Code = "backlog"                 // a tree with many outcomes that nobody was told
)

// Codes lists them.
func Codes() []Code {
	return []Code{
		FindStaleQueued, FindStaleRunning, FindLost, FindBlocked, FindStuck, FindNoCleanup, FindTimes, FindOrphan, FindBacklog,
	}
}

// Mends reports whether maintenance mends what the finding is about.
func (c Code) Mends() bool {
	switch c {
	case FindLost, FindStuck, FindNoCleanup, FindTimes, FindOrphan:
		return true
	}
	return false
}

// Finding is one thing that is wrong with the ledger.
type Finding struct {
	Code     Code
	Severity Severity
	// Run is the run it is about, without an ID for a session or a tree.
	Run core.Run
	// Session is the session it is about, of missing_cleanup and
	// orphan_session.
	Session store.Session
	// Root and Count are the tree of a backlog and how many outcomes it has.
	Root  string
	Count int
	// Since is when it began, 0 where that is not known.
	Since core.Millis
}

// Limits of the audit.
const (
	queuedLong    = 10 * time.Minute
	runningLong   = 30 * time.Minute
	lostLong      = 5 * time.Minute // then nobody mends it by itself
	stuckLong     = 10 * time.Minute
	unplannedLong = 10 * time.Minute
	auditRows     = 1000 // of one kind, at most
)

// Audit looks through the ledger and returns what is wrong, errors first.
// archiveAfter is the time after which an agent's sub-agents are archived, 0 for
// never. It only reads.
func Audit(tx *store.Tx, now core.Millis, archiveAfter func(agent string) time.Duration) ([]Finding, error) {
	a := audit{tx: tx, now: now, archiveAfter: archiveAfter}
	for _, look := range []func() error{a.live, a.blocked, a.stuck, a.times, a.unplanned, a.orphans} {
		if err := look(); err != nil {
			return nil, err
		}
	}
	var errs, warns []Finding
	for _, f := range a.found {
		if f.Severity == SeverityError {
			errs = append(errs, f)
		} else {
			warns = append(warns, f)
		}
	}
	return append(errs, warns...), nil
}

type audit struct {
	tx           *store.Tx
	now          core.Millis
	archiveAfter func(agent string) time.Duration
	found        []Finding
}

func (a *audit) add(code Code, s Severity, run core.Run, since core.Millis) {
	a.found = append(a.found, Finding{Code: code, Severity: s, Run: run, Since: since})
}

// live looks at the runs that have not ended.
func (a *audit) live() error {
	runs, err := a.tx.LiveRuns(auditRows)
	if err != nil {
		return err
	}
	for _, r := range runs {
		moves, err := a.tx.RunMoves(r.ID)
		if err != nil {
			return err
		}
		since := r.CreatedAt
		if r.Status != core.RunQueued || !moves {
			progress, err := a.tx.LastProgress(r.Session)
			if err != nil {
				return err
			}
			since = max(progress, r.StartedAt, r.CreatedAt)
		}
		age := a.now.Sub(since)
		switch {
		case !moves && age > lostLong:
			a.add(FindLost, SeverityError, r, since)
		case !moves:
			a.add(FindLost, SeverityWarn, r, since)
		case r.Status == core.RunQueued && age > queuedLong:
			a.add(FindStaleQueued, SeverityWarn, r, since)
		case r.Status == core.RunRunning && age > runningLong:
			a.add(FindStaleRunning, SeverityError, r, since)
		}
	}
	return nil
}

func (a *audit) blocked() error {
	runs, err := a.tx.BlockedRuns(auditRows)
	if err != nil {
		return err
	}
	for _, r := range runs {
		a.add(FindBlocked, SeverityError, r, r.EndedAt)
	}
	trees, err := a.tx.Backlogs(backlogWarn, auditRows)
	for _, t := range trees {
		f := Finding{Code: FindBacklog, Severity: SeverityWarn, Root: t.Root, Count: t.Count, Since: t.Since}
		if t.Count >= backlogMost {
			f.Severity = SeverityError
		}
		a.found = append(a.found, f)
	}
	return err
}

func (a *audit) stuck() error {
	runs, err := a.tx.StuckRuns(a.now.Add(-stuckLong), auditRows)
	for _, r := range runs {
		a.add(FindStuck, SeverityError, r, r.EndedAt)
	}
	return err
}

func (a *audit) times() error {
	runs, err := a.tx.OddRuns(auditRows)
	for _, r := range runs {
		a.add(FindTimes, SeverityWarn, r, 0)
	}
	return err
}

func (a *audit) unplanned() error {
	sessions, err := a.tx.UnplannedSessions(a.now.Add(-unplannedLong), false, auditRows)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		run, err := a.tx.LatestRunOfSession(s.ID)
		if errors.Is(err, store.ErrNotFound) {
			continue // it was only ever sent messages
		}
		if err != nil {
			return err
		}
		deleted := run.Spec.Cleanup == cleanupDelete
		if deleted && !run.Delivery.Settled() {
			continue // archived once it is told or let go
		}
		if deleted || a.archiveAfter(agentOf(run.RequesterID)) > 0 {
			a.found = append(a.found, Finding{Code: FindNoCleanup, Severity: SeverityWarn, Run: run, Session: s, Since: run.EndedAt})
		}
	}
	return nil
}

func (a *audit) orphans() error {
	sessions, err := a.tx.UnplannedSessions(a.now.Add(-unplannedLong), true, auditRows)
	for _, s := range sessions {
		a.found = append(a.found, Finding{Code: FindOrphan, Severity: SeverityWarn, Session: s, Since: s.UsedAt})
	}
	return err
}

// Mend mends what a finding is about, if it is still so: a lost run ends as
// interrupted and its requester is told, an outcome that is stuck is blocked, so
// that an operator is told and can have it told anew, times are put in order,
// and a session that nothing would archive gets its deadline, at once without
// any run.
func (e *Engine) Mend(tx *store.Tx, f Finding) error {
	switch f.Code {
	case FindLost:
		return e.endLost(tx, f.Run)
	case FindStuck:
		return e.blockStuck(tx, f.Run)
	case FindTimes:
		return tx.StampRun(f.Run.ID)
	case FindNoCleanup:
		if f.Run.Spec.Cleanup == cleanupDelete {
			return e.archiveDeleted(tx, f.Run, e.World.Now())
		}
		return e.PlanArchive(tx, f.Session.ID, f.Run.RequesterID, max(f.Session.UsedAt, f.Run.EndedAt))
	case FindOrphan:
		return tx.ArchiveSession(f.Session.ID, e.World.Now())
	}
	return nil
}

func (e *Engine) blockStuck(tx *store.Tx, run core.Run) error {
	if err := tx.LockSession(run.Requester); err != nil {
		return err
	}
	if is, err := tx.RunStuck(run.ID); err != nil || !is {
		return err
	}
	return e.blocked(tx, run, words.English().DetailStuck(), e.World.Now())
}

// ExpiredBlocked lists the outcomes that nobody was told for so long that they
// are let go.
func ExpiredBlocked(tx *store.Tx, now core.Millis) ([]core.Run, error) {
	return tx.BlockedBefore(now.Add(-blockedKept), auditRows)
}
