package config

import "github.com/skein-bot/skein/config/json5"

// ToolRules narrows a set of tools: allow keeps only what it names, deny takes
// away and wins. Names may be patterns with *.
type ToolRules struct {
	// Only these; unset: all.
	Allow []string `json:"allow,omitzero" format:"tool"`
	// Never these.
	Deny []string `json:"deny,omitzero" format:"tool"`
}

// Tools says which tools agents have. Every later stage only narrows.
type Tools struct {
	// The base set; unset: full.
	Profile ToolProfile `json:"profile" default:"full"`
	// Tools that join the profile; not together with allow.
	AlsoAllow []string `json:"alsoAllow,omitzero" format:"tool"`
	ToolRules
	// Rules by model provider, or by model as <provider>/<model id>.
	ByProvider map[string]ToolRules `json:"byProvider,omitzero" keys:"providerOrModel"`
	// What sub-agents may have, beyond what they always lose.
	Subagents SubagentTools `json:"subagents"`
	// The session tools.
	Sessions SessionTools `json:"sessions"`
	// The tool that starts sub-agents.
	SessionsSpawn SpawnTool `json:"sessions_spawn"`
	// Which calls a person must approve.
	Approval Approval `json:"approval"`
	// Deadline of a tool call, in seconds.
	TimeoutSeconds int `json:"timeoutSeconds" default:"120" min:"1"`
}

// AgentTools narrows the tools of one agent.
type AgentTools struct {
	// The base set; unset: tools.profile.
	Profile ToolProfile `json:"profile,omitzero"`
	// Tools that join the profile; not together with allow.
	AlsoAllow []string `json:"alsoAllow,omitzero" format:"tool"`
	ToolRules
	// Rules by model provider, or by model as <provider>/<model id>.
	ByProvider map[string]ToolRules `json:"byProvider,omitzero" keys:"providerOrModel"`
}

// SubagentTools narrows the tools of sub-agents.
type SubagentTools struct {
	// Narrows further; brings nothing back.
	Tools ToolRules `json:"tools"`
}

// SessionTools configures the tools that look at other sessions.
type SessionTools struct {
	// Which sessions they see.
	Visibility Visibility `json:"visibility" default:"tree"`
}

// SpawnTool configures sessions_spawn.
type SpawnTool struct {
	// Folders outside the workspaces in which sub-agents may work too.
	Directories []string `json:"directories,omitzero" format:"path"`
	// Files that a spawn may hand to the child.
	Attachments Attachments `json:"attachments"`
}

// Attachments bounds the files handed to a child.
type Attachments struct {
	// Whether files may be handed over.
	Enabled bool `json:"enabled" default:"false"`
	// Number of files.
	MaxFiles int `json:"maxFiles" default:"50" min:"1" max:"1000"`
	// Size of one file, in bytes.
	MaxFileBytes int64 `json:"maxFileBytes" default:"1048576" min:"1"`
	// Size of all files, in bytes.
	MaxTotalBytes int64 `json:"maxTotalBytes" default:"5242880" min:"1"`
}

// Approval says which tool calls a person must approve.
type Approval struct {
	// Tools that need approval, beside those that ask for it themselves; names may be patterns with *.
	Require []string `json:"require,omitzero" format:"tool"`
	// People who may answer, as <channel>:<user id>; unset: the owners and the person who asked.
	Approvers []string `json:"approvers,omitzero" format:"sender"`
	// No answer within this time is a denial, in minutes.
	ApprovalTimeoutMinutes int `json:"approvalTimeoutMinutes" default:"30" min:"1"`
}

// Plugins holds the tool plugins.
type Plugins struct {
	// The plugins by name.
	Entries map[string]Plugin `json:"entries,omitzero" keys:"id"`
}

// Plugin is one tool provider in a process of its own.
type Plugin struct {
	// Whether it is used.
	Enabled bool `json:"enabled" default:"true"`
	// Program to start; skein:files, skein:shell and skein:web are built in.
	Command string `json:"command" required:"true"`
	// Its arguments.
	Args []string `json:"args,omitzero"`
	// Its environment; nothing else is inherited.
	Env map[string]string `json:"env,omitzero"`
	// Its own configuration, checked against its schema.
	Config *json5.Node `json:"config,omitzero"`
	// Secrets it declares, by name; never in its arguments or environment.
	Secrets map[string]Secret `json:"secrets,omitzero"`
	// Which of its tools are offered, and under which names.
	Tools PluginTools `json:"tools"`
	// How far it is confined; unset: restricted where the system can.
	Sandbox Sandbox `json:"sandbox,omitzero"`
	// SHA-256 that the program must have, in hexadecimal.
	SHA256 string `json:"sha256,omitzero" format:"sha256"`
	// When the process is started.
	Start PluginStart `json:"start" default:"lazy"`
	// An unused process is stopped after this time, in minutes; 0 for never.
	IdleStopMinutes int `json:"idleStopMinutes" default:"10" min:"0"`
	// Limits of the process.
	Limits PluginLimits `json:"limits"`
}

// PluginTools chooses among the tools of a plugin.
type PluginTools struct {
	ToolRules
	// New names by old name.
	Rename map[string]string `json:"rename,omitzero"`
}

// PluginLimits bounds a plugin process.
type PluginLimits struct {
	// Memory, in MiB; 0 for no limit.
	MemoryMb int `json:"memoryMb" default:"0" min:"0"`
	// Processors, fractions allowed; 0 for no limit.
	CPUs float64 `json:"cpus" default:"0" min:"0"`
	// Deadline of a call, in seconds; unset: tools.timeoutSeconds.
	TimeoutSeconds Optional[int] `json:"timeoutSeconds,omitzero" min:"1"`
	// Output of a call, in bytes; more is kept in a file.
	MaxOutputBytes int64 `json:"maxOutputBytes" default:"1048576" min:"1024"`
}

// Skills holds the skills of the installation.
type Skills struct {
	// Folders with one skill in each sub-folder.
	Paths []string `json:"paths,omitzero" default:"~/.skein/skills" format:"path"`
}

// Cron holds the scheduled jobs.
type Cron struct {
	// The jobs by name.
	Jobs map[string]CronJob `json:"jobs,omitzero" keys:"id"`
}

// CronJob is one scheduled run.
type CronJob struct {
	// Whether it runs.
	Enabled bool `json:"enabled" default:"true"`
	// The agent; unset: the default agent.
	Agent string `json:"agent,omitzero" format:"agentId"`
	// When, as five cron fields.
	Cron string `json:"cron" required:"true"`
	// IANA time zone of the fields; unset: the agent's.
	Timezone string `json:"timezone,omitzero" format:"timezone"`
	// What the agent is told.
	Message string `json:"message" required:"true"`
	// Address that gets the answer; unset: none.
	Deliver string `json:"deliver,omitzero" format:"address"`
	// What happens after a missed run.
	CatchUp CatchUp `json:"catchUp" default:"once"`
}
