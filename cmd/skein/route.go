package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/intake"
)

func routeCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "route", Short: "Routing: which agent a message goes to, and why", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(routeExplain(e))
	return cmd
}

func routeExplain(e *env) *cobra.Command {
	q := app.RouteQuery{}
	peer, asJSON := "", false
	cmd := &cobra.Command{
		Use: "explain --channel C --peer direct:ID|group:ID", Short: "Say which agent a message would go to, and why", Args: cobra.NoArgs,
		Long: `Say which agent a message would go to, by the configuration, and why: every tier
that was tried, the most exact first, with its rules. A live binding at the place
beats all of it; "skein bindings" lists those.`,
		RunE: does(func(context.Context, []string) error {
			kind, id, ok := strings.Cut(peer, ":")
			if !ok || id == "" || kind != string(core.Direct) && kind != string(core.Group) {
				return usagef("--peer: %q is neither direct:ID nor group:ID", peer)
			}
			q.Kind, q.Peer = core.ConversationKind(kind), id
			cfg, err := e.load()
			if err != nil {
				return err
			}
			if err := knownAccount(cfg, q.Channel, q.Account); err != nil {
				return err
			}
			view := app.Explain(cfg, q)
			if asJSON {
				return e.printer().json(view)
			}
			printRoute(e.printer(), view)
			return nil
		}),
	}
	f := cmd.Flags()
	f.StringVar(&q.Channel, "channel", "", "channel, for example console")
	f.StringVar(&q.Account, "account", "default", "account of the channel")
	f.StringVar(&peer, "peer", "", "direct:ID of a person, or group:ID of a conversation")
	f.StringVar(&q.Thread, "thread", "", "thread in it")
	f.StringVar(&q.Parent, "parent", "", "channel around a thread that is a conversation of its own")
	f.StringVar(&q.Sender, "sender", "", "id of the person who writes in the group")
	f.StringVar(&q.Guild, "guild", "", "id of the guild")
	f.StringArrayVar(&q.Roles, "role", nil, "id of a role of the person; may be repeated")
	f.StringVar(&q.Team, "team", "", "id of the team")
	f.BoolVar(&asJSON, "json", false, "print JSON; docs/cli.md lists the fields")
	for _, name := range []string{"channel", "peer"} {
		mustMark(cmd.MarkFlagRequired(name))
	}
	return cmd
}

// knownAccount refuses a channel or account that the configuration does not
// have: an answer about it would be a guess.
func knownAccount(cfg *config.Config, channel, account string) error {
	settings, ok := cfg.Channels.Get(channel)
	if !ok {
		return core.Errorf("channel_unknown", "the channel %q is not configured", channel).
			WithRemedy("configured: %s", orDash(strings.Join(cfg.Channels.Names(), ", ")))
	}
	if settings.Account(account) == nil {
		return core.Errorf("account_unknown", "the channel %s has no account %q", channel, account).
			WithRemedy("accounts: %s", strings.Join(settings.AccountNames(), ", "))
	}
	return nil
}

func printRoute(p printer, v app.RouteView) {
	by := v.By
	if v.Rule != nil {
		by = fmt.Sprintf("routes[%d], %s", *v.Rule, v.Tier)
	} else if v.By == "place" {
		by = v.Tier
	}
	access := cell{v.Access, moodBad}
	if v.Access == "allow" {
		access.mood = moodGood
	}
	access.text += " (" + v.AccessReason + choose(v.AccessRule != "", " by "+v.AccessRule, "") + ")"
	p.fields(
		field{"agent", plainCell("%s", v.Agent)}, field{"by", plainCell("%s", by)}, field{"session", plainCell("%s", v.Session)},
		field{"access", access}, field{"mention", plainCell("%s", choose(v.RequireMention, "required", "not required"))},
	)
	if len(v.Steps) > 0 {
		p.section("tiers")
		for _, s := range v.Steps {
			printStep(p, s)
		}
	}
}

func printStep(p printer, s intake.Step) {
	switch {
	case s.Skipped != "":
		fmt.Fprintf(p.w, "%-11s  %s\n", s.Tier, s.Skipped)
	case s.Tier == intake.TierDefault:
		fmt.Fprintf(p.w, "%-11s  no rule matched\n", s.Tier)
	case len(s.Rules) == 0:
		fmt.Fprintf(p.w, "%-11s  no rule\n", s.Tier)
	}
	for _, r := range s.Rules {
		fmt.Fprintf(p.w, "%-11s  routes[%d] to %s %s\n", s.Tier, r.Rule, r.Agent, choose(r.Miss == "", "matches", "no: "+r.Miss))
	}
}
