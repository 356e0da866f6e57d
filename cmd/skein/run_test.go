package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/console"
)

// slowConfig is a gateway whose agent takes its time.
const slowConfig = `{
  models: { providers: { m: { type: "scripted", file: "model.json5" } } }, agents: { defaults: { model: "m/m" } },
  channels: { console: {} }, store: { url: "sqlite:skein.db" },
}`

const slowModel = `{ rules: [{ when: {}, say: "at last", delay: "1000h" }] }`

// process is `skein run` in a process of its own.
type process struct {
	*exec.Cmd
	dir string
	mu  sync.Mutex
	log bytes.Buffer
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func (p *process) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// startRun starts a gateway and returns when it has closed its descriptor.
func startRun(t *testing.T) *process {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"skein.json5": slowConfig, "model.json5": slowModel} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	ready, tell, err := os.Pipe()
	require.NoError(t, err)
	p := &process{Cmd: exec.CommandContext(t.Context(), "skein", "run", "--ready-fd", "3"), dir: dir}
	p.Dir, p.Stderr, p.ExtraFiles = dir, p, []*os.File{tell}
	require.NoError(t, p.Start())
	require.NoError(t, tell.Close())
	told, err := io.ReadAll(ready)
	require.NoError(t, err)
	require.Empty(t, told, "the descriptor is closed, nothing is written to it")
	require.NoError(t, ready.Close())
	return p
}

func TestRunIsReadyAndStops(t *testing.T) {
	p := startRun(t)
	line := regexp.MustCompile(`msg=ready elapsed_ms=(\d+) accounts=1`)
	require.Eventually(t, func() bool { return line.MatchString(p.logged()) }, scriptLimit, time.Millisecond)
	found := line.FindStringSubmatch(p.logged())
	elapsed, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	require.Less(t, elapsed, 5000)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Wait(), "a graceful stop exits 0")
	require.Contains(t, p.logged(), "msg=stopped")
	require.NoFileExists(t, filepath.Join(p.dir, "skein.sock"))
}

func TestRunStopsAtOnceOnASecondSignal(t *testing.T) {
	p := startRun(t)
	people := console.NewPeopleClient(socketURL+consolePath, "", socketClient(p.dir))
	_, err := people.Post(t.Context(), console.Post{By: console.User{ID: console.Local}, Conversation: console.Main, Text: "hello"})
	require.NoError(t, err)
	feed := console.FeedRequest{Conversation: console.Main, Wait: true}
	for answering := false; !answering; {
		got, err := people.Feed(t.Context(), feed)
		require.NoError(t, err)
		feed.After, feed.TypingAfter, answering = got.Seq, got.TypingSeq, len(got.Typing) > 0
	}

	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool { return bytes.Contains([]byte(p.logged()), []byte("msg=stopping")) }, scriptLimit, 5*time.Millisecond)
	select {
	case err := <-ended:
		require.FailNow(t, "it did not wait for the turn", "%v", err)
	default:
	}
	require.NoError(t, p.Process.Signal(os.Interrupt))
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(scriptLimit):
		require.FailNow(t, "it does not stop", p.logged())
	}
}

// TestRunReloadsOnHangUp: who asks is answered each time.
func TestRunReloadsOnHangUp(t *testing.T) {
	p := startRun(t)
	file := filepath.Join(p.dir, "skein.json5")
	logged := func(line string, times int) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Count(p.logged(), line) == times }, scriptLimit, time.Millisecond, "%s", line)
	}
	logged("msg=ready", 1) // signals are heard from then on, or a moment later
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(slowConfig, "agents:", "agnets:", 1)), 0o600))
	logged("agnets: unknown key (did you mean agents?)", 1)
	for times := 2; times <= 3; times++ {
		require.NoError(t, p.Process.Signal(syscall.SIGHUP))
		logged("agnets: unknown key (did you mean agents?)", times)
	}
	require.NoError(t, os.WriteFile(file, []byte(slowConfig), 0o600))
	logged("configuration reloaded", 1)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Wait())
}
