package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Tool is a tool as the policy sees it.
type Tool struct {
	// Name is the name under which models call it.
	Name string
	// Aliases are further names that rules may use for it, such as the plain
	// name of a tool that a clash made "plugin.tool".
	Aliases []string
	// Plugin is set for tools that a plugin or an MCP server provides; the
	// group "group:plugins" holds them.
	Plugin bool
	// Granted is set for tools that an agent has because it was given what they
	// serve: agents as tools, delegate, load_skill, knowledge_search, capabilities
	// of its skills, plugins. They join the profile as if they stood in alsoAllow;
	// every later stage may remove them.
	Granted bool
}

// Rules narrows a set of tools. Entries are names, patterns in which * stands
// for any characters, or groups (see GroupNames); case does not count.
type Rules struct {
	// Allow keeps only what it names; nil keeps everything, an empty list
	// nothing.
	Allow []string
	// Deny takes away what it names, and beats Allow.
	Deny []string
}

// Stage is a step of the tool policy, in their order.
type Stage uint8

// The stages.
const (
	StageProfile       Stage = iota // profile and alsoAllow
	StageProvider                   // tools.byProvider
	StageGlobal                     // tools.allow, tools.deny
	StageAgent                      // the agent's allow and deny
	StageAgentProvider              // the agent's byProvider
	StagePlace                      // tools of the group or topic
	StageSender                     // toolsBySender
	StageSandbox                    // what the sandbox leaves
	StageSubagent                   // what sub-agents lose
)

var stages = [...]string{
	StageProfile: "profile", StageProvider: "provider", StageGlobal: "global", StageAgent: "agent",
	StageAgentProvider: "agent provider", StagePlace: "group", StageSender: "sender", StageSandbox: "sandbox",
	StageSubagent: "sub-agent",
}

// String returns the name that explanations use.
func (s Stage) String() string {
	if int(s) < len(stages) {
		return stages[s]
	}
	return "unknown"
}

// ToolPolicy is everything that decides which tools a run has. The zero value
// keeps all of them.
type ToolPolicy struct {
	// Profile is the base set: the agent's own profile, else the global one.
	Profile Profile
	// AlsoAllow joins the profile: alsoAllow of the scope that set it, and of the
	// agent.
	AlsoAllow []string

	Global, Agent Rules
	// Provider and AgentProvider hold the rules of the provider and of the model
	// (see ProviderRules); every one of them narrows.
	Provider, AgentProvider []Rules
	// Place holds the rules of the group and of the topic in it, Sender the
	// author's rules there; every one of them narrows.
	Place, Sender []Rules
	Sandbox       Rules
	// Subagent is set for the run of a sub-agent.
	Subagent *SubagentPolicy
}

// ProviderRules picks out of a byProvider map the rules for a model, written
// "provider/model": those of its provider and those of the model itself, which
// all narrow.
func ProviderRules(byProvider map[string]Rules, ref string) []Rules {
	provider, _, _ := strings.Cut(ref, "/")
	var found []Rules
	for _, key := range slices.Compact([]string{provider, ref}) {
		if r, ok := byProvider[key]; ok {
			found = append(found, r)
		}
	}
	return found
}

// SubagentPolicy is the last stage, for sub-agents of every depth.
type SubagentPolicy struct {
	// Leaf is set for a child that may have no children of its own.
	Leaf bool
	// Rules are tools.subagents.tools: they narrow, they bring nothing back.
	Rules Rules
	// Ceiling is the most the child may have by its requester's sender policy
	// (SenderCeiling at the spawn); nil for no ceiling. Leave it nil where a
	// message from outside wakes a bound child: then that person's own rules
	// stand in ToolPolicy.Sender.
	Ceiling []string
}

// Toolset is the answer of ToolPolicy.Apply.
type Toolset struct {
	// Allowed are the names of the tools that are left, in the order given.
	Allowed []string
	// Removed says for each other tool what removed it, in the order given.
	Removed []Removal
}

// Why says what about a stage removed a tool.
type Why uint8

