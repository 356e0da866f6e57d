package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/command"
	"github.com/skein-bot/skein/core/delivery"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/world"
	"github.com/skein-bot/skein/threadbind"
)

// room is the group in which the bindings of these tests are made.
var room = core.Address{Channel: "fake", Account: "default", Conversation: "Room"}

// alice is who focuses.
var alice = command.Actor{User: "fake:alice"}

// rig is bindings on a real store, kernel, sub-agent engine and delivery, with
// a channel that has threads, in virtual time.
type rig struct {
	*testing.T
	path     string
	channel  *fakeChannel
	settings threadbind.Settings
	hooks    []threadbind.Extension
	work     *world.Work
	clock    *clock.Virtual

	world    *world.World
	db       *store.DB
	bindings *app.Bindings
	delivery *delivery.Service
	kernel   *kernel.Kernel
	engine   *subagent.Engine
	turns    *turns

	commandsRun int
}

func newRig(t *testing.T, hooks ...threadbind.Extension) *rig {
	t.Helper()
	r := &rig{T: t, path: pgtest.StoreURL(t, filepath.Join(t.TempDir(), "skein.db")), channel: newFakeChannel(), settings: threadbind.DefaultSettings(), hooks: hooks}
	r.work = new(world.Work)
	r.clock = clock.NewVirtual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), r.work)
	r.start()
	t.Cleanup(r.stop)
	return r
}

// start opens the store in a fresh world and starts everything on it.
func (r *rig) start() {
	r.world = world.New(r.clock, r.work, uint64(r.clock.Now().UnixMilli()))
	var err error
	r.db, err = store.Open(r.Context(), pgtest.Options(r.path, r.world))
	require.NoError(r, err)
	log := slog.New(slog.DiscardHandler)
	hooks := threadbind.NewHooks(r.clock, log, time.Second, r.hooks...)
	r.bindings = app.NewBindings(app.BindingsOptions{
		World: r.world, DB: r.db, Log: log, Poster: poster{r}, Hooks: hooks,
		Settings: func(string, string) threadbind.Settings { return r.settings },
		Adapter:  func(string, string) core.BindingAdapter { return r.channel },
	})
	r.delivery = delivery.New(delivery.Options{
		DB: r.db, World: r.world, Log: log, Instance: "test", OnUndeliverable: r.bindings.Undeliverable,
		OnSent: func(tx *store.Tx, row store.Outbox, now core.Millis) error {
			if err := r.bindings.Sent(tx, row, now); err != nil {
				return err
			}
			return r.engine.Sent(tx, row, now)
		},
	})
	r.engine = subagent.New(subagent.Options{World: r.world, DB: r.db, Log: log, Config: engineConfig{}, Bindings: r.bindings, Poster: r.delivery})
	r.turns = &turns{}
	r.kernel = kernel.New(kernel.Options{
		DB: r.db, World: r.world, Log: log, Runner: r.turns, Slots: func(store.Lane) int { return 4 },
		Queue: func(store.Session, store.Inbox) kernel.Queue { return kernel.Queue{Mode: kernel.QueueFollowup} },
	})
	r.engine.SetKernel(r.kernel)
	r.kernel.AddSource(r.engine.Archive())
	r.bindings.Join(r.kernel, r.engine)
	require.NoError(r, r.bindings.Start(r.Context()))
	require.NoError(r, r.kernel.Start(r.Context()))
	r.delivery.Start([]delivery.Account{{Channel: room.Channel, ID: room.Account, Adapter: r.channel}})
	r.quiet()
}

func (r *rig) stop() {
	r.kernel.Stop(context.Background())
	r.delivery.Stop(context.Background())
	r.bindings.Stop(context.Background())
	r.kernel.Leave()
	require.NoError(r, r.db.Close())
}

// restart is a crash followed, after downtime, by a new process.
func (r *rig) restart(downtime time.Duration) {
	r.Helper()
	r.world.Cut()
	r.stop()
	r.clock.AdvanceTo(r.clock.Now().Add(downtime))
	r.start()
}

// poster is delivery, which is made after the bindings.
type poster struct{ r *rig }

func (p poster) Post(tx *store.Tx, row store.Outbox) (int64, bool, error) {
	return p.r.delivery.Post(tx, row)
}

func (p poster) Withdraw(tx *store.Tx, session int64) (int64, error) {
	return p.r.delivery.Withdraw(tx, session)
}

func (p poster) Reissue(tx *store.Tx, old store.Outbox, key string) error {
	return p.r.delivery.Reissue(tx, old, key)
}

