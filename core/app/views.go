package app

import (
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// Views makes what the API, the command line and scripts show of a store. The
// JSON of a view is stable: fields are added, never renamed or removed. Times
// are milliseconds since 1970 in UTC, durations milliseconds; a time that is
// left out has not come.
//
// A view needs nothing but a transaction, so it looks the same whether a
// gateway runs or the store is read without one.
type Views struct {
	// Config resolves what the store does not hold, such as the limits of a
	// binding that has none of its own.
	Config *config.Config
	// Now is the time at which the views are true.
	Now core.Millis
}

// The states of a session, for SessionView.State.
const (
	SessionRunning  = "running"
	SessionQueued   = "queued"
	SessionWaiting  = "waiting"
	SessionHeld     = "held"
	SessionIdle     = "idle"
	SessionArchived = "archived"
)

// SessionView is one session: a history of one agent.
type SessionView struct {
	// Number of the session; `session:<id>` names it too.
	ID int64 `json:"id"`
	// Key of the session, as `sessions show` takes it.
	Key string `json:"key"`
	// Agent whose history it is.
	Agent string `json:"agent"`
	// Kind of the session: main, direct, group, subagent, dashboard or cron.
	Kind core.SessionKind `json:"kind"`
	// What goes on in it: running (a turn is in progress), queued (input waits for a turn), waiting (for sub-agents or for a message), held (input waits for its place), idle or archived.
	State string `json:"state"`
	// Address where it was opened, "" for none.
	Address string `json:"address"`
	// Title of the conversation, "" for none.
	Title string `json:"title"`
	// Heading under which a visible session is listed, "" for none.
	Group string `json:"group,omitempty"`
	// Depth below a person's chat; 0 is such a chat, 1 its sub-agents.
	Depth int `json:"depth"`
	// Key of the session that spawned it.
	Parent string `json:"parent,omitempty"`
	// Number of the history: /new and /reset begin another one.
	Generation int64 `json:"generation"`
	// When it was opened.
	CreatedAt core.Millis `json:"createdAt"`
	// When it was last used.
	UsedAt core.Millis `json:"usedAt"`
	// When it was archived.
	ArchivedAt core.Millis `json:"archivedAt,omitempty"`
}

// SessionDetail is a session with what belongs to it.
type SessionDetail struct {
	SessionView
	// How many inputs wait for a turn.
	Queued int `json:"queued"`
	// How many rows its transcripts have, older histories included.
	Rows int `json:"rows"`
	// When it will be archived; unset while a place leads to it, which counts from
	// the end of that.
	ArchiveDueAt core.Millis `json:"archiveDueAt,omitempty"`
	// Places that lead to it.
	Bindings []BindingView `json:"bindings"`
	// What it asked sub-agents to do, the newest first; at most 20.
	Tasks []TaskView `json:"tasks"`
	// Its turns, the newest first; at most 20.
	Turns []TurnView `json:"turns"`
}

// TurnView is one turn: what an agent did about one input.
type TurnView struct {
	// Number of the turn.
	ID int64 `json:"id"`
	// What it answers: message, task, completion, wake or dropped.
	Kind store.InboxKind `json:"kind"`
	// State of the turn: running, done, failed, cancelled or dead.
	State store.TurnState `json:"state"`
	// Address it answers at.
	ReplyTo string `json:"replyTo"`
	// Run it works for.
	RunID string `json:"runId,omitempty"`
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
	// When it began.
	StartedAt core.Millis `json:"startedAt"`
	// When it ended.
	EndedAt core.Millis `json:"endedAt,omitempty"`
	// Why it ended as it did.
	Detail string `json:"detail,omitempty"`
}

// detailLimit is how many related rows a detail lists.
const detailLimit = 20

// Sessions lists sessions, the most recently used first.
func (v Views) Sessions(tx *store.Tx, archived bool, limit int) ([]SessionView, error) {
	rows, err := tx.Sessions(archived, limit)
	if err != nil {
		return nil, err
	}
	out := make([]SessionView, len(rows))
	for i, row := range rows {
		if out[i], err = v.session(tx, row); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Session shows one session by its key, a unique beginning of it, its number
// or `session:<number>`. The error is a *core.Error of code session_unknown or
// session_ambiguous.
func (v Views) Session(tx *store.Tx, ref string) (SessionDetail, error) {
	row, err := findSession(tx, ref)
	if err != nil {
		return SessionDetail{}, err
	}
	d := SessionDetail{ArchiveDueAt: row.ArchiveDue, Bindings: []BindingView{}, Tasks: []TaskView{}, Turns: []TurnView{}}
	if d.SessionView, err = v.session(tx, row); err != nil {
		return d, err
	}
	activity, err := tx.Activity(row.ID)
	if err != nil {
		return d, err
	}
	d.Queued = activity.Queued
	if d.Rows, err = tx.CountRows(row.ID); err != nil {
		return d, err
	}
	err = v.related(tx, row, &d)
	return d, err
}

// related fills in what belongs to a session.
func (v Views) related(tx *store.Tx, row store.Session, d *SessionDetail) error {
	bindings, err := tx.BindingsOfSession(row.ID)
	if err != nil {
		return err
	}
	if len(bindings) > 0 {
		d.ArchiveDueAt = 0 // planned before, and put off
	}
	for _, b := range bindings {
		view, err := v.binding(tx, b)
		if err != nil {
			return err
		}
		d.Bindings = append(d.Bindings, view)
	}
	runs, err := tx.RunsAskedBy(row.ID, detailLimit)
	if err != nil {
		return err
	}
	for _, run := range runs {
		view, err := v.task(tx, run)
		if err != nil {
			return err
		}
		d.Tasks = append(d.Tasks, view)
	}
	turns, err := tx.TurnsOfSession(row.ID, detailLimit)
	if err != nil {
		return err
	}
	for _, t := range turns {
		d.Turns = append(d.Turns, TurnView{
			ID: t.ID, Kind: t.Kind, State: t.State, ReplyTo: t.ReplyTo.String(), RunID: t.Run, TokensIn: t.TokensIn,
			TokensOut: t.TokensOut, CacheRead: t.CacheRead, MicroUSD: t.MicroUSD, Unpriced: t.Unpriced, StartedAt: t.Started, EndedAt: t.Ended, Detail: t.Detail,
		})
	}
	return nil
}

func (v Views) session(tx *store.Tx, row store.Session) (SessionView, error) {
	view := SessionView{
		ID: row.ID, Key: row.Key, Agent: row.Agent, Kind: row.Kind, Address: row.Address.String(), Title: row.Title, Group: row.Group, Depth: row.Depth,
		Generation: row.Generation, CreatedAt: row.CreatedAt, UsedAt: row.UsedAt, ArchivedAt: row.ArchivedAt,
	}
	if row.Parent != 0 {
		parent, err := tx.SessionByID(row.Parent)
		if err != nil {
			return view, err
		}
		view.Parent = parent.Key
	}
	activity, err := tx.Activity(row.ID)
	view.State = sessionState(row, activity)
	return view, err
}

func sessionState(row store.Session, a store.Activity) string {
	switch {
	case row.ArchivedAt != 0:
		return SessionArchived
	case a.Running:
		return SessionRunning
	case a.Queued > 0:
		return SessionQueued
	case a.Waits > 0:
		return SessionWaiting
	case a.Held > 0:
		return SessionHeld
	}
	return SessionIdle
}
