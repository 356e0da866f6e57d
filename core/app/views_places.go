package app

import (
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/threadbind"
)

// BindingView is one binding: messages at an address go to a session.
type BindingView struct {
	// Id of the binding, as `bindings show` and `bindings end` take it.
	ID string `json:"id"`
	// Address that is bound.
	Address string `json:"address"`
	// Key of the session it leads to.
	Session string `json:"session"`
	// What that is: subagent or session.
	Target core.TargetKind `json:"target"`
	// Agent that answers there.
	Agent string `json:"agent"`
	// What people call it.
	Label string `json:"label"`
	// Person who may end it, as <channel>:<id>.
	Owner string `json:"owner"`
	// Whether a thread was opened for it (child) or the place was there (current).
	Placement core.Placement `json:"placement"`
	// State of the binding: pending, active, suspended or ended.
	Status core.BindingStatus `json:"status"`
	// Why it is suspended.
	SuspendReason string `json:"suspendReason,omitempty"`
	// How long it lives without a message, in milliseconds; 0 is for ever.
	IdleMs int64 `json:"idleMs"`
	// How long it lives at most, in milliseconds; 0 is for ever.
	MaxAgeMs int64 `json:"maxAgeMs"`
	// Whether the limits were set for this binding and are not the configured ones.
	OwnLimits bool `json:"ownLimits"`
	// Whether its session works, so that it is not idle.
	Busy bool `json:"busy"`
	// When it was bound.
	BoundAt core.Millis `json:"boundAt"`
	// When somebody last wrote there, either way.
	LastActivityAt core.Millis `json:"lastActivityAt"`
	// When it ends if nothing happens; left out if there is no such time at present.
	ExpiresAt core.Millis `json:"expiresAt,omitempty"`
	// Why it would end then: idle-expired, max-age-expired or deadline.
	ExpiresBy core.EndReason `json:"expiresBy,omitempty"`
	// When it ended.
	EndedAt core.Millis `json:"endedAt,omitempty"`
	// Why it ended: manual, idle-expired, max-age-expired, deadline, thread-deleted, session-ended, replaced, account-removed or spawn-failed.
	EndReason core.EndReason `json:"endReason,omitempty"`
	// Run that asked for it.
	RunID string `json:"runId,omitempty"`
}

