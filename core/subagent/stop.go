package subagent

import (
	"errors"
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

// Stopped says what a stop ended.
type Stopped struct {
	Turn bool // a turn of the session itself
	Run  bool // the live run of the session itself
	Runs int  // live runs below it
	// Queued are the messages of people that waited in the session.
	Queued   int64
	sessions []int64
}

// Stop ends, in one transaction, the session's turn, everything that waits in
// it and every live run below it. After the commit the contexts are cancelled,
// all at once: one that does not end keeps none of the others. Nothing of what
// it ends is announced upward. Every entrance calls it: /stop, /new, /reset,
// /subagents kill, the subagents tool, the API and the CLI.
func (e *Engine) Stop(tx *store.Tx, session int64) (Stopped, error) {
	var out Stopped
	below, err := e.lockBelow(tx, session)
	if err != nil {
		return out, err
	}
	now := e.World.Now()
	said, err := e.stopSession(tx, session, now, &out)
	if err != nil {
		return out, err
	}
	out.sessions = append(out.sessions, session)
	for _, r := range below {
		if err := e.stopRun(tx, r, now); err != nil {
			return out, err
		}
		out.Runs++
		out.sessions = append(out.sessions, r.Session)
	}
	switch own, err := tx.LiveRunOfSession(session); {
	case err == nil:
		out.Run = true
		// Whoever waits for this run must not wait for ever.
		if err := e.finish(tx, own, stoppedEnd(own, said)); err != nil {
			return out, err
		}
	case !errors.Is(err, store.ErrNotFound):
		return out, err
	}
	tx.OnCommit(func() {
		for _, s := range out.sessions {
			e.kernel.Cancel(s, kernel.ErrStopped)
		}
	})
	return out, nil
}

// stoppedEnd is the end of a run that a person or its requester stopped: what was
// visible of it is handed over, and nobody need be told.
func stoppedEnd(r core.Run, said string) Ended {
	if said == "" {
		said = r.Result
	}
	return Ended{Status: core.RunCancelled, Detail: words.English().DetailStoppedByPerson(), Text: said, Partial: true, Quiet: true}
}

// StopRun is Stop for one run, that of a sub-agent or a message that another
// session sent. Of a session that was sent a message only the answer to it is
// stopped. A run that has ended is left as it is: Stopped.Run is false.
func (e *Engine) StopRun(tx *store.Tx, run core.Run) (Stopped, error) {
	if run.Kind != core.RunSend {
		return e.Stop(tx, run.Session)
	}
	if err := tx.LockSession(run.Session, run.Requester); err != nil {
		return Stopped{}, err
	}
	run, err := tx.RunByID(run.ID)
	if err != nil || !run.Status.Live() {
		return Stopped{}, err
	}
	if err := e.dropInput(tx, run); err != nil {
		return Stopped{}, err
	}
	return Stopped{Run: true}, e.finish(tx, run, stoppedEnd(run, ""))
}

// dropInput ends the turn that a session runs for a run, and takes back what
// waits in the session for it; what else the session does goes on.
func (e *Engine) dropInput(tx *store.Tx, run core.Run) error {
	if err := tx.ClearInputOf(run.Session, run.ID); err != nil {
		return err
	}
	waits, err := tx.Waits(run.Session)
	if err != nil {
		return err
	}
	for _, w := range waits {
		if w.Run == run.ID {
			if err := e.disarm(tx, w); err != nil {
				return err
			}
		}
	}
	turn, err := tx.RunningTurn(run.Session)
	if errors.Is(err, store.ErrNotFound) || err == nil && turn.Run != run.ID {
		return nil
	}
	if err != nil {
		return err
	}
	return e.StopTurn(tx, run.Session)
}

// lockBelow returns the live runs below a session. All their sessions are locked
// with it, and with those that are told of its end: none of them starts anything
// any more, and what they had started before is among them.
func (e *Engine) lockBelow(tx *store.Tx, session int64) ([]core.Run, error) {
	locked := map[int64]bool{}
	fresh := []int64{session}
	told, err := tx.LiveSendsTo(session)
	if err != nil {
		return nil, err
	}
	if own, err := tx.LiveRunOfSession(session); err == nil {
		told = append(told, own)
	} else if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	for _, r := range told {
		fresh = append(fresh, r.Requester)
	}
	for {
		below, err := tx.Descendants(session)
		if err != nil {
			return nil, err
		}
		for _, r := range below {
			fresh = append(fresh, r.Session)
		}
		fresh = slices.DeleteFunc(fresh, func(id int64) bool { return locked[id] })
		if len(fresh) == 0 {
			return below, nil
		}
		if err := tx.LockSession(fresh...); err != nil {
			return nil, err
		}
		for _, id := range fresh {
			locked[id] = true
		}
	}
}

// StopTurn ends the turn of a session that is in progress, and nothing else:
// what waits in it gets the next one. After the commit its context is
// cancelled.
func (e *Engine) StopTurn(tx *store.Tx, session int64) error {
	if err := tx.RaiseFence(session); err != nil {
		return err
	}
	t, err := tx.RunningTurn(session)
	if err != nil {
		return err
	}
	now := e.World.Now()
	if err := e.closeTurn(tx, t, now); err != nil {
		return err
	}
	waiting, err := tx.CountQueued(session)
	if err != nil {
		return err
	}
	if err := tx.ReleaseSession(session, waiting > 0, now); err != nil {
		return err
	}
	tx.OnCommit(func() {
		e.kernel.Cancel(session, kernel.ErrStopped)
		if waiting > 0 {
			e.kernel.Wake(session, store.LaneMain, false)
		}
	})
	return nil
}

// stopRun marks a run below a stopped session cancelled; its own session is
// stopped with it.
func (e *Engine) stopRun(tx *store.Tx, r core.Run, now core.Millis) error {
	said := ""
	var err error
	if r.Kind == core.RunSend {
		err = e.dropInput(tx, r)
	} else {
		said, err = e.stopSession(tx, r.Session, now, new(Stopped))
	}
	if err != nil {
		return err
	}
	end := stoppedEnd(r, said)
	if _, err := tx.EndRun(r.ID, end.Status, words.English().DetailStopped(), end.Text, end.Partial, core.DeliveryNotRequired, now); err != nil {
		return err
	}
	if err := e.closeTools(tx, r.ID); err != nil {
		return err
	}
	if b, ok, err := tx.BindingOfRun(r.ID); err != nil {
		return err
	} else if ok && (r.Spec.Mode == modeRun || b.Status == core.BindingPending) {
		if err := e.Bindings.End(tx, b.ID, core.EndSessionEnded); err != nil {
			return err
		}
	}
	r.Status, r.EndedAt = core.RunCancelled, now
	tx.OnCommit(func() { e.told(r) })
	return e.planArchive(tx, r, true)
}

// stopSession ends the session's turn and clears what waits in it: open tool
// calls get an interrupted result, queued input is dropped, unsent answers are
// withdrawn, waits are disarmed, and what others sent to it is answered. It
// returns what the turn had said.
func (e *Engine) stopSession(tx *store.Tx, session int64, now core.Millis, out *Stopped) (said string, err error) {
	if err := tx.RaiseFence(session); err != nil {
		return "", err
	}
	t, err := tx.RunningTurn(session)
	switch {
	case err == nil:
		out.Turn = true
		if said, err = e.lastSaid(tx, t); err != nil {
			return "", err
		}
		if err := e.closeTurn(tx, t, now); err != nil {
			return "", err
		}
	case !errors.Is(err, store.ErrNotFound):
		return "", err
	}
	if out.Queued, err = tx.ClearQueued(session); err != nil {
		return "", err
	}
	if err := e.settleUntold(tx, session, t, now); err != nil {
		return "", err
	}
	if _, err := tx.ClearCompletions(session); err != nil {
		return "", err
	}
	if err := tx.DeleteWaits(session); err != nil {
		return "", err
	}
	if _, err := e.Poster.Withdraw(tx, session); err != nil {
		return "", err
	}
	if err := tx.ReleaseSession(session, false, now); err != nil {
		return "", err
	}
	sent, err := tx.LiveSendsTo(session)
	if err != nil {
		return "", err
	}
	for _, r := range sent {
		if err := e.finish(tx, r, stoppedEnd(r, "")); err != nil {
			return "", err
		}
	}
	return said, nil
}

// settleUntold records that nobody is to be told the outcomes that are on their
// way to the session, and those that it has taken and not told of: in its turn,
// and in the chains that wait.
func (e *Engine) settleUntold(tx *store.Tx, session int64, running store.Turn, now core.Millis) error {
	untold, err := tx.SettleAsked(session)
	if err != nil {
		return err
	}
	taken, err := e.takenBy(tx, session, running)
	if err != nil {
		return err
	}
	for _, ev := range taken {
		settled, err := tx.SettleRun(ev.RunID)
		if err != nil {
			return err
		}
		untold = append(untold, settled...)
	}
	for _, r := range untold {
		if err := e.archiveDeleted(tx, r, now); err != nil {
			return err
		}
	}
	return nil
}

// takenBy returns the outcomes that the chains of a session took which have not
// ended: that of its turn, and those that wait.
func (e *Engine) takenBy(tx *store.Tx, session int64, running store.Turn) (taken []model.Completion, err error) {
	chains := []int64{running.Chain}
	waits, err := tx.Waits(session)
	if err != nil {
		return nil, err
	}
	for _, w := range waits {
		turn, err := tx.TurnByID(w.Turn)
		if err != nil && !errors.Is(err, store.ErrNotFound) { // it may have been swept
			return nil, err
		}
		chains = append(chains, turn.Chain)
	}
	slices.Sort(chains)
	for _, chain := range slices.Compact(chains) {
		if chain == 0 {
			continue
		}
		rows, err := tx.EventsOfChain(session, chain)
		if err != nil {
			return nil, err
		}
		events, err := eventsIn(rows)
		if err != nil {
			return nil, err
		}
		taken = append(taken, events...)
	}
	return taken, nil
}

// lastSaid returns the latest visible text of a turn.
func (e *Engine) lastSaid(tx *store.Tx, t store.Turn) (string, error) {
	rows, err := tx.RowsOfTurn(store.Session{ID: t.Session, Generation: t.Generation}, t.ID)
	if err != nil {
		return "", err
	}
	for _, row := range slices.Backward(rows) {
		if row.Kind != string(model.Assistant) {
			continue
		}
		item, err := model.DecodeItem(row.Body)
		if err != nil {
			return "", err
		}
		if text := strings.TrimSpace(item.Text); text != "" && !agent.IsSilence(text) {
			return text, nil
		}
	}
	return "", nil
}

// closeTurn ends a turn from outside: its open calls get results, so that the
// transcript stays valid.
func (e *Engine) closeTurn(tx *store.Tx, t store.Turn, now core.Millis) error {
	steps, err := tx.Steps(t.ID)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if s.State != store.StepStarted {
			continue
		}
		item := model.Item{
			Kind: model.ToolOutput, CallID: s.CallID, Tool: s.Tool, Failed: true, Unknown: true, At: now, Text: "interrupted: a person stopped this turn; the effect is unknown",
		}
		row := store.Row{Session: t.Session, Generation: t.Generation, Turn: t.ID, Seq: s.Seq, Kind: string(item.Kind), Body: item.Encode(), At: now}
		if _, err := tx.AppendRow(row); err != nil {
			return err
		}
		if err := tx.FinishStep(t.ID, s.Seq, now); err != nil {
			return err
		}
	}
	if err := tx.DropWithheldOf(t.ID); err != nil {
		return err
	}
	return tx.EndTurn(t.ID, store.TurnCancelled, "stopped", core.Usage{}, now)
}
