package policy

import (
	"maps"
	"slices"

	"github.com/skein-bot/skein/core"
)

// NamedAt decides whether an agent may write to a group of its own accord: the
// operator must have named the group, its channel or its parent by id, and not
// have switched it off. "*" names nothing, and that people may write to the bot
// there is not enough. Rule is the key that decided.
func (s Settings) NamedAt(a core.Address) Decision {
	if s.GroupPolicy == GroupDisabled {
		return Decision{Deny, ReasonGroupDisabled, "groupPolicy"}
	}
	guild, named := s.names(a)
	if !named {
		return Decision{Deny, ReasonGroupNotListed, "groups"}
	}
	at := s.at(a, guild)
	if at.off {
		return Decision{Deny, ReasonPlaceDisabled, at.offBy}
	}
	return Decision{Allow, ReasonGroupListed, at.listedBy}
}

// names reports whether an entry other than "*" is about an address or what is
// around it, and the guild of that entry.
func (s Settings) names(a core.Address) (guild string, named bool) {
	ids := slices.DeleteFunc([]string{a.Conversation, a.Parent}, func(id string) bool { return id == "" || id == "*" })
	for _, id := range ids {
		if _, ok := s.Groups[id]; ok {
			return "", true
		}
	}
	for _, guild := range slices.Sorted(maps.Keys(s.Guilds)) {
		for _, id := range append(ids, a.Thread) {
			if _, ok := s.Guilds[guild].Channels[id]; ok && id != "" && id != "*" {
				return guild, true
			}
		}
	}
	return "", false
}

// NamedDirect decides whether an agent may write to a person's direct chat of
// its own accord: allowFrom must name the person, and direct chats must not be
// switched off. "*" names nobody.
func (s Settings) NamedDirect(channel, person string) Decision {
	if s.DMPolicy == DMDisabled {
		return Decision{Deny, ReasonDMDisabled, "dmPolicy"}
	}
	named := slices.DeleteFunc(slices.Clone(s.AllowFrom), func(entry string) bool { return entry == "*" })
	if person != "*" && Listed(named, channel, person) {
		return Decision{Allow, ReasonSenderListed, "allowFrom"}
	}
	return Decision{Deny, ReasonSenderNotListed, "allowFrom"}
}
