package delivery

import "context"

// Drain blocks until nothing is due: what is left waits for another try. It
// returns early when ctx or the world ends. Whoever ends the process calls it
// between the last turn and Stop, so that finished answers leave at once and
// not after the next start.
func (s *Service) Drain(ctx context.Context) {
	s.mu.RLock()
	waits := make([]<-chan struct{}, 0, len(s.workers))
	for _, w := range s.workers {
		waits = append(waits, w.drained())
	}
	s.mu.RUnlock()
	for _, drained := range waits {
		select {
		case <-drained:
		case <-ctx.Done():
			return
		case <-s.opts.World.Context().Done():
			return
		}
	}
}

// drained returns a channel that is closed as soon as nothing is due.
func (w *worker) drained() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	done := make(chan struct{})
	w.drains = append(w.drains, done)
	w.tellDrained()
	return done
}

// tellDrained tells those who wait if nothing is due or the worker ends. w.mu
// is held.
func (w *worker) tellDrained() {
	if len(w.drains) == 0 || !w.stopping && (!w.loaded || w.due()) {
		return
	}
	for _, done := range w.drains {
		close(done)
	}
	w.drains = nil
}

// due reports whether a lane is sending or about to. w.mu is held.
func (w *worker) due() bool {
	for _, l := range w.lanes {
		if l.state == laneReady || l.state == laneRunning {
			return true
		}
	}
	for l := range w.alone {
		if l.state == laneReady || l.state == laneRunning {
			return true
		}
	}
	return false
}
