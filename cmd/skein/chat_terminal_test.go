//go:build slow

package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

var picture = flag.Bool("picture", false, "write docs/images/chat.svg anew")

// A person tries the demo in a terminal: gives a task, sees the threads with
// what goes on and what is unread, writes in one, leaves, and comes back.
func TestDemoInATerminal(t *testing.T) {
	if !haveTmux(t) {
		return
	}
	for name, c := range map[string]struct {
		width, height int
		env           []string
	}{
		"80x24":           {80, 24, []string{"COLORTERM=truecolor"}},
		"200x60":          {200, 60, nil},
		"without colours": {100, 30, []string{"NO_COLOR=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			x := openTerminal(t, t.TempDir(), c.width, c.height, c.env...)
			x.line("skein demo")
			x.shows("Skein demo: two agents", "enter send")
			x.line("research cats and dogs")
			x.shows("#1 cats", "#2 dogs", "On it.")
			x.shows("✓ #1 cats", "✓ #2 dogs", "Both are back.")
			x.until("two unread messages", func(s string) bool { return strings.Contains(lineWith(s, "✓ #1 cats"), "2") })
			x.keys("Tab")
			x.shows("▌ ✓ #1 cats", "Cats sleep twelve", "── new ─")
			x.line("when do they sleep?")
			x.shows("Mostly by day, in naps.")
			x.keys("C-g")
			x.shows("copy the last answer")
			x.keys("Escape")
			x.gone("copy the last answer")
			require.NotContains(t, lineWith(x.screen(), "✓ #1 cats"), "2", "read")
			x.keys("C-c")
			x.shows("`skein demo` comes back here.")
			x.restored()

			x.line("skein demo")
			x.shows("Both are back.", "✓ #2 dogs")
			x.keys("Tab")
			x.shows("Dogs have lived")
			x.keys("C-c")
			x.restored()
		})
	}
}

// lineWith is the part of the first line of the screen that has a text, in the
// list.
func lineWith(screen, text string) string {
	for line := range strings.Lines(screen) {
		if side, _, ok := strings.Cut(line, "│"); ok && strings.Contains(side, text) {
			return strings.Replace(side, "#2", "#", 1)
		}
	}
	return ""
}

// The gateway is killed and started again: the chat waits, goes on, sends what
// was written meanwhile once, and shows what it missed.
func TestChatOutlivesItsGateway(t *testing.T) {
	if !haveTmux(t) {
		return
	}
	dir := t.TempDir()
	x := openTerminal(t, dir, 100, 30)
	x.line("skein demo --headless > log 2>&1 & echo $! > pid")
	pid := func() int { return readPID(t, filepath.Join(dir, "pid")) }
	first := pid()
	config := "skein chat --config .skein-demo/skein.json5"
	require.True(t, waitFor(terminalWait, func() bool {
		_, err := os.Stat(filepath.Join(dir, ".skein-demo", "skein.sock"))
		return err == nil
	}))
	x.line("clear; " + config)
	x.shows("enter send")
	x.line("hello")
	x.shows("I am a scripted agent")
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	x.shows("The gateway does not answer.")
	x.line("thanks")
	x.shows("sending")
	again := exec.Command("skein", "demo", "--headless")
	again.Dir = dir
	require.NoError(t, again.Start())
	t.Cleanup(func() {
		_ = again.Process.Signal(os.Interrupt)
		_ = again.Wait()
	})
	x.shows("You are welcome.")
	x.gone("The gateway does not answer.")
	require.Equal(t, 1, strings.Count(x.screen(), "thanks"))
	x.keys("C-c")
	x.shows("The gateway runs on; `skein chat` comes back here.")
	x.restored()
}

func readPID(t *testing.T, path string) (pid int) {
	t.Helper()
	require.True(t, waitFor(terminalWait, func() bool {
		content, err := os.ReadFile(path)
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(content)))
		}
		return err == nil
	}))
	return pid
}

// SIGTERM ends the chat as a person would, and the terminal is as before.
func TestChatIsTerminated(t *testing.T) {
	if !haveTmux(t) {
		return
	}
	dir := t.TempDir()
	x := openTerminal(t, dir, 80, 24)
	x.line(`sh -c 'echo $$ > pid; exec skein demo'; echo over=$?`)
	x.shows("enter send")
	require.NoError(t, syscall.Kill(readPID(t, filepath.Join(dir, "pid")), syscall.SIGTERM))
	x.shows("over=0")
	x.restored()
}

// A terminal that is closed takes its chat with it, on the whole screen and
// line by line.
func TestChatEndsWithItsTerminal(t *testing.T) {
	if !haveTmux(t) {
		return
	}
	for _, flag := range []string{"", " --plain"} {
		dir := t.TempDir()
		x := openTerminal(t, dir, 80, 24)
		x.line(`sh -c 'echo $$ > pid; exec skein demo` + flag + `'`)
		x.shows("Skein demo")
		pid := readPID(t, filepath.Join(dir, "pid"))
		x.tmux("new-window", "sh")
		x.tmux("kill-window", "-t", ":0")
		require.True(t, waitFor(terminalWait, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }), "it is still there")
	}
}

// Where the terminal cannot be filled, or somebody says so, lines are written.
func TestChatInLinesOnATerminal(t *testing.T) {
	if !haveTmux(t) {
		return
	}
	for name, command := range map[string]string{"asked for": "skein demo --plain", "dumb": "TERM=dumb skein demo"} {
		t.Run(name, func(t *testing.T) {
			x := openTerminal(t, t.TempDir(), 100, 40)
			x.line(command)
			x.shows("main>")
			x.line("hello")
			x.shows("[main] skein: Hello!")
			x.keys("C-d")
			x.restored()
		})
	}
}

// The picture of the documentation is a capture of the demo: run this test with
// -picture to make it anew.
func TestPicture(t *testing.T) {
	if !haveTmux(t) {
		return
	}
	x := openTerminal(t, t.TempDir(), 96, 27, "TERM=tmux-256color")
	x.line("skein demo --background dark")
	x.shows("enter send")
	x.line("research cats, dogs and tea")
	x.shows("✓ #3 tea", "All three are back.")
	x.keys("Tab")
	x.shows("Cats sleep twelve")
	x.line("when do they sleep?")
	x.shows("Mostly by day, in naps.")
	x.keys("M-0")
	x.shows("▌  main", "All three are back.")
	capture := x.tmux("capture-pane", "-e", "-p")
	svg := terminalSVG(capture, 96, "A terminal: an agent has sent three sub-agents into threads; the list shows that they are done and what is unread")
	require.Contains(t, svg, ">#2 dogs<")
	require.Contains(t, svg, `font-weight="bold"`)
	if *picture {
		require.NoError(t, os.WriteFile("../../docs/images/chat.svg", []byte(svg), 0o644))
	}
	x.keys("C-c")
	x.restored()
}
