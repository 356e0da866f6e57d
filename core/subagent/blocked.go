package subagent

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

// Limits of outcomes that nobody was told.
const (
	backlogWarn    = 25                 // of one tree: the operator is told
	backlogMost    = 50                 // of one tree: it gets no further sub-agents
	blockedKept    = 7 * 24 * time.Hour // then an outcome is let go
	retellingsMark = "/retry-"          // before the number of a telling in its once-key
)

// blocked records that nobody was told a run's outcome, and tells the operator,
// also of a tree with many of them.
func (e *Engine) blocked(tx *store.Tx, run core.Run, detail string, now core.Millis) error {
	if err := tx.SetDelivery(run.ID, core.DeliveryBlocked, detail, now); err != nil {
		return err
	}
	if e.OnBlocked != nil {
		if err := e.OnBlocked(tx, run, detail); err != nil {
			return err
		}
	}
	tx.OnCommit(func() { e.kernel.Due(now.Add(blockedKept)) })
	if e.OnBacklog == nil {
		return nil
	}
	n, err := tx.CountBlocked(run.Root)
	if err != nil || n < backlogWarn {
		return err
	}
	return e.OnBacklog(tx, run, n, backlogMost)
}

// backlog refuses a spawn in a tree with too many outcomes that nobody was told,
// and in no other.
func backlog(tx *store.Tx, root string) error {
	n, err := tx.CountBlocked(root)
	if err != nil || n < backlogMost {
		return err
	}
	return forPeople(words.RefuseSpawnBacklog("backlog", n, backlogMost),
		core.Errorf("backlog", "%d outcomes of this tree were told to nobody, of at most %d", n, backlogMost).
			WithRemedy("an operator has them told with `skein tasks retry ID`, or lets them go with `skein tasks dismiss ID`"))
}

// Retry tells an outcome anew that nobody was told: what was to tell it goes
// into the outbox again from its first unsent part on, or where nothing was
// posted, the runtime's notice. What it posts has a once-key of its own, and what
// was tried before can never be sent any more. Other outcomes that the same
// message tells are told with it. ref is the id of a task or of a run. Errors for
// people have the code task_unknown, task_not_blocked or task_nowhere.
func (e *Engine) Retry(tx *store.Tx, ref string) error {
	run, err := e.blockedRun(tx, ref)
	if err != nil {
		return err
	}
	n, ok, err := tx.RaiseTelling(run.ID)
	if err != nil {
		return err
	}
	if !ok {
		return notBlocked(run)
	}
	posts, err := tx.TroubleOf(run.ID)
	if err != nil {
		return err
	}
	for _, row := range posts {
		if err := e.reissue(tx, row); err != nil {
			return err
		}
	}
	if len(posts) > 0 {
		return nil
	}
	return e.noticeAnew(tx, run, n)
}

// reissue posts a message in trouble once more, and notes it for whatever else
// it tells.
func (e *Engine) reissue(tx *store.Tx, row store.Outbox) error {
	for _, id := range row.Tells {
		if _, _, err := tx.RaiseTelling(id); err != nil {
			return err
		}
	}
	return e.Poster.Reissue(tx, row, nextKey(row))
}

// nextKey is the once-key of the next telling of a message.
func nextKey(row store.Outbox) string {
	key := cmp.Or(row.OnceKey, fmt.Sprintf("outbox/%d", row.ID))
	base, number, _ := strings.Cut(key, retellingsMark)
	n, err := strconv.Atoi(number)
	if err != nil {
		n = 0
	}
	return fmt.Sprint(base, retellingsMark, n+1)
}

// noticeAnew posts the runtime's notice of an outcome of which nothing is left
// in the outbox.
func (e *Engine) noticeAnew(tx *store.Tx, run core.Run, n int) error {
	to, anchor, err := e.tellAt(tx, run)
	if err != nil {
		return err
	}
	if to.IsZero() {
		return core.Errorf("task_nowhere", "there is no conversation in which the outcome of task %s could be told", run.TaskID).
			WithRemedy("read it with `skein tasks show %s`, then let it go with `skein tasks dismiss %s`", run.TaskID, run.TaskID)
	}
	id, _, err := e.Poster.Post(tx, store.Outbox{
		OnceKey: fmt.Sprint(onceKey(run), "/notice", retellingsMark, n), Kind: store.OutNotice, Address: to, Anchor: anchor,
		Text: Notice(e.Config.Language(), run), Session: run.Requester, Run: run.ID, Tells: []string{run.ID}, Owner: run.Owner, At: e.World.Now(),
	})
	if err == nil && id == 0 { // nothing of it may be shown
		return e.blocked(tx, run, words.English().DetailNowhere(), e.World.Now())
	}
	return err
}

