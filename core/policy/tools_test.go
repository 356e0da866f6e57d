package policy

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// known is the set that the tables work on.
func known() []Tool {
	var tools []Tool
	for _, name := range []string{
		"read", "write", "edit", "apply_patch", "exec", "process", "web_search", "web_fetch", "memory_search", "memory_get", "browser",
		"sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "sessions_yield", "subagents", "session_status",
		"agents_list", "message", "cron", "gateway", "delegate",
	} {
		tools = append(tools, Tool{Name: name})
	}
	return append(tools, Tool{Name: "weather", Plugin: true}, Tool{Name: "maps.search", Aliases: []string{"search"}, Plugin: true})
}

func without(names ...string) []string {
	var left []string
	for _, t := range known() {
		if !slices.Contains(names, t.Name) {
			left = append(left, t.Name)
		}
	}
	return left
}

func TestApply(t *testing.T) {
	sessions := GroupTools("sessions")
	coding := []string{"read", "write", "edit", "apply_patch", "exec", "process", "web_search", "web_fetch", "memory_search", "memory_get",
		"sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "sessions_yield", "subagents", "session_status"}
	child := func(p SubagentPolicy) ToolPolicy { return ToolPolicy{Subagent: &p} }
	lost, leaf := LostBySubagents(), append(LostBySubagents(), LostByLeaves()...)
	tests := []struct {
		name   string
		policy ToolPolicy
		want   []string
	}{
		{"nothing said", ToolPolicy{}, without()},
		{"full", ToolPolicy{Profile: ProfileFull}, without()},
		{"minimal", ToolPolicy{Profile: ProfileMinimal}, []string{"session_status"}},
		{"coding", ToolPolicy{Profile: ProfileCoding}, coding},
		{"messaging", ToolPolicy{Profile: ProfileMessaging}, append(slices.Clone(sessions[:3:3]), "sessions_spawn", "sessions_yield", "subagents", "session_status", "message")},
		{"a profile that nobody knows", ToolPolicy{Profile: "codding"}, nil},
		{"alsoAllow", ToolPolicy{Profile: ProfileMinimal, AlsoAllow: []string{"group:plugins", "delegate"}}, []string{"session_status", "delegate", "weather", "maps.search"}},
		{"alsoAllow does not narrow full", ToolPolicy{AlsoAllow: []string{"exec"}}, without()},
		{"allow", ToolPolicy{Global: Rules{Allow: []string{"read", "web_*"}}}, []string{"read", "web_search", "web_fetch"}},
		{"allow nothing", ToolPolicy{Global: Rules{Allow: []string{}}}, nil},
		{"deny", ToolPolicy{Agent: Rules{Deny: []string{"exec", "group:fs"}}}, without("exec", "read", "write", "edit", "apply_patch")},
		{"deny beats allow", ToolPolicy{Agent: Rules{Allow: []string{"exec", "read"}, Deny: []string{"exec"}}}, []string{"read"}},
		{"a later allow brings nothing back", ToolPolicy{Global: Rules{Deny: []string{"exec"}}, Agent: Rules{Allow: []string{"exec", "read"}}}, []string{"read"}},
		{"case does not count", ToolPolicy{Global: Rules{Deny: []string{"EXEC", "Group:Fs"}}}, without("exec", "read", "write", "edit", "apply_patch")},
		{"an alias counts", ToolPolicy{Global: Rules{Deny: []string{"search"}}}, without("maps.search")},
		{"so does the whole name", ToolPolicy{Global: Rules{Deny: []string{"maps.*"}}}, without("maps.search")},
		{"an unknown group is empty", ToolPolicy{Global: Rules{Deny: []string{"group:nope", "group:"}}}, without()},
		{"everything", ToolPolicy{Global: Rules{Deny: []string{"*"}}}, nil},
		{"provider", ToolPolicy{Provider: []Rules{{Deny: []string{"exec"}}}}, without("exec")},
		{"agent provider", ToolPolicy{AgentProvider: []Rules{{Deny: []string{"exec"}}}}, without("exec")},
		{"every place narrows", ToolPolicy{Place: []Rules{{Deny: []string{"exec"}}, {Deny: []string{"read"}}}}, without("exec", "read")},
		{"every sender rule narrows", ToolPolicy{Sender: []Rules{{Allow: []string{"exec", "read"}}, {Allow: []string{"read", "write"}}}}, []string{"read"}},
		{"sandbox", ToolPolicy{Sandbox: Rules{Allow: []string{"group:fs"}}}, []string{"read", "write", "edit", "apply_patch"}},
		{"orchestrator", child(SubagentPolicy{}), without(lost...)},
		{"leaf", child(SubagentPolicy{Leaf: true}), without(leaf...)},
		{"sub-agents keep what they lose lost", ToolPolicy{Profile: ProfileMinimal, AlsoAllow: []string{"message", "read"}, Subagent: &SubagentPolicy{Rules: Rules{Allow: []string{"message", "read"}}}}, []string{"read"}},
		{"sub-agents deny", child(SubagentPolicy{Leaf: true, Rules: Rules{Deny: []string{"exec"}}}), without(append(leaf, "exec")...)},
		{"sub-agents allow", child(SubagentPolicy{Leaf: true, Rules: Rules{Allow: []string{"read", "exec"}, Deny: []string{"exec"}}}), []string{"read"}},
		{"ceiling", child(SubagentPolicy{Ceiling: []string{"read", "cron"}}), []string{"read"}},
		{"ceiling of nothing", child(SubagentPolicy{Ceiling: []string{}}), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.policy.Apply(known())
			require.Equal(t, tt.want, got.Allowed)
			require.Len(t, got.Removed, len(known())-len(got.Allowed))
		})
	}
}

