package subagent

import (
	"sync"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
)

// sweepEvery is how often the runtime looks for lost runs while there is any
// that has not ended.
const sweepEvery = time.Minute

// Sweep returns the look for lost runs, for the kernel. A run that two looks in
// a row find without anything to move it is ended as interrupted.
func (e *Engine) Sweep() kernel.Source { return &sweepSource{e: e} }

type sweepSource struct {
	e *Engine

	mu sync.Mutex
	// next is the next look; suspects are what the last one found.
	next     core.Millis
	suspects map[string]bool
}

// Name implements kernel.Source.
func (*sweepSource) Name() string { return "sweep" }

// Next implements kernel.Source.
func (s *sweepSource) Next(tx *store.Tx) (core.Millis, error) {
	unended, err := tx.LiveRuns(1)
	if err != nil || len(unended) == 0 {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == 0 {
		s.next = s.e.World.Now().Add(sweepEvery)
	}
	return s.next, nil
}

// Fire implements kernel.Source: it ends one run at most, so that a unit never
// works on the sessions of two.
func (s *sweepSource) Fire(tx *store.Tx, now core.Millis) (int, error) {
	lost, err := tx.LostRuns(lostBatch)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	before := s.suspects
	s.mu.Unlock()
	suspects, ended, next := make(map[string]bool, len(lost)), 0, now.Add(sweepEvery)
	for _, r := range lost {
		switch known := before[r.ID]; {
		case known && ended == 0:
			if err := s.e.endLost(tx, r); err != nil {
				return 0, err
			}
			ended++
		case known:
			next = now // the others at once
			fallthrough
		default:
			suspects[r.ID] = true
		}
	}
	tx.OnCommit(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.suspects, s.next = suspects, next
	})
	return ended, nil
}
