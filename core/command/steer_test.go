package command

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/target"
)

func TestCutTarget(t *testing.T) {
	for args, want := range map[string][2]string{
		"cats be brief":            {"cats", "be brief"},
		`"cats and dogs" be brief`: {"cats and dogs", "be brief"},
		"“cats and dogs”\nbe":      {"cats and dogs", "be"},
		"„cats und dogs“ kurz":     {"cats und dogs", "kurz"},
		`'cats`:                    {`'cats`, ""},
		`"" x`:                     {`""`, "x"},
		"  1   go  ":               {"1", "go"},
		"":                         {"", ""},
	} {
		token, text := cutTarget(args)
		require.Equal(t, want, [2]string{token, text}, args)
	}
}

// queued returns what waits in a session: "kind author text".
func (r *rig) queued(session int64) (out []string) {
	r.Helper()
	r.write(func(tx *store.Tx) error {
		out = nil
		rows, err := tx.QueuedInbox(session, 10)
		for _, row := range rows {
			item, err := model.DecodeItem(row.Body)
			if err != nil {
				return err
			}
			out = append(out, string(row.Kind)+" "+item.Text)
		}
		return err
	})
	return out
}

func (r *rig) status(run core.Run) (now core.RunStatus) {
	r.Helper()
	require.NoError(r, r.db.Read(r.Context(), func(tx *store.Tx) error {
		got, err := tx.RunByID(run.ID)
		now = got.Status
		return err
	}))
	return now
}

func TestSteerAndSend(t *testing.T) {
	r := newRig(t)
	session := r.request("/x").Session
	cats := r.child(session, "cats and dogs", nil)
	require.Equal(t, "cats and dogs gets this at its next step.", r.run(r.request(`/subagents steer "cats and dogs" be  brief`)))
	require.Equal(t, "cats and dogs gets this at its next step.", r.run(r.request("/subagents steer last hurry")))
	require.Equal(t, []string{"steer be  brief", "steer hurry"}, r.queued(cats.Session))
	require.Equal(t, "cats and dogs answers here.", r.run(r.request("/subagents send 1 how is it?")))
	require.Equal(t, []string{"steer be  brief", "steer hurry", "message how is it?"}, r.queued(cats.Session))

	r.end(cats, core.DeliveryDelivered)
	r.refused(CodeTargetEnded, r.request("/subagents steer 1 hurry"))
	require.Equal(t, "cats and dogs answers here.", r.run(r.request("/subagents send 1 and now?")))
	r.write(func(tx *store.Tx) error { return tx.ArchiveSession(cats.Session, r.world.Now()) })
	r.refused(CodeTargetArchived, r.request("/subagents send 1 and now?"))
	r.clock.AdvanceTo(r.clock.Now().Add(target.Window + time.Second))
	r.refused(target.CodeUnknown, r.request("/subagents send 1 and now?"))
	for _, line := range []string{"/subagents steer", "/subagents steer 1", "/subagents send 1", "/subagents kill"} {
		r.refused(CodeUsage, r.request(line))
	}
}

func TestKill(t *testing.T) {
	r := newRig(t)
	session := r.request("/x").Session
	cats, dogs := r.child(session, "cats", nil), r.child(session, "dogs", nil)
	kitten := r.child(store.Session{ID: cats.Session, Key: cats.SessionKey}, "kitten", nil)
	require.Equal(t, "Sub-agents: stopped 2 of 2.", r.run(r.request("/subagents kill cats")))
	require.Equal(t, core.RunCancelled, r.status(cats))
	require.Equal(t, core.RunCancelled, r.status(kitten))
	require.Equal(t, core.RunRunning, r.status(dogs))
	r.refused(CodeTargetEnded, r.request("/subagents kill cats"))
	r.refused(target.CodeUnknown, r.request("/subagents kill birds"))
	require.Equal(t, "Sub-agents: stopped 1 of 1.", r.run(r.request("/subagents kill ALL")))
	require.Equal(t, "Nothing is running here.", r.run(r.request("/subagents kill all")))
}

// Only who it was started for, the owner of the binding, and operators have a
// sub-agent in hand.
func TestWhoMayControl(t *testing.T) {
	r := newRig(t)
	session := r.request("/x").Session
	bobs := r.child(session, "bobs", func(run *core.Run) { run.Owner = "fake:bob" })
	mine := r.child(session, "mine", nil)
	for _, line := range []string{"/subagents kill bobs", "/subagents steer bobs hurry", "/subagents send bobs hello"} {
		r.refused(CodeTargetOthers, r.request(line))
		for name, change := range map[string]func(*Request){
			"operator": func(req *Request) { req.Operator = true },
			"binding":  func(req *Request) { req.Bound, req.Binding.Owner = true, "fake:alice" },
			"bob":      func(req *Request) { req.Actor = "fake:bob" },
		} {
			t.Run(line+" "+name, func(t *testing.T) {
				req := r.request(line)
				change(&req)
				undone := errors.New("undone")
				require.ErrorIs(t, r.db.Write(t.Context(), func(tx *store.Tx) error {
					if _, err := r.set.Run(tx, req); err != nil {
						return err
					}
					return undone
				}), undone)
			})
		}
	}
	require.Equal(t, "Sub-agents: stopped 1 of 2. The others were started for somebody else.", r.run(r.request("/subagents kill all")))
	require.Equal(t, core.RunCancelled, r.status(mine))
	require.Equal(t, core.RunRunning, r.status(bobs))
}
