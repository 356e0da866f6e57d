package subagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/attach"
	"github.com/skein-bot/skein/core/tool"
	"github.com/skein-bot/skein/core/words"
)

// The words of modes, contexts and clean-up.
const (
	modeRun         = "run"
	modeSession     = "session"
	contextIsolated = "isolated"
	contextFork     = "fork"
	cleanupKeep     = "keep"
	cleanupDelete   = "delete"
	sandboxInherit  = "inherit"
	sandboxRequire  = "require"
)

// maxKey is the longest idempotencyKey, in bytes.
const maxKey = 128

// maxTimeout is the longest runTimeoutSeconds, ten years.
const maxTimeout = 315_360_000

// thinkingLevels are the levels a call may ask for.
var thinkingLevels = []string{"off", "minimal", "low", "medium", "high"}

// spawnParams are the arguments of sessions_spawn.
type spawnParams struct {
	Task              string        `json:"task"`
	TaskName          string        `json:"taskName"`
	Label             string        `json:"label"`
	AgentID           string        `json:"agentId"`
	Runtime           string        `json:"runtime"`
	Model             string        `json:"model"`
	Thinking          string        `json:"thinking"`
	RunTimeoutSeconds *int64        `json:"runTimeoutSeconds"`
	Thread            bool          `json:"thread"`
	Mode              string        `json:"mode"`
	Context           string        `json:"context"`
	LightContext      bool          `json:"lightContext"`
	Cleanup           string        `json:"cleanup"`
	Expects           *bool         `json:"expectsCompletionMessage"`
	Sandbox           string        `json:"sandbox"`
	Cwd               string        `json:"cwd"`
	Budget            *core.Budget  `json:"budget"`
	IdempotencyKey    string        `json:"idempotencyKey"`
	Attachments       []attach.File `json:"attachments"`
	AttachAs          *attachAs     `json:"attachAs"`
	Visible           bool          `json:"visible"`
	Group             *string       `json:"group"`
	Worktree          bool          `json:"worktree"`
	WorktreeName      string        `json:"worktreeName"`
	WorktreeBaseRef   string        `json:"worktreeBaseRef"`
}

// knownParams are all that sessions_spawn takes, in the order of its schema.
var knownParams = []string{
	"task", "taskName", "label", "agentId", "runtime", "model", "thinking", "runTimeoutSeconds", "thread", "mode", "context", "lightContext", "cleanup",
	"expectsCompletionMessage", "sandbox", "cwd", "budget", "idempotencyKey", "attachments", "attachAs", "visible", "group", "worktree", "worktreeName", "worktreeBaseRef",
}

var (
	taskNameForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)
	agentIDForm  = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
)

// spawnArguments has the last word: what the schema refuses and nothing above.
// Files are refused with a code of their own where they are not allowed.
var spawnArguments = tool.MustArguments(string(spawnSchema(true)))

// parseSpawn reads and checks the arguments; every refusal has a stable code.
func parseSpawn(raw json.RawMessage) (spawnParams, error) {
	var p spawnParams
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return p, core.Errorf("bad_params", "the arguments are not a JSON object: %v", err)
	}
	if err := checkNames(slices.Sorted(maps.Keys(keys))); err != nil {
		return p, err
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, badJSON(err)
	}
	if err := checkInner(keys); err != nil {
		return p, err
	}
	if err := checkBudget(keys["budget"], p.Budget); err != nil {
		return p, err
	}
	if err := p.checkVisible(keys); err != nil {
		return p, err
	}
	if err := p.check(); err != nil {
		return p, err
	}
	return p, spawnArguments.Read(raw, &struct{}{})
}

// badJSON words arguments of the wrong type.
func badJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return core.Errorf("bad_params", "%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	want := map[reflect.Kind]string{reflect.String: "a string", reflect.Bool: "true or false", reflect.Int64: "a whole number",
		reflect.Float64: "a number", reflect.Struct: "an object", reflect.Slice: "a list"}[wrong.Type.Kind()]
	return core.Errorf("bad_params", "%s must be %s", wrong.Field, want)
}

