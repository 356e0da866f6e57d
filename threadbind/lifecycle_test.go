package threadbind

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

func (f *fixture) placeChanged(event core.PlaceEvent, at, to core.Address) Changes {
	f.t.Helper()
	return f.tx(func(tx Tx) (Changes, error) {
		return f.service.PlaceChanged(tx, core.PlaceChange{Event: event, Address: at, To: to}, f.now)
	})
}

func TestSweep(t *testing.T) {
	f := newFixture(t)
	short := hours(1)
	for i := range 250 {
		f.focus(team.InThread(fmt.Sprintf("T%03d", i)), func(r *Request) {
			r.Actor.User = fmt.Sprintf("fake:%d", i)
			if i%2 == 0 {
				r.Idle = &short
			}
		})
	}
	f.wait(1)
	require.Empty(t, f.store.live(func(b core.Binding) bool { return b.Due == 0 }))
	var more bool
	f.tx(func(tx Tx) (c Changes, err error) {
		more, c, err = f.service.Sweep(tx, f.now, 1000)
		require.Len(t, c.Ended, BatchLimit, "a sweep is bounded")
		return c, err
	})
	require.True(t, more)
	require.Len(t, f.sweep().Ended, 25)
	require.Empty(t, f.sweep().Ended)
	require.Len(t, f.store.live(func(core.Binding) bool { return true }), 125)
}

func TestSweepMovesALowerBound(t *testing.T) {
	f := newFixture(t)
	thread := team.InThread("T1")
	b := f.focus(thread, nil)
	f.wait(20)
	f.resolve(thread)
	require.Equal(t, t0.Add(hours(24)), f.binding(b.ID).Due, "a touch leaves the bound alone")
	f.wait(4)
	c := f.sweep()
	require.Empty(t, c.Ended)
	require.Equal(t, t0.Add(hours(44)), f.binding(b.ID).Due)
	require.Equal(t, t0.Add(hours(44)), c.Wake)
}

func TestSweepWhileTheSessionWorks(t *testing.T) {
	f := newFixture(t)
	f.set.Idle = hours(1)
	thread := team.InThread("T1")
	b := f.focus(thread, nil)
	f.work(sessionCats, true, 0)
	f.wait(1.5)
	f.sweep()
	require.Equal(t, core.BindingActive, f.binding(b.ID).Status)
	f.now = t0.Add(hours(2))
	f.work(sessionCats, false, f.now)
	f.now = t0.Add(hours(3)) - 1
	f.sweep()
	require.Equal(t, core.BindingActive, f.binding(b.ID).Status, "two hours of work under an hour's limit are not idling")
	f.now++
	f.sweep()
	require.Equal(t, core.EndIdle, f.binding(b.ID).Reason)
}

func TestDowntime(t *testing.T) {
	f := newFixture(t)
	f.set.MaxAge = hours(30)
	kept := hours(1000)
	f.focus(team.InThread("idle"), nil)
	f.focus(team.InThread("old"), func(r *Request) { r.Idle = &kept })
	f.focus(team.InThread("own"), func(r *Request) { r.Idle, r.MaxAge = &kept, &kept })
	f.restart()
	f.wait(100)
	f.sweep()
	require.Equal(t, core.EndIdle, f.binding("b001").Reason)
	require.Equal(t, core.EndMaxAge, f.binding("b002").Reason)
	require.Equal(t, core.BindingActive, f.binding("b003").Status)
	f.sweep()
	require.Len(t, f.store.posts, 3+2, "one farewell each")
}

func TestReload(t *testing.T) {
	f := newFixture(t)
	own := hours(50)
	for i := range 3 {
		f.focus(team.InThread(fmt.Sprintf("T%d", i)), func(r *Request) {
			if i == 1 {
				r.Idle = &own
			}
		})
	}
	f.wait(3)
	reload := func() (all Changes) {
		for after := ""; ; {
			f.tx(func(tx Tx) (c Changes, err error) {
				after, c, err = f.service.Reload(tx, after, 2, f.now)
				all.Add(c)
				return c, err
			})
			if after == "" {
				return all
			}
		}
	}
	f.set.Idle = hours(4)
	require.Equal(t, t0.Add(hours(4)), reload().Wake, "the timers move earlier")
	require.Equal(t, t0.Add(hours(50)), f.binding("b002").Due, "its own limit stands")

	f.set.Idle = hours(2)
	require.Len(t, reload().Ended, 2, "expired by the new limit")
	require.Equal(t, core.EndIdle, f.binding("b001").Reason)
	f.set.Idle = 0
	require.Empty(t, reload().Ended)
	require.Equal(t, core.BindingActive, f.binding("b002").Status)
}