func (p poster) DropPreview(tx *store.Tx, id int64) error { return p.r.delivery.DropPreview(tx, id) }

// quiet waits until nothing is in progress.
func (r *rig) quiet() {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 20*time.Second)
	defer cancel()
	for {
		require.NoError(r, r.work.Zero(ctx), r.work.Holders())
		if r.clock.WakeCancelled() == 0 {
			return
		}
	}
}

// pass lets time pass, from timer to timer.
func (r *rig) pass(d time.Duration) {
	r.Helper()
	end := r.clock.Now().Add(d)
	for r.quiet(); ; r.quiet() {
		due, ok := r.clock.Next()
		if !ok || due.After(end) {
			break
		}
		r.clock.AdvanceTo(due)
	}
	r.clock.AdvanceTo(end)
	r.quiet()
}

// write runs a transaction that must succeed, and what follows from it.
func (r *rig) write(do func(tx *store.Tx) error) {
	r.Helper()
	require.NoError(r, r.db.Write(r.Context(), do))
	r.quiet()
}

// session makes a session, a sub-agent's if label is not empty.
func (r *rig) session(key, label string) (s store.Session) {
	r.Helper()
	parsed, err := core.ParseSessionKey(key)
	require.NoError(r, err)
	r.write(func(tx *store.Tx) (err error) {
		s, err = tx.EnsureSession(store.Session{
			Key: key, Agent: parsed.Agent, Kind: parsed.Kind, Title: label, CreatedAt: r.world.Now(), UsedAt: r.world.Now(),
		})
		return err
	})
	return s
}

// child makes a sub-agent's session and its run.
func (r *rig) child(label string, change func(run *core.Run)) (store.Session, core.Run) {
	r.Helper()
	requester := r.session("agent:main:fake:default:group:Room", "")
	s := r.session("agent:main:subagent:"+label, label)
	run := core.Run{
		ID: "run-" + label, Root: "root", TaskID: "task-" + label, Session: s.ID, SessionKey: s.Key, Requester: requester.ID,
		RequesterID: requester.Key, Ordinal: 1, Completion: 1, Agent: "main", Role: "leaf", Task: label, Label: label, Origin: room,
		Status: core.RunQueued, Delivery: core.DeliveryPending, CreatedAt: r.world.Now(),
		Spec: core.SpawnSpec{Mode: "session", Cleanup: "keep"},
	}
	if change != nil {
		change(&run)
	}
	r.write(func(tx *store.Tx) error {
		if err := tx.InsertRun(run); err != nil {
			return err
		}
		// Something has to move it, or it does not count as live: here an intent.
		return tx.InsertIntent(store.Intent{Turn: run.Session, Kind: "test", Ref: run.ID})
	})
	return s, run
}

// focus binds a session in the thread of the room, in place.
func (r *rig) focus(s store.Session, thread string) (b core.Binding) {
	r.Helper()
	place := r.settings.Placement
	r.settings.Placement = core.PlacementCurrent
	r.write(func(tx *store.Tx) error {
		res, err := r.bindings.Focus(tx, command.FocusRequest{
			At: room.InThread(thread), Kind: core.Group, Session: s, Label: s.Title, Actor: alice,
		})
		b = res.Binding
		return err
	})
	r.settings.Placement = place
	require.Equal(r, core.BindingActive, b.Status)
	return b
}

// message is a person's message at an address, as intake handles it.
func (r *rig) message(at core.Address, text string) (found bool) {
	r.Helper()
	r.write(func(tx *store.Tx) error {
		b, bound, held, err := r.bindings.Resolve(tx, at)
		found = bound
		if err != nil || !bound {
			return err
		}
		row := store.Inbox{Session: b.Session, Kind: store.InboxMessage, Lane: store.LaneMain, ReplyTo: at, Body: text, At: r.world.Now()}
		if held {
			row.State = store.InboxHeld
		}
		if _, err := tx.InsertInbox(row); err != nil || held {
			return err
		}
		tx.OnCommit(func() { r.kernel.Wake(b.Session, store.LaneMain, false) })
		return tx.MarkReady(b.Session, r.world.Now())
	})
	return found
}

// post puts a message into the outbox.
func (r *rig) post(row store.Outbox) {
	r.Helper()
	r.write(func(tx *store.Tx) error {
		_, _, err := r.delivery.Post(tx, row)
		return err
	})
}

