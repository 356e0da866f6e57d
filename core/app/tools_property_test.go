package app

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
)

// policyTools are the tools of these tests.
var policyTools = func() (out []policy.Tool) {
	for _, name := range []string{
		"read", "write", "apply_patch", "exec", "web_fetch", "browser", "sessions_list", "sessions_history", "sessions_send", "sessions_spawn",
		"sessions_yield", "subagents", "session_status", "agents_list", "message", "cron", "gateway", "delegate",
	} {
		out = append(out, policy.Tool{Name: name, Granted: slices.Contains(policy.GrantedTools(), name)})
	}
	return out
}()

var policyRoom = core.Address{Channel: "console", Account: "default", Conversation: "team"}

// people who write in the room.
var people = []string{"alice", "bob", "carol"}

func drawRules(t *rapid.T, label string) (r config.ToolRules) {
	if rapid.IntRange(0, 3).Draw(t, label+" says something") > 0 {
		return r
	}
	entry := rapid.SampledFrom([]string{
		"read", "write", "exec", "MESSAGE", "gateway", "sessions_*", "sessions_spawn", "group:sessions", "group:fs", "session_status", "subagents", "s*n", "*",
	})
	if rapid.Bool().Draw(t, label+" allows") {
		r.Allow = rapid.SliceOfN(entry, 1, 5).Draw(t, label+" allow")
	}
	r.Deny = rapid.SliceOfN(entry, 0, 2).Draw(t, label+" deny")
	return r
}

func drawProfile(t *rapid.T, label string) config.ToolProfile {
	return rapid.SampledFrom([]config.ToolProfile{"", config.ToolProfile(policy.ProfileCoding), config.ToolProfile(policy.ProfileMessaging), config.ToolProfile(policy.ProfileFull)}).Draw(t, label)
}

// drawConfig draws what of a configuration is about tools; the agents are a and
// b.
func drawConfig(t *rapid.T, label string) *snapshot {
	cfg, _, err := config.Parse("<drawn>", []byte(`{
  models: { providers: { demo: { type: "scripted" } } },
  agents: { defaults: { model: "demo/m" }, entries: { a: { default: true }, b: {} } },
  channels: { console: { dmPolicy: "open", groupPolicy: "open", accounts: { default: {} } } },
}`), config.Options{})
	require.NoError(t, err)
	cfg.Tools.Profile, cfg.Tools.ToolRules = drawProfile(t, label+" profile"), drawRules(t, label+" global")
	cfg.Tools.ByProvider = map[string]config.ToolRules{"demo": drawRules(t, label+" provider"), "demo/m": drawRules(t, label+" model")}
	cfg.Tools.Subagents.Tools = drawRules(t, label+" sub-agents")
	for _, id := range []string{"a", "b"} {
		e := cfg.Agents.Entries[id]
		e.Tools.Profile, e.Tools.ToolRules = drawProfile(t, label+id+" profile"), drawRules(t, label+id)
		e.Tools.ByProvider = map[string]config.ToolRules{"demo": drawRules(t, label+id+" provider")}
		e.Subagents.MaxSpawnDepth = config.Some(rapid.IntRange(1, 5).Draw(t, label+id+" depth"))
		cfg.Agents.Entries[id] = e
	}
	l := &snapshot{cfg: cfg, settings: allAccess(cfg)}
	s := l.settings[accountID{"console", "default"}]
	s.Groups = map[string]policy.Group{"team": {Place: policy.Place{Tools: rules(drawRules(t, label+" group")), ToolsBySender: map[string]policy.Rules{
		"alice": rules(drawRules(t, label+" alice")), "bob": rules(drawRules(t, label+" bob")),
	}}}}
	l.settings[accountID{"console", "default"}] = s
	return l
}

// link is a turn in a chain of spawns: who asked, and under which rules.
type link struct {
	scope agent.Scope
	// above are the rules by sender under which each spawn of the chain was made.
	above [][]policy.Rules
}

func message(l *snapshot, s agent.Scope, who string) agent.Scope {
	s.Turn.Kind, s.Turn.Owner, s.Turn.ReplyTo = store.InboxMessage, "console:"+who, policyRoom
	s.Turn.Policy = l.access("console", "default").ScopeOf(core.Message{Kind: core.Group, Address: policyRoom, Author: core.Author{ID: who}}).String()
	return s
}

func chat(t *rapid.T, l *snapshot) link {
	who := rapid.SampledFrom(people).Draw(t, "who")
	return link{scope: message(l, agent.Scope{Agent: "a", Model: "demo/m"}, who)}
}

// spawn is what subagent does with a spawn from a turn.
func (k link) spawn(l *snapshot, id string, n int) link {
	_, sender, inherited := l.senderPolicy(k.scope)
	run := &core.Run{ID: fmt.Sprint(n), Role: "orchestrator", Agent: id, Depth: k.scope.Session.Depth + 1}
	set, _ := l.cfg.Agent(k.scope.Agent)
	if run.Depth >= set.Subagents.MaxSpawnDepth {
		run.Role = "leaf"
	}
	run.Spec = core.SpawnSpec{ToolCeiling: policy.SenderCeiling(policyTools, inherited, sender), AskedAt: policyRoom, Policy: k.scope.Turn.Policy}
	child := link{above: slices.Clone(k.above)}
	if k.scope.Person() {
		child.above = nil // what holds is what that person may do
	}
	child.above = append(child.above, sender)
	child.scope = agent.Scope{
		Agent: id, Model: "demo/m", Run: run, Child: run, Session: store.Session{Kind: core.SessionSubagent, Depth: run.Depth},
		Turn: store.Turn{Kind: store.InboxTask, Policy: k.scope.Turn.Policy, Owner: k.scope.Turn.Owner},
	}
	return child
}

