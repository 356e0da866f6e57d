package bench_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/model/scripted"
)

// pipe is a channel without a platform: messages go in by a call and come out
// by another.
type pipe struct {
	in   chan core.Intake
	sent func(core.Outgoing)
}

func (p *pipe) Describe() core.Capabilities {
	return core.Capabilities{TextLimit: 16000, TextUnit: "utf16", NativeIdempotency: true, Direct: true, Groups: true, Threads: true}
}

func (p *pipe) Run(ctx context.Context, in core.Intake) error {
	p.in <- in
	<-ctx.Done()
	return nil
}

func (p *pipe) Send(_ context.Context, out core.Outgoing) (core.Receipt, error) {
	p.sent(out)
	return core.Receipt{ID: out.Key}, nil
}

func (p *pipe) Probe(context.Context) core.Health { return core.Health{OK: true} }

// rig is the runtime on a pipe and a model that answers at once.
type rig struct {
	app    *app.App
	intake core.Intake

	mu     sync.Mutex
	called map[string]chan time.Time // by text: when the model was called
	out    map[string]chan time.Time // by text: when the answer came out
	n      int
}

const rigConfig = `{
  models: { providers: { demo: { type: "scripted", file: "model.json5" } } },
  agents: { defaults: { model: "demo/m", subagents: { maxChildrenPerAgent: 20 } }, entries: { main: { instructions: "You help." } } },
  channels: { console: { dmPolicy: "open", groupPolicy: "open", requireMention: false, accounts: { default: {} } } },
  limits: { perUser: { messagesPerMinute: 0 } }, // one person sends everything
  store: { url: "sqlite:skein.db" },
}`

func newRig(tb testing.TB) *rig {
	tb.Helper()
	return newRigWith(tb, `{ rules: [] }`, nil)
}

// newRigWith has a model with rules, and may watch its requests.
func newRigWith(tb testing.TB, rules string, watch func(modelRequest)) *rig {
	tb.Helper()
	return newRigAt(tb, "sqlite:skein.db", rules, watch)
}

// newRigAt keeps its store at a URL.
func newRigAt(tb testing.TB, storeURL, rules string, watch func(modelRequest)) *rig {
	tb.Helper()
	dir := tb.TempDir()
	path := filepath.Join(dir, "skein.json5")
	require.NoError(tb, os.WriteFile(filepath.Join(dir, "model.json5"), []byte(rules), 0o600))
	require.NoError(tb, os.WriteFile(path, []byte(strings.Replace(rigConfig, "sqlite:skein.db", storeURL, 1)), 0o600))
	cfg, _, err := config.Load(path, config.Options{})
	require.NoError(tb, err)
	r := &rig{called: map[string]chan time.Time{}, out: map[string]chan time.Time{}}
	p := &pipe{in: make(chan core.Intake, 1)}
	p.sent = func(o core.Outgoing) { r.mark(r.out, strings.TrimPrefix(o.Text, "ok: ")) }
	r.app, err = app.New(app.Options{
		Config:   cfg,
		Channels: channels.New(channels.Entry{Name: "console", New: func(channels.Options) (core.Adapter, error) { return p, nil }}),
		Scripted: func(string) scripted.Options {
			return scripted.Options{OnRequest: func(req modelRequest) {
				r.mark(r.called, req.Items[len(req.Items)-1].Text)
				if watch != nil {
					watch(req)
				}
			}}
		},
	})
	require.NoError(tb, err)
	require.NoError(tb, r.app.Start(tb.Context()))
	r.intake = <-p.in
	tb.Cleanup(func() { require.NoError(tb, r.app.Stop(context.Background())) })
	return r
}

func (r *rig) mark(m map[string]chan time.Time, text string) {
	now := time.Now()
	r.mu.Lock()
	c := m[text]
	delete(m, text)
	r.mu.Unlock()
	if c != nil {
		c <- now
	}
}

// send puts one message in and returns when the model was called with it and
// when its answer came out.
func (r *rig) send(tb testing.TB, session string) (intake, toModel, toAnswer time.Duration) {
	tb.Helper()
	called, out := make(chan time.Time, 1), make(chan time.Time, 1)
	r.mu.Lock()
	r.n++
	text := fmt.Sprintf("message %d", r.n)
	r.called[text], r.out[text] = called, out
	id := fmt.Sprint(r.n)
	r.mu.Unlock()
	began := time.Now()
	err := r.intake.Receive(context.Background(), core.Message{
		ID: id, Event: core.EventMessage, Kind: core.Group, Text: text, Author: core.Author{ID: "u"},
		Address: core.Address{Conversation: session}, Cursor: core.Cursor{Name: "c", Value: id},
	})
	if err != nil {
		tb.Error(err) // may run in another goroutine
		return 0, 0, 0
	}
	intake = time.Since(began)
	toModel = (<-called).Sub(began)
	toAnswer = (<-out).Sub(began)
	return intake, toModel, toAnswer
}

// quantile returns the q-quantile of durations.
func quantile(d []time.Duration, q float64) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

// cpu is the processor time of this process so far.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
