package app_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
	"github.com/skein-bot/skein/core/world"
	"github.com/skein-bot/skein/threadbind"
)

func TestAnIdleBindingEndsWithoutTraffic(t *testing.T) {
	r := newRig(t)
	s, _ := r.child("cats", nil)
	at := room.InThread("t1")
	b := r.focus(s, "t1")
	require.Len(t, r.channel.texts(at), 1, "the intro")
	r.pass(23 * time.Hour)
	require.True(t, r.message(at, "hello"))
	r.pass(23 * time.Hour)
	require.Equal(t, core.BindingActive, r.binding(b.ID).Status)
	r.pass(time.Hour)
	ended := r.binding(b.ID)
	require.Equal(t, core.EndIdle, ended.Reason)
	require.Equal(t, r.world.Now(), ended.EndedAt, "right at the deadline")
	require.Len(t, r.channel.texts(at), 2)
	require.Contains(t, r.channel.texts(at)[1], "idle for 1d")
}

func TestALateMessageFallsThrough(t *testing.T) {
	r := newRig(t)
	s, _ := r.child("cats", nil)
	at := room.InThread("t1")
	b := r.focus(s, "t1")
	// No timer has run: the clock jumps.
	r.clock.AdvanceTo(r.clock.Now().Add(24 * time.Hour))
	require.False(t, r.message(at, "hello"))
	require.Equal(t, core.EndIdle, r.binding(b.ID).Reason)
	require.Len(t, r.channel.texts(at), 2, "one intro and one farewell")
	r.pass(time.Hour)
	require.Len(t, r.channel.texts(at), 2)
}

func TestOnlyAnswersAreActivity(t *testing.T) {
	for kind, counts := range map[store.OutboxKind]bool{
		store.OutFinal: true, store.OutProgress: true, store.OutCommand: false, store.OutNotice: false, store.OutSend: false,
	} {
		t.Run(string(kind), func(t *testing.T) {
			r := newRig(t)
			s, _ := r.child("cats", nil)
			b := r.focus(s, "t1")
			r.pass(time.Hour)
			r.post(store.Outbox{Kind: kind, Address: room.InThread("t1"), Text: "x", Session: s.ID})
			want := b.LastActivity
			if counts {
				want = r.world.Now()
			}
			require.Equal(t, want, r.binding(b.ID).LastActivity)
		})
	}
}

func TestTheBacklogOfADowntimeIsPaced(t *testing.T) {
	r := newRig(t)
	r.settings.MaxPerUser = 0
	s, _ := r.child("cats", nil)
	for i := range 25 {
		r.focus(s, fmt.Sprintf("t%d", i))
	}
	r.pass(time.Hour)
	fresh := r.focus(s, "fresh")
	ended := func() (n int) {
		require.NoError(t, r.db.Read(t.Context(), func(tx *store.Tx) error {
			all, err := tx.ListBindings(true, 1000)
			n = len(all)
			return err
		}))
		return n
	}
	r.channel.forget()
	r.restart(24*time.Hour - 100*time.Millisecond - time.Hour + 30*time.Minute)
	require.Equal(t, 10, ended(), "the first batch at once")
	r.pass(999 * time.Millisecond)
	require.Equal(t, 10, ended())
	r.pass(time.Millisecond)
	require.Equal(t, 20, ended())
	r.pass(5 * time.Second)
	require.Equal(t, 25, ended())
	require.Equal(t, core.BindingActive, r.binding(fresh.ID).Status)
	for i := range 25 {
		require.Len(t, r.channel.texts(room.InThread(fmt.Sprintf("t%d", i))), 1, "one farewell each")
	}
}

func TestABacklogDelaysNobodyElse(t *testing.T) {
	r := newRig(t)
	r.settings.MaxPerUser = 0
	s, _ := r.child("cats", nil)
	for i := range 100 {
		r.focus(s, fmt.Sprintf("t%d", i))
	}
	r.pass(2 * time.Second)
	fresh := r.focus(s, "fresh")
	r.restart(24*time.Hour - time.Second)
	r.pass(time.Second)
	require.Equal(t, core.EndIdle, r.binding(fresh.ID).Reason, "due while the backlog of ten seconds is at work")
	require.Equal(t, r.world.Now(), r.binding(fresh.ID).EndedAt)
}

