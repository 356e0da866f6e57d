package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/delivery"
	"github.com/skein-bot/skein/core/intake"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model/scripted"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/tool"
	"github.com/skein-bot/skein/core/world"
	"github.com/skein-bot/skein/threadbind"
)

// Options make an App. Config is required; each other field says what it is
// where it is left out.
type Options struct {
	// Config is the configuration, with its secrets resolved.
	Config *config.Config
	// ConfigOptions are those it was loaded with; instructions are read with
	// them.
	ConfigOptions config.Options
	// Channels are the channels of the program; a channel that is configured
	// but not among them does not run.
	Channels channels.Registry
	// Tools are offered to agents besides the built-in ones.
	Tools []core.Tool
	// Extensions are hooks of bindings and sub-agents.
	Extensions []threadbind.Extension
	// World is the outside; nil is the real one.
	World *world.World
	// Log is where the runtime logs; nil discards.
	Log *slog.Logger
	// Scripted is asked for the state and the recorder of a scripted provider
	// when it is made; nil makes fresh ones.
	Scripted func(provider string) scripted.Options
	// AgentPlace returns the conversation that belongs to an agent: what is
	// written there goes to it, whatever routes[] says (a binding still beats
	// it). The zero address is none; nil gives no agent one.
	AgentPlace func(agent string) core.Address
	// Split, Render, Literal and Plain shape outgoing text as delivery.Options
	// has it; nil leaves text as it is and cuts it at the channel's limit. The
	// skein program passes package channels/text.
	Split   func(text string, caps core.Capabilities) []string
	Render  func(channel, text string) string
	Literal func(channel, text string) string
	Plain   func(channel, part string) string
	// LoadConfig reads the configuration anew for ReloadFile, with its secrets;
	// nil refuses one.
	LoadConfig func() (*config.Config, error)
	// Applied is told each configuration that a reload put in force, for what
	// is outside the runtime, such as the level of the log; nil for nobody.
	Applied func(*config.Config)
	// Began is when the program began, from where the log line `ready` counts
	// its elapsed_ms; zero counts from Start.
	Began time.Time
	// Disk looks at the disk of the state folder, for alerts and the doctor; nil
	// looks at none. The skein program passes DiskOf.
	Disk func(folder string) (Disk, error)
	// Store is how the store is opened; its place, World and Log come from
	// elsewhere. Zero is right for all but tests.
	Store store.Options
}

// App is one runtime. Create it with New; it is started once.
type App struct {
	opts     Options
	world    *world.World
	log      *slog.Logger
	http     *http.Client
	stateDir string
	db       *store.DB
	snap     atomic.Pointer[snapshot]

	tools    *tool.Registry
	kernel   *kernel.Kernel
	engine   *subagent.Engine
	delivery *delivery.Service
	intake   *intake.Service
	bindings *Bindings

	tendNow chan struct{} // the accounts of this node are to be looked at

	mu       sync.Mutex
	accounts []*account
	state    appState
	readyAt  time.Time

	reading  sync.Mutex // held by ReloadFile
	reload   sync.Mutex
	reloaded reloadState
	ctx      context.Context
	cancel   context.CancelCauseFunc
	// hurry ends before ctx where a reload must not wait any longer.
	hurry   context.Context
	hurryUp context.CancelFunc
	wg      sync.WaitGroup
}

type appState int

const (
	appNew appState = iota
	appStarted
	appStopped
)

