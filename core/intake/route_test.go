package intake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
)

func TestRoute(t *testing.T) {
	team := Match{Channel: "telegram", Account: "default", Kind: core.Group, Peer: "team"}
	thread := Match{Channel: "discord", Account: "default", Kind: core.Group, Peer: "thread-9", Parent: "general", Guild: "g1", Roles: []string{"r1", "r2"}, Team: "t1"}
	with := func(m Match, edit func(*Match)) Match {
		edit(&m)
		return m
	}
	tests := []struct {
		name  string
		rules []Rule
		in    Match
		agent string
		tier  Tier
		rule  int
	}{
		{"no rules", nil, team, "main", TierDefault, -1},
		{"channel", []Rule{{Agent: "a", Channel: "telegram", Account: "*"}}, team, "a", TierChannel, 0},
		{"other channel", []Rule{{Agent: "a", Channel: "discord", Account: "*"}}, team, "main", TierDefault, -1},
		{"account left out is default", []Rule{{Agent: "a", Channel: "telegram"}}, team, "a", TierAccount, 0},
		{"account left out is not any", []Rule{{Agent: "a", Channel: "telegram"}}, with(team, func(m *Match) { m.Account = "second" }), "main", TierDefault, -1},
		{"account named", []Rule{{Agent: "a", Channel: "telegram", Account: "second"}}, with(team, func(m *Match) { m.Account = "second" }), "a", TierAccount, 0},
		{"account beats channel", []Rule{{Agent: "a", Channel: "telegram", Account: "*"}, {Agent: "b", Channel: "telegram"}}, team, "b", TierAccount, 1},
		{"ties by order", []Rule{{Agent: "a", Channel: "telegram"}, {Agent: "b", Channel: "telegram"}}, team, "a", TierAccount, 0},

		{"peer", []Rule{{Agent: "a", Channel: "telegram"}, {Agent: "b", Channel: "telegram", PeerKind: core.Group, Peer: "team"}}, team, "b", TierPeer, 1},
		{"peer of the other kind", []Rule{{Agent: "b", Channel: "telegram", PeerKind: core.Direct, Peer: "team"}}, team, "main", TierDefault, -1},
		{"peer of another account", []Rule{{Agent: "b", Channel: "telegram", Account: "second", PeerKind: core.Group, Peer: "team"}}, team, "main", TierDefault, -1},
		{"peer of any account", []Rule{{Agent: "b", Channel: "telegram", Account: "*", PeerKind: core.Group, Peer: "team"}}, with(team, func(m *Match) { m.Account = "second" }), "b", TierPeer, 0},
		{"ties of peers, any account first", []Rule{{Agent: "a", Channel: "telegram", Account: "*", PeerKind: core.Group, Peer: "team"}, {Agent: "b", Channel: "telegram", PeerKind: core.Group, Peer: "team"}}, team, "a", TierPeer, 0},
		{"peer without kind never matches", []Rule{{Agent: "b", Channel: "telegram", Peer: "team"}}, team, "main", TierDefault, -1},
		{"kind without peer never matches", []Rule{{Agent: "b", Channel: "telegram", PeerKind: core.Group}}, with(team, func(m *Match) { m.Peer = "" }), "main", TierDefault, -1},
		{"ids keep their case", []Rule{{Agent: "b", Channel: "telegram", PeerKind: core.Group, Peer: "Team"}}, team, "main", TierDefault, -1},
		{"all fields must match", []Rule{{Agent: "b", Channel: "discord", PeerKind: core.Group, Peer: "thread-9", Guild: "g2"}}, thread, "main", TierDefault, -1},

		{"conversation beats peer", []Rule{{Agent: "a", Channel: "telegram", PeerKind: core.Group, Peer: "team"}, {Agent: "b", Channel: "telegram", Conversation: "c"}}, with(team, func(m *Match) { m.Conversation = "c" }), "b", TierConversation, -1},
		{"another conversation", []Rule{{Agent: "b", Channel: "telegram", Conversation: "c"}}, with(team, func(m *Match) { m.Conversation = "cc" }), "main", TierDefault, -1},
		{"conversation of another account", []Rule{{Agent: "b", Channel: "telegram", Conversation: "c"}}, with(team, func(m *Match) { m.Conversation, m.Account = "c", "second" }), "main", TierDefault, -1},

		{"parent peer", []Rule{{Agent: "a", Channel: "discord", Guild: "g1"}, {Agent: "b", Channel: "discord", PeerKind: core.Group, Peer: "general"}}, thread, "b", TierParentPeer, 1},
		{"peer beats parent peer", []Rule{{Agent: "a", Channel: "discord", PeerKind: core.Group, Peer: "general"}, {Agent: "b", Channel: "discord", PeerKind: core.Group, Peer: "thread-9"}}, thread, "b", TierPeer, 1},
		{"guild+roles", []Rule{{Agent: "a", Channel: "discord", Guild: "g1"}, {Agent: "b", Channel: "discord", Guild: "g1", Roles: []string{"x", "r2"}}}, thread, "b", TierGuildRoles, 1},
		{"another role", []Rule{{Agent: "a", Channel: "discord", Guild: "g1"}, {Agent: "b", Channel: "discord", Guild: "g1", Roles: []string{"x"}}}, thread, "a", TierGuild, 0},
		{"roles without guild never match", []Rule{{Agent: "b", Channel: "discord", Roles: []string{"r1"}}}, thread, "main", TierDefault, -1},
		{"no roles", []Rule{{Agent: "b", Channel: "discord", Guild: "g1", Roles: []string{"r1"}}}, with(thread, func(m *Match) { m.Roles = nil }), "main", TierDefault, -1},
		{"guild beats team", []Rule{{Agent: "a", Channel: "discord", Team: "t1"}, {Agent: "b", Channel: "discord", Guild: "g1"}}, thread, "b", TierGuild, 1},
		{"guild and team", []Rule{{Agent: "a", Channel: "discord", Guild: "g1", Team: "t2"}, {Agent: "b", Channel: "discord", Guild: "g1", Team: "t1"}}, thread, "b", TierGuild, 1},
		{"team beats account", []Rule{{Agent: "a", Channel: "discord"}, {Agent: "b", Channel: "discord", Team: "t1"}}, thread, "b", TierTeam, 1},
		{"no guild", []Rule{{Agent: "a", Channel: "telegram", Guild: "g1"}}, team, "main", TierDefault, -1},
		{"no agent", []Rule{{Channel: "telegram", Account: "*"}}, team, "main", TierDefault, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			agent, why := Route(tt.rules, "main", tt.in)
			require.Equal(t, tt.agent, agent)
			require.Equal(t, tt.agent, why.Agent)
			require.Equal(t, tt.tier, why.Tier)
			require.Equal(t, tt.rule, why.Rule)
		})
	}
}

