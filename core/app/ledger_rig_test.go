package app_test

import (
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// deadRow makes a run of the team's chat that has not ended and that nothing
// moves.
func (s *scene) deadRow(label string, change ...func(r *core.Run)) core.Run {
	s.Helper()
	requester, now := s.session(teamKey), s.world.Now()
	run := core.Run{
		ID: s.world.NewID(), Root: "root", TaskID: s.world.NewID(), Requester: requester.ID, RequesterID: requester.Key, Completion: 1,
		Depth: 1, Agent: "main", Role: "leaf", Task: label, Label: label, Origin: requester.Address, Status: core.RunRunning,
		Delivery: core.DeliveryPending, CreatedAt: now, Spec: core.SpawnSpec{Mode: "run", Cleanup: "keep", ExpectsCompletion: true},
	}
	for _, c := range change {
		c(&run)
	}
	require.NoError(s, s.app.DB().Write(s.Context(), func(tx *store.Tx) error {
		child, err := tx.EnsureSession(store.Session{
			Key: "agent:main:subagent:" + label, Agent: "main", Kind: core.SessionSubagent, Title: label, Depth: 1, Parent: requester.ID,
			CreatedAt: now, UsedAt: now,
		})
		if err != nil {
			return err
		}
		if run.Ordinal, err = tx.NextOrdinal(requester.ID); err != nil {
			return err
		}
		run.Session, run.SessionKey = child.ID, child.Key
		return tx.InsertRun(run)
	}))
	return run
}
