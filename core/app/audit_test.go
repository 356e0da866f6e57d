package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
)

// change runs a unit on the scene's store.
func (s *scene) change(f func(tx *store.Tx) error) {
	s.Helper()
	require.NoError(s, s.app.DB().Write(s.Context(), f))
}

// audited returns what the audit found, as "severity code subject".
func (s *scene) audited(query string) (out []string, view app.AuditView) {
	s.Helper()
	require.Equal(s, 200, call(s.T, s.app.API(), "GET", "/tasks/audit"+query, "", &view))
	for _, f := range view.Findings {
		require.NotEmpty(s, f.Text, f.Code)
		require.NotEmpty(s, f.Remedy, f.Code)
		out = append(out, fmt.Sprintf("%s %s %s", f.Severity, f.Code, f.Subject))
	}
	return out, view
}

// ghostOf is the key of the session that deadRow makes.
func ghostOf(label string) string { return "agent:main:subagent:" + label }

// TestAuditFindings: each kind of trouble in the ledger has its code and its
// severity, is found where it is and only there, and what maintenance can mend
// is in order afterwards.
func TestAuditFindings(t *testing.T) {
	t.Parallel()
	ended := func(s *scene, r core.Run, d core.Delivery) {
		s.change(func(tx *store.Tx) error {
			if err := tx.SetArchiveDue(r.Session, s.world.Now().Add(24*time.Hour)); err != nil {
				return err
			}
			_, err := tx.EndRun(r.ID, core.RunOK, "", "fine", false, d, s.world.Now())
			return err
		})
	}
	held := func(s *scene, r core.Run) { // input that waits for its place moves it, and no turn begins
		s.change(func(tx *store.Tx) error {
			_, err := tx.InsertInbox(store.Inbox{
				Session: r.Session, Kind: store.InboxTask, State: store.InboxHeld, Lane: store.LaneSubagent, Run: r.ID, At: s.world.Now(),
			})
			return err
		})
	}
	for name, c := range map[string]struct {
		make     func(s *scene)
		pass     time.Duration
		fresh    []string // right away
		want     []string
		mended   []string // after maintenance
		mendable bool
	}{
		"in order": {make: func(*scene) {}},
		"stale_queued": {
			make: func(s *scene) {
				held(s, s.deadRow("ghost", func(r *core.Run) { r.Status = core.RunQueued }))
			},
			pass: 11 * time.Minute, want: []string{"warn stale_queued ghost"}, mended: []string{"warn stale_queued ghost"},
		},
		"stale_running": {
			make: func(s *scene) { held(s, s.deadRow("ghost")) },
			pass: 31 * time.Minute, want: []string{"error stale_running ghost"}, mended: []string{"error stale_running ghost"},
		},
		"lost": {
			make:  func(s *scene) { s.deadRow("ghost") },
			fresh: []string{"warn lost ghost"}, want: []string{"warn lost ghost"}, mendable: true,
		},
		"lost for long": {
			make: func(s *scene) {
				s.deadRow("ghost", func(r *core.Run) { r.CreatedAt = r.CreatedAt.Add(-time.Hour) })
			},
			fresh: []string{"error lost ghost"}, want: []string{"error lost ghost"}, mendable: true,
		},
		"delivery_blocked": {
			make: func(s *scene) {
				r := s.deadRow("ghost")
				ended(s, r, core.DeliverySessionQueued)
				s.change(func(tx *store.Tx) error {
					return tx.SetDelivery(r.ID, core.DeliveryBlocked, "no way", s.world.Now())
				})
			},
			fresh: []string{"error delivery_blocked ghost"}, want: []string{"error delivery_blocked ghost"},
			mended: []string{"error delivery_blocked ghost"},
		},
		"delivery_stuck": {
			make: func(s *scene) { ended(s, s.deadRow("ghost"), core.DeliverySessionQueued) },
			pass: 11 * time.Minute, want: []string{"error delivery_stuck ghost"}, mended: []string{"error delivery_blocked ghost"},
			mendable: true,
		},
		"missing_cleanup": {
			make: func(s *scene) {
				r := s.deadRow("ghost")
				ended(s, r, core.DeliveryDelivered)
				s.change(func(tx *store.Tx) error { return tx.SetArchiveDue(r.Session, 0) })
			},
			pass: 11 * time.Minute, want: []string{"warn missing_cleanup " + ghostOf("ghost")}, mendable: true,
		},
		"inconsistent_timestamps": {
			make: func(s *scene) {
				r := s.deadRow("ghost", func(r *core.Run) { r.CreatedAt = r.CreatedAt.Add(time.Hour) })
				s.change(func(tx *store.Tx) error { return tx.SetRunStatus(r.ID, core.RunRunning, s.world.Now()) })
				ended(s, r, core.DeliveryDelivered)
			},
			fresh: []string{"warn inconsistent_timestamps ghost"}, want: []string{"warn inconsistent_timestamps ghost"}, mendable: true,
		},
		"orphan_session": {
			make: func(s *scene) {
				r := s.deadRow("ghost", func(r *core.Run) { r.Status = core.RunQueued })
				s.change(func(tx *store.Tx) error { return tx.DeleteRun(r.ID) })
			},
			pass: 11 * time.Minute, want: []string{"warn orphan_session " + ghostOf("ghost")}, mendable: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "", `{when: {event: "/./"}, say: "heard"},`)
			s.say("team", "hello")
			c.make(s)
			found, _ := s.audited("")
			require.Equal(t, c.fresh, found)
			s.pass(c.pass)
			found, view := s.audited("")
			require.Equal(t, c.want, found)
			require.Equal(t, view.Tasks.Errors == 0, view.OK)

			var plan, done app.MaintenanceView
			require.Equal(t, 200, call(t, s.app.API(), "GET", "/tasks/maintenance", "", &plan))
			require.False(t, plan.Applied)
			require.Equal(t, c.mendable, len(plan.Actions) > 0)
			again, _ := s.audited("")
			require.Equal(t, c.want, again, "a plan changes nothing")
			require.Equal(t, 200, call(t, s.app.API(), "POST", "/tasks/maintenance", "", &done))
			require.True(t, done.Applied)
			require.Equal(t, plan.Actions, done.Actions)
			s.quiet()
			found, _ = s.audited("")
			require.Equal(t, c.mended, found)
		})
	}
}

