package policy

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawTools draws some of the tools, some of which were granted.
func drawTools(t *rapid.T) []Tool {
	var tools []Tool
	for _, tool := range known() {
		if rapid.IntRange(0, 3).Draw(t, tool.Name) > 0 {
			tool.Granted = rapid.Bool().Draw(t, tool.Name+" granted")
			tools = append(tools, tool)
		}
	}
	return tools
}

// upTo is the policy with no stage after one, and none at all before the first.
func (p ToolPolicy) upTo(last int) (out ToolPolicy) {
	for stage := StageProfile; int(stage) <= last; stage++ {
		switch stage {
		case StageProfile:
			out.Profile, out.AlsoAllow = p.Profile, p.AlsoAllow
		case StageProvider:
			out.Provider = p.Provider
		case StageGlobal:
			out.Global = p.Global
		case StageAgent:
			out.Agent = p.Agent
		case StageAgentProvider:
			out.AgentProvider = p.AgentProvider
		case StagePlace:
			out.Place = p.Place
		case StageSender:
			out.Sender = p.Sender
		case StageSandbox:
			out.Sandbox = p.Sandbox
		case StageSubagent:
			out.Subagent = p.Subagent
		}
	}
	return out
}

// lacking is the policy without one stage.
func (p ToolPolicy) lacking(stage Stage) ToolPolicy {
	switch stage {
	case StageProfile:
		p.Profile, p.AlsoAllow = ProfileFull, nil
	case StageProvider:
		p.Provider = nil
	case StageGlobal:
		p.Global = Rules{}
	case StageAgent:
		p.Agent = Rules{}
	case StageAgentProvider:
		p.AgentProvider = nil
	case StagePlace:
		p.Place = nil
	case StageSender:
		p.Sender = nil
	case StageSandbox:
		p.Sandbox = Rules{}
	case StageSubagent:
		p.Subagent = nil
	}
	return p
}

func stageAt(i int) Stage { return Stage(min(max(i, 0), int(StageSubagent))) }

// TestEachStageOnlyNarrows: with one stage more the tools are some of those
// before, in their order.
func TestEachStageOnlyNarrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, tools := drawPolicy(t), drawTools(t)
		before := ToolPolicy{}.Apply(tools).Allowed
		require.Len(t, before, len(tools))
		for stage := range int(StageSubagent) + 1 {
			after := p.upTo(stage).Apply(tools).Allowed
			kept := slices.DeleteFunc(slices.Clone(before), func(name string) bool { return !slices.Contains(after, name) })
			require.True(t, slices.Equal(after, kept), "the stage %s brought a tool in, or moved one", stageAt(stage))
			before = after
		}
		require.True(t, slices.Equal(p.Apply(tools).Allowed, before))
	})
}

// TestTheExplanationIsTrue: the stage that an explanation names removed the
// tool: those before it did not, and without that stage the tool gets to a
// later one.
func TestTheExplanationIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, tools := drawPolicy(t), drawTools(t)
		for _, r := range p.Apply(tools).Removed {
			require.True(t, p.upTo(int(r.Stage)-1).Apply(tools).Has(r.Tool), "%s: an earlier stage had removed it", r)
			require.False(t, p.upTo(int(r.Stage)).Apply(tools).Has(r.Tool), r)
			without := p.lacking(r.Stage).Apply(tools)
			if later, removed := without.Explain(r.Tool); removed {
				require.Greater(t, later.Stage, r.Stage, "%s, without it %s", r, later)
			}
			if r.Why == WhyDenied {
				require.NotEmpty(t, r.Entry)
			}
		}
	})
}

// TestDenyAlwaysWins: a tool that any stage denies is gone, whatever any list
// allows.
func TestDenyAlwaysWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, tools := drawPolicy(t), drawTools(t)
		all := []Rules{p.Global, p.Agent, p.Sandbox}
		all = slices.Concat(all, p.Provider, p.AgentProvider, p.Place, p.Sender)
		if p.Subagent != nil {
			all = append(all, p.Subagent.Rules)
		}
		set := p.Apply(tools)
		for _, r := range all {
			for _, tool := range tools {
				if _, denied := find(r.Deny, tool); denied {
					require.False(t, set.Has(tool.Name), "%s is denied by %v", tool.Name, r.Deny)
				}
			}
		}
	})
}

