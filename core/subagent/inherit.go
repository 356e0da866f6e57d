package subagent

import (
	"errors"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/store"
)

// inherit notes what a child has from its requester for ever: the most that it
// may have by the requester's sender policy, and the place where it was asked
// for.
func (s *spawn) inherit(tx *store.Tx) error {
	scope := agent.Scope{Agent: s.scope.Agent, Session: s.parent, Turn: s.turn}
	child, err := childOf(tx, s.parent, s.turn.Run)
	if err != nil {
		return err
	}
	if scope.Child = child; s.turn.Run != "" {
		scope.Run = child
	}
	s.run.Spec.ToolCeiling = s.e.Config.ToolCeiling(scope)
	if s.run.Spec.AskedAt = s.turn.ReplyTo; s.run.Spec.AskedAt.IsZero() && child != nil {
		s.run.Spec.AskedAt = child.Spec.AskedAt
	}
	return nil
}

// childOf returns the run that a turn works for, or else the one that its
// session was made for; nil in a chat.
func childOf(tx *store.Tx, session store.Session, run string) (*core.Run, error) {
	var r core.Run
	var err error
	switch {
	case run != "":
		r, err = tx.RunByID(run)
	case session.Depth == 0:
		return nil, nil
	default:
		r, err = tx.LatestRunOfSession(session.ID)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return &r, err
}