// The ways in which a stage removes a tool.
const (
	WhyProfile    Why = iota // it is not in the profile, which Entry names
	WhyDenied                // deny holds Entry
	WhyNotAllowed            // there is an allow, and the tool is not in it
	WhySubagent              // no sub-agent has it
	WhyLeaf                  // no sub-agent without children of its own has it
	WhyCeiling               // whoever asked for the sub-agent did not have it
)

// Removal says why a tool is missing.
type Removal struct {
	Tool  string
	Stage Stage
	Why   Why
	// Entry is the profile, or the entry of deny; "" otherwise.
	Entry string
}

// Rule returns what about the stage removed the tool.
func (r Removal) Rule() string {
	switch r.Why {
	case WhyProfile:
		return "not in profile " + r.Entry
	case WhyDenied:
		return "deny " + r.Entry
	case WhyNotAllowed:
		return "not in allow"
	case WhySubagent:
		return "never for sub-agents"
	case WhyLeaf:
		return "not for a sub-agent without children"
	case WhyCeiling:
		return "above the requester's own tools"
	}
	return "unknown"
}

// String returns the removal in one line, such as
// `exec: removed by agent (deny exec*)`.
func (r Removal) String() string {
	return fmt.Sprintf("%s: removed by %s (%s)", r.Tool, r.Stage, r.Rule())
}

// Has reports whether the tool is left.
func (t Toolset) Has(name string) bool { return slices.Contains(t.Allowed, name) }

// Explain returns what removed a tool; ok is false if nothing did.
func (t Toolset) Explain(name string) (r Removal, ok bool) {
	i := slices.IndexFunc(t.Removed, func(r Removal) bool { return r.Tool == name })
	if i < 0 {
		return Removal{}, false
	}
	return t.Removed[i], true
}

// Apply takes tools through the stages. The turn calls it before its first model
// request, and /tools prints the result.
func (p ToolPolicy) Apply(tools []Tool) Toolset {
	var out Toolset
	for _, tool := range tools {
		if r, removed := p.remove(tool); removed {
			out.Removed = append(out.Removed, r)
		} else {
			out.Allowed = append(out.Allowed, tool.Name)
		}
	}
	return out
}

// stageRules are the rules of one stage.
type stageRules struct {
	stage Stage
	rules []Rules
}

// between returns the stages between the profile and the sub-agent layer, in
// their order.
func (p ToolPolicy) between() [7]stageRules {
	return [...]stageRules{
		{StageProvider, p.Provider},
		{StageGlobal, []Rules{p.Global}},
		{StageAgent, []Rules{p.Agent}},
		{StageAgentProvider, p.AgentProvider},
		{StagePlace, p.Place},
		{StageSender, p.Sender},
		{StageSandbox, []Rules{p.Sandbox}},
	}
}

// remove returns the first stage that takes the tool away.
func (p ToolPolicy) remove(t Tool) (r Removal, removed bool) {
	if p.Profile.removes(t, p.AlsoAllow) {
		return Removal{t.Name, StageProfile, WhyProfile, string(p.Profile)}, true
	}
	for _, s := range p.between() {
		for _, rules := range s.rules {
			if why, entry, removed := rules.removes(t); removed {
				return Removal{t.Name, s.stage, why, entry}, true
			}
		}
	}
	if p.Subagent != nil {
		if why, entry, removed := p.Subagent.removes(t); removed {
			return Removal{t.Name, StageSubagent, why, entry}, true
		}
	}
	return Removal{}, false
}

// WantsTools reports whether the policy is that of an agent which cannot do its
// work without tools: its own allow or alsoAllow names some. Where any stage
// that applies has an empty allow, no tools at all are what somebody wants.
func (p ToolPolicy) WantsTools(agentAlsoAllow []string) bool {
	if len(p.Agent.Allow) == 0 && len(agentAlsoAllow) == 0 {
		return false
	}
	for _, s := range p.between() {
		if slices.ContainsFunc(s.rules, Rules.nothing) {
			return false
		}
	}
	return p.Subagent == nil || !p.Subagent.Rules.nothing()
}