func TestReloadSkipsPending(t *testing.T) {
	f := newFixture(t)
	_, err := f.spawn(nil)
	require.NoError(t, err)
	f.tx(func(tx Tx) (Changes, error) {
		next, c, err := f.service.Reload(tx, "", BatchLimit, f.now)
		require.Empty(t, next)
		return c, err
	})
}

func TestEndSessionEndsAllItsBindings(t *testing.T) {
	f := newFixture(t)
	f.focus(team, nil)
	f.focus(team.InThread("T1"), nil)
	f.focus(team.InThread("T2"), func(r *Request) { r.Session = sessionDogs })
	c := f.tx(func(tx Tx) (Changes, error) { return f.service.EndSession(tx, sessionCats, f.now) })
	require.Len(t, c.Ended, 2)
	require.Equal(t, core.EndSessionEnded, f.binding("b001").Reason)
	require.Equal(t, core.BindingActive, f.binding("b003").Status)
}

func TestEndAccount(t *testing.T) {
	f := newFixture(t)
	f.set.MaxPerUser = 0
	for i := range BatchLimit + 5 {
		f.focus(team.InThread(fmt.Sprint(i)), nil)
	}
	pending, err := f.spawn(nil)
	require.NoError(t, err)
	posts := len(f.store.posts)
	for more := true; more; {
		f.tx(func(tx Tx) (c Changes, err error) {
			more, c, err = f.service.EndAccount(tx, "fake", "default", f.now)
			return c, err
		})
	}
	require.Equal(t, core.EndAccountRemoved, f.binding("b001").Reason)
	require.Equal(t, core.EndSpawnFailed, f.binding(pending.Binding.ID).Reason)
	require.Empty(t, f.store.live(func(core.Binding) bool { return true }))
	require.Len(t, f.store.posts, posts, "nobody is there to say goodbye")
}

func TestPlaceEvents(t *testing.T) {
	thread := team.InThread("T1")
	tests := []struct {
		event  core.PlaceEvent
		at     core.Address
		status core.BindingStatus
		posts  []string // after the intros
	}{
		{core.PlaceDeleted, thread, core.BindingEnded, nil},
		{core.PlaceDeleted, team, core.BindingEnded, nil},
		{core.PlaceArchived, thread, core.BindingActive, nil},
		{core.PlaceUnarchived, thread, core.BindingActive, nil},
		{core.PlaceRenamed, thread, core.BindingActive, nil},
		{core.PlaceLocked, thread, core.BindingSuspended, []string{"suspended " + team.String()}},
		{core.PlacePermissionLost, team, core.BindingSuspended, []string{"suspended " + team.String()}},
		{core.PlaceUnlocked, thread, core.BindingActive, nil},
		{core.PlaceDeleted, team.InThread("T2"), core.BindingActive, nil},
		{core.PlaceLocked, core.Address{Channel: "fake", Account: "second", Conversation: "Team"}, core.BindingActive, nil},
	}
	for _, tt := range tests {
		t.Run(string(tt.event)+" "+tt.at.String(), func(t *testing.T) {
			f := newFixture(t)
			f.focus(thread, nil)
			f.placeChanged(tt.event, tt.at, core.Address{})
			require.Equal(t, tt.status, f.binding("b001").Status)
			require.Equal(t, append([]string{"intro " + thread.String()}, tt.posts...), f.posted())
		})
	}
}

func TestSuspendAndRestore(t *testing.T) {
	f := newFixture(t)
	thread := core.Address{Channel: "fake", Account: "default", Conversation: "T1", Parent: "Team"}
	f.focus(thread, nil)
	c := f.placeChanged(core.PlaceLocked, thread, core.Address{})
	require.Len(t, c.Suspended, 1)
	c = f.placeChanged(core.PlacePermissionLost, team, core.Address{}) // the conversation around it
	require.Empty(t, c.Suspended)
	require.Len(t, f.store.posts, 2, "the owner is told once")
	require.Contains(t, f.lastPost(), "cats cannot be reached")

	require.Empty(t, f.placeChanged(core.PlaceUnlocked, thread, core.Address{}).Restored)
	require.Equal(t, core.BindingSuspended, f.binding("b001").Status, "the other cause remains")
	c = f.placeChanged(core.PlacePermissionRestored, team, core.Address{})
	require.Len(t, c.Restored, 1)
	require.False(t, f.resolve(thread).Held())
	require.Contains(t, f.logged.String(), "binding restored")
}