func (p *spawnParams) check() error {
	switch {
	case strings.TrimSpace(p.Task) == "":
		return core.Errorf("bad_params", "task is empty").WithRemedy("say what the sub-agent is to do")
	case p.TaskName != "" && (!taskNameForm.MatchString(p.TaskName) || p.TaskName == "last" || p.TaskName == "all"):
		return core.Errorf("bad_params", "taskName %q is not allowed", p.TaskName).
			WithRemedy("a lower-case letter, then letters, digits, _ or -, at most 64; not last or all")
	case p.AgentID != "" && !agentIDForm.MatchString(p.AgentID):
		return core.Errorf("bad_params", "agentId %q is not an agent id", core.Clip(p.AgentID, 80)).
			WithRemedy("a lower-case letter or digit, then letters, digits, _ or -, at most 64")
	case len(p.IdempotencyKey) > maxKey:
		return core.Errorf("bad_params", "idempotencyKey has %d bytes of at most %d", len(p.IdempotencyKey), maxKey).WithRemedy("use a shorter one")
	case p.Runtime != "" && p.Runtime != "subagent":
		return core.Errorf("bad_params", "runtime %q is not available", p.Runtime).WithRemedy("use subagent")
	case p.RunTimeoutSeconds != nil && *p.RunTimeoutSeconds < 0:
		return core.Errorf("bad_params", "runTimeoutSeconds is negative").WithRemedy("use 0 for no limit")
	case p.RunTimeoutSeconds != nil && *p.RunTimeoutSeconds > maxTimeout:
		return core.Errorf("bad_params", "runTimeoutSeconds is %d, above %d", *p.RunTimeoutSeconds, maxTimeout).WithRemedy("use 0 for no limit")
	case p.Thinking != "" && !slices.Contains(thinkingLevels, p.Thinking):
		return forPeople(words.RefuseSpawnThinking("thinking_unknown", core.Clip(p.Thinking, 60), thinkingLevels),
			core.Errorf("thinking_unknown", "thinking %q is unknown", p.Thinking).WithRemedy("use one of %s", strings.Join(thinkingLevels, ", ")))
	}
	if err := oneOf("mode", &p.Mode, defaultMode(p.Thread || p.Visible), modeRun, modeSession); err != nil {
		return err
	}
	if err := oneOf("context", &p.Context, "", contextIsolated, contextFork); err != nil {
		return err
	}
	if err := oneOf("sandbox", &p.Sandbox, sandboxInherit, sandboxInherit, sandboxRequire); err != nil {
		return err
	}
	if err := oneOf("cleanup", &p.Cleanup, cleanupKeep, cleanupKeep, cleanupDelete); err != nil {
		return err
	}
	if p.Mode == modeSession && !p.Thread && !p.Visible {
		return core.Errorf("mode_needs_thread", "mode session needs thread: true").WithRemedy("use mode run, or ask for a thread")
	}
	if p.Sandbox == sandboxRequire {
		return core.Errorf("sandbox", "sandbox require: no tool of this build runs in a sandbox").
			WithRemedy("use sandbox inherit, or do without the sub-agent")
	}
	if p.Mode == modeSession && p.Cleanup == cleanupDelete {
		return core.Errorf("bad_params", "cleanup delete does not go with mode session").WithRemedy("use cleanup keep")
	}
	return nil
}

// checkInner refuses names that the objects in the arguments do not have.
func checkInner(keys map[string]json.RawMessage) error {
	known := map[string][]string{"budget": {"tokens", "usd"}, "attachAs": {"mountPath"}, "attachments": {"name", "content", "encoding", "mimeType"}}
	for _, name := range []string{"budget", "attachAs", "attachments"} {
		var objects []map[string]json.RawMessage
		if json.Unmarshal(keys[name], &objects) != nil {
			var one map[string]json.RawMessage
			if json.Unmarshal(keys[name], &one) != nil {
				continue // nothing, or refused by its type
			}
			objects = append(objects, one)
		}
		for _, o := range objects {
			for _, key := range slices.Sorted(maps.Keys(o)) {
				if !slices.Contains(known[name], key) {
					return core.Errorf("unknown_param", "unknown parameter %q in %s", key, name).WithRemedy("known: %s", strings.Join(known[name], ", "))
				}
			}
		}
	}
	return nil
}

// checkBudget refuses a budget that bounds nothing, or that a reader would take
// for a bound.
func checkBudget(raw json.RawMessage, b *core.Budget) error {
	if b == nil {
		return nil
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return core.Errorf("bad_params", "budget is not an object").WithRemedy("use {tokens, usd}")
	}
	_, tokens := keys["tokens"]
	_, usd := keys["usd"]
	switch {
	case !tokens && !usd:
		return core.Errorf("bad_params", "budget is empty").WithRemedy("give tokens, usd or both, or leave it out")
	case tokens && b.Tokens < 1:
		return core.Errorf("bad_params", "budget.tokens is %d", b.Tokens).WithRemedy("give at least 1, or leave it out")
	case usd && b.USD <= 0:
		return core.Errorf("bad_params", "budget.usd is %g", b.USD).WithRemedy("give more than 0, or leave it out")
	}
	return nil
}

func defaultMode(thread bool) string {
	if thread {
		return modeSession
	}
	return modeRun
}

func oneOf(name string, v *string, byDefault string, allowed ...string) error {
	if *v == "" {
		*v = byDefault
		return nil
	}
	if !slices.Contains(allowed, *v) {
		return core.Errorf("bad_params", "%s %q is unknown", name, *v).WithRemedy("use %s", strings.Join(allowed, " or "))
	}
	return nil
}

// spawnResult is the answer of sessions_spawn.
type spawnResult struct {
	Status     string          `json:"status"`
	RunID      string          `json:"runId"`
	SessionKey string          `json:"childSessionKey"`
	TaskID     string          `json:"taskId"`
	Mode       string          `json:"mode"`
	Context    string          `json:"context"`
	Model      string          `json:"resolvedModel"`
	Provider   string          `json:"resolvedProvider"`
	Thread     *spawnThread    `json:"thread"`
	Note       string          `json:"note"`
	Warnings   []string        `json:"warnings"`
	Files      *resultFiles    `json:"attachments,omitempty"`
	Tree       *resultWorktree `json:"worktree,omitempty"`
}

type spawnThread struct {
	Address string `json:"address"`
	Title   string `json:"title"`
}

// refusal is the text of a refused spawn: its status word, code and remedy.
func refusal(err error) string {
	status := "error"
	switch core.ErrorCode(err) {
	case "agent_not_allowed", "agent_unknown", "agent_required", "depth_limit", "children_limit", "tree_limit", "backlog", "budget", "sandbox",
		"bindings_disabled", "spawn_sessions_disabled", "quota", "hook_veto", "cwd_outside", "visible_inherited", "attachments_disabled":
		status = "forbidden"
	}
	code := core.ErrorCode(err)
	if code == "" {
		code = "error"
	}
	return tool.Encode(map[string]string{"status": status, "code": code, "error": fmt.Sprint(err)})
}