func TestHeldMessagesWaitForTheirPlace(t *testing.T) {
	r := newRig(t)
	s, _ := r.child("cats", nil)
	one, two := room.InThread("one"), room.InThread("two")
	r.focus(s, "one")
	r.focus(s, "two")
	change := func(event core.PlaceEvent, at core.Address) {
		r.write(func(tx *store.Tx) error {
			return r.bindings.PlaceChanged(tx, core.PlaceChange{Event: event, Address: at})
		})
	}
	change(core.PlaceLocked, one)
	change(core.PlacePermissionLost, two)
	require.True(t, r.message(one, "to one"))
	require.True(t, r.message(two, "to two"))
	r.pass(time.Hour)
	require.Empty(t, r.turns.seen())
	change(core.PlaceUnlocked, one)
	require.Equal(t, []string{"to one"}, r.turns.seen())
	r.pass(24 * time.Hour)
	require.Equal(t, []string{"to one", "to two"}, r.turns.seen(), "what was accepted is answered also when the binding ends")
}

func TestTheOwnerIsToldOnceOfASuspension(t *testing.T) {
	r := newRig(t)
	s, _ := r.child("cats", nil)
	b := r.focus(s, "t1")
	r.channel.fail(room.InThread("t1"), core.SendForbidden)
	for range 2 {
		r.post(store.Outbox{Kind: store.OutFinal, Address: room.InThread("t1"), Text: "Meow.", Session: s.ID})
	}
	require.Equal(t, core.BindingSuspended, r.binding(b.ID).Status)
	texts := r.channel.texts(room)
	require.Len(t, texts, 3)
	require.Contains(t, texts, threadbind.UndeliveredLine(words.Language{}, r.binding(b.ID))+"\n\nMeow.")
	require.Equal(t, 1, strings.Count(strings.Join(texts, "\n"), "What is written there waits"))
}

func TestTheAnswerOfAGoneThreadIsOneMessage(t *testing.T) {
	r := newRig(t)
	s, run := r.child("cats", nil)
	b := r.focus(s, "t1")
	r.channel.forget()
	r.channel.fail(room.InThread("t1"), core.SendGone)
	r.post(store.Outbox{OnceKey: "run/x/1", Kind: store.OutFinal, Address: room.InThread("t1"), Text: "Cats sleep.", Session: s.ID, Run: run.ID, Persona: "cats", Anchor: "7"})
	require.Equal(t, core.EndThreadDeleted, r.binding(b.ID).Reason)
	line := threadbind.UndeliveredLine(words.Language{}, r.binding(b.ID))
	require.Contains(t, line, "The thread of cats is gone")
	require.Equal(t, []string{line + "\n\nCats sleep."}, r.channel.texts(room))
	require.Empty(t, r.channel.texts(room.InThread("t1")))
	r.post(store.Outbox{Kind: store.OutFinal, Address: room.InThread("t1"), Text: "And eat.", Session: s.ID})
	require.Equal(t, line+"\n\nAnd eat.", r.channel.texts(room)[1])
}

func TestUndeliverable(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  store.OutboxKind
		at    core.Address
		class core.SendClass
		want  string // in the parent conversation
	}{
		{"unbound thread gone", store.OutFinal, room.InThread("t9"), core.SendGone, "The thread is gone, so this comes here:\n\nx"},
		{"unbound thread closed", store.OutFinal, room.InThread("t9"), core.SendClosed, "The thread is closed, so this comes here:\n\nx"},
		{"forbidden", store.OutNotice, room.InThread("t9"), core.SendForbidden, "I may not write in the thread at present, so this comes here:\n\nx"},
		{"reply to a command", store.OutCommand, room.InThread("t1"), core.SendGone, "The thread is gone, so this comes here:\n\nx"},
		{"intro", store.OutIntro, room.InThread("t9"), core.SendGone, ""},
		{"farewell", store.OutFarewell, room.InThread("t9"), core.SendForbidden, ""},
		{"sent by an operator", store.OutSend, room.InThread("t9"), core.SendGone, ""},
		{"the conversation itself", store.OutFinal, room, core.SendGone, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			s, _ := r.child("cats", nil)
			r.focus(s, "t1")
			r.channel.forget()
			r.channel.fail(c.at, c.class)
			r.post(store.Outbox{Kind: c.kind, Address: c.at, Text: "x", Session: 999})
			var got []string
			if c.want != "" {
				got = []string{c.want}
			}
			require.Equal(t, got, r.channel.texts(room))
		})
	}
}

