package threadbind

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

func TestResolveHitTouches(t *testing.T) {
	f := newFixture(t)
	thread := team.InThread("T1")
	b := f.focus(thread, nil)
	f.wait(23)
	r := f.resolve(thread)
	require.True(t, r.Found)
	require.False(t, r.Inherited)
	require.True(t, r.MentionFree())
	require.Equal(t, sessionCats, r.Binding.Session)
	require.Equal(t, f.now, f.binding(b.ID).LastActivity)
	require.Zero(t, f.store.asked, "the session's work matters only past the deadline")
	f.wait(23)
	require.True(t, f.resolve(thread).Found, "the first message moved the deadline")
}

func TestResolveMiss(t *testing.T) {
	f := newFixture(t)
	f.focus(team.InThread("T1"), nil)
	for _, at := range []core.Address{
		team, team.InThread("T2"), team.InThread("t1"), {},
		{Channel: "fake", Account: "second", Conversation: "Team", Thread: "T1"},
		{Channel: "fake", Account: "default", Conversation: "T1"},
	} {
		require.False(t, f.resolve(at).Found, at)
	}
}

func TestResolveIgnoresTheParentAttribute(t *testing.T) {
	f := newFixture(t)
	thread := core.Address{Channel: "fake", Account: "default", Conversation: "T1", Parent: "Team"}
	b := f.focus(thread, nil)
	thread.Parent = "Moved"
	r := f.resolve(thread)
	require.True(t, r.Found, "a thread whose parent moved is the same thread")
	require.Equal(t, b.ID, r.Binding.ID)
}

func TestResolveInherits(t *testing.T) {
	for _, thread := range []core.Address{
		team.InThread("T1"),
		{Channel: "fake", Account: "default", Conversation: "T1", Parent: "Team"},
	} {
		f := newFixture(t)
		f.focus(team, nil)
		r := f.resolve(thread)
		require.True(t, r.Found)
		require.True(t, r.Inherited)
		require.False(t, r.MentionFree(), "a bound group keeps its mention rule")

		own := f.focus(thread, func(r *Request) { r.Session = sessionDogs })
		r = f.resolve(thread)
		require.Equal(t, own.ID, r.Binding.ID, "its own binding wins")
		require.False(t, r.Inherited)

		f.tx(func(tx Tx) (Changes, error) {
			_, c, err := f.service.Unfocus(tx, thread, alice, f.now)
			return c, err
		})
		require.True(t, f.resolve(thread).Inherited)
	}
}

func TestResolveEnforcesDeadlines(t *testing.T) {
	const hour = int64(3600 * 1000)
	tests := []struct {
		name   string
		set    func(f *fixture)
		req    func(r *Request)
		at     int64 // ms after t0
		want   bool
		reason core.EndReason
	}{
		{name: "idle, 1 ms before", at: 24*hour - 1, want: true},
		{name: "idle, at the deadline", at: 24 * hour, reason: core.EndIdle},
		{name: "idle, 1 ms after", at: 24*hour + 1, reason: core.EndIdle},
		{name: "off", set: func(f *fixture) { f.set.Idle = 0 }, at: 1e6 * hour, want: true},
		{name: "max-age", set: func(f *fixture) { f.set.Idle, f.set.MaxAge = 0, hours(2) }, at: 2*hour + 1, reason: core.EndMaxAge},
		{name: "tie", set: func(f *fixture) { f.set.Idle, f.set.MaxAge = hours(2), hours(2) }, at: 2 * hour, reason: core.EndIdle},
		{name: "reloaded, no sweep since", set: func(f *fixture) { f.set.Idle = hours(0.5) }, at: hour / 2, reason: core.EndIdle},
		{name: "own limit", req: func(r *Request) { d := hours(0.5); r.Idle = &d }, at: hour, reason: core.EndIdle},
		{name: "own off", req: func(r *Request) { d := hours(0); r.Idle = &d }, at: 1e6 * hour, want: true},
		{name: "absolute", req: func(r *Request) { r.Deadline = t0 + 5 }, at: 5, reason: core.EndDeadline},
		{name: "at work", set: func(f *fixture) { f.work(sessionCats, true, 0) }, at: 100 * hour, want: true},
		{name: "after work", set: func(f *fixture) { f.work(sessionCats, false, t0.Add(hours(10))) }, at: 34*hour - 1, want: true},
		{name: "long after work", set: func(f *fixture) { f.work(sessionCats, false, t0.Add(hours(10))) }, at: 34 * hour, reason: core.EndIdle},
		{
			name: "at work beyond max-age", at: 48 * hour, reason: core.EndMaxAge,
			set: func(f *fixture) { f.work(sessionCats, true, 0); f.set.MaxAge = hours(48) },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			thread := team.InThread("T1")
			b := f.focus(thread, tt.req)
			if tt.set != nil {
				tt.set(f)
			}
			f.now = t0 + core.Millis(tt.at)
			f.tx(func(tx Tx) (Changes, error) {
				r, err := f.service.Peek(tx, thread, f.now)
				require.Equal(t, tt.want, r.Found)
				return Changes{}, err
			})
			require.Equal(t, core.BindingActive, f.binding(b.ID).Status, "a peek ends nothing")
			r := f.resolve(thread)
			require.Equal(t, tt.want, r.Found)
			got := f.binding(b.ID)
			require.Equal(t, tt.reason, got.Reason)
			if !tt.want {
				require.Equal(t, []core.Binding{got}, r.Changes.Ended)
				require.Equal(t, "farewell "+thread.String(), f.posted()[1])
				require.False(t, f.resolve(thread).Found)
				require.Len(t, f.store.posts, 2, "one farewell")
			}
		})
	}
}

