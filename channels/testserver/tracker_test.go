package testserver_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/testserver"
)

// updates counts how many accounts hold a unit of work.
type updates struct {
	mu    sync.Mutex
	n     int
	ended chan struct{} // gets one when a unit is given back
}

func (u *updates) Begin(string) (done func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n++
	return func() {
		u.mu.Lock()
		u.n--
		u.mu.Unlock()
		u.ended <- struct{}{}
	}
}

func (u *updates) Park() (unpark func()) { return func() {} }

func (u *updates) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.n
}

// What nobody is about to fetch counts for a moment after the clock moved: a
// timer may have woken the account.
func TestTrackerMoved(t *testing.T) {
	work := &updates{ended: make(chan struct{}, 8)}
	pending := 0
	tracker := testserver.NewTracker("demo", work, func(string) int { return pending })
	defer tracker.Down()
	tracker.PollBegins("default")
	tracker.PollFailed("default") // ends the grace after Up as well
	tracker.Moved()
	require.Zero(t, work.count(), "nothing is pending")

	pending = 1
	tracker.Changed("default")
	require.Equal(t, 1, work.count())
	<-work.ended // the grace is over, the account waits for its timer
	require.Zero(t, work.count())

	tracker.Moved()
	require.Equal(t, 1, work.count())
	tracker.PollBegins("default")
	require.Equal(t, 1, work.count(), "it counts as long as it is polled")
	tracker.Moved()
	require.Equal(t, 1, work.count())
	tracker.Down()
	<-work.ended
	tracker.Moved()
	require.Zero(t, work.count(), "while the runtime is down nothing counts")
}