// binding reads a record.
func (r *rig) binding(id string) (b core.Binding) {
	r.Helper()
	require.NoError(r, r.db.Read(r.Context(), func(tx *store.Tx) (err error) {
		b, _, err = tx.BindingByID(id)
		return err
	}))
	return b
}

// archiveDue reads when a session is archived, after what.
func (r *rig) archiveDue(session int64) (due core.Millis) {
	r.Helper()
	require.NoError(r, r.db.Read(r.Context(), func(tx *store.Tx) error {
		s, err := tx.SessionByID(session)
		due = s.ArchiveDue
		return err
	}))
	return due
}

// turns is a runner whose turns note their input and end at once.
type turns struct {
	mu    sync.Mutex
	input []string
}

func (t *turns) RunTurn(ctx context.Context, l *kernel.Lease) error {
	return l.Step(ctx, func(tx *store.Tx) error {
		tx.OnCommit(func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			for _, row := range l.Rows {
				t.input = append(t.input, row.Body)
			}
		})
		if err := tx.EndTurn(l.Turn.ID, store.TurnDone, "", core.Usage{}, l.Turn.Started); err != nil {
			return err
		}
		return l.Release(tx)
	})
}

func (t *turns) seen() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.input...)
}

// engineConfig answers the sub-agent engine.
type engineConfig struct{ subagent.Config }

func (engineConfig) Subagents(string) subagent.Settings {
	return subagent.Settings{ArchiveAfter: time.Hour, MaxSpawnDepth: 1, MaxChildrenPerAgent: 5}
}

// fakeChannel is a channel with threads.
type fakeChannel struct {
	mu       sync.Mutex
	sent     []core.Outgoing
	trouble  map[core.Place]core.SendClass
	opened   map[string]core.Address // by intent
	closed   []core.Address
	archived []core.Address
	// openError and archiveError fail the next calls; onOpen runs in the middle
	// of opening a thread.
	openError, archiveError error
	onOpen                  func()
}

func newFakeChannel() *fakeChannel {
	return &fakeChannel{trouble: make(map[core.Place]core.SendClass), opened: make(map[string]core.Address)}
}

func (*fakeChannel) Describe() core.Capabilities {
	return core.Capabilities{TextLimit: 2000, TextUnit: "utf16", NativeIdempotency: true, Groups: true, Threads: true}
}
func (*fakeChannel) Run(ctx context.Context, _ core.Intake) error { <-ctx.Done(); return nil }
func (*fakeChannel) Probe(context.Context) core.Health            { return core.Health{OK: true} }

func (c *fakeChannel) Send(_ context.Context, out core.Outgoing) (core.Receipt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if class := c.trouble[out.Address.Place()]; class != "" {
		return core.Receipt{}, &core.SendError{Class: class}
	}
	c.sent = append(c.sent, out)
	return core.Receipt{ID: fmt.Sprint(len(c.sent))}, nil
}

func (*fakeChannel) BindingCapabilities(core.Address) core.BindingCapabilities {
	return core.BindingCapabilities{Placements: []core.Placement{core.PlacementChild, core.PlacementCurrent}, TitleLimit: 20}
}

func (c *fakeChannel) OpenChild(_ context.Context, req core.ChildRequest) (core.Address, []byte, error) {
	if c.onOpen != nil {
		c.onOpen()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.openError != nil {
		return core.Address{}, nil, c.openError
	}
	at := req.Parent.ParentConversation().InThread("t-" + req.Title)
	c.opened[req.Intent] = at
	return at, nil, nil
}

func (*fakeChannel) ProbeAddress(context.Context, core.Address) (core.PlaceState, error) {
	return core.PlaceExists, nil
}

func (c *fakeChannel) CloseChild(_ context.Context, at core.Address) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = append(c.closed, at)
	return nil
}

func (c *fakeChannel) FindChild(_ context.Context, req core.ChildRequest) (core.Address, []byte, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.opened[req.Intent]
	return at, nil, ok, nil
}

func (c *fakeChannel) Archive(_ context.Context, at core.Address) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.archiveError != nil {
		return c.archiveError
	}
	c.archived = append(c.archived, at)
	return nil
}

// texts returns what was sent to an address.
func (c *fakeChannel) texts(at core.Address) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, m := range c.sent {
		if m.Address.Same(at) {
			out = append(out, m.Text)
		}
	}
	return out
}

// forget empties the record of what was sent.
func (c *fakeChannel) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = nil
}

// fail makes sends to an address fail with a class, "" for no more.
func (c *fakeChannel) fail(at core.Address, class core.SendClass) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trouble[at.Place()] = class
}