func TestSuspendedGroupHasNobodyToTell(t *testing.T) {
	f := newFixture(t)
	f.focus(team, nil)
	f.placeChanged(core.PlacePermissionLost, team, core.Address{})
	require.Equal(t, core.BindingSuspended, f.binding("b001").Status)
	require.Len(t, f.store.posts, 1)
}

func TestPendingIsNotSuspended(t *testing.T) {
	f := newFixture(t)
	plan, err := f.spawn(nil)
	require.NoError(t, err)
	f.placeChanged(core.PlaceLocked, team, core.Address{})
	require.Equal(t, core.BindingPending, f.binding(plan.Binding.ID).Status)
	f.placeChanged(core.PlaceDeleted, team, core.Address{})
	require.Equal(t, core.EndSpawnFailed, f.binding(plan.Binding.ID).Reason)
}

func TestSendFailed(t *testing.T) {
	tests := map[core.SendClass]core.BindingStatus{
		core.SendGone: core.BindingEnded, core.SendClosed: core.BindingSuspended, core.SendForbidden: core.BindingSuspended,
		core.SendRetryable: core.BindingActive, core.SendAmbiguous: core.BindingActive, core.SendInvalid: core.BindingActive,
		core.SendTooLarge: core.BindingActive, core.SendAuth: core.BindingActive, core.SendConflict: core.BindingActive,
	}
	thread := team.InThread("T1")
	for class, want := range tests {
		t.Run(string(class), func(t *testing.T) {
			f := newFixture(t)
			f.focus(thread, nil)
			f.focus(team, func(r *Request) { r.Session = sessionDogs })
			send := func(at core.Address) (got core.BindingStatus) {
				f.tx(func(tx Tx) (Changes, error) {
					b, bound, c, err := f.service.SendFailed(tx, at, class, f.now)
					require.Equal(t, bound, b.ID != "")
					got = b.Status
					return c, err
				})
				return got
			}
			told := send(thread)
			if want == core.BindingActive {
				require.Empty(t, told)
			} else {
				require.Equal(t, want, told)
			}
			require.Empty(t, send(team.InThread("unbound")))
			require.Equal(t, want, f.binding("b001").Status)
			require.Equal(t, core.BindingActive, f.binding("b002").Status, "a thread speaks for itself only")
			if want == core.BindingEnded {
				require.Equal(t, core.EndThreadDeleted, f.binding("b001").Reason)
			}
		})
	}
}

func TestMigrate(t *testing.T) {
	f := newFixture(t)
	f.service.Index = NewIndex(0)
	super := core.Address{Channel: "fake", Account: "default", Conversation: "Super"}
	own := core.Address{Channel: "fake", Account: "default", Conversation: "T9", Parent: "Team"}
	f.focus(team, nil)
	f.focus(team.InThread("T1"), nil)
	f.focus(own, nil)
	pending, err := f.spawn(nil)
	require.NoError(t, err)
	f.store.sessions[sessionCats] = fakeSession{key: "rewritten", live: true}

	c := f.placeChanged(core.PlaceMigrated, team, super)
	require.Len(t, c.Moved, 2)
	require.Equal(t, super, f.binding("b001").Address)
	require.Equal(t, "rewritten", f.binding("b001").SessionKey)
	require.Equal(t, super.InThread("T1"), f.binding("b002").Address)
	require.Equal(t, "Super", f.binding("b003").Address.Parent)
	require.Equal(t, "Super", f.binding(pending.Binding.ID).Address.Parent)
	require.False(t, f.resolve(team).Found)
	require.Equal(t, "b001", f.resolve(super).Binding.ID)
	require.Equal(t, "b002", f.resolve(super.InThread("T1")).Binding.ID)
	require.Equal(t, 3, f.service.Index.Len())

	c = f.placeChanged(core.PlaceMigrated, super.InThread("T1"), super.InThread("T2"))
	require.Len(t, c.Moved, 1)
	require.Equal(t, "b002", f.resolve(super.InThread("T2")).Binding.ID)
}

func TestMigrateOntoABinding(t *testing.T) {
	f := newFixture(t)
	super := core.Address{Channel: "fake", Account: "default", Conversation: "Super"}
	f.focus(team, nil)
	f.focus(super, func(r *Request) { r.Session = sessionDogs })
	f.placeChanged(core.PlaceMigrated, team, super)
	require.Equal(t, core.EndReplaced, f.binding("b001").Reason)
	require.Equal(t, sessionDogs, f.resolve(super).Binding.Session)
}