func TestMatchOf(t *testing.T) {
	m := core.Message{
		Kind: core.Group, Author: core.Author{ID: "u1"}, Guild: "g1", Roles: []string{"r1"}, Team: "t1",
		Address: core.Address{Channel: "discord", Account: "second", Conversation: "thread-9", Parent: "general", Thread: "7"},
	}
	require.Equal(t, Match{Channel: "discord", Account: "second", Conversation: "thread-9", Kind: core.Group, Peer: "thread-9", Parent: "general",
		Guild: "g1", Roles: []string{"r1"}, Team: "t1"}, MatchOf(m))
	m.Kind = core.Direct
	require.Equal(t, Match{Channel: "discord", Account: "second", Conversation: "thread-9", Kind: core.Direct, Peer: "u1", Guild: "g1",
		Roles: []string{"r1"}, Team: "t1"}, MatchOf(m))
}

func TestRouterKeepsItsRules(t *testing.T) {
	rules := []Rule{{Agent: "a", Channel: "telegram"}}
	r := NewRouter(rules, "main")
	require.Empty(t, rules[0].Account, "the caller's rules are not touched")
	rules[0].Agent = "b"
	agent, _ := r.Route(Match{Channel: "telegram", Account: "default"})
	require.Equal(t, "a", agent)
}

