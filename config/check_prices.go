package config

import (
	"fmt"
	"slices"
)

// checkPrices warns of money limits that cannot hold: what a model without a
// price uses costs nothing that could be counted.
func (d *decoder) checkPrices(c *Config) {
	said := map[string]bool{}
	for _, id := range c.AgentIDs() {
		a, _ := c.Agent(id)
		models := slices.Concat([]string{a.Model}, a.Fallbacks, []string{a.Subagents.Model})
		for _, limit := range []struct {
			key  string
			usd  float64
			here bool
		}{
			{"maxUsd", a.Limits.MaxUSD, c.Agents.Entries[id].Limits.MaxUSD.IsSet()},
			{"perDayUsd", a.Limits.PerDayUSD, c.Agents.Entries[id].Limits.PerDayUSD.IsSet()},
		} {
			path := Path{"agents", "entries", id, "limits", limit.key}
			if !limit.here {
				path = Path{"agents", "defaults", "limits", limit.key}
			}
			for _, model := range models {
				if limit.usd > 0 && !c.isPriced(model) && !said[path.String()+" "+model] {
					said[path.String()+" "+model] = true
					d.warn(c, path, fmt.Sprintf("the model %q has no price, so what it costs does not count", model),
						"give it cost.input and cost.output in models.providers, or set maxTokens, which always holds")
				}
			}
		}
	}
}

// isPriced says whether the tokens that a model reads and writes have a price;
// what is no model, or one of an unknown provider, is none to warn of.
func (c *Config) isPriced(model string) bool {
	_, _, info, ok := c.Model(model)
	return !ok || info.Cost.Input.IsSet() && info.Cost.Output.IsSet()
}
