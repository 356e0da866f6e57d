package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

// TestLostRunsAreSwept: the runtime finds a run that nothing moves within two
// minutes, ends it as interrupted and tells whoever asked; it leaves alone what
// merely takes long.
func TestLostRunsAreSwept(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRules+`{when: {task: "/dogs/"}, delay: "2h", say: "Dogs run."}, {when: {event: "/./"}, say: "heard"},`)
	s.say("team", "send dogs")
	s.deadRow("ghost")
	s.deadRow("shade")
	s.pass(59 * time.Second)
	require.Equal(t, core.RunRunning, s.run("ghost").Status)
	s.pass(time.Minute + 2*time.Second)
	for _, label := range []string{"ghost", "shade"} {
		require.Equal(t, core.RunInterrupted, s.run(label).Status, label)
	}
	require.Equal(t, core.RunRunning, s.run("dogs").Status)
	s.pass(3 * time.Hour)
	require.Equal(t, core.RunOK, s.run("dogs").Status)
	require.Equal(t, core.DeliveryDelivered, s.run("ghost").Delivery)
	require.Contains(t, s.told("team"), "heard")
	due, waits := s.clock.Next()
	require.False(t, waits && due.Sub(s.clock.Now()) <= time.Minute, "with nothing live nobody looks")
}