func TestExplanation(t *testing.T) {
	rules := []Rule{
		{Agent: "all", Channel: "discord", Account: "*"},
		{Agent: "staff", Channel: "discord", Guild: "g1", Roles: []string{"x", "y"}},
		{Agent: "desk", Channel: "discord", Account: "second", PeerKind: core.Group, Peer: "general"},
		{Agent: "old", Channel: "discord", Guild: "g1", Team: "t2"},
		{Agent: "guild", Channel: "discord", Guild: "g1"},
		{Agent: "later", Channel: "discord", Guild: "g1"},
		{Agent: "elsewhere", Channel: "telegram", Guild: "g1"},
		{Agent: "lost", Channel: "discord", Guild: "g2"},
	}
	_, why := Route(rules, "main", Match{Channel: "discord", Account: "default", Kind: core.Group, Peer: "thread-9", Parent: "general", Guild: "g1", Roles: []string{"r1"}})
	require.Equal(t, `agent guild (guild, routes[4])
  peer         routes[2] to desk no: accountId is "second"
  parent peer  routes[2] to desk no: accountId is "second"
  guild+roles  routes[1] to staff no: none of the roles x, y
  guild        routes[3] to old no: teamId is "t2"
  guild        routes[4] to guild matches
`, why.String())

	b, err := json.Marshal(why)
	require.NoError(t, err)
	require.JSONEq(t, `{"agent": "guild", "tier": "guild", "rule": 4, "steps": [
		{"tier": "peer", "rules": [{"rule": 2, "agent": "desk", "miss": "accountId is \"second\""}]},
		{"tier": "parent peer", "rules": [{"rule": 2, "agent": "desk", "miss": "accountId is \"second\""}]},
		{"tier": "guild+roles", "rules": [{"rule": 1, "agent": "staff", "miss": "none of the roles x, y"}]},
		{"tier": "guild", "rules": [{"rule": 3, "agent": "old", "miss": "teamId is \"t2\""}, {"rule": 4, "agent": "guild"}]}]}`, string(b))

	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, nil)).Info("routed", "route", why)
	require.Contains(t, out.String(), "route.agent=guild route.tier=guild route.rule=4")
}

func TestExplanationOfTheDefault(t *testing.T) {
	rules := []Rule{
		{Agent: "desk", Channel: "discord", PeerKind: core.Direct, Peer: "u1"},
		{Agent: "guild", Channel: "discord", Guild: "g1"},
		{Agent: "second", Channel: "discord", Account: "second"},
	}
	_, why := Route(rules, "main", Match{Channel: "discord", Account: "default", Kind: core.Group, Peer: "general", Guild: "g2", Roles: []string{"r1"}})
	require.Equal(t, `agent main (default)
  peer         routes[0] to desk no: peer is direct:u1
  parent peer  not in a thread with a parent
  guild+roles  no rule
  guild        routes[1] to guild no: guildId is "g1"
  team         no team
  account      routes[2] to second no: accountId is "second"
  channel      no rule
  default      no rule matched
`, why.String())
	b, err := json.Marshal(why)
	require.NoError(t, err)
	require.Contains(t, string(b), `"rule":null`)

	_, why = Route(nil, "main", Match{})
	require.Equal(t, `agent main (default)
  peer         the peer is unknown
  parent peer  not in a thread with a parent
  guild+roles  no guild or no roles
  guild        no guild
  team         no team
  account      no account
  channel      no rule
  default      no rule matched
`, why.String())
	require.NotEmpty(t, Explanation{}.String(), "the zero value prints too")
	require.Equal(t, "unknown", Tier(99).String())
}

