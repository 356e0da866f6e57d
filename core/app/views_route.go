package app

import (
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/intake"
	"github.com/skein-bot/skein/core/policy"
)

// RouteQuery is a message of which somebody asks where it would go.
type RouteQuery struct {
	Channel, Account string
	Kind             core.ConversationKind
	// Peer is the person of a direct chat, or the conversation of a group.
	Peer string
	// Thread is the thread in it, Parent the channel around a thread that is a
	// conversation of its own.
	Thread, Parent string
	// Sender is the author's id in a group, "" if unknown; Roles are theirs.
	Sender      string
	Roles       []string
	Guild, Team string
}

// RouteView says where a message would go without a binding, and why.
type RouteView struct {
	// Agent that would answer.
	Agent string `json:"agent"`
	// What decided: place (the group's own agentId), route (a rule of routes) or default.
	By string `json:"by"`
	// Tier of the rule that decided, the key of the place, or default.
	Tier string `json:"tier"`
	// Index in routes of the rule that decided; null for none.
	Rule *int `json:"rule"`
	// Key of the session that it would go to.
	Session string `json:"session"`
	// What access control would do with a message that addresses the bot: allow, deny, pair or ignore.
	Access string `json:"access"`
	// Why, as in the log.
	AccessReason string `json:"accessReason"`
	// Configuration key that decided about access.
	AccessRule string `json:"accessRule,omitempty"`
	// Whether the bot must be addressed there.
	RequireMention bool `json:"requireMention"`
	// The tiers that were tried, the most exact first, with their rules.
	Steps []intake.Step `json:"steps"`
}

// Explain answers a RouteQuery from a configuration. Bindings are not looked
// at: a live one at the place beats all of it.
func Explain(cfg *config.Config, q RouteQuery) RouteView {
	at := core.Address{Channel: q.Channel, Account: q.Account, Conversation: q.Peer, Thread: q.Thread, Parent: q.Parent}
	author := core.Author{ID: q.Sender}
	if q.Kind == core.Direct {
		author.ID = q.Peer
	}
	agent, why := router(cfg, nil).Route(intake.MatchOf(core.Message{
		Address: at, Kind: q.Kind, Author: author, Guild: q.Guild, Roles: q.Roles, Team: q.Team,
	}))
	view := RouteView{Agent: agent, By: "route", Tier: why.Tier.String(), Steps: why.Steps()}
	if why.Rule >= 0 {
		view.Rule = &why.Rule
	} else {
		view.By = "default"
	}
	settings := accessSettings(cfg, q.Channel, q.Account)
	if own := settings.AgentAt(at, q.Guild); own != "" && q.Kind == core.Group {
		view.Agent, view.By, view.Tier, view.Rule, view.Steps = own, "place", "agentId of the place", nil, []intake.Step{}
	}
	view.Session = sessionKey(cfg, view.Agent, q.Kind, at, author.ID).String()
	view.access(settings, q, at, author)
	return view
}

// access fills in what access control would do. An unknown sender of a group
// stands for somebody whom no list names.
func (v *RouteView) access(settings policy.Settings, q RouteQuery, at core.Address, author core.Author) {
	if author.ID == "" {
		author.ID = "unknown"
	}
	d := policy.Decide(policy.Request{
		Author: author, Roles: q.Roles, Kind: q.Kind, Event: core.EventMessage, Address: at, Guild: q.Guild, Mentioned: true, Settings: settings,
	})
	v.Access, v.AccessReason, v.AccessRule = d.Outcome.String(), d.Reason.String(), d.Rule
	v.RequireMention = q.Kind == core.Group && settings.MentionAt(at, q.Guild)
}

func sessionKey(cfg *config.Config, agent string, kind core.ConversationKind, at core.Address, peer string) core.SessionKey {
	if kind == core.Direct {
		return core.DirectKey(agent, core.DirectScope(cfg.Session.DMScope), at, peer)
	}
	return core.GroupKey(agent, at)
}
