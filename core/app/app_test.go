package app_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// home is a folder with a configuration, a console hub, and the runtime on
// them, which can be killed and started again.
type home struct {
	t    *testing.T
	dir  string
	hub  *console.Hub
	app  *app.App
	last uint64
	// store is the store of every life.
	store string
	// pages limits the store of the next start.
	pages int
}

const baseConfig = `{
  models: { providers: { demo: { type: "scripted", file: "model.json5" } } },
  agents: { defaults: { model: "demo/m" }, entries: { main: { instructions: "You help." } } },
  channels: { console: { dmPolicy: "open", groupPolicy: "open", requireMention: false, accounts: { default: {} } } },
  commands: { ownerAllowFrom: ["console:local"] },
  store: { url: "sqlite:skein.db" },
}`

func newHome(t *testing.T, rules string) *home {
	t.Helper()
	h := &home{t: t, dir: t.TempDir()}
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "model.json5"), []byte(rules), 0o600))
	h.store = pgtest.StoreURL(t, filepath.Join(h.dir, "skein.db"))
	h.configure(baseConfig)
	var err error
	h.hub, err = console.Open(console.Options{Clock: clock.Real{}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.hub.Close()) })
	return h
}

// configure writes the configuration, with this home's store.
func (h *home) configure(text string) {
	text = strings.Replace(text, "sqlite:skein.db", h.store, 1)
	if !strings.Contains(text, "gateway:") { // PostgreSQL has no folder of its own
		text = strings.Replace(text, "store: {", `gateway: { stateDir: "." }, store: {`, 1)
	}
	require.NoError(h.t, os.WriteFile(filepath.Join(h.dir, "skein.json5"), []byte(text), 0o600))
}

func (h *home) start() {
	cfg, _, err := config.Load(filepath.Join(h.dir, "skein.json5"), config.Options{})
	require.NoError(h.t, err)
	require.NoError(h.t, cfg.ResolveSecrets(config.Options{}))
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	opts := pgtest.Manner()
	opts.MaxPages = h.pages
	h.app, err = app.New(app.Options{Config: cfg, Channels: channels.New(console.Entry(h.hub)), Log: log, Store: opts})
	require.NoError(h.t, err)
	require.NoError(h.t, h.app.Start(h.t.Context()))
}

func (h *home) stop() { require.NoError(h.t, h.app.Stop(context.Background())) }

func (h *home) say(conversation, thread, text string) {
	_, err := h.hub.Post(h.t.Context(), console.Post{Conversation: conversation, Thread: thread, By: console.User{ID: "local"}, Text: text})
	require.NoError(h.t, err)
}

// expect waits for a message of the bot that matches.
func (h *home) expect(conversation, pattern string) {
	h.t.Helper()
	re := regexp.MustCompile(pattern)
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	for {
		feed, err := h.hub.Feed(ctx, console.FeedRequest{After: h.last, Wait: true})
		if err != nil || ctx.Err() != nil {
			require.Failf(h.t, "no such message", "%s was not said in %s: %v", pattern, conversation, err)
		}
		for _, m := range feed.Messages {
			h.last = m.Changed
			h.t.Logf("%s/%s %s: %s", m.Conversation, m.Thread, m.By.ID, m.Text)
			if m.By.ID != "local" && m.Conversation == conversation && re.MatchString(m.Text) {
				return
			}
		}
	}
}

func TestAMessageIsAnswered(t *testing.T) {
	h := newHome(t, `{rules: []}`)
	h.start()
	defer h.stop()
	h.say("main", "", "hello")
	h.expect("main", "^ok: hello$")
}

const research = `{rules: [
  {when: {user: "/^research (\\w+) and (\\w+)/"}, call: [
     {tool: "sessions_spawn", args: {task: "find out about $1", label: "$1", thread: true}},
     {tool: "sessions_spawn", args: {task: "find out about $2", label: "$2", thread: true}},
     {tool: "sessions_yield", args: {acknowledgment: "I have sent two researchers."}}]},
  {when: {event: "/./"}, say: "Both are done."},
  {when: {task: "/find out about (\\w+)/", user: "/find out about (\\w+)/"}, say: "All about $1."},
  {when: {user: "/(.*)/", task: "/./"}, say: "child heard $1"},
]}`

func TestResearchInThreads(t *testing.T) {
	h := newHome(t, research)
	h.start()
	defer h.stop()
	h.say("main", "", "research cats and dogs")
	h.expect("main", "Both are done")
}

// TestAStopSendsWhatTheLastTurnSaid: the turn in progress ends and its answer
// leaves before this node gives up its accounts.
func TestAStopSendsWhatTheLastTurnSaid(t *testing.T) {
	long := strings.Repeat("long ", 20_000) // in many messages, so that it takes a while
	h := newHome(t, `{rules: [{when: {user: "/^slow/"}, delay: "200ms", say: "`+long+`at last"}]}`)
	h.start()
	h.say("main", "", "slow please")
	require.Eventually(t, func() bool {
		var status app.StatusView
		call(t, h.app.API(), "GET", "/status", "", &status)
		return !status.Idle
	}, waitFor, tick)
	h.stop()
	feed, err := h.hub.Feed(t.Context(), console.FeedRequest{})
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(feed.Messages[len(feed.Messages)-1].Text, "at last"))
}
