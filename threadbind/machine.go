package threadbind

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
)

// ErrTransition is wrapped by the errors of Apply: the event does not fit the
// state of the record.
var ErrTransition = errors.New("binding transition not allowed")

// Apply is the state machine of bindings. It returns what rec becomes by ev at
// now, and what has to follow from that. It is pure: rec is not changed, also
// not behind its pointers, and after an error the returned record is rec.
func Apply(rec core.Binding, ev Event, limits Limits, now core.Millis) (core.Binding, []Effect, error) {
	m := machine{rec: rec, limits: limits, now: now}
	if err := ev.apply(&m); err != nil {
		return rec, nil, fmt.Errorf("%w: %T on a binding that is %s: %w", ErrTransition, ev, rec.Status, err)
	}
	return m.rec, m.effects, nil
}

// Event is something that happens to a binding. The types below are all there
// are.
type Event interface {
	apply(m *machine) error
}

// Opened makes a pending binding active: its place exists. Session and
// SessionKey are set where the session was created after the record.
type Opened struct {
	Address    core.Address
	Data       []byte // what the adapter wants kept, nil for none
	Session    int64
	SessionKey string
}

// SpawnFailed ends a pending binding whose place or session could not be made.
type SpawnFailed struct{}

// MessageIn is a person's message for the bound session. Past a deadline it
// ends the binding instead of touching it.
type MessageIn struct{ Busy bool }

// ReplyOut is a reply delivered into the place. Past a deadline it ends the
// binding instead of touching it.
type ReplyOut struct{ Busy bool }

// Worked records that the session worked until then.
type Worked struct{ Until core.Millis }

// Check compares the record with its deadlines under the given limits: after a
// timer fired, in a sweep, and when limits were reloaded. It ends an expired
// record and sets Due exactly on another. Busy tells that the session works at
// now.
type Check struct{ Busy bool }

// End ends the binding. A pending one ends as spawn-failed whatever Reason is.
type End struct{ Reason core.EndReason }

// SuspendCause says why a place cannot be written to. Causes add up: the
// binding is active again when the last one is gone.
type SuspendCause string

// The causes of suspension.
const (
	CauseClosed    SuspendCause = "closed"    // the thread is closed or locked
	CauseForbidden SuspendCause = "forbidden" // the bot may not write there
)

// Suspend says that the place cannot be written to at present.
type Suspend struct{ Cause SuspendCause }

// Restore says that a cause of suspension is gone.
type Restore struct{ Cause SuspendCause }

// Refocus binds the same session at the same place anew, by the same owner: it
// restarts max-age and keeps the record's own limits.
type Refocus struct{}

// SetIdle sets the record's own idle limit; nil goes back to the configured
// one, 0 is off. It is a person's message in the place and therefore a touch.
type SetIdle struct{ Limit *time.Duration }

// SetMaxAge sets the record's own age limit, in the same way.
type SetMaxAge struct{ Limit *time.Duration }

// Moved says that the platform gave the place another address, and the session
// another key if SessionKey is set.
type Moved struct {
	To         core.Address
	SessionKey string
}

// EffectKind says what has to follow from a step.
type EffectKind uint8

// The kinds of effect.
const (
	// EffectIntro: post who is listening here now.
	EffectIntro EffectKind = iota + 1
	// EffectFarewell: post in the place that the binding ended, and why.
	EffectFarewell
	// EffectArchive: archive the remote thread, where the settings want that.
	EffectArchive
	// EffectReschedule: Due changed to At (0: no deadline).
	EffectReschedule
	// EffectNotifyOwner: tell the owner that the binding is suspended.
	EffectNotifyOwner
)

var effectNames = [...]string{
	EffectIntro: "intro", EffectFarewell: "farewell", EffectArchive: "archive",
	EffectReschedule: "reschedule", EffectNotifyOwner: "notify-owner",
}

// String returns the name that logs and tests use.
func (k EffectKind) String() string {
	if int(k) < len(effectNames) && effectNames[k] != "" {
		return effectNames[k]
	}
	return "unknown"
}

// Effect is one thing that has to follow from a step. Reason is set with
// EffectFarewell and EffectArchive, At with EffectReschedule.
type Effect struct {
	Kind   EffectKind
	Reason core.EndReason
	At     core.Millis
}

// machine is one step in progress.
type machine struct {
	rec     core.Binding
	limits  Limits
	now     core.Millis
	effects []Effect
}

var (
	errNotPending = errors.New("it is not pending")
	errNotBound   = errors.New("it is not bound")
	errEnded      = errors.New("it has ended")
	errNoPlace    = errors.New("the address names no place")
	errBadReason  = errors.New("not a reason for the end of a bound binding")
	errNegative   = errors.New("a limit cannot be negative")
	errNoCause    = errors.New("the cause is empty")
)

func (e Opened) apply(m *machine) error {
	switch {
	case m.rec.Status != core.BindingPending:
		return errNotPending
	case e.Address.Channel == "" || e.Address.Account == "" || e.Address.Conversation == "":
		return errNoPlace
	}
	m.rec.Address, m.rec.Data = e.Address, slices.Clone(e.Data)
	if e.Session != 0 {
		m.rec.Session, m.rec.SessionKey = e.Session, e.SessionKey
	}
	m.rec.Status = core.BindingActive
	m.bind()
	return nil
}

func (SpawnFailed) apply(m *machine) error {
	if m.rec.Status != core.BindingPending {
		return errNotPending
	}
	m.end(core.EndSpawnFailed)
	return nil
}

