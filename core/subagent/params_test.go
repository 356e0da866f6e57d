package subagent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSpawnArgumentsAreRefusedWithACode(t *testing.T) {
	for _, c := range []struct{ name, args, code, text string }{
		{"no object", `"task"`, "bad_params", "not a JSON object"},
		{"no task", `{}`, "bad_params", "task is empty"},
		{"blank task", `{"task":" \n"}`, "bad_params", "task is empty"},
		{"wrong type", `{"task":7}`, "bad_params", "task must be a string"},
		{"text for a number", `{"task":"x","runTimeoutSeconds":"5"}`, "bad_params", "runTimeoutSeconds must be a whole number"},
		{"part of a number", `{"task":"x","runTimeoutSeconds":0.5}`, "bad_params", "runTimeoutSeconds must be a whole number"},
		{"text for a choice", `{"task":"x","thread":"yes"}`, "bad_params", "thread must be true or false"},
		{"case of a name", `{"task":"x","Label":"y"}`, "unknown_param", `"Label"`},
		{"unknown", `{"task":"x","prompt":"y"}`, "unknown_param", `"prompt"`},
		{"delivery", `{"task":"x","threadId":"7"}`, "delivery_param", `"threadId"`},
		{"delivery before unknown", `{"task":"x","to":"y","zzz":1,"aaa":1}`, "delivery_param", `"to"`},
		{"task name form", `{"task":"x","taskName":"Cats"}`, "bad_params", "taskName"},
		{"task name reserved", `{"task":"x","taskName":"last"}`, "bad_params", "taskName"},
		{"task name length", `{"task":"x","taskName":"` + strings.Repeat("a", 65) + `"}`, "bad_params", "taskName"},
		{"agent id form", `{"task":"x","agentId":"error: no such agent"}`, "bad_params", "agentId"},
		{"runtime", `{"task":"x","runtime":"acp"}`, "bad_params", "runtime"},
		{"thinking", `{"task":"x","thinking":"hard"}`, "thinking_unknown", "off, minimal, low, medium, high"},
		{"mode without thread", `{"task":"x","mode":"session"}`, "mode_needs_thread", "mode run"},
		{"mode word", `{"task":"x","mode":"forever"}`, "bad_params", "run or session"},
		{"context word", `{"task":"x","context":"whole"}`, "bad_params", "isolated or fork"},
		{"cleanup word", `{"task":"x","cleanup":"burn"}`, "bad_params", "keep or delete"},
		{"cleanup of a session", `{"task":"x","thread":true,"cleanup":"delete"}`, "bad_params", "mode session"},
		{"sandbox word", `{"task":"x","sandbox":"on"}`, "bad_params", "inherit or require"},
		{"sandbox", `{"task":"x","sandbox":"require"}`, "sandbox", "sandbox inherit"},
		{"budget of nothing", `{"task":"x","budget":{}}`, "bad_params", "budget is empty"},
		{"budget as a number", `{"task":"x","budget":7}`, "bad_params", "budget must be an object"},
		{"budget of zero", `{"task":"x","budget":{"tokens":0}}`, "bad_params", "budget.tokens is 0"},
		{"budget below zero", `{"task":"x","budget":{"usd":-1}}`, "bad_params", "budget.usd is -1"},
		{"budget as text", `{"task":"x","budget":{"usd":"1"}}`, "bad_params", "budget.usd must be a number"},
		{"budget by another name", `{"task":"x","budget":{"maxTokens":1}}`, "unknown_param", "known: tokens, usd"},
		{"files by another name", `{"task":"x","files":[]}`, "unknown_param", "it is called attachments here"},
		{"snake case", `{"task":"x","run_timeout_seconds":3}`, "unknown_param", "it is written runTimeoutSeconds"},
		{"of a swarm", `{"task":"x","collect":true}`, "unknown_param", "sessions_yield"},
		{"delivery in snake case", `{"task":"x","reply_to":"7"}`, "delivery_param", `"reply_to"`},
		{"file as text", `{"task":"x","attachments":"a"}`, "bad_params", "attachments must be a list"},
		{"file with a path", `{"task":"x","attachments":[{"name":"a","content":"b","path":"/"}]}`, "unknown_param", "name, content, encoding, mimeType"},
		{"key", `{"task":"x","idempotencyKey":"` + strings.Repeat("k", 129) + `"}`, "bad_params", "129 bytes of at most 128"},
		{"visible only", `{"task":"x","group":"work"}`, "bad_params", "group: only for a visible session"},
		{"not visible", `{"task":"x","visible":true,"thread":true,"mode":"run","thinking":"low","lightContext":true,"attachments":[{"name":"a","content":""}],"attachAs":{"mountPath":"a"}}`,
			"bad_params", "thread, mode, thinking, lightContext, attachments, attachAs: not for a visible session"},
		{"cleanup of a visible session", `{"task":"x","visible":true,"cleanup":"delete"}`, "bad_params", "cleanup keep"},
		{"group of two lines", `{"task":"x","visible":true,"group":"a\nb"}`, "bad_params", "one line"},
		{"name without a worktree", `{"task":"x","visible":true,"worktreeName":"a"}`, "bad_params", "worktree: true"},
		{"worktree name", `{"task":"x","visible":true,"worktree":true,"worktreeName":"A_b"}`, "bad_params", "at most 64"},
		{"base", `{"task":"x","visible":true,"worktree":true,"worktreeBaseRef":"--all"}`, "bad_params", "no name of a commit"},
		{"worktree of a hidden one", `{"task":"x","worktree":true,"worktreeName":"a"}`, "bad_params", "worktree, worktreeName: only for a visible session"},
		{"negative timeout", `{"task":"x","runTimeoutSeconds":-1}`, "bad_params", "negative"},
		{"timeout without end", `{"task":"x","runTimeoutSeconds":9223372037}`, "bad_params", "above 315360000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseSpawn(json.RawMessage(c.args))
			require.Error(t, err)
			require.Equal(t, c.code, core.ErrorCode(err))
			require.Contains(t, err.Error(), c.text)
		})
	}
}

