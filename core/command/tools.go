package command

import (
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

// tools is /tools: what a message written here now could have done, and with
// verbose what removed the rest.
func (s Set) tools(tx *store.Tx, r Request) (Reply, error) {
	verbose := strings.EqualFold(r.Args, "verbose")
	if r.Args != "" && !verbose {
		return Reply{}, words.RefuseUsageTools(CodeUsage)
	}
	scope, err := s.toolScope(tx, r)
	if err != nil {
		return Reply{}, err
	}
	set, w := s.o.Config.Tools(scope), r.Language
	head := w.ToolsNone(s.agentText(r.AgentID))
	if len(set.Allowed) > 0 {
		head = w.ToolsHead(s.agentText(r.AgentID), set.Allowed)
	}
	head = cut(head, replyLimit/2)
	switch {
	case len(set.Removed) == 0:
		return Reply{Text: head}, nil
	case !verbose:
		return Reply{Text: head + "\n" + w.ToolsRemovedCount(len(set.Removed))}, nil
	}
	return Reply{Text: list(w, head+"\n"+w.ToolsRemoved(), removedRows(w, set.Removed), "")}, nil
}

// toolScope is that of the turn which a message of the same person, written
// where the command was, would begin.
func (s Set) toolScope(tx *store.Tx, r Request) (agent.Scope, error) {
	scope := agent.Scope{Agent: r.AgentID, Session: r.Session, Turn: store.Turn{
		Kind: store.InboxMessage, ReplyTo: r.Message.Address, Owner: r.Actor, Policy: s.o.Config.PolicyOf(r.Message),
	}}
	var err error
	if scope.Model, _, err = s.model(tx, r); err != nil || r.Session.Depth == 0 {
		return scope, err
	}
	run, err := latestRun(tx, r.Session.ID)
	if run.ID != "" {
		scope.Child = &run
	}
	return scope, err
}

// removedRows words what removed tools, a row for each rule, in the order of the
// stages.
func removedRows(w words.Language, removed []policy.Removal) []string {
	type rule struct {
		stage policy.Stage
		why   policy.Why
		entry string
	}
	var rules []rule
	tools := make(map[rule][]string)
	for _, r := range removed {
		key := rule{r.Stage, r.Why, r.Entry}
		if tools[key] == nil {
			rules = append(rules, key)
		}
		tools[key] = append(tools[key], r.Tool)
	}
	slices.SortStableFunc(rules, func(a, b rule) int { return int(a.stage) - int(b.stage) })
	rows := make([]string, len(rules))
	for i, key := range rules {
		rows[i] = w.ToolsMissing(stageWord(w, key.stage), tools[key], whyText(w, key.why, key.entry))
	}
	return rows
}

func stageWord(w words.Language, s policy.Stage) string {
	switch s {
	case policy.StageProfile:
		return w.ToolsStageProfile()
	case policy.StageProvider:
		return w.ToolsStageProvider()
	case policy.StageGlobal:
		return w.ToolsStageGlobal()
	case policy.StageAgent:
		return w.ToolsStageAgent()
	case policy.StageAgentProvider:
		return w.ToolsStageAgentProvider()
	case policy.StagePlace:
		return w.ToolsStageGroup()
	case policy.StageSender:
		return w.ToolsStageSender()
	case policy.StageSandbox:
		return w.ToolsStageSandbox()
	case policy.StageSubagent:
		return w.ToolsStageSubagent()
	}
	return s.String()
}

func whyText(w words.Language, why policy.Why, entry string) string {
	entry = core.Clip(entry, nameLimit)
	switch why {
	case policy.WhyProfile:
		return w.ToolsWhyProfile(entry)
	case policy.WhyDenied:
		return w.ToolsWhyDenied(entry)
	case policy.WhyNotAllowed:
		return w.ToolsWhyNotAllowed()
	case policy.WhySubagent:
		return w.ToolsWhySubagent()
	case policy.WhyLeaf:
		return w.ToolsWhyLeaf()
	case policy.WhyCeiling:
		return w.ToolsWhyCeiling()
	}
	return entry
}
