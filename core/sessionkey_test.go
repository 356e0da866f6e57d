package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
)

var scopes = []core.DirectScope{core.ScopeMain, core.ScopePerPeer, core.ScopePerChannelPeer, core.ScopePerAccountChannelPeer}

// key draws a key of any kind.
func key(t *rapid.T, name string) core.SessionKey {
	agent := part(t, name+" agent")
	switch rapid.IntRange(0, 4).Draw(t, name+" kind") {
	case 0:
		return core.DirectKey(agent, rapid.SampledFrom(scopes).Draw(t, name+" scope"), address(t, name), part(t, name+" peer"))
	case 1:
		return core.GroupKey(agent, address(t, name))
	case 2:
		return core.SubagentKey(agent, part(t, name+" id"))
	case 3:
		return core.SessionKey{Agent: agent, Kind: core.SessionCron, Peer: part(t, name+" job"), Run: part(t, name+" run")}
	}
	return core.SessionKey{Agent: agent, Kind: core.SessionDashboard, Peer: part(t, name+" id")}
}

func TestSessionKeyText(t *testing.T) {
	at := core.Address{Channel: "telegram", Account: "main", Conversation: "-100", Thread: "7"}
	direct := at.InThread("")
	for text, want := range map[string]core.SessionKey{
		"agent:a:main":                               core.DirectKey("a", core.ScopeMain, direct, "42"),
		"agent:a:main:thread:7":                      core.DirectKey("a", core.ScopeMain, at, "42"),
		"agent:a:direct:42":                          core.DirectKey("a", core.ScopePerPeer, direct, "42"),
		"agent:a:telegram:direct:42":                 core.DirectKey("a", core.ScopePerChannelPeer, direct, "42"),
		"agent:a:telegram:main:direct:42":            core.DirectKey("a", core.ScopePerAccountChannelPeer, direct, "42"),
		"agent:a:telegram:main:direct:42:thread:7":   core.DirectKey("a", core.ScopePerAccountChannelPeer, at, "42"),
		"agent:a:telegram:main:group:-100":           core.GroupKey("a", direct),
		"agent:a:telegram:main:group:-100:thread:7":  core.GroupKey("a", at),
		"agent:a:subagent:01X":                       core.SubagentKey("a", "01X"),
		"agent:a:dashboard:d1":                       {Agent: "a", Kind: core.SessionDashboard, Peer: "d1"},
		"agent:a:cron:daily:run:01Y":                 {Agent: "a", Kind: core.SessionCron, Peer: "daily", Run: "01Y"},
		"agent:a:direct:thread":                      core.DirectKey("a", core.ScopePerPeer, direct, "thread"),
		"agent:a:direct:direct:direct":               core.DirectKey("a", core.ScopePerChannelPeer, core.Address{Channel: "direct"}, "direct"),
		"agent:a:x:%:group:thread:thread:thread":     core.GroupKey("a", core.Address{Channel: "x", Conversation: "thread", Thread: "thread"}),
		"agent:a%3Ab:matrix:m:group:!r%3Ah:thread:$": core.GroupKey("a:b", core.Address{Channel: "matrix", Account: "m", Conversation: "!r:h", Thread: "$"}),
	} {
		require.Equal(t, text, want.String())
		got, err := core.ParseSessionKey(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	unknown := core.DirectKey("a", "no such scope", direct, "42")
	require.Equal(t, core.DirectKey("a", core.ScopePerChannelPeer, direct, "42"), unknown)
}

func TestParseSessionKeyErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "a part is empty",
		"agent:a":                         "does not begin with agent:<id>:",
		"session:a:main":                  "does not begin with agent:<id>:",
		"agent::main":                     "a part is empty",
		"agent:a:what":                    "its form is unknown",
		"agent:a:main:x":                  "its form is unknown",
		"agent:a:x:y:channel:z":           "its form is unknown",
		"agent:a:subagent:x:dashboard:y":  "its form is unknown",
		"agent:a:subagent:x:thread:t":     "a subagent session has no thread",
		"agent:a:cron:j:run:r:thread:t":   "a cron session has no thread",
		"agent:a:dashboard:d:thread:t":    "a dashboard session has no thread",
		"agent:a:%:%:direct:p":            "it is ambiguous",
		"agent:a:%:direct:p":              "it is ambiguous",
		"agent:a:main:thread:%":           "the thread is empty",
		"agent:a:subagent:x:thread:%":     "the thread is empty",
		"agent:a:telegram:direct:4 2":     "byte 0x20 is not escaped",
		"agent:a:telegram:direct:4%412":   "needless escape",
		"agent:a:telegram:main:group:a/b": "byte 0x2F is not escaped",
	} {
		_, err := core.ParseSessionKey(text)
		require.ErrorIs(t, err, core.ErrBadSessionKey, text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestNestedSubagentKeysAreRead(t *testing.T) {
	k, err := core.ParseSessionKey("agent:a:subagent:x:subagent:y")
	require.NoError(t, err)
	require.Equal(t, core.SubagentKey("a", "y"), k)
}

// Two keys have the same text exactly when they have the same parts, and the
// text leads back to the parts.
func TestSessionKeysAreOneToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := key(t, "a"), key(t, "b")
		require.Equal(t, a == b, a.String() == b.String())
		got, err := core.ParseSessionKey(a.String())
		require.NoError(t, err)
		require.Equal(t, a, got)
	})
}

