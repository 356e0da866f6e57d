package core

import (
	"context"
	"time"
)

// Clock is the only source of time in the runtime. core/clock has the real one
// and the virtual one of conversation tests; a lint rule bans the timer
// functions of time and context everywhere else.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// NewTimer returns a timer that sends once on its channel after d.
	NewTimer(d time.Duration) Timer
	// AfterFunc runs f in its own goroutine after d.
	AfterFunc(d time.Duration, f func()) Timer
	// Sleep blocks for d or until ctx ends, and then returns ctx's cause.
	// The caller must be doing counted work: while it sleeps, the world does
	// not wait for it.
	Sleep(ctx context.Context, d time.Duration) error
	// WithTimeout is context.WithTimeout on this clock. Ask context.Cause for
	// the reason: after the deadline it is context.DeadlineExceeded.
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// WithDeadline is context.WithDeadline on this clock.
	WithDeadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc)
}

// Timer is a timer of a Clock.
type Timer interface {
	// C returns the channel a timer of NewTimer sends on; it is nil for a
	// timer of AfterFunc.
	C() <-chan time.Time
	// Stop prevents the timer from firing; it reports whether it did.
	Stop() bool
	// Reset changes the timer to fire after d; it reports whether the timer
	// had been active.
	Reset(d time.Duration) bool
}

// Millis is a time as milliseconds since 1970 in UTC, the form in which the
// store keeps times. 0 means "none".
type Millis int64

// ToMillis converts t; the zero time becomes 0.
func ToMillis(t time.Time) Millis {
	if t.IsZero() {
		return 0
	}
	return Millis(t.UnixMilli())
}

// Time converts m to a time in UTC; 0 becomes the zero time.
func (m Millis) Time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m)).UTC()
}

// Add returns m later by d, cut to whole milliseconds.
func (m Millis) Add(d time.Duration) Millis { return m + Millis(d.Milliseconds()) }

// Sub returns how much later m is than n.
func (m Millis) Sub(n Millis) time.Duration { return time.Duration(m-n) * time.Millisecond }
