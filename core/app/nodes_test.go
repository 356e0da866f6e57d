//go:build slow

package app_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
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
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/model/scripted"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
	"github.com/skein-bot/skein/core/world"
)

// Several nodes on one PostgreSQL, each with its own state folder, and one
// console that all of them reach.

const nodesModel = `{rules: [
  {when: {user: "/^slow (\\w+)/"}, delay: "2500ms", say: "slowly $1"},
  {when: {user: "/^forever/"}, delay: "600000ms", say: "never"},
  {when: {user: "/^number (\\d+)/"}, call: [{tool: "mark", args: {name: "$1"}}]},
  {when: {lastTool: "mark", result: "/(\\d+|interrupted)/"}, delay: "1500ms", say: "marked: $1"},
]}`

// nodes is a database with a console, and what runs on them.
type nodes struct {
	*testing.T
	dir     string
	store   string
	console string
	hub     *console.Hub
}

// node is one runtime in this process.
type node struct {
	name  string
	app   *app.App
	world *world.World
	mu    sync.Mutex
	asked []string // what its model was asked last
}

// newNodes returns nil where no PostgreSQL is installed.
func newNodes(t *testing.T) *nodes {
	t.Helper()
	address, ok := pgtest.Database(t)
	if !ok {
		return nil
	}
	n := &nodes{T: t, dir: t.TempDir(), store: address}
	var err error
	n.hub, err = console.Open(console.Options{Clock: clock.Real{}})
	require.NoError(t, err)
	for _, id := range []string{"one", "two"} {
		require.NoError(t, n.hub.OpenConversation(console.Conversation{ID: id, Kind: core.Group, Accounts: []string{console.DefaultAccount}}))
	}
	server := httptest.NewServer(console.Handler(n.hub, n.hub, console.Wait{Clock: clock.Real{}}))
	n.console = server.URL
	t.Cleanup(func() {
		require.NoError(t, n.hub.Close())
		server.CloseClientConnections()
		server.Close()
	})
	return n
}

// folder writes the configuration of a node.
func (n *nodes) folder(name, extra string) string {
	dir := filepath.Join(n.dir, name)
	require.NoError(n, os.MkdirAll(dir, 0o700))
	require.NoError(n, os.WriteFile(filepath.Join(dir, "model.json5"), []byte(nodesModel), 0o600))
	text := strings.NewReplacer(
		"accounts: { default: {} }", `accounts: { default: { apiRoot: "`+n.console+`" } }`,
		"sqlite:skein.db", n.store,
		"commands:", `gateway: { stateDir: "`+dir+`" }, limits: { perUser: { messagesPerMinute: 0 } }, commands:`,
		`defaults: { model: "demo/m" }`, `defaults: { model: "demo/m", `+extra+` }`,
	).Replace(baseConfig)
	require.NoError(n, os.WriteFile(filepath.Join(dir, "skein.json5"), []byte(text), 0o600))
	return dir
}

// start runs a node in this process; extra are keys of agents.defaults.
func (n *nodes) start(name, extra string) *node {
	n.Helper()
	cfg, _, err := config.Load(filepath.Join(n.folder(name, extra), "skein.json5"), config.Options{})
	require.NoError(n, err)
	x := &node{name: name, world: world.New(clock.Real{}, nil, uint64(time.Now().UnixNano()))}
	x.app, err = app.New(app.Options{
		Config: cfg, Channels: channels.New(console.Entry(nil)), World: x.world, Log: testLog().With("node", name),
		Tools:    []core.Tool{marker{filepath.Join(n.dir, "marks")}},
		Scripted: func(string) scripted.Options { return scripted.Options{OnRequest: x.note} },
	})
	require.NoError(n, err)
	require.NoError(n, x.app.Start(n.Context()))
	n.Cleanup(func() { _ = x.app.Stop(context.Background()) })
	return x
}

func (x *node) note(r model.Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(r.Items) > 0 {
		x.asked = append(x.asked, r.Items[len(r.Items)-1].Text)
	}
}

func (x *node) was(asked string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, text := range x.asked {
		if strings.Contains(text, asked) {
			return true
		}
	}
	return false
}

// say writes in a conversation.
func (n *nodes) say(conversation, text string) {
	n.Helper()
	_, err := n.hub.Post(n.Context(), console.Post{Conversation: conversation, By: console.User{ID: "local"}, Text: text})
	require.NoError(n, err)
}

// heard returns what the bot said in a conversation that matches.
func (n *nodes) heard(conversation, pattern string) (out []string) {
	feed, err := n.hub.Feed(n.Context(), console.FeedRequest{})
	require.NoError(n, err)
	re := regexp.MustCompile(pattern)
	for _, m := range feed.Messages {
		if m.By.ID != "local" && m.Conversation == conversation && re.MatchString(m.Text) {
			out = append(out, m.Text)
		}
	}
	return out
}

// within waits until the bot has said something.
func (n *nodes) within(limit time.Duration, conversation, pattern string) {
	n.Helper()
	n.eventually(limit, conversation+" "+pattern, func() bool { return len(n.heard(conversation, pattern)) > 0 })
}