// TestAuditOfABacklog: a tree with many outcomes that nobody was told is a
// finding of its own; filters and the limit leave the sums as they are.
func TestAuditOfABacklog(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", "")
	s.say("team", "hello")
	block := func(from, to int) {
		for i := from; i < to; i++ {
			r := s.deadRow(fmt.Sprintf("g%d", i))
			s.change(func(tx *store.Tx) error {
				if err := tx.SetArchiveDue(r.Session, s.world.Now().Add(24*time.Hour)); err != nil {
					return err
				}
				_, err := tx.EndRun(r.ID, core.RunOK, "", "fine", false, core.DeliveryBlocked, s.world.Now())
				return err
			})
		}
	}
	block(0, 25)
	found, view := s.audited("?code=backlog")
	require.Equal(t, []string{"warn backlog root"}, found)
	require.True(t, view.OK)
	require.Equal(t, app.TaskCounts{Blocked: 25, Errors: 25, Warnings: 1}, view.Tasks)
	block(25, 50)
	found, _ = s.audited("?code=backlog&severity=error")
	require.Equal(t, []string{"error backlog root"}, found)
	found, view = s.audited("?severity=error&limit=3")
	require.Len(t, found, 3)
	require.False(t, view.OK)
	require.Equal(t, 51, view.Tasks.Errors)
}

// TestMaintenancePrunes: what session.retention keeps no longer is pruned at
// once, and what it keeps stays.
func TestMaintenancePrunes(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", "")
	s.say("team", "hello")
	for name, age := range map[string]time.Duration{"old": 30*24*time.Hour + time.Minute, "new": 29 * 24 * time.Hour} {
		s.change(func(tx *store.Tx) error { return tx.InsertTombstone(name, "gone", s.world.Now().Add(-age)) })
	}
	view, err := s.app.Maintain(t.Context())
	require.NoError(t, err)
	pruned := make(map[string]int64)
	for _, a := range view.Actions {
		pruned[a.Subject] = a.Rows
	}
	require.Equal(t, int64(1), pruned[string(store.GrownNotices)])
	s.read(func(tx *store.Tx) error {
		oldest, err := tx.Oldest(store.GrownNotices)
		require.Equal(t, s.world.Now().Add(-29*24*time.Hour), oldest)
		return err
	})
	require.False(t, subagent.FindBlocked.Mends())
}
