package policy

import (
	"net/url"

	"github.com/skein-bot/skein/core"
)

// SenderRules picks a person's rules out of the toolsBySender maps of the
// places around a message: of each map the entry "channel:id", else the bare
// id, else "*". All of them narrow, so their order does not count.
func SenderRules(maps []map[string]Rules, channel, id string) []Rules {
	var found []Rules
	for _, m := range maps {
		if entry, ok := senderEntry(m, channel, id); ok {
			found = append(found, m[entry])
		}
	}
	return found
}

// senderEntry is the key under which a toolsBySender map has a person.
func senderEntry(m map[string]Rules, channel, id string) (entry string, ok bool) {
	keys := []string{channel + ":" + id, id, "*"}
	if id == "" {
		keys = keys[2:]
	}
	for _, k := range keys {
		if _, ok := m[k]; ok {
			return k, true
		}
	}
	return "", false
}

// Scope is what the tools of a turn depend on beside its address and its
// author. It is stored with each message as text, and children of the turn
// inherit it; messages whose scopes differ do not share a turn.
type Scope struct {
	// Direct is set in direct chats where groups have rules in common ("*"),
	// which are not theirs.
	Direct bool
	// Guild is the server that holds the address, where servers have rules.
	Guild string
	// Entries are the entries of toolsBySender that hold for the author.
	Entries []string
}

// ScopeOf returns the scope of a message. It is zero unless some rule of the
// account needs it.
func (s Settings) ScopeOf(m core.Message) (out Scope) {
	if m.Kind != core.Group {
		_, out.Direct = s.Groups["*"]
		return out
	}
	if len(s.Guilds) > 0 {
		out.Guild = m.Guild
	}
	s.around(m.Address, m.Guild, func(p Place, at place) {
		if len(p.ToolsBySender) == 0 {
			return
		}
		if entry, ok := senderEntry(p.ToolsBySender, m.Address.Channel, m.Author.ID); ok {
			out.Entries = append(out.Entries, at.String()+".toolsBySender["+entry+"]")
		}
	})
	return out
}

// String returns the text form, "" for the zero scope.
func (s Scope) String() string {
	v := url.Values{}
	if s.Direct {
		v.Set("direct", "true")
	}
	if s.Guild != "" {
		v.Set("guild", s.Guild)
	}
	if len(s.Entries) > 0 {
		v["sender"] = s.Entries
	}
	return v.Encode()
}

// ParseScope is the inverse of Scope.String; what it cannot read is the zero
// scope.
func ParseScope(text string) Scope {
	if text == "" {
		return Scope{}
	}
	v, err := url.ParseQuery(text)
	if err != nil {
		return Scope{}
	}
	return Scope{Direct: v.Get("direct") != "", Guild: v.Get("guild"), Entries: v["sender"]}
}
