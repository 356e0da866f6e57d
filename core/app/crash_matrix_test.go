//go:build slow

package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
	"github.com/skein-bot/skein/core/world"
)

// The crash matrix: a gateway in a process of its own is killed with SIGKILL at
// the nth pass of every crash point, and started again. The console server and
// the judge live in this process.

const (
	matrixEnv   = "SKEIN_CRASH_MATRIX_CHILD"
	leaseEnv    = "SKEIN_CRASH_MATRIX_LEASE" // of its node, matrixLease if unset
	matrixRuns  = 3                          // passes of each point, while the conversation has so many
	matrixLease = 1500 * time.Millisecond
	matrixModel = `{rules: [
  {when: {user: "/^research (\\w+) and (\\w+)/"}, call: [
     {tool: "sessions_spawn", args: {task: "look into $1", label: "$1", thread: true}},
     {tool: "sessions_spawn", args: {task: "look into $2", label: "$2", thread: true, mode: "run"}},
     {tool: "sessions_spawn", args: {task: "look into $1 quietly", label: "quiet", cleanup: "delete"}},
     {tool: "sessions_yield", args: {deadlineSeconds: 600}}]},
  {when: {user: "/^fix (\\w+)/"}, call: [
     {tool: "sessions_spawn", args: {task: "look into $1 with a file", label: "filed", cleanup: "delete", attachments: [{name: "a.txt", content: "x"}]}},
     {tool: "sessions_spawn", args: {task: "look into $1 apart", label: "apart", visible: true, worktree: true}},
     {tool: "sessions_yield", args: {deadlineSeconds: 600}}]},
  {when: {event: "/filed|apart/"}, say: "all is fixed"},
  {when: {event: "/./"}, say: "summary of the research"},
  {when: {task: "/look into/", user: "/Subagent Task/"}, call: [{tool: "mark", args: {name: "child"}}]},
  {when: {task: "/look into (\\w+)/", lastTool: "mark"}, say: "finding"},
  {when: {user: "/^number (\\d+)/"}, call: [{tool: "mark", args: {name: "$1"}}]},
  {when: {lastTool: "mark", result: "/(\\d+|interrupted)/"}, say: "marked: $1"},
  {when: {user: "/^thread (\\d+)/"}, say: "thread answer $1"},
]}`
)

// marker is a tool with an effect outside the store that must not happen twice.
type marker struct{ path string }

func (marker) Spec() core.ToolSpec {
	return core.ToolSpec{Name: "mark", Description: "Leaves a mark.", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}
}

func (m marker) Invoke(_ context.Context, s core.ToolScope, c core.ToolCall) (core.ToolResult, error) {
	f, err := os.OpenFile(m.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return core.ToolResult{}, err
	}
	defer f.Close()
	var args struct{ Name string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return core.ToolResult{}, err
	}
	if _, err := fmt.Fprintf(f, "%d.%d\n", s.Turn, s.Seq); err != nil {
		return core.ToolResult{}, err
	}
	return core.ToolResult{Text: args.Name}, nil
}

// TestCrashMatrixChild is the gateway; it only runs as a child of the matrix.
func TestCrashMatrixChild(t *testing.T) {
	dir := os.Getenv(matrixEnv)
	if dir == "" {
		return
	}
	cfg, _, err := config.Load(filepath.Join(dir, "skein.json5"), config.Options{})
	require.NoError(t, err)
	w := world.New(clock.Real{}, nil, uint64(time.Now().UnixNano()))
	lease := matrixLease
	if text, ok := os.LookupEnv(leaseEnv); ok {
		lease, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	a, err := app.New(app.Options{
		Config: cfg, Channels: channels.New(console.Entry(nil)), World: w, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Tools: []core.Tool{marker{filepath.Join(dir, "marks")}},
		Store: store.Options{NodeLease: lease, Rehearse: pgtest.Rehearse()},
	})
	require.NoError(t, err)
	if point, nth, ok := strings.Cut(os.Getenv("SKEIN_CRASH_AT"), ":"); ok {
		n, err := strconv.Atoi(nth)
		require.NoError(t, err)
		w.Arm(point, n, world.TrapSIGKILL, nil)
	}
	require.NoError(t, a.Start(t.Context()))
	fmt.Println("matrix: ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if lines.Text() != "reload" {
			continue
		}
		next, _, err := config.Load(filepath.Join(dir, "skein.json5"), config.Options{})
		require.NoError(t, err)
		_, err = a.Reload(t.Context(), next)
		require.NoError(t, err)
		fmt.Println("matrix: reloaded")
	}
	require.NoError(t, a.Stop(context.Background()))
}

