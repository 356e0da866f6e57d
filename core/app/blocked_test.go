package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
)

const digRules = `
  {when: {user: "/^go (\\w+)$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "$1"}}]},
  {when: {lastTool: "sessions_spawn", result: "/\"code\":\"(\\w+)\",\"error\":\"([^\"]*)/"}, say: "refused $1 $2"},
  {when: {lastTool: "sessions_spawn"}, say: "started"},
  {when: {task: "/./"}, delay: "10s", say: "a bone"},
  {when: {event: "/task \"(\\w+)\"/"}, say: "$1 found a bone."},`

// engine writes with the scene's engine of sub-agents.
func (s *scene) settle(f func(e *subagent.Engine, tx *store.Tx) error) error {
	s.Helper()
	err := s.app.DB().Write(s.Context(), func(tx *store.Tx) error { return f(s.app.Subagents(), tx) })
	s.quiet()
	return err
}

func (s *scene) retell(ref string) error {
	s.Helper()
	return s.settle(func(e *subagent.Engine, tx *store.Tx) error { return e.Retry(tx, ref) })
}

// TestABlockedOutcomeIsToldAnew: once, whoever asks how often, and under a key
// of its own, so that what was tried before cannot come later.
func TestABlockedOutcomeIsToldAnew(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", digRules)
	s.say("team", "go rex")
	s.outage.Store(true)
	s.pass(50 * time.Minute)
	run := s.run("rex")
	require.Equal(t, core.DeliveryBlocked, run.Delivery)
	s.outage.Store(false)
	require.Equal(t, "task_unknown", core.ErrorCode(s.retell("nothing")))
	require.NoError(t, s.retell(run.TaskID))
	require.Equal(t, "task_not_blocked", core.ErrorCode(s.retell(run.ID)), "it is on its way")
	require.Equal(t, []string{"started", "rex found a bone."}, s.told("team"))
	require.Equal(t, core.DeliveryDelivered, s.run("rex").Delivery)
	s.read(func(tx *store.Tx) error {
		rows, err := tx.ListOutbox("", 10)
		require.Equal(t, store.OutSent, rows[0].State)
		require.Regexp(t, `^turn/\d+/end/retry-1$`, rows[0].OnceKey)
		require.Equal(t, store.OutWithdrawn, rows[1].State)
		return err
	})
	s.pass(time.Hour)
	require.Len(t, s.told("team"), 2)
}

// TestARetellingThatFailsIsBlockedAgain: also over a crash, and the next one
// tells it.
func TestARetellingThatFailsIsBlockedAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", digRules)
	s.say("team", "go rex")
	s.outage.Store(true)
	s.pass(50 * time.Minute)
	run := s.run("rex")
	require.NoError(t, s.retell(run.ID))
	s.crash(time.Minute)
	s.pass(50 * time.Minute)
	require.Equal(t, core.DeliveryBlocked, s.run("rex").Delivery)
	s.outage.Store(false)
	require.NoError(t, s.retell(run.ID))
	require.Equal(t, []string{"started", "rex found a bone."}, s.told("team"))
	require.Equal(t, core.DeliveryDelivered, s.run("rex").Delivery)
}

// TestABlockedOutcomeIsLetGo: by an operator, or after seven days by itself.
func TestABlockedOutcomeIsLetGo(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", digRules)
	s.say("team", "go rex")
	s.outage.Store(true)
	s.pass(50 * time.Minute)
	rex := s.run("rex")
	dismiss := func(e *subagent.Engine, tx *store.Tx) error { return e.Dismiss(tx, rex.TaskID) }
	require.NoError(t, s.settle(dismiss))
	require.Equal(t, core.DeliveryDismissed, s.run("rex").Delivery)
	require.Equal(t, "task_not_blocked", core.ErrorCode(s.settle(dismiss)))
	require.NotContains(t, findings(s.doctor()), "problem outbox_blocked console:default", "its message is let go too")

	s.say("team", "go fido")
	s.pass(50 * time.Minute)
	require.Equal(t, core.DeliveryBlocked, s.run("fido").Delivery)
	s.pass(6 * 24 * time.Hour)
	require.Equal(t, core.DeliveryBlocked, s.run("fido").Delivery)
	s.crash(25 * time.Hour)
	require.Equal(t, core.DeliveryDismissed, s.run("fido").Delivery)
}

// TestARetellingWithoutAPostIsTheNotice: where nothing is left of the post.
func TestARetellingWithoutAPostIsTheNotice(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", digRules)
	s.say("team", "go rex")
	s.outage.Store(true)
	s.pass(50 * time.Minute)
	s.outage.Store(false)
	s.read(func(tx *store.Tx) error {
		rows, err := tx.TroubleOf(s.run("rex").ID)
		require.Len(t, rows, 1)
		return err
	})
	require.NoError(t, s.settle(func(_ *subagent.Engine, tx *store.Tx) error {
		rows, err := tx.TroubleOf(s.run("rex").ID)
		if err == nil {
			_, err = tx.DismissOutbox(rows[0].ID, s.world.Now())
		}
		return err
	}))
	require.NoError(t, s.retell(s.run("rex").ID))
	require.Equal(t, "rex is done.\n\na bone", last(s.told("team")))
	require.Equal(t, core.DeliveryDelivered, s.run("rex").Delivery)
}

// TestABacklogStopsItsTreeAlone: at 25 the operator is told, at 50 the tree gets
// no further sub-agents, and the others do.
func TestABacklogStopsItsTreeAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t, alertsToMain, digRules)
	s.say("team", "go rex")
	s.pass(time.Minute)
	block := func(from, to int) {
		rex := s.run("rex")
		require.NoError(t, s.settle(func(_ *subagent.Engine, tx *store.Tx) error {
			for i := from; i <= to; i++ {
				r := rex
				r.ID, r.TaskID, r.Ordinal, r.Status, r.Delivery, r.CreatedAt = fmt.Sprintf("B%03d", i), fmt.Sprintf("T%03d", i), 100+i, core.RunOK, core.DeliveryBlocked, 1
				if err := tx.InsertRun(r); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	block(1, 49)
	s.say("team", "go fido")
	require.Equal(t, "started", last(s.told("team")))
	s.outage.Store(true)
	s.pass(time.Hour)
	s.outage.Store(false)
	d := s.doctor()
	require.Contains(t, kinds(d), "completion_backlog "+s.run("fido").Root)
	s.say("team", "go bello")
	require.Equal(t, "refused backlog 50 outcomes of this tree were told to nobody, of at most 50 "+
		"(an operator has them told with `skein tasks retry ID`, or lets them go with `skein tasks dismiss ID`)", last(s.told("team")))
	s.say("other", "go bello")
	require.Equal(t, "started", last(s.told("other")), "another tree is not touched")
	require.NoError(t, s.retell(s.run("fido").ID))
	s.say("team", "go waldi")
	require.Equal(t, "started", last(s.told("team")))
}

// TestAStopSettlesWhatWasOnItsWay: what a person stops is not owed any more.
func TestAStopSettlesWhatWasOnItsWay(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", digRules)
	s.say("team", "go rex")
	s.outage.Store(true)
	s.pass(time.Minute)
	require.Equal(t, core.DeliverySessionQueued, s.run("rex").Delivery)
	s.say("team", "/stop")
	s.outage.Store(false)
	s.pass(time.Hour)
	require.Equal(t, core.DeliveryNotRequired, s.run("rex").Delivery)
	require.NotContains(t, s.told("team"), "rex found a bone.")
}