// what says of a key what must tell it from others: the agent, the kind and the
// parts which kind and scope keep, the thread among them. It is written down
// here apart from the code.
func what(agent, kind string, scope core.DirectScope, at core.Address, peer, id string) []string {
	switch kind {
	case "group":
		return []string{agent, "group", at.Channel, at.Account, at.Conversation, at.Thread}
	case "subagent", "dashboard":
		return []string{agent, kind, id}
	case "cron":
		return []string{agent, "cron", peer, id}
	}
	switch scope {
	case core.ScopeMain:
		return []string{agent, "main", at.Thread}
	case core.ScopePerPeer:
		return []string{agent, "direct", "peer", peer, at.Thread}
	case core.ScopePerAccountChannelPeer:
		return []string{agent, "direct", "account", at.Channel, at.Account, peer, at.Thread}
	}
	return []string{agent, "direct", "channel", at.Channel, peer, at.Thread}
}

// Two keys are equal exactly when the same is to be told of them, whatever the
// ids are made of. The parts come from few words, so that equal ones meet, and
// are those that a form of keys could take for another part.
func TestKeysAreEqualWhenTheirPartsAre(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "A", "a-b", "main", "direct", "group", "thread", "subagent", "cron", "run", "a:b", "b:thread:a", "%", "%25", "$AbC"})
	draw := func(t *rapid.T, name string) (core.SessionKey, []string) {
		kind := rapid.SampledFrom([]string{"direct", "group", "subagent", "dashboard", "cron"}).Draw(t, name+" kind")
		scope := rapid.SampledFrom(scopes).Draw(t, name+" scope")
		agent, peer, id := word.Draw(t, name+" agent"), word.Draw(t, name+" peer"), word.Draw(t, name+" id")
		at := core.Address{Channel: word.Draw(t, name+" channel"), Account: word.Draw(t, name+" account"), Conversation: word.Draw(t, name+" conversation")}
		if rapid.Bool().Draw(t, name+" in a thread") {
			at.Thread = word.Draw(t, name+" thread")
		}
		parts := what(agent, kind, scope, at, peer, id)
		switch kind {
		case "group":
			return core.GroupKey(agent, at), parts
		case "subagent":
			return core.SubagentKey(agent, id), parts
		case "dashboard":
			return core.DashboardKey(agent, id), parts
		case "cron":
			return core.SessionKey{Agent: agent, Kind: core.SessionCron, Peer: peer, Run: id}, parts
		}
		return core.DirectKey(agent, scope, at, peer), parts
	}
	met := 0
	rapid.Check(t, func(t *rapid.T) {
		var keys []core.SessionKey
		var all [][]string
		for i := range 30 {
			key, parts := draw(t, fmt.Sprint(i))
			for j, other := range all {
				same := slices.Equal(parts, other)
				require.Equal(t, same, key == keys[j], "%q %q", key, keys[j])
				require.Equal(t, same, key.String() == keys[j].String(), "%q %q", key, keys[j])
				if same {
					met++
				}
			}
			keys, all = append(keys, key), append(all, parts)
		}
	})
	require.NotZero(t, met, "no two keys were the same, so nothing was tested of such")
}

// B161: a key is made of parts and read back, whatever the id of the agent.
func TestB161_KeysAreMadeOfParts(t *testing.T) {
	for _, agent := range []string{"my-agent", "a-b-c", "a_b", "main", "subagent", "a:b"} {
		for _, key := range []core.SessionKey{
			core.SubagentKey(agent, "01-x"), core.DashboardKey(agent, "01-x"), core.GroupKey(agent, core.Address{Channel: "x", Account: "y", Conversation: "z"}),
			core.DirectKey(agent, core.ScopeMain, core.Address{Channel: "x"}, "p"), {Agent: agent, Kind: core.SessionCron, Peer: "job-1", Run: "r-1"},
		} {
			back, err := core.ParseSessionKey(key.String())
			require.NoError(t, err)
			require.Equal(t, key, back)
			require.Equal(t, agent, back.Agent)
		}
	}
}

