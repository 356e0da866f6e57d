package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
	"github.com/skein-bot/skein/core/world"
)

// tb is what testing.T, testing.B and rapid.T have in common.
type tb interface {
	require.TestingT
	Helper()
	Logf(format string, args ...any)
	Cleanup(f func())
	Context() context.Context
}

// fault is what the platform does with one call.
type fault struct {
	class   core.SendClass // the answer; "" for a receipt
	after   time.Duration
	effect  bool // the message is there all the same
	empty   bool // a receipt without an id
	hang    bool // no answer before the deadline
	slow    time.Duration
	panics  bool
	unknown bool // an error that is not classified
}

// platform is a chat platform that keeps what it was sent.
type platform struct {
	native bool
	clock  core.Clock

	mu     sync.Mutex
	calls  []core.Outgoing
	posts  []core.Outgoing
	ids    map[string]string
	times  []time.Duration // of the calls, since the start
	start  time.Time
	script func(out core.Outgoing, call int) fault
	active int
	most   int

	every time.Duration // StreamEvery
	edits []string      // "id text" of every edit that took place
	asked int           // calls of Replace and Delete
	edit  func(id string, call int) fault
}

func newPlatform(native bool, c core.Clock) *platform {
	return &platform{native: native, clock: c, ids: make(map[string]string), start: c.Now()}
}

func (p *platform) Describe() core.Capabilities {
	return core.Capabilities{TextLimit: 2000, TextUnit: "utf16", NativeIdempotency: p.native, Groups: true, Threads: true, StreamEvery: p.every}
}
func (p *platform) Run(context.Context, core.Intake) error { return nil }
func (p *platform) Probe(context.Context) core.Health      { return core.Health{OK: true} }

func (p *platform) Send(ctx context.Context, out core.Outgoing) (core.Receipt, error) {
	p.mu.Lock()
	p.calls = append(p.calls, out)
	p.times = append(p.times, p.clock.Now().Sub(p.start))
	var f fault
	if p.script != nil {
		f = p.script(out, len(p.calls))
	}
	p.active++
	p.most = max(p.most, p.active)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.active--
		p.mu.Unlock()
	}()
	if f.hang {
		f.slow = time.Hour
	}
	if f.slow > 0 {
		if err := p.clock.Sleep(ctx, f.slow); err != nil {
			f = fault{class: core.SendAmbiguous, effect: f.effect}
		}
	}
	return p.answer(out, f)
}

func (p *platform) answer(out core.Outgoing, f fault) (core.Receipt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	refused := f.class != "" || f.panics || f.unknown
	id, known := p.ids[out.Key]
	if !known && (!refused || f.effect) {
		id = fmt.Sprintf("m%d", len(p.posts)+1)
		p.posts = append(p.posts, out)
		if p.native {
			p.ids[out.Key] = id
		}
	}
	switch {
	case f.panics:
		panic("adapter")
	case f.unknown:
		return core.Receipt{}, errors.New("something went wrong")
	case refused:
		return core.Receipt{}, &core.SendError{Class: f.class, RetryAfter: f.after, Err: errors.New("refused by the platform")}
	case f.empty:
		return core.Receipt{}, nil
	}
	return core.Receipt{ID: id}, nil
}

// Replace and Delete change the post with the id; a deleted one has no text.
func (p *platform) Replace(ctx context.Context, id string, with core.Outgoing) error {
	return p.change(ctx, id, with.Text, with.Draft)
}

func (p *platform) Delete(ctx context.Context, _ core.Address, id string) error {
	return p.change(ctx, id, "", false)
}

func (p *platform) change(ctx context.Context, id, text string, draft bool) error {
	p.mu.Lock()
	p.asked++
	var f fault
	if p.edit != nil {
		f = p.edit(id, p.asked)
	}
	p.mu.Unlock()
	if f.panics {
		panic("adapter")
	}
	if f.slow > 0 {
		if err := p.clock.Sleep(ctx, f.slow); err != nil {
			return &core.SendError{Class: core.SendAmbiguous, Err: err}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.class == "" || f.effect {
		var n int
		_, _ = fmt.Sscanf(id, "m%d", &n)
		if post := &p.posts[n-1]; post.Text == "" {
			f.class = core.SendInvalid
		} else {
			post.Text, post.Draft = text, draft
			p.edits = append(p.edits, id+" "+text)
		}
	}
	if f.class != "" {
		return &core.SendError{Class: f.class, RetryAfter: f.after, Err: errors.New("refused by the platform")}
	}
	return nil
}

// seen returns what stands on the platform; drafts are marked.
func (p *platform) seen() (out []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.posts {
		switch {
		case m.Draft && m.Text != "":
			out = append(out, m.Text+"...")
		case m.Text != "":
			out = append(out, m.Text)
		}
	}
	return out
}

// sending returns how many sends are on their way.
func (p *platform) sending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.active
}

// edited returns the edits that took place.
func (p *platform) edited() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.edits)
}

// always answers every call with f.
func always(f fault) func(core.Outgoing, int) fault {
	return func(core.Outgoing, int) fault { return f }
}

// first answers the first n calls with f.
func first(n int, f fault) func(core.Outgoing, int) fault {
	return func(_ core.Outgoing, call int) fault {
		if call <= n {
			return f
		}
		return fault{}
	}
}

func (p *platform) setScript(f func(core.Outgoing, int) fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script = f
}

// texts returns what people see, in order.
func (p *platform) texts() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, m := range p.posts {
		out = append(out, m.Text)
	}
	return out
}

