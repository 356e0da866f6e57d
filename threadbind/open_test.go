package threadbind

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

// bind runs BindChild for a spawn whose session is cats. start is the rest of
// the second transaction; nil for nothing.
func (f *fixture) bind(plan Plan, start func() error) error {
	return f.rebind(plan, false, start)
}

func (f *fixture) rebind(plan Plan, resumed bool, start func() error) error {
	return f.service.BindChild(context.Background(), plan, resumed, Steps{
		Commit: func(o Opened) error {
			o.Session = sessionCats
			_, err := f.try(func(tx Tx) (Changes, error) {
				_, c, err := f.service.Activate(tx, plan.Binding.ID, o, f.now)
				if err == nil && start != nil {
					err = start()
				}
				return c, err
			})
			return err
		},
		Abort: func(error) (aborted bool, err error) {
			_, err = f.try(func(tx Tx) (c Changes, err error) {
				aborted, c, err = f.service.Abort(tx, plan.Binding.ID, f.now)
				return c, err
			})
			return aborted, err
		},
	})
}

// TestB059_BindRegisterStart: the binding comes first, then the run, then its
// start; a failure leaves no thread behind.
func TestB059_BindRegisterStart(t *testing.T) {
	t.Run("order", func(t *testing.T) {
		f := newFixture(t)
		var order []string
		f.channel.open = func(_ context.Context, req core.ChildRequest) (core.Address, []byte, error) {
			order = append(order, "open")
			return req.Parent.InThread("T1"), nil, nil
		}
		plan, err := f.spawn(nil)
		require.NoError(t, err)
		require.NoError(t, f.bind(plan, func() error {
			require.Equal(t, core.BindingActive, f.binding(plan.Binding.ID).Status, "bound before the run exists")
			order = append(order, "register")
			return nil
		}))
		order = append(order, "start")
		require.Equal(t, []string{"open", "register", "start"}, order)
		require.Equal(t, []string{"intro " + team.InThread("T1").String()}, f.posted())
		require.Empty(t, f.channel.closed)
	})
	t.Run("the second transaction fails", func(t *testing.T) {
		f := newFixture(t)
		plan, err := f.spawn(nil)
		require.NoError(t, err)
		require.ErrorIs(t, f.bind(plan, func() error { return errDown }), errDown)
		require.Equal(t, []core.Address{team.InThread("T1")}, f.channel.closed, "no thread is left")
		require.Equal(t, core.EndSpawnFailed, f.binding(plan.Binding.ID).Reason)
		require.Empty(t, f.store.posts)
		require.False(t, f.resolve(team.InThread("T1")).Found)
	})
	t.Run("the thread fails", func(t *testing.T) {
		f := newFixture(t)
		f.channel.open = func(context.Context, core.ChildRequest) (core.Address, []byte, error) {
			return core.Address{}, nil, errDown
		}
		plan, err := f.spawn(nil)
		require.NoError(t, err)
		lost := team.InThread("lost")
		f.channel.find = func(core.ChildRequest) (core.Address, bool, error) { return lost, true, nil }
		err = f.bind(plan, nil)
		require.Equal(t, CodeThreadFailed, core.ErrorCode(err))
		require.ErrorIs(t, err, errDown)
		require.Equal(t, []core.Address{lost}, f.channel.closed, "nobody knew whether it had opened")
		require.Equal(t, core.EndSpawnFailed, f.binding(plan.Binding.ID).Reason)
	})
}

func TestRefusedThreadIsNotLookedFor(t *testing.T) {
	f := newFixture(t)
	f.channel.open = func(context.Context, core.ChildRequest) (core.Address, []byte, error) {
		return core.Address{}, nil, &core.SendError{Class: core.SendForbidden}
	}
	f.channel.find = func(core.ChildRequest) (core.Address, bool, error) {
		t.Fatal("the platform said no")
		return core.Address{}, false, nil
	}
	plan, err := f.spawn(nil)
	require.NoError(t, err)
	require.Equal(t, CodeThreadFailed, core.ErrorCode(f.bind(plan, nil)))
}

