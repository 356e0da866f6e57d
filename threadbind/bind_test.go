package threadbind

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

func TestFocusInPlace(t *testing.T) {
	f := newFixture(t)
	b := f.focus(team, nil)
	require.Equal(t, core.Binding{
		ID: "b001", Address: team, Session: sessionCats, SessionKey: "agent:main:subagent:cats", Target: core.TargetSubagent,
		Agent: "main", Label: "cats", Owner: alice.User, Placement: core.PlacementCurrent,
		BoundAt: t0, LastActivity: t0, Due: t0.Add(hours(24)), Status: core.BindingActive,
	}, b)
	require.Equal(t, []string{"intro " + team.String()}, f.posted(), "the intro is the answer")
	require.Contains(t, f.logged.String(), "binding active")
}

func TestFocusRefusals(t *testing.T) {
	tests := []struct {
		name   string
		set    func(f *fixture)
		req    func(r *Request)
		code   string
		saying string
	}{
		{name: "disabled", set: func(f *fixture) { f.set.Enabled = false }, code: CodeBindingsDisabled, saying: "session.threadBindings.enabled"},
		{
			name: "disabled by a channel", code: CodeBindingsDisabled, saying: "channels.fake.threadBindings.enabled",
			set: func(f *fixture) { f.set.Enabled, f.set.EnabledKey = false, "channels.fake.threadBindings.enabled" },
		},
		{name: "no sender id", req: func(r *Request) { r.Actor = Actor{} }, code: CodeNotOwner},
		{name: "no sender id, operator", req: func(r *Request) { r.Actor = Actor{Operator: true} }, code: CodeNotOwner},
		{name: "no session", req: func(r *Request) { r.Session = 99 }, code: CodeTargetUnknown},
		{name: "session missing", req: func(r *Request) { r.Session = 0 }, code: CodeTargetUnknown},
		{name: "no adapter", set: func(f *fixture) { f.service.Adapter = func(string, string) core.BindingAdapter { return nil } }, code: CodeNotBindable},
		{
			name: "no child", code: CodeNotBindable, req: func(r *Request) { r.Placement = core.PlacementChild },
			set: func(f *fixture) { caps := currentCaps(); f.channel.caps = &caps },
		},
		{name: "spawning off", set: func(f *fixture) { f.set.SpawnSessions = false }, code: CodeSpawnSessionsDisabled},
		{name: "quota", set: func(f *fixture) { f.set.MaxPerUser = 1; f.focus(team.InThread("T1"), nil) }, code: CodeQuota, saying: "1 of at most 1"},
		{
			name: "someone else's", code: CodeAlreadyFocused, saying: "cats",
			set: func(f *fixture) { f.focus(team, func(r *Request) { r.Actor = bob }) },
			req: func(r *Request) { r.Placement = core.PlacementCurrent },
		},
		{
			name: "someone else's, quota full", code: CodeAlreadyFocused,
			set: func(f *fixture) {
				f.focus(team, func(r *Request) { r.Actor = bob })
				f.focus(team.InThread("T1"), nil)
				f.set.MaxPerUser = 1
			},
			req: func(r *Request) { r.Placement = core.PlacementCurrent },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			if tt.set != nil {
				tt.set(f)
			}
			before, posts := len(f.store.bindings), len(f.store.posts)
			req := f.request()
			if tt.req != nil {
				tt.req(&req)
			}
			f.refused(tt.code, func(tx Tx) (Changes, error) {
				_, c, err := f.service.Focus(tx, req, f.now)
				if err != nil {
					require.ErrorContains(t, err, tt.saying)
				}
				return c, err
			})
			require.Len(t, f.store.bindings, before, "nothing was reserved")
			require.Len(t, f.store.posts, posts)
		})
	}
}

func TestFocusReplaces(t *testing.T) {
	tests := map[string]struct {
		actor    Actor
		override bool
	}{
		"the owner":   {alice, false},
		"an operator": {boss, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.set.MaxPerUser = 1
			own := hours(3)
			old := f.focus(team, func(r *Request) { r.Idle = &own })
			f.wait(1)
			b := f.focus(team, func(r *Request) { r.Session, r.Label, r.Actor = sessionDogs, "dogs", tt.actor })
			require.Equal(t, core.EndReplaced, f.binding(old.ID).Reason)
			require.Equal(t, []string{"intro " + team.String(), "intro " + team.String()}, f.posted(), "one message")
			require.Equal(t, sessionDogs, f.resolve(team).Binding.Session)
			require.Equal(t, tt.override, strings.Contains(f.logged.String(), "an operator overrides"))
			if tt.override {
				require.Nil(t, b.Idle)
			} else {
				require.Equal(t, ownLimit(own), b.Idle, "a limit of /session survives a re-bind by the same owner")
			}
		})
	}
}

