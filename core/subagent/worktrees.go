package subagent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/worktree"
	"github.com/skein-bot/skein/core/world"
)

const (
	// WorktreeKept is how long a worktree that was removed can be restored.
	WorktreeKept = 30 * 24 * time.Hour

	worktreeAgain = time.Minute // until one that could not be tidied is tried again
	worktreeBatch = 10
	worktreeTries = 100 // of names behind each other
)

// findRepo finds the repository that a spawn with a worktree is about, before
// any transaction. It runs git and reads only.
func (s *spawn) findRepo(ctx context.Context) {
	if !s.p.Worktree || s.dirErr != nil {
		return
	}
	dir := s.dir
	if dir == "" {
		dir = s.e.Config.Workspace(s.targetID())
	}
	if dir == "" {
		s.dirErr = core.Errorf("worktree_no_repository", "the agent %q has no workspace, so there is no repository", s.targetID()).
			WithRemedy("leave worktree out, or have an operator set agents.entries.%s.workspace", s.targetID())
		return
	}
	if s.repo, s.dirErr = worktree.Find(ctx, dir); s.dirErr != nil {
		return
	}
	s.branches, s.dirErr = s.repo.Taken(ctx)
}

// reserveWorktree reserves the name of the worktree, and has the child work in
// it.
func (s *spawn) reserveWorktree(tx *store.Tx) error {
	if !s.p.Worktree {
		return nil
	}
	name, given := s.p.WorktreeName, s.p.WorktreeName != ""
	if !given {
		name = worktree.Named(s.run.Name())
	}
	if name == "" {
		name = "work"
	}
	for n := 1; n <= worktreeTries; n++ {
		try := name
		if n > 1 {
			try = fmt.Sprintf("%s-%d", name, n)
		}
		ok, err := s.reserveName(tx, try)
		if err != nil {
			return err
		}
		if ok {
			s.run.Spec.Cwd = filepath.Join(s.tree.Path, filepath.FromSlash(s.repo.Rel))
			return tx.SetRunSpec(s.run.ID, s.run.Spec)
		}
		if given {
			break
		}
	}
	return core.Errorf("worktree_taken", "there is a worktree or a branch %s%s already", worktree.BranchPrefix, name).
		WithRemedy("choose another worktreeName, or leave it out")
}

func (s *spawn) reserveName(tx *store.Tx, name string) (bool, error) {
	if s.branches[name] {
		return false, nil
	}
	s.tree = store.Worktree{
		ID: s.run.ID, Session: s.run.Session, Name: name, Repo: s.repo.Common, Path: filepath.Join(s.e.Worktrees, s.repo.Print, name),
		Branch: worktree.BranchPrefix + name, State: store.WorktreeReserved, CreatedAt: s.e.World.Now(),
	}
	return tx.ReserveWorktree(s.tree)
}

// makeWorktree makes what was reserved.
func (s *spawn) makeWorktree(ctx context.Context, resumed bool) error {
	if s.tree.ID == "" {
		return nil
	}
	if err := s.e.World.Err(); err != nil {
		return err
	}
	w := treeOf(s.tree)
	if resumed {
		if err := w.Remove(ctx, true); err != nil {
			return worktreeFailed(err)
		}
	}
	base, stale, err := s.repo.Base(ctx, s.p.WorktreeBaseRef)
	if err != nil {
		return worktreeFailed(err)
	}
	if stale {
		s.warn = append(s.warn, "the remote could not be reached; the worktree begins with what was fetched last")
	}
	if err := w.Add(ctx, base); err != nil {
		return worktreeFailed(err)
	}
	if err := os.MkdirAll(s.run.Spec.Cwd, 0o700); err != nil { // the base may not have the folder
		return worktreeFailed(err)
	}
	s.tree.Base, s.tree.State = base, store.WorktreeLive
	return s.e.World.Crash(world.SpawnAfterWorktree)
}

// worktreeFailed words what git said; what has a code already keeps it.
func worktreeFailed(err error) error {
	if core.ErrorCode(err) != "" {
		return err
	}
	return core.Errorf("worktree_failed", "the worktree could not be made: %v", err).
		WithRemedy("leave worktree out, or have an operator look at the repository")
}