// tellAt is where an outcome is told to people: the address of the message
// that started its requester's run, or of a nested one the nearest above it that
// has one; where that is missing, the conversation of the session at the top.
func (e *Engine) tellAt(tx *store.Tx, run core.Run) (to core.Address, anchor string, err error) {
	for r, known := run, true; known; {
		if !r.Origin.IsZero() {
			return r.Origin, r.Anchor, nil
		}
		if r, known, err = e.asked(tx, r); err != nil {
			return to, "", err
		}
	}
	top, _, err := e.root(tx, run)
	return top.Address, "", err
}

// originOf is the address of tellAt.
func (e *Engine) originOf(tx *store.Tx, run core.Run) (core.Address, error) {
	to, _, err := e.tellAt(tx, run)
	return to, err
}

// Dismiss lets an outcome go that nobody was told, with the messages that were
// to tell it and nothing else. ref and the errors are those of Retry.
func (e *Engine) Dismiss(tx *store.Tx, ref string) error {
	run, err := e.blockedRun(tx, ref)
	if err != nil {
		return err
	}
	return e.dismiss(tx, run)
}

func (e *Engine) dismiss(tx *store.Tx, run core.Run) error {
	ok, err := tx.DismissTelling(run.ID)
	if err != nil {
		return err
	}
	if !ok {
		return notBlocked(run)
	}
	posts, err := tx.TroubleOf(run.ID)
	if err != nil {
		return err
	}
	for _, row := range posts {
		needed, err := e.stillTells(tx, row)
		if err != nil {
			return err
		}
		if needed {
			continue
		}
		if _, err := tx.DismissOutbox(row.ID, e.World.Now()); err != nil {
			return err
		}
	}
	return e.archiveDeleted(tx, run, e.World.Now())
}

// stillTells reports whether a message tells an outcome that nobody knows.
func (e *Engine) stillTells(tx *store.Tx, row store.Outbox) (bool, error) {
	for _, id := range row.Tells {
		r, err := tx.RunByID(id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
		if err == nil && r.Delivery == core.DeliveryBlocked {
			return true, nil
		}
	}
	return false, nil
}

// blockedRun finds a run whose outcome nobody was told, by the id of its task or
// its own.
func (e *Engine) blockedRun(tx *store.Tx, ref string) (core.Run, error) {
	run, err := tx.RunByTask(ref)
	if errors.Is(err, store.ErrNotFound) {
		run, err = tx.RunByID(ref)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return run, core.Errorf("task_unknown", "there is no task %q", ref).WithRemedy("`skein tasks` lists them")
	case err != nil:
		return run, err
	case run.Delivery != core.DeliveryBlocked:
		return run, notBlocked(run)
	}
	return run, nil
}

func notBlocked(run core.Run) error {
	return core.Errorf("task_not_blocked", "task %s is %s, its outcome %s: nothing waits to be told", run.TaskID, run.Status.Task(), run.Delivery).
		WithRemedy("only an outcome that is blocked can be retried or dismissed; `skein tasks` shows which are")
}

// blockedBatch bounds how long one batch holds the writer.
const blockedBatch = 100

// Blocked returns the deadlines of outcomes that nobody was told, for the
// kernel: after seven days one is let go.
func (e *Engine) Blocked() kernel.Source { return blockedSource{e} }

type blockedSource struct{ e *Engine }

// Name implements kernel.Source.
func (blockedSource) Name() string { return "blocked" }

// Next implements kernel.Source.
func (blockedSource) Next(tx *store.Tx) (core.Millis, error) {
	since, err := tx.NextBlocked()
	if err != nil || since == 0 {
		return 0, err
	}
	return since.Add(blockedKept), nil
}

// Fire implements kernel.Source.
func (s blockedSource) Fire(tx *store.Tx, now core.Millis) (int, error) {
	old, err := tx.BlockedBefore(now.Add(-blockedKept), blockedBatch)
	if err != nil {
		return 0, err
	}
	for _, run := range old {
		if err := s.e.dismiss(tx, run); err != nil && core.ErrorCode(err) == "" {
			return 0, err
		}
	}
	return len(old), nil
}