func TestFocusAgainRestartsTheClock(t *testing.T) {
	f := newFixture(t)
	f.set.MaxAge = hours(10)
	b := f.focus(team, nil)
	f.wait(9)
	again := f.focus(team, func(r *Request) { r.Placement = "" })
	require.Equal(t, b.ID, again.ID, "in place, although the default is a thread")
	require.Equal(t, f.now, again.BoundAt)
	require.Len(t, f.store.posts, 2, "the intro answers the command")
	f.wait(9)
	require.True(t, f.resolve(team).Found)
	f.wait(1)
	require.False(t, f.resolve(team).Found)
}

func TestFocusAfterTheEndKeepsOwnLimits(t *testing.T) {
	f := newFixture(t)
	own := hours(3)
	f.focus(team, func(r *Request) { r.MaxAge = &own })
	f.wait(4)
	require.Equal(t, ownLimit(own), f.focus(team, nil).MaxAge)
	f.wait(4)
	require.Nil(t, f.focus(team, func(r *Request) { r.Actor = bob }).MaxAge, "another owner starts anew")
}

// A focus after /unfocus is rolled back whole wherever the store fails; the one
// that succeeds still finds the limit that its owner had switched off.
func TestFocusAfterFailuresKeepsOwnLimits(t *testing.T) {
	f := newFixture(t)
	f.set.MaxAge = hours(1)
	off := hours(0)
	old := f.focus(team, nil)
	f.tx(func(tx Tx) (Changes, error) {
		_, c, err := f.service.SetMaxAge(tx, team, alice, &off, f.now)
		return c, err
	})
	ended, err := f.unfocus(team, alice)
	require.NoError(t, err)
	require.Equal(t, ownLimit(off), ended.MaxAge)
	posts := f.posted()

	req := f.request()
	req.Placement = core.PlacementCurrent
	var plan Plan
	for n := 1; ; n++ {
		f.store.failing(n)
		_, err := f.try(func(tx Tx) (c Changes, err error) {
			plan, c, err = f.service.Focus(tx, req, f.now)
			return c, err
		})
		f.store.failing(0)
		if err == nil {
			require.Greater(t, n, 1)
			break
		}
		require.ErrorIs(t, err, errDown, "call %d", n)
		require.Equal(t, map[string]core.Binding{old.ID: ended}, f.store.bindings)
		require.Equal(t, posts, f.posted())
	}
	require.Equal(t, ownLimit(off), f.binding(plan.Binding.ID).MaxAge)
	f.wait(2)
	require.True(t, f.resolve(team).Found, "a limit switched off stays off")
}

func TestFocusOnAnExpiredPlace(t *testing.T) {
	f := newFixture(t)
	old := f.focus(team, func(r *Request) { r.Actor = bob })
	f.wait(24)
	b := f.focus(team, nil)
	require.Equal(t, core.EndIdle, f.binding(old.ID).Reason)
	require.Equal(t, alice.User, b.Owner, "nobody has to wait for a sweep")
}

// spawn is a spawn with thread: true, up to its plan.
func (f *fixture) spawn(change func(r *Request)) (Plan, error) {
	f.t.Helper()
	req := f.request()
	req.Automatic, req.Session, req.SessionKey, req.RunID = true, 0, "", "r1"
	if change != nil {
		change(&req)
	}
	var plan Plan
	_, err := f.try(func(tx Tx) (c Changes, err error) {
		plan, c, err = f.service.Prepare(tx, req, f.now)
		return c, err
	})
	return plan, err
}

func TestPrepareReservesAChild(t *testing.T) {
	f := newFixture(t)
	plan, err := f.spawn(func(r *Request) { r.Label = "  look \n up cats "; r.Text = "cats?" })
	require.NoError(t, err)
	require.Equal(t, &core.ChildRequest{Parent: team, Title: "look up cats", Text: "cats?", Intent: plan.Binding.ID}, plan.Child)
	b := f.binding(plan.Binding.ID)
	require.Equal(t, core.BindingPending, b.Status)
	require.Equal(t, core.Address{Channel: "fake", Account: "default", Parent: "Team"}, b.Address, "it is at no place yet")
	require.Equal(t, alice.User, b.Owner, "the requesting user, not the system")
	require.False(t, f.resolve(team).Found)

	_, err = f.spawn(nil)
	require.NoError(t, err, "a second spawn reserves its own")
}

func TestPrepareInPlace(t *testing.T) {
	caps := currentCaps()
	f := newFixture(t)
	f.channel.caps = &caps
	plan, err := f.spawn(func(r *Request) { r.Kind = core.Direct })
	require.NoError(t, err)
	require.Nil(t, plan.Child)

	f.refused(CodeAlreadyFocused, func(tx Tx) (Changes, error) {
		req := f.request()
		req.Kind = core.Direct
		_, c, err := f.service.Focus(tx, req, f.now)
		return c, err
	})
	second, err := f.spawn(func(r *Request) { r.Kind = core.Direct })
	require.NoError(t, err)
	require.Equal(t, "another session is bound to this conversation", second.Unbound, "the place is reserved")
	require.Zero(t, second.Binding)

	f.tx(func(tx Tx) (Changes, error) {
		opened := plan.Opened()
		opened.Session = sessionCats
		_, c, err := f.service.Activate(tx, plan.Binding.ID, opened, f.now)
		return c, err
	})
	require.True(t, f.resolve(team).Found)
}

