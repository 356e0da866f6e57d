package app

import (
	"errors"
	"net/http"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
)

// WorktreeView is a managed git worktree.
type WorktreeView struct {
	// Id, a beginning of which or the name is enough.
	ID string `json:"id"`
	// Name, which its branch has too.
	Name string `json:"name"`
	// What it is good for: reserved (it is being made), live (its session works in it), ending (it is to be removed) or snapshot (it is gone and can be restored).
	State store.WorktreeState `json:"state"`
	// Branch in the repository.
	Branch string `json:"branch"`
	// Git folder of the repository.
	Repo string `json:"repo"`
	// Folder of the worktree.
	Path string `json:"path"`
	// Key of its session, "" where it is gone.
	Session string `json:"session,omitempty"`
	// Commit that keeps what was in it.
	Snapshot string `json:"snapshot,omitempty"`
	// Why it was kept.
	Detail string `json:"detail,omitempty"`
	// When it was made.
	CreatedAt core.Millis `json:"createdAt"`
	// Until when it can be restored.
	RestorableUntil core.Millis `json:"restorableUntil,omitempty"`
}

// Worktrees lists managed worktrees, the newest first.
func (v Views) Worktrees(tx *store.Tx, limit int) ([]WorktreeView, error) {
	rows, err := tx.Worktrees(limit)
	out := make([]WorktreeView, len(rows))
	for i, w := range rows {
		if out[i], err = worktreeView(tx, w); err != nil {
			return nil, err
		}
	}
	return out, err
}

func worktreeView(tx *store.Tx, w store.Worktree) (WorktreeView, error) {
	view := WorktreeView{
		ID: w.ID, Name: w.Name, State: w.State, Branch: w.Branch, Repo: w.Repo, Path: w.Path, Snapshot: w.Snapshot, Detail: w.Detail, CreatedAt: w.CreatedAt,
	}
	if w.State == store.WorktreeSnapshot {
		view.RestorableUntil = w.EndedAt.Add(subagent.WorktreeKept)
	}
	session, err := tx.SessionByID(w.Session)
	if errors.Is(err, store.ErrNotFound) {
		return view, nil
	}
	view.Session = session.Key
	return view, err
}

// findWorktree finds a worktree by its name, its id, or a beginning of it that
// no other has.
func findWorktree(tx *store.Tx, ref string) (store.Worktree, error) {
	name := func(w store.Worktree) string { return w.ID + " (" + w.Name + ", " + w.Repo + ")" }
	if ref == "" {
		return store.Worktree{}, unknownWorktree(ref)
	}
	named, err := tx.WorktreesNamed(ref, candidates+1)
	if err != nil {
		return store.Worktree{}, err
	}
	if len(named) > 0 {
		return onlyOne("worktree", ref, named, name)
	}
	found, err := tx.WorktreesByPrefix(strings.ToUpper(ref), candidates+1)
	if err != nil {
		return store.Worktree{}, err
	}
	if len(found) == 0 {
		return store.Worktree{}, unknownWorktree(ref)
	}
	return onlyOne("worktree", ref, found, name)
}

func unknownWorktree(ref string) error {
	return core.Errorf("worktree_unknown", "there is no worktree %q", ref).WithRemedy("`skein sessions worktrees` lists them")
}

func (s api) worktrees(r *http.Request) ([]WorktreeView, error) {
	n, err := limit(r)
	if err != nil {
		return nil, err
	}
	return read(s, r, func(v Views, tx *store.Tx) ([]WorktreeView, error) { return v.Worktrees(tx, n) })
}

func (s api) worktree(r *http.Request) (w store.Worktree, err error) {
	err = s.db.Read(r.Context(), func(tx *store.Tx) error {
		w, err = findWorktree(tx, ref(r))
		return err
	})
	return w, err
}

// restoreWorktree brings a worktree back that is kept as a snapshot. It runs git.
func (s api) restoreWorktree(r *http.Request) (WorktreeView, error) {
	w, err := s.worktree(r)
	if err != nil {
		return WorktreeView{}, err
	}
	if w, err = s.live.engine.RestoreWorktree(r.Context(), w); err != nil {
		return WorktreeView{}, err
	}
	return read(s, r, func(_ Views, tx *store.Tx) (WorktreeView, error) { return worktreeView(tx, w) })
}

// removeWorktree removes a worktree, or lets go of its snapshot. It runs git. The
// answer has the state snapshot where that keeps what was in it.
func (s api) removeWorktree(r *http.Request) (WorktreeView, error) {
	w, err := s.worktree(r)
	if err != nil {
		return WorktreeView{}, err
	}
	left, err := s.live.engine.RemoveWorktree(r.Context(), w)
	if err != nil {
		return WorktreeView{}, err
	}
	if left.ID == "" {
		return WorktreeView{ID: w.ID, Name: w.Name, State: "removed", Branch: w.Branch, Repo: w.Repo, Path: w.Path, CreatedAt: w.CreatedAt}, nil
	}
	return read(s, r, func(_ Views, tx *store.Tx) (WorktreeView, error) { return worktreeView(tx, left) })
}
