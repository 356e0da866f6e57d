package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/skein-bot/skein/core"
)

// BranchPrefix begins the names of all branches of worktrees.
const BranchPrefix = "skein/"

// snapshots is where the commits are pinned that keep what was removed.
const snapshots = "refs/skein/snapshots/"

// NameForm is what a worktree may be called.
var NameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// Repo is a repository.
type Repo struct {
	Common string // its git folder, which all of its worktrees share, without symlinks
	// Print is 16 hexadecimal digits that stand for it: of Common and of the URL
	// of origin.
	Print string
	// Rel is the folder that was asked about, from the top of the repository.
	Rel    string
	origin bool
}

// Find returns the repository that a folder is in.
func Find(ctx context.Context, dir string) (Repo, error) {
	common, err := git(ctx, dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		var failed *gitError
		if errors.As(err, &failed) {
			return Repo{}, core.Errorf("worktree_no_repository", "%s is in no git repository", dir).
				WithRemedy("leave worktree out, or name a folder of a repository with cwd")
		}
		return Repo{}, err
	}
	r := Repo{Common: common}
	if resolved, err := filepath.EvalSymlinks(common); err == nil {
		r.Common = resolved
	}
	if r.Rel, err = git(ctx, dir, "rev-parse", "--show-prefix"); err != nil {
		return Repo{}, err
	}
	url, err := git(ctx, dir, "config", "--get", "remote.origin.url")
	r.origin = err == nil && url != ""
	sum := sha256.Sum256([]byte(r.Common + "\n" + url))
	r.Print = hex.EncodeToString(sum[:8])
	return r, context.Cause(ctx)
}