func treeOf(w store.Worktree) worktree.Tree {
	return worktree.Tree{Common: w.Repo, Path: w.Path, Name: w.Name, ID: w.ID}
}

// resultWorktree is what the result of a spawn says of its worktree.
type resultWorktree struct {
	ID     string `json:"id"`
	Branch string `json:"branch"`
	Path   string `json:"path"`
}

func (s *spawn) resultWorktree() *resultWorktree {
	if s.tree.ID == "" {
		return nil
	}
	return &resultWorktree{ID: s.tree.ID, Branch: s.tree.Branch, Path: s.tree.Path}
}

// removeReserved removes the worktree of a spawn that is undone; it reports
// whether nothing of it is left.
func (e *Engine) removeReserved(ctx context.Context, w store.Worktree) bool {
	if w.ID == "" {
		return true
	}
	if e.World.Err() != nil {
		return false
	}
	if err := treeOf(w).Remove(ctx, true); err != nil {
		e.Log.Warn("the worktree of a spawn that was undone could not be removed; it is tried again", "path", w.Path, "error", err)
		return false
	}
	return true
}

// forgetWorktree takes the row of a worktree that is cleared; another is looked
// at later.
func (e *Engine) forgetWorktree(tx *store.Tx, w store.Worktree, cleared bool) error {
	if w.ID == "" {
		return nil
	}
	if cleared {
		return tx.DeleteWorktree(w.ID)
	}
	w.State, w.EndedAt = store.WorktreeEnding, e.World.Now().Add(worktreeAgain)
	return tx.SetWorktree(w)
}

// endWorktree has the worktree of a run that has ended looked at after the
// commit.
func (e *Engine) endWorktree(tx *store.Tx, run core.Run) error {
	now := e.World.Now()
	ok, err := tx.EndWorktree(run.Session, now)
	if ok {
		tx.OnCommit(func() { e.kernel.Due(now) })
	}
	return err
}

// WorktreeDeadlines returns when worktrees are to be looked at, for the kernel.
func (e *Engine) WorktreeDeadlines() kernel.Source { return worktreeSource{e} }

type worktreeSource struct{ e *Engine }

// Name implements kernel.Source.
func (worktreeSource) Name() string { return "worktrees" }

// Next implements kernel.Source.
func (worktreeSource) Next(tx *store.Tx) (core.Millis, error) {
	return tx.NextWorktree(core.Millis(WorktreeKept.Milliseconds()))
}

// Fire implements kernel.Source. Git runs after the commit.
func (w worktreeSource) Fire(tx *store.Tx, now core.Millis) (int, error) {
	due, err := tx.TakeWorktrees(now, now.Add(worktreeAgain), core.Millis(WorktreeKept.Milliseconds()), worktreeBatch)
	if err != nil || len(due) == 0 {
		return len(due), err
	}
	tx.OnCommit(func() {
		w.e.Go(func(ctx context.Context) {
			for _, x := range due {
				if err := w.e.Tidy(ctx, x); err != nil && ctx.Err() == nil && w.e.World.Err() == nil {
					w.e.Log.Warn("a worktree could not be tidied; it is tried again", "worktree", x.ID, "path", x.Path, "error", err)
				}
			}
		})
	})
	return len(due), nil
}

// TakeOver has the worktrees and the folders of files looked at now that the
// process before was removing, or could not remove. Call it before the kernel
// takes over, after which this process has some of them in hand. Where another
// node has one in hand, both are at it: that does no harm.
func (e *Engine) TakeOver(ctx context.Context) error {
	return e.DB.Write(ctx, func(tx *store.Tx) error { return tx.LeftoversDue(e.World.Now()) })
}

