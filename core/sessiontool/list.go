package sessiontool

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/tool"
)

const listSchema = `{
 "type":"object","additionalProperties":false,
 "properties":{
  "kinds":{"type":"array","maxItems":6,"items":{"type":"string","enum":["main","direct","group","subagent","dashboard","cron"]},"description":"Only sessions of these kinds."},
  "label":{"type":"string","minLength":1,"maxLength":200,"description":"Only sessions with exactly this label, title or task name, in any case."},
  "agentId":{"type":"string","minLength":1,"maxLength":64,"description":"Only sessions of this agent."},
  "search":{"type":"string","minLength":1,"maxLength":200,"description":"Only sessions whose key, title or task has this text, in any case."},
  "activeMinutes":{"type":"integer","minimum":1,"maximum":525600,"description":"Only sessions used in the last so many minutes."},
  "archived":{"type":"boolean","description":"true: the archived sessions instead of the others."},
  "limit":{"type":"integer","minimum":1,"maximum":200,"description":"At most so many; default 100."},
  "messageLimit":{"type":"integer","minimum":0,"maximum":20,"description":"The last so many messages of each; default 0."}
 }}`

type listArgs struct {
	Kinds         []core.SessionKind `json:"kinds"`
	Label         string             `json:"label"`
	AgentID       string             `json:"agentId"`
	Search        string             `json:"search"`
	ActiveMinutes int                `json:"activeMinutes"`
	Archived      bool               `json:"archived"`
	Limit         int                `json:"limit"`
	MessageLimit  int                `json:"messageLimit"`
}

const (
	defaultList = 100
	clipTitle   = 120 // characters of a title
	clipTask    = 96  // characters of a task
	clipMessage = 400 // characters of a message in a list
)

// listRow is one session. It has no addresses and no people: what is needed to
// send there stays with the runtime.
type listRow struct {
	Key       string           `json:"key"`
	SessionID int64            `json:"sessionId"`
	Agent     string           `json:"agent"`
	Kind      core.SessionKind `json:"kind"`
	Channel   string           `json:"channel,omitempty"`
	Title     string           `json:"title,omitempty"`
	Parent    string           `json:"parent,omitempty"` // key of the session that started it
	Depth     int              `json:"depth,omitempty"`
	Status    string           `json:"status"` // running, waiting, queued or idle
	Model     string           `json:"model,omitempty"`
	Tokens    int64            `json:"tokens"`
	UpdatedAt string           `json:"updatedAt"`
	Archived  bool             `json:"archived,omitempty"`
	Task      *taskRow         `json:"task,omitempty"`
	Messages  []shortMessage   `json:"messages,omitempty"`
}

// taskRow is the work of a sub-agent.
type taskRow struct {
	Number   int             `json:"number,omitempty"` // among the children of the session that asks
	RunID    string          `json:"runId"`
	TaskID   string          `json:"taskId"`
	Name     string          `json:"name"`
	TaskName string          `json:"taskName,omitempty"`
	Task     string          `json:"task"`
	Status   core.TaskStatus `json:"status"`
	Delivery core.Delivery   `json:"delivery"`
	Tokens   int64           `json:"tokens"`
	Cost     string          `json:"cost"`
	EndedAt  string          `json:"endedAt,omitempty"`
}

type shortMessage struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

func (t *Tools) list() look {
	args := tool.MustArguments(listSchema)
	return look{
		name: "sessions_list",
		description: "List the sessions that you may see, the one used last first: what they are for, whether they work, what they used. " +
			"Do not call it to wait for a sub-agent: its result comes as an event, and sessions_yield waits for it.",
		args: args, t: t,
		call: func(tx *store.Tx, scope core.ToolScope, raw json.RawMessage) (any, error) {
			p := listArgs{Limit: defaultList}
			if err := args.Read(raw, &p); err != nil {
				return nil, err
			}
			return t.listed(tx, scope, p)
		},
	}
}

type listed struct {
	Visibility Visibility `json:"visibility"`
	Total      int        `json:"total"` // that fit, shown or not
	Truncated  bool       `json:"truncated,omitempty"`
	Sessions   []listRow  `json:"sessions"`
}

