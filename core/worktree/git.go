package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
)

// waitDelay is how long git may take to end after its context did.
const waitDelay = 5 * time.Second

// git runs a git command in a folder and returns what it printed, trimmed.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	return gitWith(ctx, dir, nil, args...)
}

func gitWith(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	all := append([]string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-C", dir}, args...)
	cmd := exec.CommandContext(ctx, "git", all...)
	cmd.WaitDelay = waitDelay
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "LC_ALL=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.Env = append(cmd.Env, env...)
	var out, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &trouble
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return "", core.Errorf("worktree_no_git", "git is not installed").WithRemedy("an operator installs git; or leave worktree out")
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return "", cause
		}
		return "", &gitError{args: args, err: err, says: strings.TrimSpace(trouble.String())}
	}
	return strings.TrimSpace(out.String()), nil
}

// gitError is a git command that failed.
type gitError struct {
	args []string
	err  error
	says string
}

func (e *gitError) Error() string {
	says, _, _ := strings.Cut(e.says, "\n")
	if says == "" {
		says = e.err.Error()
	}
	return fmt.Sprintf("git %s: %s", e.args[0], says)
}

func (e *gitError) Unwrap() error { return e.err }
