package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/channels/console/consoletest"
	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/config/json5"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/model/scripted"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
	"github.com/skein-bot/skein/core/world"
)

// scene is the whole runtime on a console test server, with a scripted model,
// in virtual time. It can be stopped, killed and started again.
type scene struct {
	*testing.T
	dir string
	// storeURL is the store of every life.
	storeURL string
	server   *consoletest.Server
	clock    *clock.Virtual
	work     *world.Work
	state    *scripted.State
	// options changes what the next life is made with.
	options func(o *app.Options)

	// fetch, if not nil, sees every fetch of a file and may fail it.
	fetch func(f core.Attachment) error

	// opening, if not nil, is called before a thread is opened.
	opening func()
	// sent, if not nil, is called with what the platform has taken in; its error
	// is what the runtime hears of it.
	sent func(ctx context.Context, out core.Outgoing) error

	// outage makes every send fail while it is set.
	outage atomic.Bool

	lives    uint64
	world    *world.World
	app      *app.App // nil while it is down
	requests *requests
}

// sceneConfig is what every scene's settings are laid over.
const sceneConfig = `{
  models: { providers: { demo: { type: "scripted", file: "model.json5" } } },
  agents: { defaults: { model: "demo/m" }, entries: { main: { instructions: "You help." } } },
  channels: { console: { dmPolicy: "open", groupPolicy: "open", requireMention: false } },
  commands: { ownerAllowFrom: ["console:alice"] },
  session: { threadBindings: { defaultSpawnContext: "isolated" } },
}`

// newScene starts a runtime with these settings and rules of the model.
func newScene(t *testing.T, settings, rules string) *scene {
	t.Helper()
	s := prepareScene(t, settings, rules)
	s.start()
	return s
}

// prepareScene makes a scene whose runtime is not started yet.
func prepareScene(t *testing.T, settings, rules string) *scene {
	t.Helper()
	s := &scene{T: t, dir: t.TempDir(), work: new(world.Work), state: scripted.NewState(), requests: new(requests)}
	s.storeURL = pgtest.StoreURL(t, filepath.Join(s.dir, "skein.db"))
	s.clock = clock.NewVirtual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), s.work)
	var err error
	s.server, err = consoletest.New(testserver.Options{Clock: s.clock, Work: s.work})
	require.NoError(t, err)
	t.Cleanup(func() {
		s.kill()
		require.NoError(t, s.server.Close())
	})
	s.write("model.json5", `{rules: [`+rules+`]}`)
	s.configure(settings)
	return s
}

