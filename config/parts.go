package config

import (
	"fmt"
	"slices"
)

// Part is something that keys exist for and that a build may lack.
type Part string

// The optional parts.
const (
	PartTelegram Part = "telegram"
	PartDiscord  Part = "discord"
	PartMatrix   Part = "matrix"
	PartIMessage Part = "imessage"
	PartWebChat  Part = "webchat"
	PartPlugins  Part = "plugins"
	PartSkills   Part = "skills"
	PartCron     Part = "cron"
	PartProjects Part = "projects"
	PartHTTP     Part = "http"
	PartDelegate Part = "delegate"
	PartApproval Part = "approval"
	PartPairing  Part = "pairing"
)

// Parts is the set of optional parts that a build has.
type Parts []Part

// AllParts returns every optional part.
func AllParts() Parts {
	return Parts{
		PartTelegram, PartDiscord, PartMatrix, PartIMessage, PartWebChat, PartPlugins, PartSkills, PartCron,
		PartProjects, PartHTTP, PartDelegate, PartApproval,
		PartPairing,
	}
}

// Has says whether the set holds a part.
func (p Parts) Has(part Part) bool { return slices.Contains(p, part) }

// use is a place where a configuration asks for an optional part.
type use struct {
	part Part
	path Path
}

// uses finds the places that ask for optional parts, in a fixed order.
func (c *Config) uses() []use {
	var found []use
	add := func(when bool, part Part, path ...string) {
		if when {
			found = append(found, use{part, path})
		}
	}
	for _, name := range c.Channels.Names() {
		add(name != "console", Part(name), "channels", name)
	}
	if console := c.Channels.Console; console != nil {
		add(console.DMPolicy == DMPairing, PartPairing, "channels", "console", "dmPolicy")
		for _, name := range console.AccountNames() {
			add(console.Accounts[name].DMPolicy == DMPairing, PartPairing, "channels", "console", "accounts", name, "dmPolicy")
		}
	}
	add(c.Gateway.HTTP != nil, PartHTTP, "gateway", "http")
	add(c.Gateway.PublicURL != "", PartHTTP, "gateway", "publicUrl")
	add(len(c.Plugins.Entries) > 0, PartPlugins, "plugins", "entries")
	add(c.source.tree.At("skills", "paths") != nil, PartSkills, "skills", "paths")
	add(len(c.Cron.Jobs) > 0, PartCron, "cron", "jobs")
	add(len(c.Agents.Projects) > 0, PartProjects, "agents", "projects")
	add(len(c.Tools.Approval.Require)+len(c.Tools.Approval.Approvers) > 0, PartApproval, "tools", "approval")
	for _, id := range c.AgentIDs() {
		a := c.Agents.Entries[id]
		add(len(a.Skills) > 0, PartSkills, "agents", "entries", id, "skills")
		add(a.Subagents.Delegate.Enabled, PartDelegate, "agents", "entries", id, "subagents", "delegate")
	}
	return found
}

// checkParts warns of every key whose part this build does not have, and
// remembers the places, whose secrets are then not needed.
func (d *decoder) checkParts(c *Config) {
	for _, u := range c.uses() {
		if d.opts.Built.Has(u.part) {
			continue
		}
		c.source.inactive = append(c.source.inactive, u.path.String())
		effect := "the key is checked and has no effect"
		if u.part == PartPairing {
			effect = "nobody can ask to be heard, only people of allowFrom are"
		}
		d.warn(c, u.path, fmt.Sprintf("not in this build: %s", u.part), effect)
	}
}
