package app

import (
	"encoding/json"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
)

// TaskView is one task: work that a session gave to a sub-agent.
type TaskView struct {
	// Id of the task, as `tasks show` takes it.
	ID string `json:"id"`
	// Id of the run that does it.
	RunID string `json:"runId"`
	// What kind of work it is: subagent, send, delegate, cron, acp or tool.
	Runtime core.RunKind `json:"runtime"`
	// State of the work: queued, running, waiting, succeeded, failed, timed_out, cancelled, interrupted or over_budget.
	Status core.TaskStatus `json:"status"`
	// Whether it has not ended and nothing moves it: it does not count as live, and maintenance ends it.
	Lost bool `json:"lost,omitempty"`
	// How far its outcome has come: not_required, pending, session_queued, delivered, blocked or dismissed.
	Delivery core.Delivery `json:"delivery"`
	// What people are told of it: done_only, state_changes or silent.
	Notify core.Notify `json:"notify"`
	// What people call it: its label, task name, or the start of the task.
	Name string `json:"name"`
	// Agent that does it.
	Agent string `json:"agent"`
	// Key of the sub-agent's session.
	Session string `json:"session"`
	// Key of the session that asked.
	Requester string `json:"requester"`
	// Number among the tasks of that session, from 1; it never changes.
	Ordinal int `json:"ordinal"`
	// Depth of the sub-agent; 1 is a sub-agent of a person's chat.
	Depth int `json:"depth"`
	// Address of the thread bound to it.
	BoundTo string `json:"boundTo,omitempty"`
	// Tokens read, from a cache or not.
	TokensIn int64 `json:"tokensIn"`
	// Tokens written.
	TokensOut int64 `json:"tokensOut"`
	// The part of the tokens read that came from the provider's cache.
	CacheRead int64 `json:"cacheRead,omitempty"`
	// Cost of the tokens that have a price, in millionths of a US dollar.
	MicroUSD int64 `json:"microUsd"`
	// Tokens without a price; with any, the cost is only a part.
	Unpriced int64 `json:"unpriced,omitempty"`
	// When it was asked for.
	CreatedAt core.Millis `json:"createdAt"`
	// When it began.
	StartedAt core.Millis `json:"startedAt,omitempty"`
	// When it ended.
	EndedAt core.Millis `json:"endedAt,omitempty"`
	// Why it ended as it did, or what keeps its outcome from people.
	Detail string `json:"detail,omitempty"`
}

// TaskDetail is a task with its lineage and its outcome.
type TaskDetail struct {
	TaskView
	// Id of the run at the root of the tree.
	RootRunID string `json:"rootRunId"`
	// Id of the run whose turn asked, where a person's chat did not.
	RequesterRun string `json:"requesterRun,omitempty"`
	// Key of the session that may list, steer and cancel it, as those above that one may: the one that asked.
	Controller string `json:"controller"`
	// Number of the history of that session in which it was asked for.
	Generation int64 `json:"generation,omitempty"`
	// Role of the sub-agent: orchestrator (it may have sub-agents itself) or leaf.
	Role string `json:"role"`
	// The work, as it was given.
	Task string `json:"task"`
	// Handle that the requester gave it.
	TaskName string `json:"taskName,omitempty"`
	// Title that the requester gave it.
	Label string `json:"label,omitempty"`
	// Address of the message that started the requester's run.
	Origin string `json:"origin"`
	// Person behind it, as <channel>:<id>.
	Owner string `json:"owner,omitempty"`
	// Id of that message on its platform.
	Anchor string `json:"anchor,omitempty"`
	// What the spawn resolved to: agent, model, thinking, tools, sandbox, folder, mode, context, timeout, clean-up and budget.
	Spec core.SpawnSpec `json:"spec"`
	// Number of this outcome among those of the sub-agent's session.
	Completion int `json:"completion"`
	// What the sub-agent said last.
	Result string `json:"result,omitempty"`
	// Whether the result is not the whole: the run did not end by itself.
	Partial bool `json:"partial,omitempty"`
	// When people were told.
	DeliveredAt core.Millis `json:"deliveredAt,omitempty"`
	// What `sessions transcript` takes to print the whole of it.
	Transcript string `json:"transcript"`
	// Id of the binding of its thread.
	BindingID string `json:"bindingId,omitempty"`
	// The budgets that it draws on, the widest first; none where nothing is limited.
	Budgets []BudgetView `json:"budgets"`
}

// TaskFilter chooses tasks. An empty field chooses all.
type TaskFilter struct {
	Status  core.TaskStatus
	Runtime core.RunKind
	Agent   string
}