func TestSpawnArgumentsHaveDefaults(t *testing.T) {
	p, err := parseSpawn(json.RawMessage(`{"task":"x"}`))
	require.NoError(t, err)
	require.Equal(t, "run", p.Mode)
	require.Equal(t, "keep", p.Cleanup)
	p, err = parseSpawn(json.RawMessage(`{"task":"x","thread":true}`))
	require.NoError(t, err)
	require.Equal(t, "session", p.Mode)
}

func TestSpawnSchemaKnowsEveryParameter(t *testing.T) {
	var schema struct{ Properties map[string]any }
	require.NoError(t, json.Unmarshal(spawnSchema(true), &schema))
	require.Len(t, schema.Properties, len(knownParams))
	for name := range schema.Properties {
		value := map[string]string{"thread": "false", "visible": "true", "worktree": "true", "runTimeoutSeconds": "0", "lightContext": "true", "expectsCompletionMessage": "true"}[name]
		if value == "" {
			value = map[string]string{"mode": `"run"`, "context": `"fork"`, "cleanup": `"keep"`, "sandbox": `"inherit"`, "budget": `{"tokens":5}`,
				"attachments": `[{"name":"a","content":"b"}]`, "attachAs": `{"mountPath":"/in"}`, "runtime": `"subagent"`, "thinking": `"low"`}[name]
		}
		if value == "" {
			value = `"x"`
		}
		require.NotContains(t, string(spawnSchema(false)), `"attach`)
		if slices.Contains(visibleOnly, name) {
			value += `,"visible":true`
			if name != "worktree" {
				value += `,"worktree":true`
			}
		}
		_, err := parseSpawn(json.RawMessage(`{"task":"t","` + name + `":` + value + `}`))
		require.NoError(t, err, name)
	}
}

func TestYieldTerms(t *testing.T) {
	for _, c := range []struct {
		args  string
		of    int
		need  int
		code  string
		waits string
	}{
		{``, 3, 3, "", "children"},
		{`{}`, 3, 3, "", "children"},
		{`{"join":"all"}`, 3, 3, "", "children"},
		{`{"join":"any"}`, 3, 1, "", "children"},
		{`{"join":2}`, 3, 2, "", "children"},
		{`{"join":9}`, 3, 3, "", "children"},
		{`{"join":null}`, 3, 0, "bad_params", ""},
		{`{"join":0}`, 3, 0, "bad_params", ""},
		{`{"join":"some"}`, 3, 0, "bad_params", ""},
		{`{"deadlineSeconds":-1}`, 3, 0, "bad_params", ""},
		{`{"waitFor":"message"}`, 3, 3, "", "message"},
		{`{"waitFor":"godot"}`, 3, 0, "bad_params", ""},
		{`{"until":"noon"}`, 3, 0, "unknown_param", ""},
	} {
		t.Run(c.args, func(t *testing.T) {
			terms, err := parseYield(json.RawMessage(c.args))
			require.Equal(t, c.code, core.ErrorCode(err))
			if c.code == "" {
				require.NoError(t, err)
				require.Equal(t, c.need, terms.need(c.of))
				require.Equal(t, c.waits, terms.WaitFor)
			}
		})
	}
}

func TestRefusalsSayForbiddenOrError(t *testing.T) {
	for code, status := range map[string]string{
		"depth_limit": "forbidden", "children_limit": "forbidden", "tree_limit": "forbidden", "agent_not_allowed": "forbidden",
		"quota": "forbidden", "hook_veto": "forbidden", "bad_params": "error", "thread_failed": "error", "thread_timeout": "error",
		"not_bindable": "error", "task_name_taken": "error",
	} {
		var got map[string]string
		require.NoError(t, json.Unmarshal([]byte(refusal(core.Errorf(code, "why"))), &got))
		require.Equal(t, status, got["status"], code)
		require.Equal(t, code, got["code"])
	}
	require.Contains(t, refusal(core.Errorf("x", "set <id> & more")), "set <id> & more", "as it is to be read")
}

func TestTokenCountsAreShort(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1k", 1240: "1.2k", 9999: "10k", 12_300: "12.3k", 999_999: "1m", 1_200_000: "1.2m"} {
		require.Equal(t, want, short(n))
	}
}
