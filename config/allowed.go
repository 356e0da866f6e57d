package config

import (
	"encoding/json"
	"slices"
)

// Allowance is a key with agents that may be started, some of which are not
// configured.
type Allowance struct {
	// Path is the key, as Set takes it.
	Path string
	// Unknown are the agents that are not configured.
	Unknown []string
	// Rest is what is left without them, as Set takes it. An empty list allows
	// an agent only itself.
	Rest string
}

// UnknownAllowances returns the keys allowAgents that name agents which are not
// configured. With projects the agents are not all known, and there are none.
func (c *Config) UnknownAllowances() (out []Allowance) {
	if len(c.Agents.Projects) > 0 {
		return nil
	}
	look := func(path Path, allowed []string) {
		var unknown []string
		rest := []string{}
		for _, id := range allowed {
			if _, ok := c.Agents.Entries[id]; ok || id == "*" {
				rest = append(rest, id)
			} else {
				unknown = append(unknown, id)
			}
		}
		if len(unknown) == 0 {
			return
		}
		text, err := json.Marshal(rest)
		if err == nil { // strings always can be
			out = append(out, Allowance{Path: path.String(), Unknown: slices.Compact(unknown), Rest: string(text)})
		}
	}
	look(Path{"agents", "defaults", "subagents", "allowAgents"}, c.Agents.Defaults.Subagents.AllowAgents)
	for _, id := range c.AgentIDs() {
		look(Path{"agents", "entries", id, "subagents", "allowAgents"}, c.Agents.Entries[id].Subagents.AllowAgents)
	}
	return out
}
