package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/policy"
)

func TestTools(t *testing.T) {
	r := newRig(t)
	require.Equal(t, "main has no tools here.", r.run(r.request("/tools")))

	r.config.toolset = policy.Toolset{Allowed: []string{"read", "write"}, Removed: []policy.Removal{
		{Tool: "exec", Stage: policy.StageSender, Why: policy.WhyDenied, Entry: "exec*"},
		{Tool: "browser", Stage: policy.StageProfile, Why: policy.WhyProfile, Entry: "coding"},
		{Tool: "message", Stage: policy.StageSubagent, Why: policy.WhySubagent},
		{Tool: "process", Stage: policy.StageSender, Why: policy.WhyDenied, Entry: "exec*"},
		{Tool: "web_fetch", Stage: policy.StageGlobal, Why: policy.WhyNotAllowed},
	}}
	require.Equal(t, "Tools of main: read, write\n5 more were removed; /tools verbose says by what.", r.run(r.request("/tools")))
	require.Equal(t, strings.Join([]string{
		"Tools of main: read, write", "Removed:", "profile (not in coding): browser", "global (not in allow): web_fetch",
		"sender (deny exec*): exec, process", "sub-agent (never for sub-agents): message",
	}, "\n"), r.run(r.request("/tools verbose")))
	r.refused(CodeUsage, r.request("/tools all"))

	r.config.toolset.Allowed = nil
	require.Contains(t, r.run(r.request("/tools verbose")), "main has no tools here.\nRemoved:")
}

// TestToolsAreThoseOfAMessage: the policy is asked as for a message of the same
// person in the same place; in a bound thread, for the child.
func TestToolsAreThoseOfAMessage(t *testing.T) {
	r := newRig(t)
	r.run(r.request("/tools"))
	scope := r.config.scope
	require.True(t, scope.Person())
	require.Equal(t, []any{"main", "local/m0", "fake:alice", "policy of alice", room},
		[]any{scope.Agent, scope.Model, scope.Turn.Owner, scope.Turn.Policy, scope.Turn.ReplyTo})
	require.Nil(t, scope.Child)

	run := r.child(r.request("/tools").Session, "cats", func(run *core.Run) { run.Spec.Model, run.Role = "local/small", "leaf" })
	req := r.request("/tools")
	req.Session, req.Bound, req.AgentID = r.session(run.SessionKey, "", 0), true, "research"
	req.Session.Depth = 1
	require.Equal(t, "ResearchBot (research) has no tools here.", r.run(req))
	scope = r.config.scope
	require.Equal(t, []any{"research", "local/small", run.ID, 1}, []any{scope.Agent, scope.Model, scope.Child.ID, scope.Session.Depth})
}

// TestToolsFitOneMessage: however many tools and rules there are.
func TestToolsFitOneMessage(t *testing.T) {
	r := newRig(t)
	var set policy.Toolset
	for i := range 400 {
		set.Allowed = append(set.Allowed, fmt.Sprintf("allowed_tool_%d", i))
		set.Removed = append(set.Removed, policy.Removal{Tool: fmt.Sprintf("removed_tool_%d", i), Stage: policy.Stage(i % 9), Why: policy.WhyDenied, Entry: fmt.Sprintf("rule_%d*", i%100)})
	}
	r.config.toolset = set
	text := r.run(r.request("/tools verbose"))
	require.LessOrEqual(t, units(text), replyLimit)
	require.Contains(t, text, "Removed:\nprofile (deny rule_0*)")
	require.Regexp(t, `… and \d+ more$`, text)
	for stage := policy.StageProfile; stage <= policy.StageSubagent; stage++ {
		require.NotEmpty(t, stageWord(english, stage))
	}
}