func TestRestore(t *testing.T) {
	f := newFixture(t)
	plan, err := f.spawn(nil)
	require.NoError(t, err)
	restore := func(id string) (Plan, bool) {
		req := f.request()
		req.Automatic = true
		again, found, err := f.service.Restore(f.store, id, req)
		require.NoError(t, err)
		return again, found
	}
	again, found := restore(plan.Binding.ID)
	require.True(t, found)
	require.Equal(t, plan, again)

	require.NoError(t, f.bind(plan, nil))
	again, found = restore(plan.Binding.ID)
	require.True(t, found)
	require.Equal(t, core.BindingActive, again.Binding.Status)
	require.Nil(t, again.Child)

	_, err = f.unfocus(team.InThread("T1"), alice)
	require.NoError(t, err)
	_, found = restore(plan.Binding.ID)
	require.False(t, found)
	_, found = restore("zz")
	require.False(t, found)
}

// TestB065_EmptyDestination: an adapter that reports success without a
// destination gets the spawn refused and undone.
func TestB065_EmptyDestination(t *testing.T) {
	for name, at := range map[string]core.Address{
		"empty":           {},
		"no conversation": {Channel: "fake", Account: "default", Parent: "Team"},
		"the parent":      team,
		"another account": {Channel: "fake", Account: "second", Conversation: "Team", Thread: "T1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.channel.open = func(context.Context, core.ChildRequest) (core.Address, []byte, error) { return at, nil, nil }
			lost := team.InThread("lost")
			f.channel.find = func(req core.ChildRequest) (core.Address, bool, error) { return lost, true, nil }
			plan, err := f.spawn(nil)
			require.NoError(t, err)
			err = f.bind(plan, func() error { t.Fatal("the run must not be registered"); return nil })
			require.Equal(t, CodeThreadFailed, core.ErrorCode(err))
			require.Equal(t, core.EndSpawnFailed, f.binding(plan.Binding.ID).Reason)
			require.Equal(t, []core.Address{lost}, f.channel.closed, "what was opened is found by its intent")
		})
	}
}

func TestOpenTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.channel.open = func(ctx context.Context, _ core.ChildRequest) (core.Address, []byte, error) {
			<-ctx.Done()
			return core.Address{}, nil, context.Cause(ctx)
		}
		plan, err := f.spawn(nil)
		require.NoError(t, err)
		before := f.service.Clock.Now()
		err = f.bind(plan, nil)
		require.Equal(t, CodeThreadTimeout, core.ErrorCode(err))
		require.ErrorContains(t, err, "10s")
		require.Equal(t, OpenTimeout+3*time.Second, f.service.Clock.Now().Sub(before), "then it is looked for")
	})
}

// A request that was given up takes effect all the same, a moment later.
func TestAThreadThatOpensTooLateIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.channel.open = func(ctx context.Context, _ core.ChildRequest) (core.Address, []byte, error) {
			<-ctx.Done()
			return core.Address{}, nil, context.Cause(ctx)
		}
		looks := 0
		f.channel.find = func(core.ChildRequest) (core.Address, bool, error) {
			looks++
			return team.InThread("T9"), looks == 3, nil
		}
		plan, err := f.spawn(nil)
		require.NoError(t, err)
		require.Equal(t, CodeThreadTimeout, core.ErrorCode(f.bind(plan, nil)))
		require.Equal(t, []core.Address{team.InThread("T9")}, f.channel.closed)
	})
}

func TestResumedSpawnContinues(t *testing.T) {
	f := newFixture(t)
	plan, err := f.spawn(nil)
	require.NoError(t, err)
	f.channel.find = func(req core.ChildRequest) (core.Address, bool, error) {
		require.Equal(t, plan.Binding.ID, req.Intent)
		return team.InThread("T0"), true, nil
	}
	f.restart()
	require.NoError(t, f.rebind(plan, true, nil))
	require.Empty(t, f.channel.opened, "the thread of the first try is used")
	require.True(t, f.resolve(team.InThread("T0")).Found)
}

