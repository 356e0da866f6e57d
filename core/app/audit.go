package app

import (
	"fmt"
	"net/http"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
)

// AuditFinding is one thing that is wrong with the ledger of tasks.
type AuditFinding struct {
	// Stable word for the kind of finding: stale_queued, stale_running, lost, delivery_blocked, delivery_stuck, missing_cleanup, inconsistent_timestamps, orphan_session or backlog.
	Code subagent.Code `json:"code"`
	// Whether somebody has to do something: error, or warn.
	Severity subagent.Severity `json:"severity"`
	// Id of the task; left out for a session or a tree.
	TaskID string `json:"taskId,omitempty"`
	// What it is about: the name of the task, the key of the session, or the root of the tree.
	Subject string `json:"subject"`
	// What was found, for people.
	Text string `json:"text"`
	// What to do about it.
	Remedy string `json:"remedy"`
	// Whether maintenance mends it.
	Mends bool `json:"mends"`
	// Since when, where that is known.
	Since core.Millis `json:"since,omitempty"`
}

// TaskCounts is the ledger in one line.
type TaskCounts struct {
	// Live tasks: queued, running or waiting, and something moves them.
	Active int `json:"active"`
	// Live tasks that wait for a slot.
	Queued int `json:"queued"`
	// Live tasks that work.
	Running int `json:"running"`
	// Live tasks that wait for sub-agents or a message.
	Waiting int `json:"waiting"`
	// Outcomes that nobody was told.
	Blocked int `json:"blocked"`
	// Findings of the audit that are errors.
	Errors int `json:"errors"`
	// Findings of the audit that are warnings.
	Warnings int `json:"warnings"`
}

// AuditView is what the audit found.
type AuditView struct {
	// Whether no finding is an error.
	OK bool `json:"ok"`
	// The ledger in one line; its errors and warnings are all there are, whatever was asked for.
	Tasks TaskCounts `json:"tasks"`
	// The findings that were asked for, errors first.
	Findings []AuditFinding `json:"findings"`
}

// AuditFilter chooses findings. An empty field chooses all.
type AuditFilter struct {
	Severity subagent.Severity
	Code     subagent.Code
}

// Audit looks through the ledger.
func (v Views) Audit(tx *store.Tx, f AuditFilter, limit int) (AuditView, error) {
	view := AuditView{OK: true, Findings: []AuditFinding{}}
	found, err := v.audit(tx)
	if err != nil {
		return view, err
	}
	for _, x := range found {
		if f.Severity != "" && x.Severity != f.Severity || f.Code != "" && x.Code != f.Code {
			continue
		}
		view.OK = view.OK && x.Severity != subagent.SeverityError
		if len(view.Findings) < limit {
			view.Findings = append(view.Findings, v.finding(x))
		}
	}
	view.Tasks, err = v.taskCounts(tx, found)
	return view, err
}

func (v Views) audit(tx *store.Tx) ([]subagent.Finding, error) {
	return subagent.Audit(tx, v.Now, func(agent string) time.Duration {
		set, ok := v.Config.Agent(agent)
		if !ok {
			set, _ = v.Config.Agent(v.Config.DefaultAgent())
		}
		return set.Subagents.ArchiveAfter
	})
}

func (v Views) taskCounts(tx *store.Tx, found []subagent.Finding) (c TaskCounts, err error) {
	live, err := tx.CountLive()
	if err != nil {
		return c, err
	}
	c.Queued, c.Running, c.Waiting = live[core.RunQueued], live[core.RunRunning], live[core.RunWaiting]
	c.Active = c.Queued + c.Running + c.Waiting
	for _, f := range found {
		if f.Severity == subagent.SeverityError {
			c.Errors++
		} else {
			c.Warnings++
		}
	}
	c.Blocked, err = tx.CountAllBlocked()
	return c, err
}