// New joins the parts and opens the store, with its lock. It reads nothing
// from channels or models. An error leaves nothing open.
func New(opts Options) (*App, error) {
	if opts.Config == nil {
		return nil, errors.New("app: no configuration")
	}
	a := &App{opts: opts, world: opts.World, log: opts.Log, tools: new(tool.Registry), tendNow: make(chan struct{}, 1)}
	if a.world == nil {
		a.world = world.New(clock.Real{}, nil, rand.Uint64())
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.http = a.client()
	a.ctx, a.cancel = context.WithCancelCause(a.world.Context())
	a.hurry, a.hurryUp = context.WithCancel(a.ctx)
	a.stateDir = opts.Config.StateDir()
	snap, err := a.prepare(opts.Config, nil)
	if err != nil {
		return nil, err
	}
	a.snap.Store(snap)
	if err := a.open(); err != nil {
		return nil, err
	}
	if err := a.join(); err != nil {
		return nil, errors.Join(err, a.db.Close())
	}
	return a, nil
}

// live returns the configuration in force.
func (a *App) live() *snapshot { return a.snap.Load() }

// Config returns the configuration in force. It must not be changed.
func (a *App) Config() *config.Config { return a.live().cfg }

// open opens the store.
func (a *App) open() error {
	where, err := store.ParseURL(a.opts.Config.Store.URL.Reveal())
	if err != nil {
		return err
	}
	opts := a.opts.Store
	opts.Path, opts.URL, opts.World, opts.Log = where.Path, where.URL, a.world, a.log
	if err := os.MkdirAll(a.stateDir, 0o700); err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	a.db, err = store.Open(a.ctx, opts)
	return err
}

// join makes the parts and introduces them to each other.
func (a *App) join() error {
	instance, err := a.instance()
	if err != nil {
		return err
	}
	a.bindings = NewBindings(BindingsOptions{
		World: a.world, DB: a.db, Log: a.log, Settings: a.bindingSettings, Adapter: a.bindingAdapter, Poster: poster{a},
		Hooks: threadbind.NewHooks(a.world.Clock, a.log, 0, a.opts.Extensions...), Zone: a.zone,
	})
	split := a.opts.Split
	if split == nil {
		split = cut
	}
	var guard func(tx *store.Tx, channel, account string) error
	var holds func(channel, account string) bool
	if a.shares() {
		guard, holds = a.guard, a.holds
	}
	a.delivery = delivery.New(delivery.Options{
		Guard: guard, Holds: holds, DB: a.db, World: a.world, Log: a.log, Instance: instance, Split: split, Render: a.opts.Render, Literal: a.opts.Literal, Plain: a.opts.Plain,
		Stream: a.streams, OnAmbiguous: a.onAmbiguous, OnUndeliverable: a.bindings.Undeliverable, OnSent: a.sent, OnGaveUp: a.gaveUp,
	})
	a.engine = subagent.New(subagent.Options{
		World: a.world, DB: a.db, Log: a.log, Config: subagentConfig{a}, Bindings: a.bindings, Poster: a.delivery,
		OnBlocked: a.completionBlocked, OnBacklog: a.completionBacklog, OnBudget: a.budgetSpent,
		Settle: a.settle(), Go: a.Go, Registry: a.tools, Worktrees: filepath.Join(absolute(a.stateDir), "worktrees"),
	})
	builtIn := append(a.engine.Tools(), a.sessionTools().All()...)
	if err := a.tools.Add(append(builtIn, a.opts.Tools...)...); err != nil {
		return err
	}
	runner := agent.New(agent.Options{
		World: a.world, DB: a.db, Log: a.log, Catalogue: catalogue{a}, Tools: a.tools, Ender: a.engine, Presence: a, Files: a, Previews: a.delivery,
	})
	a.kernel = kernel.New(kernel.Options{DB: a.db, World: a.world, Log: a.log, Runner: runner, Slots: a.slots, Queue: a.queueOf,
		StartLimit: a.engine.StartLimit,
		Alone:      !a.shares(), Moved: a.moved, Heard: a.heard, Joined: a.engine.Joined})
	a.engine.SetKernel(a.kernel)
	a.kernel.AddSource(a.engine.Archive())
	a.kernel.AddSource(a.engine.Sweep())
	a.kernel.AddSource(a.engine.Blocked())
	a.kernel.AddSource(&retention{settings: func() config.Retention { return a.live().cfg.Session.Retention }})
	a.kernel.AddSource(a.engine.WorktreeDeadlines())
	a.kernel.AddSource(a.engine.Files()) // after those that let go of files
	a.kernel.HandleTimer(subagent.TimerWait, a.engine.WaitDue)
	a.kernel.HandleTimer(subagent.TimerRun, a.engine.RunDue)
	a.kernel.HandleTimer(kernel.TimerStart, a.engine.StartDue)
	a.bindings.Join(a.kernel, a.engine)
	a.intake = intake.New(intake.Options{
		World: a.world, DB: a.db, Log: a.log, Config: intakeConfig{a}, Bindings: a.bindings, Commands: a.commands(), Waiter: a.engine,

		History: func(channel, account string) core.HistoryReader {
			reader, _ := a.adapter(channel, account).(core.HistoryReader)
			return reader
		},
		Kernel: a.kernel, Poster: a.delivery, Guard: guard, OnLoop: a.botLoop, Go: a.Go,
	})
	a.accounts, err = a.openAccounts(a.opts.Config)
	return err
}

// absolute writes a path so that it holds in every folder.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// instance is the store's own name among all stores of the world.
func (a *App) instance() (id string, err error) {
	err = a.db.Write(a.ctx, func(tx *store.Tx) error {
		id, err = tx.Instance(a.world.NewID())
		return err
	})
	return id, err
}

// sent joins what a receipt means for bindings and for runs.
func (a *App) sent(tx *store.Tx, row store.Outbox, now core.Millis) error {
	if err := a.bindings.Sent(tx, row, now); err != nil {
		return err
	}
	return a.engine.Sent(tx, row, now)
}

func (a *App) gaveUp(tx *store.Tx, row store.Outbox, now core.Millis) error {
	a.log.Warn("a message was given up", "outbox", row.ID, "state", string(row.State), "address", row.Address.String(), "error", row.Error)
	return a.engine.GaveUp(tx, row, now)
}

// Start takes over what an earlier process left, then opens the channels. It
// returns once every account has begun its first attempt to connect.
func (a *App) Start(ctx context.Context) error {
	a.mu.Lock()
	if a.state != appNew {
		a.mu.Unlock()
		return errors.New("app: started before")
	}
	a.state = appStarted
	accounts := a.accounts
	a.mu.Unlock()
	began := a.opts.Began
	if began.IsZero() {
		began = a.world.Clock.Now()
	}
	if err := a.bindings.Start(ctx); err != nil {
		return err
	}
	if err := a.engine.TakeOver(ctx); err != nil {
		return err
	}
	if err := a.kernel.Start(ctx); err != nil {
		return err
	}
	if err := a.bindings.EndRemoved(ctx, a.configured); err != nil {
		return err
	}
	if err := a.engine.Recover(ctx); err != nil {
		return err
	}
	if err := a.hold(ctx, accounts); err != nil {
		return err
	}
	a.delivery.Start(outlets(accounts))
	a.connect(accounts)
	a.Go(a.recoverCommands)
	if a.opts.Disk != nil {
		a.wg.Add(1)
		go a.watchDisk(a.ctx)
	}
	if a.kernel.Shares() {
		a.wg.Add(1)
		go func() {
			defer a.wg.Done()
			a.tend(a.ctx)
		}()
	}
	now := a.world.Clock.Now()
	a.mu.Lock()
	a.readyAt = now
	a.mu.Unlock()
	a.log.Info("ready", "elapsed_ms", now.Sub(began).Milliseconds(), "accounts", len(accounts))
	return a.world.Err()
}

// ready returns when the runtime became ready, 0 if it is not yet.
func (a *App) ready() core.Millis {
	a.mu.Lock()
	defer a.mu.Unlock()
	return core.ToMillis(a.readyAt)
}

// connect starts the accounts and waits until each has made its first attempt.
func (a *App) connect(accounts []*account) {
	var first sync.WaitGroup
	for _, x := range accounts {
		if x.adapter == nil || !x.held.Load() {
			continue
		}
		ctx, cancel := context.WithCancel(a.ctx)
		x.cancel, x.done = cancel, make(chan struct{})
		first.Add(1)
		a.wg.Add(1)
		go func() {
			defer a.wg.Done()
			defer close(x.done)
			defer cancel()
			var once sync.Once
			begun := func() { once.Do(first.Done) }
			defer begun()
			x.run(ctx, begun)
		}()
	}
	first.Wait()
}

// Go runs f in a goroutine that Stop waits for. Its context ends with the
// runtime.
func (a *App) Go(f func(ctx context.Context)) {
	done := a.world.Work.Begin("background")
	a.wg.Add(1)
	go func() {
		defer a.wg.Done()
		defer done()
		f(a.ctx)
	}()
}

// Stop takes no new work, lets turns and sends finish for
// gateway.shutdownGraceSeconds or until ctx ends, and closes everything. What
// did not finish goes on at the next start.
func (a *App) Stop(ctx context.Context) error {
	a.mu.Lock()
	was := a.state
	a.state = appStopped
	a.mu.Unlock()
	if was == appStopped {
		return nil
	}
	defer context.AfterFunc(ctx, a.hurryUp)()
	a.reload.Lock() // one in progress puts the accounts in order first
	defer a.reload.Unlock()
	grace := time.Duration(a.live().cfg.Gateway.ShutdownGraceSeconds) * time.Second
	ctx, cancel := a.world.Clock.WithTimeout(ctx, grace)
	defer cancel()
	a.kernel.Stop(ctx)
	a.delivery.Drain(ctx) // what the last turns said leaves now
	a.delivery.Stop(ctx)
	a.bindings.Stop(ctx)
	a.kernel.Leave()
	return a.close(errStopped)
}

var errStopped = errors.New("the runtime has stopped")

// Kill cuts the world and waits until nothing of the runtime is left: what a
// crash looks like, for tests. The store's lock is free afterwards.
func (a *App) Kill() {
	a.world.Cut()
	a.db.Quiesce()
	a.mu.Lock()
	a.state = appStopped
	a.mu.Unlock()
	a.hurryUp()
	a.reload.Lock()
	defer a.reload.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a.kernel.Stop(ctx)
	a.delivery.Stop(ctx)
	a.bindings.Stop(ctx)
	a.kernel.Leave() // of a world that is cut it only ends the loops
	if err := a.close(world.ErrKilled); err != nil {
		a.log.Debug("closing a killed runtime", "error", err)
	}
}

func (a *App) close(cause error) error {
	a.cancel(cause)
	a.wg.Wait()
	var errs []error
	for _, x := range a.accounts {
		errs = append(errs, x.close())
	}
	a.http.CloseIdleConnections()
	return errors.Join(append(errs, a.db.Close())...)
}

// Agents returns the ids of the configured agents in their order.
func (a *App) Agents() []string { return a.live().cfg.AgentIDs() }

// DB returns the store, for embedders and tests.
func (a *App) DB() *store.DB { return a.db }

// Delivery returns the way out, for embedders that post messages of their own.
func (a *App) Delivery() *delivery.Service { return a.delivery }

// Subagents returns the engine of sub-agents, for what operators settle.
func (a *App) Subagents() *subagent.Engine { return a.engine }
