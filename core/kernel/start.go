package kernel

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/skein-bot/skein/core/store"
)

// TimerStart is the kind of timer that is due where a turn had a slot and did
// not start in time; its ref is the turn, its payload a StartAttempt.
const TimerStart = "start"

// StartAttempt says what the deadline of a start is for. The zero value is that
// of a payload that cannot be read.
type StartAttempt struct {
	N     int   // which attempt to start the turn that is, from 1
	Fence int64 // of the session at that attempt: under another one its process is gone
}

// Counts reports whether the deadline has passed for an attempt that is still
// going on: somebody owns the session, or what was cut off at this attempt still
// runs here. Else its process is gone and the next claim is to come, or the turn
// waits for a slot.
func (a StartAttempt) Counts(s store.Session, runsHere bool) bool {
	return s.Owner != "" || a.Fence == s.Fence && runsHere
}

// String is the payload of the timer.
func (a StartAttempt) String() string { return fmt.Sprintf("%d %d", a.N, a.Fence) }

// ParseStartAttempt reads the payload of a timer; one of an older build has no
// fence.
func ParseStartAttempt(payload string) (a StartAttempt) {
	_, _ = fmt.Sscan(payload, &a.N, &a.Fence)
	return a
}

// OutcomeAttempts is how often a turn that is to tell of an outcome may be
// begun in vain before the runtime tells it itself.
const OutcomeAttempts = 3

// startLimit is how long the turn of a claim may take to start, 0 for as long as
// it needs.
func (k *Kernel) startLimit(l *Lease) time.Duration {
	if k.opts.StartLimit == nil {
		return 0
	}
	return k.opts.StartLimit(l.Session, l.Turn)
}

// untilDurable counts as work until the deadline of a claim is committed and
// armed: the turn itself does not wait for that.
func (k *Kernel) untilDurable(claim *store.Pending) {
	done := k.opts.World.Work.Begin("claim")
	k.wg.Go(func() {
		defer done()
		_ = claim.Wait() // whoever runs the turn learns of a failure by its first step
	})
}

// limitStart sets the deadline by which the turn of a claim must have started,
// in the transaction of the claim: the session is free and has its slot. An
// attempt whose deadline passed counts also where it never came to a claim.
func (k *Kernel) limitStart(tx *store.Tx, l *Lease) error {
	limit := k.startLimit(l)
	if limit <= 0 {
		return nil
	}
	t := store.Timer{Kind: TimerStart, Ref: strconv.FormatInt(l.Turn.ID, 10), Due: k.opts.World.Now().Add(limit)}
	attempt := l.Turn.Attempts
	if l.Resumed {
		was, err := tx.TimerAt(t.Kind, t.Ref)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		attempt = max(attempt, ParseStartAttempt(was.Payload).N)
	}
	t.Payload = StartAttempt{attempt, l.Session.Fence}.String()
	tx.OnCommit(func() { k.Due(t.Due) })
	return tx.SetTimer(t)
}

// Started notes that the turn has started; it drops the deadline for that. Call
// it inside Step.
func (l *Lease) Started(tx *store.Tx) error {
	if l.k == nil || l.k.startLimit(l) <= 0 {
		return nil
	}
	return tx.DropTimer(TimerStart, strconv.FormatInt(l.Turn.ID, 10))
}
