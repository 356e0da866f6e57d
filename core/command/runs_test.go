package command

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/target"
)

// long is a name that is much too long.
func long(s string) string { return s + strings.Repeat(" 😀 and so on", 80) }

// crowd gives a session more sub-agents and history than any reply holds.
func crowd(r *rig, s store.Session) {
	for i := range 40 {
		run := r.child(s, long(fmt.Sprintf("child %d", i)), func(run *core.Run) { run.Task, run.TaskName = long("task"), fmt.Sprintf("task-%d", i) })
		r.bind(run.Session, long("thread"), room.InThread(fmt.Sprint(i)))
		if i == 0 {
			for range 50 {
				r.say(run.Session, model.Item{Kind: model.User, Text: long("question")}, model.Item{Kind: model.Assistant, Text: long("answer")})
			}
		}
	}
}

func TestAgents(t *testing.T) {
	r := newRig(t)
	require.Equal(t, english.AgentsNone()+"\nAgents: main, ResearchBot (research)", r.run(r.request("/agents")))
	s := r.request("/agents").Session
	cats := r.child(s, "cats", nil)
	dogs := r.child(s, "dogs", nil)
	r.bind(cats.Session, "cats", room.InThread("17"))
	r.clock.AdvanceTo(r.clock.Now().Add(150 * time.Minute))
	r.end(dogs, core.DeliveryDelivered)
	require.Equal(t, "Sub-agents:\n"+
		"1. cats · running for 2h 30m · thread:cats · expires in 1d (idle)\n"+
		"2. dogs · succeeded after 2h 30m · unbound\n"+
		"Agents: main, ResearchBot (research)", r.run(r.request("/agents")))
	r.bindings.bindable = false
	require.Contains(t, r.run(r.request("/agents")), "2. dogs · succeeded after 2h 30m · bindings unavailable")
	r.clock.AdvanceTo(r.clock.Now().Add(31 * time.Minute))
	require.NotContains(t, r.run(r.request("/agents")), "dogs")
	req := r.request("/agents")
	req.Bound, req.Binding = true, core.Binding{Label: "cats"}
	require.Contains(t, r.run(req), "This place is focused on cats, expires in 1d (idle).\nSub-agents:\n1. cats")
}

func TestOrdinalsAreStable(t *testing.T) {
	r := newRig(t)
	s := r.request("/agents").Session
	cats, _ := r.child(s, "cats", nil), r.child(s, "dogs", nil)
	r.end(cats, core.DeliveryDelivered)
	r.clock.AdvanceTo(r.clock.Now().Add(time.Hour))
	r.child(s, "birds", func(run *core.Run) { run.TaskName, run.TokensIn = "watch", 7 })
	require.Equal(t, "Sub-agents:\n2. dogs · running for 1h\n3. birds · running for 0s · watch", r.run(r.request("/subagents list")))
}

func TestInfo(t *testing.T) {
	r := newRig(t)
	run := r.child(r.request("/agents").Session, "cats", nil)
	r.clock.AdvanceTo(r.clock.Now().Add(90 * time.Second))
	r.end(run, core.DeliverySessionQueued)
	text := r.run(r.request("/subagents info cats"))
	for _, want := range []string{
		"1. cats · succeeded after 1m", "Task: find out about cats", "Started: 2026-03-01 12:00:00 UTC", "Ended: 2026-03-01 12:01:30 UTC",
		"Session: " + run.SessionKey, fmt.Sprintf("Session id: %d", run.Session), fmt.Sprintf("Transcript: session:%d", run.Session),
		"Run: " + run.ID, "Cleanup: keep", "Delivery: told to its requester, not yet to you", "Model: local/m1", "Binding: unbound",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "Detail")
}

