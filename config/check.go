package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// check finds what is wrong between keys, each of which may be right by itself.
func (d *decoder) check(c *Config) {
	d.decoded = len(d.problems) == 0
	d.checkDefaultAgent(c)
	d.checkParts(c)
	d.markDisabled(c)
	for _, m := range c.modelUses() {
		d.checkModel(c, m)
	}
	d.checkRules(c)
	d.checkAgents(c)
	d.checkPrices(c)
	d.checkCredentials(c)
	d.checkTools(c)
	d.checkRoutes(c)
	d.checkAgentNames(c)
	d.checkChannels(c)
	d.checkSharedHistory(c)
	d.checkGateway(c)
}

// checkDefaultAgent makes sure that there is exactly one default agent.
func (d *decoder) checkDefaultAgent(c *Config) {
	var defaults []string
	for _, id := range c.AgentIDs() {
		if c.Agents.Entries[id].Default {
			defaults = append(defaults, id)
		}
	}
	switch {
	case len(defaults) == 0 && len(c.Agents.Entries) > 0 && len(c.Agents.Projects) == 0:
		d.refuse(c, Path{"agents", "entries"}, "none of several agents is the default", "add default: true to one of "+strings.Join(c.AgentIDs(), ", "))
	case len(defaults) > 1:
		d.refuse(c, Path{"agents", "entries", defaults[1], "default"}, "only one agent can be the default, and "+defaults[0]+" is already", "remove one default: true")
	}
}

// markDisabled remembers what is switched off, so that its secrets are not
// asked for.
func (d *decoder) markDisabled(c *Config) {
	off := func(path ...string) { c.source.inactive = append(c.source.inactive, Path(path).String()) }
	for _, name := range c.Channels.Names() {
		channel, _ := c.Channels.Get(name)
		if !channel.IsEnabled() {
			off("channels", name)
		}
		for _, account := range channel.AccountNames() {
			if !channel.Account(account).Enabled {
				off("channels", name, "accounts", account)
			}
		}
	}
	for name, plugin := range c.Plugins.Entries {
		if !plugin.Enabled {
			off("plugins", "entries", name)
		}
	}
	slices.Sort(c.source.inactive)
}

// modelUse is a place that names a model.
type modelUse struct {
	path  Path
	model string
}

func (c *Config) modelUses() []modelUse {
	var found []modelUse
	add := func(model string, path ...string) {
		if model != "" {
			found = append(found, modelUse{path, model})
		}
	}
	list := func(models []string, path ...string) {
		for i, m := range models {
			add(m, append(path[:len(path):len(path)], fmt.Sprintf("[%d]", i))...)
		}
	}
	add(c.Agents.Defaults.Model, "agents", "defaults", "model")
	list(c.Agents.Defaults.Fallbacks, "agents", "defaults", "fallbacks")
	add(c.Agents.Defaults.Subagents.Model, "agents", "defaults", "subagents", "model")
	for _, id := range c.AgentIDs() {
		a := c.Agents.Entries[id]
		add(a.Model, "agents", "entries", id, "model")
		list(a.Fallbacks, "agents", "entries", id, "fallbacks")
		add(a.Subagents.Model, "agents", "entries", id, "subagents", "model")
		add(a.Subagents.Delegate.Model, "agents", "entries", id, "subagents", "delegate", "model")
	}
	return found
}

func (d *decoder) checkModel(c *Config, use modelUse) {
	name, id, ok := strings.Cut(use.model, "/")
	if !ok {
		return // the format was refused already
	}
	provider, ok := c.Models.Providers[name]
	if !ok {
		names := slices.Sorted(maps.Keys(c.Models.Providers))
		suggestion := "add models.providers." + name
		if near := nearestWord(name, names); near != "" {
			suggestion = "did you mean " + quote(near+"/"+id) + "?"
		} else if len(names) > 0 {
			suggestion += ", or use one of " + strings.Join(names, ", ")
		}
		d.refuse(c, use.path, fmt.Sprintf("the model %q names an unknown provider", use.model), suggestion)
		return
	}
	if provider.Type == ProviderScripted || len(provider.Models) == 0 {
		return
	}
	ids := make([]string, len(provider.Models))
	for i, m := range provider.Models {
		ids[i] = m.ID
	}
	if slices.Contains(ids, id) {
		return
	}
	suggestion := "add it to models.providers." + name + ".models"
	if near := nearestWord(id, ids); near != "" {
		suggestion = "did you mean " + quote(name+"/"+near) + "?"
	}
	d.warn(c, use.path, fmt.Sprintf("the model %q is not described, so its context window and price are unknown", use.model), suggestion)
}