func (n *nodes) eventually(limit time.Duration, what string, is func() bool) {
	n.Helper()
	require.Eventually(n, is, limit, 20*time.Millisecond, what)
}

// read asks the store.
func (n *nodes) read(fn func(tx *store.Tx) error) {
	n.Helper()
	db, err := store.Open(n.Context(), store.Options{URL: n.store, World: world.New(clock.Real{}, nil, 1), ReadOnly: true})
	require.NoError(n, err)
	defer func() { require.NoError(n, db.Close()) }()
	require.NoError(n, db.Read(n.Context(), fn))
}

// TestNodesShareWork: what one node has no slot for another one does, at once,
// and its answer leaves through the node that has the account.
func TestNodesShareWork(t *testing.T) {
	n := newNodes(t)
	if n == nil {
		return
	}
	a := n.start("a", "maxConcurrent: 1")
	b := n.start("b", "")
	n.say("one", "slow cats")
	n.eventually(5*time.Second, "the first node to be busy", func() bool { return a.was("slow cats") })
	// The first node learns of the second with its next renewal.
	n.eventually(5*time.Second, "the second node to take work", func() bool {
		n.say("two", "hello there")
		return b.was("hello there")
	})
	n.within(2*time.Second, "two", "^ok: hello there")
	n.within(5*time.Second, "one", "^slowly cats$")
	require.Len(t, n.heard("one", "slowly"), 1)
}

// TestStopReachesAnotherNode: /stop that one node hears ends a model call that
// another one makes.
func TestStopReachesAnotherNode(t *testing.T) {
	n := newNodes(t)
	if n == nil {
		return
	}
	a := n.start("a", "maxConcurrent: 1")
	b := n.start("b", "")
	n.say("one", "slow cats")
	n.eventually(5*time.Second, "the first node to be busy", func() bool { return a.was("slow cats") })
	n.say("two", "forever")
	n.eventually(5*time.Second, "the second node to take work", func() bool { return b.was("forever") })
	busy := b.app.Turns()
	require.Equal(t, 1, busy)
	began := time.Now()
	n.say("two", "/stop")
	n.eventually(700*time.Millisecond, "the call to end, before anybody looks by himself", func() bool { busy := b.app.Turns(); return busy == 0 })
	t.Logf("/stop ended the call of another node after %v", time.Since(began).Round(time.Millisecond))
	n.within(2*time.Second, "two", "(?i)stopped")
	n.within(5*time.Second, "one", "^slowly cats$")
	require.Empty(t, n.heard("two", "never"))
}

// child is a node in a process of its own.
type child struct {
	*nodes
	cmd *exec.Cmd
	in  io.WriteCloser
}

func (n *nodes) spawn(name string) *child {
	n.Helper()
	dir := n.folder(name, "")
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashMatrixChild$", "-test.v")
	cmd.Env = append(os.Environ(), matrixEnv+"="+dir, "SKEIN_CRASH_AT=", leaseEnv+"="+store.NodeLease.String())
	log, err := os.Create(filepath.Join(n.dir, name+".log"))
	require.NoError(n, err)
	cmd.Stderr = log
	in, err := cmd.StdinPipe()
	require.NoError(n, err)
	pipe, err := cmd.StdoutPipe()
	require.NoError(n, err)
	require.NoError(n, cmd.Start())
	ready := make(chan struct{})
	go func() {
		defer log.Close()
		lines := bufio.NewScanner(pipe)
		for lines.Scan() {
			if lines.Text() == "matrix: ready" {
				close(ready)
			}
		}
	}()
	n.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if n.Failed() {
			text, _ := os.ReadFile(log.Name())
			n.Logf("the log of node %s:\n%s", name, text)
		}
	})
	select {
	case <-ready:
	case <-time.After(20 * time.Second):
		require.Fail(n, "the node does not start")
	}
	return &child{n, cmd, in}
}

func (c *child) signal(s syscall.Signal) { require.NoError(c, c.cmd.Process.Signal(s)) }

// TestANodeDies: its sessions go on elsewhere within ten seconds and its
// account within fifteen; nothing is lost, nothing happens twice.
func TestANodeDies(t *testing.T) {
	n := newNodes(t)
	if n == nil {
		return
	}
	a := n.spawn("a")
	b := n.start("b", "")
	n.say("one", "number 1") // on the first node, which has the account
	n.finished("mark")
	a.signal(syscall.SIGKILL)
	killed := time.Now()
	n.say("two", "hello")
	n.eventually(20*time.Second, "the turn to go on", func() bool { return b.was("1") || b.was("interrupted") })
	continued := time.Since(killed)
	n.within(20*time.Second, "one", "^marked: 1$")
	n.within(20*time.Second, "two", "^ok: hello$")
	account := time.Since(killed)
	t.Logf("after the death of a node its session went on after %v, its account answered after %v",
		continued.Round(time.Millisecond), account.Round(time.Millisecond))
	require.Less(t, continued, 10*time.Second)
	require.Less(t, account, 15*time.Second)
	require.Len(t, n.marks(), 1, "the finished tool is not run again")
	require.Len(t, n.heard("one", "marked"), 1)
	require.Len(t, n.heard("two", "hello"), 1)
}