func TestExplain(t *testing.T) {
	set := ToolPolicy{
		Profile: ProfileCoding, Provider: []Rules{{Deny: []string{"read"}}}, Global: Rules{Deny: []string{"web_*"}},
		Agent: Rules{Allow: []string{"group:sessions", "group:fs", "exec", "memory_get"}}, AgentProvider: []Rules{{Deny: []string{"group:runtime"}}},
		Place: []Rules{{Deny: []string{"write"}}}, Sender: []Rules{{Deny: []string{"edit"}}}, Sandbox: Rules{Deny: []string{"apply_patch"}},
		Subagent: &SubagentPolicy{Leaf: true, Rules: Rules{Deny: []string{"memory_get"}}, Ceiling: []string{}},
	}.Apply(known())
	require.Empty(t, set.Allowed)
	for tool, want := range map[string]string{
		"browser":        "browser: removed by profile (not in profile coding)",
		"read":           "read: removed by provider (deny read)",
		"web_fetch":      "web_fetch: removed by global (deny web_*)",
		"memory_search":  "memory_search: removed by agent (not in allow)",
		"exec":           "exec: removed by agent provider (deny group:runtime)",
		"write":          "write: removed by group (deny write)",
		"edit":           "edit: removed by sender (deny edit)",
		"apply_patch":    "apply_patch: removed by sandbox (deny apply_patch)",
		"session_status": "session_status: removed by sub-agent (never for sub-agents)",
		"subagents":      "subagents: removed by sub-agent (not for a sub-agent without children)",
		"memory_get":     "memory_get: removed by sub-agent (deny memory_get)",
		"sessions_yield": "sessions_yield: removed by sub-agent (above the requester's own tools)",
	} {
		r, ok := set.Explain(tool)
		require.True(t, ok, tool)
		require.Equal(t, want, r.String())
		require.False(t, set.Has(tool))
	}
	_, ok := set.Explain("nope")
	require.False(t, ok)
}