// work sets what the store says about a session's work.
func (f *fixture) work(session int64, busy bool, since core.Millis) {
	s := f.store.sessions[session]
	s.busy, s.since = busy, since
	f.store.sessions[session] = s
}

func TestResolvePending(t *testing.T) {
	f := newFixture(t)
	f.focus(team, nil)
	f.tx(func(tx Tx) (Changes, error) {
		req := f.request()
		req.At, req.Placement, req.Automatic, req.Session = team.InThread("T1"), core.PlacementCurrent, true, sessionDogs
		_, c, err := f.service.Prepare(tx, req, f.now)
		return c, err
	})
	r := f.resolve(team.InThread("T1"))
	require.True(t, r.Inherited, "a pending binding takes no messages yet")
	require.Equal(t, sessionCats, r.Binding.Session)
}

func TestResolveSuspended(t *testing.T) {
	f := newFixture(t)
	thread := team.InThread("T1")
	f.focus(thread, nil)
	f.tx(func(tx Tx) (Changes, error) {
		return f.service.PlaceChanged(tx, core.PlaceChange{Event: core.PlaceLocked, Address: thread}, f.now)
	})
	f.wait(23)
	require.True(t, f.resolve(thread).Held())
	f.wait(24)
	r := f.resolve(thread)
	require.False(t, r.Found, "it keeps its clock")
	require.False(t, r.Held())
}

func TestReplied(t *testing.T) {
	f := newFixture(t)
	thread := team.InThread("T1")
	b := f.focus(thread, nil)
	f.wait(23)
	f.tx(func(tx Tx) (Changes, error) { return f.service.Replied(tx, thread, f.now) })
	require.Equal(t, f.now, f.binding(b.ID).LastActivity)
	f.wait(24)
	f.tx(func(tx Tx) (Changes, error) { return f.service.Replied(tx, thread, f.now) })
	require.Equal(t, core.EndIdle, f.binding(b.ID).Reason, "a reply does not revive")
	f.tx(func(tx Tx) (Changes, error) { return f.service.Replied(tx, thread, f.now) })
}

func TestRepliedTouchesTheBindingAround(t *testing.T) {
	f := newFixture(t)
	b := f.focus(team, nil)
	f.wait(1)
	f.tx(func(tx Tx) (Changes, error) { return f.service.Replied(tx, team.InThread("T1"), f.now) })
	require.Equal(t, f.now, f.binding(b.ID).LastActivity)
}

// TestB055_LateMessageResumesTheSameSession: with onLate "resume" a message
// after the expiry binds the same session again, whether or not a sweep ran.
func TestB055_LateMessageResumesTheSameSession(t *testing.T) {
	for _, swept := range []bool{false, true} {
		f := newFixture(t)
		f.set.OnLate = LateResume
		thread := team.InThread("T1")
		own := hours(12)
		old := f.focus(thread, func(r *Request) { r.Idle = &own })
		f.wait(48)
		if swept {
			f.sweep()
		}
		f.tx(func(tx Tx) (Changes, error) {
			r, err := f.service.Peek(tx, thread, f.now)
			require.True(t, r.MentionFree(), "the mention gate lets the message through")
			return Changes{}, err
		})
		r := f.resolve(thread)
		require.True(t, r.Found)
		require.Equal(t, sessionCats, r.Binding.Session)
		require.NotEqual(t, old.ID, r.Binding.ID)
		require.Equal(t, core.EndIdle, f.binding(old.ID).Reason)
		require.Equal(t, alice.User, r.Binding.Owner)
		require.Equal(t, ownLimit(own), r.Binding.Idle)
		require.Equal(t, f.now, r.Binding.BoundAt)
		require.Equal(t, []string{"intro " + thread.String(), "farewell " + thread.String(), "intro " + thread.String()}, f.posted())
		require.Equal(t, r.Binding.ID, f.resolve(thread).Binding.ID)
	}
}

