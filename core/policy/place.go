package policy

import (
	"fmt"

	"github.com/skein-bot/skein/core"
)

// place names an entry of Groups or Guilds: the map and the id in it, and for a
// place inside that the map of it and the id there.
type place struct{ field, id, inside, sub string }

// String returns the place as a configuration key.
func (p place) String() string {
	switch {
	case p.inside == "":
		return fmt.Sprintf("%s[%q]", p.field, p.id)
	case p.sub == "":
		return fmt.Sprintf("%s[%q].%s", p.field, p.id, p.inside)
	}
	return fmt.Sprintf("%s[%q].%s[%q]", p.field, p.id, p.inside, p.sub)
}

// enabledBy is the key that switches the place on or off: for what is not named
// in a guild that names channels, the list of those.
func (p place) enabledBy() string {
	if p.inside != "" && p.sub == "" {
		return p.String()
	}
	return p.String() + ".enabled"
}

// peopleBy is the key that lists who is heard there.
func (p place) peopleBy() string {
	if p.field == "guilds" && p.inside == "" {
		return p.String() + ".users"
	}
	return p.String() + ".allowFrom"
}

// around calls visit with every entry that speaks of an address, the widest
// first. What a later one says replaces what an earlier one said, key by key:
// an entry of the thread beats one of its conversation, which beats one of the
// parent channel, and a group's entry beats its guild's. An entry "*" serves
// only where nothing beside it is named.
//
// This is the one resolution of places: access, agents and tools all ask it.
func (s Settings) around(a core.Address, guild string, visit func(Place, place)) {
	inGuild := s.aroundGuild(a, guild, visit)
	if len(s.Groups) == 0 || a.Conversation == "" {
		return
	}
	within := false // the parent channel
	if a.Parent != "" {
		within = s.enter(a.Parent, firstNonEmpty(a.Thread, a.Conversation), visit)
	}
	itself := s.enter(a.Conversation, a.Thread, visit)
	if !inGuild && !within && !itself {
		s.enter("*", firstNonEmpty(a.Thread, childOf(a)), visit)
	}
}

// aroundGuild visits the guild's entry and those of the channels in it.
func (s Settings) aroundGuild(a core.Address, guild string, visit func(Place, place)) bool {
	if len(s.Guilds) == 0 || guild == "" {
		return false
	}
	id := guild
	g, ok := s.Guilds[id]
	if !ok {
		id = "*"
		if g, ok = s.Guilds[id]; !ok {
			return false
		}
	}
	at := place{field: "guilds", id: id}
	visit(g.Place, at)
	if len(g.Channels) == 0 {
		return true
	}
	at.inside = "channels"
	named := false
	for _, at.sub = range [...]string{a.Parent, a.Conversation, a.Thread} {
		if c, ok := g.Channels[at.sub]; ok && at.sub != "" {
			visit(c, at)
			named = true
		}
	}
	if named {
		return true
	}
	if c, ok := g.Channels["*"]; ok {
		at.sub = "*"
		visit(c, at)
		return true
	}
	at.sub = ""
	off := false
	visit(Place{Enabled: &off}, at)
	return true
}

// enter visits the group with that id and, inside it, the thread's entry; it
// reports whether there is such a group.
func (s Settings) enter(id, thread string, visit func(Place, place)) bool {
	g, ok := s.Groups[id]
	if !ok {
		return false
	}
	at := place{field: "groups", id: id}
	visit(g.Place, at)
	if thread == "" || len(g.Topics) == 0 {
		return true
	}
	at.inside, at.sub = "topics", thread
	t, ok := g.Topics[thread]
	if !ok {
		at.sub = "*"
		t, ok = g.Topics["*"]
	}
	if ok {
		visit(t, at)
	}
	return true
}

// childOf returns the id under which a conversation of its own is a thread of
// its parent.
func childOf(a core.Address) string {
	if a.Parent == "" {
		return ""
	}
	return a.Conversation
}

func firstNonEmpty(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// AgentAt returns the agent that an address has as its own, "" for none.
// Routing asks it before its rules.
func (s Settings) AgentAt(a core.Address, guild string) string {
	agent := ""
	s.around(a, guild, func(p Place, _ place) { agent = firstNonEmpty(p.Agent, agent) })
	return agent
}

// MentionAt reports whether the bot must be addressed in a group at that
// address.
func (s Settings) MentionAt(a core.Address, guild string) bool { return s.at(a, guild).mention }

// ToolsAt returns what narrows the tools at an address: the rules of the places
// around it, for ToolPolicy.Place, and of those who write there, for
// SenderRules.
func (s Settings) ToolsAt(a core.Address, guild string) (rules []Rules, bySender []map[string]Rules) {
	s.around(a, guild, func(p Place, _ place) {
		if p.Tools.narrows() {
			rules = append(rules, p.Tools)
		}
		if p.ToolsBySender != nil {
			bySender = append(bySender, p.ToolsBySender)
		}
	})
	return rules, bySender
}
