package subagent

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// maxSenders bounds how far up the sessions are followed that wait for each
// other.
const maxSenders = 16

// Send gives another session a message of a turn to answer: the answer is a run,
// which owes the sender its outcome and nobody else. The target's own place
// shows nothing of it. The unit has locked both sessions. Refusals are
// *core.Error: send_self, send_loop, session_archived, session_thread,
// children_limit, tree_limit, backlog, budget.
func (e *Engine) Send(tx *store.Tx, scope core.ToolScope, to store.Session, message string) (core.Run, error) {
	turn, err := tx.TurnByID(scope.Turn)
	if err != nil {
		return core.Run{}, err
	}
	from, err := tx.SessionByID(scope.Session)
	if err != nil {
		return core.Run{}, err
	}
	if err := sendable(tx, from, to, turn); err != nil {
		return core.Run{}, err
	}
	run, err := e.sendRun(tx, from, to, turn, message)
	if err != nil {
		return run, err
	}
	if err := e.roomFor(tx, from, run.Root); err != nil {
		return run, err
	}
	if err := e.affordable(tx, turn, from, to.Agent); err != nil {
		return run, err
	}
	if run.Completion, err = tx.NextCompletion(to.ID); err != nil {
		return run, err
	}
	if err := tx.InsertRun(run); err != nil {
		return run, err
	}
	item := model.Item{
		Kind: model.User, Text: message, At: e.World.Now(), MessageID: run.ID,
		Sender: &model.Sender{Agent: from.Agent, Session: from.Key, Run: run.ID},
	}
	row := store.Inbox{
		Session: to.ID, Kind: store.InboxTask, Lane: store.LaneSubagent, Policy: turn.Policy, Owner: run.Owner, Run: run.ID, Body: item.Encode(),
		At: item.At,
	}
	if _, err := tx.InsertInbox(row); err != nil {
		return run, err
	}
	return run, e.ready(tx, to.ID, store.LaneSubagent, false)
}

// sendable refuses targets that cannot answer, or would wait for whoever asks.
func sendable(tx *store.Tx, from, to store.Session, turn store.Turn) error {
	if to.ID == from.ID {
		return core.Errorf("send_self", "this is the session itself").WithRemedy("sessions_list has the others")
	}
	if to.ArchivedAt != 0 {
		return core.Errorf("session_archived", "the session %s is archived", to.Key).WithRemedy("name one that is not; sessions_list has them")
	}
	if key, err := core.ParseSessionKey(to.Key); err == nil && key.Thread != "" {
		key.Thread = ""
		return core.Errorf("session_thread", "the session %s is that of a thread, which takes messages of people only", to.Key).
			WithRemedy("name the session of its conversation, %s, or post there with the message tool", key)
	}
	for run, n := turn.Run, 0; run != "" && n < maxSenders; n++ {
		above, err := tx.RunByID(run)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if above.Requester == to.ID && above.Kind == core.RunSend {
			return core.Errorf("send_loop", "the session %s waits for your answer itself", to.Key).
				WithRemedy("one message has one answer: say in yours what you need")
		}
		run = above.RequesterRun
	}
	return nil
}

// sendRun is the run of the answer. It may have no more than the sender's turn
// may, and no more than its session.
func (e *Engine) sendRun(tx *store.Tx, from, to store.Session, turn store.Turn, message string) (core.Run, error) {
	run := core.Run{
		ID: e.World.NewID(), TaskID: e.World.NewID(), Kind: core.RunSend, Session: to.ID, SessionKey: to.Key, Requester: from.ID, RequesterID: from.Key,
		RequesterRun: turn.Run, RequesterTurn: turn.Chain, Depth: to.Depth, Role: "leaf", Agent: to.Agent, Task: message,
		Origin: turn.ReplyTo, Anchor: turn.Anchor, Owner: turn.Owner, Status: core.RunQueued, Delivery: core.DeliveryPending, CreatedAt: e.World.Now(),
		Request: turn.Request,
	}
	own, err := tx.LatestRunOfSession(to.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return run, err
	}
	if err == nil {
		run.Role, run.Label = own.Role, own.Name()
	}
	run.Label = cmp.Or(to.Title, run.Label, to.Key)
	run.Spec = core.SpawnSpec{
		Agent: to.Agent, Model: cmp.Or(own.Spec.Model, to.Model), Thinking: own.Spec.Thinking, LightContext: own.Spec.LightContext, Cwd: own.Spec.Cwd,
		Sandbox: own.Spec.Sandbox, Mode: modeRun, Context: contextIsolated, Cleanup: cleanupKeep, ExpectsCompletion: true, Policy: turn.Policy, Generation: turn.Generation,
		TimeoutSeconds: int64(e.Config.Subagents(to.Agent).RunTimeout.Seconds()),
	}
	asker := agent.Scope{Agent: from.Agent, Session: from, Turn: turn}
	run.Root = fmt.Sprintf("session:%d", from.ID)
	above, err := tx.LatestRunOfSession(from.ID)
	if turn.Run != "" {
		above, err = tx.RunByID(turn.Run)
		asker.Run = &above
	}
	switch {
	case err == nil:
		run.Root = above.Root
	case !errors.Is(err, store.ErrNotFound):
		return run, err
	}
	run.Spec.ToolCeiling = narrower(e.Config.ToolCeiling(asker), own.Spec.ToolCeiling)
	return run, nil
}

// narrower is what two ceilings leave together; nil is none.
func narrower(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	both := []string{}
	for _, x := range a {
		for _, y := range b {
			if x == y {
				both = append(both, x)
			}
		}
	}
	return both
}

// roomFor refuses what is over the limits of a session and of its tree.
func (e *Engine) roomFor(tx *store.Tx, from store.Session, root string) error {
	set := e.Config.Subagents(from.Agent)
	if err := backlog(tx, root); err != nil {
		return err
	}
	n, err := tx.CountLiveRunsOf(from.ID)
	if err != nil {
		return err
	}
	if n >= set.MaxChildrenPerAgent {
		return core.Errorf("children_limit", "%d of %d children and messages of this session have no answer yet", n, set.MaxChildrenPerAgent).
			WithRemedy("wait for them with sessions_yield")
	}
	if set.MaxTreeRuns == 0 {
		return nil
	}
	if n, err = tx.CountOthersOfTree(root, ""); err != nil {
		return err
	}
	if n >= set.MaxTreeRuns {
		return core.Errorf("tree_limit", "%d of %d runs of this tree are live", n, set.MaxTreeRuns).WithRemedy("wait for them with sessions_yield")
	}
	return nil
}

// Answered notes that the turn which sent a message has the answer: it is not
// told as an event any more. Call it in the transaction that hands it the answer.
func (e *Engine) Answered(tx *store.Tx, run core.Run) error {
	if err := tx.TakeCompletion(run.Requester, run.ID); err != nil {
		return err
	}
	if run.Delivery != core.DeliverySessionQueued {
		return nil
	}
	return e.settled(tx, run.ID, core.DeliveryDelivered, e.World.Now())
}
