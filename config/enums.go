package config

// Thinking is how much a model reasons before it answers.
type Thinking string

// The thinking levels.
const (
	ThinkingOff     Thinking = "off"
	ThinkingMinimal Thinking = "minimal"
	ThinkingLow     Thinking = "low"
	ThinkingMedium  Thinking = "medium"
	ThinkingHigh    Thinking = "high"
)

// Values lists the valid words.
func (Thinking) Values() []string { return []string{"off", "minimal", "low", "medium", "high"} }

// ProviderType names the protocol of a model provider.
type ProviderType string

// The provider types.
const (
	ProviderOpenAI    ProviderType = "openai"    // any OpenAI-compatible endpoint
	ProviderAnthropic ProviderType = "anthropic" // the Anthropic API
	ProviderScripted  ProviderType = "scripted"  // answers from a rule file, for tests and the demo
)

// Values lists the valid words.
func (ProviderType) Values() []string { return []string{"openai", "anthropic", "scripted"} }

// DelegationMode changes how strongly the prompt recommends sub-agents; it
// changes nothing else.
type DelegationMode string

// The delegation modes.
const (
	DelegationSuggest DelegationMode = "suggest"
	DelegationPrefer  DelegationMode = "prefer"
)

// Values lists the valid words.
func (DelegationMode) Values() []string { return []string{"suggest", "prefer"} }

// AuthMode says whether an agent falls back to the shared credentials.
type AuthMode string

// The authentication modes.
const (
	AuthOverlay  AuthMode = "overlay"  // own credentials first, the shared ones as fallback
	AuthIsolated AuthMode = "isolated" // own credentials only
)

// Values lists the valid words.
func (AuthMode) Values() []string { return []string{"overlay", "isolated"} }

// DMScope says which direct conversations share a session.
type DMScope string

// The direct-message scopes.
const (
	DMScopeMain                  DMScope = "main"                     // everyone shares the agent's main session
	DMScopePerPeer               DMScope = "per-peer"                 // one session a person, over all channels
	DMScopePerChannelPeer        DMScope = "per-channel-peer"         // one a person and channel
	DMScopePerAccountChannelPeer DMScope = "per-account-channel-peer" // one a person, channel and account
)

// Values lists the valid words.
func (DMScope) Values() []string {
	return []string{"main", "per-peer", "per-channel-peer", "per-account-channel-peer"}
}

// SpawnContext says what a new sub-agent knows of its requester's history.
type SpawnContext string

// The spawn contexts.
const (
	SpawnFork     SpawnContext = "fork"
	SpawnIsolated SpawnContext = "isolated"
)

// Values lists the valid words.
func (SpawnContext) Values() []string { return []string{"fork", "isolated"} }

// Placement says where a binding is put.
type Placement string

// The placements.
const (
	PlacementAuto    Placement = "auto"    // by the channel's own rule
	PlacementCurrent Placement = "current" // where the request was made
	PlacementChild   Placement = "child"   // a new thread or topic
)

// Values lists the valid words.
func (Placement) Values() []string { return []string{"auto", "current", "child"} }

// OnEnd says what happens to a remote thread when its binding ends.
type OnEnd string

// What to do with the thread of an ended binding.
const (
	OnEndKeep    OnEnd = "keep"
	OnEndArchive OnEnd = "archive" // ignored by channels that cannot archive
)

// Values lists the valid words.
func (OnEnd) Values() []string { return []string{"keep", "archive"} }

// OnLate says what happens to a message that arrives after its binding's
// deadline.
type OnLate string

// What to do with a late message.
const (
	OnLateFallthrough OnLate = "fallthrough" // handle it as an unbound message
	OnLateResume      OnLate = "resume"      // bind the same session again if it still exists
)

// Values lists the valid words.
func (OnLate) Values() []string { return []string{"fallthrough", "resume"} }

// ResetMode says when a session starts over by itself.
type ResetMode string

// The reset modes.
const (
	ResetNone  ResetMode = "none"
	ResetDaily ResetMode = "daily" // at a fixed hour
	ResetIdle  ResetMode = "idle"  // after some time without use
)

// Values lists the valid words.
func (ResetMode) Values() []string { return []string{"none", "daily", "idle"} }

// QueueMode says what happens to a message that arrives during a turn.
type QueueMode string

// The queue modes.
const (
	QueueSteer     QueueMode = "steer"     // injected at the next step boundary
	QueueFollowup  QueueMode = "followup"  // a turn of its own, afterwards
	QueueCollect   QueueMode = "collect"   // all waiting messages in one turn, afterwards
	QueueInterrupt QueueMode = "interrupt" // the running turn is stopped
)

// Values lists the valid words.
func (QueueMode) Values() []string { return []string{"steer", "followup", "collect", "interrupt"} }

// Overflow says what gives way when a queue is full.
type Overflow string

// The overflow policies.
const (
	OverflowSummarize Overflow = "summarize" // the oldest become one listed row
	OverflowOld       Overflow = "old"       // the oldest are dropped, with a notice
	OverflowNew       Overflow = "new"       // the newest are dropped, with a notice
)

// Values lists the valid words.
func (Overflow) Values() []string { return []string{"summarize", "old", "new"} }

// ToolProfile is the base set of tools of an agent.
type ToolProfile string

// The tool profiles.
const (
	ProfileMinimal   ToolProfile = "minimal"
	ProfileCoding    ToolProfile = "coding"
	ProfileMessaging ToolProfile = "messaging"
	ProfileFull      ToolProfile = "full"
)

