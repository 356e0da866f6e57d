package intake

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
)

// Rule is one routing rule (routes[]). Every condition that is set must hold.
type Rule struct {
	Agent   string
	Channel string
	// Account is "*" for any; left out it means "default", not any.
	Account string
	// Conversation names a place by its conversation id, whoever writes there;
	// it beats every other condition. The program makes such rules for places
	// that belong to an agent; routes[] has no key for it.
	Conversation string
	// PeerKind and Peer name a direct chat by the person's id, or a group by
	// its conversation id; a group's rule holds for its threads too. With only
	// one of the two set the rule never matches.
	PeerKind core.ConversationKind
	Peer     string
	Guild    string
	// Roles are role ids of which the author has at least one. Without Guild
	// they never match, because role ids belong to a guild.
	Roles []string
	Team  string
}

// Match is what rules are compared with.
type Match struct {
	Channel, Account string
	Conversation     string
	Kind             core.ConversationKind
	Peer             string // direct: the person's id; group: the conversation
	Parent           string // of a thread that is a conversation: its channel
	Guild            string
	Roles            []string
	Team             string
}

// MatchOf returns what rules are compared with for a message.
func MatchOf(m core.Message) Match {
	match := Match{
		Channel: m.Address.Channel, Account: m.Address.Account, Conversation: m.Address.Conversation, Kind: m.Kind, Peer: m.Author.ID,
		Guild: m.Guild, Roles: m.Roles, Team: m.Team,
	}
	if m.Kind == core.Group {
		match.Peer, match.Parent = m.Address.Conversation, m.Address.Parent
	}
	return match
}

// Tier says how exactly a rule speaks of a place. A lower tier beats a higher
// one; inside a tier the earlier rule wins.
type Tier uint8

// The tiers, the most exact first. A rule is of the first whose condition it
// has; a rule with a peer is of the first two.
const (
	TierConversation Tier = iota // of the program, not of routes[]
	TierPeer
	TierParentPeer
	TierGuildRoles
	TierGuild
	TierTeam
	TierAccount
	TierChannel
	TierDefault
)

var tierNames = [...]string{
	TierConversation: "conversation", TierPeer: "peer", TierParentPeer: "parent peer", TierGuildRoles: "guild+roles", TierGuild: "guild", TierTeam: "team",
	TierAccount: "account", TierChannel: "channel", TierDefault: "default",
}

// String returns the name that `skein route explain` prints.
func (t Tier) String() string {
	if int(t) < len(tierNames) {
		return tierNames[t]
	}
	return "unknown"
}

// MarshalText implements encoding.TextMarshaler with the name.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

const (
	defaultAccount = "default"
	anyAccount     = "*"
)

// tier returns the tier of a rule; one with a peer is of TierPeer, and of
// TierParentPeer where it meets a thread. ok is false for a rule that can
// never match.
func (r Rule) tier() (t Tier, ok bool) {
	switch {
	case r.Agent == "" || r.Channel == "" || len(r.Roles) > 0 && r.Guild == "":
		return TierDefault, false
	case r.Conversation != "":
		return TierConversation, (r.Peer == "") == (r.PeerKind == "")
	case r.Peer != "" || r.PeerKind != "":
		return TierPeer, r.Peer != "" && (r.PeerKind == core.Direct || r.PeerKind == core.Group)
	case len(r.Roles) > 0:
		return TierGuildRoles, true
	case r.Guild != "":
		return TierGuild, true
	case r.Team != "":
		return TierTeam, true
	case r.Account != anyAccount:
		return TierAccount, true
	}
	return TierChannel, true
}

// Router finds the agent of a message. It is made once per configuration, does
// not change, and is safe for concurrent use.
type Router struct {
	rules    []Rule
	fallback string
	// index holds, per place and tier, the rules that speak of it, in order.
	index map[place][]int
}

// place is what a tier looks up: the parts that the tier does not compare are
// empty.
type place struct {
	tier    Tier
	channel string
	kind    core.ConversationKind // of a peer
	id      string                // peer, guild, team or account
}

