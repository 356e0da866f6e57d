package config

// Models holds the model providers.
type Models struct {
	// The providers by name; a model is written <provider>/<model id>.
	Providers map[string]Provider `json:"providers,omitzero" keys:"id"`
	// A model call without a token for this long has failed, in seconds; signs of life of the service prolong that up to five times.
	StallSeconds int `json:"stallSeconds" default:"60" min:"1" max:"3600"`
}

// Provider is one endpoint that serves models.
type Provider struct {
	// Protocol of the endpoint.
	Type ProviderType `json:"type" required:"true"`
	// Root of the API; unset: the vendor's.
	BaseURL string `json:"baseUrl,omitzero" format:"url"`
	// Credential of the endpoint.
	APIKey Secret `json:"apiKey,omitzero"`
	// What is known about its models.
	Models []Model `json:"models,omitzero"`
	// Rule file of a scripted provider.
	File string `json:"file,omitzero" format:"path"`
}

// Model describes one model of a provider.
type Model struct {
	// Id as the provider knows it.
	ID string `json:"id" required:"true"`
	// Size of the context window, in tokens.
	ContextTokens Optional[int] `json:"contextTokens,omitzero" min:"1000"`
	// Longest answer, in tokens, reasoning and all.
	MaxOutputTokens Optional[int] `json:"maxOutputTokens,omitzero" min:"1"`
	// Whether it takes pictures; unset: what is known of its name.
	Vision Optional[bool] `json:"vision,omitzero"`
	// Price; what is left out is unknown, not free.
	Cost Cost `json:"cost"`
}

// Cost is the price of a model in US dollars per million tokens. An absent
// price is unknown: sums that need it are shown as partial.
type Cost struct {
	// Tokens read.
	Input Optional[float64] `json:"input,omitzero" min:"0"`
	// Tokens written.
	Output Optional[float64] `json:"output,omitzero" min:"0"`
	// Tokens read from the provider's cache.
	CacheRead Optional[float64] `json:"cacheRead,omitzero" min:"0"`
	// Tokens written to the provider's cache.
	CacheWrite Optional[float64] `json:"cacheWrite,omitzero" min:"0"`
}

// Agents holds every agent of the installation.
type Agents struct {
	// What applies to every agent that does not say otherwise.
	Defaults AgentDefaults `json:"defaults"`
	// The agents by id. Without any, one agent "main" is made of the defaults.
	Entries map[string]Agent `json:"entries,omitzero" keys:"agentId"`
	// Folders of agent projects.
	Projects []string `json:"projects,omitzero" format:"path"`
}

// AgentDefaults applies to every agent that does not say otherwise.
type AgentDefaults struct {
	// Model, as <provider>/<model id>.
	Model string `json:"model,omitzero" format:"model"`
	// How much the model reasons.
	Thinking Thinking `json:"thinking" default:"off"`
	// Models to try, in order, when the first one fails; a model that failed is asked last, for as long as its service says or a minute.
	Fallbacks []string `json:"fallbacks,omitzero" format:"model"`
	// IANA time zone for dates in prompts; unset: the host's.
	Timezone string `json:"timezone,omitzero" format:"timezone"`
	// A turn ends after so many steps.
	MaxSteps int `json:"maxSteps" default:"50" min:"1" max:"1000"`
	// A turn ends after this time, in seconds; 0 for no limit. Sub-agents are not touched: theirs is subagents.runTimeoutSeconds.
	TimeoutSeconds int `json:"timeoutSeconds" default:"0" min:"0"`
	// How many turns of people, completions and schedules run at once, on each node.
	MaxConcurrent int `json:"maxConcurrent" default:"16" min:"1" max:"10000"`
	// Rules for sub-agents.
	Subagents SubagentDefaults `json:"subagents"`
	// Budget of a run with all its descendants.
	Limits Budget `json:"limits"`
}

// Agent is one agent. What it leaves out comes from agents.defaults.
type Agent struct {
	// Whether conversations without a route go here; exactly one agent is the default.
	Default bool `json:"default"`
	// Name for people; unset: the id.
	Name string `json:"name,omitzero"`
	// What it is good at, for agents that may start it.
	Description string `json:"description,omitzero"`
	// Model, as <provider>/<model id>.
	Model string `json:"model,omitzero" format:"model"`
	// How much the model reasons.
	Thinking Thinking `json:"thinking,omitzero"`
	// Models to try, in order, when the first one fails; [] for none.
	Fallbacks []string `json:"fallbacks,omitzero" format:"model"`
	// The system prompt: a file if it ends in .md (relative to the file it is written in), else the text itself.
	Instructions string `json:"instructions,omitzero" format:"instructions"`
	// Working directory of its tools.
	Workspace string `json:"workspace,omitzero" format:"path"`
	// IANA time zone for dates in prompts.
	Timezone string `json:"timezone,omitzero" format:"timezone"`
	// A turn ends after so many steps.
	MaxSteps Optional[int] `json:"maxSteps,omitzero" min:"1" max:"1000"`
	// A turn ends after this time, in seconds; 0 for no limit. Sub-agents are not touched.
	TimeoutSeconds Optional[int] `json:"timeoutSeconds,omitzero" min:"0"`
	// Its tools, narrower than the global ones.
	Tools AgentTools `json:"tools"`
	// Skills bound to it; "*" for all of the installation.
	Skills []string `json:"skills,omitzero"`
	// Rules for its sub-agents.
	Subagents AgentSubagents `json:"subagents"`
	// Budget of its runs with all their descendants.
	Limits Budget `json:"limits"`
	// Credentials of its own.
	Auth AgentAuth `json:"auth"`
}