// matrix is one run.
type matrix struct {
	t     *testing.T
	dir   string
	store string // its URL
	hub   *console.Hub
	in    io.WriteCloser
	out   chan string // the child's lines; closed when it has ended
	ended error       // valid once out is closed
	fired bool
	disk  bool // spawns with files and worktrees too: git takes longer than all else
}

// onDisk are the points of what spawns have on the disk.
var onDisk = []string{world.SpawnAfterFiles, world.SpawnAfterWorktree, world.WorktreeBeforeRemove, world.WorktreeAfterRemove}

func newMatrix(t *testing.T, disk bool) *matrix {
	t.Helper()
	m := &matrix{t: t, dir: t.TempDir(), disk: disk}
	m.store = pgtest.StoreURL(t, filepath.Join(m.dir, "skein.db"))
	var err error
	m.hub, err = console.Open(console.Options{Clock: clock.Real{}})
	require.NoError(t, err)
	server := httptest.NewServer(console.Handler(m.hub, m.hub, console.Wait{Clock: clock.Real{}}))
	t.Cleanup(func() {
		require.NoError(t, m.hub.Close())
		server.CloseClientConnections()
		server.Close()
	})
	m.write("model.json5", matrixModel)
	if disk {
		shell(t, m.dir, `git init -q --bare origin.git; git init -q -b trunk repo; cd repo; echo one > a; git add .; git commit -qm one
git remote add origin "$PWD/../origin.git"; git push -q origin trunk; git remote set-head origin trunk`)
	}
	m.write("skein.json5", strings.NewReplacer(
		"accounts: { default: {} }", `accounts: { default: { apiRoot: "`+server.URL+`" } }`,
		"sqlite:skein.db", m.store,
		"commands:", `gateway: { stateDir: "." }, messages: { queue: { mode: "followup" } }, tools: { sessions_spawn: { attachments: { enabled: true } } }, commands:`,
		`instructions: "You help."`, `instructions: "You help.", workspace: "repo"`,
	).Replace(baseConfig))
	return m
}

func (m *matrix) write(name, text string) {
	require.NoError(m.t, os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600))
}

// start runs the gateway; at is "point:nth", or "" for a life without a crash.
func (m *matrix) start(at string) {
	child := exec.Command(os.Args[0], "-test.run=^TestCrashMatrixChild$", "-test.v")
	child.Env = append(os.Environ(), matrixEnv+"="+m.dir, "SKEIN_CRASH_AT="+at)
	child.Stderr = os.Stderr
	var err error
	m.in, err = child.StdinPipe()
	require.NoError(m.t, err)
	pipe, err := child.StdoutPipe()
	require.NoError(m.t, err)
	require.NoError(m.t, child.Start())
	out := make(chan string, 100)
	m.out = out
	go func() {
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			out <- lines.Text()
		}
		m.ended = child.Wait()
		close(out)
	}()
	m.await("matrix: ready")
}

// await reads the child's output up to a line; a child that was killed is
// started again without a crash.
func (m *matrix) await(line string) {
	for got := range m.out {
		if got == line {
			return
		}
	}
	m.revive()
}

