package threadbind

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

func TestDue(t *testing.T) {
	at := func(h float64) core.Millis { return t0.Add(hours(h)) }
	tests := []struct {
		name   string
		change func(b *core.Binding)
		limits Limits
		busy   bool
		at     core.Millis
		reason core.EndReason
	}{
		{name: "no limit"},
		{name: "idle", limits: Limits{Idle: hours(24)}, at: at(24), reason: core.EndIdle},
		{name: "max-age", limits: Limits{MaxAge: hours(24)}, at: at(24), reason: core.EndMaxAge},
		{name: "both, idle first", limits: Limits{Idle: hours(1), MaxAge: hours(2)}, at: at(1), reason: core.EndIdle},
		{name: "both, max-age first", limits: Limits{Idle: hours(3), MaxAge: hours(2)}, at: at(2), reason: core.EndMaxAge},
		{name: "tie is idle", limits: Limits{Idle: hours(2), MaxAge: hours(2)}, at: at(2), reason: core.EndIdle},
		{name: "half an hour", limits: Limits{Idle: hours(0.5)}, at: at(0.5), reason: core.EndIdle},
		{name: "under a millisecond is not off", limits: Limits{Idle: 1}, at: t0 + 1, reason: core.EndIdle},
		{name: "negative is off", limits: Limits{Idle: -1, MaxAge: -1}},
		{name: "beyond the calendar is none", change: func(b *core.Binding) { b.BoundAt = math.MaxInt64 - 5 }, limits: Limits{Idle: hours(1), MaxAge: hours(1)}},
		{
			name: "activity moves idle", limits: Limits{Idle: hours(1)}, at: at(6), reason: core.EndIdle,
			change: func(b *core.Binding) { b.LastActivity = at(5) },
		},
		{
			name: "activity does not move max-age", limits: Limits{MaxAge: hours(1)}, at: at(1), reason: core.EndMaxAge,
			change: func(b *core.Binding) { b.LastActivity = at(5) },
		},
		{
			name: "activity from before the binding", limits: Limits{Idle: hours(1)}, at: at(1), reason: core.EndIdle,
			change: func(b *core.Binding) { b.LastActivity = at(-5) },
		},
		{
			name: "the end of work moves idle", limits: Limits{Idle: hours(1)}, at: at(3), reason: core.EndIdle,
			change: func(b *core.Binding) { b.BusyUntil = at(2) },
		},
		{name: "idle waits for work", limits: Limits{Idle: hours(1)}, busy: true},
		{name: "max-age does not wait", limits: Limits{Idle: hours(1), MaxAge: hours(2)}, busy: true, at: at(2), reason: core.EndMaxAge},
		{
			name: "own limits win", limits: Limits{Idle: hours(1), MaxAge: hours(1)}, at: at(2), reason: core.EndMaxAge,
			change: func(b *core.Binding) { b.Idle, b.MaxAge = ownLimit(hours(3)), ownLimit(hours(2)) },
		},
		{
			name: "own off wins", limits: Limits{Idle: hours(1), MaxAge: hours(1)},
			change: func(b *core.Binding) { b.Idle, b.MaxAge = ownLimit(0), ownLimit(0) },
		},
		{
			name: "absolute", at: at(4), reason: core.EndDeadline,
			change: func(b *core.Binding) { b.Deadline = at(4) },
		},
		{
			name: "absolute loses a tie", limits: Limits{MaxAge: hours(4)}, at: at(4), reason: core.EndMaxAge,
			change: func(b *core.Binding) { b.Deadline = at(4) },
		},
		{
			name: "absolute does not wait for work", limits: Limits{Idle: hours(1)}, busy: true, at: at(4), reason: core.EndDeadline,
			change: func(b *core.Binding) { b.Deadline = at(4) },
		},
		{
			name: "suspended keeps its clock", limits: Limits{Idle: hours(1)}, at: at(1), reason: core.EndIdle,
			change: func(b *core.Binding) { b.Status = core.BindingSuspended },
		},
		{name: "pending has none", limits: Limits{Idle: hours(1)}, change: func(b *core.Binding) { b.Status = core.BindingPending }},
		{name: "ended has none", limits: Limits{Idle: hours(1)}, change: func(b *core.Binding) { b.Status = core.BindingEnded }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := activeBinding()
			if tt.change != nil {
				tt.change(&b)
			}
			at, reason := Due(b, tt.limits, tt.busy)
			require.Equal(t, tt.at, at)
			require.Equal(t, tt.reason, reason)
		})
	}
}

func TestExpiredToTheMillisecond(t *testing.T) {
	limits := Limits{Idle: hours(1)}
	deadline := t0.Add(hours(1))
	for now, want := range map[core.Millis]bool{deadline - 1: false, deadline: true, deadline + 1: true} {
		reason, expired := Expired(activeBinding(), limits, false, now)
		require.Equal(t, want, expired, "%d ms after the deadline", now-deadline)
		require.Equal(t, want, reason == core.EndIdle)
	}
	_, expired := Expired(activeBinding(), Limits{}, false, math.MaxInt64)
	require.False(t, expired, "0 never means at once")
}

func TestLimitsOf(t *testing.T) {
	b := activeBinding()
	b.Idle = ownLimit(math.MaxInt64)
	got := Limits{MaxAge: time.Hour}.Of(b)
	require.Equal(t, Limits{Idle: math.MaxInt64, MaxAge: time.Hour}, got, "the longest duration survives the record")
}