// finished waits until a call of the tool has its result in the store: a node
// that dies between the effect and that row leaves an unknown effect.
func (n *nodes) finished(tool string) {
	n.Helper()
	n.eventually(10*time.Second, "the tool "+tool+" to end", func() (done bool) {
		n.read(func(tx *store.Tx) error {
			sessions, err := tx.Sessions(false, 100)
			if err != nil {
				return err
			}
			for _, s := range sessions {
				turns, err := tx.TurnsOfSession(s.ID, 100)
				if err != nil {
					return err
				}
				for _, turn := range turns {
					steps, err := tx.Steps(turn.ID)
					if err != nil {
						return err
					}
					for _, step := range steps {
						done = done || step.Tool == tool && step.State != store.StepStarted
					}
				}
			}
			return nil
		})
		return done
	})
	require.Len(n, n.marks(), 1)
}

func (n *nodes) marks() []string {
	b, _ := os.ReadFile(filepath.Join(n.dir, "a", "marks"))
	more, _ := os.ReadFile(filepath.Join(n.dir, "marks"))
	return strings.Fields(string(b) + string(more))
}

// TestAHaltedNodeWritesNothing: a node that is stopped in a turn and continued
// after others took over writes nothing more as who it was; it comes back as a
// new node and works.
func TestAHaltedNodeWritesNothing(t *testing.T) {
	n := newNodes(t)
	if n == nil {
		return
	}
	a := n.spawn("a")
	b := n.start("b", "")
	n.say("one", "number 1")
	n.finished("mark")
	a.signal(syscall.SIGSTOP)
	n.within(20*time.Second, "one", "^marked: 1$")
	require.True(t, b.was("1"), "another node ended the turn")
	n.say("two", "hello")
	n.within(20*time.Second, "two", "^ok: hello$")
	n.eventually(10*time.Second, "the work to end", func() bool { return n.idle() })
	before, owners := n.snapshot(), n.owners()
	require.Len(t, owners, 1)

	a.signal(syscall.SIGCONT)
	n.eventually(15*time.Second, "the node to be back", func() bool { return len(n.owners()) == 2 })
	require.Equal(t, before, n.snapshot(), "it wrote into what others had taken over")
	require.Len(t, n.heard("one", "marked"), 1)

	// It is of use again: alone, it takes over in turn.
	require.NoError(t, b.app.Stop(context.Background()))
	n.say("one", "still there?")
	n.within(20*time.Second, "one", "^ok: still there")
	require.Len(t, n.heard("one", "marked"), 1)
}

// TestANodeThatWasHaltedTakesOver: one that never had the account and lost its
// lease gets the account later all the same.
func TestANodeThatWasHaltedTakesOver(t *testing.T) {
	n := newNodes(t)
	if n == nil {
		return
	}
	a := n.start("a", "")
	b := n.spawn("b")
	b.signal(syscall.SIGSTOP)
	n.eventually(20*time.Second, "the other node to be gone", func() bool { return len(n.owners()) == 1 })
	b.signal(syscall.SIGCONT)
	n.eventually(15*time.Second, "it to be back", func() bool { return len(n.owners()) == 2 })
	require.NoError(t, a.app.Stop(context.Background()))
	n.say("one", "still there?")
	n.within(20*time.Second, "one", "^ok: still there")
}

func (n *nodes) idle() (idle bool) {
	n.read(func(tx *store.Tx) error {
		l, err := tx.Load(core.ToMillis(time.Now()))
		idle = l.Idle()
		return err
	})
	return idle
}

// owners returns the nodes that are registered.
func (n *nodes) owners() (ids []string) {
	n.read(func(tx *store.Tx) (err error) {
		ids, err = tx.Nodes()
		return err
	})
	return ids
}

// snapshot is everything that turns, deliveries and intake write.
func (n *nodes) snapshot() string {
	var b strings.Builder
	n.read(func(tx *store.Tx) error {
		sessions, err := tx.Sessions(false, 100)
		if err != nil {
			return err
		}
		for _, s := range sessions {
			rows, err := tx.WholeTranscript(s)
			if err != nil {
				return err
			}
			turns, err := tx.TurnsOfSession(s.ID, 100)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%+v\n%+v\n%+v\n", s, rows, turns)
			for _, turn := range turns {
				steps, err := tx.Steps(turn.ID)
				if err != nil {
					return err
				}
				fmt.Fprintf(&b, "%+v\n", steps)
			}
		}
		out, err := tx.ListOutbox("", 100)
		fmt.Fprintf(&b, "%+v\n", out)
		cursors, err2 := tx.Cursors("console", "default")
		fmt.Fprintf(&b, "%v\n", cursors)
		if err == nil {
			err = err2
		}
		return err
	})
	return b.String()
}
