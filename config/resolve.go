package config

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// AgentSettings is everything that applies to one agent, defaults included.
type AgentSettings struct {
	ID          string
	Name        string // for people; the id if none was given
	Description string
	Default     bool
	Model       string // <provider>/<model id>; "" if none is configured
	Thinking    Thinking
	Fallbacks   []string
	Workspace   string // "" for none
	Timezone    string // IANA name; "" for the host's
	MaxSteps    int
	TurnTimeout time.Duration // 0 for no limit
	Tools       AgentTools
	Skills      []string
	Subagents   SubagentSettings
	Delegate    Delegate
	Limits      BudgetLimits
	Auth        AgentAuth
}

// SubagentSettings are the rules for the sub-agents of one agent. Zero
// switches a limit off where that is possible.
type SubagentSettings struct {
	MaxSpawnDepth       int
	MaxChildrenPerAgent int
	MaxTreeRuns         int           // 0 for no limit
	RunTimeout          time.Duration // 0 for no limit
	AnnounceTimeout     time.Duration
	ArchiveAfter        time.Duration // 0 for never
	ForkMaxTokens       int
	AllowAgents         []string
	RequireAgentID      bool
	DelegationMode      DelegationMode
	Model               string   // "" for the caller's
	Thinking            Thinking // "" for the caller's
}

// BudgetLimits is a resolved Budget; 0 switches a limit off.
type BudgetLimits struct {
	MaxTokens int64
	MaxUSD    float64
	PerDayUSD float64
}

// ErrUnknownAgent is returned for an id that no agent has.
var ErrUnknownAgent = errors.New("unknown agent")

// Agent returns what applies to an agent; ok is false if it is not configured.
func (c *Config) Agent(id string) (settings AgentSettings, ok bool) {
	a, ok := c.Agents.Entries[id]
	if !ok {
		return AgentSettings{}, false
	}
	def := c.Agents.Defaults
	return AgentSettings{
		ID: id, Name: nearestText(a.Name, id), Description: a.Description, Default: a.Default,
		Model: nearestText(a.Model, def.Model), Thinking: nearestText(a.Thinking, def.Thinking),
		Fallbacks: nearestList(a.Fallbacks, def.Fallbacks),
		Workspace: a.Workspace, Timezone: nearestText(a.Timezone, def.Timezone),
		MaxSteps:    a.MaxSteps.Or(def.MaxSteps),
		TurnTimeout: seconds(a.TimeoutSeconds.Or(def.TimeoutSeconds)),
		Tools:       a.Tools, Skills: a.Skills,
		Subagents: mergeSubagentRules(a.Subagents.SubagentRules, def.Subagents.SubagentRules),
		Delegate:  a.Subagents.Delegate,
		Limits:    mergeBudgets(a.Limits, def.Limits),
		Auth:      a.Auth,
	}, true
}

// builtins are the defaults of everything that is resolved nearest-first.
var builtins = sync.OnceValue(func() (b struct {
	subagents SubagentRules
	budget    Budget
	bindings  ThreadBindings
	queue     Queue
	limits    UserLimits
	reset     Reset
	access    Access
}) {
	b.subagents = builtin[SubagentRules]()
	b.budget = builtin[Budget]()
	b.bindings = builtin[ThreadBindings]()
	b.queue = builtin[Queue]()
	b.limits = builtin[UserLimits]()
	b.reset = builtin[Reset]()
	b.access = builtin[Access]()
	return b
})

// mergeSubagentRules resolves rules, the nearest first.
func mergeSubagentRules(near, far SubagentRules) SubagentSettings {
	b := builtins().subagents
	return SubagentSettings{
		MaxSpawnDepth:       nearest(0, near.MaxSpawnDepth, far.MaxSpawnDepth, b.MaxSpawnDepth),
		MaxChildrenPerAgent: nearest(0, near.MaxChildrenPerAgent, far.MaxChildrenPerAgent, b.MaxChildrenPerAgent),
		MaxTreeRuns:         nearest(0, near.MaxTreeRuns, far.MaxTreeRuns, b.MaxTreeRuns),
		RunTimeout:          seconds(nearest(0, near.RunTimeoutSeconds, far.RunTimeoutSeconds, b.RunTimeoutSeconds)),
		AnnounceTimeout:     time.Duration(nearest(0, near.AnnounceTimeoutMs, far.AnnounceTimeoutMs, b.AnnounceTimeoutMs)) * time.Millisecond,
		ArchiveAfter:        time.Duration(nearest(0, near.ArchiveAfterMinutes, far.ArchiveAfterMinutes, b.ArchiveAfterMinutes)) * time.Minute,
		ForkMaxTokens:       nearest(0, near.ForkMaxTokens, far.ForkMaxTokens, b.ForkMaxTokens),
		AllowAgents:         nearestList(near.AllowAgents, far.AllowAgents),
		RequireAgentID:      nearest(false, near.RequireAgentID, far.RequireAgentID, b.RequireAgentID),
		DelegationMode:      nearestText(near.DelegationMode, far.DelegationMode, b.DelegationMode),
		Model:               nearestText(near.Model, far.Model),
		Thinking:            nearestText(near.Thinking, far.Thinking),
	}
}

func mergeBudgets(near, far Budget) BudgetLimits {
	return BudgetLimits{
		MaxTokens: nearest(0, near.MaxTokens, far.MaxTokens),
		MaxUSD:    nearest(0, near.MaxUSD, far.MaxUSD),
		PerDayUSD: nearest(0, near.PerDayUSD, far.PerDayUSD),
	}
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// Instructions returns the system prompt of an agent: the text itself, or the
// content of the file that it names. It reads the file anew at each call.
func (c *Config) Instructions(id string, opts Options) (string, error) {
	a, ok := c.Agents.Entries[id]
	if !ok {
		return "", fmt.Errorf("%w %q", ErrUnknownAgent, id)
	}
	if !IsInstructionsFile(a.Instructions) {
		return a.Instructions, nil
	}
	content, err := opts.readFile()(a.Instructions)
	if err != nil {
		return "", fmt.Errorf("the instructions of %s cannot be read: %w", id, err)
	}
	return string(content), nil
}

// IsInstructionsFile says whether instructions are the name of a file rather
// than the text itself: one line that ends in .md.
func IsInstructionsFile(s string) bool {
	return strings.HasSuffix(s, ".md") && !strings.ContainsAny(s, "\r\n")
}

// Model looks a model up. Info is empty, but for the id, if the provider does
// not describe the model; ok is false if there is no such provider.
func (c *Config) Model(name string) (providerName string, provider Provider, info Model, ok bool) {
	providerName, id, _ := strings.Cut(name, "/")
	provider, ok = c.Models.Providers[providerName]
	info.ID = id
	for _, m := range provider.Models {
		if m.ID == id {
			info = m
		}
	}
	return providerName, provider, info, ok
}
