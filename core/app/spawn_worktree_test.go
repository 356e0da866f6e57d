package app_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// shell runs a script in a folder.
func shell(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// treeScene is a scene whose agent works in a repository; "go" spawns a visible
// session with a worktree, which works for a minute. It is not started.
func treeScene(t *testing.T, args string) (s *scene, repo string) {
	t.Helper()
	s = prepareScene(t, "", "")
	dir, err := filepath.EvalSymlinks(s.dir)
	require.NoError(t, err)
	shell(t, dir, `git init -q --bare origin.git; git init -q -b trunk repo; cd repo; mkdir src; echo one > src/a; git add .; git commit -qm one
git remote add origin "$PWD/../origin.git"; git push -q origin trunk; git remote set-head origin trunk`)
	repo = filepath.Join(dir, "repo")
	s.configure(fmt.Sprintf(`{ agents: { entries: { main: { workspace: %q } } } }`, repo))
	s.write("model.json5", `{rules: [`+
		spawnRule("(\\\\w+)", `{task: "work", label: "Fix the $1", visible: true, worktree: true`+args+`}`)+
		`{when: {task: "/Fix/"}, delay: "1m", say: "worked"},`+sayResult+`]}`)
	return s, repo
}

// trees are the worktrees as `skein sessions worktrees` has them.
func (s *scene) trees() (out []app.WorktreeView) {
	s.Helper()
	s.read(func(tx *store.Tx) (err error) {
		out, err = app.Views{Config: s.app.Config(), Now: s.world.Now()}.Worktrees(tx, 100)
		return err
	})
	return out
}

// requireNoTree looks for anything of a worktree.
func (s *scene) requireNoTree(repo string) {
	s.Helper()
	require.Empty(s, s.trees())
	require.Empty(s, shell(s.T, repo, "git for-each-ref refs/heads/skein refs/skein"))
	require.Equal(s, "1", shell(s.T, repo, "git worktree list | wc -l | tr -d ' '"))
	found, err := filepath.Glob(filepath.Join(s.dir, "worktrees", "*", "*"))
	require.NoError(s, err)
	require.Empty(s, found)
}

// TestWorktreeOfACleanSession: the session works in a worktree of its own, which
// is gone with its branch when nothing is left to keep.
func TestWorktreeOfACleanSession(t *testing.T) {
	t.Parallel()
	s, repo := treeScene(t, `, cwd: "src"`)
	s.start()
	s.say("team", "go login")
	tree := s.result("team")["worktree"].(map[string]any)
	require.Equal(t, "skein/fix-the-login", tree["branch"])
	path := fmt.Sprint(tree["path"])
	require.Regexp(t, `/worktrees/[0-9a-f]{16}/fix-the-login$`, path)
	require.FileExists(t, filepath.Join(path, "src", "a"))
	require.Equal(t, filepath.Join(path, "src"), s.run("Fix the login").Spec.Cwd)
	require.Contains(t, s.last("Fix the login").System, "on the branch skein/fix-the-login")
	require.Equal(t, store.WorktreeLive, s.trees()[0].State)
	s.pass(2 * time.Minute)
	require.Equal(t, core.RunOK, s.run("Fix the login").Status)
	s.requireNoTree(repo)
}

// TestWorktreeWithWorkIsKept: what was not pushed is a snapshot when the run
// ends; it can be restored for 30 days, and is gone then.
func TestWorktreeWithWorkIsKept(t *testing.T) {
	t.Parallel()
	s, repo := treeScene(t, "")
	s.start()
	s.say("team", "go login")
	path := s.trees()[0].Path
	shell(t, path, "echo two > b; git add b; git commit -qm two; echo three > c")
	s.pass(2 * time.Minute)
	kept := s.trees()[0]
	require.Equal(t, store.WorktreeSnapshot, kept.State)
	require.Equal(t, "1 files were not committed", kept.Detail)
	require.Equal(t, 30*24*time.Hour, kept.RestorableUntil.Sub(s.world.Now()).Round(time.Hour))
	require.NoDirExists(t, path)

	post := func(action string) (view app.WorktreeView, code string) {
		if status := call(t, s.app.API(), "POST", "/worktrees/fix-the-login/"+action, "", &view); status != 200 {
			_, code = refused(t, s.app.API(), "POST", "/worktrees/fix-the-login/"+action, "")
		}
		return view, code
	}
	view, code := post("restore")
	require.Empty(t, code)
	require.Equal(t, store.WorktreeLive, view.State)
	require.Equal(t, "three", shell(t, path, "cat c"))
	require.Equal(t, "?? c", shell(t, path, "git status --porcelain"))
	_, code = post("restore")
	require.Equal(t, "worktree_no_snapshot", code)
	view, code = post("remove")
	require.Empty(t, code)
	require.Equal(t, store.WorktreeSnapshot, view.State)
	require.NoDirExists(t, path)

	s.pass(29 * 24 * time.Hour)
	require.Len(t, s.trees(), 1)
	s.pass(2 * 24 * time.Hour)
	require.Empty(t, s.trees())
	require.Empty(t, shell(t, repo, "git for-each-ref refs/skein"))
	require.Contains(t, shell(t, repo, "git log --format=%s skein/fix-the-login"), "two", "the commits of the branch stay")
	_, code = post("restore")
	require.Equal(t, "worktree_unknown", code)
}

// TestWorktreeNames: names that were made of a label get a number, a name that
// was given is refused.
func TestWorktreeNames(t *testing.T) {
	t.Parallel()
	s, repo := treeScene(t, "")
	shell(t, repo, "git branch skein/fix-the-login")
	s.start()
	s.say("team", "go login")
	s.say("team", "go login")
	require.Equal(t, "fix-the-login-3", s.trees()[0].Name)
	require.Equal(t, "fix-the-login-2", s.trees()[1].Name)

	for args, code := range map[string]string{
		`, worktreeName: "mine"`: "worktree_taken", `, worktreeBaseRef: "nothing"`: "worktree_ref_unknown", `, cwd: "/"`: "cwd_outside",
	} {
		s, repo := treeScene(t, args)
		shell(t, repo, "git branch other")
		if code == "worktree_taken" {
			shell(t, repo, "git branch skein/mine")
		}
		s.start()
		s.say("team", "go login")
		require.Equal(t, code, s.result("team")["code"])
		require.Empty(t, s.trees())
		s.requireNothingLeft(repo)
	}
	s, _ = treeScene(t, "")
	s.configure("")
	s.start()
	s.say("team", "go login")
	require.Equal(t, "worktree_no_repository", s.result("team")["code"])
}

// TestWorktreeSurvivesKills: after a kill at any point of a spawn with a worktree
// it goes on, and there is one worktree; so it is where the run ends.
func TestWorktreeSurvivesKills(t *testing.T) {
	t.Parallel()
	for _, point := range []string{world.ToolStarted, world.SpawnAfterReserve, world.SpawnAfterWorktree, world.SpawnAfterCommit} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s, repo := treeScene(t, "")
			s.start()
			s.world.Arm(point, 1, world.TrapCut, nil)
			s.say("team", "go login")
			s.crash(time.Second)
			require.Equal(t, "accepted", s.result("team")["status"])
			require.Len(t, s.trees(), 1)
			require.Equal(t, "fix-the-login", s.trees()[0].Name)
			require.Equal(t, "skein/fix-the-login", shell(t, s.trees()[0].Path, "git branch --show-current"))
			s.pass(2 * time.Minute)
			s.requireNoTree(repo)
		})
	}
	for _, point := range []string{world.TimerFired, world.WorktreeBeforeRemove, world.WorktreeAfterRemove} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s, repo := treeScene(t, "")
			s.start()
			s.say("team", "go login")
			shell(t, s.trees()[0].Path, "echo two > b")
			fired := false
			s.world.Arm(point, 1, world.TrapCut, func(string) { fired = true })
			s.pass(time.Minute)
			require.True(t, fired)
			s.crash(time.Second) // and not the while after which a try that failed is repeated
			require.Len(t, s.trees(), 1)
			require.Equal(t, store.WorktreeSnapshot, s.trees()[0].State)
			require.Equal(t, "two", shell(t, repo, "git show refs/skein/snapshots/"+s.trees()[0].ID+":b"))
			require.NoDirExists(t, s.trees()[0].Path)
		})
	}
}