func TestResumedSpawnOpensWhatIsMissing(t *testing.T) {
	f := newFixture(t)
	plan, err := f.spawn(nil)
	require.NoError(t, err)
	require.NoError(t, f.rebind(plan, true, nil))
	require.Len(t, f.channel.opened, 1)
}

func TestResumedSpawnCannotAsk(t *testing.T) {
	f := newFixture(t)
	plan, err := f.spawn(nil)
	require.NoError(t, err)
	f.channel.find = func(core.ChildRequest) (core.Address, bool, error) { return core.Address{}, false, errDown }
	err = f.rebind(plan, true, nil)
	require.ErrorIs(t, err, errDown)
	require.Empty(t, f.channel.opened, "no second thread on a guess")
	require.Contains(t, f.logged.String(), "a thread of a failed binding remains")
}

func TestUnknownCommitKeepsTheThread(t *testing.T) {
	f := newFixture(t)
	plan, err := f.spawn(nil)
	require.NoError(t, err)
	lost := errors.New("connection lost after COMMIT")
	err = f.service.BindChild(context.Background(), plan, false, Steps{
		Commit: func(o Opened) error {
			o.Session = sessionCats
			f.tx(func(tx Tx) (Changes, error) {
				_, c, err := f.service.Activate(tx, plan.Binding.ID, o, f.now)
				return c, err
			})
			return lost
		},
		Abort: func(cause error) (aborted bool, err error) {
			require.Equal(t, lost, cause)
			f.tx(func(tx Tx) (c Changes, err error) {
				aborted, c, err = f.service.Abort(tx, plan.Binding.ID, f.now)
				return c, err
			})
			return aborted, nil
		},
	})
	require.ErrorIs(t, err, lost)
	require.Empty(t, f.channel.closed, "the binding is active: its thread stays")
	require.True(t, f.resolve(team.InThread("T1")).Found)
}

func TestFailedAbortKeepsTheThread(t *testing.T) {
	f := newFixture(t)
	plan, err := f.spawn(nil)
	require.NoError(t, err)
	err = f.service.BindChild(context.Background(), plan, false, Steps{
		Commit: func(Opened) error { return errDown },
		Abort:  func(error) (bool, error) { return false, errors.New("store closed") },
	})
	require.ErrorIs(t, err, errDown)
	require.ErrorContains(t, err, "store closed")
	require.Empty(t, f.channel.closed, "the intent continues after a restart")
}

func TestBindChildWithoutAnAdapter(t *testing.T) {
	f := newFixture(t)
	plan, err := f.spawn(nil)
	require.NoError(t, err)
	f.service.Adapter = func(string, string) core.BindingAdapter { return nil }
	require.Equal(t, CodeThreadFailed, core.ErrorCode(f.bind(plan, nil)))
	require.Error(t, f.service.Undo(t.Context(), *plan.Child, core.Address{}))
	require.NoError(t, f.service.Archive(t.Context(), ArchiveRequest{Address: team}))
}

// plainChannel cannot find what a crash left behind, nor archive.
type plainChannel struct{ core.BindingAdapter }

func TestUndoWithoutAFinder(t *testing.T) {
	f := newFixture(t)
	plan, err := f.spawn(nil)
	require.NoError(t, err)
	f.service.Adapter = func(string, string) core.BindingAdapter { return plainChannel{f.channel} }
	require.ErrorIs(t, f.service.Undo(t.Context(), *plan.Child, core.Address{}), ErrCannotTell)
	require.Empty(t, f.channel.closed)
	require.NoError(t, f.service.Undo(t.Context(), *plan.Child, team.InThread("T1")))
	require.Len(t, f.channel.closed, 1)
}
