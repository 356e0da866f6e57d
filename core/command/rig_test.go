package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/words"
	"github.com/skein-bot/skein/core/world"
)

// room is the group in which these tests are.
var room = core.Address{Channel: "fake", Account: "default", Conversation: "Room"}

// rig is a set of commands on a real store and the real engine.
type rig struct {
	*testing.T
	path     string
	clock    *clock.Virtual
	world    *world.World
	db       *store.DB
	set      Set
	config   *fakeConfig
	bindings *fakeBindings
	typing   int
	messages int
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{
		T: t, path: pgtest.StoreURL(t, filepath.Join(t.TempDir(), "skein.db")), clock: clock.NewVirtual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), new(world.Work)),
		config: &fakeConfig{names: map[string]string{"main": "", "research": "ResearchBot"}}, bindings: &fakeBindings{bindable: true},
	}
	r.start()
	t.Cleanup(func() { require.NoError(t, r.db.Close()) })
	return r
}

func (r *rig) start() {
	r.world = world.New(r.clock, nil, uint64(r.clock.Now().UnixMilli()))
	var err error
	r.db, err = store.Open(r.Context(), pgtest.Options(r.path, r.world))
	require.NoError(r, err)
	engine := subagent.New(subagent.Options{
		World: r.world, DB: r.db, Log: slog.New(slog.DiscardHandler), Config: engineConfig{}, Bindings: engineBindings{}, Poster: poster{},
	})
	engine.SetKernel(noKernel{})
	r.bindings.world = r.world
	r.set = New(Options{
		World: r.world, DB: r.db, Log: slog.New(slog.DiscardHandler), Config: r.config, Bindings: r.bindings, Stopper: engine, Spawner: engine, Kernel: noKernel{},
		Poster: poster{}, Presence: r,
	})
}

// restart is a crash and a new process.
func (r *rig) restart() {
	r.Helper()
	r.world.Cut()
	require.NoError(r, r.db.Close())
	r.start()
}

func (r *rig) Typing(context.Context, core.Address) { r.typing++ }

// request is alice's command in the room, whose session exists.
func (r *rig) request(text string) Request {
	r.Helper()
	l, ok := Parse(text)
	require.True(r, ok)
	r.messages++
	return Request{
		Name: l.Name, Args: l.Args, Actor: "fake:alice", AgentID: "main", Key: core.GroupKey("main", room), Session: r.session("agent:main:fake:default:group:Room", "", 0),
		Message: core.Message{
			ID: fmt.Sprintf("m%d", r.messages), Event: core.EventMessage, Address: room, Kind: core.Group,
			Author: core.Author{ID: "alice", Name: "Alice"}, Text: text,
		},
		Now: r.world.Now(),
	}
}

// run runs a command that must not fail, and what comes after it, and returns
// its one answer.
func (r *rig) run(req Request) string {
	r.Helper()
	text, err := r.try(req)
	require.NoError(r, err)
	return text
}

// refused runs a command that must be refused.
func (r *rig) refused(code string, req Request) string {
	r.Helper()
	_, err := r.try(req)
	require.Equal(r, code, core.ErrorCode(err), "%v", err)
	return err.Error()
}

func (r *rig) try(req Request) (string, error) {
	r.Helper()
	reply, refusal := r.commit(req)
	if refusal != nil {
		var coded *core.Error
		require.ErrorAs(r, refusal, &coded)
		require.LessOrEqual(r, units(english.Refusal(coded)), smallestMessage)
		return "", refusal
	}
	require.Equal(r, store.OutCommand, reply.Kind)
	require.LessOrEqual(r, units(reply.Text), smallestMessage)
	require.NotEqual(r, reply.Silent, reply.Text != "", "either a text, or the effect answers")
	if reply.After != nil {
		reply.After(r.Context())
	}
	return reply.Text, nil
}

// commit runs a command in its transaction, as intake does: a refusal is
// committed.
func (r *rig) commit(req Request) (reply Reply, refusal error) {
	r.Helper()
	require.NoError(r, r.db.Write(r.Context(), func(tx *store.Tx) (err error) {
		reply, err = r.set.Run(tx, req)
		refusal = nil
		if core.ErrorCode(err) != "" {
			refusal, err = err, nil
		}
		return err
	}))
	return reply, refusal
}

func (r *rig) write(do func(tx *store.Tx) error) {
	r.Helper()
	require.NoError(r, r.db.Write(r.Context(), do))
}

// session makes a session.
func (r *rig) session(key, title string, parent int64) (s store.Session) {
	r.Helper()
	parsed, err := core.ParseSessionKey(key)
	require.NoError(r, err)
	r.write(func(tx *store.Tx) (err error) {
		s, err = tx.EnsureSession(store.Session{
			Key: key, Agent: parsed.Agent, Kind: parsed.Kind, Title: title, Parent: parent, CreatedAt: r.world.Now(), UsedAt: r.world.Now(),
		})
		return err
	})
	return s
}