// Tasks lists tasks, the newest first.
func (v Views) Tasks(tx *store.Tx, f TaskFilter, limit int) ([]TaskView, error) {
	runs, err := tx.ListRuns(store.RunFilter{Status: f.Status.Run(), Kind: f.Runtime, Agent: f.Agent}, limit)
	if err != nil {
		return nil, err
	}
	out := make([]TaskView, len(runs))
	for i, run := range runs {
		if out[i], err = v.task(tx, run); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Task shows one task by its id, the id of its run, a unique beginning of one of
// them, or the key of its session (the newest task of it). The error is a *core.Error of code task_unknown or
// task_ambiguous.
func (v Views) Task(tx *store.Tx, ref string) (TaskDetail, error) {
	run, err := findTask(tx, ref)
	if err != nil {
		return TaskDetail{}, err
	}
	view, err := v.task(tx, run)
	if err != nil {
		return TaskDetail{}, err
	}
	d := TaskDetail{
		TaskView: view, RootRunID: run.Root, RequesterRun: run.RequesterRun, Controller: run.RequesterID, Generation: run.Spec.Generation, Role: run.Role, Task: run.Task, TaskName: run.TaskName,
		Label: run.Label, Origin: run.Origin.String(), Anchor: run.Anchor, Owner: run.Owner, Spec: run.Spec, Completion: run.Completion, Result: run.Result,
		Partial: run.Partial, DeliveredAt: run.DeliveredAt, Transcript: subagent.TranscriptRef(run),
	}
	b, _, err := tx.BindingOfRun(run.ID)
	if err != nil {
		return d, err
	}
	d.BindingID = b.ID
	d.Budgets, err = v.budgets(tx, run)
	return d, err
}

func (v Views) task(tx *store.Tx, run core.Run) (TaskView, error) {
	view := TaskView{
		ID: run.TaskID, RunID: run.ID, Runtime: run.Kind, Status: run.Status.Task(), Delivery: run.Delivery, Notify: run.Notify, Name: run.Name(), Agent: run.Agent,
		Session: run.SessionKey, Requester: run.RequesterID, Ordinal: run.Ordinal, Depth: run.Depth, TokensIn: run.TokensIn,
		TokensOut: run.TokensOut, CacheRead: run.CacheRead, MicroUSD: run.MicroUSD, Unpriced: run.Unpriced, CreatedAt: run.CreatedAt, StartedAt: run.StartedAt, EndedAt: run.EndedAt, Detail: run.Detail,
	}
	if run.Status.Live() {
		moves, err := tx.RunMoves(run.ID)
		if err != nil {
			return view, err
		}
		if !moves {
			view.Status, view.Lost = core.TaskInterrupted, true
		}
	}
	bound, err := tx.BindingsOfSession(run.Session)
	for _, b := range bound {
		view.BoundTo = b.Address.String()
	}
	return view, err
}

// RowView is one row of a transcript.
type RowView struct {
	// Number of the row.
	Row int64 `json:"row"`
	// Number of the history that it belongs to; /new and /reset begin another one.
	History int64 `json:"history"`
	// Turn that wrote it.
	Turn int64 `json:"turn"`
	// Number of the row's step in that turn.
	Seq int `json:"seq"`
	// When it was written.
	At core.Millis `json:"at"`
	// What it is: user (a person), assistant (the model), tool (the result of a call), event (a sub-agent ended), note (the runtime) or compaction (what the model reads in the place of older rows).
	Kind model.ItemKind `json:"kind"`
	// What it says; of an event, how it ended.
	Text string `json:"text,omitempty"`
	// Name of the person, in groups.
	Author string `json:"author,omitempty"`
	// Tools that the model called, as "name(arguments)".
	Calls []string `json:"calls,omitempty"`
	// Tool whose result it is.
	Tool string `json:"tool,omitempty"`
	// Whether the tool call failed.
	Failed bool `json:"failed,omitempty"`
	// Whether a retry put other rows in its place.
	Replaced bool `json:"replaced,omitempty"`
	// The row as it is stored, only with raw.
	Item json.RawMessage `json:"item,omitempty"`
}

// Transcript returns a page of the whole of a session: of the rows of all its
// histories, compacted and replaced ones included, the rows that a fork inherited
// before its own, those with a number above after. There are at most limit, and
// fewer where they are large; the end is an empty page. With raw each row is as it
// is stored, reasoning included. The session is named as in Session; archived ones
// are found too.
func (v Views) Transcript(tx *store.Tx, ref string, raw bool, after int64, limit int) ([]RowView, error) {
	s, err := findSession(tx, ref)
	if err != nil {
		return nil, err
	}
	rows, err := tx.HistoriesFrom(s, after, limit)
	if err != nil {
		return nil, err
	}
	out := make([]RowView, len(rows))
	for i, row := range rows {
		if out[i], err = rowView(row, raw); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func rowView(row store.Row, raw bool) (RowView, error) {
	item, err := model.DecodeItem(row.Body)
	if err != nil {
		return RowView{}, err
	}
	view := RowView{Row: row.ID, History: row.Generation, Turn: row.Turn, Seq: row.Seq, At: row.At, Kind: item.Kind, Replaced: row.Replaced}
	if raw {
		view.Item = json.RawMessage(row.Body)
		return view, nil
	}
	view.Text, view.Tool, view.Failed = model.Text(item), item.Tool, item.Failed
	if item.Author != nil {
		view.Author = item.Author.Name
	}
	for _, call := range item.Calls {
		view.Calls = append(view.Calls, call.Name+"("+string(call.Args)+")")
	}
	return view, nil
}
