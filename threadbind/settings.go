package threadbind

import (
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/words"
)

// Settings are the configuration of bindings on one account, resolved: the
// account's value, else the channel's, else the global one, else the built-in.
type Settings struct {
	// Enabled is false where bindings are off.
	Enabled bool
	// EnabledKey and SpawnSessionsKey name the configuration keys that decided
	// Enabled and SpawnSessions, for refusals. Empty: the global keys.
	EnabledKey, SpawnSessionsKey string
	// Idle and MaxAge are the limits of records without their own; 0 is off.
	Idle, MaxAge time.Duration
	// SpawnSessions is false where no thread may be opened and no spawn may
	// bind; /focus in place still works.
	SpawnSessions bool
	// SpawnContext is the default context of thread-bound spawns, "fork" or
	// "isolated". The package only carries it.
	SpawnContext string
	// Placement is where bindings are made: auto, current or child.
	Placement core.Placement
	// OnEnd says what happens to a thread that was opened for a binding.
	OnEnd OnEnd
	// OnLate says what a message does that arrives after a deadline.
	OnLate OnLate
	// KeepEnded is how long ended records are kept; with 0 they go at once.
	KeepEnded time.Duration
	// MaxPerUser is how many live bindings one owner may have; 0 is no limit.
	MaxPerUser int
	// ArchiveAfter is how long a sub-agent session without a binding can be
	// focused again; 0 is for ever. Farewells mention it.
	ArchiveAfter time.Duration
	// Language is the one in which people are spoken to.
	Language words.Language
}

// OnEnd says what happens to the remote thread of a child binding that ends.
type OnEnd string

// The values of OnEnd. Archive is ignored where the adapter cannot.
const (
	OnEndKeep    OnEnd = "keep"
	OnEndArchive OnEnd = "archive"
)

// OnLate says what happens to a message that arrives after the deadline.
type OnLate string

// The values of OnLate.
const (
	// LateFallthrough handles it as a message in an unbound place.
	LateFallthrough OnLate = "fallthrough"
	// LateResume binds the same session again, if it still exists.
	LateResume OnLate = "resume"
)

// DefaultSettings returns the built-in settings.
func DefaultSettings() Settings {
	return Settings{
		Enabled:       true,
		Idle:          24 * time.Hour,
		SpawnSessions: true,
		SpawnContext:  "fork",
		Placement:     core.PlacementAuto,
		OnEnd:         OnEndKeep,
		OnLate:        LateFallthrough,
		KeepEnded:     7 * 24 * time.Hour,
		MaxPerUser:    20,
		ArchiveAfter:  time.Hour,
	}
}

// Limits returns the time limits of s.
func (s Settings) Limits() Limits { return Limits{Idle: s.Idle, MaxAge: s.MaxAge} }

func (s Settings) enabledKey() string {
	if s.EnabledKey != "" {
		return s.EnabledKey
	}
	return "session.threadBindings.enabled"
}

func (s Settings) spawnSessionsKey() string {
	if s.SpawnSessionsKey != "" {
		return s.SpawnSessionsKey
	}
	return "session.threadBindings.spawnSessions"
}