func (e MessageIn) apply(m *machine) error { return m.touchInTime(e.Busy) }

func (e ReplyOut) apply(m *machine) error { return m.touchInTime(e.Busy) }

func (e Worked) apply(m *machine) error {
	if !m.rec.Status.Live() {
		return errEnded
	}
	m.rec.BusyUntil = max(m.rec.BusyUntil, e.Until)
	return nil
}

func (e Check) apply(m *machine) error {
	if !m.bound() {
		return errNotBound
	}
	if reason, expired := Expired(m.rec, m.limits, e.Busy, m.now); expired {
		m.end(reason)
		return nil
	}
	if e.Busy {
		m.rec.BusyUntil = max(m.rec.BusyUntil, m.now)
	}
	m.reschedule()
	return nil
}

func (e End) apply(m *machine) error {
	switch {
	case m.rec.Status == core.BindingPending:
		m.end(core.EndSpawnFailed)
		return nil
	case !m.bound():
		return errEnded
	case e.Reason == core.NotEnded || e.Reason == core.EndSpawnFailed || e.Reason.String() == "unknown":
		return errBadReason
	}
	m.end(e.Reason)
	return nil
}

func (e Suspend) apply(m *machine) error {
	switch {
	case !m.bound():
		return errNotBound
	case e.Cause == "":
		return errNoCause
	}
	causes := strings.Fields(m.rec.SuspendReason)
	if slices.Contains(causes, string(e.Cause)) {
		return nil
	}
	if m.rec.Status == core.BindingActive {
		m.effect(Effect{Kind: EffectNotifyOwner})
	}
	m.rec.Status = core.BindingSuspended
	m.rec.SuspendReason = strings.Join(append(causes, string(e.Cause)), " ")
	return nil
}

func (e Restore) apply(m *machine) error {
	if !m.bound() {
		return errNotBound
	}
	causes := slices.DeleteFunc(strings.Fields(m.rec.SuspendReason), func(c string) bool { return c == string(e.Cause) })
	m.rec.SuspendReason = strings.Join(causes, " ")
	if len(causes) == 0 {
		m.rec.Status = core.BindingActive
	}
	return nil
}

func (Refocus) apply(m *machine) error {
	if !m.bound() {
		return errNotBound
	}
	m.bind()
	return nil
}

func (e SetIdle) apply(m *machine) error { return m.setLimit(&m.rec.Idle, e.Limit) }

func (e SetMaxAge) apply(m *machine) error { return m.setLimit(&m.rec.MaxAge, e.Limit) }

func (e Moved) apply(m *machine) error {
	switch {
	case !m.rec.Status.Live():
		return errEnded
	case e.To.Conversation == "" && m.bound():
		return errNoPlace
	}
	m.rec.Address = e.To
	if e.SessionKey != "" {
		m.rec.SessionKey = e.SessionKey
	}
	return nil
}

// bound tells whether the record has its place and its clock runs.
func (m *machine) bound() bool {
	return m.rec.Status == core.BindingActive || m.rec.Status == core.BindingSuspended
}

// bind starts the clock.
func (m *machine) bind() {
	m.rec.BoundAt = m.now
	m.rec.LastActivity = max(m.rec.LastActivity, m.now)
	m.effect(Effect{Kind: EffectIntro})
	m.reschedule()
}

func (m *machine) touchInTime(busy bool) error {
	if !m.bound() {
		return errNotBound
	}
	if reason, expired := Expired(m.rec, m.limits, busy, m.now); expired {
		m.end(reason)
		return nil
	}
	m.rec.LastActivity = max(m.rec.LastActivity, m.now)
	if at, _ := Due(m.rec, m.limits, false); at != 0 && (m.rec.Due == 0 || at < m.rec.Due) {
		m.reschedule() // otherwise Due is a lower bound still
	}
	return nil
}

func (m *machine) setLimit(field **int64, limit *time.Duration) error {
	switch {
	case !m.bound():
		return errNotBound
	case limit == nil:
		*field = nil
	case *limit < 0:
		return errNegative
	default:
		ms := toMillis(*limit)
		*field = &ms
	}
	m.rec.LastActivity = max(m.rec.LastActivity, m.now)
	m.reschedule()
	return nil
}

// reschedule sets Due to the next deadline, as if the session were at rest: a
// lower bound, whatever it does.
func (m *machine) reschedule() {
	at, _ := Due(m.rec, m.limits, false)
	if at != m.rec.Due {
		m.rec.Due = at
		m.effect(Effect{Kind: EffectReschedule, At: at})
	}
}

// end ends the record. Only a place that can be written to gets a farewell.
func (m *machine) end(reason core.EndReason) {
	if m.rec.Status == core.BindingActive && placeRemains(reason) {
		m.effect(Effect{Kind: EffectFarewell, Reason: reason})
		if m.rec.Placement == core.PlacementChild {
			m.effect(Effect{Kind: EffectArchive, Reason: reason})
		}
	}
	m.rec.Status, m.rec.Reason, m.rec.EndedAt = core.BindingEnded, reason, m.now
	m.rec.Due, m.rec.SuspendReason = 0, ""
}

// placeRemains tells whether after an end for reason the place is still there
// and nobody else has spoken in it: the intro of a successor is the farewell
// of what it replaced.
func placeRemains(reason core.EndReason) bool {
	switch reason {
	case core.EndThreadDeleted, core.EndAccountRemoved, core.EndReplaced, core.EndSpawnFailed:
		return false
	}
	return true
}

func (m *machine) effect(e Effect) { m.effects = append(m.effects, e) }