func TestLog(t *testing.T) {
	r := newRig(t)
	s := r.request("/agents").Session
	run := r.child(s, "cats 2", nil)
	require.Equal(t, "cats 2 has said nothing yet.", r.run(r.request("/subagents log cats 2")))
	r.say(run.Session,
		model.Item{Kind: model.User, Text: "[Subagent Task]\nfind cats"},
		model.Item{Kind: model.Assistant, Text: "<think>hm, what is a cat</think>Looking.", Think: "secret", Calls: []core.ToolCall{{Name: "web", Args: json.RawMessage(`{"q":"cats"}`)}}},
		model.Item{Kind: model.ToolOutput, Tool: "web", Text: "many cats"},
		model.Item{Kind: model.Assistant, Text: "Cats sleep."},
	)
	r.say(run.Session,
		model.Item{Kind: model.User, Text: "and dogs?", Author: &core.Author{ID: "alice", Name: "Alice"}}, model.Item{Kind: model.Assistant, Text: "Woof."},
		model.Item{Kind: model.Event, Completion: &model.Completion{Label: "dogs", Status: core.RunOK}})
	require.Equal(t, "1. cats 2, newest last:\ntask: find cats\nagent: Looking.\nagent: Cats sleep.\nAlice: and dogs?\nagent: Woof.\nevent: dogs succeeded",
		r.run(r.request("/subagents log cats 2")))
	require.Equal(t, "1. cats 2, newest last:\nAlice: and dogs?\nagent: Woof.\nevent: dogs succeeded", r.run(r.request("/subagents log cats 2 1")))
	with := r.run(r.request("/subagents log 1 20 tools"))
	require.Contains(t, with, `call: web {"q":"cats"}`)
	require.Contains(t, with, "web: many cats")
	require.NotContains(t, with, "secret")
	require.NotContains(t, with, "what is a cat")
	for range 60 {
		r.say(run.Session, model.Item{Kind: model.Assistant, Text: long("words")})
	}
	text := r.run(r.request("/subagents log 1 200"))
	require.Contains(t, text, "earlier left out")
}

// What a model says to itself never shows in a log: reasoning, what a memory put
// around a message, and calls that it wrote out; without tools no call at all.
func TestLogIsClean(t *testing.T) {
	call := core.ToolCall{Name: "web", Args: json.RawMessage(`{}`)}
	for _, c := range []struct {
		item model.Item
		want []string // without tools
		more []string // with them
	}{
		{model.Item{Kind: model.Assistant, Text: "<think>hm</think>Yes."}, []string{"agent: Yes."}, nil},
		{model.Item{Kind: model.Assistant, Text: "<thinking>hm</thinking>\n\n<reasoning>so</reasoning>Yes.", Think: "hm"}, []string{"agent: Yes."}, nil},
		{model.Item{Kind: model.Assistant, Text: "<relevant-memories>\n- likes tea\n</relevant-memories>\nTea?"}, []string{"agent: Tea?"}, nil},
		{model.Item{Kind: model.User, Text: "<relevant_memories>likes tea</relevant_memories> Hello"}, []string{"person: Hello"}, nil},
		{model.Item{Kind: model.User, Text: "<memory_context>x</memory_context>"}, nil, nil},
		{model.Item{Kind: model.Assistant, Text: "Look.<tool_call>{\"name\":\"web\"}</tool_call>"}, []string{"agent: Look."}, nil},
		{model.Item{Kind: model.Assistant, Text: "<function_calls><invoke name=\"web\"><parameter name=\"q\">x</parameter></invoke></function_calls>"}, nil, nil},
		{model.Item{Kind: model.Assistant, Text: "[skein:note x]\nprivate\n[skein:end]\nYes."}, []string{"agent: Yes."}, nil},
		{model.Item{Kind: model.Assistant, Calls: []core.ToolCall{call}}, nil, []string{"call: web {}"}},
		{model.Item{Kind: model.ToolOutput, Tool: "web", Text: "cats"}, nil, []string{"web: cats"}},
		{model.Item{Kind: model.Assistant, Text: "In code `<think>` stays."}, []string{"agent: In code `<think>` stays."}, nil},
	} {
		require.Equal(t, c.want, logItem(english, c.item, false), "%q", c.item.Text)
		require.Equal(t, append(slices.Clone(c.want), c.more...), logItem(english, c.item, true), "%q", c.item.Text)
	}
}