func TestSpawnNeverReplaces(t *testing.T) {
	f := newFixture(t)
	f.set.Placement = core.PlacementCurrent
	thread := team.InThread("T1")
	held := f.focus(thread, nil)
	plan, err := f.spawn(func(r *Request) { r.At = thread; r.Actor.Operator = true })
	require.NoError(t, err)
	require.NotEmpty(t, plan.Unbound)
	require.Equal(t, core.BindingActive, f.binding(held.ID).Status)

	_, err = f.spawn(func(r *Request) { r.Place = &thread })
	require.Equal(t, CodeAlreadyFocused, core.ErrorCode(err), "also where a hook supplies the place")
}

func TestSpawnAtASuppliedPlace(t *testing.T) {
	f := newFixture(t)
	thread := team.InThread("made elsewhere")
	plan, err := f.spawn(func(r *Request) { r.Place = &thread })
	require.NoError(t, err)
	require.Nil(t, plan.Child)
	f.tx(func(tx Tx) (Changes, error) {
		opened := plan.Opened()
		opened.Session = sessionCats
		_, c, err := f.service.Activate(tx, plan.Binding.ID, opened, f.now)
		return c, err
	})
	require.True(t, f.resolve(thread).Found)

	elsewhere := core.Address{Channel: "other", Account: "default", Conversation: "X"}
	_, err = f.spawn(func(r *Request) { r.Place = &elsewhere })
	require.Equal(t, CodeThreadFailed, core.ErrorCode(err))
}

func TestSpawnWithoutAPerson(t *testing.T) {
	f := newFixture(t)
	f.set.MaxPerUser = 1
	for range 3 {
		_, err := f.spawn(func(r *Request) { r.Actor = Actor{} })
		require.NoError(t, err, "a cron run may open threads, and nobody's quota counts")
	}
}

func TestActivateFailsClosed(t *testing.T) {
	other := core.Address{Channel: "fake", Account: "second", Conversation: "Team", Thread: "T1"}
	tests := map[string]struct {
		prepare func(f *fixture, plan *Plan)
		opened  Opened
		code    string
	}{
		"nowhere":         {nil, Opened{Session: sessionCats}, CodeThreadFailed},
		"another account": {nil, Opened{Address: other, Session: sessionCats}, CodeThreadFailed},
		"no session":      {nil, Opened{Address: team.InThread("T1")}, CodeTargetUnknown},
		"dead session":    {nil, Opened{Address: team.InThread("T1"), Session: 99}, CodeTargetUnknown},
		"a taken place": {
			func(f *fixture, _ *Plan) { f.focus(team.InThread("T1"), nil) },
			Opened{Address: team.InThread("T1"), Session: sessionDogs}, CodeAlreadyFocused,
		},
		"unknown": {
			func(_ *fixture, plan *Plan) { plan.Binding.ID = "zz" },
			Opened{Address: team.InThread("T1"), Session: sessionCats}, CodeThreadFailed,
		},
		"aborted": {
			func(f *fixture, plan *Plan) {
				f.tx(func(tx Tx) (Changes, error) {
					aborted, c, err := f.service.Abort(tx, plan.Binding.ID, f.now)
					require.True(t, aborted)
					return c, err
				})
			},
			Opened{Address: team.InThread("T1"), Session: sessionCats}, CodeThreadFailed,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			plan, err := f.spawn(nil)
			require.NoError(t, err)
			if tt.prepare != nil {
				tt.prepare(f, &plan)
			}
			f.refused(tt.code, func(tx Tx) (Changes, error) {
				_, c, err := f.service.Activate(tx, plan.Binding.ID, tt.opened, f.now)
				return c, err
			})
		})
	}
}

// TestB069_NoChannelIsNamed: a channel that nobody has heard of, with threads,
// needs no change here; one without threads is refused clearly.
func TestB069_NoChannelIsNamed(t *testing.T) {
	f := newFixture(t)
	plan, err := f.spawn(nil)
	require.NoError(t, err)
	require.NotNil(t, plan.Child)
	require.NoError(t, f.bind(plan, nil))
	require.True(t, f.resolve(team.InThread("T1")).Found)

	caps := noCaps()
	f.channel.caps = &caps
	_, err = f.spawn(nil)
	require.Equal(t, CodeNotBindable, core.ErrorCode(err))

	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range sources {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, channel := range []string{"discord", "telegram", "matrix", "imessage", "webchat", "console"} {
			require.NotContains(t, strings.ToLower(string(text)), channel, file)
		}
	}
}