// Bindings lists the live bindings, or those that ended, the newest first.
func (v Views) Bindings(tx *store.Tx, ended bool, limit int) ([]BindingView, error) {
	rows, err := tx.ListBindings(ended, limit)
	if err != nil {
		return nil, err
	}
	out := make([]BindingView, len(rows))
	for i, row := range rows {
		if out[i], err = v.binding(tx, row); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Binding shows one binding by its id or a unique beginning of it. The error
// is a *core.Error of code binding_unknown or binding_ambiguous.
func (v Views) Binding(tx *store.Tx, ref string) (BindingView, error) {
	row, err := findBinding(tx, ref)
	if err != nil {
		return BindingView{}, err
	}
	return v.binding(tx, row)
}

func (v Views) binding(tx *store.Tx, b core.Binding) (BindingView, error) {
	view := BindingView{
		ID: b.ID, Address: b.Address.String(), Session: b.SessionKey, Target: b.Target, Agent: b.Agent, Label: b.Label, Owner: b.Owner,
		Placement: b.Placement, Status: b.Status, SuspendReason: b.SuspendReason, OwnLimits: b.Idle != nil || b.MaxAge != nil,
		BoundAt: b.BoundAt, LastActivityAt: b.LastActivity, EndedAt: b.EndedAt, EndReason: b.Reason, RunID: b.RunID,
	}
	rules := v.Config.ThreadBindings(b.Address.Channel, b.Address.Account)
	limits := threadbind.Limits{Idle: rules.Idle, MaxAge: rules.MaxAge}
	inForce := limits.Of(b)
	view.IdleMs, view.MaxAgeMs = milliseconds(inForce.Idle), milliseconds(inForce.MaxAge)
	if !b.Status.Live() {
		return view, nil
	}
	busy, since, err := tx.SessionBusy(b.Session)
	if err != nil {
		return view, err
	}
	b.BusyUntil, view.Busy = max(b.BusyUntil, since), busy
	view.ExpiresAt, view.ExpiresBy = threadbind.Due(b, limits, busy)
	return view, nil
}

func milliseconds(d time.Duration) int64 { return d.Milliseconds() }

// OutboxView is one message on its way out.
type OutboxView struct {
	// Number of the message, as `outbox show`, `retry` and `dismiss` take it.
	ID int64 `json:"id"`
	// What it is: final (an answer), progress, command (a command's reply), notice, intro, farewell or send.
	Kind store.OutboxKind `json:"kind"`
	// State of the message: queued, sending, sent, ambiguous (may have been sent), failed, blocked, withdrawn or dismissed.
	State store.OutboxState `json:"state"`
	// Address it goes to.
	Address string `json:"address"`
	// Start of its text.
	Preview string `json:"preview"`
	// Tries of the part in hand.
	Attempts int `json:"attempts"`
	// Parts that reached the platform.
	PartsSent int `json:"partsSent"`
	// Whether it was sent again after it may have been sent.
	Resent bool `json:"resent,omitempty"`
	// Run whose outcome it is.
	RunID string `json:"runId,omitempty"`
	// What went wrong last.
	Error string `json:"error,omitempty"`
	// When it was written.
	CreatedAt core.Millis `json:"createdAt"`
	// When it was first tried.
	FirstTryAt core.Millis `json:"firstTryAt,omitempty"`
	// When it is tried again.
	NextAt core.Millis `json:"nextAt,omitempty"`
	// When it was sent or given up.
	EndedAt core.Millis `json:"endedAt,omitempty"`
}

// OutboxDetail is a message with its whole text and its receipts.
type OutboxDetail struct {
	OutboxView
	// The whole text.
	Text string `json:"text"`
	// Platform id of the message it answers.
	Anchor string `json:"anchor,omitempty"`
	// Name it is sent under, where the channel can.
	Persona string `json:"persona,omitempty"`
	// Key of the session whose turn wrote it.
	Session string `json:"session,omitempty"`
	// Platform ids of the parts that were sent.
	PlatformIDs []string `json:"platformIds"`
	// Runs whose outcome people know once it is sent.
	Tells []string `json:"tells,omitempty"`
}

// previewLength is how many characters of a message a list shows.
const previewLength = 100

// Outbox lists messages, the newest first; an empty state means all.
func (v Views) Outbox(tx *store.Tx, state store.OutboxState, limit int) ([]OutboxView, error) {
	rows, err := tx.ListOutbox(state, limit)
	if err != nil {
		return nil, err
	}
	out := make([]OutboxView, len(rows))
	for i, row := range rows {
		out[i] = outboxView(row)
	}
	return out, nil
}

// OutboxMessage shows one message by its number. The error is a *core.Error of
// code outbox_unknown.
func (v Views) OutboxMessage(tx *store.Tx, ref string) (OutboxDetail, error) {
	row, err := findOutbox(tx, ref)
	if err != nil {
		return OutboxDetail{}, err
	}
	d := OutboxDetail{
		OutboxView: outboxView(row), Text: row.Text, Anchor: row.Anchor, Persona: row.Persona, Tells: row.Tells, PlatformIDs: []string{},
	}
	if row.Session != 0 {
		s, err := tx.SessionByID(row.Session)
		if err != nil {
			return d, err
		}
		d.Session = s.Key
	}
	ids, err := tx.SentParts(row.ID)
	d.PlatformIDs = append(d.PlatformIDs, ids...)
	return d, err
}

func outboxView(row store.Outbox) OutboxView {
	return OutboxView{
		ID: row.ID, Kind: row.Kind, State: row.State, Address: row.Address.String(), Preview: core.Clip(row.Text, previewLength),
		Attempts: row.Attempts, PartsSent: row.PartsSent, Resent: row.Resent, RunID: row.Run, Error: row.Error, CreatedAt: row.At,
		FirstTryAt: row.FirstTry, NextAt: row.NextAt, EndedAt: row.EndedAt,
	}
}
