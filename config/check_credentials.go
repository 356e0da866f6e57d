package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkCredentials checks the credentials of agents: each is for a provider that
// there is, and an isolated agent has one for every model that it asks.
func (d *decoder) checkCredentials(c *Config) {
	known := slices.Sorted(maps.Keys(c.Models.Providers))
	for _, id := range c.AgentIDs() {
		auth := c.Agents.Entries[id].Auth
		path := Path{"agents", "entries", id, "auth"}
		for _, name := range slices.Sorted(maps.Keys(auth.Providers)) {
			if slices.Contains(known, name) {
				continue
			}
			suggestion := "add models.providers." + name
			if near := nearestWord(name, known); near != "" {
				suggestion = "did you mean " + quote(near) + "?"
			}
			d.refuse(c, path.Child("providers").Child(name), "a credential for an unknown provider", suggestion)
		}
		if auth.Mode == AuthIsolated {
			d.checkIsolated(c, id, path, auth)
		}
	}
}

// checkIsolated refuses an isolated agent that could not ask one of its models:
// without a credential of its own it may not ask a provider that needs one.
func (d *decoder) checkIsolated(c *Config, id string, path Path, auth AgentAuth) {
	a, _ := c.Agent(id)
	said := map[string]bool{}
	for _, model := range slices.Concat([]string{a.Model}, a.Fallbacks, []string{a.Subagents.Model}) {
		name, _, _ := strings.Cut(model, "/")
		provider, known := c.Models.Providers[name]
		if !known || said[name] || provider.APIKey.IsZero() || !auth.Providers[name].APIKey.IsZero() {
			continue
		}
		said[name] = true
		d.refuse(c, path.Child("mode"), fmt.Sprintf("the agent is isolated and has no credential of its own for the model %q", model),
			fmt.Sprintf("add agents.entries.%s.auth.providers.%s.apiKey, or use mode \"overlay\"", id, name))
	}
}