// revive starts a killed gateway again.
func (m *matrix) revive() {
	var exit *exec.ExitError
	require.ErrorAs(m.t, m.ended, &exit)
	status, ok := exit.Sys().(syscall.WaitStatus)
	require.True(m.t, ok && status.Signaled() && status.Signal() == syscall.SIGKILL, "the gateway ended with %v", m.ended)
	require.False(m.t, m.fired, "it was killed twice")
	m.fired = true
	m.start("")
}

// alive starts the gateway again if the crash has come.
func (m *matrix) alive() {
	for {
		select {
		case _, more := <-m.out:
			if !more {
				m.revive()
				return
			}
		default:
			return
		}
	}
}

func (m *matrix) stop() {
	require.NoError(m.t, m.in.Close())
	for range m.out {
		continue // drain
	}
	if m.ended != nil && !m.fired { // it was killed while it stopped
		m.fired = true
		return
	}
	require.NoError(m.t, m.ended)
}

func (m *matrix) say(thread, text string) {
	_, err := m.hub.Post(m.t.Context(), console.Post{Conversation: "main", Thread: thread, By: console.User{ID: "local"}, Text: text})
	require.NoError(m.t, err)
}

// bot returns what the bot has said in a place that matches; thread "*" is any
// thread.
func (m *matrix) bot(thread, pattern string) (out []console.Message) {
	feed, err := m.hub.Feed(m.t.Context(), console.FeedRequest{})
	require.NoError(m.t, err)
	re := regexp.MustCompile(pattern)
	for _, x := range feed.Messages {
		if x.By.ID != "local" && re.MatchString(x.Text) && (x.Thread == thread || thread == "*" && x.Thread != "") {
			out = append(out, x)
		}
	}
	return out
}

