package policy

import (
	"regexp"
	"slices"

	"github.com/skein-bot/skein/core"
)

// DMPolicy says who may write to the bot directly.
type DMPolicy string

// The policies for direct chats. The empty word is DMPairing.
const (
	DMPairing   DMPolicy = "pairing"   // those listed and those paired; others may ask
	DMAllowlist DMPolicy = "allowlist" // those listed; a pairing does not count
	DMOpen      DMPolicy = "open"      // everybody, or those listed if there is a list
	DMDisabled  DMPolicy = "disabled"  // nobody
)

// GroupPolicy says in which groups the bot listens.
type GroupPolicy string

// The policies for groups. The empty word is GroupAllowlist.
const (
	GroupAllowlist GroupPolicy = "allowlist" // those listed
	GroupOpen      GroupPolicy = "open"      // all
	GroupDisabled  GroupPolicy = "disabled"  // none
)

// BotPolicy says whether other bots are heard.
type BotPolicy string

// The policies for bots. The empty word is the next wider place's, at last
// BotsNone. A bot that is heard must be admitted like a person besides.
const (
	BotsNone     BotPolicy = "false"
	BotsMentions BotPolicy = "mentions" // where they address this bot, in direct chats and bound threads too
	BotsAll      BotPolicy = "true"
)

// Settings is what an account's configuration says about access. The zero
// value hears nobody.
type Settings struct {
	DMPolicy DMPolicy
	// AllowFrom lists who may write directly: ids, "channel:id", or "*" for
	// everybody. nil means that there is no list, an empty one names nobody.
	AllowFrom   []string
	GroupPolicy GroupPolicy
	// GroupAllowFrom lists who is heard in groups that say nothing nearer.
	// Where it is nil, AllowFrom holds in groups too, but under GroupOpen,
	// where AllowFrom speaks of direct chats alone.
	GroupAllowFrom []string
	// Groups are the listed groups by conversation id, "*" for all others.
	Groups map[string]Group
	// Guilds are the listed servers by id, "*" for all others.
	Guilds map[string]Guild
	// RequireMention says whether the bot must be addressed in groups; nil
	// means yes.
	RequireMention *bool
	// MentionPatterns are texts that address the bot as a mention does.
	MentionPatterns []*regexp.Regexp
	AllowBots       BotPolicy
}

// Mentions reports whether a text addresses the bot by one of the patterns.
func (s Settings) Mentions(text string) bool {
	return slices.ContainsFunc(s.MentionPatterns, func(p *regexp.Regexp) bool { return p.MatchString(text) })
}

// Place is what is said of one group, topic or thread. What is left out comes
// from the next wider place.
type Place struct {
	Enabled        *bool // nil: as around it, at last true
	RequireMention *bool // nil: as around it
	// AllowFrom and Roles list who is heard here, by id or by role. Where
	// either is set they replace both of the wider place.
	AllowFrom, Roles []string
	AllowBots        BotPolicy
	// Agent is the agent of this place, "" for none of its own.
	Agent string
	// Tools narrows the tools here, ToolsBySender by sender besides (see
	// SenderRules).
	Tools         Rules
	ToolsBySender map[string]Rules
}

// Group is a listed conversation. Where threads are conversations of their
// own, it is a parent channel or one of its threads.
type Group struct {
	Place
	// Topics are the topics or threads in it by id, "*" for all others.
	Topics map[string]Place
}

// Guild is a server that holds channels (Discord).
type Guild struct {
	Place
	// Channels are its channels and their threads by id, "*" for all others.
	// Once one is named, only named ones are heard.
	Channels map[string]Place
}

// effective is what holds in one place, with the keys that say so.
type effective struct {
	listedBy      string
	off           bool
	offBy         string
	mention       bool
	mentionBy     string
	people, roles []string
	peopleBy      string
	bots          BotPolicy
	botsBy        string
}

// direct returns what holds in every direct chat.
func (s Settings) direct() effective {
	return effective{bots: s.AllowBots, botsBy: "allowBots"}
}

// at returns what holds at an address in a group, or in a channel of a guild.
func (s Settings) at(a core.Address, guild string) effective {
	e := effective{mention: true, mentionBy: "requireMention", bots: s.AllowBots, botsBy: "allowBots"}
	if s.RequireMention != nil {
		e.mention = *s.RequireMention
	}
	switch {
	case s.GroupAllowFrom != nil:
		e.people, e.peopleBy = s.GroupAllowFrom, "groupAllowFrom"
	case s.GroupPolicy != GroupOpen:
		e.people, e.peopleBy = s.AllowFrom, "allowFrom"
	}
	s.around(a, guild, func(p Place, by place) { e.narrow(p, by) })
	return e
}

// narrow applies the entry of a place inside those applied so far.
func (e *effective) narrow(p Place, at place) {
	by := at.String()
	e.listedBy = by
	if p.Enabled != nil {
		e.off, e.offBy = !*p.Enabled, at.enabledBy()
	}
	if p.RequireMention != nil {
		e.mention, e.mentionBy = *p.RequireMention, by+".requireMention"
	}
	if p.AllowFrom != nil || p.Roles != nil {
		e.people, e.roles, e.peopleBy = p.AllowFrom, p.Roles, at.peopleBy()
		if p.AllowFrom == nil {
			e.peopleBy = by + ".roles"
		}
	}
	if p.AllowBots != "" {
		e.bots, e.botsBy = p.AllowBots, by+".allowBots"
	}
}

// Listed reports whether an allow list of a channel names a person: by the
// bare id, as channel:id, or with "*". Ids compare byte for byte. An empty id
// is never listed.
func Listed(list []string, channel, id string) bool {
	if id == "" {
		return false
	}
	return slices.ContainsFunc(list, func(entry string) bool {
		return entry == "*" || entry == id || isSender(entry, channel, id)
	})
}

// isSender reports whether entry is "channel:id", without building it.
func isSender(entry, channel, id string) bool {
	n := len(channel)
	return channel != "" && len(entry) == n+1+len(id) && entry[:n] == channel && entry[n] == ':' && entry[n+1:] == id
}

func hasRole(list, roles []string) bool {
	return slices.ContainsFunc(roles, func(role string) bool { return role != "" && slices.Contains(list, role) })
}