// Tidy removes a worktree that ends: for good where nothing would be lost, else
// behind a snapshot. Of one that is a snapshot already it lets go. One whose
// session is at work stays for another while. It runs git; it may be called
// again after a crash anywhere in it.
func (e *Engine) Tidy(ctx context.Context, w store.Worktree) error {
	if err := e.World.Err(); err != nil {
		return err
	}
	if w.Snapshot != "" {
		if err := treeOf(w).Forget(ctx); err != nil {
			return err
		}
		return e.DB.Write(ctx, func(tx *store.Tx) error { return tx.DeleteWorktree(w.ID) })
	}
	busy := false
	err := e.DB.Read(ctx, func(tx *store.Tx) (err error) {
		busy, _, err = tx.SessionBusy(w.Session)
		return orNothing(err)
	})
	if err != nil || busy {
		return err
	}
	commit, why, err := e.putAway(ctx, w)
	if err != nil {
		return err
	}
	return e.DB.Write(ctx, func(tx *store.Tx) error {
		if commit == "" {
			return tx.DeleteWorktree(w.ID)
		}
		w.State, w.Snapshot, w.Detail, w.EndedAt = store.WorktreeSnapshot, commit, why, e.World.Now()
		return tx.SetWorktree(w)
	})
}

// putAway removes the folder of a worktree, and returns the commit of its
// snapshot where it needed one, and why.
func (e *Engine) putAway(ctx context.Context, w store.Worktree) (commit, why string, err error) {
	t := treeOf(w)
	if !t.Exists() { // removed by a process that was killed then, or by somebody
		commit, err = t.Clear(ctx, w.Base)
		return commit, w.Detail, err
	}
	spare, why, err := t.Spare(ctx, w.Base)
	if err != nil {
		return "", "", err
	}
	if !spare {
		if commit, err = t.Snapshot(ctx); err != nil {
			return "", "", err
		}
	}
	if err := e.World.Crash(world.WorktreeBeforeRemove); err != nil {
		return "", "", err
	}
	if err := t.Remove(ctx, spare); err != nil {
		return "", "", err
	}
	return commit, why, e.World.Crash(world.WorktreeAfterRemove)
}

// RestoreWorktree brings a snapshot back. It runs git.
func (e *Engine) RestoreWorktree(ctx context.Context, w store.Worktree) (store.Worktree, error) {
	if w.State != store.WorktreeSnapshot {
		return w, core.Errorf("worktree_no_snapshot", "the worktree %s is %s, not a snapshot", w.Name, w.State).WithRemedy("it is at %s", w.Path)
	}
	if err := treeOf(w).Restore(ctx); err != nil {
		return w, worktreeFailed(err)
	}
	w.State, w.Snapshot, w.Detail, w.EndedAt = store.WorktreeLive, "", "restored", 0
	return w, e.DB.Write(ctx, func(tx *store.Tx) error { return tx.SetWorktree(w) })
}

// RemoveWorktree ends a worktree now, as the end of its run does; of a snapshot
// it lets go. It returns what is left, zero where nothing is. It runs git.
func (e *Engine) RemoveWorktree(ctx context.Context, w store.Worktree) (store.Worktree, error) {
	if w.State == store.WorktreeReserved {
		return w, core.Errorf("worktree_busy", "the worktree %s is being made", w.Name).WithRemedy("try again")
	}
	err := e.DB.Write(ctx, func(tx *store.Tx) error {
		if busy, _, err := tx.SessionBusy(w.Session); orNothing(err) != nil || busy {
			if err = orNothing(err); err == nil {
				err = core.Errorf("worktree_busy", "the session of the worktree %s is at work", w.Name).WithRemedy("wait, or stop it with `skein sessions stop`")
			}
			return err
		}
		ending := w
		ending.State, ending.EndedAt = store.WorktreeEnding, e.World.Now().Add(worktreeAgain)
		return tx.SetWorktree(ending)
	})
	if err != nil {
		return w, err
	}
	if err := e.Tidy(ctx, w); err != nil {
		return w, worktreeFailed(err)
	}
	left := store.Worktree{}
	err = e.DB.Read(ctx, func(tx *store.Tx) error {
		found, err := tx.WorktreesByPrefix(w.ID, 1)
		for _, f := range found {
			left = f
		}
		return err
	})
	return left, err
}