func TestSubagentsUsage(t *testing.T) {
	r := newRig(t)
	for _, text := range []string{"/subagents fly 1", "/subagents info", "/subagents log", "/subagents list all"} {
		r.refused(CodeUsage, r.request(text))
	}
	r.refused(target.CodeUnknown, r.request("/subagents info last"))
	require.Equal(t, english.AgentsNone(), r.run(r.request("/subagents")))
}

func TestTasks(t *testing.T) {
	r := newRig(t)
	require.Equal(t, english.TasksNone(), r.run(r.request("/tasks")))
	s := r.request("/tasks").Session
	cats := r.child(s, "cats", nil)
	kittens := r.child(r.session(cats.SessionKey, "", 0), "kittens", nil)
	lost := r.child(s, "lost", nil)
	r.end(lost, core.DeliveryBlocked)
	r.end(kittens, core.DeliveryDelivered)
	info := r.run(r.request("/subagents info lost"))
	require.Contains(t, info, "skein tasks dismiss "+lost.TaskID)
	require.Contains(t, info, "Outcome: succeeded\n")
	require.Contains(t, info, "Archive: -")
	r.write(func(tx *store.Tx) error { return tx.SetArchiveDue(lost.Session, r.world.Now().Add(time.Hour)) })
	require.Contains(t, r.run(r.request("/subagents info lost")), "Archive: from "+english.Moment(r.world.Now().Add(time.Hour).Time())+" on")
	r.clock.AdvanceTo(r.clock.Now().Add(time.Hour))
	require.Equal(t, "Tasks: 1 active, 2 in all.\nlost · succeeded after 0s · nobody was told · "+lost.TaskID+"\ncats · running for 1h\n"+
		english.TasksUntold(lost.TaskID), r.run(r.request("/tasks")), "what nobody was told stays, with what to do")
	for _, token := range []string{"lost", lost.ID, lost.TaskID} {
		require.Contains(t, r.run(r.request("/subagents info "+token)), "skein tasks retry "+lost.TaskID, "also when it ended long ago")
	}
	require.Contains(t, english.TasksUntold("x"), "`skein tasks retry x`")
	other := r.session("agent:main:fake:default:group:Other", "", 0)
	r.child(other, "theirs", nil)
	require.NotContains(t, r.run(r.request("/tasks")), "theirs")
}

func TestStatusAndWhoami(t *testing.T) {
	r := newRig(t)
	require.Equal(t, "Agent: main\nModel: local/m0\nSession: agent:main:fake:default:group:Room\nNow: idle\nQueue: steer", r.run(r.request("/status")))
	req := r.request("/status")
	r.child(req.Session, "cats", nil)
	r.write(func(tx *store.Tx) error {
		_, err := tx.InsertTurn(store.Turn{Session: req.Session.ID, Generation: 1, Kind: store.InboxMessage, Lane: store.LaneMain, Started: req.Now.Add(-time.Minute)})
		if err != nil {
			return err
		}
		_, err = tx.InsertInbox(store.Inbox{Session: req.Session.ID, Kind: store.InboxMessage, Lane: store.LaneMain, ReplyTo: room})
		return err
	})
	req.AgentID = "research"
	req.Bound, req.Binding = true, core.Binding{Address: room.InThread("17"), Owner: "fake:alice"}
	text := r.run(req)
	require.Contains(t, text, "Agent: ResearchBot (research)")
	require.Contains(t, text, "Now: an answer is in progress, for 1m, 1 message waits")
	require.Contains(t, text, "Sub-agents: 1 active")
	require.Contains(t, text, "Binding: thread:17, expires in 1d (idle), by fake:alice")

	require.Equal(t, "You: fake:alice\nName: Alice\nPlace: fake:default:Room\nSession: agent:main:fake:default:group:Room\nAgent: main",
		r.run(r.request("/whoami")))
	req = r.request("/whoami")
	req.Actor, req.Operator = "", true
	require.Contains(t, r.run(req), "You: unknown: the platform did not say (an operator)")
}

func TestHelp(t *testing.T) {
	r := newRig(t)
	text := r.run(r.request("/help"))
	for _, c := range r.set.Commands() {
		require.Contains(t, text, "/"+c.Name, "the whole list fits")
	}
}