// TestWorktreeOfACleanSessionSurvivesKills: the process that starts after a kill
// removes it at once, with its branch.
func TestWorktreeOfACleanSessionSurvivesKills(t *testing.T) {
	t.Parallel()
	for _, point := range []string{world.TimerFired, world.WorktreeBeforeRemove, world.WorktreeAfterRemove} {
		s, repo := treeScene(t, "")
		s.start()
		s.say("team", "go login")
		path := s.trees()[0].Path
		fired := false
		s.world.Arm(point, 1, world.TrapCut, func(string) { fired = true })
		s.pass(time.Minute)
		require.True(t, fired, point)
		if point == world.WorktreeAfterRemove { // as where the kill is inside the removal
			shell(t, repo, "git branch skein/fix-the-login; mkdir "+filepath.Join(filepath.Dir(path), ".fix-the-login.gone"))
		}
		s.crash(time.Second)
		s.requireNoTree(repo)
	}
}

// TestWorktreeOfATurnThatNeverEnds: where every try brings the process down, the
// spawn is undone, with its worktree and its branch.
func TestWorktreeOfATurnThatNeverEnds(t *testing.T) {
	t.Parallel()
	s, repo := treeScene(t, "")
	require.Greater(t, s.killAlways(world.SpawnAfterWorktree, func() { s.say("team", "go login") }), 1)
	s.requireNothingLeft(repo)
	s.requireNoTree(repo)
}
