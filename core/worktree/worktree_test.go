package worktree_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/worktree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shell runs a script in a folder as somebody with a name.
func shell(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// repository makes one with a remote, and returns a folder in it.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	shell(t, dir, `
git init -q --bare origin.git
git init -q -b trunk repo && cd repo
mkdir src && echo one > src/a && echo ignored > .gitignore
git add . && git commit -qm one
git remote add origin "$PWD/../origin.git" && git push -q origin trunk && git remote set-head origin trunk
printf '#!/bin/sh\ntouch %s/hooked\n' "$PWD/.." > .git/hooks/post-checkout && chmod +x .git/hooks/post-checkout`)
	return filepath.Join(dir, "repo")
}

func tree(t *testing.T, dir, name string) (worktree.Tree, string) {
	t.Helper()
	r, err := worktree.Find(t.Context(), dir)
	require.NoError(t, err)
	base, stale, err := r.Base(t.Context(), "")
	require.NoError(t, err)
	require.False(t, stale)
	w := worktree.Tree{Common: r.Common, Path: filepath.Join(t.TempDir(), r.Print, name), Name: name, ID: "01" + name}
	require.NoError(t, w.Add(t.Context(), base))
	return w, base
}

func spare(t *testing.T, w worktree.Tree, base string) string {
	t.Helper()
	ok, why, err := w.Spare(t.Context(), base)
	require.NoError(t, err)
	require.Equal(t, ok, why == "")
	return why
}

func TestAWorktreeIsMadeAndIsSpareUntilItHasWork(t *testing.T) {
	t.Parallel()
	repo := repository(t)
	w, base := tree(t, filepath.Join(repo, "src"), "fix")
	require.FileExists(t, filepath.Join(w.Path, "src", "a"))
	require.NoFileExists(t, filepath.Join(repo, "..", "hooked"), "hooks of the repository are not run")
	r, err := worktree.Find(t.Context(), filepath.Join(repo, "src"))
	require.NoError(t, err)
	require.Equal(t, "src/", r.Rel)
	require.Len(t, r.Print, 16)
	taken, err := r.Taken(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"fix": true}, taken)
	within, err := worktree.Find(t.Context(), w.Path)
	require.NoError(t, err)
	require.Equal(t, r.Print, within.Print, "a worktree is of the same repository")

	require.Empty(t, spare(t, w, base))
	shell(t, w.Path, "echo x > ignored")
	require.Empty(t, spare(t, w, base), "what is ignored is not work")
	shell(t, w.Path, "echo two > new")
	require.Equal(t, "1 files were not committed", spare(t, w, base))
	shell(t, w.Path, "git add . && git commit -qm two")
	require.Equal(t, "1 commits were not pushed", spare(t, w, base))
	shell(t, w.Path, "git push -q origin HEAD")
	require.Empty(t, spare(t, w, base))
	require.NoError(t, w.Remove(t.Context(), true))
	require.NoDirExists(t, w.Path)
	require.NoError(t, w.Remove(t.Context(), true), "once more is no error")
	taken, err = r.Taken(t.Context())
	require.NoError(t, err)
	require.Empty(t, taken)
}

// What was not committed, was staged, deleted or committed and not pushed comes
// back as it was, with the branch or without.
func TestASnapshotRestoresEverything(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"true", "git branch -qD skein/fix"} {
		repo := repository(t)
		w, _ := tree(t, repo, "fix")
		shell(t, w.Path, `echo two > b && git add b && git commit -qm two
echo three >> src/a; echo four > staged; git add staged; echo five > untracked; echo six > ignored; rm b; mkdir deep; echo s > "deep/with space"`)
		before := state(t, w.Path)
		commit, err := w.Snapshot(t.Context())
		require.NoError(t, err)
		require.Equal(t, before, state(t, w.Path), "the worktree is as before")
		require.NoError(t, w.Remove(t.Context(), false))
		require.NoDirExists(t, w.Path)
		shell(t, repo, script)
		kept, err := w.Kept(t.Context())
		require.NoError(t, err)
		require.Equal(t, commit, kept)
		require.NoError(t, w.Restore(t.Context()))
		after := state(t, w.Path)
		require.Equal(t, " D b\n M src/a\n?? \"deep/with space\"\n?? staged\n?? untracked\n", after)
		require.Equal(t, "worktree_exists", core.ErrorCode(w.Restore(t.Context())))
		require.NoError(t, w.Forget(t.Context()))
		require.NoError(t, w.Forget(t.Context()))
		require.NoError(t, w.Remove(t.Context(), true))
		require.Equal(t, "worktree_no_snapshot", core.ErrorCode(w.Restore(t.Context())))
	}
}

func state(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("git", "status", "--porcelain", "-uall")
	cmd.Dir = dir
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

func TestBases(t *testing.T) {
	t.Parallel()
	repo := repository(t)
	r, err := worktree.Find(t.Context(), repo)
	require.NoError(t, err)
	for _, ref := range []string{"nothing", "--all", "-x", "HEAD..HEAD", "src"} {
		_, _, err := r.Base(t.Context(), ref)
		require.Equal(t, "worktree_ref_unknown", core.ErrorCode(err), ref)
	}
	head, _, err := r.Base(t.Context(), "trunk")
	require.NoError(t, err)
	shell(t, repo, "echo x > local && git add . && git commit -qm local")
	fresh, stale, err := r.Base(t.Context(), "")
	require.NoError(t, err)
	require.False(t, stale)
	require.Equal(t, head, fresh, "the default branch of the remote, not what is local")
	shell(t, repo, "rm -rf ../origin.git")
	fresh, stale, err = r.Base(t.Context(), "")
	require.NoError(t, err)
	require.True(t, stale)
	require.Equal(t, head, fresh)

	empty := t.TempDir()
	_, err = worktree.Find(t.Context(), empty)
	require.Equal(t, "worktree_no_repository", core.ErrorCode(err))
	shell(t, empty, "git init -q")
	r, err = worktree.Find(t.Context(), empty)
	require.NoError(t, err)
	_, _, err = r.Base(t.Context(), "")
	require.Equal(t, "worktree_ref_unknown", core.ErrorCode(err))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = worktree.Find(ctx, empty)
	require.ErrorIs(t, err, context.Canceled)
}

// A worktree that was half made, or whose folder somebody removed, can be
// removed and made again.
func TestHalfAWorktreeIsRemoved(t *testing.T) {
	t.Parallel()
	repo := repository(t)
	w, base := tree(t, repo, "fix")
	require.NoError(t, os.RemoveAll(w.Path))
	require.NoError(t, w.Remove(t.Context(), true))
	require.NoError(t, os.MkdirAll(filepath.Join(w.Path, "src"), 0o700))
	require.NoError(t, w.Remove(t.Context(), true))
	require.NoError(t, w.Add(t.Context(), base))
	require.NoError(t, os.RemoveAll(repo))
	require.NoError(t, w.Remove(t.Context(), true), "the repository is gone")
}

// What a process that was killed in the middle left is cleared: a folder that
// was on its way out, and the branch unless it has commits of its own.
func TestTheRestOfAWorktreeIsCleared(t *testing.T) {
	t.Parallel()
	for script, branch := range map[string]string{"git worktree lock .": "", "echo two > b && git add b && git commit -qm two": "refs/heads/skein/fix"} {
		repo := repository(t)
		w, base := tree(t, repo, "fix")
		shell(t, w.Path, script)
		shell(t, filepath.Dir(w.Path), "mv fix .fix.gone; rm .fix.gone/src/a")
		commit, err := w.Clear(t.Context(), base)
		require.NoError(t, err)
		require.Empty(t, commit)
		left, err := os.ReadDir(filepath.Dir(w.Path))
		require.NoError(t, err)
		require.Empty(t, left)
		out, err := exec.Command("git", "-C", repo, "for-each-ref", "--format=%(refname)", "refs/heads/skein").Output()
		require.NoError(t, err)
		require.Equal(t, branch, strings.TrimSpace(string(out)))
		out, err = exec.Command("git", "-C", repo, "worktree", "list").Output()
		require.NoError(t, err)
		require.Len(t, strings.Split(strings.TrimSpace(string(out)), "\n"), 1)
	}
}

// Where another process removes the worktree while this one looks at it, the
// half that is seen replaces no snapshot.
func TestAHalfIsNoSnapshot(t *testing.T) {
	t.Parallel()
	repo := repository(t)
	w, _ := tree(t, repo, "fix")
	shell(t, w.Path, "echo two > b")
	kept, err := w.Snapshot(t.Context())
	require.NoError(t, err)
	away := w.Path + ".away"
	shell(t, w.Path, "git config filter.away.clean 'mv "+w.Path+" "+away+"; cat'; echo '* filter=away' > .gitattributes")
	_, err = w.Snapshot(t.Context())
	require.Error(t, err)
	require.DirExists(t, away)
	now, err := w.Kept(t.Context())
	require.NoError(t, err)
	require.Equal(t, kept, now)
}

func TestNamesOfTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"Fix the login!": "fix-the-login", "ümläut": "ml-ut", "--": "", "a/../b": "a-b"} {
		require.Equal(t, want, worktree.Named(text))
	}
	rapid.Check(t, func(t *rapid.T) {
		name := worktree.Named(rapid.String().Draw(t, "text"))
		require.True(t, name == "" || worktree.NameForm.MatchString(name), name)
	})
}
