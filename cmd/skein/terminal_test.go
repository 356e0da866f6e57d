//go:build slow

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// terminal is a real one: a shell in tmux.
type terminal struct {
	t      *testing.T
	server string
}

// terminalWait is how long a terminal may take to show something.
const terminalWait = 30 * time.Second

// haveTmux tells whether there is tmux. Where checks are complete (CI is set)
// it has to be.
func haveTmux(t *testing.T) bool {
	t.Helper()
	_, err := exec.LookPath("tmux")
	if os.Getenv("CI") != "" {
		require.NoError(t, err, "the CI installs tmux")
	}
	if err != nil {
		t.Log("tmux is not installed: nothing was tried in a real terminal")
	}
	return err == nil
}

// openTerminal starts a shell in dir, with further variables.
func openTerminal(t *testing.T, dir string, width, height int, env ...string) *terminal {
	t.Helper()
	x := &terminal{t: t, server: fmt.Sprintf("skein-test-%d-%d", os.Getpid(), rand.Uint32())}
	args := []string{"new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "-c", dir}
	for _, e := range append([]string{"TZ=UTC", "OPENAI_API_KEY=", "ANTHROPIC_API_KEY=", "NO_COLOR="}, env...) {
		args = append(args, "-e", e)
	}
	x.tmux(append(args, "sh")...)
	t.Cleanup(func() { x.tmux("kill-server") })
	x.line("PS1='ready> '; clear")
	x.until("the prompt", func(s string) bool { return strings.TrimSpace(s) == "ready>" })
	return x
}

// tmux runs a command of the server and returns what it prints.
func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-L", x.server, "-f", os.DevNull}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(x.t, cmd.Run(), "tmux %v: %s", args, &errs)
	return out.String()
}

// types writes text, and keys presses keys by tmux's names.
func (x *terminal) types(text string) { x.t.Helper(); x.tmux("send-keys", "-l", text) }
func (x *terminal) keys(names ...string) {
	x.t.Helper()
	x.tmux(append([]string{"send-keys"}, names...)...)
}

// line writes a line.
func (x *terminal) line(text string) {
	x.t.Helper()
	x.types(text)
	x.keys("Enter")
}

func (x *terminal) screen() string { return x.tmux("capture-pane", "-p") }

// shows waits until all texts are on the screen.
func (x *terminal) shows(texts ...string) {
	x.t.Helper()
	x.until(fmt.Sprintf("%q", texts), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// gone waits until a text is not on the screen any more.
func (x *terminal) gone(text string) {
	x.t.Helper()
	x.until("no "+text, func(screen string) bool { return !strings.Contains(screen, text) })
}

func (x *terminal) until(what string, ok func(screen string) bool) {
	x.t.Helper()
	last := ""
	holds := func() bool { last = x.screen(); return ok(last) }
	if !waitFor(terminalWait, holds) {
		x.t.Fatalf("the terminal does not show %s:\n%s", what, last)
	}
}

// waitFor asks until ok holds or the time is over.
func waitFor(limit time.Duration, ok func() bool) bool {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		if ok() {
			return true
		}
		<-time.After(20 * time.Millisecond)
	}
	return false
}

// restored holds the terminal to what a shell expects: no second screen, no
// mouse, a cursor, and typed text that is echoed.
func (x *terminal) restored() {
	x.t.Helper()
	state := func() string {
		return strings.TrimSpace(x.tmux("display-message", "-p", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}"))
	}
	require.True(x.t, waitFor(terminalWait, func() bool { return state() == "0 0 1" }), state())
	// What is typed before the shell asks is lost with what the program did not read.
	x.until("the prompt", func(s string) bool { return strings.HasSuffix(strings.TrimSpace(s), "ready>") })
	x.line("echo $((6*7)) sane")
	x.shows("echo $((6*7)) sane", "42 sane")
}