// SubagentRules are the rules for sub-agents that an agent may override.
type SubagentRules struct {
	// How deep sub-agents may start sub-agents; 2 gives orchestrators.
	MaxSpawnDepth Optional[int] `json:"maxSpawnDepth,omitzero" default:"1" min:"1" max:"5"`
	// Live children of one session.
	MaxChildrenPerAgent Optional[int] `json:"maxChildrenPerAgent,omitzero" default:"5" min:"1" max:"20"`
	// Live runs of a whole tree, delegations included; 0 for no limit.
	MaxTreeRuns Optional[int] `json:"maxTreeRuns,omitzero" default:"16" min:"0"`
	// A child ends after this time, in seconds; 0 for no limit. A call may only shorten it.
	RunTimeoutSeconds Optional[int] `json:"runTimeoutSeconds,omitzero" default:"0" min:"0"`
	// How long a requester's turn may take to start on a completion, in milliseconds.
	AnnounceTimeoutMs Optional[int] `json:"announceTimeoutMs,omitzero" default:"120000" min:"1000"`
	// A finished child's session is archived after this time, in minutes; 0 for never.
	ArchiveAfterMinutes Optional[int] `json:"archiveAfterMinutes,omitzero" default:"60" min:"0"`
	// A history longer than this is not forked, in tokens.
	ForkMaxTokens Optional[int] `json:"forkMaxTokens,omitzero" default:"100000" min:"0"`
	// Other agents that may be started; "*" for all. Unset or empty: only the agent itself.
	AllowAgents []string `json:"allowAgents,omitzero" format:"agentIdOrAll"`
	// Whether a spawn must name its agent.
	RequireAgentID Optional[bool] `json:"requireAgentId,omitzero" default:"false"`
	// How strongly the prompt recommends sub-agents.
	DelegationMode DelegationMode `json:"delegationMode,omitzero" default:"suggest"`
	// Model of sub-agents, as <provider>/<model id>; empty: the caller's.
	Model string `json:"model,omitzero" format:"model"`
	// How much the model of sub-agents reasons; empty: as the caller's.
	Thinking Thinking `json:"thinking,omitzero"`
}

// SubagentDefaults is agents.defaults.subagents.
type SubagentDefaults struct {
	SubagentRules
	// Sub-agent runs at once, on each node; more are queued.
	MaxConcurrent int `json:"maxConcurrent" default:"8" min:"1" max:"10000"`
}

// AgentSubagents is agents.entries.<id>.subagents.
type AgentSubagents struct {
	SubagentRules
	// Synchronous delegation to a bounded copy of the agent.
	Delegate Delegate `json:"delegate"`
}

// Delegate configures the delegate tool.
type Delegate struct {
	// Whether the agent has the tool.
	Enabled bool `json:"enabled" default:"false"`
	// Tools that a delegate never gets.
	BlockedTools []string `json:"blockedTools,omitzero"`
	// Model of delegates, as <provider>/<model id>; empty: the parent's.
	Model string `json:"model,omitzero" format:"model"`
	// How deep delegates may delegate.
	MaxDepth int `json:"maxDepth" default:"1" min:"1" max:"3"`
	// Delegates of one run tree.
	MaxRuns int `json:"maxRuns" default:"8" min:"1" max:"16"`
}

// Budget bounds a run with all its descendants. Zero switches a limit off.
type Budget struct {
	// Tokens of one tree; 0 for no limit.
	MaxTokens Optional[int64] `json:"maxTokens,omitzero" default:"0" min:"0"`
	// US dollars of one tree; 0 for no limit.
	MaxUSD Optional[float64] `json:"maxUsd,omitzero" default:"0" min:"0"`
	// US dollars of an agent in a day; 0 for no limit.
	PerDayUSD Optional[float64] `json:"perDayUsd,omitzero" default:"0" min:"0"`
}

// AgentAuth holds an agent's own credentials.
type AgentAuth struct {
	// Whether the shared credentials are a fallback.
	Mode AuthMode `json:"mode" default:"overlay"`
	// Credentials by provider name.
	Providers map[string]ProviderAuth `json:"providers,omitzero" keys:"id"`
}

// ProviderAuth is a credential for one provider.
type ProviderAuth struct {
	// Credential of the endpoint.
	APIKey Secret `json:"apiKey,omitzero"`
}

// Route sends conversations that match to an agent.
type Route struct {
	// The agent.
	AgentID string `json:"agentId" required:"true" format:"agentId"`
	// What must hold; all given fields must match.
	Match Match `json:"match" required:"true"`
}

// Match is the condition of a route.
type Match struct {
	// Channel name.
	Channel string `json:"channel" required:"true" format:"channel"`
	// Account of the channel; "*" for any.
	AccountID string `json:"accountId" default:"default"`
	// A direct chat or a group.
	Peer *Peer `json:"peer,omitzero"`
	// Guild (server) id.
	GuildID string `json:"guildId,omitzero"`
	// Role ids of which the sender has one; needs guildId.
	Roles []string `json:"roles,omitzero"`
	// Team id.
	TeamID string `json:"teamId,omitzero"`
}

// Peer names a direct chat or a group.
type Peer struct {
	// Which of the two.
	Kind PeerKind `json:"kind" required:"true"`
	// Id of the person or of the conversation.
	ID string `json:"id" required:"true"`
}

// PeerKind is the sort of a peer.
type PeerKind string

// The kinds of peers.
const (
	PeerDirect PeerKind = "direct"
	PeerGroup  PeerKind = "group"
)

// Values lists the valid words.
func (PeerKind) Values() []string { return []string{"direct", "group"} }