func (f *fixture) timer(kind, id string) Changes {
	f.t.Helper()
	return f.tx(func(tx Tx) (Changes, error) { return f.service.TimerFired(tx, kind, id, f.now) })
}

func TestArchiveOnEnd(t *testing.T) {
	f := newFixture(t)
	f.set.OnEnd = OnEndArchive
	plan, err := f.spawn(nil)
	require.NoError(t, err)
	require.NoError(t, f.bind(plan, nil))
	thread, id := team.InThread("T1"), plan.Binding.ID
	_, err = f.unfocus(thread, alice)
	require.NoError(t, err)
	require.Equal(t, f.now.Add(10*time.Second), f.store.timers[fakeTimer{TimerArchive, id}], "after the farewell")

	f.now = f.now.Add(10 * time.Second)
	c := f.timer(TimerArchive, id)
	require.Equal(t, []ArchiveRequest{{Binding: id, Address: thread}}, c.Archive)
	require.Equal(t, f.now.Add(time.Minute), f.store.timers[fakeTimer{TimerArchive, id}], "until it has worked")
	require.NoError(t, f.service.Archive(t.Context(), c.Archive[0]))
	require.Equal(t, []core.Address{thread}, f.channel.archived)
	require.NoError(t, f.service.Archived(f.store, c.Archive[0]))
	require.NotContains(t, f.store.timers, fakeTimer{TimerArchive, id})

	f.wait(1)
	require.Empty(t, f.timer(TimerArchive, id).Archive, "it gives up in the end")
}

func TestNoArchive(t *testing.T) {
	thread := team.InThread("T1")
	t.Run("bound again", func(t *testing.T) {
		f := newFixture(t)
		f.set.OnEnd = OnEndArchive
		plan, err := f.spawn(nil)
		require.NoError(t, err)
		require.NoError(t, f.bind(plan, nil))
		_, err = f.unfocus(thread, alice)
		require.NoError(t, err)
		f.focus(thread, nil)
		require.Empty(t, f.timer(TimerArchive, plan.Binding.ID).Archive)
	})
	t.Run("keep", func(t *testing.T) {
		f := newFixture(t)
		plan, err := f.spawn(nil)
		require.NoError(t, err)
		require.NoError(t, f.bind(plan, nil))
		_, err = f.unfocus(thread, alice)
		require.NoError(t, err)
		require.NotContains(t, f.store.timers, fakeTimer{TimerArchive, plan.Binding.ID})
	})
	t.Run("a place that was there before", func(t *testing.T) {
		f := newFixture(t)
		f.set.OnEnd = OnEndArchive
		b := f.focus(thread, nil)
		_, err := f.unfocus(thread, alice)
		require.NoError(t, err)
		require.NotContains(t, f.store.timers, fakeTimer{TimerArchive, b.ID})
	})
}

func TestPurge(t *testing.T) {
	f := newFixture(t)
	b := f.focus(team, nil)
	_, err := f.unfocus(team, alice)
	require.NoError(t, err)
	due := f.store.timers[fakeTimer{TimerPurge, b.ID}]
	require.Equal(t, t0.Add(7*24*time.Hour), due)
	f.set.KeepEnded = 10*24*time.Hour + time.Minute
	f.now = due
	f.timer(TimerPurge, b.ID)
	require.Contains(t, f.store.bindings, b.ID, "kept for longer since the reload")
	f.now = f.store.timers[fakeTimer{TimerPurge, b.ID}]
	f.timer(TimerPurge, b.ID)
	require.NotContains(t, f.store.bindings, b.ID)
	f.timer(TimerPurge, b.ID)
}