func (t *Tools) listed(tx *store.Tx, scope core.ToolScope, p listArgs) (listed, error) {
	v, err := t.view(tx, scope.Session)
	if err != nil {
		return listed{}, err
	}
	sessions, err := v.sessions(p.Archived)
	if err != nil {
		return listed{}, err
	}
	out, size := listed{Visibility: v.scope, Sessions: []listRow{}}, 200
	for _, s := range sessions {
		run, ok, err := t.fits(tx, s, p)
		if err != nil {
			return out, err
		}
		if !ok {
			continue
		}
		out.Total++
		if out.Truncated || len(out.Sessions) == p.Limit {
			out.Truncated = true
			continue
		}
		row, err := t.listRow(tx, v, s, run, p.MessageLimit)
		if err != nil {
			return out, err
		}
		if size += len(encode(row)) + 1; size > maxResponse {
			out.Truncated = true
			continue
		}
		out.Sessions = append(out.Sessions, row)
	}
	return out, nil
}

// fits reports whether the filters let a session in, and returns its run, a zero
// one where it has none.
func (t *Tools) fits(tx *store.Tx, s store.Session, p listArgs) (run core.Run, ok bool, err error) {
	switch {
	case p.AgentID != "" && s.Agent != p.AgentID,
		len(p.Kinds) > 0 && !slices.Contains(p.Kinds, s.Kind),
		p.ActiveMinutes > 0 && s.UsedAt < t.World.Now().Add(-time.Duration(p.ActiveMinutes)*time.Minute):
		return run, false, nil
	}
	if s.Kind.Spawned() || s.Parent != 0 {
		if run, _, err = lookUp(tx.LatestRunOfSession(s.ID)); err != nil {
			return run, false, err
		}
	}
	has := func(want string, names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, want) })
	}
	if p.Label != "" && !has(p.Label, s.Title, run.Label, run.TaskName) {
		return run, false, nil
	}
	text := strings.ToLower(strings.Join([]string{s.Key, s.Title, run.Label, run.TaskName, run.Task}, "\n"))
	return run, strings.Contains(text, strings.ToLower(p.Search)), nil
}

func (t *Tools) listRow(tx *store.Tx, v view, s store.Session, run core.Run, messages int) (listRow, error) {
	row := listRow{
		Key: s.Key, SessionID: s.ID, Agent: s.Agent, Kind: s.Kind, Channel: s.Address.Channel, Title: t.clean(s.Title, clipTitle), Depth: s.Depth,
		Model: cmp.Or(s.Model, run.Spec.Model, t.Config.Model(s.Agent)), UpdatedAt: rfc3339(s.UsedAt), Archived: s.ArchivedAt != 0,
	}
	if s.Parent != 0 {
		above, found, err := lookUp(tx.SessionByID(s.Parent))
		if err != nil {
			return row, err
		}
		if found {
			row.Parent = above.Key
		}
	}
	var err error
	if row.Status, err = doing(tx, s.ID); err != nil {
		return row, err
	}
	used, err := tx.UsageOfSession(s.ID)
	if err != nil {
		return row, err
	}
	row.Tokens = used.Tokens()
	if run.ID != "" {
		row.Task = t.taskRow(run, v.self.ID)
	}
	if messages > 0 {
		row.Messages, err = t.lastMessages(tx, s, messages)
	}
	return row, err
}

func (t *Tools) taskRow(run core.Run, asker int64) *taskRow {
	row := &taskRow{
		RunID: run.ID, TaskID: run.TaskID, Name: t.clean(run.Name(), clipTitle), TaskName: run.TaskName, Task: t.clean(run.Task, clipTask),
		Status: run.Status.Task(), Delivery: run.Delivery, Tokens: run.Tokens(), Cost: run.Cost(), EndedAt: rfc3339(run.EndedAt),
	}
	if run.Requester == asker {
		row.Number = run.Ordinal
	}
	return row
}

// doing says in a word what a session does.
func doing(tx *store.Tx, session int64) (string, error) {
	a, err := tx.Activity(session)
	switch {
	case a.Running:
		return "running", err
	case a.Queued > 0:
		return "queued", err
	case a.Waits > 0:
		return "waiting", err
	}
	return "idle", err
}

// lastMessages returns the last messages of a session, oldest first.
func (t *Tools) lastMessages(tx *store.Tx, s store.Session, n int) ([]shortMessage, error) {
	said, err := tx.Said(s, false)
	if err != nil {
		return nil, err
	}
	var out []shortMessage
	err = said.Newest(n, func(row store.Row) (bool, error) {
		i, err := item(row, false)
		out = append(out, shortMessage{role(i.Kind), t.clean(model.Headline(i), clipMessage)})
		return true, err
	})
	slices.Reverse(out)
	return out, err
}