// Values lists the valid words.
func (ToolProfile) Values() []string { return []string{"minimal", "coding", "messaging", "full"} }

// Visibility says which other sessions the session tools may see.
type Visibility string

// The visibility scopes, from narrow to wide.
const (
	VisibilitySelf  Visibility = "self"
	VisibilityTree  Visibility = "tree"
	VisibilityAgent Visibility = "agent"
	VisibilityAll   Visibility = "all"
)

// Values lists the valid words.
func (Visibility) Values() []string { return []string{"self", "tree", "agent", "all"} }

// DMPolicy says who may write to the bot directly.
type DMPolicy string

// The policies for direct messages.
const (
	DMPairing   DMPolicy = "pairing"
	DMAllowlist DMPolicy = "allowlist"
	DMOpen      DMPolicy = "open"
	DMDisabled  DMPolicy = "disabled"
)

// Values lists the valid words.
func (DMPolicy) Values() []string { return []string{"pairing", "allowlist", "open", "disabled"} }

// GroupPolicy says in which groups the bot listens.
type GroupPolicy string

// The policies for groups.
const (
	GroupAllowlist GroupPolicy = "allowlist"
	GroupOpen      GroupPolicy = "open"
	GroupDisabled  GroupPolicy = "disabled"
)

// Values lists the valid words.
func (GroupPolicy) Values() []string { return []string{"allowlist", "open", "disabled"} }

// BotPolicy says whether messages of other bots are heard. In the file it is
// written false, "mentions" or true.
type BotPolicy string

// The policies for other bots.
const (
	BotsNever    BotPolicy = "false"
	BotsMentions BotPolicy = "mentions"
	BotsAlways   BotPolicy = "true"
)

// Values lists the valid words.
func (BotPolicy) Values() []string { return []string{"false", "mentions", "true"} }

// MarshalJSON writes the booleans without quotes, as the file has them.
func (p BotPolicy) MarshalJSON() ([]byte, error) {
	if p == BotsMentions {
		return []byte(`"mentions"`), nil
	}
	return []byte(p), nil
}

// AutoJoin says which invitations a Matrix account accepts.
type AutoJoin string

// The auto-join policies.
const (
	AutoJoinOff       AutoJoin = "off"
	AutoJoinAllowlist AutoJoin = "allowlist"
	AutoJoinAlways    AutoJoin = "always"
)

// Values lists the valid words.
func (AutoJoin) Values() []string { return []string{"off", "allowlist", "always"} }

// ThreadReplies says when a Matrix account answers in a thread.
type ThreadReplies string

// The thread-reply policies.
const (
	ThreadRepliesOff     ThreadReplies = "off"
	ThreadRepliesInbound ThreadReplies = "inbound" // where the message was in one
	ThreadRepliesAlways  ThreadReplies = "always"
)

// Values lists the valid words.
func (ThreadReplies) Values() []string { return []string{"off", "inbound", "always"} }

// IMessageTransport names the bridge of an iMessage account.
type IMessageTransport string

// The iMessage transports.
const (
	TransportImsg        IMessageTransport = "imsg"        // a helper process, here or over ssh
	TransportBlueBubbles IMessageTransport = "bluebubbles" // a BlueBubbles server
)

// Values lists the valid words.
func (IMessageTransport) Values() []string { return []string{"imsg", "bluebubbles"} }

// Ambiguous says what happens to a message whose delivery cannot be known.
type Ambiguous string

// What to do with an ambiguous delivery.
const (
	AmbiguousResend Ambiguous = "resend"
	AmbiguousHold   Ambiguous = "hold"
)

// Values lists the valid words.
func (Ambiguous) Values() []string { return []string{"resend", "hold"} }

// Unauthorized says how a command of someone without the right is answered.
type Unauthorized string

// The answers to an unauthorised command.
const (
	UnauthorizedRefuse Unauthorized = "refuse" // one refusal an hour
	UnauthorizedSilent Unauthorized = "silent"
)

// Values lists the valid words.
func (Unauthorized) Values() []string { return []string{"refuse", "silent"} }

// LogLevel is the lowest level that is logged.
type LogLevel string

// The log levels.
const (
	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

// Values lists the valid words.
func (LogLevel) Values() []string { return []string{"debug", "info", "warn", "error"} }

// LogFormat is the form of a log line.
type LogFormat string

// The log formats.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// Values lists the valid words.
func (LogFormat) Values() []string { return []string{"text", "json"} }

// Sandbox is how far a plugin process is confined.
type Sandbox string

// The sandbox levels.
const (
	SandboxNone       Sandbox = "none"
	SandboxRestricted Sandbox = "restricted"
	SandboxStrict     Sandbox = "strict"
)

// Values lists the valid words.
func (Sandbox) Values() []string { return []string{"none", "restricted", "strict"} }

// PluginStart says when a plugin process is started.
type PluginStart string

// The plugin start modes.
const (
	StartLazy  PluginStart = "lazy"  // on first use
	StartEager PluginStart = "eager" // with the gateway
)

// Values lists the valid words.
func (PluginStart) Values() []string { return []string{"lazy", "eager"} }

// CatchUp says what happens to a scheduled run that was missed.
type CatchUp string

// The catch-up policies.
const (
	CatchUpSkip CatchUp = "skip" // logged as missed
	CatchUpOnce CatchUp = "once" // one late run, however many were missed
)

// Values lists the valid words.
func (CatchUp) Values() []string { return []string{"skip", "once"} }
