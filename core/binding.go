package core

// BindingStatus is the state of a binding.
type BindingStatus string

// The states of a binding. At most one pending, active or suspended binding
// exists per place.
const (
	BindingPending   BindingStatus = "pending"   // its thread is being opened
	BindingActive    BindingStatus = "active"    // messages there go to its session
	BindingSuspended BindingStatus = "suspended" // the place cannot be written to at present
	BindingEnded     BindingStatus = "ended"
)

// Live reports whether s holds its place.
func (s BindingStatus) Live() bool { return s != BindingEnded && s != "" }

// EndReason says why a binding ended.
type EndReason uint8

// The reasons for which a binding ends. The numbers are not stored; the names
// are.
const (
	NotEnded EndReason = iota
	EndManual
	EndIdle
	EndMaxAge
	EndDeadline
	EndThreadDeleted
	EndSessionEnded
	EndReplaced
	EndAccountRemoved
	EndSpawnFailed
)

var endReasons = [...]string{
	NotEnded: "", EndManual: "manual", EndIdle: "idle-expired", EndMaxAge: "max-age-expired",
	EndDeadline: "deadline", EndThreadDeleted: "thread-deleted", EndSessionEnded: "session-ended",
	EndReplaced: "replaced", EndAccountRemoved: "account-removed", EndSpawnFailed: "spawn-failed",
}

// String returns the name that records, logs, metrics and farewells use.
func (r EndReason) String() string {
	if int(r) < len(endReasons) {
		return endReasons[r]
	}
	return "unknown"
}

// ParseEndReason is the inverse of String; ok is false for an unknown name.
func ParseEndReason(s string) (r EndReason, ok bool) {
	for i, name := range endReasons {
		if name == s {
			return EndReason(i), true
		}
	}
	return NotEnded, false
}

// MarshalText implements encoding.TextMarshaler with the name.
func (r EndReason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *EndReason) UnmarshalText(b []byte) error {
	v, ok := ParseEndReason(string(b))
	if !ok {
		return Errorf("bad_end_reason", "unknown end reason %q", b)
	}
	*r = v
	return nil
}

// TargetKind says what a binding points at.
type TargetKind string

// The kinds of binding target.
const (
	TargetSubagent TargetKind = "subagent"
	TargetSession  TargetKind = "session"
)

// Binding is a durable rule: messages at Address go to Session. threadbind
// owns its state machine; the store keeps one row per binding. All times are
// milliseconds in UTC from the injected clock; durations are milliseconds.
type Binding struct {
	ID         string     `json:"id"`
	Address    Address    `json:"address"`
	Session    int64      `json:"session"`    // the store's id of the target session
	SessionKey string     `json:"sessionKey"` // its key, for display
	Target     TargetKind `json:"target"`
	Agent      string     `json:"agent"`
	Label      string     `json:"label"`
	// Owner is the platform user who asked for the binding, as
	// "channel:id"; with a spawn, the person whose message led to it.
	Owner     string    `json:"owner"`
	Placement Placement `json:"placement"`
	// Idle and MaxAge override the configured limits where set: nil means
	// "as configured", 0 means "off".
	Idle   *int64 `json:"idleMs,omitempty"`
	MaxAge *int64 `json:"maxAgeMs,omitempty"`
	// BoundAt is when it became active (or was last focused anew).
	BoundAt Millis `json:"boundAt"`
	// LastActivity is the last message either way; it never moves backwards.
	LastActivity Millis `json:"lastActivityAt"`
	// BusyUntil is the end of the latest turn of the session, a lower bound
	// for the idle deadline to count from.
	BusyUntil Millis `json:"busyUntil,omitempty"`
	// Due is a lower bound of the next deadline, 0 for none; indexed, and
	// checked again on firing.
	Due Millis `json:"dueAt,omitempty"`
	// Deadline is an absolute end set through the Go API, 0 for none.
	Deadline      Millis        `json:"deadlineAt,omitempty"`
	Status        BindingStatus `json:"status"`
	SuspendReason string        `json:"suspendReason,omitempty"`
	Reason        EndReason     `json:"endReason,omitempty"`
	EndedAt       Millis        `json:"endedAt,omitempty"`
	// Data is what the adapter wants kept; opaque JSON, secrets sealed.
	Data  []byte `json:"-"`
	RunID string `json:"runId,omitempty"` // the run that created it, if one did
}
