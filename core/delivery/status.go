package delivery

import (
	"cmp"
	"slices"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// Status is what an account has done since it was started, for
// `skein channels status` and the metrics.
type Status struct {
	Channel, Account string

	// Open is the number of messages that are not at an end, Retrying how many
	// of them wait for another try.
	Open, Retrying int

	// Sent counts messages, Resent those that were sent once more because
	// they may have been sent, Retries the tries that failed and are repeated.
	Sent, Resent, Retries int64
	// Failed, Blocked and Ambiguous count messages that were given up.
	Failed, Blocked, Ambiguous int64

	LastSent    core.Millis // time of the last receipt
	LastError   string      // of the last try that failed, "" if none did
	LastErrorAt core.Millis
}

// Status returns the accounts' states, ordered by channel and account.
func (s *Service) Status() []Status {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]Status, 0, len(s.workers))
	for _, w := range s.workers {
		out = append(out, w.snapshot())
	}
	slices.SortFunc(out, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Account, b.Account))
	})
	return out
}

func (w *worker) snapshot() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	st := w.status
	st.Open = len(w.items)
	waits := func(l *lane) {
		if l.state == laneWaiting {
			st.Retrying++
		}
	}
	for _, l := range w.lanes {
		waits(l)
	}
	for l := range w.alone {
		waits(l)
	}
	return st
}

// note updates the status.
func (w *worker) note(update func(*Status)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	update(&w.status)
}

// troubled notes a try that failed.
func (w *worker) troubled(row store.Outbox, update func(*Status)) {
	w.note(func(st *Status) {
		st.LastError, st.LastErrorAt = row.Error, w.s.opts.World.Now()
		update(st)
	})
}