// checkRules warns of scripted providers whose file of rules is not there; the
// gateway would not start.
func (d *decoder) checkRules(c *Config) {
	if !isFile(c.Path()) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models.Providers)) {
		if p := c.Models.Providers[name]; p.Type == ProviderScripted && p.File != "" {
			if _, err := d.opts.readFile()(p.File); err != nil {
				d.warn(c, Path{"models", "providers", name, "file"}, fmt.Sprintf("the rules of the scripted model cannot be read: %v", err), "write that file, or name another; without it the gateway does not start")
			}
		}
	}
}

// checkAgents checks what each agent needs and what its sub-agents may do.
func (d *decoder) checkAgents(c *Config) {
	d.checkTreeRuns(c, Path{"agents", "defaults", "subagents"}, c.Agents.Defaults.Subagents.SubagentRules, SubagentRules{})
	for _, id := range c.AgentIDs() {
		a, _ := c.Agent(id)
		path := Path{"agents", "entries", id}
		if a.Model == "" && d.decoded {
			d.warn(c, path, "this agent has no model", "set agents.defaults.model")
		}
		entry := c.Agents.Entries[id]
		d.checkTreeRuns(c, path.Child("subagents"), entry.Subagents.SubagentRules, c.Agents.Defaults.Subagents.SubagentRules)
		if _, err := c.Instructions(id, d.opts); err != nil && isFile(c.Path()) {
			d.warn(c, path.Child("instructions"), err.Error(), "write that file, or name another")
		}
	}
}

// checkTools refuses an allow beside an alsoAllow: one says what there is alone,
// the other what there is besides. It warns of rules for a provider that there
// is not, which forbid nothing.
func (d *decoder) checkTools(c *Config) {
	scope := func(path Path, allow, alsoAllow []string, byProvider map[string]ToolRules) {
		if allow != nil && len(alsoAllow) > 0 {
			d.refuse(c, path.Child("alsoAllow"), "allow and alsoAllow cannot both be set here: allow keeps only what it names",
				"name everything in allow, or keep alsoAllow and choose a profile")
		}
		for _, key := range slices.Sorted(maps.Keys(byProvider)) {
			name, _, _ := strings.Cut(key, "/")
			if _, ok := c.Models.Providers[name]; !ok && len(c.Models.Providers) > 0 {
				d.warn(c, path.Child("byProvider").Child(key), fmt.Sprintf("there is no provider %q, so these rules never apply", name),
					"providers are "+strings.Join(slices.Sorted(maps.Keys(c.Models.Providers)), ", "))
			}
		}
	}
	scope(Path{"tools"}, c.Tools.Allow, c.Tools.AlsoAllow, c.Tools.ByProvider)
	for _, id := range c.AgentIDs() {
		t := c.Agents.Entries[id].Tools
		scope(Path{"agents", "entries", id, "tools"}, t.Allow, t.AlsoAllow, t.ByProvider)
	}
}

// checkTreeRuns warns where a tree cannot hold the children of one agent. It
// speaks once, where one of the two limits is set.
func (d *decoder) checkTreeRuns(c *Config, path Path, own, wider SubagentRules) {
	if !own.MaxTreeRuns.IsSet() && !own.MaxChildrenPerAgent.IsSet() {
		return
	}
	rules := mergeSubagentRules(own, wider)
	if rules.MaxTreeRuns > 0 && rules.MaxTreeRuns < rules.MaxChildrenPerAgent {
		key := "maxTreeRuns"
		if !own.MaxTreeRuns.IsSet() {
			key = "maxChildrenPerAgent"
		}
		d.warn(c, path.Child(key),
			fmt.Sprintf("a tree of %d runs cannot hold the %d children that one agent may have", rules.MaxTreeRuns, rules.MaxChildrenPerAgent),
			fmt.Sprintf("set maxTreeRuns to at least %d, or to 0 for no limit", rules.MaxChildrenPerAgent))
	}
}

// checkRoutes checks that routes lead somewhere.
func (d *decoder) checkRoutes(c *Config) {
	for i, route := range c.Routes {
		path := Path{"routes", fmt.Sprintf("[%d]", i)}
		d.checkAgentName(c, route.AgentID, path.Child("agentId"))
		match := path.Child("match")
		if len(route.Match.Roles) > 0 && route.Match.GuildID == "" {
			d.refuse(c, match.Child("roles"), "roles belong to a guild, and no guildId is given", "add guildId")
		}
		channel, ok := c.Channels.Get(route.Match.Channel)
		switch account := route.Match.AccountID; {
		case !ok:
			if route.Match.Channel != "" {
				d.warn(c, match.Child("channel"), "the channel "+route.Match.Channel+" is not configured, so this route never matches", "")
			}
		case account != "*" && channel.Account(account) == nil:
			d.warn(c, match.Child("accountId"), fmt.Sprintf("the channel %s has no account %q, so this route never matches", route.Match.Channel, account),
				`accounts are `+strings.Join(channel.AccountNames(), ", ")+`; "*" matches any`)
		}
	}
}
