package policy

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ptr[T any](v T) *T { return &v }

// direct is a message of alice in her direct chat with the bot.
func direct(s Settings, edit ...func(*Request)) Request {
	return request(core.Direct, core.Address{Channel: "console", Account: "default", Conversation: "alice"}, s, edit)
}

// group is a message of alice in the group "team" that mentions the bot.
func group(s Settings, edit ...func(*Request)) Request {
	r := request(core.Group, core.Address{Channel: "telegram", Account: "default", Conversation: "team"}, s, nil)
	r.Mentioned = true
	for _, f := range edit {
		f(&r)
	}
	return r
}

func request(kind core.ConversationKind, at core.Address, s Settings, edit []func(*Request)) Request {
	r := Request{Author: core.Author{ID: "alice"}, Kind: kind, Event: core.EventMessage, Address: at, Settings: s}
	for _, f := range edit {
		f(&r)
	}
	return r
}

func thread(id string) func(*Request)         { return func(r *Request) { r.Address.Thread = id } }
func author(id string) func(*Request)         { return func(r *Request) { r.Author.ID = id } }
func unmentioned(r *Request)                  { r.Mentioned = false }
func bound(r *Request)                        { r.Bound = true }
func bot(r *Request)                          { r.Author.Bot = true }
func looping(r *Request)                      { r.Looping = true }
func event(e core.EventKind) func(*Request)   { return func(r *Request) { r.Event = e } }
func command(form CommandForm) func(*Request) { return func(r *Request) { r.Command = form } }
func inThreadOf(parent string) func(*Request) { return func(r *Request) { r.Address.Parent = parent } }
func conversation(id string) func(*Request)   { return func(r *Request) { r.Address.Conversation = id } }
func listed(groups map[string]Group) Settings { return Settings{Groups: groups} }
func one(id string, p Place) map[string]Group { return map[string]Group{id: {Place: p}} }
func topic(id string, p Place) map[string]Group {
	return map[string]Group{"team": {Topics: map[string]Place{id: p}}}
}

