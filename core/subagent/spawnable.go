package subagent

import (
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/words"
)

// Spawnable is an agent that may be started, with the model that it gets where
// the call names none.
type Spawnable struct {
	ID    string
	Model string // "<provider>/<model id>"
}

// Spawnable lists the agents that a session of an agent may start, that agent
// first, then by their ids; model is what /new chose for the session, "" for
// none. anyAgent is set where every configured agent may be named. An agent that
// is allowed but not configured is left out. agents_list shows it.
func (e *Engine) Spawnable(agent, model string) (agents []Spawnable, anyAgent bool) {
	set := e.Config.Subagents(agent)
	anyAgent = slices.Contains(set.AllowAgents, "*")
	ids := slices.Clone(set.AllowAgents)
	if anyAgent {
		ids = e.Config.Agents()
	}
	if !set.RequireAgentID || len(set.AllowAgents) == 0 {
		ids = append(ids, agent) // a spawn that names nobody starts it
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !e.Config.AgentKnown(id) })
	slices.SortFunc(ids, func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == agent:
			return -1
		case b == agent:
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, id := range slices.Compact(ids) {
		candidates := []string{set.Model, e.Config.Model(id), model, e.Config.Model(agent)}
		if id == agent {
			candidates = []string{set.Model, model, e.Config.Model(agent)}
		}
		agents = append(agents, Spawnable{id, e.firstKnown(candidates)})
	}
	return agents, anyAgent
}

// firstKnown returns the first model that can be resolved, "" for none.
func (e *Engine) firstKnown(refs []string) string {
	for _, ref := range refs {
		if ref != "" && e.Config.ModelKnown(ref) {
			return ref
		}
	}
	return ""
}

func (s *spawn) target(set Settings) (string, error) {
	if s.p.AgentID == "" {
		if set.RequireAgentID {
			return "", core.Errorf("agent_required", "agentId is required here").WithRemedy("name one of: %s", strings.Join(s.allowed(set), ", "))
		}
		return s.scope.Agent, nil
	}
	permitted := s.allowed(set)
	if !slices.Contains(permitted, s.p.AgentID) {
		named := slices.Contains(set.AllowAgents, s.p.AgentID)
		if (named || slices.Contains(set.AllowAgents, "*")) && !s.e.Config.AgentKnown(s.p.AgentID) {
			return "", forPeople(words.RefuseSpawnAgentUnknown("agent_unknown", s.p.AgentID, permitted),
				core.Errorf("agent_unknown", "the agent %q is allowed but not configured", s.p.AgentID).
					WithRemedy("use one of: %s; or an operator adds agents.entries.%s", strings.Join(permitted, ", "), s.p.AgentID))
		}
		return "", forPeople(words.RefuseSpawnAgentNotAllowed("agent_not_allowed", s.p.AgentID, permitted),
			core.Errorf("agent_not_allowed", "the agent %q may not be spawned from here", s.p.AgentID).
				WithRemedy("allowed: %s", strings.Join(permitted, ", ")))
	}
	return s.p.AgentID, nil
}

// allowed lists the agents that the requester may spawn and that are
// configured.
func (s *spawn) allowed(set Settings) []string {
	if len(set.AllowAgents) == 0 {
		return []string{s.scope.Agent}
	}
	var out []string
	if slices.Contains(set.AllowAgents, "*") {
		out = append(out, s.scope.Agent)
		for _, id := range s.e.Config.Agents() {
			if id != s.scope.Agent {
				out = append(out, id)
			}
		}
		return out
	}
	for _, id := range set.AllowAgents {
		if s.e.Config.AgentKnown(id) {
			out = append(out, id)
		}
	}
	return out
}