func TestMatches(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"exec", "exec", true},
		{"exec", "exe", false},
		{"exec", "exec2", false},
		{"", "", true},
		{"", "x", false},
		{"*", "", true},
		{"*", "anything", true},
		{"web_*", "web_fetch", true},
		{"web_*", "web_", true},
		{"web_*", "xweb_fetch", false},
		{"*_search", "web_search", true},
		{"*_search", "web_search2", false},
		{"a*b*c", "a-b-c", true},
		{"a*b*c", "abc", true},
		{"a*b*c", "ac", false},
		{"a*b*c", "a-c-b", false},
		{"a*a", "a", false},
		{"**", "x", true},
		{"files.*", "files.read", true},
		{"files.*", "filesxread", false},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, matches(tt.pattern, tt.name), "%q %q", tt.pattern, tt.name)
	}
}

func TestSenderRules(t *testing.T) {
	exec, web, none := Rules{Deny: []string{"exec"}}, Rules{Deny: []string{"web_*"}}, Rules{Allow: []string{}}
	maps := []map[string]Rules{
		{"telegram:1": exec, "1": web, "*": none},
		{"1": web, "*": none},
		{"*": none},
		{"2": exec},
	}
	require.Equal(t, []Rules{exec, web, none}, SenderRules(maps, "telegram", "1"))
	require.Equal(t, []Rules{web, web, none}, SenderRules(maps, "discord", "1"))
	require.Equal(t, []Rules{none, none, none}, SenderRules(maps, "telegram", ""))
	require.Empty(t, SenderRules(nil, "telegram", "1"))
}

func TestSenderCeiling(t *testing.T) {
	tools := []Tool{{Name: "write"}, {Name: "exec"}, {Name: "read"}}
	require.Nil(t, SenderCeiling(tools, nil, nil))
	require.Nil(t, SenderCeiling(tools, nil, []Rules{{}}), "rules that say nothing are no ceiling")
	require.Equal(t, []string{"read", "write"}, SenderCeiling(tools, nil, []Rules{{Deny: []string{"exec"}}}))
	require.Equal(t, []string{"read"}, SenderCeiling(tools, []string{"read", "exec"}, []Rules{{Deny: []string{"exec"}}}))
	require.Equal(t, []string{"exec", "read"}, SenderCeiling(tools, []string{"read", "exec", "gone"}, nil))
	require.Equal(t, []string{}, SenderCeiling(tools, nil, []Rules{{Allow: []string{}}}), "a ceiling of nothing is a ceiling")
}

func TestGroups(t *testing.T) {
	require.True(t, slices.IsSorted(GroupNames()))
	for _, name := range GroupNames() {
		if name != pluginGroup {
			require.NotEmpty(t, GroupTools(name), name)
		}
	}
	require.Nil(t, GroupTools("nope"))
}

func drawRules(t *rapid.T, label string) Rules {
	entry := rapid.SampledFrom([]string{
		"read", "exec", "message", "gateway", "cron", "subagents", "web_*", "*", "s*n", "group:sessions", "group:fs", "group:plugins",
		"search", "MESSAGE", "nope",
	})
	list := rapid.SliceOfN(entry, 0, 4)
	return Rules{
		Allow: rapid.OneOf(rapid.Just[[]string](nil), list).Draw(t, label+" allow"),
		Deny:  rapid.SliceOfN(entry, 0, 2).Draw(t, label+" deny"),
	}
}

func drawPolicy(t *rapid.T) ToolPolicy {
	p := ToolPolicy{
		Profile:   rapid.SampledFrom([]Profile{"", ProfileMinimal, ProfileCoding, ProfileMessaging, ProfileFull, "odd"}).Draw(t, "profile"),
		AlsoAllow: drawRules(t, "also").Allow,
		Provider:  []Rules{drawRules(t, "provider")}, Global: drawRules(t, "global"), Agent: drawRules(t, "agent"),
		AgentProvider: []Rules{drawRules(t, "agent provider")}, Sandbox: drawRules(t, "sandbox"),
		Place:  []Rules{drawRules(t, "place")},
		Sender: []Rules{drawRules(t, "sender")},
	}
	if rapid.Bool().Draw(t, "child") {
		p.Subagent = &SubagentPolicy{Leaf: rapid.Bool().Draw(t, "leaf"), Rules: drawRules(t, "sub-agent")}
		if rapid.Bool().Draw(t, "capped") {
			p.Subagent.Ceiling = rapid.SliceOf(rapid.SampledFrom(without())).Draw(t, "ceiling")
		}
	}
	return p
}