// NewRouter compiles rules; fallback is the agent where none matches. The
// configuration has checked the rules: one that can never match is passed over.
func NewRouter(rules []Rule, fallback string) *Router {
	r := &Router{rules: slices.Clone(rules), fallback: fallback, index: make(map[place][]int)}
	for i := range r.rules {
		rule := &r.rules[i]
		if rule.Account == "" {
			rule.Account = defaultAccount
		}
		if tier, ok := rule.tier(); ok {
			at := rule.place(tier)
			r.index[at] = append(r.index[at], i)
		}
	}
	return r
}

// place returns where a rule of that tier is looked up.
func (r Rule) place(t Tier) place {
	p := place{tier: t, channel: r.Channel}
	switch t {
	case TierConversation:
		p.id = r.Conversation
	case TierPeer:
		p.kind, p.id = r.PeerKind, r.Peer
	case TierGuildRoles, TierGuild:
		p.id = r.Guild
	case TierTeam:
		p.id = r.Team
	case TierAccount:
		p.id = r.Account
	}
	return p
}

// place returns where a tier looks for rules about m; ok is false where m has
// nothing that the tier compares.
func (m Match) place(t Tier) (p place, ok bool) {
	p = place{tier: t, channel: m.Channel}
	switch t {
	case TierConversation:
		p.id = m.Conversation
	case TierPeer:
		p.kind, p.id = m.Kind, m.Peer
	case TierParentPeer:
		p.tier, p.kind, p.id = TierPeer, m.Kind, m.Parent
	case TierGuildRoles:
		p.id = m.Guild
		return p, m.Guild != "" && len(m.Roles) > 0
	case TierGuild:
		p.id = m.Guild
	case TierTeam:
		p.id = m.Team
	case TierAccount:
		p.id = m.Account
	case TierChannel:
		return p, true
	}
	return p, p.id != ""
}

// Route returns the agent for m and why. It neither blocks nor allocates;
// intake calls it for each message that no binding claims.
func (r *Router) Route(m Match) (agent string, why Explanation) {
	why = Explanation{Agent: r.fallback, Tier: TierDefault, Rule: -1, match: m, router: r}
	for t := TierConversation; t < TierDefault; t++ {
		at, ok := m.place(t)
		if !ok {
			continue
		}
		for _, i := range r.index[at] {
			if r.rules[i].misses(&m, t) == missNone {
				why.Agent, why.Tier = r.rules[i].Agent, t
				if t != TierConversation { // which is not in routes[]
					why.Rule = i
				}
				return why.Agent, why
			}
		}
	}
	return why.Agent, why
}

// Route finds the agent for m without a compiled router: for a single look.
func Route(rules []Rule, fallback string, m Match) (agent string, why Explanation) {
	return NewRouter(rules, fallback).Route(m)
}

// miss names the condition of a rule that a message does not meet.
type miss uint8

const (
	missNone miss = iota
	missAccount
	missPeer
	missGuild
	missRoles
	missTeam
)

// misses returns the first condition of the rule that m does not meet in tier
// t. The channel is known to agree.
func (r *Rule) misses(m *Match, t Tier) miss {
	peer := m.Peer
	if t == TierParentPeer {
		peer = m.Parent
	}
	switch {
	case r.Account != anyAccount && r.Account != m.Account:
		return missAccount
	case r.Peer != "" && (r.Peer != peer || r.PeerKind != m.Kind):
		return missPeer
	case r.Guild != "" && r.Guild != m.Guild:
		return missGuild
	case len(r.Roles) > 0 && !shareOne(r.Roles, m.Roles):
		return missRoles
	case r.Team != "" && r.Team != m.Team:
		return missTeam
	}
	return missNone
}

func shareOne(a, b []string) bool {
	for _, s := range a {
		if slices.Contains(b, s) {
			return true
		}
	}
	return false
}

// Explanation says why a message goes to an agent.
type Explanation struct {
	Agent string
	// Tier is where the decision fell, TierDefault where no rule matched.
	Tier Tier
	// Rule is the index in routes[] of the rule that won, -1 for none.
	Rule int

	match  Match
	router *Router
}

// LogValue implements slog.LogValuer.
func (e Explanation) LogValue() slog.Value {
	return slog.GroupValue(slog.String("agent", e.Agent), slog.String("tier", e.Tier.String()), slog.Int("rule", e.Rule))
}