func TestTheArchiveCountsFromTheEndOfTheBinding(t *testing.T) {
	end := func(r *rig, id string) {
		r.write(func(tx *store.Tx) error { return r.bindings.End(tx, id, core.EndManual) })
	}
	finish := func(r *rig, run core.Run, d core.Delivery) {
		r.write(func(tx *store.Tx) error {
			_, err := tx.EndRun(run.ID, core.RunOK, "", "done", false, d, r.world.Now())
			return err
		})
	}
	t.Run("after the run", func(t *testing.T) {
		r := newRig(t)
		s, run := r.child("cats", nil)
		b := r.focus(s, "t1")
		finish(r, run, core.DeliveryDelivered)
		r.pass(3 * time.Hour)
		end(r, b.ID)
		require.Equal(t, r.world.Now().Add(time.Hour), r.archiveDue(s.ID))
		r.pass(time.Hour)
		require.NoError(t, r.db.Read(t.Context(), func(tx *store.Tx) error {
			live, _, err := tx.SessionLive(s.ID)
			require.False(t, live)
			return err
		}))
	})
	t.Run("not while the run lives", func(t *testing.T) {
		r := newRig(t)
		s, _ := r.child("cats", nil)
		end(r, r.focus(s, "t1").ID)
		require.Zero(t, r.archiveDue(s.ID))
	})
	t.Run("not while another binding lives", func(t *testing.T) {
		r := newRig(t)
		s, run := r.child("cats", nil)
		finish(r, run, core.DeliveryDelivered)
		b := r.focus(s, "t1")
		r.focus(s, "t2")
		end(r, b.ID)
		require.Zero(t, r.archiveDue(s.ID))
	})
	t.Run("at once where the child is to be deleted", func(t *testing.T) {
		r := newRig(t)
		s, run := r.child("cats", func(run *core.Run) { run.Spec.Cleanup = "delete" })
		finish(r, run, core.DeliverySessionQueued)
		b := r.focus(s, "t1")
		end(r, b.ID)
		require.Zero(t, r.archiveDue(s.ID), "its outcome is not told yet")
		b = r.focus(s, "t1")
		r.write(func(tx *store.Tx) error { return tx.SetDelivery(run.ID, core.DeliveryDelivered, "", r.world.Now()) })
		end(r, b.ID)
		require.NoError(t, r.db.Read(t.Context(), func(tx *store.Tx) error {
			live, _, err := tx.SessionLive(s.ID)
			require.False(t, live)
			return err
		}))
	})
	t.Run("never for a chat", func(t *testing.T) {
		r := newRig(t)
		s := r.session("agent:other:fake:default:group:Room", "")
		end(r, r.focus(s, "t1").ID)
		require.Zero(t, r.archiveDue(s.ID))
	})
}

func TestCrashAroundAnEnd(t *testing.T) {
	for point, status := range map[string]core.BindingStatus{
		world.BindingBeforeEnd: core.BindingActive, world.BindingAfterEnd: core.BindingEnded,
	} {
		t.Run(point, func(t *testing.T) {
			r := newRig(t)
			s, _ := r.child("cats", nil)
			b := r.focus(s, "t1")
			r.channel.forget()
			r.world.Arm(point, 1, world.TrapCut, nil)
			_ = r.db.Write(t.Context(), func(tx *store.Tx) error { return r.bindings.End(tx, b.ID, core.EndManual) })
			require.ErrorIs(t, r.world.Err(), world.ErrKilled)
			r.restart(time.Second)
			require.Equal(t, status, r.binding(b.ID).Status)
			want := 0
			if status == core.BindingEnded {
				want = 1
			}
			// Of one farewell there may be two attempts: one before the receipt was lost.
			texts := r.channel.texts(room.InThread("t1"))
			slices.Sort(texts)
			require.Len(t, slices.Compact(texts), want, "the farewell belongs to the end")
			require.NoError(t, r.db.Read(t.Context(), func(tx *store.Tx) error {
				rows, err := tx.ListOutbox("", 100)
				rows = slices.DeleteFunc(rows, func(row store.Outbox) bool { return row.Kind != store.OutFarewell })
				require.Len(t, rows, want)
				return err
			}))
		})
	}
}

