package sessiontool

import (
	"cmp"
	"encoding/json"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/target"
	"github.com/skein-bot/skein/core/tool"
)

const statusSchema = `{
 "type":"object","additionalProperties":false,
 "properties":{
  "session":{"type":"string","minLength":1,"maxLength":400,"description":"current (default), a session key, a label or task name, a number, last, or the start of a run id."}
 }}`

// maxTasks is the most tasks that session_status lists.
const maxTasks = 20

type statusCard struct {
	Key       string           `json:"key"`
	SessionID int64            `json:"sessionId"`
	Agent     string           `json:"agent"`
	Kind      core.SessionKind `json:"kind"`
	Title     string           `json:"title,omitempty"`
	Status    string           `json:"status"`
	Now       string           `json:"now"` // in the agent's time zone
	TimeZone  string           `json:"timeZone"`
	CreatedAt string           `json:"createdAt"`
	UpdatedAt string           `json:"updatedAt"`
	Archived  bool             `json:"archived,omitempty"`
	Model     string           `json:"model"`
	Thinking  string           `json:"thinking,omitempty"`
	Runtime   string           `json:"runtime"`
	Queued    int              `json:"queued"`
	Waits     int              `json:"waits"`
	Messages  int              `json:"messages"` // rows of the transcript
	Usage     statusUsage      `json:"usage"`
	Parent    string           `json:"parent,omitempty"`
	Task      *taskRow         `json:"task,omitempty"` // its own, of a sub-agent
	Tasks     []taskRow        `json:"tasks"`          // that it asked for
	MoreTasks int              `json:"moreTasks,omitempty"`
}

type statusUsage struct {
	Turns     int64  `json:"turns"`
	TokensIn  int64  `json:"tokensIn"`
	TokensOut int64  `json:"tokensOut"`
	CacheRead int64  `json:"cacheRead,omitempty"`
	Cost      string `json:"cost"`
}

func (t *Tools) status() look {
	args := tool.MustArguments(statusSchema)
	return look{
		name: "session_status",
		description: "Show a session that you may see: what it does, date and time, its model, what it used and cost, and its tasks " +
			"(live, or ended in the last 30 minutes). Do not call it to wait for a sub-agent: its result comes as an event.",
		args: args, t: t,
		call: func(tx *store.Tx, scope core.ToolScope, raw json.RawMessage) (any, error) {
			p := struct {
				Session string `json:"session"`
			}{"current"}
			if err := args.Read(raw, &p); err != nil {
				return nil, err
			}
			v, err := t.view(tx, scope.Session)
			if err != nil {
				return nil, err
			}
			s, err := v.find(p.Session)
			if err != nil {
				return nil, err
			}
			return t.card(tx, v, s)
		},
	}
}

func (t *Tools) card(tx *store.Tx, v view, s store.Session) (statusCard, error) {
	run, _, err := lookUp(tx.LatestRunOfSession(s.ID))
	if err != nil {
		return statusCard{}, err
	}
	row, err := t.listRow(tx, v, s, run, 0)
	if err != nil {
		return statusCard{}, err
	}
	now, zone := t.now(s.Agent)
	card := statusCard{
		Key: s.Key, SessionID: s.ID, Agent: s.Agent, Kind: s.Kind, Title: row.Title, Status: row.Status, Now: now, TimeZone: zone,
		CreatedAt: rfc3339(s.CreatedAt), UpdatedAt: row.UpdatedAt, Archived: row.Archived, Model: row.Model,
		Thinking: cmp.Or(run.Spec.Thinking, t.Config.Thinking(s.Agent)), Runtime: runtimeName, Parent: row.Parent, Task: row.Task, Tasks: []taskRow{},
	}
	activity, err := tx.Activity(s.ID)
	if err != nil {
		return card, err
	}
	card.Queued, card.Waits = activity.Queued, activity.Waits
	if card.Messages, err = tx.CountRows(s.ID); err != nil {
		return card, err
	}
	used, err := tx.UsageOfSession(s.ID)
	if err != nil {
		return card, err
	}
	card.Usage = statusUsage{used.Turns, used.TokensIn, used.TokensOut, used.CacheRead, used.Cost()}
	runs, err := tx.RunsOf(s.ID, target.Recent(t.World.Now()))
	if err != nil {
		return card, err
	}
	for i := len(runs) - 1; i >= 0; i-- { // the newest first
		if len(card.Tasks) == maxTasks {
			card.MoreTasks = i + 1
			break
		}
		card.Tasks = append(card.Tasks, *t.taskRow(runs[i], s.ID))
	}
	return card, nil
}

// now returns the time in an agent's zone, and the name of the zone.
func (t *Tools) now(agent string) (now, zone string) {
	at := t.World.Clock.Now()
	if zone := t.Config.Zone(agent); zone != nil {
		at = at.In(zone)
	}
	return at.Format("2006-01-02T15:04:05Z07:00"), at.Location().String()
}
