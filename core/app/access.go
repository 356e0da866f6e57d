package app

import (
	"regexp"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core/policy"
)

// accountID names an account of a channel.
type accountID struct{ channel, account string }

// access returns what the configuration says about access on an account. It is
// read for every message, so it was made ready with the snapshot.
func (l *snapshot) access(channel, account string) policy.Settings {
	if s, ok := l.settings[accountID{channel, account}]; ok {
		return s
	}
	return accessSettings(l.cfg, channel, account)
}

// allAccess makes the settings of every configured account ready.
func allAccess(cfg *config.Config) map[accountID]policy.Settings {
	out := make(map[accountID]policy.Settings)
	for _, channel := range cfg.Channels.Names() {
		settings, _ := cfg.Channels.Get(channel)
		for _, account := range settings.AccountNames() {
			out[accountID{channel, account}] = accessSettings(cfg, channel, account)
		}
	}
	return out
}

// accessSettings hands the access keys of an account to package policy, which
// alone resolves what holds where.
func accessSettings(cfg *config.Config, channel, account string) policy.Settings {
	r := cfg.Access(channel, account)
	s := policy.Settings{
		DMPolicy: policy.DMPolicy(r.DMPolicy), AllowFrom: r.AllowFrom, GroupPolicy: policy.GroupPolicy(r.GroupPolicy),
		GroupAllowFrom: r.GroupAllowFrom, RequireMention: &r.RequireMention, AllowBots: policy.BotPolicy(r.AllowBots),
		Groups: make(map[string]policy.Group, len(r.Groups)), Guilds: make(map[string]policy.Guild, len(r.Guilds)),
	}
	for _, expr := range r.MentionPatterns {
		if re, err := regexp.Compile(expr); err == nil { // what does not compile is refused with the configuration
			s.MentionPatterns = append(s.MentionPatterns, re)
		}
	}
	for id, g := range r.Groups {
		s.Groups[id] = policy.Group{Place: place(g.PlaceRules), Topics: convert(g.Topics, place)}
	}
	for id, g := range r.Guilds {
		whole := policy.Place{RequireMention: pointer(g.RequireMention), AllowFrom: g.Users, Roles: g.Roles}
		s.Guilds[id] = policy.Guild{Place: whole, Channels: convert(g.Channels, func(c config.GuildChannel) policy.Place {
			p := place(c.PlaceRules)
			p.Roles = c.Roles
			return p
		})}
	}
	return s
}

// place is the entry of a group, topic or channel.
func place(r config.PlaceRules) policy.Place {
	return policy.Place{
		Enabled: pointer(r.Enabled), RequireMention: pointer(r.RequireMention), AllowFrom: r.AllowFrom,
		AllowBots: policy.BotPolicy(r.AllowBots), Agent: r.AgentID, Tools: rules(r.Tools), ToolsBySender: convert(r.ToolsBySender, rules),
	}
}

func rules(r config.ToolRules) policy.Rules { return policy.Rules{Allow: r.Allow, Deny: r.Deny} }

// pointer is an optional key as package policy takes it.
func pointer[T any](o config.Optional[T]) *T {
	if v, ok := o.Get(); ok {
		return &v
	}
	return nil
}

// convert converts the values of a map; no map stays none.
func convert[A, B any](in map[string]A, f func(A) B) map[string]B {
	if in == nil {
		return nil
	}
	out := make(map[string]B, len(in))
	for id, v := range in {
		out[id] = f(v)
	}
	return out
}
