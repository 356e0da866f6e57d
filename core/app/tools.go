package app

import (
	"context"
	"strings"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/policy"
)

// Tools implements agent.Catalogue.
func (c catalogue) Tools(_ context.Context, s agent.Scope) []core.ToolSpec {
	var out []core.ToolSpec
	for _, n := range c.a.toolPolicy(s).Apply(c.a.knownTools()).Allowed {
		if t, ok := c.a.tools.Lookup(n); ok {
			out = append(out, t.Spec())
		}
	}
	return out
}

// knownTools are all tools, as the policy sees them.
func (a *App) knownTools() []policy.Tool {
	names := a.tools.Names()
	known := make([]policy.Tool, len(names))
	for i, n := range names {
		known[i] = policy.Tool{Name: n}
	}
	return known
}

// toolPolicy collects everything that narrows the tools of a turn.
func (a *App) toolPolicy(s agent.Scope) policy.ToolPolicy {
	cfg := a.live().cfg
	set, _ := cfg.Agent(s.Agent)
	provider, _, _ := strings.Cut(s.Model, "/")
	p := policy.ToolPolicy{
		Profile: policy.Profile(cfg.Tools.Profile), AlsoAllow: cfg.Tools.AlsoAllow,
		Provider: rules(cfg.Tools.ByProvider[provider]), Global: rules(cfg.Tools.ToolRules),
		Agent: rules(set.Tools.ToolRules), AgentProvider: rules(set.Tools.ByProvider[provider]),
	}
	if set.Tools.Profile != "" {
		p.Profile, p.AlsoAllow = policy.Profile(set.Tools.Profile), set.Tools.AlsoAllow
	}
	var ceiling []string
	p.Place, p.Sender, ceiling = a.senderPolicy(s)
	if s.Session.Depth > 0 {
		p.Subagent = a.subagentPolicy(s, set, cfg.Tools.Subagents.Tools)
		p.Subagent.Ceiling = ceiling
	}
	return p
}

func (a *App) subagentPolicy(s agent.Scope, set config.AgentSettings, sub config.ToolRules) *policy.SubagentPolicy {
	leaf := s.Session.Depth >= set.Subagents.MaxSpawnDepth || s.Run != nil && s.Run.Role == "leaf"
	return &policy.SubagentPolicy{Leaf: leaf, Rules: rules(sub)}
}

// senderPolicy returns the rules of the place of a turn, and those of whoever
// is behind it: of a person who wrote, their own rules as they are now; of a
// run, the ceiling that its spawn left it. A run without a thread stands where
// it was asked for.
func (a *App) senderPolicy(s agent.Scope) (place, sender []policy.Rules, ceiling []string) {
	at := s.Turn.ReplyTo
	if at.IsZero() && s.Run != nil {
		at = s.Run.Origin
	}
	var bySender []map[string]policy.Rules
	if scope := policy.ParseScope(s.Turn.Policy); !scope.Direct {
		place, bySender = a.live().access(at.Channel, at.Account).ToolsAt(at, scope.Guild)
	}
	if !s.Person() {
		return place, nil, s.Run.Spec.ToolCeiling
	}
	if len(bySender) > 0 {
		channel, id, _ := strings.Cut(s.Turn.Owner, ":")
		sender = policy.SenderRules(bySender, channel, id)
	}
	return place, sender, nil
}

// ceiling returns what the sender policy of a turn leaves of all tools, nil for
// no ceiling.
func (a *App) ceiling(s agent.Scope) []string {
	_, sender, inherited := a.senderPolicy(s)
	return policy.SenderCeiling(a.knownTools(), inherited, sender)
}
