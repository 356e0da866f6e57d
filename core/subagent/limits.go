package subagent

import (
	"errors"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

// limits refuses what the operator's limits forbid, with figures; roomInTree does
// the rest.
func (s *spawn) limits(tx *store.Tx) error {
	set := s.e.Config.Subagents(s.scope.Agent)
	deepest, err := s.deepest(tx, set)
	if err != nil {
		return err
	}
	if s.parent.Depth >= deepest {
		return forPeople(words.RefuseSpawnDepth("depth_limit", s.parent.Depth, deepest),
			core.Errorf("depth_limit", "depth %d of at most %d: no further sub-agents from here", s.parent.Depth, deepest).
				WithRemedy("do the work yourself, or have an operator raise agents.defaults.subagents.maxSpawnDepth"))
	}
	n, err := tx.CountLiveRunsOf(s.parent.ID)
	if err != nil {
		return err
	}
	if n >= set.MaxChildrenPerAgent {
		return forPeople(words.RefuseSpawnChildren("children_limit", n, set.MaxChildrenPerAgent),
			core.Errorf("children_limit", "%d of %d children are live", n, set.MaxChildrenPerAgent).
				WithRemedy("wait with sessions_yield until some have ended"))
	}
	if err := backlog(tx, s.run.Root); err != nil {
		return err
	}
	if err := s.e.affordable(tx, s.turn, s.parent, s.run.Agent); err != nil {
		return err
	}
	if s.p.TaskName == "" {
		return nil
	}
	other, err := tx.LiveTaskName(s.parent.ID, s.p.TaskName)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return core.Errorf("task_name_taken", "the live run %s has the task name %q", other.ID, s.p.TaskName).WithRemedy("choose another taskName")
}

// roomInTree refuses a run for which its tree has no room. It is the last look of
// an admission: the tree is locked after all sessions and bindings.
func (s *spawn) roomInTree(tx *store.Tx) error {
	most := s.e.Config.Subagents(s.scope.Agent).MaxTreeRuns
	if most == 0 {
		return nil
	}
	n, err := tx.CountOthersOfTree(s.run.Root, s.run.ID)
	if err != nil || n < most {
		return err
	}
	return forPeople(words.RefuseSpawnTree("tree_limit", n, most),
		core.Errorf("tree_limit", "%d of %d runs of this tree are live", n, most).
			WithRemedy("wait with sessions_yield until some have ended"))
}

// deepest is how deep sub-agents may nest below the requester: a leaf stays one,
// whatever the operator allows later.
func (s *spawn) deepest(tx *store.Tx, set Settings) (int, error) {
	child, err := childOf(tx, s.parent, s.turn.Run)
	if err == nil && child != nil && s.parent.Depth > 0 && child.Role == "leaf" {
		return min(set.MaxSpawnDepth, s.parent.Depth), nil
	}
	return set.MaxSpawnDepth, err
}

// affordable refuses a run that a turn of a session asks for where a budget is
// spent that the run would draw on: one of the turn's, or the day of the agent
// that is to do the work.
func (e *Engine) affordable(tx *store.Tx, turn store.Turn, asks store.Session, agentID string) error {
	purse, err := newPurse(tx, e.Config.Limits, turn, asks)
	if err != nil {
		return err
	}
	if agentID != asks.Agent {
		purse.addDay(agentID, e.Config.Limits(agentID))
	}
	var over *agent.BudgetError
	if err := purse.left(tx, e.World.Now(), core.Usage{}); errors.As(err, &over) {
		return over.Err
	} else if err != nil {
		return err
	}
	return nil
}
