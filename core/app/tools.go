package app

import (
	"context"
	"slices"
	"strings"

	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/words"
)

// Tools implements agent.Catalogue.
func (c catalogue) Tools(_ context.Context, s agent.Scope) (agent.Offer, error) {
	l, known := c.a.live(), c.a.knownTools()
	p := l.toolPolicy(s)
	set := p.Apply(known)
	offer := agent.Offer{Removed: set.Removed}
	for _, n := range set.Allowed {
		if t, ok := c.a.tools.Lookup(n); ok {
			offer.Tools = append(offer.Tools, t.Spec())
		}
	}
	if named := l.toolsNamed(s.Agent); len(offer.Tools) == 0 && p.WantsTools(named) {
		return offer, words.RefuseNoTools("no_tools", s.Agent, whyNoTools(slices.Concat(p.Agent.Allow, named), set))
	}
	return offer, nil
}

// toolsNamed is what an agent's own alsoAllow names.
func (l *snapshot) toolsNamed(id string) []string {
	set, _ := l.cfg.Agent(id)
	return set.Tools.AlsoAllow
}

// reasonsShown is how many missing tools an error speaks of.
const reasonsShown = 5

// whyNoTools says of the entries that an agent names what became of them.
func whyNoTools(named []string, set policy.Toolset) string {
	var why []string
	for _, entry := range named {
		found := false
		for _, r := range set.Removed {
			if policy.Names(entry, r.Tool) {
				why, found = append(why, r.String()), true
			}
		}
		if !found {
			why = append(why, words.English().ToolsUnknown(entry))
		}
	}
	if more := len(why) - reasonsShown; more > 0 {
		why = append(why[:reasonsShown], words.English().FitMore(more))
	}
	return strings.Join(why, "; ")
}

// knownTools are all tools, as the policy sees them.
func (a *App) knownTools() []policy.Tool {
	names := a.tools.Names()
	known := make([]policy.Tool, len(names))
	for i, n := range names {
		known[i] = policy.Tool{Name: n, Granted: slices.Contains(policy.GrantedTools(), n)}
	}
	return known
}

// toolPolicy collects everything that narrows the tools of a turn.
func (l *snapshot) toolPolicy(s agent.Scope) policy.ToolPolicy {
	global := l.cfg.Tools
	set, _ := l.cfg.Agent(s.Agent)
	p := policy.ToolPolicy{
		Profile: policy.Profile(global.Profile), AlsoAllow: slices.Concat(global.AlsoAllow, set.Tools.AlsoAllow),
		Provider: policy.ProviderRules(convert(global.ByProvider, rules), s.Model), Global: rules(global.ToolRules),
		Agent: rules(set.Tools.ToolRules), AgentProvider: policy.ProviderRules(convert(set.Tools.ByProvider, rules), s.Model),
	}
	if set.Tools.Profile != "" { // alsoAllow joins the profile of its own scope
		p.Profile, p.AlsoAllow = policy.Profile(set.Tools.Profile), set.Tools.AlsoAllow
	}
	var ceiling []string
	p.Place, p.Sender, ceiling = l.senderPolicy(s)
	if s.Session.Depth > 0 {
		p.Subagent = &policy.SubagentPolicy{
			Leaf:  s.Session.Depth >= set.Subagents.MaxSpawnDepth || s.Child != nil && s.Child.Role == "leaf",
			Rules: rules(global.Subagents.Tools), Ceiling: ceiling,
		}
	} else if ceiling != nil { // a conversation that another session sent a message
		p.Sender = append(p.Sender, policy.Rules{Allow: ceiling})
	}
	return p
}

// senderPolicy returns the rules of the place of a turn, and those of whoever
// is behind it: of a person who wrote, their own rules as they are now; of a
// run, the ceiling that its spawn left it. A run without a thread stands where
// it was asked for.
func (l *snapshot) senderPolicy(s agent.Scope) (place, sender []policy.Rules, ceiling []string) {
	at := s.Turn.ReplyTo
	if s.Child != nil && at.IsZero() {
		if at = s.Child.Spec.AskedAt; at.IsZero() {
			at = s.Child.Origin
		}
	}
	var bySender []map[string]policy.Rules
	if scope := policy.ParseScope(s.Turn.Policy); !scope.Direct {
		place, bySender = l.access(at.Channel, at.Account).ToolsAt(at, scope.Guild)
	}
	if !s.Person() {
		if s.Child != nil {
			ceiling = s.Child.Spec.ToolCeiling
		}
		return place, nil, ceiling
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
	_, sender, inherited := a.live().senderPolicy(s)
	return policy.SenderCeiling(a.knownTools(), inherited, sender)
}