func TestResumeNeedsAReason(t *testing.T) {
	thread := team.InThread("T1")
	tests := map[string]func(f *fixture){
		"unfocused": func(f *fixture) {
			f.tx(func(tx Tx) (Changes, error) {
				_, c, err := f.service.Unfocus(tx, thread, alice, f.now)
				return c, err
			})
		},
		"session ended": func(f *fixture) {
			f.tx(func(tx Tx) (Changes, error) { return f.service.EndSession(tx, sessionCats, f.now) })
		},
		"expired, session gone since": func(f *fixture) {
			f.wait(48)
			f.sweep()
			f.store.sessions[sessionCats] = fakeSession{}
		},
		"expired, session gone, no sweep": func(f *fixture) {
			f.wait(48)
			f.store.sessions[sessionCats] = fakeSession{}
		},
		"expired, bindings off": func(f *fixture) { f.wait(48); f.set.Enabled = false },
		"expired, fall through": func(f *fixture) { f.wait(48); f.set.OnLate = LateFallthrough },
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.set.OnLate = LateResume
			f.focus(thread, nil)
			end(f)
			f.tx(func(tx Tx) (Changes, error) {
				r, err := f.service.Peek(tx, thread, f.now)
				require.False(t, r.Found)
				return Changes{}, err
			})
			require.False(t, f.resolve(thread).Found)
		})
	}
}

// TestB061_EndedSessionIsNotRouted: after the bound session ended and a
// restart, a message falls through to the routes.
func TestB061_EndedSessionIsNotRouted(t *testing.T) {
	f := newFixture(t)
	b := f.focus(team, nil)
	f.store.sessions[sessionCats] = fakeSession{} // it ended, and nobody told the bindings
	f.restart()
	require.False(t, f.resolve(team).Found)
	require.Equal(t, core.EndSessionEnded, f.binding(b.ID).Reason)
	require.Equal(t, []string{"intro " + team.String(), "farewell " + team.String()}, f.posted())
	require.NotContains(t, f.lastPost(), "error")
	require.False(t, f.resolve(team).Found)
}

// TestB063_DeadRuntimeBindingYields: a runtime binding whose session was
// deleted does not stand before the configured route of the place, nor before
// the binding around it.
func TestB063_DeadRuntimeBindingYields(t *testing.T) {
	f := newFixture(t)
	thread := team.InThread("T1")
	f.focus(team, func(r *Request) { r.Session = sessionDogs })
	f.focus(thread, nil)
	delete(f.store.sessions, sessionCats)
	r := f.resolve(thread)
	require.True(t, r.Inherited)
	require.Equal(t, sessionDogs, r.Binding.Session)
	delete(f.store.sessions, sessionDogs)
	require.False(t, f.resolve(thread).Found, "the configured route decides")
}

// restart writes every record out and reads it back, as a new process does.
func (f *fixture) restart() {
	f.t.Helper()
	for id, b := range f.store.bindings {
		text, err := json.Marshal(b)
		require.NoError(f.t, err)
		var back core.Binding
		require.NoError(f.t, json.Unmarshal(text, &back))
		back.Data = b.Data // a column of its own
		f.store.bindings[id] = back
	}
	o := f.service.Options
	if o.Index != nil {
		o.Index = NewIndex(0)
		n, err := o.Index.Load(f.store)
		require.NoError(f.t, err)
		require.Equal(f.t, o.Index.Len(), n)
	}
	f.service = NewService(o)
}

func (f *fixture) sweep() Changes {
	f.t.Helper()
	var all Changes
	for more := true; more; {
		f.tx(func(tx Tx) (c Changes, err error) {
			more, c, err = f.service.Sweep(tx, f.now, BatchLimit)
			all.Add(c)
			return c, err
		})
	}
	return all
}

func TestIndexHidesNoBinding(t *testing.T) {
	f := newFixture(t)
	f.service.Index = NewIndex(0)
	thread := team.InThread("T1")
	require.False(t, f.resolve(thread).Found)
	require.Zero(t, f.store.probes, "a miss costs no probe")

	b := f.focus(thread, nil)
	require.True(t, f.resolve(thread).Found)
	f.restart()
	require.True(t, f.resolve(thread).Found)

	takeover := func(tx Tx) (Changes, error) {
		req := f.request()
		req.At, req.Placement, req.Session = thread, core.PlacementCurrent, sessionDogs
		_, c, err := f.service.Focus(tx, req, f.now)
		return c, err
	}
	for n := 1; ; n++ { // a takeover rolled back at any point leaves the binding where it was
		f.store.failing(n)
		_, err := f.try(takeover)
		f.store.failing(0)
		if err == nil {
			break
		}
		require.ErrorIs(t, err, errDown)
		require.Equal(t, b.ID, f.resolve(thread).Binding.ID)
	}
	require.Equal(t, sessionDogs, f.resolve(thread).Binding.Session, "the end of the old one does not hide the new one")
	f.wait(48)
	f.sweep()
	require.Zero(t, f.service.Index.Len())
}