// A key keeps the parts that its kind and scope keep, and no others.
func TestSessionKeysKeepTheirParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		agent, peer, at := part(t, "agent"), part(t, "peer"), address(t, "a")
		scope := rapid.SampledFrom(scopes).Draw(t, "scope")
		keeps := map[string]map[core.DirectScope]bool{
			"channel": {core.ScopePerChannelPeer: true, core.ScopePerAccountChannelPeer: true},
			"account": {core.ScopePerAccountChannelPeer: true},
			"peer":    {core.ScopePerPeer: true, core.ScopePerChannelPeer: true, core.ScopePerAccountChannelPeer: true},
		}
		direct, group := core.DirectKey(agent, scope, at, peer), core.GroupKey(agent, at)

		other := at
		other.Channel += "2"
		require.Equal(t, keeps["channel"][scope], direct != core.DirectKey(agent, scope, other, peer))
		require.NotEqual(t, group, core.GroupKey(agent, other))
		other = at
		other.Account += "2"
		require.Equal(t, keeps["account"][scope], direct != core.DirectKey(agent, scope, other, peer))
		require.NotEqual(t, group, core.GroupKey(agent, other))
		other = at
		other.Conversation += "2" // a direct chat is its person
		require.Equal(t, direct, core.DirectKey(agent, scope, other, peer))
		require.NotEqual(t, group, core.GroupKey(agent, other))
		other = at.InThread(at.Thread + "2")
		require.NotEqual(t, direct, core.DirectKey(agent, scope, other, peer))
		require.NotEqual(t, group, core.GroupKey(agent, other))
		other = at
		other.Parent += "2"
		require.Equal(t, direct, core.DirectKey(agent, scope, other, peer))
		require.Equal(t, group, core.GroupKey(agent, other))

		require.Equal(t, keeps["peer"][scope], direct != core.DirectKey(agent, scope, at, peer+"2"))
		require.NotEqual(t, direct, core.DirectKey(agent+"2", scope, at, peer))
		require.NotEqual(t, direct, group)
	})
}

// Matrix ids differ by case; a key and an address keep it.
func TestB219_IdsKeepTheirCase(t *testing.T) {
	at := core.Address{Channel: "matrix", Account: "main", Conversation: "!Room:Host", Thread: "$AbC"}
	k := core.GroupKey("a", at)
	require.Equal(t, "$AbC", k.Thread)
	require.Equal(t, "agent:a:matrix:main:group:!Room%3AHost:thread:$AbC", k.String())
	require.NotEqual(t, k, core.GroupKey("a", at.InThread("$abc")))
	parsed, err := core.ParseSessionKey(k.String())
	require.NoError(t, err)
	require.Equal(t, k, parsed)
	back, err := core.ParseAddress(at.String())
	require.NoError(t, err)
	require.Equal(t, at, back)
}

// Two bots in one group never share a history; one person writing to both does
// or does not, as the scope says.
func TestB221_AccountsAreTellable(t *testing.T) {
	one := core.Address{Channel: "telegram", Account: "one", Conversation: "-100"}
	two := one
	two.Account = "two"
	require.NotEqual(t, core.GroupKey("a", one), core.GroupKey("a", two))
	require.NotEqual(t, core.GroupKey("a", one).String(), core.GroupKey("a", two).String())
	for _, scope := range scopes {
		apart := core.DirectKey("a", scope, one, "42") != core.DirectKey("a", scope, two, "42")
		require.Equal(t, scope == core.ScopePerAccountChannelPeer, apart, scope)
	}
}

func FuzzParseSessionKey(f *testing.F) {
	for _, s := range []string{
		"agent:a:main", "agent:a:x:direct:p:thread:t", "agent:a:x:y:group:z", "agent:a:subagent:x:subagent:y",
		"agent:a:cron:j:run:r", "agent:%:dashboard:%", "agent:a:thread:thread:thread",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := core.ParseSessionKey(s)
		if err != nil {
			require.ErrorIs(t, err, core.ErrBadSessionKey)
			return
		}
		if strings.Count(s, ":subagent:") < 2 {
			require.Equal(t, s, k.String())
		}
		again, err := core.ParseSessionKey(k.String())
		require.NoError(t, err)
		require.Equal(t, k, again)
	})
}

func ExampleGroupKey() {
	at := core.Address{Channel: "telegram", Account: "main", Conversation: "-100123", Thread: "7"}
	fmt.Println(core.GroupKey("helper", at))
	// Output: agent:helper:telegram:main:group:-100123:thread:7
}