// Taken returns the names that branches of the repository have already.
func (r Repo) Taken(ctx context.Context) (map[string]bool, error) {
	out, err := git(ctx, r.Common, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/"+BranchPrefix)
	taken := make(map[string]bool)
	for _, name := range strings.Fields(out) {
		taken[name] = true
	}
	return taken, err
}

// Base returns the commit where a branch begins: of ref, which may be "", or of
// the default branch of origin as it is now; where that cannot be fetched, as it
// was, or the repository's own HEAD. stale is set where it was not fetched.
func (r Repo) Base(ctx context.Context, ref string) (commit string, stale bool, err error) {
	if ref != "" {
		commit, err = git(ctx, r.Common, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
		var failed *gitError
		if errors.As(err, &failed) {
			return "", false, core.Errorf("worktree_ref_unknown", "worktreeBaseRef %q is no commit of the repository", core.Clip(ref, 80)).
				WithRemedy("name a branch, a tag or a commit, or leave it out")
		}
		return commit, false, err
	}
	if r.origin {
		_, failed := git(ctx, r.Common, "fetch", "--quiet", "origin")
		stale = failed != nil
		if cause := context.Cause(ctx); cause != nil {
			return "", false, cause
		}
		if commit, err = git(ctx, r.Common, "rev-parse", "--verify", "--quiet", "refs/remotes/origin/HEAD^{commit}"); err == nil {
			return commit, stale, nil
		}
	}
	commit, err = git(ctx, r.Common, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	var failed *gitError
	if errors.As(err, &failed) {
		return "", false, core.Errorf("worktree_ref_unknown", "the repository has no commit yet").WithRemedy("make one first, or leave worktree out")
	}
	return commit, stale, err
}

// Tree is one worktree.
type Tree struct {
	Common string // of its repository
	Path   string
	Name   string // its branch is BranchPrefix + Name
	ID     string // names its snapshot
}

func (t Tree) branch() string { return BranchPrefix + t.Name }

// Add makes the worktree on a new branch that begins at a commit.
func (t Tree) Add(ctx context.Context, commit string) error {
	if err := os.MkdirAll(filepath.Dir(t.Path), 0o700); err != nil {
		return err
	}
	_, err := git(ctx, t.Common, "worktree", "add", "--quiet", "--no-track", "-b", t.branch(), t.Path, commit)
	return err
}

// Exists reports whether the folder is there.
func (t Tree) Exists() bool {
	_, err := os.Lstat(t.Path)
	return err == nil
}

// Spare reports whether nothing would be lost without the worktree: every file
// is committed or ignored, and every commit since base is at a remote. why says
// what is not.
func (t Tree) Spare(ctx context.Context, base string) (spare bool, why string, err error) {
	changed, err := git(ctx, t.Path, "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return false, "", err
	}
	n, err := t.unpushed(ctx, t.Path, "HEAD", base)
	switch {
	case err != nil:
		return false, "", err
	case changed != "":
		return false, fmt.Sprintf("%d files were not committed", len(strings.Split(changed, "\n"))), nil
	case n != "0":
		return false, n + " commits were not pushed", nil
	}
	return true, "", nil
}

// Snapshot makes a commit of everything in the worktree that is not ignored,
// behind its HEAD, and pins it. It changes nothing in the worktree.
func (t Tree) Snapshot(ctx context.Context) (commit string, err error) {
	folder, err := git(ctx, t.Path, "rev-parse", "--path-format=absolute", "--git-dir")
	if err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp(folder, "skein-snapshot-") // its own: a process that was killed leaves its lock
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // it goes with the worktree
	env := []string{
		"GIT_INDEX_FILE=" + filepath.Join(scratch, "index"), "GIT_AUTHOR_NAME=skein", "GIT_AUTHOR_EMAIL=skein@localhost", "GIT_COMMITTER_NAME=skein",
		"GIT_COMMITTER_EMAIL=skein@localhost",
	}
	if _, err := gitWith(ctx, t.Path, env, "read-tree", "HEAD"); err != nil {
		return "", err
	}
	if _, err := gitWith(ctx, t.Path, env, "add", "--all"); err != nil {
		return "", err
	}
	tree, err := gitWith(ctx, t.Path, env, "write-tree")
	if err != nil {
		return "", err
	}
	if commit, err = gitWith(ctx, t.Path, env, "commit-tree", tree, "-p", "HEAD", "-m", "Snapshot of the worktree "+t.Name); err != nil {
		return "", err
	}
	_, err = git(ctx, t.Common, "update-ref", snapshots+t.ID, commit)
	return commit, err
}

// Kept returns the commit of the snapshot, "" where there is none.
func (t Tree) Kept(ctx context.Context) (string, error) {
	return git(ctx, t.Common, "for-each-ref", "--format=%(objectname)", snapshots+t.ID)
}

// Remove removes the folder, whatever is in it, and the branch too where it is
// spare. What is gone already is no error. At its place the worktree is whole or
// gone at any moment: after a kill in here no half of it is taken for its state,
// and where another process looks at it meanwhile, the next git of Spare or
// Snapshot does not find the folder and fails.
func (t Tree) Remove(ctx context.Context, spare bool) error {
	gone := filepath.Join(filepath.Dir(t.Path), "."+t.Name+".gone")
	if err := os.RemoveAll(gone); err != nil {
		return err
	}
	if err := os.Rename(t.Path, gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.RemoveAll(gone); err != nil {
		return err
	}
	if _, err := os.Stat(t.Common); errors.Is(err, fs.ErrNotExist) {
		return nil // the repository is gone
	}
	if _, err := git(ctx, t.Common, "worktree", "remove", "--force", "--force", t.Path); err != nil { // it may be locked, or half made
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
	}
	if _, err := git(ctx, t.Common, "worktree", "prune"); err != nil {
		return err
	}
	if !spare {
		return nil
	}
	has, err := t.hasBranch(ctx)
	if err != nil || !has {
		return err
	}
	_, err = git(ctx, t.Common, "branch", "--quiet", "-D", "--", t.branch())
	return err
}

// Clear removes what is left of a worktree whose folder is gone, because a
// process was killed or somebody removed it, and returns the commit of its
// snapshot, "" where there is none. A branch with commits since base that no
// remote has stays.
func (t Tree) Clear(ctx context.Context, base string) (commit string, err error) {
	if commit, err = t.Kept(ctx); err != nil {
		return "", err
	}
	spare := false
	if has, err := t.hasBranch(ctx); err != nil {
		return "", err
	} else if has && commit == "" {
		n, err := t.unpushed(ctx, t.Common, "refs/heads/"+t.branch(), base)
		if err != nil {
			return "", err
		}
		spare = n == "0"
	}
	return commit, t.Remove(ctx, spare)
}

// unpushed counts the commits of a ref since base that no remote has.
func (t Tree) unpushed(ctx context.Context, dir, ref, base string) (string, error) {
	args := []string{"rev-list", "--count", ref, "--not", "--remotes"}
	if base != "" {
		args = append(args, base)
	}
	return git(ctx, dir, args...)
}

func (t Tree) hasBranch(ctx context.Context) (bool, error) {
	out, err := git(ctx, t.Common, "for-each-ref", "--format=x", "refs/heads/"+t.branch())
	return out != "", err
}

// Restore makes the worktree again as it was when its snapshot was made: what
// was not committed is not committed.
func (t Tree) Restore(ctx context.Context) error {
	commit, err := t.Kept(ctx)
	if err != nil {
		return err
	}
	if commit == "" {
		return core.Errorf("worktree_no_snapshot", "the repository has no snapshot of the worktree %s", t.Name).WithRemedy("its branch %s may be there", t.branch())
	}
	if t.Exists() {
		return core.Errorf("worktree_exists", "there is something at %s already", t.Path).WithRemedy("move it away first")
	}
	if _, err := git(ctx, t.Common, "worktree", "prune"); err != nil {
		return err
	}
	has, err := t.hasBranch(ctx)
	if err != nil {
		return err
	}
	args := []string{"worktree", "add", "--quiet", t.Path, t.branch()}
	if !has {
		args = []string{"worktree", "add", "--quiet", "--no-track", "-b", t.branch(), t.Path, commit + "^"}
	}
	if _, err := git(ctx, t.Common, args...); err != nil {
		return err
	}
	if _, err := git(ctx, t.Path, "read-tree", "-u", "--reset", commit); err != nil {
		return err
	}
	_, err = git(ctx, t.Path, "reset", "--quiet")
	return err
}

// Forget lets go of the snapshot.
func (t Tree) Forget(ctx context.Context) error {
	commit, err := t.Kept(ctx)
	if err != nil || commit == "" {
		return err
	}
	_, err = git(ctx, t.Common, "update-ref", "-d", snapshots+t.ID)
	return err
}

// Named makes a name of a text, "" where nothing is left of it.
func Named(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == maxNamed {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}

// maxNamed leaves room for a number behind a name that was made of a text.
const maxNamed = 48
