package config

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// DefaultAgentID is the agent that exists when none is configured.
const DefaultAgentID = "main"

func reflectValue(c *Config) reflect.Value { return reflect.ValueOf(c).Elem() }

// normalise fills in what follows from other keys.
func (c *Config) normalise(opts Options) {
	if len(c.Agents.Entries) == 0 && len(c.Agents.Projects) == 0 {
		a := Agent{}
		applyDefaults(Keys().Lookup("agents").Lookup("entries").Elem, reflect.ValueOf(&a).Elem())
		c.Agents.Entries = map[string]Agent{DefaultAgentID: a}
	}
	if len(c.Agents.Entries) == 1 {
		for id, a := range c.Agents.Entries {
			a.Default = true
			c.Agents.Entries[id] = a
		}
	}
	if path, ok := c.Store.URL.SQLitePath(); ok {
		c.Store.URL = StoreURL("sqlite:" + expandHome(path, opts))
	}
	for i, path := range c.Skills.Paths {
		c.Skills.Paths[i] = expandHome(path, opts)
	}
}

// expandHome replaces a leading ~.
func expandHome(path string, opts Options) string {
	home := opts.home()
	if home == "" || path != "~" && !strings.HasPrefix(path, "~/") {
		return path
	}
	return filepath.Join(home, path[1:])
}

// AgentIDs returns the ids of the configured agents, sorted.
func (c *Config) AgentIDs() []string { return slices.Sorted(maps.Keys(c.Agents.Entries)) }

// DefaultAgent returns the id of the agent for conversations without a route;
// "" only if all agents come from projects.
func (c *Config) DefaultAgent() string {
	for _, id := range c.AgentIDs() {
		if c.Agents.Entries[id].Default {
			return id
		}
	}
	return ""
}

// StateDir returns the folder of the socket, the locks and the files of the
// process: gateway.stateDir, else the folder of the SQLite file, else ~/.skein.
func (c *Config) StateDir() string {
	if c.Gateway.StateDir != "" {
		return c.Gateway.StateDir
	}
	if path, ok := c.Store.URL.SQLitePath(); ok && path != ":memory:" {
		return filepath.Dir(path)
	}
	return c.source.home
}
