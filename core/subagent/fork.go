package subagent

import (
	"fmt"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// fork has the child begin with the conversation of its requester, up to this
// moment: the turn in progress too, with the results of the calls that have
// ended. It returns the calls that have not. A conversation that is too long is
// left out, and the result of the spawn says so.
func (s *spawn) fork(tx *store.Tx, child *store.Session) (open []unfinished, err error) {
	if s.run.Agent != s.scope.Agent {
		return nil, core.Errorf("bad_params", "context fork is for the same agent only").WithRemedy("use context isolated")
	}
	row, err := tx.LastRow(s.parent.ID)
	if err != nil {
		return nil, err
	}
	size, err := tx.TranscriptSize(s.parent, row)
	if err != nil {
		return nil, err
	}
	limit := s.e.Config.Subagents(s.scope.Agent).ForkMaxTokens
	if tokens := size / 4; limit > 0 && tokens > int64(limit) {
		s.run.Spec.Context = contextIsolated
		s.note = fmt.Sprintf("The context is isolated: this conversation has about %d tokens, over the limit of %d for a fork. ", tokens, limit)
		return nil, nil
	}
	child.ForkSession, child.ForkGeneration, child.ForkRow = s.parent.ID, s.parent.Generation, row
	child.ContextFrom = s.parent.ContextFrom
	return openCalls(tx, s.parent)
}

// unfinished is a call of a turn in progress that has no result yet.
type unfinished struct {
	turn int64
	seq  int
	call core.ToolCall
}

// openCalls returns the calls of a session that have no result at this moment.
func openCalls(tx *store.Tx, session store.Session) ([]unfinished, error) {
	turn, err := tx.RunningTurn(session.ID)
	if err != nil {
		return nil, orNothing(err)
	}
	rows, err := tx.RowsOfTurn(session, turn.ID)
	if err != nil {
		return nil, err
	}
	var open []unfinished
	for _, row := range rows {
		item, err := model.DecodeItem(row.Body)
		if err != nil {
			return nil, fmt.Errorf("transcript row %d: %w", row.ID, err)
		}
		switch item.Kind {
		case model.Assistant:
			open = nil
			for n, c := range item.Calls {
				open = append(open, unfinished{turn.ID, row.Seq + 1 + n, c})
			}
		case model.ToolOutput:
			open = without(open, row.Seq)
		}
	}
	return open, nil
}

func without(open []unfinished, seq int) (left []unfinished) {
	for _, c := range open {
		if c.seq != seq {
			left = append(left, c)
		}
	}
	return left
}

// What stands in a fork for the results that were not there yet.
const (
	standInOwn   = "This is the call that started you. You are the sub-agent: your task follows."
	standInOther = "This call had not ended when you were started. It is your requester's, and its result goes there."
)

// standIn gives each call that was open at the fork a result in the child's
// history, next to its call: no call is without one. The rows carry the turn and
// the step of the call, by which a prompt is ordered.
func (s *spawn) standIn(tx *store.Tx, child store.Session, open []unfinished) error {
	for _, c := range open {
		item := model.Item{Kind: model.ToolOutput, CallID: c.call.ID, Tool: c.call.Name, Text: standInOther, At: s.e.World.Now()}
		if s.asked == nil && c.turn == s.scope.Turn && c.seq == s.scope.Seq {
			item.Text = standInOwn
		}
		_, err := tx.AppendRow(store.Row{
			Session: child.ID, Generation: child.Generation, Turn: c.turn, Seq: c.seq, Kind: string(item.Kind), Body: item.Encode(), At: item.At,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