func TestDecide(t *testing.T) {
	open := Settings{DMPolicy: DMOpen, GroupPolicy: GroupOpen}
	tests := []struct {
		name string
		in   Request
		want string
	}{
		{"own message", direct(open, func(r *Request) { r.Author = core.Author{Self: true} }), "ignore: own-message"},
		{"own message beats a missing place", Request{Author: core.Author{Self: true, ID: "me"}}, "ignore: own-message"},
		{"no sender", direct(open, author("")), "deny: no-sender"},
		{"no sender, though everybody is listed", direct(Settings{DMPolicy: DMOpen, AllowFrom: []string{"*"}}, author("")), "deny: no-sender"},
		{"a name is no id", direct(open, func(r *Request) { r.Author = core.Author{Name: "alice"} }), "deny: no-sender"},
		{"no conversation", direct(open, conversation("")), "deny: no-place"},
		{"no account", direct(open, func(r *Request) { r.Address.Account = "" }), "deny: no-place"},
		{"no channel", direct(open, func(r *Request) { r.Address.Channel = "" }), "deny: no-place"},
		{"no kind", direct(open, func(r *Request) { r.Kind = "" }), "deny: unknown-kind"},
		{"nothing", Request{}, "deny: no-sender"},

		{"dm by default: pairing", direct(Settings{}), "pair: not-paired (dmPolicy)"},
		{"dm pairing, paired", direct(Settings{DMPolicy: DMPairing}, func(r *Request) { r.Paired = true }), "allow: sender-paired (dmPolicy)"},
		{"dm pairing, listed", direct(Settings{DMPolicy: DMPairing, AllowFrom: []string{"alice"}}), "allow: sender-listed (allowFrom)"},
		{"dm pairing, not listed", direct(Settings{DMPolicy: DMPairing, AllowFrom: []string{"bob"}}), "pair: not-paired (dmPolicy)"},
		{"dm pairing, a bot cannot pair", direct(Settings{AllowBots: BotsAll}, bot), "deny: sender-not-listed (allowFrom)"},
		{"dm allowlist, listed", direct(Settings{DMPolicy: DMAllowlist, AllowFrom: []string{"alice"}}), "allow: sender-listed (allowFrom)"},
		{"dm allowlist, with channel", direct(Settings{DMPolicy: DMAllowlist, AllowFrom: []string{"console:alice"}}), "allow: sender-listed (allowFrom)"},
		{"dm allowlist, other channel", direct(Settings{DMPolicy: DMAllowlist, AllowFrom: []string{"discord:alice"}}), "deny: sender-not-listed (allowFrom)"},
		{"dm allowlist, everybody", direct(Settings{DMPolicy: DMAllowlist, AllowFrom: []string{"*"}}), "allow: sender-listed (allowFrom)"},
		{"dm allowlist, case counts", direct(Settings{DMPolicy: DMAllowlist, AllowFrom: []string{"Alice"}}), "deny: sender-not-listed (allowFrom)"},
		{"dm allowlist, no list", direct(Settings{DMPolicy: DMAllowlist}), "deny: sender-not-listed (allowFrom)"},
		{"dm open", direct(Settings{DMPolicy: DMOpen}), "allow: dm-open (dmPolicy)"},
		{"dm open to a list", direct(Settings{DMPolicy: DMOpen, AllowFrom: []string{"bob"}}), "deny: sender-not-listed (allowFrom)"},
		{"dm open to nobody", direct(Settings{DMPolicy: DMOpen, AllowFrom: []string{}}), "deny: sender-not-listed (allowFrom)"},
		{"dm disabled", direct(Settings{DMPolicy: DMDisabled, AllowFrom: []string{"*"}}), "deny: dm-disabled (dmPolicy)"},
		{"dm policy unknown", direct(Settings{DMPolicy: "opne", AllowFrom: []string{"*"}}), "deny: unknown-policy (dmPolicy)"},
		{"dm needs no mention", direct(Settings{DMPolicy: DMOpen, RequireMention: ptr(true)}), "allow: dm-open (dmPolicy)"},
		{"dm in a thread", direct(Settings{DMPolicy: DMOpen}, thread("1")), "allow: dm-open (dmPolicy)"},

		{"group by default: allowlist", group(Settings{}), "deny: group-not-listed (groups)"},
		{"group listed", group(listed(one("team", Place{}))), `allow: group-listed (groups["team"])`},
		{"group listed by *", group(listed(one("*", Place{}))), `allow: group-listed (groups["*"])`},
		{"group disabled", group(Settings{GroupPolicy: GroupDisabled, Groups: one("team", Place{})}), "deny: group-disabled (groupPolicy)"},
		{"group policy unknown", group(Settings{GroupPolicy: "on", Groups: one("team", Place{})}), "deny: unknown-policy (groupPolicy)"},
		{"group open", group(open), "allow: group-open (groupPolicy)"},
		{"group open, direct list does not count", group(Settings{GroupPolicy: GroupOpen, AllowFrom: []string{"bob"}}), "allow: group-open (groupPolicy)"},
		{"group open, its own list counts", group(Settings{GroupPolicy: GroupOpen, GroupAllowFrom: []string{"bob"}}), "deny: sender-not-listed (groupAllowFrom)"},
		{"group listed, direct list counts", group(Settings{AllowFrom: []string{"bob"}, Groups: one("team", Place{})}), "deny: sender-not-listed (allowFrom)"},
		{"group listed, people listed", group(Settings{GroupAllowFrom: []string{"alice"}, Groups: one("team", Place{})}), "allow: sender-listed (groupAllowFrom)"},
		{"group listed, nearer list wins", group(Settings{GroupAllowFrom: []string{"alice"}, Groups: one("team", Place{AllowFrom: []string{"bob"}})}), `deny: sender-not-listed (groups["team"].allowFrom)`},
		{"group open, nearer list wins", group(Settings{GroupPolicy: GroupOpen, Groups: one("team", Place{AllowFrom: []string{"bob"}})}), `deny: sender-not-listed (groups["team"].allowFrom)`},
		{"group, a pairing does not count", group(Settings{AllowFrom: []string{"bob"}, Groups: one("team", Place{})}, func(r *Request) { r.Paired = true }), "deny: sender-not-listed (allowFrom)"},
		{"group, nobody", group(listed(one("team", Place{AllowFrom: []string{}}))), `deny: sender-not-listed (groups["team"].allowFrom)`},
		{"group switched off", group(listed(one("team", Place{Enabled: ptr(false)}))), `deny: place-disabled (groups["team"].enabled)`},
		{"group role", group(listed(one("team", Place{Roles: []string{"staff"}})), func(r *Request) { r.Roles = []string{"x", "staff"} }), `allow: role-listed (groups["team"].roles)`},
		{"group role missing", group(listed(one("team", Place{Roles: []string{"staff"}}))), `deny: sender-not-listed (groups["team"].roles)`},
		{"group roles replace the wider people", group(Settings{GroupAllowFrom: []string{"alice"}, Groups: one("team", Place{Roles: []string{"staff"}})}), `deny: sender-not-listed (groups["team"].roles)`},
		{"an exact entry replaces *", group(listed(map[string]Group{"*": {Place: Place{Enabled: ptr(false)}}, "team": {}})), `allow: group-listed (groups["team"])`},
		{"an exact entry beats *", group(listed(map[string]Group{"*": {}, "team": {Place: Place{Enabled: ptr(false)}}})), `deny: place-disabled (groups["team"].enabled)`},

		{"topic: nearest wins", group(listed(map[string]Group{"team": {Place: Place{Enabled: ptr(false)}, Topics: map[string]Place{"7": {Enabled: ptr(true)}}}}), thread("7")), `allow: group-listed (groups["team"].topics["7"])`},
		{"topic: *", group(listed(topic("*", Place{Enabled: ptr(false)})), thread("8")), `deny: place-disabled (groups["team"].topics["*"].enabled)`},
		{"topic: exact beats *", group(listed(map[string]Group{"team": {Topics: map[string]Place{"*": {Enabled: ptr(false)}, "7": {}}}}), thread("7")), `allow: group-listed (groups["team"].topics["7"])`},
		{"topic: not the group itself", group(listed(topic("*", Place{Enabled: ptr(false)}))), `allow: group-listed (groups["team"])`},
		{"topic: of every group", group(listed(map[string]Group{"*": {Topics: map[string]Place{"7": {Enabled: ptr(false)}}}}), thread("7")), `deny: place-disabled (groups["*"].topics["7"].enabled)`},

		{"mention needed", group(open, unmentioned), "ignore: not-addressed (requireMention)"},
		{"mention needed in a topic", group(listed(topic("7", Place{RequireMention: ptr(true)})), thread("7"), unmentioned), `ignore: not-addressed (groups["team"].topics["7"].requireMention)`},
		{"mention not needed", group(Settings{GroupPolicy: GroupOpen, RequireMention: ptr(false)}, unmentioned), "allow: group-open (groupPolicy)"},
		{"mention not needed in this group", group(listed(one("team", Place{RequireMention: ptr(false)})), unmentioned), `allow: group-listed (groups["team"])`},
		{"mention needed in this topic only", group(Settings{GroupPolicy: GroupOpen, RequireMention: ptr(false), Groups: topic("7", Place{RequireMention: ptr(true)})}, thread("7"), unmentioned), `ignore: not-addressed (groups["team"].topics["7"].requireMention)`},
		{"bound thread needs no mention", group(open, thread("7"), bound, unmentioned), "allow: group-open (groupPolicy)"},
		{"bound thread that is a conversation", group(open, inThreadOf("general"), bound, unmentioned), "allow: group-open (groupPolicy)"},
		{"bound group keeps its mention rule", group(open, bound, unmentioned), "ignore: not-addressed (requireMention)"},
		{"reaction is gated", group(open, event(core.EventReaction), unmentioned), "ignore: not-addressed (requireMention)"},
		{"edit is not", group(open, event(core.EventEdit), unmentioned), "allow: group-open (groupPolicy)"},
		{"button is not", group(open, event(core.EventPress), unmentioned), "allow: group-open (groupPolicy)"},
		{"button of an outsider", group(Settings{}, event(core.EventPress)), "deny: group-not-listed (groups)"},
		{"reaction of an outsider", direct(Settings{DMPolicy: DMAllowlist}, event(core.EventReaction)), "deny: sender-not-listed (allowFrom)"},

		{"command to us needs no mention", group(open, command(CommandToUs), unmentioned), "allow: group-open (groupPolicy)"},
		{"command to us of an outsider", group(Settings{}, command(CommandToUs)), "deny: group-not-listed (groups)"},
		{"bare command with a mention", group(open, command(CommandBare)), "allow: group-open (groupPolicy)"},
		{"bare command in a bound thread", group(open, command(CommandBare), thread("7"), bound, unmentioned), "allow: group-open (groupPolicy)"},

		{"bot by default", group(open, bot), "deny: bot (allowBots)"},
		{"bot, directly", direct(open, bot), "deny: bot (allowBots)"},
		{"bot heard", group(Settings{GroupPolicy: GroupOpen, AllowBots: BotsAll}, bot), "allow: group-open (groupPolicy)"},
		{"bot heard must be listed too", group(Settings{AllowBots: BotsAll, Groups: one("team", Place{AllowFrom: []string{"bob"}})}, bot), `deny: sender-not-listed (groups["team"].allowFrom)`},
		{"bot heard is gated", group(Settings{GroupPolicy: GroupOpen, AllowBots: BotsAll}, bot, unmentioned), "ignore: not-addressed (requireMention)"},
		{"bot mentions us", group(Settings{GroupPolicy: GroupOpen, AllowBots: BotsMentions}, bot), "allow: group-open (groupPolicy)"},
		{"bot must mention us in a bound thread", group(Settings{GroupPolicy: GroupOpen, AllowBots: BotsMentions}, bot, thread("7"), bound, unmentioned), "ignore: bot-not-addressed (allowBots)"},
		{"bot must mention us directly", direct(Settings{DMPolicy: DMOpen, AllowBots: BotsMentions}, bot), "ignore: bot-not-addressed (allowBots)"},
		{"bot heard in one group", group(listed(one("team", Place{AllowBots: BotsAll})), bot), `allow: group-listed (groups["team"])`},
		{"bot not heard in one group", group(Settings{AllowBots: BotsAll, Groups: one("team", Place{AllowBots: BotsNone})}, bot), `deny: bot (groups["team"].allowBots)`},
		{"bot in a loop", group(Settings{GroupPolicy: GroupOpen, AllowBots: BotsAll}, bot, looping), "ignore: bot-loop"},
		{"bot in a loop, directly", direct(Settings{DMPolicy: DMOpen, AllowBots: BotsAll}, bot, looping), "ignore: bot-loop"},
		{"bot in a loop that is gated", group(Settings{GroupPolicy: GroupOpen, AllowBots: BotsAll}, bot, looping, unmentioned), "ignore: not-addressed (requireMention)"},
		{"a person is in no loop", group(Settings{GroupPolicy: GroupOpen}, looping), "allow: group-open (groupPolicy)"},
		{"bot policy unknown", group(Settings{GroupPolicy: GroupOpen, AllowBots: "yes"}, bot), "deny: unknown-policy (allowBots)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, Decide(tt.in).String())
		})
	}
}

