package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// TestOldRowsAreSwept: what grows is removed after the days of
// session.retention, in batches, whether or not anything else happens.
func TestOldRowsAreSwept(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	s := newScene(t, `{ session: { retention: { archivedDays: 60 } } }`, `
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "dig", context: "isolated"}}]},
  {when: {lastTool: "sessions_spawn"}, say: "started"},`)
	for i := range 120 { // more than a batch
		s.says("alice", "dm:alice", fmt.Sprint("message ", i))
	}
	s.says("alice", "dm:alice", "go")
	counts := func() (dedupe, outbox core.Millis, archived int) {
		s.read(func(tx *store.Tx) (err error) {
			if dedupe, err = tx.Oldest(store.GrownDedupe); err != nil {
				return err
			}
			if outbox, err = tx.Oldest(store.GrownOutbox); err != nil {
				return err
			}
			all, err := tx.Sessions(true, 10)
			archived = len(all)
			return err
		})
		return dedupe, outbox, archived
	}
	s.pass(7 * day)
	dedupe, outbox, archived := counts()
	require.NotZero(t, dedupe, "a message that is delivered again within 7 days is known")
	require.NotZero(t, outbox)
	require.Equal(t, 1, archived)
	s.pass(2 * time.Hour)
	dedupe, outbox, _ = counts()
	require.Zero(t, dedupe)
	require.NotZero(t, outbox)
	s.pass(23*day + 2*time.Hour)
	_, outbox, archived = counts()
	require.Zero(t, outbox)
	require.Equal(t, 1, archived)
	s.reload(`{ session: { retention: { archivedDays: 31 } } }`)
	s.pass(2 * day)
	_, _, archived = counts()
	require.Zero(t, archived)
	require.Empty(t, s.runs())
	s.says("alice", "dm:alice", "still here?")
	require.Equal(t, "ok: still here?", s.told("dm:alice")[len(s.told("dm:alice"))-1])
}