// until waits for n messages, keeping the gateway alive.
func (m *matrix) until(thread, pattern string, n int) []console.Message {
	m.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		m.alive()
		if got := m.bot(thread, pattern); len(got) >= n {
			return got
		}
		if time.Now().After(deadline) {
			feed, _ := m.hub.Feed(m.t.Context(), console.FeedRequest{})
			for _, x := range feed.Messages {
				m.t.Logf("%s/%s %s: %s", x.Conversation, x.Thread, x.By.ID, x.Text)
			}
			if keep := os.Getenv("KEEP"); keep != "" {
				_ = os.CopyFS(keep, os.DirFS(m.dir))
			}
			require.Failf(m.t, "missing", "%d of %s in %q", n, pattern, thread)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// play is the conversation that passes every crash point.
func (m *matrix) play() {
	m.say("", "research cats and dogs")
	m.until("", "summary of the research", 1)
	if m.disk {
		m.say("", "fix owls")
		m.until("", "all is fixed", 1)
		m.tidy()
	}
	for i := 1; i <= 3; i++ {
		m.say("", fmt.Sprintf("number %d", i))
	}
	m.until("*", "^finding$", 2)
	m.until("", "^marked: ", 3)
	cats := m.until("*", "^cats is here", 1)[0].Thread
	m.say(cats, "thread 1")
	m.until(cats, "thread answer 1", 1)
	m.say(cats, "/session idle 2h")
	m.until(cats, "2h", 1)
	m.write("skein.json5", strings.Replace(read(m.t, filepath.Join(m.dir, "skein.json5")), "You help.", "You help a lot.", 1))
	m.alive()
	if _, err := io.WriteString(m.in, "reload\n"); err == nil {
		m.await("matrix: reloaded")
	}
	m.say(cats, "/unfocus")
	m.until(cats, "^cats is not listening here any more", 1)
	m.say("", "last words")
	m.until("", "^ok: last words$", 1)
}

// tidy waits until nothing is left on the disk of what spawns had there.
func (m *matrix) tidy() {
	m.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for left := m.left(); len(left) > 0; left = m.left() {
		m.alive()
		require.False(m.t, time.Now().After(deadline), "left behind: %v", left)
		<-time.After(5 * time.Millisecond)
	}
}

// left lists the folders of files, the worktrees and the branches of spawns.
func (m *matrix) left() (out []string) {
	for _, pattern := range []string{filepath.Join("repo", ".skein", "attachments", "*"), filepath.Join("worktrees", "*", "*")} {
		found, err := filepath.Glob(filepath.Join(m.dir, pattern))
		require.NoError(m.t, err)
		out = append(out, found...)
	}
	repo := filepath.Join(m.dir, "repo")
	trees := strings.Split(shell(m.t, repo, "git worktree list --porcelain | grep '^worktree ' || true"), "\n")
	return append(append(out, trees[1:]...), strings.Fields(shell(m.t, repo, "git for-each-ref --format='%(refname)' refs/heads/skein refs/skein"))...)
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// judge checks what must hold whatever happened.
func (m *matrix) judge() {
	t := m.t
	require.Len(t, m.bot("", "summary of the research"), 1, "the completions are told once")
	require.Len(t, m.bot("*", "^finding$"), 2, "each child answers once in its thread")
	require.Len(t, m.bot("*", "thread answer 1"), 1)
	require.Len(t, m.bot("", "^ok: last words$"), 1)
	if m.disk {
		require.Len(t, m.bot("", "all is fixed"), 1)
		require.Empty(t, m.left(), "files, worktrees and branches of spawns")
	}
	seen := map[string]bool{}
	for _, line := range strings.Fields(read(t, filepath.Join(m.dir, "marks"))) {
		require.False(t, seen[line], "the tool call %s ran twice", line)
		seen[line] = true
	}
	last := 0
	for _, x := range m.bot("", `^marked: \d`) {
		n, err := strconv.Atoi(strings.TrimPrefix(x.Text, "marked: "))
		require.NoError(t, err)
		require.Greater(t, n, last, "answers come in the order of the messages")
		last = n
	}
	m.judgeStore()
}

// judgeStore looks for what was left behind.
func (m *matrix) judgeStore() {
	w := world.New(clock.Real{}, nil, 1)
	db, err := store.Open(context.Background(), pgtest.Options(m.store, w))
	require.NoError(m.t, err)
	defer func() { require.NoError(m.t, db.Close()) }()
	require.NoError(m.t, db.Read(context.Background(), func(tx *store.Tx) error {
		live, err := tx.LiveRuns(10)
		require.NoError(m.t, err)
		require.Empty(m.t, live, "a run was left behind")
		runs, err := tx.RecentRuns(10)
		require.NoError(m.t, err)
		want := 3
		if m.disk {
			want = 5
		}
		require.Len(m.t, runs, want)
		for _, r := range runs {
			require.Equal(m.t, core.DeliveryDelivered, r.Delivery, "run %s (%s) %s: %s", r.ID, r.Label, r.Status, r.Detail)
		}
		for _, state := range []store.OutboxState{store.OutQueued, store.OutSending, store.OutAmbiguous, store.OutFailed, store.OutBlocked} {
			rows, err := tx.ListOutbox(state, 10)
			require.NoError(m.t, err)
			require.Empty(m.t, rows, "outbox %s", state)
		}
		return nil
	}))
}

func TestCrashMatrix(t *testing.T) {
	if os.Getenv(matrixEnv) != "" {
		return
	}
	fired := 0
	for _, point := range world.Points() {
		for nth, passed := 1, true; nth <= matrixRuns && passed; nth++ {
			at := fmt.Sprintf("%s:%d", point, nth)
			t.Run(at, func(t *testing.T) {
				m := newMatrix(t, slices.Contains(onDisk, point))
				m.start(at)
				m.play()
				m.stop()
				m.judge()
				if passed = m.fired; passed {
					fired++
				} else if nth == 1 {
					t.Errorf("the conversation never passes %s", point)
				}
			})
		}
	}
	t.Logf("crash matrix: %d points, %d kills", len(world.Points()), fired)
}
