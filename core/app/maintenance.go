package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
)

// ActionView is one thing that maintenance does, or would do.
type ActionView struct {
	// What it is for: a code of the audit, blocked_expired or prune.
	Code string `json:"code"`
	// Id of the task, key of the session, or what is pruned.
	Subject string `json:"subject"`
	// What is done, for people.
	Text string `json:"text"`
	// Rows that were pruned.
	Rows int64 `json:"rows,omitempty"`

	finding subagent.Finding
	kept    kept
}

// Prunes reports whether the action only removes what is kept no longer.
func (a ActionView) Prunes() bool { return a.Code == actionPrune }

// MaintenanceView is what maintenance did, or would do.
type MaintenanceView struct {
	// Whether it was done; otherwise nothing was changed.
	Applied bool `json:"applied"`
	// What was done or would be done, in order.
	Actions []ActionView `json:"actions"`
}

// The codes of actions that mend no finding.
const (
	actionExpired = "blocked_expired"
	actionPrune   = "prune"
)

// Maintenance plans what maintenance does: it mends what the audit found, lets
// go of outcomes that were blocked for seven days, and prunes what
// session.retention keeps no longer. It only reads.
func (v Views) Maintenance(tx *store.Tx) (MaintenanceView, error) {
	view := MaintenanceView{Actions: []ActionView{}}
	found, err := v.audit(tx)
	if err != nil {
		return view, err
	}
	for _, f := range found {
		if text := mending(f); text != "" {
			subject := f.Run.TaskID
			if f.Session.Key != "" {
				subject = f.Session.Key
			}
			view.Actions = append(view.Actions, ActionView{Code: string(f.Code), Subject: subject, Text: text, finding: f})
		}
	}
	expired, err := subagent.ExpiredBlocked(tx, v.Now)
	if err != nil {
		return view, err
	}
	for _, run := range expired {
		view.Actions = append(view.Actions, ActionView{
			Code: actionExpired, Subject: run.TaskID, Text: "let go of the outcome, which was blocked for seven days",
		})
	}
	for _, k := range keeps(v.Config.Session.Retention) {
		oldest, err := tx.Oldest(k.Grown)
		if err != nil {
			return view, err
		}
		before := v.Now.Add(-k.age)
		if oldest != 0 && oldest < before {
			view.Actions = append(view.Actions, ActionView{
				Code: actionPrune, Subject: string(k.Grown), Text: "remove what is from before " + stamp(before), kept: k,
			})
		}
	}
	return view, nil
}

// mending says what is done about a finding, "" for nothing.
func mending(f subagent.Finding) string {
	switch f.Code {
	case subagent.FindLost:
		return fmt.Sprintf("end the task as interrupted and tell who asked: it is %s and nothing moves it", f.Run.Status)
	case subagent.FindStuck:
		return "mark the outcome blocked, so that it can be retried: nothing brings it further"
	case subagent.FindTimes:
		return "put the times of the task in order"
	case subagent.FindNoCleanup:
		return "plan the archive of the session: its tasks have ended"
	case subagent.FindOrphan:
		return "archive the session: it has no task"
	}
	return ""
}

// Maintain does what Views.Maintenance plans, each in a transaction of its own,
// and returns what it did. It blocks for as many commits as there are actions,
// and for one a hundred rows that are pruned.
func (a *App) Maintain(ctx context.Context) (MaintenanceView, error) {
	var plan MaintenanceView
	v := Views{Config: a.live().cfg, Now: a.world.Now()}
	err := a.db.Read(ctx, func(tx *store.Tx) (err error) {
		plan, err = v.Maintenance(tx)
		return err
	})
	if err != nil {
		return plan, err
	}
	expired := false
	for i := range plan.Actions {
		action := &plan.Actions[i]
		switch action.Code {
		case actionPrune:
			action.Rows, err = a.prune(ctx, v, action.kept)
		case actionExpired:
			if !expired { // the first takes them all
				err = a.expire(ctx)
			}
			expired = true
		default:
			err = a.db.Write(ctx, func(tx *store.Tx) error { return a.engine.Mend(tx, action.finding) })
		}
		if err != nil {
			return plan, err
		}
		a.log.Info("maintenance", "code", action.Code, "subject", action.Subject, "rows", action.Rows)
	}
	plan.Applied = true
	return plan, nil
}

// MaintainAtRest is App.Maintain for a store that no gateway serves. It opens the
// store as New does, under its lock, and brings it to this version; no account is
// connected and no turn begins. What is to be told waits in the outbox and in the
// inboxes for the next start; on PostgreSQL other nodes take it at once. Of the
// options the channels may be left out.
func MaintainAtRest(ctx context.Context, o Options) (MaintenanceView, error) {
	a, err := New(o)
	if err != nil {
		return MaintenanceView{}, err
	}
	done, err := a.Maintain(ctx)
	return done, errors.Join(err, a.Stop(ctx))
}

// prune removes what is too old, batch by batch.
func (a *App) prune(ctx context.Context, v Views, k kept) (total int64, err error) {
	for {
		var n int64
		err := a.db.Write(ctx, func(tx *store.Tx) (err error) {
			n, err = tx.Sweep(k.Grown, v.Now.Add(-k.age), sweepBatch)
			return err
		})
		if total += n; err != nil || n == 0 {
			return total, err
		}
	}
}

// expire lets go of the outcomes that were blocked for too long.
func (a *App) expire(ctx context.Context) error {
	for {
		var n int
		err := a.db.Write(ctx, func(tx *store.Tx) (err error) {
			n, err = a.engine.Blocked().Fire(tx, a.world.Now())
			return err
		})
		if err != nil || n == 0 {
			return err
		}
	}
}

func (s api) maintenance(r *http.Request) (MaintenanceView, error) {
	return read(s, r, Views.Maintenance)
}

func (s api) maintain(r *http.Request) (MaintenanceView, error) { return s.live.Maintain(r.Context()) }