// narrowed adds a rule to one stage, or the last stage as a whole.
func narrowed(t *rapid.T, p ToolPolicy) ToolPolicy {
	deny := func(r Rules) Rules {
		r.Deny = append(slices.Clone(r.Deny), rapid.SampledFrom([]string{"read", "group:sessions", "w*", "nope"}).Draw(t, "more deny"))
		return r
	}
	switch Stage(rapid.IntRange(int(StageProfile), int(StageSubagent)).Draw(t, "stage")) {
	case StageProfile:
		p.Profile = ProfileMinimal
		p.AlsoAllow = nil
	case StageProvider:
		p.Provider = append(slices.Clone(p.Provider), drawRules(t, "more provider"))
	case StageGlobal:
		p.Global = deny(p.Global)
	case StageAgent:
		p.Agent = deny(p.Agent)
	case StageAgentProvider:
		p.AgentProvider = append(slices.Clone(p.AgentProvider), drawRules(t, "more agent provider"))
	case StagePlace:
		p.Place = append(slices.Clone(p.Place), drawRules(t, "more place"))
	case StageSender:
		p.Sender = append(slices.Clone(p.Sender), drawRules(t, "more sender"))
	case StageSandbox:
		p.Sandbox = deny(p.Sandbox)
	case StageSubagent:
		s := SubagentPolicy{Leaf: true}
		if p.Subagent != nil {
			s = *p.Subagent
			s.Leaf = true
			s.Rules = deny(s.Rules)
		}
		p.Subagent = &s
	}
	return p
}

// TestOnlyNarrower: the result is a part of the input, every tool is accounted
// for, one more rule never gives a tool back, and sub-agents never have what
// they always lose.
func TestOnlyNarrower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		before := p.Apply(known())
		var all []string
		all = append(all, before.Allowed...)
		for _, r := range before.Removed {
			require.NotEmpty(t, r.Rule())
			all = append(all, r.Tool)
		}
		require.ElementsMatch(t, without(), all)

		more := narrowed(t, p)
		// Minimal is no subset of a profile without session_status.
		if more.Profile == p.Profile || p.Profile != "odd" {
			require.Subset(t, append([]string{""}, before.Allowed...), more.Apply(known()).Allowed)
		}
		if p.Subagent != nil {
			for _, name := range LostBySubagents() {
				require.False(t, before.Has(name), name)
			}
			if p.Subagent.Leaf {
				for _, name := range LostByLeaves() {
					require.False(t, before.Has(name), name)
				}
			}
			if p.Subagent.Ceiling != nil {
				require.Subset(t, p.Subagent.Ceiling, before.Allowed)
			}
		}
	})
}

// TestChildrenHaveNoMore: under the ceiling taken at its spawn a child has no
// tool that the person who asked for it would not have had, at every depth.
func TestChildrenHaveNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sender := []Rules{drawRules(t, "sender")}
		own := ToolPolicy{Sender: sender}.Apply(known())
		ceiling := SenderCeiling(known(), nil, sender)
		child := ToolPolicy{Subagent: &SubagentPolicy{Ceiling: ceiling}}.Apply(known())
		require.Subset(t, append([]string{""}, own.Allowed...), child.Allowed)

		deeper := SenderCeiling(known(), ceiling, []Rules{drawRules(t, "child sender")})
		grandchild := ToolPolicy{Subagent: &SubagentPolicy{Ceiling: deeper}}.Apply(known())
		require.Subset(t, append([]string{""}, child.Allowed...), grandchild.Allowed)
	})
}