// TestB223_TopicMessage: a message in a configured topic is heard, or the
// rejection names the rule.
func TestB223_TopicMessage(t *testing.T) {
	groups := map[string]Group{"team": {Topics: map[string]Place{"7": {}, "8": {AllowFrom: []string{"bob"}}}}}
	require.Equal(t, Decision{Allow, ReasonGroupListed, `groups["team"].topics["7"]`}, Decide(group(listed(groups), thread("7"))))
	require.Equal(t, Decision{Deny, ReasonSenderNotListed, `groups["team"].topics["8"].allowFrom`}, Decide(group(listed(groups), thread("8"))))
	require.Equal(t, Decision{Deny, ReasonGroupNotListed, "groups"}, Decide(group(listed(groups), conversation("other"), thread("7"))))
}

// TestB227_ThreadOfAnAllowedChannel: a thread is judged by its own entry, else
// by its parent's.
func TestB227_ThreadOfAnAllowedChannel(t *testing.T) {
	slash := func(groups map[string]Group) Request {
		return group(listed(groups), command(CommandToUs), conversation("thread-9"), inThreadOf("general"), unmentioned)
	}
	tests := []struct {
		name   string
		groups map[string]Group
		want   string
	}{
		{"parent listed", one("general", Place{}), `allow: group-listed (groups["general"])`},
		{"thread listed", one("thread-9", Place{}), `allow: group-listed (groups["thread-9"])`},
		{"neither", one("random", Place{}), "deny: group-not-listed (groups)"},
		{"explicit thread wins", map[string]Group{"general": {}, "thread-9": {Place: Place{Enabled: ptr(false)}}}, `deny: place-disabled (groups["thread-9"].enabled)`},
		{"explicit thread wins the other way", map[string]Group{"general": {Place: Place{AllowFrom: []string{"bob"}}}, "thread-9": {Place: Place{AllowFrom: []string{"alice"}}}}, `allow: sender-listed (groups["thread-9"].allowFrom)`},
		{"thread inherits what it does not say", map[string]Group{"general": {Place: Place{AllowFrom: []string{"bob"}}}, "thread-9": {}}, `deny: sender-not-listed (groups["general"].allowFrom)`},
		{"thread as a topic of the parent", map[string]Group{"general": {Topics: map[string]Place{"thread-9": {Enabled: ptr(false)}}}}, `deny: place-disabled (groups["general"].topics["thread-9"].enabled)`},
		{"thread as a topic of *", map[string]Group{"*": {Topics: map[string]Place{"thread-9": {Enabled: ptr(false)}}}}, `deny: place-disabled (groups["*"].topics["thread-9"].enabled)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, Decide(slash(tt.groups)).String())
		})
	}
	inside := group(listed(one("general", Place{})), conversation("general"), thread("thread-9"), command(CommandToUs), unmentioned)
	require.True(t, Decide(inside).Allowed(), "a thread inside its conversation")
}

// TestB423_AllowlistIgnoresPairings: a stored pairing does not widen a list.
func TestB423_AllowlistIgnoresPairings(t *testing.T) {
	s := Settings{DMPolicy: DMAllowlist, AllowFrom: []string{"bob"}}
	require.Equal(t, "deny: sender-not-listed (allowFrom)", Decide(direct(s, func(r *Request) { r.Paired = true })).String())
}

// TestB425_OneDecisionForAllEntrances: a native command in a group is judged
// by the list of that group.
func TestB425_OneDecisionForAllEntrances(t *testing.T) {
	s := Settings{DMPolicy: DMDisabled, GroupAllowFrom: []string{"alice"}, Groups: one("team", Place{})}
	for _, e := range []core.EventKind{core.EventMessage, core.EventEdit, core.EventPress, core.EventReaction} {
		for _, c := range []CommandForm{NotCommand, CommandBare, CommandToUs} {
			require.True(t, Decide(group(s, event(e), command(c))).Allowed(), "%s %d", e, c)
			require.Equal(t, Deny, Decide(group(s, event(e), command(c), author("bob"))).Outcome, "%s %d", e, c)
		}
	}
}

// TestB433_CommandOfAnotherBot: it is ignored, whatever else holds.
func TestB433_CommandOfAnotherBot(t *testing.T) {
	s := Settings{GroupPolicy: GroupOpen, DMPolicy: DMOpen, RequireMention: ptr(false)}
	other := command(CommandToOther)
	for _, r := range []Request{group(s, other), group(s, other, thread("7"), bound), direct(s, other), group(Settings{}, other)} {
		require.Equal(t, Decision{Ignore, ReasonOtherBot, ""}, Decide(r))
	}
}

// TestB475_BareCommandInAGroup: where a mention is needed, it is needed for
// commands too.
func TestB475_BareCommandInAGroup(t *testing.T) {
	r := group(Settings{GroupPolicy: GroupOpen}, command(CommandBare), unmentioned)
	require.Equal(t, "ignore: not-addressed (requireMention)", Decide(r).String())
}

func TestListed(t *testing.T) {
	tests := []struct {
		list        []string
		channel, id string
		want        bool
	}{
		{nil, "telegram", "1", false},
		{[]string{""}, "telegram", "", false},
		{[]string{"*"}, "telegram", "", false},
		{[]string{"*"}, "telegram", "1", true},
		{[]string{"1"}, "telegram", "1", true},
		{[]string{"01", " 1", "1 ", "@1"}, "telegram", "1", false},
		{[]string{"telegram:1"}, "telegram", "1", true},
		{[]string{"telegram:1"}, "discord", "1", false},
		{[]string{"telegram:"}, "telegram", "1", false},
		{[]string{"Telegram:1"}, "telegram", "1", false},
		{[]string{"@a:hs"}, "matrix", "@a:hs", true},
		{[]string{"matrix:@a:hs"}, "matrix", "@a:hs", true},
		{[]string{"@A:hs"}, "matrix", "@a:hs", false},
		{[]string{":1"}, "", "1", false},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, Listed(tt.list, tt.channel, tt.id), "%v %s %s", tt.list, tt.channel, tt.id)
	}
}

// drawSettings draws settings over few ids, so that they often meet.
func drawSettings(t *rapid.T) Settings {
	flag := rapid.Ptr(rapid.Bool(), true)
	people := rapid.OneOf(rapid.Just[[]string](nil), rapid.SliceOfN(rapid.SampledFrom([]string{"alice", "bob", "*", "console:alice"}), 0, 2))
	bots := rapid.SampledFrom([]BotPolicy{"", BotsNone, BotsMentions, BotsAll, "odd"})
	place := rapid.Custom(func(t *rapid.T) Place {
		return Place{Enabled: flag.Draw(t, "enabled"), RequireMention: flag.Draw(t, "mention"), AllowFrom: people.Draw(t, "people"),
			Roles: rapid.SampledFrom([][]string{nil, {"staff"}}).Draw(t, "roles"), AllowBots: bots.Draw(t, "bots")}
	})
	groups := rapid.MapOfN(rapid.SampledFrom([]string{"team", "parent", "*"}), rapid.Custom(func(t *rapid.T) Group {
		return Group{Place: place.Draw(t, "place"), Topics: rapid.MapOfN(rapid.SampledFrom([]string{"7", "*", "team"}), place, 0, 2).Draw(t, "topics")}
	}), 0, 3)
	return Settings{
		DMPolicy:    rapid.SampledFrom([]DMPolicy{"", DMPairing, DMAllowlist, DMOpen, DMDisabled, "odd"}).Draw(t, "dm"),
		AllowFrom:   people.Draw(t, "allowFrom"),
		GroupPolicy: rapid.SampledFrom([]GroupPolicy{"", GroupAllowlist, GroupOpen, GroupDisabled, "odd"}).Draw(t, "group"), GroupAllowFrom: people.Draw(t, "groupAllowFrom"),
		Groups: groups.Draw(t, "groups"), RequireMention: flag.Draw(t, "requireMention"), AllowBots: bots.Draw(t, "allowBots"),
	}
}

func drawRequest(t *rapid.T) Request {
	return Request{
		Author: core.Author{ID: rapid.SampledFrom([]string{"", "alice", "bob", "carol"}).Draw(t, "id"), Bot: rapid.Bool().Draw(t, "bot")},
		Roles:  rapid.SampledFrom([][]string{nil, {"staff"}}).Draw(t, "roles"),
		Kind:   rapid.SampledFrom([]core.ConversationKind{core.Direct, core.Group, "odd"}).Draw(t, "kind"),
		Event:  rapid.SampledFrom([]core.EventKind{core.EventMessage, core.EventEdit, core.EventPress, core.EventReaction}).Draw(t, "event"),
		Address: core.Address{
			Channel: "console", Account: "default", Conversation: rapid.SampledFrom([]string{"", "team", "x"}).Draw(t, "conversation"),
			Thread: rapid.SampledFrom([]string{"", "7", "8"}).Draw(t, "thread"), Parent: rapid.SampledFrom([]string{"", "parent"}).Draw(t, "parent"),
		},
		Mentioned: rapid.Bool().Draw(t, "mentioned"), Bound: rapid.Bool().Draw(t, "bound"),
		Command:  CommandForm(rapid.IntRange(int(NotCommand), int(CommandToUs)).Draw(t, "command")),
		Paired:   rapid.Bool().Draw(t, "paired"),
		Settings: drawSettings(t),
	}
}

// TestDenialIsAbsolute: nothing that a message can say about itself turns a
// denial into anything else, and every decision has its reason.
func TestDenialIsAbsolute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t)
		before := Decide(r)
		require.NotEqual(t, NoReason, before.Reason)
		require.NotEqual(t, "unknown", before.Reason.String())
		if before.Outcome == Allow {
			require.NotEmpty(t, r.Author.ID)
		}
		r.Mentioned, r.Bound = rapid.Bool().Draw(t, "mentioned now"), rapid.Bool().Draw(t, "bound now")
		r.Command = CommandForm(rapid.IntRange(int(NotCommand), int(CommandToUs)).Draw(t, "command now"))
		r.Event = rapid.SampledFrom([]core.EventKind{core.EventMessage, core.EventEdit, core.EventPress, core.EventReaction}).Draw(t, "event now")
		after := Decide(r)
		require.Equal(t, before.Outcome == Deny, after.Outcome == Deny)
		require.Equal(t, before.Outcome == Pair, after.Outcome == Pair)
		if before.Outcome == Deny {
			require.Equal(t, before, after)
		}
	})
}

// TestNamesDecideNothing: display names and other people's roles never count.
func TestNamesDecideNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t)
		before := Decide(r)
		r.Author.Name = rapid.SampledFrom([]string{"alice", "*", "console:alice", "staff"}).Draw(t, "name")
		require.Equal(t, before, Decide(r))
	})
}

// TestShorterListsNarrow: taking an entry out of any list never admits
// somebody.
func TestShorterListsNarrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t)
		before := Decide(r)
		s := &r.Settings
		if n := len(s.AllowFrom); n > 0 {
			s.AllowFrom = s.AllowFrom[:n-1]
		}
		if n := len(s.GroupAllowFrom); n > 0 {
			s.GroupAllowFrom = s.GroupAllowFrom[:n-1]
		}
		if after := Decide(r); after.Outcome == Allow {
			require.Equal(t, Allow, before.Outcome)
		}
	})
}

func TestDecisionLog(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	log.Info("inbound", "access", Decide(group(Settings{})))
	require.Equal(t, "level=INFO msg=inbound access.outcome=deny access.reason=group-not-listed access.rule=groups\n", out.String())
}

func TestUnknownNames(t *testing.T) {
	require.Equal(t, "unknown", Outcome(99).String())
	require.Equal(t, "unknown", Reason(99).String())
	require.Equal(t, "unknown", Stage(99).String())
	seen := map[string]bool{}
	for r := range Reason(len(reasons)) {
		require.False(t, seen[r.String()], "%d", r)
		seen[r.String()] = true
	}
}