// TestGrantedToolsJoinTheProfile: what an agent was granted passes the profile
// as if it stood in alsoAllow, and no further stage.
func TestGrantedToolsJoinTheProfile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, tools := drawPolicy(t), drawTools(t)
		named, plain := p, slices.Clone(tools)
		named.AlsoAllow = slices.Clone(p.AlsoAllow)
		for i := range plain {
			if plain[i].Granted {
				named.AlsoAllow = append(named.AlsoAllow, plain[i].Name)
				plain[i].Granted = false
			}
		}
		// Who may write may patch: an alsoAllow of write would say more.
		want := named.Apply(plain)
		if slices.Contains(named.AlsoAllow, "write") {
			return
		}
		require.Equal(t, want.Allowed, p.Apply(tools).Allowed)
	})
}

// TestWhoMayWriteMayPatch: apply_patch is in an allow that names write, and is
// not denied with it.
func TestWhoMayWriteMayPatch(t *testing.T) {
	tools := []Tool{{Name: "write"}, {Name: "apply_patch"}, {Name: "edit"}}
	for _, c := range []struct {
		p    ToolPolicy
		want []string
	}{
		{ToolPolicy{Global: Rules{Allow: []string{"write"}}}, []string{"write", "apply_patch"}},
		{ToolPolicy{Global: Rules{Allow: []string{"WR*"}}}, []string{"write", "apply_patch"}},
		{ToolPolicy{Profile: ProfileMinimal, AlsoAllow: []string{"write"}}, []string{"write", "apply_patch"}},
		{ToolPolicy{Global: Rules{Allow: []string{"write"}, Deny: []string{"apply_patch"}}}, []string{"write"}},
		{ToolPolicy{Global: Rules{Deny: []string{"write"}}}, []string{"apply_patch", "edit"}},
		{ToolPolicy{Global: Rules{Allow: []string{"apply_patch"}}}, []string{"apply_patch"}},
	} {
		require.Equal(t, c.want, c.p.Apply(tools).Allowed)
	}
}

func TestProviderRules(t *testing.T) {
	a, b := Rules{Deny: []string{"a"}}, Rules{Deny: []string{"b"}}
	m := map[string]Rules{"openai": a, "openai/gpt/4": b, "other": b, "openai/gpt": {}}
	require.Equal(t, []Rules{a, b}, ProviderRules(m, "openai/gpt/4"))
	require.Equal(t, []Rules{a}, ProviderRules(m, "openai/x"))
	require.Equal(t, []Rules{a}, ProviderRules(m, "openai"))
	require.Empty(t, ProviderRules(m, "nobody/gpt"))
	require.Empty(t, ProviderRules(nil, ""))
}

func TestWantsTools(t *testing.T) {
	some, none := Rules{Allow: []string{"x"}}, Rules{Allow: []string{}}
	require.False(t, ToolPolicy{}.WantsTools(nil))
	require.False(t, ToolPolicy{Global: some}.WantsTools(nil), "the agent itself names none")
	require.True(t, ToolPolicy{Agent: some}.WantsTools(nil))
	require.True(t, ToolPolicy{}.WantsTools([]string{"x"}))
	require.True(t, ToolPolicy{Agent: some, Global: Rules{Deny: []string{"*"}}, Subagent: &SubagentPolicy{Ceiling: []string{}}}.WantsTools(nil))
	require.False(t, ToolPolicy{Agent: none}.WantsTools(nil))
	require.False(t, ToolPolicy{Agent: some, Sender: []Rules{none}}.WantsTools(nil), "somebody wants none")
	require.False(t, ToolPolicy{Agent: some, Subagent: &SubagentPolicy{Rules: none}}.WantsTools(nil))
}

// The profiles' members, by the specification.
func TestProfiles(t *testing.T) {
	require.Equal(t, []string{"session_status"}, ToolPolicy{Profile: ProfileMinimal}.Apply(known()).Allowed)
	for _, profile := range []Profile{ProfileCoding, ProfileMessaging} {
		require.Subset(t, ToolPolicy{Profile: profile}.Apply(known()).Allowed, []string{"sessions_spawn", "sessions_yield", "subagents"})
	}
	require.False(t, ToolPolicy{Profile: ProfileCoding}.Apply(known()).Has("browser"))
	require.False(t, ToolPolicy{Profile: ProfileMessaging}.Apply(known()).Has("exec"))
	granted := slices.Clone(known())
	granted[0].Granted = true
	require.Equal(t, []string{granted[0].Name, "session_status"}, ToolPolicy{Profile: ProfileMinimal}.Apply(granted).Allowed)
}
