package threadbind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
)

// fixture is a service on a fake store and a fake channel with threads.
type fixture struct {
	t       *testing.T
	store   *fakeStore
	channel *fakeChannel
	set     Settings
	service *Service
	logged  bytes.Buffer
	ids     int
	now     core.Millis
}

// The people and sessions of a fixture.
const (
	sessionCats, sessionDogs int64 = 7, 8
)

var (
	team  = core.Address{Channel: "fake", Account: "default", Conversation: "Team"}
	alice = Actor{User: "fake:alice"}
	bob   = Actor{User: "fake:bob"}
	boss  = Actor{User: "fake:boss", Operator: true}
)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, store: newFakeStore(), channel: &fakeChannel{}, set: DefaultSettings(), now: t0}
	f.store.sessions[sessionCats] = fakeSession{key: "agent:main:subagent:cats", live: true}
	f.store.sessions[sessionDogs] = fakeSession{key: "agent:main:subagent:dogs", live: true}
	f.service = NewService(Options{
		Clock:    clock.Real{},
		Settings: func(string, string) Settings { return f.set },
		Adapter:  func(string, string) core.BindingAdapter { return f.channel },
		NewID:    func() string { f.ids++; return fmt.Sprintf("b%03d", f.ids) },
		Log:      slog.New(slog.NewTextHandler(&f.logged, nil)),
	})
	return f
}

// tx runs one transaction that must not fail, and commits its changes.
func (f *fixture) tx(do func(tx Tx) (Changes, error)) Changes {
	f.t.Helper()
	c, err := f.try(do)
	require.NoError(f.t, err)
	return c
}

// try runs one transaction and commits its changes unless it was rolled back.
func (f *fixture) try(do func(tx Tx) (Changes, error)) (c Changes, err error) {
	err = f.store.tx(func(tx Tx) error {
		c, err = do(tx)
		return err
	})
	if err != nil && core.ErrorCode(err) == "" {
		return Changes{}, err
	}
	f.service.Committed(context.Background(), c)
	return c, err
}

// refused runs one transaction that must be refused with code.
func (f *fixture) refused(code string, do func(tx Tx) (Changes, error)) Changes {
	f.t.Helper()
	c, err := f.try(do)
	require.Error(f.t, err)
	require.Equal(f.t, code, core.ErrorCode(err), err.Error())
	var refusal *core.Error
	require.ErrorAs(f.t, err, &refusal)
	require.NotEmpty(f.t, refusal.Remedy, "a refusal names the remedy")
	return c
}

func (f *fixture) wait(h float64) { f.now = f.now.Add(hours(h)) }

// request is alice asking for cats in the team's group.
func (f *fixture) request() Request {
	return Request{
		At: team, Kind: core.Group, Session: sessionCats, Target: core.TargetSubagent,
		Agent: "main", Label: "cats", Actor: alice,
	}
}

// focus binds a place in place.
func (f *fixture) focus(at core.Address, change func(r *Request)) core.Binding {
	f.t.Helper()
	req := f.request()
	req.At, req.Placement = at, core.PlacementCurrent
	if change != nil {
		change(&req)
	}
	var plan Plan
	f.tx(func(tx Tx) (c Changes, err error) {
		plan, c, err = f.service.Focus(tx, req, f.now)
		return c, err
	})
	require.Nil(f.t, plan.Child)
	require.Equal(f.t, core.BindingActive, plan.Binding.Status)
	return plan.Binding
}

// resolve is a message at an address.
func (f *fixture) resolve(at core.Address) Resolution {
	f.t.Helper()
	var r Resolution
	f.tx(func(tx Tx) (Changes, error) {
		var err error
		r, err = f.service.Resolve(tx, at, f.now)
		return r.Changes, err
	})
	return r
}

// binding returns the record with an id.
func (f *fixture) binding(id string) core.Binding {
	f.t.Helper()
	require.Contains(f.t, f.store.bindings, id)
	return f.store.bindings[id]
}

// posted returns the kinds and places of what was posted, in order.
func (f *fixture) posted() []string {
	var out []string
	for _, p := range f.store.posts {
		kind, _, _ := strings.Cut(p.key, "/")
		out = append(out, kind+" "+p.to.String())
	}
	return out
}

func (f *fixture) lastPost() string {
	f.t.Helper()
	require.NotEmpty(f.t, f.store.posts)
	return f.store.posts[len(f.store.posts)-1].text
}

// fakeChannel is a channel that opens threads, unless told otherwise.
type fakeChannel struct {
	caps     *core.BindingCapabilities
	opened   []core.ChildRequest
	closed   []core.Address
	archived []core.Address
	open     func(ctx context.Context, req core.ChildRequest) (core.Address, []byte, error)
	find     func(req core.ChildRequest) (core.Address, bool, error)
}

var (
	_ core.BindingAdapter = (*fakeChannel)(nil)
	_ core.ChildFinder    = (*fakeChannel)(nil)
	_ core.Archiver       = (*fakeChannel)(nil)
)

func (c *fakeChannel) BindingCapabilities(core.Address) core.BindingCapabilities {
	if c.caps != nil {
		return *c.caps
	}
	return core.BindingCapabilities{
		Placements: []core.Placement{core.PlacementChild, core.PlacementCurrent}, ThreadsInDirect: true, TitleLimit: 100,
	}
}

func (c *fakeChannel) OpenChild(ctx context.Context, req core.ChildRequest) (core.Address, []byte, error) {
	c.opened = append(c.opened, req)
	if c.open != nil {
		return c.open(ctx, req)
	}
	return req.Parent.ParentConversation().InThread(fmt.Sprintf("T%d", len(c.opened))), []byte(`{"n":1}`), nil
}

func (c *fakeChannel) FindChild(_ context.Context, req core.ChildRequest) (core.Address, []byte, bool, error) {
	if c.find == nil {
		return core.Address{}, nil, false, nil
	}
	at, ok, err := c.find(req)
	return at, nil, ok, err
}

func (c *fakeChannel) ProbeAddress(context.Context, core.Address) (core.PlaceState, error) {
	return core.PlaceExists, nil
}

func (c *fakeChannel) CloseChild(_ context.Context, at core.Address) error {
	c.closed = append(c.closed, at)
	return nil
}

func (c *fakeChannel) Archive(_ context.Context, at core.Address) error {
	c.archived = append(c.archived, at)
	return nil
}

var errDown = errors.New("the platform is down")