func (s *scene) write(name, text string) {
	s.Helper()
	require.NoError(s, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
}

// configure writes the settings for the next start or reload.
func (s *scene) configure(settings string) {
	s.Helper()
	if settings == "" {
		settings = "{}"
	}
	s.write("settings.json5", settings)
}

// config reads the settings.
func (s *scene) config() *config.Config {
	s.Helper()
	base, err := config.ParseTree(filepath.Join(s.dir, "base.json5"), []byte(sceneConfig), config.Options{})
	require.NoError(s, err)
	over, err := config.ReadTree(filepath.Join(s.dir, "settings.json5"), config.Options{})
	require.NoError(s, err)
	reach, err := json5.Parse("", fmt.Appendf(nil,
		`{ channels: { console: { accounts: { default: { apiRoot: %q } } } }, gateway: { stateDir: %q }, store: { url: %q } }`,
		s.server.URL(), s.dir, s.storeURL))
	require.NoError(s, err)
	cfg, _, err := config.Decode(json5.Merge(json5.Merge(base.Tree, over.Tree), reach), config.Options{})
	require.NoError(s, err)
	require.NoError(s, cfg.ResolveSecrets(config.Options{}))
	return cfg
}

// start makes a runtime in a fresh world, and waits until it is quiet.
func (s *scene) start() {
	s.Helper()
	require.NoError(s, s.begin())
	s.quiet()
}

// begin starts a runtime, which may be killed while it does.
func (s *scene) begin() error {
	s.Helper()
	s.lives++
	s.world = world.New(s.clock, s.work, s.lives)
	o := app.Options{
		Config: s.config(), Channels: channels.New(s.channel()), World: s.world, Log: testLog(),
		Scripted: func(string) scripted.Options { return scripted.Options{State: s.state, OnRequest: s.requests.add} },
		Store:    pgtest.Manner(),
	}
	if s.options != nil {
		s.options(&o)
	}
	var err error
	// A program that another test starts at this moment holds, from its fork to its
	// exec, the lock of a store that was just closed.
	for s.app, err = app.New(o); errors.Is(err, store.ErrLocked); s.app, err = app.New(o) {
		require.NoError(s, (clock.Real{}).Sleep(s.Context(), time.Millisecond))
	}
	require.NoError(s, err)
	s.server.Up()
	return s.app.Start(s.Context())
}

// channel is the console with the outage of the scene.
func (s *scene) channel() channels.Entry {
	entry := console.Entry(nil)
	open := entry.New
	entry.New = func(o channels.Options) (core.Adapter, error) {
		adapter, err := open(o)
		if err != nil {
			return nil, err
		}
		return unsteady{adapter.(*console.Adapter), s}, nil
	}
	return entry
}

// unsteady is a console whose platform is out of order at times.
type unsteady struct {
	*console.Adapter
	s *scene
}

// Fetch implements core.Fetcher.
func (u unsteady) Fetch(ctx context.Context, from core.Address, f core.Attachment) (io.ReadCloser, error) {
	if u.s.fetch != nil {
		if err := u.s.fetch(f); err != nil {
			return nil, err
		}
	}
	return u.Adapter.Fetch(ctx, from, f)
}

// OpenChild implements core.BindingAdapter.
func (u unsteady) OpenChild(ctx context.Context, req core.ChildRequest) (core.Address, []byte, error) {
	if u.s.opening != nil {
		u.s.opening()
	}
	return u.Adapter.OpenChild(ctx, req)
}

func (u unsteady) Send(ctx context.Context, out core.Outgoing) (core.Receipt, error) {
	if u.s.outage.Load() {
		return core.Receipt{}, &core.SendError{Class: core.SendRetryable}
	}
	receipt, err := u.Adapter.Send(ctx, out)
	if err == nil && u.s.sent != nil {
		err = u.s.sent(ctx, out)
	}
	return receipt, err
}

func testLog() *slog.Logger {
	if testing.Verbose() {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

// kill ends the runtime as a crash does.
func (s *scene) kill() {
	if s.app != nil {
		s.app.Kill()
		s.app = nil
		s.server.Down()
	}
}

// stop ends the runtime gracefully; time passes only as its grace needs it.
func (s *scene) stop() {
	s.Helper()
	over, ended := context.WithCancel(s.Context())
	var err error
	go func() {
		defer ended()
		err = s.app.Stop(s.Context())
	}()
	for over.Err() == nil {
		if s.work.Zero(over) != nil || (clock.Real{}).Sleep(over, stopGrace) != nil {
			continue
		}
		if n, _ := s.work.State(); n > 0 {
			continue
		}
		if due, ok := s.clock.Next(); ok { // quiet, and yet it waits: for time
			s.clock.AdvanceTo(due)
		}
	}
	require.NoError(s, err)
	s.app = nil
	s.server.Down()
}

// stopGrace is how long, in wall time, a stop may go on in a quiet world before
// the clock moves for it.
const stopGrace = 10 * time.Millisecond

// restart stops the runtime and starts it again.
func (s *scene) restart() {
	s.Helper()
	s.stop()
	s.start()
}

// crash kills the runtime and, after downtime, starts it again.
func (s *scene) crash(downtime time.Duration) {
	s.Helper()
	s.kill()
	s.clock.AdvanceTo(s.clock.Now().Add(downtime))
	s.start()
}

// reload puts other settings in force.
func (s *scene) reload(settings string) {
	s.Helper()
	s.configure(settings)
	_, err := s.app.Reload(s.Context(), s.config())
	require.NoError(s, err)
	s.quiet()
}

// quiet waits until nothing is in progress, or a crash point has cut the
// runtime: what that had in hand stays so until it is killed.
func (s *scene) quiet() {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second)
	defer cancel()
	if s.app != nil {
		defer context.AfterFunc(s.world.Context(), cancel)()
	}
	for {
		err := s.work.Zero(ctx)
		if s.app != nil && s.world.Err() != nil {
			return
		}
		require.NoError(s, err, s.work.Holders())
		_, version := s.work.State()
		for range 8 { // lets whoever was about to count something do so
			runtime.Gosched()
		}
		woken := s.clock.WakeCancelled()
		if n, again := s.work.State(); n == 0 && again == version && woken == 0 {
			return
		}
	}
}

// pass lets time pass, from timer to timer.
func (s *scene) pass(d time.Duration) {
	s.Helper()
	end := s.clock.Now().Add(d)
	for s.quiet(); ; s.quiet() {
		due, ok := s.clock.Next()
		if !ok || due.After(end) {
			break
		}
		s.clock.AdvanceTo(due)
	}
	s.clock.AdvanceTo(end)
	s.quiet()
}

// at reads a place: "team", "team/t1", "dm:bob".
func at(place string) testserver.Place {
	conversation, thread, _ := strings.Cut(place, "/")
	return testserver.Place{Conversation: conversation, Thread: thread}
}

// say writes a message of alice, who owns the bot, and waits until the runtime
// has done with it what it can do without time.
func (s *scene) say(place, text string) {
	s.Helper()
	s.says("alice", place, text)
}

func (s *scene) says(who, place, text string) testserver.Ref {
	s.Helper()
	ref, err := s.server.Post(s.Context(), testserver.Post{By: testserver.User{Name: who}, At: at(place), Text: text})
	require.NoError(s, err)
	if s.app != nil {
		s.quiet()
	}
	return ref
}

// topic opens a thread as alice and returns the place.
func (s *scene) topic(conversation, title string) string {
	s.Helper()
	thread, err := s.server.OpenTopic(s.Context(), testserver.User{Name: "alice"}, at(conversation), title)
	require.NoError(s, err)
	s.quiet()
	return conversation + "/" + thread
}

// told returns what the bot has said in a place.
func (s *scene) told(place string) (out []string) {
	for _, m := range s.server.Messages(at(place)) {
		if m.By != "alice" && m.By != "bob" && m.By != "mallory" {
			out = append(out, m.Text)
		}
	}
	return out
}

// thread returns the place of the one thread of a conversation.
func (s *scene) thread(conversation string) string {
	s.Helper()
	threads := s.server.Threads(at(conversation))
	require.Len(s, threads, 1)
	return conversation + "/" + threads[0].ID
}

// read looks into the store.
func (s *scene) read(f func(tx *store.Tx) error) {
	s.Helper()
	require.NoError(s, s.app.DB().Read(s.Context(), f))
}

// runs returns every run, the oldest first.
func (s *scene) runs() (out []core.Run) {
	s.Helper()
	s.read(func(tx *store.Tx) error {
		recent, err := tx.RecentRuns(100)
		for _, r := range recent {
			out = append([]core.Run{r}, out...)
		}
		return err
	})
	return out
}

// run returns the run with a label.
func (s *scene) run(label string) core.Run {
	s.Helper()
	for _, r := range s.runs() {
		if r.Label == label {
			return r
		}
	}
	require.Failf(s, "no such run", "%s", label)
	return core.Run{}
}

// load counts what is in the store.
func (s *scene) load() (l store.Load) {
	s.Helper()
	s.read(func(tx *store.Tx) (err error) {
		l, err = tx.Load(s.world.Now())
		return err
	})
	return l
}

// session returns the session with a key.
func (s *scene) session(key string) (out store.Session) {
	s.Helper()
	s.read(func(tx *store.Tx) (err error) {
		out, err = tx.SessionByKey(key)
		return err
	})
	return out
}

// requests are what models were asked, in order.
type requests struct {
	mu  sync.Mutex
	all []model.Request
}

func (r *requests) add(req model.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, req)
}

// list returns the requests of chats, or of the runs with a label.
func (r *requests) list(label string) (out []model.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.all {
		if x.Task == label {
			out = append(out, x)
		}
	}
	return out
}

// last returns the newest request of list.
func (s *scene) last(label string) model.Request {
	s.Helper()
	all := s.requests.list(label)
	require.NotEmpty(s, all, "no request of %q", label)
	return all[len(all)-1]
}

// texts returns the texts of a request's items of a kind.
func texts(req model.Request, kind model.ItemKind) (out []string) {
	for _, i := range req.Items {
		if i.Kind == kind {
			out = append(out, i.Text)
		}
	}
	return out
}

// events returns the completions that a request shows.
func events(req model.Request) (out []model.Completion) {
	for _, i := range req.Items {
		if i.Kind == model.Event {
			out = append(out, *i.Completion)
		}
	}
	return out
}

// freshWorld is a world on the scene's clock, while no runtime is there.
func (s *scene) freshWorld() *world.World {
	s.lives++
	return world.New(s.clock, s.work, s.lives)
}
