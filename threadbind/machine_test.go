package threadbind

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

// summary is what the table of transitions compares.
func summary(b core.Binding, effects []Effect) string {
	s := string(b.Status)
	if b.Reason != core.NotEnded {
		s += "(" + b.Reason.String() + ")"
	}
	if b.SuspendReason != "" {
		s += "(" + b.SuspendReason + ")"
	}
	for _, e := range effects {
		s += " " + e.Kind.String()
		if e.Reason != core.NotEnded {
			s += "(" + e.Reason.String() + ")"
		}
		if e.Kind == EffectReschedule {
			s += fmt.Sprintf("(%s)", e.At.Sub(t0))
		}
	}
	return s
}

func TestApply(t *testing.T) {
	limits := Limits{Idle: hours(1), MaxAge: hours(10)}
	pending := func(b *core.Binding) {
		b.Status, b.BoundAt, b.LastActivity = core.BindingPending, 0, 0
		b.Address = core.Address{Channel: "fake", Account: "default", Parent: "Team"}
	}
	suspended := func(b *core.Binding) { b.Status, b.SuspendReason = core.BindingSuspended, "closed" }
	ended := func(b *core.Binding) { b.Status, b.Reason, b.EndedAt = core.BindingEnded, core.EndManual, t0 }
	current := func(b *core.Binding) { b.Placement = core.PlacementCurrent }
	duration := func(h float64) *time.Duration { d := hours(h); return &d }
	tests := []struct {
		name  string
		state func(b *core.Binding)
		ev    Event
		after float64 // hours since t0
		want  string  // "" for an error
	}{
		{"opened", pending, Opened{Address: threadAddress("T9"), Session: 8}, 0, "active intro reschedule(1h0m0s)"},
		{"opened nowhere", pending, Opened{}, 0, ""},
		{"opened without a conversation", pending, Opened{Address: core.Address{Channel: "fake", Account: "default"}}, 0, ""},
		{"opened twice", nil, Opened{Address: threadAddress("T9")}, 0, ""},
		{"opened after the end", ended, Opened{Address: threadAddress("T9")}, 0, ""},
		{"spawn failed", pending, SpawnFailed{}, 0, "ended(spawn-failed)"},
		{"spawn failed too late", nil, SpawnFailed{}, 0, ""},
		{"pending ends as spawn-failed", pending, End{core.EndAccountRemoved}, 0, "ended(spawn-failed)"},
		{"message while pending", pending, MessageIn{}, 0, ""},
		{"check while pending", pending, Check{}, 0, ""},

		{"message", nil, MessageIn{}, 0.5, "active reschedule(1h30m0s)"}, // Due was not set yet
		{"message with a lower bound", func(b *core.Binding) { b.Due = t0 + 5 }, MessageIn{}, 0.5, "active"},
		{"message too late", nil, MessageIn{}, 1, "ended(idle-expired) farewell(idle-expired) archive(idle-expired)"},
		{"message too late for max-age", nil, MessageIn{}, 10, "ended(idle-expired) farewell(idle-expired) archive(idle-expired)"},
		{"message while busy", nil, MessageIn{Busy: true}, 5, "active reschedule(6h0m0s)"},
		{"message while busy but too old", nil, MessageIn{Busy: true}, 10, "ended(max-age-expired) farewell(max-age-expired) archive(max-age-expired)"},
		{"message while suspended", suspended, MessageIn{}, 0.5, "suspended(closed) reschedule(1h30m0s)"},
		{"message too late while suspended", suspended, MessageIn{}, 1, "ended(idle-expired)"},
		{"message after the end", ended, MessageIn{}, 0, ""},
		{"reply", nil, ReplyOut{}, 0.5, "active reschedule(1h30m0s)"},
		{"reply too late", nil, ReplyOut{}, 1, "ended(idle-expired) farewell(idle-expired) archive(idle-expired)"},
		{"reply after the end", ended, ReplyOut{}, 0, ""},

		{"worked", nil, Worked{t0 + 5}, 0, "active"},
		{"worked after the end", ended, Worked{t0 + 5}, 0, ""},
		{"check in time", nil, Check{}, 0.5, "active reschedule(1h0m0s)"},
		{"check at the deadline", nil, Check{}, 1, "ended(idle-expired) farewell(idle-expired) archive(idle-expired)"},
		{"check while busy", nil, Check{Busy: true}, 1, "active reschedule(2h0m0s)"},
		{"check of a current binding", current, Check{}, 1, "ended(idle-expired) farewell(idle-expired)"},
		{"check after work", func(b *core.Binding) { b.BusyUntil = t0.Add(hours(2)) }, Check{}, 2.5, "active reschedule(3h0m0s)"},

		{"unfocus", nil, End{core.EndManual}, 0, "ended(manual) farewell(manual) archive(manual)"},
		{"replaced", nil, End{core.EndReplaced}, 0, "ended(replaced)"},
		{"deleted", nil, End{core.EndThreadDeleted}, 0, "ended(thread-deleted)"},
		{"account removed", nil, End{core.EndAccountRemoved}, 0, "ended(account-removed)"},
		{"session ended", nil, End{core.EndSessionEnded}, 0, "ended(session-ended) farewell(session-ended) archive(session-ended)"},
		{"session ended while suspended", suspended, End{core.EndSessionEnded}, 0, "ended(session-ended)"},
		{"no reason", nil, End{}, 0, ""},
		{"a reason that nobody knows", nil, End{core.EndReason(99)}, 0, ""},
		{"spawn-failed once active", nil, End{core.EndSpawnFailed}, 0, ""},
		{"ended twice", ended, End{core.EndManual}, 0, ""},

		{"suspend", nil, Suspend{CauseForbidden}, 0, "suspended(forbidden) notify-owner"},
		{"suspend again", suspended, Suspend{CauseClosed}, 0, "suspended(closed)"},
		{"suspend for two causes", suspended, Suspend{CauseForbidden}, 0, "suspended(closed forbidden)"},
		{"suspend without a cause", nil, Suspend{}, 0, ""},
		{"suspend after the end", ended, Suspend{CauseClosed}, 0, ""},
		{"restore", suspended, Restore{CauseClosed}, 0, "active"},
		{"restore another cause", suspended, Restore{CauseForbidden}, 0, "suspended(closed)"},
		{"restore an active one", nil, Restore{CauseClosed}, 0, "active"},
		{"restore after the end", ended, Restore{CauseClosed}, 0, ""},

		{"refocus", nil, Refocus{}, 0.5, "active intro reschedule(1h30m0s)"},
		{"refocus after the end", ended, Refocus{}, 0, ""},
		{"set idle", nil, SetIdle{duration(2)}, 0.5, "active reschedule(2h30m0s)"},
		{"set idle off", nil, SetIdle{duration(0)}, 0.5, "active reschedule(10h0m0s)"},
		{"set idle back", func(b *core.Binding) { b.Idle = ownLimit(hours(5)) }, SetIdle{}, 0.5, "active reschedule(1h30m0s)"},
		{"set idle below 0", nil, SetIdle{duration(-1)}, 0, ""},
		{"set max-age", nil, SetMaxAge{duration(0.75)}, 0.5, "active reschedule(45m0s)"},
		{"set max-age after the end", ended, SetMaxAge{duration(1)}, 0, ""},

		{"moved", nil, Moved{To: threadAddress("T2"), SessionKey: "k"}, 0, "active"},
		{"moved nowhere", nil, Moved{}, 0, ""},
		{"moved after the end", ended, Moved{To: threadAddress("T2")}, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := activeBinding()
			if tt.state != nil {
				tt.state(&before)
			}
			now := t0.Add(hours(tt.after))
			after, effects, err := Apply(before, tt.ev, limits, now)
			if tt.want == "" {
				require.ErrorIs(t, err, ErrTransition)
				require.Equal(t, before, after)
				require.Empty(t, effects)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, summary(after, effects))
			if after.Status == core.BindingEnded {
				require.Equal(t, now, after.EndedAt)
				require.Zero(t, after.Due)
			}
		})
	}
}

