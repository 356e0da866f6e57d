package subagent

import (
	"slices"
	"strings"
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