// nothing reports whether the rules say that there shall be no tools.
func (r Rules) nothing() bool { return r.Allow != nil && len(r.Allow) == 0 }

// narrows reports whether the rules say anything.
func (r Rules) narrows() bool { return r.Allow != nil || len(r.Deny) > 0 }

// removes reports whether the rules take a tool away, and how.
func (r Rules) removes(t Tool) (why Why, entry string, removed bool) {
	if entry, ok := find(r.Deny, t); ok {
		return WhyDenied, entry, true
	}
	if r.Allow == nil || allows(r.Allow, t) {
		return 0, "", false
	}
	return WhyNotAllowed, "", true
}

// allows reports whether an allow list holds the tool. Who may write files may
// patch them: apply_patch is in every list that names write.
func allows(list []string, t Tool) bool {
	if _, ok := find(list, t); ok {
		return true
	}
	if !strings.EqualFold(t.Name, "apply_patch") {
		return false
	}
	_, ok := find(list, Tool{Name: "write"})
	return ok
}

func (p *SubagentPolicy) removes(t Tool) (why Why, entry string, removed bool) {
	if _, ok := find(LostBySubagents(), t); ok {
		return WhySubagent, "", true
	}
	if p.Leaf {
		if _, ok := find(LostByLeaves(), t); ok {
			return WhyLeaf, "", true
		}
	}
	if why, entry, removed := p.Rules.removes(t); removed {
		return why, entry, true
	}
	if p.Ceiling != nil && !slices.Contains(p.Ceiling, t.Name) {
		return WhyCeiling, "", true
	}
	return 0, "", false
}

// LostBySubagents returns the tools that no sub-agent has, whatever a
// configuration says.
func LostBySubagents() []string {
	return []string{"gateway", "agents_list", "session_status", "cron", "message", "sessions_send"}
}

// LostByLeaves returns the tools that sub-agents without children of their own
// lose besides.
func LostByLeaves() []string {
	return []string{"subagents", "sessions_list", "sessions_history", "sessions_spawn"}
}

// SenderCeiling returns the ceiling to store with a spawn: the tools that the
// author's rules leave, within the requester's own ceiling, sorted. It is nil
// where neither narrows anything.
func SenderCeiling(tools []Tool, inherited []string, sender []Rules) []string {
	if inherited == nil && !slices.ContainsFunc(sender, Rules.narrows) {
		return nil
	}
	left := []string{}
	for _, t := range tools {
		removed := slices.ContainsFunc(sender, func(r Rules) bool { _, _, removed := r.removes(t); return removed })
		if !removed && (inherited == nil || slices.Contains(inherited, t.Name)) {
			left = append(left, t.Name)
		}
	}
	slices.Sort(left)
	return slices.Compact(left)
}

// find returns the first entry of a list that names the tool.
func find(list []string, t Tool) (entry string, ok bool) {
	for _, entry := range list {
		if names(entry, t) {
			return entry, true
		}
	}
	return "", false
}

// Names reports whether an entry of a list names the tool of that name.
func Names(entry, tool string) bool { return names(entry, Tool{Name: tool}) }

// names reports whether an entry of a list names the tool.
func names(entry string, t Tool) bool {
	entry = strings.ToLower(entry)
	if group, ok := strings.CutPrefix(entry, groupPrefix); ok {
		return inGroup(group, t)
	}
	return matches(entry, strings.ToLower(t.Name)) ||
		slices.ContainsFunc(t.Aliases, func(alias string) bool { return matches(entry, strings.ToLower(alias)) })
}

// matches reports whether name fits pattern, in which * stands for any
// characters.
func matches(pattern, name string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, head)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "*")
	last := len(parts) - 1
	for _, part := range parts[:last] {
		_, after, ok := strings.Cut(name, part)
		if !ok {
			return false
		}
		name = after
	}
	return strings.HasSuffix(name, parts[last])
}
