package config

// Session says how conversations map to sessions and how long things are kept.
type Session struct {
	// Which direct chats share a history.
	DMScope DMScope `json:"dmScope" default:"per-channel-peer"`
	// Threads bound to sub-agents and sessions.
	ThreadBindings ThreadBindings `json:"threadBindings"`
	// When a session starts over by itself.
	Reset Reset `json:"reset"`
	// The same by kind of conversation; beats reset.
	ResetByType ResetByType `json:"resetByType"`
	// The same by channel; beats resetByType.
	ResetByChannel map[string]Reset `json:"resetByChannel,omitzero" keys:"channel"`
	// How long things are kept.
	Retention Retention `json:"retention"`
}

// ThreadBindings are the rules for bound conversations. Nearest wins, key by
// key: account, channel, session.threadBindings, built-in.
type ThreadBindings struct {
	// Whether conversations can be bound at all.
	Enabled Optional[bool] `json:"enabled,omitzero" default:"true"`
	// A binding ends after this time without a message either way, in hours, fractions allowed; 0 for never.
	IdleHours Optional[float64] `json:"idleHours,omitzero" default:"24" min:"0" max:"87600"`
	// A binding ends this long after it was made, in hours, fractions allowed; 0 for never.
	MaxAgeHours Optional[float64] `json:"maxAgeHours,omitzero" default:"0" min:"0" max:"87600"`
	// Whether a spawn may create a thread and bind it.
	SpawnSessions Optional[bool] `json:"spawnSessions,omitzero" default:"true"`
	// What a thread-bound sub-agent knows of its requester's history.
	DefaultSpawnContext SpawnContext `json:"defaultSpawnContext,omitzero" default:"fork"`
	// Where a binding is put.
	Placement Placement `json:"placement,omitzero" default:"auto"`
	// What happens to the remote thread at the end.
	OnEnd OnEnd `json:"onEnd,omitzero" default:"keep"`
	// What happens to a message that arrives after the deadline.
	OnLate OnLate `json:"onLate,omitzero" default:"fallthrough"`
	// How long ended bindings stay listed, in days.
	KeepEndedDays Optional[float64] `json:"keepEndedDays,omitzero" default:"7" min:"0" max:"3650"`
	// Live bindings of one person; 0 for no limit.
	MaxPerUser Optional[int] `json:"maxPerUser,omitzero" default:"20" min:"0"`
}

// Reset says when a session starts over by itself. Completions and system
// events do not count as use; a bound session is not reset while bound.
type Reset struct {
	// Whether, and by which rule.
	Mode ResetMode `json:"mode,omitzero" default:"none"`
	// Hour of a daily reset, in the agent's time zone.
	AtHour Optional[int] `json:"atHour,omitzero" default:"4" min:"0" max:"23"`
	// Time without use before an idle reset, in minutes.
	IdleMinutes Optional[int] `json:"idleMinutes,omitzero" default:"60" min:"1"`
}

// ResetByType holds resets by kind of conversation.
type ResetByType struct {
	// Direct chats.
	Direct Reset `json:"direct"`
	// Groups.
	Group Reset `json:"group"`
	// Threads and topics, in direct chats and groups.
	Thread Reset `json:"thread"`
}

// Retention says how long things are kept, in days.
type Retention struct {
	// Transcripts; 0 for ever.
	TranscriptDays int `json:"transcriptDays" default:"0" min:"0"`
	// Archived sessions with their tasks, once people know the outcomes; 0 for ever.
	ArchivedDays int `json:"archivedDays" default:"90" min:"0"`
	// Messages that were sent, withdrawn or dismissed, and failed ones that told no outcome; others stay until somebody decides.
	OutboxDays int `json:"outboxDays" default:"30" min:"1"`
	// Keys by which redelivered messages are recognised.
	DedupeDays int `json:"dedupeDays" default:"7" min:"1"`
	// Records of the runtime: turns and tool calls that ended (their transcript stays), alerts, notes such as that somebody was told something or used so much on a day, and what was seen in groups and not asked about.
	EventsDays int `json:"eventsDays" default:"30" min:"1"`
}