// finding words a finding for people.
func (v Views) finding(f subagent.Finding) AuditFinding {
	out := AuditFinding{Code: f.Code, Severity: f.Severity, TaskID: f.Run.TaskID, Subject: f.Run.Name(), Mends: f.Code.Mends(), Since: f.Since}
	age := v.Now.Sub(f.Since).Round(time.Minute)
	id := f.Run.TaskID
	out.Remedy = "`skein tasks maintenance --apply` mends it"
	switch f.Code {
	case subagent.FindStaleQueued:
		out.Text = fmt.Sprintf("it has waited for a slot for %s", age)
		out.Remedy = "let others end, cancel some, or raise agents.defaults.subagents.maxConcurrent"
	case subagent.FindStaleRunning:
		out.Text = fmt.Sprintf("it has got nowhere for %s", age)
		out.Remedy = fmt.Sprintf("`skein tasks show %s --trace` tells where it stands; `skein tasks cancel %s` stops it", id, id)
	case subagent.FindLost:
		out.Text = fmt.Sprintf("it is %s and nothing moves it", f.Run.Status)
		out.Remedy = "the gateway ends it within two minutes; `skein tasks maintenance --apply` does so now"
	case subagent.FindBlocked:
		out.Text = "nobody was told its outcome: " + f.Run.Detail
		out.Remedy = fmt.Sprintf("`skein tasks retry %s` has it told anew, `skein tasks dismiss %s` lets it go", id, id)
	case subagent.FindStuck:
		out.Text = fmt.Sprintf("its outcome is %s, and nothing brings it further", f.Run.Delivery)
	case subagent.FindNoCleanup:
		out.Subject, out.Text = f.Session.Key, "its tasks have ended, and nothing will archive it"
	case subagent.FindTimes:
		out.Text = fmt.Sprintf("its times contradict each other or its state: asked for %s, begun %s, ended %s, %s",
			stamp(f.Run.CreatedAt), stamp(f.Run.StartedAt), stamp(f.Run.EndedAt), f.Run.Status.Task())
	case subagent.FindOrphan:
		out.Subject, out.Text = f.Session.Key, "a sub-agent's session without any task"
	case subagent.FindBacklog:
		out.Subject, out.Text = f.Root, fmt.Sprintf("%d outcomes of this tree were told to nobody", f.Count)
		out.Remedy = "`skein tasks retry ID` or `skein tasks dismiss ID` settles each; with 50 the tree gets no further sub-agents"
	}
	return out
}

func stamp(at core.Millis) string {
	if at == 0 {
		return "never"
	}
	return at.Time().UTC().Format(time.RFC3339)
}

func (s api) audit(r *http.Request) (AuditView, error) {
	n, err := limit(r)
	if err != nil {
		return AuditView{}, err
	}
	var f AuditFilter
	if f.Severity, err = oneOf(r, "severity", subagent.Severities()); err != nil {
		return AuditView{}, err
	}
	if f.Code, err = oneOf(r, "code", subagent.Codes()); err != nil {
		return AuditView{}, err
	}
	return read(s, r, func(v Views, tx *store.Tx) (AuditView, error) { return v.Audit(tx, f, n) })
}

// lookAtLedger finds what the audit of the ledger finds. Blocked outcomes have
// a finding of their own.
func (v Views) lookAtLedger(tx *store.Tx, d *DoctorView) error {
	found, err := v.audit(tx)
	if err != nil {
		return err
	}
	for _, x := range found {
		if x.Code == subagent.FindBlocked {
			continue
		}
		f := v.finding(x)
		level := LevelNotice
		if x.Severity == subagent.SeverityError {
			level = LevelProblem
		}
		subject := f.Subject
		if f.TaskID != "" {
			subject = f.TaskID
		}
		d.Add(FindingView{Level: level, Code: "task_" + string(f.Code), Subject: subject, Text: f.Text, Remedy: f.Remedy, Since: f.Since})
	}
	d.Tasks, err = v.taskCounts(tx, found)
	return err
}
