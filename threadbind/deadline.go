package threadbind

import (
	"math"
	"time"

	"github.com/skein-bot/skein/core"
)

// Limits are the configured time limits of a binding, which hold where the
// record has no limit of its own. 0 or less means off.
type Limits struct {
	Idle   time.Duration // from the last activity
	MaxAge time.Duration // from the moment of binding
}

// Of returns the limits in force for rec: its own where set, else l's.
func (l Limits) Of(rec core.Binding) Limits {
	if rec.Idle != nil {
		l.Idle = fromMillis(*rec.Idle)
	}
	if rec.MaxAge != nil {
		l.MaxAge = fromMillis(*rec.MaxAge)
	}
	return Limits{Idle: max(l.Idle, 0), MaxAge: max(l.MaxAge, 0)}
}

// Due returns the next deadline of rec and the reason for which it would end
// then; at is 0 if rec has no deadline. busy tells that the session has a
// running turn, queued input or a pending approval: idle then cannot expire.
// Pending and ended records have no deadline.
func Due(rec core.Binding, limits Limits, busy bool) (at core.Millis, reason core.EndReason) {
	if rec.Status != core.BindingActive && rec.Status != core.BindingSuspended {
		return 0, core.NotEnded
	}
	limits = limits.Of(rec)
	var next deadline
	if !busy {
		next.add(max(rec.LastActivity, rec.BoundAt, rec.BusyUntil), limits.Idle, core.EndIdle)
	}
	next.add(rec.BoundAt, limits.MaxAge, core.EndMaxAge)
	if rec.Deadline != 0 {
		next.take(rec.Deadline, core.EndDeadline)
	}
	return next.at, next.reason
}

// Expired tells whether a deadline of rec has come by now, and which one did
// first. At exactly its deadline a binding is expired.
func Expired(rec core.Binding, limits Limits, busy bool, now core.Millis) (reason core.EndReason, expired bool) {
	at, reason := Due(rec, limits, busy)
	if at == 0 || now < at {
		return core.NotEnded, false
	}
	return reason, true
}

// deadline collects the earliest of several; the first one added wins a tie.
type deadline struct {
	at     core.Millis
	reason core.EndReason
}

// add takes start+limit, unless the limit is off or lies beyond the calendar.
func (d *deadline) add(start core.Millis, limit time.Duration, reason core.EndReason) {
	ms := toMillis(limit)
	if ms <= 0 || int64(start) > math.MaxInt64-ms {
		return
	}
	d.take(start+core.Millis(ms), reason)
}

func (d *deadline) take(at core.Millis, reason core.EndReason) {
	if d.at == 0 || at < d.at {
		d.at, d.reason = at, reason
	}
}

// toMillis rounds up, so that a limit under a millisecond does not turn into
// "off".
func toMillis(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d > 0 && time.Duration(ms)*time.Millisecond < d {
		ms++
	}
	return ms
}

// fromMillis is the duration of ms milliseconds, at most the longest there is.
func fromMillis(ms int64) time.Duration {
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}
