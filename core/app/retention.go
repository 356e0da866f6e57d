package app

import (
	"sync"
	"time"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
)

const (
	// sweepBatch bounds how long one batch holds the writer.
	sweepBatch = 100
	// sweepEvery is how much is gathered before it is swept, and the pause
	// after a sweep that had nothing left to do.
	sweepEvery = time.Hour

	day = 24 * time.Hour
)

// retention removes what is older than session.retention says: a deadline like
// any other, so it costs nothing while nothing is due.
type retention struct {
	settings func() config.Retention

	mu sync.Mutex
	// due is the deadline that is known under the settings of known, 0 for
	// none. What is oldest gets no older, so it holds until it comes.
	due   core.Millis
	known config.Retention
	// notBefore is the end of the pause after the last sweep.
	notBefore core.Millis
}

var _ kernel.Source = (*retention)(nil)

// kept pairs what grows with how long it is kept.
type kept struct {
	store.Grown
	age time.Duration
}

// keeps lists what is not kept for ever.
func keeps(r config.Retention) []kept {
	var out []kept
	for _, k := range []struct {
		grown store.Grown
		days  int
	}{
		{store.GrownDedupe, r.DedupeDays},
		{store.GrownOutbox, r.OutboxDays},
		{store.GrownNotices, r.EventsDays},
		{store.GrownUsage, r.EventsDays},
		{store.GrownSpend, r.EventsDays},
		{store.GrownSpendDays, r.EventsDays},
		{store.GrownHistory, r.EventsDays},
		{store.GrownAlerts, r.EventsDays},
		{store.GrownTurns, r.EventsDays},
		{store.GrownPace, 1}, // it counts for a minute
		{store.GrownTalks, 1},
		{store.GrownArchived, r.ArchivedDays},
		{store.GrownTranscript, r.TranscriptDays},
		{store.GrownMedia, r.TranscriptDays},
	} {
		if k.days > 0 {
			out = append(out, kept{k.grown, time.Duration(k.days) * day})
		}
	}
	return out
}

// Name implements kernel.Source.
func (*retention) Name() string { return "retention" }

// Next implements kernel.Source.
func (r *retention) Next(tx *store.Tx) (core.Millis, error) {
	settings := r.settings()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.due == 0 || r.known != settings {
		due, err := r.next(tx, settings)
		if err != nil {
			return 0, err
		}
		r.due, r.known = due, settings
	}
	if r.due == 0 {
		return 0, nil
	}
	return max(r.due, r.notBefore), nil
}

// next returns when something is too old, at the end of an hour.
func (*retention) next(tx *store.Tx, settings config.Retention) (due core.Millis, err error) {
	for _, k := range keeps(settings) {
		oldest, err := tx.Oldest(k.Grown)
		if err != nil {
			return 0, err
		}
		if at := oldest.Add(k.age + sweepEvery); oldest != 0 && (due == 0 || at < due) {
			due = at
		}
	}
	return due, nil
}

// Fire implements kernel.Source: one batch of each. There is another one at
// once where one was full.
func (r *retention) Fire(tx *store.Tx, now core.Millis) (int, error) {
	total, full := 0, false
	for _, k := range keeps(r.settings()) {
		n, err := tx.Sweep(k.Grown, now.Add(-k.age), sweepBatch)
		if err != nil {
			return 0, err
		}
		total, full = total+int(n), full || n == sweepBatch || n > 0 && k.Grown == store.GrownArchived
	}
	tx.OnCommit(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.due, r.notBefore = 0, now.Add(sweepEvery)
		if full {
			r.notBefore = now
		}
	})
	return total, nil
}
