package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

func TestModel(t *testing.T) {
	r := newRig(t)
	r.config.models = []string{"local/m0", "local/m1"}
	require.Equal(t, "Model: local/m0, as configured for the agent main.\nThere are: local/m0, local/m1, any of local/…", r.run(r.request("/model")))
	require.Equal(t, "Model: local/m1, for this conversation, from the next message on (/model default goes back).", r.run(r.request("/model m1")))
	require.Contains(t, r.run(r.request("/model")), "Model: local/m1, chosen for this conversation")
	require.Contains(t, r.run(r.request("/status")), "Model: local/m1\n")

	text := r.refused(CodeModelUnknown, r.request("/model gpt-99"))
	require.Contains(t, text, `"gpt-99"`)
	require.Contains(t, text, "local/m0, local/m1, any of local/…")
	require.Contains(t, r.run(r.request("/model")), "Model: local/m1, chosen", "a refusal changes nothing")

	require.Equal(t, "Model: local/m0, as configured for the agent main. It is used from the next message on.", r.run(r.request("/model Default")))
	require.Contains(t, r.run(r.request("/status")), "Model: local/m0\n")
}

// TestModelsWithoutEnd: a reply fits one message however many models there are.
func TestModelsWithoutEnd(t *testing.T) {
	r := newRig(t)
	for i := range 500 {
		r.config.models = append(r.config.models, fmt.Sprintf("local/a-model-with-quite-a-long-name-%03d", i))
	}
	require.Contains(t, r.run(r.request("/model")), "and 481 more")
	require.Contains(t, r.refused(CodeModelUnknown, r.request("/model gpt-99")), "and 481 more")
}

// TestModelOfASubagent: in a bound thread the commands speak of the child.
func TestModelOfASubagent(t *testing.T) {
	r := newRig(t)
	run := r.child(r.request("/model").Session, "cats", func(run *core.Run) { run.Spec.Model = "local/small" })
	bound := func(text string) Request {
		req := r.request(text)
		req.Session, req.Bound = r.session(run.SessionKey, "", 0), true
		req.Session.Depth = 1
		return req
	}
	require.Contains(t, r.run(bound("/model")), "Model: local/small, chosen when this sub-agent was started.")
	require.Contains(t, r.run(bound("/model m1")), "Model: local/m1")
	require.Contains(t, r.run(r.request("/model")), "Model: local/m0", "the other conversation keeps its own")
	require.Contains(t, r.run(bound("/model default")), "Model: local/small, chosen when this sub-agent was started")
}

// TestModelBeforeTheFirstMessage: a conversation that does not exist yet can be
// given a model.
func TestModelBeforeTheFirstMessage(t *testing.T) {
	r := newRig(t)
	fresh := func(text string) Request {
		req := r.request(text)
		req.Session, req.Key = store.Session{}, core.GroupKey("main", core.Address{Channel: "fake", Account: "default", Conversation: "New"})
		return req
	}
	require.Contains(t, r.run(fresh("/model")), "Model: local/m0, as configured")
	require.Contains(t, r.run(fresh("/model default")), "Model: local/m0")
	require.Contains(t, r.run(fresh("/model m1")), "Model: local/m1")
	require.NoError(t, r.db.Read(t.Context(), func(tx *store.Tx) error {
		s, err := tx.SessionByKey("agent:main:fake:default:group:New")
		require.Equal(t, "local/m1", s.Model)
		return err
	}))
}

func TestStatusNamesSubagents(t *testing.T) {
	r := newRig(t)
	session := r.request("/status").Session
	ended := r.child(session, "old", nil)
	r.write(func(tx *store.Tx) error {
		_, err := tx.EndRun(ended.ID, core.RunOK, "", "", false, core.DeliveryDelivered, r.world.Now())
		return err
	})
	require.NotContains(t, r.run(r.request("/status")), "Sub-agents")
	r.child(session, "cats", nil)
	r.child(session, "dogs", nil)
	require.Contains(t, r.run(r.request("/status")), "Sub-agents: 2 active (cats, dogs)")
	r.child(session, "birds", nil)
	r.child(session, "fish", nil)
	r.child(session, "bees", nil)
	require.Contains(t, r.run(r.request("/status")), "Sub-agents: 5 active (cats, dogs, birds and 2 more)")
}

// TestStatusTellsWhatWasUsed: tokens, where there are any, and what is left of a
// budget.
func TestStatusTellsWhatWasUsed(t *testing.T) {
	r := newRig(t)
	session := r.request("/status").Session
	require.NotContains(t, r.run(r.request("/status")), "token")
	r.write(func(tx *store.Tx) error {
		return tx.AddUsage("fake:alice", session.ID, store.DayOf(r.world.Now()), store.DayUsage{Turns: 1, Usage: core.Usage{TokensIn: 1234, TokensOut: 66}})
	})
	status, usage := r.run(r.request("/status")), r.run(r.request("/usage"))
	first, _, _ := strings.Cut(usage, "\n")
	require.Contains(t, first, "token")
	require.Contains(t, status, first, "the same words as /usage")
	r.config.limits.Tokens = 1000
	require.Contains(t, r.run(r.request("/status")), "1000", "the budget")
}