func has(l *snapshot, s agent.Scope) policy.Toolset { return l.toolPolicy(s).Apply(policyTools) }

// loses requires that a set lacks what sub-agents and leaves always lack.
func loses(t *rapid.T, set policy.Toolset, leaf bool) {
	for _, name := range policy.LostBySubagents() {
		require.False(t, set.Has(name), name)
	}
	if leaf {
		for _, name := range policy.LostByLeaves() {
			require.False(t, set.Has(name), name)
		}
	}
}

// TestChildrenOnlyNarrow draws chains of spawns of any depth, by people of
// different rights, across agents, while the configuration changes. At each
// link, in the child's own turns and in those that nobody writes:
//
//   - no tool that the rules of any sender above took away at the spawn, whatever
//     the rules of senders are by now;
//   - nothing that sub-agents or leaves lose, a stored leaf being one for ever;
//   - nothing that a live rule denies;
//   - under one configuration and one agent no tool that the requester lacks.
func TestChildrenOnlyNarrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawConfig(t, "first")
		k := chat(t, l)
		for n := range rapid.IntRange(1, 5).Draw(t, "depth") {
			if !has(l, k.scope).Has("sessions_spawn") {
				return // a person's own /subagents spawn apart, it has no children
			}
			id := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "agent")
			child := k.spawn(l, id, n)
			if id == k.scope.Agent {
				require.Subset(t, append(has(l, k.scope).Allowed, ""), append(has(l, child.scope).Allowed, ""), "a child of its own agent")
			}
			k = child
			if rapid.Bool().Draw(t, "changes") {
				l = drawConfig(t, fmt.Sprint("later ", n))
			}
			set := has(l, k.scope)
			for _, sender := range k.above {
				for _, tool := range (policy.ToolPolicy{Sender: sender}).Apply(policyTools).Removed {
					require.False(t, set.Has(tool.Tool), "%s was out of reach of whoever asked", tool)
				}
			}
			own, _ := l.cfg.Agent(id)
			loses(t, set, k.scope.Run.Role == "leaf" || k.scope.Session.Depth >= own.Subagents.MaxSpawnDepth)
			for _, deny := range slices.Concat(l.cfg.Tools.Deny, own.Tools.Deny, l.cfg.Tools.Subagents.Tools.Deny, l.cfg.Tools.ByProvider["demo"].Deny) {
				for _, name := range set.Allowed {
					require.False(t, policy.Names(deny, name), "%s is denied by %s", name, deny)
				}
			}
			// A late completion, when the run has ended, is nobody's message.
			late := k.scope
			late.Run, late.Turn.Kind = nil, store.InboxCompletion
			require.Equal(t, set, has(l, late))
		}
	})
}

// TestAPersonInAThreadHasTheirOwnPolicy: whoever writes to a bound child has
// what their own rules leave now, not what the one who asked for it had; what
// sub-agents lose stays lost.
func TestAPersonInAThreadHasTheirOwnPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawConfig(t, "first")
		k := chat(t, l).spawn(l, "a", 1)
		if rapid.Bool().Draw(t, "changes") {
			l = drawConfig(t, "later")
		}
		who := rapid.SampledFrom(people).Draw(t, "writer")
		set := has(l, message(l, k.scope, who))
		_, bySender := l.access("console", "default").ToolsAt(policyRoom, "")
		want := l.toolPolicy(k.scope)
		want.Subagent.Ceiling, want.Sender = nil, policy.SenderRules(bySender, "console", who)
		require.Equal(t, want.Apply(policyTools).Allowed, set.Allowed)
		own, _ := l.cfg.Agent("a")
		loses(t, set, k.scope.Child.Role == "leaf" || own.Subagents.MaxSpawnDepth <= 1)
	})
}

// TestOneMoreDenyNeverHelps: whatever denies a tool more in a later
// configuration, no turn of any depth gets a tool by it.
func TestOneMoreDenyNeverHelps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawConfig(t, "first")
		k := chat(t, l)
		for n := range rapid.IntRange(0, 3).Draw(t, "depth") {
			k = k.spawn(l, "a", n)
		}
		before := has(l, k.scope)
		deny := rapid.SampledFrom([]string{"read", "group:sessions", "w*", "*", "nothing"}).Draw(t, "deny")
		add := func(r *config.ToolRules) { r.Deny = append(slices.Clone(r.Deny), deny) }
		switch rapid.IntRange(0, 3).Draw(t, "where") {
		case 0:
			add(&l.cfg.Tools.ToolRules)
		case 1:
			e := l.cfg.Agents.Entries["a"]
			add(&e.Tools.ToolRules)
			l.cfg.Agents.Entries["a"] = e
		case 2:
			add(&l.cfg.Tools.Subagents.Tools)
		case 3:
			r := l.cfg.Tools.ByProvider["demo"]
			add(&r)
			l.cfg.Tools.ByProvider["demo"] = r
		}
		require.Subset(t, append(before.Allowed, ""), append(has(l, k.scope).Allowed, ""))
	})
}

// TestAConversationThatWasSentAMessage answers it with no more than the sender
// had.
func TestAConversationThatWasSentAMessage(t *testing.T) {
	cfg, _, err := config.Parse("<test>", []byte(`{ models: { providers: { demo: { type: "scripted" } } }, agents: { defaults: { model: "demo/m" }, entries: { a: {} } } }`), config.Options{})
	require.NoError(t, err)
	run := &core.Run{Spec: core.SpawnSpec{ToolCeiling: []string{"read"}}}
	scope := agent.Scope{Agent: "a", Model: "demo/m", Run: run, Child: run, Turn: store.Turn{Kind: store.InboxTask}}
	require.Equal(t, []string{"read"}, has(&snapshot{cfg: cfg}, scope).Allowed)
}