// called returns when calls were made, in seconds.
func (p *platform) called() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []int
	for _, d := range p.times {
		out = append(out, int(d/time.Second))
	}
	return out
}

// journal keeps the log.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) Enabled(context.Context, slog.Level) bool { return true }
func (j *journal) WithAttrs([]slog.Attr) slog.Handler       { return j }
func (j *journal) WithGroup(string) slog.Handler            { return j }
func (j *journal) Handle(_ context.Context, r slog.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, r.Level.String()+" "+r.Message)
	return nil
}

func (j *journal) count(part string) (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range j.lines {
		if strings.Contains(l, part) {
			n++
		}
	}
	return n
}

// rig is a delivery in a world with a virtual clock. restart and kill put
// another process in its place.
type rig struct {
	t        tb
	path     string
	work     *world.Work
	clock    *clock.Virtual
	platform *platform
	log      *journal
	opts     Options

	world *world.World
	db    *store.DB
	s     *Service

	mu     sync.Mutex
	sent   []int64
	gaveUp []store.Outbox
}

func newRig(t tb, dir string, native bool, with func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, path: pgtest.StoreURL(t, filepath.Join(dir, "skein.db")), work: new(world.Work), log: new(journal)}
	r.clock = clock.NewVirtual(time.UnixMilli(1_700_000_000_000), r.work)
	r.platform = newPlatform(native, r.clock)
	r.opts = Options{
		Log: slog.New(r.log), Instance: "test",
		OnSent: func(tx *store.Tx, row store.Outbox, _ core.Millis) error {
			tx.OnCommit(func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.sent = append(r.sent, row.ID)
			})
			return nil
		},
		OnGaveUp: func(tx *store.Tx, row store.Outbox, _ core.Millis) error {
			tx.OnCommit(func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.gaveUp = append(r.gaveUp, row)
			})
			return nil
		},
	}
	if with != nil {
		with(&r.opts)
	}
	r.up()
	r.quiet()
	return r
}

// streaming has the platform show answers while they are written.
func (r *rig) streaming() {
	r.platform.every = time.Second
	r.restart()
}

func (r *rig) account() Account { return Account{Channel: "fake", ID: "default", Adapter: r.platform} }

// up starts a process on the store.
func (r *rig) up() {
	r.t.Helper()
	r.world = world.New(r.clock, r.work, 7)
	var err error
	r.db, err = store.Open(context.Background(), pgtest.Options(r.path, r.world))
	require.NoError(r.t, err)
	opts := r.opts
	opts.DB, opts.World = r.db, r.world
	r.s = New(opts)
	r.s.Start([]Account{r.account()})
}

// down stops the process: gracefully, or, where its world is cut, as a kill.
func (r *rig) down() {
	r.t.Helper()
	r.s.Stop(context.Background())
	require.NoError(r.t, r.db.Close())
	n, _ := r.work.State()
	require.Zero(r.t, n, "a process that ended holds no work: %s", r.work.Holders())
}

func (r *rig) restart() {
	r.t.Helper()
	r.down()
	r.up()
	r.quiet()
}

func (r *rig) kill() {
	r.t.Helper()
	r.world.Cut()
	r.restart()
}

// quiet waits until nothing is in progress.
func (r *rig) quiet() {
	r.t.Helper()
	require.NoError(r.t, r.work.Zero(context.Background()))
}

// advance lets d pass, from one due time to the next, quiet between.
func (r *rig) advance(d time.Duration) {
	r.t.Helper()
	end := r.clock.Now().Add(d)
	for {
		r.quiet()
		due, ok := r.clock.Next()
		if !ok || due.After(end) {
			break
		}
		r.clock.AdvanceTo(due)
	}
	r.clock.AdvanceTo(end)
	r.quiet()
}

func address(conversation, thread string) core.Address {
	return core.Address{Channel: "fake", Account: "default", Conversation: conversation, Thread: thread}
}

// message returns a row; it is a final answer in the conversation "c".
func message(text string) store.Outbox {
	return store.Outbox{Kind: store.OutFinal, Address: address("c", ""), Text: text}
}

// write puts rows into the outbox in one transaction.
func (r *rig) write(rows ...store.Outbox) (ids []int64) {
	r.t.Helper()
	require.NoError(r.t, r.db.Write(context.Background(), func(tx *store.Tx) error {
		ids = nil
		for _, row := range rows {
			id, _, err := r.s.Post(tx, row)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return nil
	}))
	return ids
}

// post puts rows into the outbox and waits until all is quiet.
func (r *rig) post(rows ...store.Outbox) []int64 {
	r.t.Helper()
	ids := r.write(rows...)
	r.quiet()
	return ids
}

func (r *rig) row(id int64) (row store.Outbox) {
	r.t.Helper()
	require.NoError(r.t, r.db.Read(context.Background(), func(tx *store.Tx) (err error) {
		row, err = tx.OutboxByID(id)
		return err
	}))
	return row
}

func (r *rig) receipts(id int64) (ids []string) {
	r.t.Helper()
	require.NoError(r.t, r.db.Read(context.Background(), func(tx *store.Tx) (err error) {
		ids, err = tx.SentParts(id)
		return err
	}))
	return ids
}

func (r *rig) tx(f func(tx *store.Tx) error) error { return r.db.Write(context.Background(), f) }

func (r *rig) status() Status { return r.s.Status()[0] }

func (r *rig) givenUp() []store.Outbox {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.gaveUp)
}

// eachLine is a splitter that makes a part of each line.
func eachLine(text string, _ core.Capabilities) []string { return strings.Split(text, "\n") }