// child makes a running sub-agent of a session.
func (r *rig) child(of store.Session, label string, change func(*core.Run)) core.Run {
	r.Helper()
	id := r.world.NewID()
	s := r.session("agent:main:subagent:"+id, label, of.ID)
	run := core.Run{
		ID: id, Root: "root", TaskID: "t" + id, Session: s.ID, SessionKey: s.Key, Requester: of.ID, RequesterID: of.Key, Completion: 1,
		Agent: "main", Role: "leaf", Depth: 1, Task: "find out about " + label, Label: label, Origin: room, Status: core.RunRunning,
		Delivery: core.DeliveryPending, CreatedAt: r.world.Now(), StartedAt: r.world.Now(), Owner: "fake:alice",
		Spec: core.SpawnSpec{Mode: "run", Context: "isolated", Cleanup: "keep", Model: "local/m1"},
	}
	if change != nil {
		change(&run)
	}
	r.write(func(tx *store.Tx) (err error) {
		if run.Ordinal, err = tx.NextOrdinal(of.ID); err != nil {
			return err
		}
		if err := tx.InsertRun(run); err != nil {
			return err
		}
		// Something has to move it, or it does not count as live: here a wait.
		if err := tx.InsertWait(store.Wait{Turn: run.Session, Session: run.Session, Run: run.ID, Kind: "children"}); err != nil || run.Status == core.RunQueued {
			return err
		}
		return tx.SetRunStatus(run.ID, core.RunRunning, run.StartedAt)
	})
	return run
}

// end ends a run.
func (r *rig) end(run core.Run, d core.Delivery) {
	r.Helper()
	r.write(func(tx *store.Tx) error {
		_, err := tx.EndRun(run.ID, core.RunOK, "", "done", false, d, r.world.Now())
		return err
	})
}

// bind makes an active binding of a session.
func (r *rig) bind(session int64, label string, at core.Address) core.Binding {
	r.Helper()
	b := core.Binding{
		ID: r.world.NewID(), Address: at, Session: session, Label: label, Owner: "fake:alice", Placement: core.PlacementChild,
		Status: core.BindingActive, BoundAt: r.world.Now(),
	}
	r.write(func(tx *store.Tx) error { return tx.InsertBinding(b) })
	return b
}

// say adds a turn to a session's transcript.
func (r *rig) say(session int64, items ...model.Item) {
	r.Helper()
	r.write(func(tx *store.Tx) error {
		turn, err := tx.InsertTurn(store.Turn{Session: session, Generation: 1, Kind: store.InboxMessage, Lane: store.LaneMain})
		if err != nil {
			return err
		}
		for i, item := range items {
			row := store.Row{Session: session, Generation: 1, Turn: turn.ID, Seq: i, Kind: string(item.Kind), Body: item.Encode()}
			if _, err := tx.AppendRow(row); err != nil {
				return err
			}
		}
		return tx.EndTurn(turn.ID, store.TurnDone, "", core.Usage{}, r.world.Now())
	})
}

// posted returns the texts of the outbox, oldest first.
func (r *rig) posted() (texts []string) {
	r.Helper()
	require.NoError(r, r.db.Read(r.Context(), func(tx *store.Tx) error {
		rows, err := tx.OpenOutbox(room.Channel, room.Account, 0, 1000)
		for _, row := range rows {
			require.Equal(r, store.OutCommand, row.Kind)
			require.True(r, row.Address.Same(room))
			texts = append(texts, row.Text)
		}
		return err
	}))
	return texts
}

// openIntents counts the intents that are not closed.
func (r *rig) openIntents() (n int) {
	r.Helper()
	require.NoError(r, r.db.Read(r.Context(), func(tx *store.Tx) error {
		open, err := tx.OpenIntents(1<<62, 1000)
		n = len(open)
		return err
	}))
	return n
}

type poster struct{}

func (poster) Post(tx *store.Tx, row store.Outbox) (int64, bool, error) { return tx.InsertOutbox(row) }

func (poster) Withdraw(tx *store.Tx, session int64) (int64, error) {
	return tx.WithdrawOutbox(session, 0)
}

func (poster) Reissue(*store.Tx, store.Outbox, string) error { return nil }
func (poster) DropPreview(*store.Tx, int64) error            { return nil }

type noKernel struct{}

func (noKernel) Wake(int64, store.Lane, bool) {}
func (noKernel) Running(int64) bool           { return false }
func (noKernel) Cancel(int64, error) bool     { return false }
func (noKernel) Due(core.Millis)              {}

type engineConfig struct{ subagent.Config }

func (engineConfig) Subagents(string) subagent.Settings { return subagent.Settings{} }

type engineBindings struct{ subagent.Bindings }

func (engineBindings) RunEnded(core.Run) {}

