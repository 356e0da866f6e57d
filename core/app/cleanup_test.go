package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
)

const deleteRules = `
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "rex", cleanup: "delete"}}]},
  {when: {user: "/^two levels$/"}, call: [{tool: "sessions_spawn", args: {task: "lead", label: "lead"}}]},
  {when: {task: "/^lead$/", user: "/lead/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "rex", cleanup: "delete"}}, {tool: "sessions_yield"}]},
  {when: {task: "/^lead$/", event: "/./"}, delay: "1m", say: "led"},
  {when: {lastTool: "sessions_spawn"}, say: "started"},
  {when: {task: "/rex/"}, delay: "10s", say: "a bone"},
  {when: {event: "/./"}, say: "a bone was found"},`

// archived reports whether the session of a run is archived.
func (s *scene) archived(label string) bool {
	s.Helper()
	return s.session(s.run(label).SessionKey).ArchivedAt != 0
}

// TestDeleteArchivesRightAfterTheAnnounce: and not before, however long it takes
// until somebody was told or lets the outcome go; whatever archiveAfterMinutes is.
func TestDeleteArchivesRightAfterTheAnnounce(t *testing.T) {
	t.Parallel()
	for _, minutes := range []string{"60", "0"} {
		begin := func(t *testing.T) *scene {
			t.Helper()
			t.Parallel()
			return newScene(t, `{ agents: { defaults: { subagents: { maxSpawnDepth: 2, archiveAfterMinutes: `+minutes+` } } } }`, deleteRules)
		}
		blocked := func(s *scene) {
			s.say("team", "go")
			s.outage.Store(true)
			s.pass(50 * time.Minute)
			require.Equal(s, core.DeliveryBlocked, s.run("rex").Delivery)
			s.crash(time.Minute)
			s.pass(48 * time.Hour)
			require.False(s, s.archived("rex"), "nobody was told")
			require.NotContains(s, findings(s.doctor()), subagent.FindNoCleanup)
			s.outage.Store(false)
		}
		t.Run("told/"+minutes, func(t *testing.T) {
			s := begin(t)
			s.say("team", "go")
			require.False(t, s.archived("rex"))
			s.pass(11 * time.Second)
			require.Equal(t, core.DeliveryDelivered, s.run("rex").Delivery)
			require.True(t, s.archived("rex"))
		})
		t.Run("retried/"+minutes, func(t *testing.T) {
			s := begin(t)
			blocked(s)
			require.NoError(t, s.retell(s.run("rex").TaskID))
			require.Equal(t, core.DeliveryDelivered, s.run("rex").Delivery)
			require.True(t, s.archived("rex"))
		})
		t.Run("dismissed/"+minutes, func(t *testing.T) {
			s := begin(t)
			blocked(s)
			require.NoError(t, s.settle(func(e *subagent.Engine, tx *store.Tx) error { return e.Dismiss(tx, s.run("rex").TaskID) }))
			require.True(t, s.archived("rex"))
		})
		t.Run("let go after a week/"+minutes, func(t *testing.T) {
			s := begin(t)
			blocked(s)
			s.pass(6 * 24 * time.Hour)
			require.Equal(t, core.DeliveryDismissed, s.run("rex").Delivery)
			require.True(t, s.archived("rex"))
		})
		t.Run("consumed by a sub-agent/"+minutes, func(t *testing.T) {
			s := begin(t)
			s.say("team", "two levels")
			s.pass(30 * time.Second)
			require.Equal(t, core.DeliverySessionQueued, s.run("rex").Delivery)
			require.False(t, s.archived("rex"))
			s.pass(time.Minute)
			require.Equal(t, core.DeliveryDelivered, s.run("rex").Delivery)
			require.True(t, s.archived("rex"))
			require.False(t, s.archived("lead"))
		})
		t.Run("stopped on its way/"+minutes, func(t *testing.T) {
			s := begin(t)
			s.say("team", "two levels")
			s.pass(30 * time.Second)
			s.say("team", "/stop")
			require.Equal(t, core.DeliveryNotRequired, s.run("rex").Delivery)
			require.True(t, s.archived("rex"))
		})
	}
}