func drawRule(t *rapid.T) Rule {
	id := rapid.SampledFrom([]string{"", "", "1", "2"})
	return Rule{
		Agent:    rapid.SampledFrom([]string{"a", "b", "c", "d", ""}).Draw(t, "agent"),
		Channel:  rapid.SampledFrom([]string{"discord", "telegram"}).Draw(t, "channel"),
		Account:  rapid.SampledFrom([]string{"", "*", "default", "second"}).Draw(t, "account"),
		PeerKind: rapid.SampledFrom([]core.ConversationKind{"", core.Direct, core.Group, "odd"}).Draw(t, "kind"),
		// Seldom: it would hide all the others.
		Conversation: rapid.SampledFrom([]string{"", "", "", "", "", "own"}).Draw(t, "conversation"),
		Peer:         id.Draw(t, "peer"), Guild: id.Draw(t, "guild"), Team: id.Draw(t, "team"),
		Roles: rapid.SliceOfN(rapid.SampledFrom([]string{"1", "2", "3"}), 0, 2).Draw(t, "roles"),
	}
}

func drawMatch(t *rapid.T) Match {
	id := rapid.SampledFrom([]string{"", "1", "2"})
	return Match{
		Channel:      rapid.SampledFrom([]string{"discord", "telegram"}).Draw(t, "in channel"),
		Account:      rapid.SampledFrom([]string{"default", "second"}).Draw(t, "in account"),
		Kind:         rapid.SampledFrom([]core.ConversationKind{core.Direct, core.Group}).Draw(t, "in kind"),
		Conversation: rapid.SampledFrom([]string{"x", "own"}).Draw(t, "in conversation"),
		Peer:         id.Draw(t, "in peer"), Parent: id.Draw(t, "in parent"), Guild: id.Draw(t, "in guild"), Team: id.Draw(t, "in team"),
		Roles: rapid.SliceOfN(rapid.SampledFrom([]string{"1", "2"}), 0, 2).Draw(t, "in roles"),
	}
}

// naive is the routing rule as the specification words it: the first rule of
// the first tier that has one.
func naive(rules []Rule, fallback string, m Match) (string, Tier, int) {
	fits := func(r Rule, peer string) bool {
		return r.Agent != "" && r.Channel == m.Channel &&
			(r.Account == "*" || r.Account == m.Account || r.Account == "" && m.Account == "default") &&
			(r.Peer == "" && r.PeerKind == "" || r.Peer == peer && r.PeerKind == m.Kind && peer != "") &&
			(r.Guild == "" || r.Guild == m.Guild) &&
			(len(r.Roles) == 0 || r.Guild != "" && slices.ContainsFunc(r.Roles, func(s string) bool { return slices.Contains(m.Roles, s) })) &&
			(r.Team == "" || r.Team == m.Team)
	}
	tiers := []func(Rule) bool{
		TierConversation: func(r Rule) bool { return r.Conversation == m.Conversation && fits(r, m.Peer) },
		TierPeer:         func(r Rule) bool { return r.Conversation == "" && r.Peer != "" && fits(r, m.Peer) },
		TierParentPeer:   func(r Rule) bool { return r.Conversation == "" && r.Peer != "" && fits(r, m.Parent) },
		TierGuildRoles: func(r Rule) bool {
			return r.Conversation == "" && r.Peer == "" && r.Guild != "" && len(r.Roles) > 0 && fits(r, "")
		},
		TierGuild: func(r Rule) bool {
			return r.Conversation == "" && r.Peer == "" && r.Guild != "" && len(r.Roles) == 0 && fits(r, "")
		},
		TierTeam: func(r Rule) bool {
			return r.Conversation == "" && r.Peer == "" && r.Guild == "" && r.Team != "" && fits(r, "")
		},
		TierAccount: func(r Rule) bool {
			return r.Conversation == "" && r.Peer+r.Guild+r.Team == "" && r.Account != "*" && fits(r, "")
		},
		TierChannel: func(r Rule) bool {
			return r.Conversation == "" && r.Peer+r.Guild+r.Team == "" && r.Account == "*" && fits(r, "")
		},
	}
	for tier, fitsTier := range tiers {
		if i := slices.IndexFunc(rules, fitsTier); i >= 0 {
			if Tier(tier) == TierConversation {
				return rules[i].Agent, TierConversation, -1
			}
			return rules[i].Agent, Tier(tier), i
		}
	}
	return fallback, TierDefault, -1
}

func TestRouterAgreesWithTheRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(rapid.Custom(drawRule), 0, 8).Draw(t, "rules")
		r := NewRouter(rules, "main")
		for range 4 {
			m := drawMatch(t)
			agent, tier, rule := naive(rules, "main", m)
			got, why := r.Route(m)
			require.Equal(t, []any{agent, tier, rule}, []any{got, why.Tier, why.Rule}, "%+v", m)

			// What is printed agrees with what was decided.
			steps := why.Steps()
			require.Len(t, steps, max(int(tier), 1)) // the first tier is told of only where it decides
			for _, s := range steps {
				for _, tried := range s.Rules {
					require.Equal(t, s.Tier == tier && tried.Rule == rule, tried.Miss == "", why.String())
				}
			}
			if rule >= 0 {
				last := steps[tier-1].Rules
				require.Equal(t, rule, last[len(last)-1].Rule)
			}
		}
	})
}

// manyRules has n rules of every sort; none but the last speaks of discord's
// account in general.
func manyRules(n int) []Rule {
	var rules []Rule
	for i := range n {
		id := strconv.Itoa(i)
		rules = append(rules,
			Rule{Agent: "peer", Channel: "discord", PeerKind: core.Group, Peer: id},
			Rule{Agent: "roles", Channel: "discord", Guild: id, Roles: []string{"r"}},
			Rule{Agent: "guild", Channel: "discord", Guild: id},
			Rule{Agent: "team", Channel: "discord", Team: id})
	}
	return append(rules, Rule{Agent: "account", Channel: "discord"})
}

func TestRouteDoesNotAllocate(t *testing.T) {
	r := NewRouter(manyRules(100), "main")
	m := Match{Channel: "discord", Account: "default", Kind: core.Group, Peer: "x", Parent: "y", Guild: "z", Roles: []string{"r"}, Team: "t"}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if agent, _ := r.Route(m); agent != "account" {
			panic(agent)
		}
	}))
}

func BenchmarkRoute(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		r := NewRouter(manyRules(n), "main")
		for name, m := range map[string]Match{
			"first": {Channel: "discord", Account: "default", Kind: core.Group, Peer: "0"},
			"last":  {Channel: "discord", Account: "default", Kind: core.Group, Peer: "x", Parent: "y", Guild: "z", Roles: []string{"r"}, Team: "t"},
		} {
			b.Run(fmt.Sprintf("rules=%d/%s", len(r.rules), name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r.Route(m)
				}
			})
		}
	}
}

func ExampleRouter_Route() {
	r := NewRouter([]Rule{
		{Agent: "main", Channel: "discord", Account: "*"},
		{Agent: "helpdesk", Channel: "discord", Account: "*", Guild: "123"},
	}, "main")
	agent, why := r.Route(Match{Channel: "discord", Account: "default", Kind: core.Group, Peer: "456", Guild: "123"})
	fmt.Println(agent)
	fmt.Print(why)
	// Output:
	// helpdesk
	// agent helpdesk (guild, routes[1])
	//   peer         no rule
	//   parent peer  not in a thread with a parent
	//   guild+roles  no guild or no roles
	//   guild        routes[1] to helpdesk matches
}