func TestReload(t *testing.T) {
	r := newRig(t)
	r.settings.MaxPerUser = 0
	s, _ := r.child("cats", nil)
	for i := range threadbind.BatchLimit + 20 {
		r.focus(s, fmt.Sprintf("t%d", i))
	}
	r.pass(30 * time.Minute)
	young := r.focus(s, "young")
	r.settings.Idle = 20 * time.Minute
	require.NoError(t, r.bindings.Reload(t.Context()))
	r.quiet()
	require.NoError(t, r.db.Read(t.Context(), func(tx *store.Tx) error {
		live, err := tx.LiveBindings("", 1000)
		require.Len(t, live, 1)
		return err
	}))
	r.pass(20 * time.Minute)
	require.Equal(t, core.EndIdle, r.binding(young.ID).Reason, "its timer moved")
	require.Equal(t, young.BoundAt.Add(20*time.Minute), r.binding(young.ID).EndedAt)
}

func TestASettingThatWasChangedWhileNothingRan(t *testing.T) {
	r := newRig(t)
	r.settings.MaxPerUser = 0
	s, _ := r.child("cats", nil)
	for i := range 12 {
		r.focus(s, fmt.Sprintf("t%d", i))
	}
	r.pass(30 * time.Minute)
	young := r.focus(s, "young")
	r.settings.Idle = 20 * time.Minute
	r.restart(time.Minute)
	require.Equal(t, core.BindingActive, r.binding(young.ID).Status)
	live := func() (n int) {
		require.NoError(t, r.db.Read(t.Context(), func(tx *store.Tx) error {
			all, err := tx.LiveBindings("", 1000)
			n = len(all)
			return err
		}))
		return n
	}
	require.Equal(t, 3, live(), "ten at once")
	r.pass(time.Second)
	require.Equal(t, 1, live())
	r.pass(19*time.Minute - time.Second)
	require.Equal(t, core.EndIdle, r.binding(young.ID).Reason)
	require.Equal(t, young.BoundAt.Add(20*time.Minute), r.binding(young.ID).EndedAt)
}

func TestEndAccount(t *testing.T) {
	r := newRig(t)
	r.settings.MaxPerUser = 0
	s, _ := r.child("cats", nil)
	for i := range threadbind.BatchLimit + 1 {
		r.focus(s, fmt.Sprintf("t%d", i))
	}
	b := r.focus(s, "last")
	require.NoError(t, r.bindings.EndAccount(t.Context(), room.Channel, room.Account))
	require.Equal(t, core.EndAccountRemoved, r.binding(b.ID).Reason)
	require.NoError(t, r.db.Read(t.Context(), func(tx *store.Tx) error {
		live, err := tx.LiveBindings("", 1000)
		require.Empty(t, live)
		return err
	}))
}

func TestARemoteThreadIsArchivedAndTheRecordPurged(t *testing.T) {
	r := newRig(t)
	r.settings.OnEnd = threadbind.OnEndArchive
	s, _ := r.child("cats", nil)
	b := r.spawn(t, s)
	r.channel.archiveError = errors.New("down")
	r.write(func(tx *store.Tx) error { return r.bindings.End(tx, b.ID, core.EndManual) })
	r.pass(30 * time.Second)
	require.Empty(t, r.channel.archived)
	r.channel.archiveError = nil
	r.pass(time.Minute)
	require.Len(t, r.channel.archived, 1)
	require.True(t, b.Address.Same(r.channel.archived[0]))
	r.pass(time.Hour)
	require.Len(t, r.channel.archived, 1)
	r.pass(7 * 24 * time.Hour)
	require.Empty(t, r.binding(b.ID).ID, "kept for seven days")
}

func TestB061_AnEndedSessionIsNotTalkedTo(t *testing.T) {
	r := newRig(t)
	s, _ := r.child("cats", nil)
	at := room.InThread("t1")
	r.focus(s, "t1")
	r.write(func(tx *store.Tx) error { return r.bindings.EndSession(tx, s.ID) })
	r.restart(time.Minute)
	r.channel.forget()
	require.False(t, r.message(at, "hello"))
	require.Empty(t, r.channel.texts(at), "no error text")
}

func TestB063_ABindingWhoseSessionIsGoneFallsThrough(t *testing.T) {
	r := newRig(t)
	s, _ := r.child("cats", nil)
	b := r.focus(s, "t1")
	r.write(func(tx *store.Tx) error { return tx.DeleteSession(s.ID) })
	require.False(t, r.message(room.InThread("t1"), "hello"))
	require.Equal(t, core.EndSessionEnded, r.binding(b.ID).Reason)
}
