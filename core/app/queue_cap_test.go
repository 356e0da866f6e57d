package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/store"
)

// The cap of a queue holds while a turn runs that took none of the queued messages,
// as one on an outcome does: nothing marks its session ready then. A cap that was
// lowered holds from the next message on.
func TestTheCapHoldsBehindEveryTurn(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{messages: {queue: {mode: "followup", cap: 2}}}`, `{when: {user: "/./"}, delay: "1h", say: "Done."},`)
	queued := func() (n int, dropped int) {
		s.change(func(tx *store.Tx) (err error) {
			if n, err = tx.CountQueued(s.session(teamKey).ID); err != nil {
				return err
			}
			rows, err := tx.DroppedRows(s.session(teamKey).ID)
			dropped = len(rows)
			return err
		})
		return n, dropped
	}
	s.say("team", "work")
	s.say("team", "one")
	s.say("team", "two")
	id := s.session(teamKey).ID
	for _, text := range []string{"three", "four", "five"} {
		s.change(func(tx *store.Tx) error { // as a claim does that takes an outcome
			_, err := tx.OwnSession(id, s.session(teamKey).Owner)
			return err
		})
		s.say("team", text)
		n, dropped := queued()
		require.Equal(t, 2, n, text)
		require.Equal(t, 1, dropped, "what was left out is one row")
	}
	s.reload(`{messages: {queue: {mode: "followup", cap: 1}}}`)
	s.say("team", "six")
	n, _ := queued()
	require.Equal(t, 1, n)
}