func TestOpenedTakesPlaceDataAndSession(t *testing.T) {
	b := activeBinding()
	b.Status, b.Session, b.SessionKey = core.BindingPending, 0, ""
	data := []byte("webhook 1")
	got, _, err := Apply(b, Opened{Address: threadAddress("T2"), Data: data, Session: 9, SessionKey: "k"}, Limits{}, t0)
	require.NoError(t, err)
	data[0] = 'X'
	require.Equal(t, []byte("webhook 1"), got.Data, "the record keeps its own copy")
	require.Equal(t, threadAddress("T2"), got.Address)
	require.Equal(t, int64(9), got.Session)
	require.Equal(t, "k", got.SessionKey)
}

func TestActivityNeverMovesBackwards(t *testing.T) {
	b := activeBinding()
	b.LastActivity = t0 + 1000
	for _, ev := range []Event{MessageIn{}, ReplyOut{}, Refocus{}, SetIdle{}} {
		got, _, err := Apply(b, ev, Limits{Idle: hours(1)}, t0+10)
		require.NoError(t, err)
		require.Equal(t, t0+1000, got.LastActivity, "%T", ev)
	}
}

func TestApplyLeavesTheRecordAlone(t *testing.T) {
	b := activeBinding()
	b.Idle = ownLimit(hours(3))
	d := hours(1)
	got, _, err := Apply(b, SetIdle{Limit: &d}, Limits{}, t0)
	require.NoError(t, err)
	require.Equal(t, toMillis(hours(3)), *b.Idle)
	require.Equal(t, toMillis(hours(1)), *got.Idle)
}

func ExampleApply() {
	limits := Limits{Idle: time.Hour}
	b := core.Binding{
		ID: "01J", Address: core.Address{Channel: "console", Account: "default", Conversation: "main", Thread: "1"},
		Status: core.BindingActive, BoundAt: 1_000_000, LastActivity: 1_000_000,
	}
	b, _, _ = Apply(b, MessageIn{}, limits, 2_000_000)
	at, reason := Due(b, limits, false)
	fmt.Println(at, reason)

	b, effects, _ := Apply(b, MessageIn{}, limits, at)
	fmt.Println(b.Status, b.Reason, effects[0].Kind)
	// Output:
	// 5600000 idle-expired
	// ended idle-expired farewell
}