// fakeConfig has agents by id, with their declared names.
// english is the language of the texts that other tests and scripts compare.
var english words.Language

type fakeConfig struct {
	names     map[string]string
	language  words.Language
	limits    subagent.Limits
	usdPerDay float64
	models    []string
	toolset   policy.Toolset
	scope     agent.Scope // that the tools were asked of
}

func (c *fakeConfig) Limits(string) subagent.Limits      { return c.limits }
func (c *fakeConfig) USDPerDay(string, string) float64   { return c.usdPerDay }
func (c *fakeConfig) Models() (refs, providers []string) { return c.models, []string{"local/…"} }
func (c *fakeConfig) PolicyOf(m core.Message) string     { return "policy of " + m.Author.ID }
func (c *fakeConfig) Tools(s agent.Scope) policy.Toolset {
	c.scope = s
	return c.toolset
}
func (c *fakeConfig) AgentIDs() []string         { return []string{"main", "research"} }
func (c *fakeConfig) AgentName(id string) string { return c.names[id] }
func (*fakeConfig) Model(string) string          { return "local/m0" }
func (*fakeConfig) FindModel(name string) (string, bool) {
	return "local/m1", name == "m1" || name == "local/m1"
}
func (*fakeConfig) DirectScope() core.DirectScope             { return core.ScopePerChannelPeer }
func (c *fakeConfig) Language() words.Language                { return c.language }
func (*fakeConfig) QueueMode(string, string) kernel.QueueMode { return kernel.QueueSteer }

// fakeBindings binds in place, or in a thread if child is set.
type fakeBindings struct {
	world    *world.World
	child    bool
	bindable bool
	refuse   *core.Error // of every call in a transaction
	openErr  error
	onOpen   func()
	text     string

	mu      sync.Mutex
	focused []FocusRequest
	resumed []bool
	pending map[string]bool
	calls   []string
}

func (b *fakeBindings) note(format string, args ...any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, fmt.Sprintf(format, args...))
	if b.refuse != nil {
		return b.refuse
	}
	return nil
}

func (b *fakeBindings) Focus(_ *store.Tx, req FocusRequest) (subagent.Reservation, error) {
	if err := b.note("focus %s", req.Label); err != nil {
		return subagent.Reservation{}, err
	}
	b.focused = append(b.focused, req)
	id := b.world.NewID()
	res := subagent.Reservation{Binding: core.Binding{ID: id, Label: req.Label, Session: req.Session.ID}}
	if b.child {
		if b.pending == nil {
			b.pending = make(map[string]bool)
		}
		b.pending[id] = true
		res.Child = &core.ChildRequest{Parent: req.At, Title: req.Label, Intent: req.Intent}
	}
	return res, nil
}

func (b *fakeBindings) Restore(_ *store.Tx, id string, req subagent.BindRequest) (subagent.Reservation, bool, error) {
	if !b.pending[id] {
		return subagent.Reservation{}, false, nil
	}
	return subagent.Reservation{
		Binding: core.Binding{ID: id, Label: req.Text}, Child: &core.ChildRequest{Parent: req.At, Title: req.Text, Intent: req.Intent},
	}, true, nil
}

func (b *fakeBindings) Open(
	_ context.Context, r subagent.Reservation, resumed bool, commit func(subagent.Opened) error, abort func(error) (bool, error),
) error {
	if b.onOpen != nil {
		b.onOpen()
	}
	b.resumed = append(b.resumed, resumed)
	err := b.openErr
	if err == nil {
		err = commit(subagent.Opened{Address: r.Child.Parent.InThread("t")})
	}
	if err != nil {
		_, abortErr := abort(err)
		return errors.Join(err, abortErr)
	}
	return nil
}

func (b *fakeBindings) Activate(_ *store.Tx, id string, _ subagent.Opened, _ int64, _ string) (core.Binding, error) {
	delete(b.pending, id)
	return core.Binding{ID: id, Label: "cats"}, nil
}

func (b *fakeBindings) Abort(_ *store.Tx, id string) (bool, error) {
	was := b.pending[id]
	delete(b.pending, id)
	return was, nil
}

func (b *fakeBindings) Unfocus(_ *store.Tx, at core.Address, actor Actor) (string, error) {
	return b.text, b.note("unfocus %s %s %t", at, actor.User, actor.Operator)
}

func (b *fakeBindings) Limit(_ *store.Tx, at core.Address, l Limit) (string, error) {
	return b.text, b.note("show %s %s", at, l)
}

func (b *fakeBindings) SetLimit(_ *store.Tx, at core.Address, l Limit, value string, actor Actor) (string, error) {
	return b.text, b.note("set %s %s %q %s", at, l, value, actor.User)
}

func (*fakeBindings) Expiry(*store.Tx, core.Binding) (string, error) {
	return "expires in 1d (idle)", nil
}
func (b *fakeBindings) Bindable(core.Address) bool { return b.bindable }