// Step is what happened in one tier.
type Step struct {
	Tier Tier `json:"tier"`
	// Skipped says why the tier was not looked at: the message has nothing
	// that it compares.
	Skipped string `json:"skipped,omitempty"`
	// Rules are the tier's rules for the channel, in order, up to the winner.
	Rules []Tried `json:"rules,omitempty"`
}

// Tried is one rule that was compared.
type Tried struct {
	Rule  int    `json:"rule"` // index in routes[]
	Agent string `json:"agent"`
	// Miss says which condition was not met; "" is the rule that won.
	Miss string `json:"miss,omitempty"`
}

// Steps lists the tiers tried, the most exact first, down to the one that
// decided. A conversation that belongs to an agent leaves nothing to try.
func (e Explanation) Steps() []Step {
	if e.Tier == TierConversation {
		return []Step{{Tier: TierConversation}}
	}
	var steps []Step
	for t := TierPeer; t <= e.Tier; t++ {
		steps = append(steps, e.step(t))
	}
	return steps
}

func (e Explanation) step(t Tier) Step {
	s := Step{Tier: t}
	if e.router == nil || t == TierDefault {
		return s
	}
	if _, ok := e.match.place(t); !ok {
		s.Skipped = skipped(t)
		return s
	}
	for i, rule := range e.router.rules {
		of, ok := rule.tier()
		if t == TierParentPeer && of == TierPeer {
			of = TierParentPeer
		}
		if !ok || of != t || rule.Channel != e.match.Channel {
			continue
		}
		s.Rules = append(s.Rules, Tried{i, rule.Agent, rule.describe(rule.misses(&e.match, t))})
		if t == e.Tier && i == e.Rule {
			break
		}
	}
	return s
}

func skipped(t Tier) string {
	switch t {
	case TierPeer:
		return "the peer is unknown"
	case TierParentPeer:
		return "not in a thread with a parent"
	case TierGuildRoles:
		return "no guild or no roles"
	case TierGuild:
		return "no guild"
	case TierTeam:
		return "no team"
	}
	return "no account"
}

// describe says in words what the rule wanted and did not get.
func (r Rule) describe(m miss) string {
	switch m {
	case missAccount:
		return fmt.Sprintf("accountId is %q", r.Account)
	case missPeer:
		return fmt.Sprintf("peer is %s:%s", r.PeerKind, r.Peer)
	case missGuild:
		return fmt.Sprintf("guildId is %q", r.Guild)
	case missRoles:
		return "none of the roles " + strings.Join(r.Roles, ", ")
	case missTeam:
		return fmt.Sprintf("teamId is %q", r.Team)
	}
	return ""
}

// String returns what `skein route explain` prints: the agent, then a line for
// each tier tried and each rule compared.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "agent %s (%s", e.Agent, e.Tier)
	if e.Rule >= 0 {
		fmt.Fprintf(&b, ", routes[%d]", e.Rule)
	}
	b.WriteString(")\n")
	for _, s := range e.Steps() {
		switch {
		case s.Tier == TierDefault:
			fmt.Fprintf(&b, "  %-11s  no rule matched\n", s.Tier)
		case s.Skipped != "":
			fmt.Fprintf(&b, "  %-11s  %s\n", s.Tier, s.Skipped)
		case len(s.Rules) == 0:
			fmt.Fprintf(&b, "  %-11s  no rule\n", s.Tier)
		}
		for _, r := range s.Rules {
			verdict := "no: " + r.Miss
			if r.Miss == "" {
				verdict = "matches"
			}
			fmt.Fprintf(&b, "  %-11s  routes[%d] to %s %s\n", s.Tier, r.Rule, r.Agent, verdict)
		}
	}
	return b.String()
}

// MarshalJSON implements json.Marshaler with the fields agent, tier, rule (null
// for none) and steps, for `skein route explain --json`.
func (e Explanation) MarshalJSON() ([]byte, error) {
	var rule *int
	if e.Rule >= 0 {
		rule = &e.Rule
	}
	return json.Marshal(struct {
		Agent string `json:"agent"`
		Tier  Tier   `json:"tier"`
		Rule  *int   `json:"rule"`
		Steps []Step `json:"steps"`
	}{e.Agent, e.Tier, rule, e.Steps()})
}
