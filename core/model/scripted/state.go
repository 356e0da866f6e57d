package scripted

import (
	"sync"

	"github.com/skein-bot/skein/core/model"
)

// State counts the uses of rules. Give one State to each Provider that goes on
// where another stopped; its rules must be the same. It is safe for use by
// many goroutines.
type State struct {
	mu    sync.Mutex
	uses  map[int]int      // by rule
	known map[use]bool     // uses of rules with `times` that had a Request.ID
	owed  map[attempt]bool // uses whose first try has failed
}

// use names one use of a rule over retries and restarts.
type use struct {
	rule int
	id   string
}

// attempt names a use of a rule that fails and answers. Without a Request.ID
// the newest item stands for it, which also outlives a compaction.
type attempt struct {
	use
	agent, task, newest string
}

// NewState returns a State in which no rule was used.
func NewState() *State {
	return &State{uses: make(map[int]int), known: make(map[use]bool), owed: make(map[attempt]bool)}
}

// take decides about a rule that matches req: whether it still applies, and
// whether this try is to fail. It counts the use.
func (s *State) take(r *rule, req model.Request, n newest) (applies, fails bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Fail != "" && !r.answers() {
		return s.count(r), true
	}
	a := attempt{use: use{r.index, req.ID}}
	if req.ID == "" {
		a.agent, a.task, a.newest = req.Agent, req.TaskText, n.texts[0]
	}
	if r.Fail != "" && s.owed[a] {
		if req.ID == "" { // the next request like this one is a new use
			delete(s.owed, a)
		}
		return true, false
	}
	repeated := req.ID != "" && s.known[a.use]
	if !repeated && !s.count(r) {
		return false, false
	}
	if req.ID != "" && r.Times > 0 {
		s.known[a.use] = true
	}
	if r.Fail == "" {
		return true, false
	}
	s.owed[a] = true
	return true, true
}

// count counts one use of r unless it has ended.
func (s *State) count(r *rule) bool {
	if r.Times > 0 && s.uses[r.index] >= r.Times {
		return false
	}
	s.uses[r.index]++
	return true
}