// TestStoreFailsAnywhere: an error of the store in any call is the error of the
// method, and leaves nothing behind.
func TestStoreFailsAnywhere(t *testing.T) {
	thread := team.InThread("T1")
	limit := hours(1)
	tests := map[string]func(f *fixture, tx Tx) (Changes, error){
		"resolve": func(f *fixture, tx Tx) (Changes, error) {
			r, err := f.service.Resolve(tx, thread, f.now)
			return r.Changes, err
		},
		"resolve late": func(f *fixture, tx Tx) (Changes, error) {
			r, err := f.service.Resolve(tx, thread, f.now.Add(hours(24)))
			return r.Changes, err
		},
		"resolve elsewhere": func(f *fixture, tx Tx) (Changes, error) {
			r, err := f.service.Resolve(tx, team.InThread("T2"), f.now)
			return r.Changes, err
		},
		"peek": func(f *fixture, tx Tx) (Changes, error) {
			_, err := f.service.Peek(tx, thread, f.now)
			return Changes{}, err
		},
		"peek late": func(f *fixture, tx Tx) (Changes, error) {
			_, err := f.service.Peek(tx, thread, f.now.Add(hours(24)))
			return Changes{}, err
		},
		"reply": func(f *fixture, tx Tx) (Changes, error) { return f.service.Replied(tx, thread, f.now) },
		"reply late": func(f *fixture, tx Tx) (Changes, error) {
			return f.service.Replied(tx, thread, f.now.Add(hours(24)))
		},
		"take over": func(f *fixture, tx Tx) (Changes, error) {
			req := f.request()
			req.At, req.Placement, req.Session = thread, core.PlacementCurrent, sessionDogs
			_, c, err := f.service.Focus(tx, req, f.now)
			return c, err
		},
		"prepare a child": func(f *fixture, tx Tx) (Changes, error) {
			_, c, err := f.service.Prepare(tx, f.request(), f.now)
			return c, err
		},
		"not focused": func(f *fixture, tx Tx) (Changes, error) {
			_, c, err := f.service.Unfocus(tx, team, alice, f.now)
			if core.ErrorCode(err) == CodeNotFocused {
				err = nil
			}
			return c, err
		},
		"show": func(f *fixture, tx Tx) (Changes, error) {
			_, c, err := f.service.Show(tx, thread, f.now)
			return c, err
		},
		"end": func(f *fixture, tx Tx) (Changes, error) {
			_, c, err := f.service.End(tx, "b001", core.EndManual, f.now)
			return c, err
		},
		"account": func(f *fixture, tx Tx) (Changes, error) {
			_, c, err := f.service.EndAccount(tx, "fake", "default", f.now)
			return c, err
		},
		"send": func(f *fixture, tx Tx) (Changes, error) {
			_, _, c, err := f.service.SendFailed(tx, thread, core.SendForbidden, f.now)
			return c, err
		},
		"delete the group": func(f *fixture, tx Tx) (Changes, error) {
			return f.service.PlaceChanged(tx, core.PlaceChange{Event: core.PlaceDeleted, Address: team}, f.now)
		},
		"load": func(_ *fixture, tx Tx) (Changes, error) {
			_, err := NewIndex(0).Load(tx)
			return Changes{}, err
		},
		"focus": func(f *fixture, tx Tx) (Changes, error) {
			req := f.request()
			req.At, req.Placement = team, core.PlacementCurrent
			_, c, err := f.service.Focus(tx, req, f.now)
			return c, err
		},
		"refocus": func(f *fixture, tx Tx) (Changes, error) {
			req := f.request()
			req.At = thread
			_, c, err := f.service.Focus(tx, req, f.now)
			return c, err
		},
		"unfocus": func(f *fixture, tx Tx) (Changes, error) {
			_, c, err := f.service.Unfocus(tx, thread, alice, f.now)
			return c, err
		},
		"idle": func(f *fixture, tx Tx) (Changes, error) {
			_, c, err := f.service.SetIdle(tx, thread, alice, &limit, f.now)
			return c, err
		},
		"sweep": func(f *fixture, tx Tx) (Changes, error) {
			_, c, err := f.service.Sweep(tx, f.now.Add(hours(24)), BatchLimit)
			return c, err
		},
		"reload": func(f *fixture, tx Tx) (Changes, error) {
			_, c, err := f.service.Reload(tx, "", BatchLimit, f.now.Add(hours(24)))
			return c, err
		},
		"session": func(f *fixture, tx Tx) (Changes, error) { return f.service.EndSession(tx, sessionCats, f.now) },
		"lock": func(f *fixture, tx Tx) (Changes, error) {
			return f.service.PlaceChanged(tx, core.PlaceChange{Event: core.PlaceLocked, Address: thread}, f.now)
		},
		"migrate": func(f *fixture, tx Tx) (Changes, error) {
			return f.service.PlaceChanged(tx, core.PlaceChange{Event: core.PlaceMigrated, Address: team, To: thread}, f.now)
		},
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				f := newFixture(t)
				f.set.OnLate = LateResume
				f.focus(thread, nil)
				before := f.binding("b001")
				f.store.failing(n)
				_, err := f.try(func(tx Tx) (Changes, error) { return do(f, tx) })
				if f.store.calls < n {
					require.NoError(t, err)
					require.Greater(t, n, 1)
					return
				}
				require.ErrorIs(t, err, errDown, "call %d", n)
				require.Len(t, f.store.bindings, 1)
				require.Equal(t, before, f.binding("b001"))
				require.Len(t, f.store.posts, 1)
			}
		})
	}
}
