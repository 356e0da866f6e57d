package subagent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/attach"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/tool"
	"github.com/skein-bot/skein/core/worktree"
	"github.com/skein-bot/skein/core/world"
)

// SpawnName is the name of the tool that starts sub-agents.
const SpawnName = "sessions_spawn"

// SpawnTool is sessions_spawn.
type SpawnTool struct{ e *Engine }

var _ tool.Durable = SpawnTool{}

// Spec implements core.Tool.
func (t SpawnTool) Spec() core.ToolSpec {
	return core.ToolSpec{
		Name: SpawnName,
		Description: "Start a sub-agent in the background, for work that is long or independent of this conversation. " +
			"It returns at once; when the child ends, its result comes to you as an event. Never poll: call sessions_yield to wait for your children. " +
			"Fork this conversation sparingly, only where the child needs it. " +
			"A result that comes after your final answer and adds nothing is answered with exactly NO_REPLY.",
		// One after the other, so that children are numbered in the order of the
		// calls.
		Schema: spawnSchema(t.e.Config.Files().Enabled), Serial: true,
	}
}

// Invoke is never called: the effect of a spawn is rows of the store.
func (SpawnTool) Invoke(context.Context, core.ToolScope, core.ToolCall) (core.ToolResult, error) {
	return core.ToolResult{}, errors.New("sessions_spawn is durable")
}

// spawn is one call in progress.
type spawn struct {
	e      *Engine
	asked  *Asked // by a person, nil of a call
	scope  core.ToolScope
	p      spawnParams
	run    core.Run
	turn   store.Turn
	parent store.Session
	warn   []string
	note   string
	// skipped are the models that were to be used and are unknown, refused is why
	// nothing is started, and thread is where the child answers.
	skipped []string
	refused error
	thread  core.Address
	bound   Reservation
	place   *core.Address
	// dir is the folder that cwd names, or why it cannot be used; it is found
	// before any transaction.
	dir      string
	dirErr   error
	files    []attach.Content // that are handed over, checked
	folder   store.Attachment // where they go
	repo     worktree.Repo    // of a spawn with a worktree
	branches map[string]bool
	tree     store.Worktree // reserved, zero for none
	// again is the result of an earlier spawn under the same key, "" for none.
	again string
}

// InvokeDurable implements tool.Durable.
func (t SpawnTool) InvokeDurable(ctx context.Context, scope core.ToolScope, call core.ToolCall, steps tool.Steps) error {
	s := &spawn{e: t.e, scope: scope}
	var err error
	if s.p, err = parseSpawn(call.Args); err != nil {
		return refuse(ctx, steps, err)
	}
	if err := s.checkFiles(); err != nil {
		return s.undone(ctx, steps, err) // the rules may have been others before a crash
	}
	s.findDir()
	s.findRepo(ctx)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if s.p.Thread || len(s.files) > 0 || s.p.Worktree {
		return s.outside(ctx, steps)
	}
	err = steps.Finish(ctx, func(tx *store.Tx) (tool.Result, error) {
		if err := s.load(tx); err != nil || s.again != "" {
			return s.repeated(), err
		}
		if err := s.admit(tx); err != nil {
			return tool.Result{}, err
		}
		if err := s.roomInTree(tx); err != nil {
			return tool.Result{}, err
		}
		return s.start(tx, core.Binding{})
	})
	if err != nil {
		return s.answer(ctx, steps, err)
	}
	return s.e.World.Crash(world.SpawnAfterCommit)
}

// refuse finishes the call with a refusal.
func refuse(ctx context.Context, steps tool.Steps, err error) error {
	return steps.Finish(ctx, func(*store.Tx) (tool.Result, error) {
		return tool.Result{ToolResult: core.ToolResult{Text: refusal(err), Error: true}}, nil
	})
}

// answer turns a refusal inside a transaction, which was rolled back whole,
// into the result of the call.
func (s *spawn) answer(ctx context.Context, steps tool.Steps, err error) error {
	if err == nil {
		return nil
	}
	var refused *core.Error
	if errors.As(err, &refused) && !strings.HasPrefix(refused.Code, "store_") {
		s.refused = err
		return refuse(ctx, steps, err)
	}
	return err
}

// forPeople gives a refusal, as a model reads it, the wording that people read:
// they have other remedies.
func forPeople(people, err *core.Error) *core.Error {
	err.Wording = people.Wording
	return err
}

// findDir resolves the folder that the call names. It reads the disk.
func (s *spawn) findDir() {
	if s.p.Cwd == "" {
		return
	}
	target := s.targetID()
	workspace := s.e.Config.Workspace(target)
	at := places{base: workspace, roots: s.e.Config.Directories()}
	if workspace != "" {
		at.roots = append([]string{workspace}, at.roots...)
	}
	if target == s.scope.Agent && s.scope.Dir != "" && s.scope.Dir != workspace {
		at.base, at.roots = s.scope.Dir, append(at.roots, s.scope.Dir)
	}
	s.dir, s.dirErr = at.resolve(s.p.Cwd)
}

// targetID is the agent that the call means.
func (s *spawn) targetID() string {
	if s.p.AgentID != "" {
		return s.p.AgentID
	}
	return s.scope.Agent
}

// load reads who asks, and whether they asked under the same key before.
func (s *spawn) load(tx *store.Tx) (err error) {
	s.again, s.warn, s.skipped, s.note = "", nil, nil, ""
	if err = s.who(tx); err != nil || s.p.IdempotencyKey == "" {
		return err
	}
	if s.again, err = tx.SpawnResult(s.requester(), s.p.IdempotencyKey); errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// requester names whose keys are compared: the run that asks, in a chat the
// chain of turns.
func (s *spawn) requester() string {
	if s.turn.Run != "" {
		return "run/" + s.turn.Run
	}
	return fmt.Sprintf("turn/%d", s.chain())
}

// chain is the first turn of the chain that asks.
func (s *spawn) chain() int64 {
	if s.turn.Chain != 0 {
		return s.turn.Chain
	}
	return s.turn.ID
}

// repeated is the result of the first spawn under the same key.
func (s *spawn) repeated() tool.Result {
	return tool.Result{ToolResult: core.ToolResult{Text: s.again}}
}

// admit checks everything but the room in the tree and reserves the run and its
// session; load came before it, and roomInTree comes last.
func (s *spawn) admit(tx *store.Tx) error {
	if err := s.plan(tx); err != nil {
		return err
	}
	if err := s.limits(tx); err != nil {
		return err
	}
	if s.dirErr != nil {
		return s.dirErr
	}
	child, err := s.session(tx)
	if err != nil {
		return err
	}
	s.run.Session, s.run.SessionKey = child.ID, child.Key
	if s.run.Ordinal, err = tx.NextOrdinal(s.parent.ID); err != nil {
		return err
	}
	if s.run.Completion, err = tx.NextCompletion(child.ID); err != nil {
		return err
	}
	return tx.InsertRun(s.run)
}

// plan resolves what the child will be.
func (s *spawn) plan(tx *store.Tx) error {
	e, id := s.e, s.e.World.NewID()
	set := e.Config.Subagents(s.scope.Agent)
	agentID, err := s.target(set)
	if err != nil {
		return err
	}
	caller, err := s.caller(tx)
	if err != nil {
		return err
	}
	if s.p.Visible && caller.ToolCeiling != nil {
		return core.Errorf("visible_inherited", "a visible session is not started from here: your own tools were fixed when you were started").
			WithRemedy("start a sub-agent that is not visible, or leave it to the agent that started you")
	}
	ref, thinking := s.models(set, agentID, caller)
	s.run = core.Run{
		ID: id, TaskID: e.World.NewID(), Requester: s.parent.ID, RequesterID: s.parent.Key, RequesterRun: s.turn.Run,
		RequesterTurn: s.chain(), Depth: s.parent.Depth + 1, Agent: agentID, Task: s.p.Task, TaskName: s.p.TaskName, Label: s.p.Label,
		Origin: s.turn.ReplyTo, Anchor: s.turn.Anchor, Owner: s.turn.Owner, Status: core.RunQueued, Delivery: core.DeliveryPending,
		CreatedAt: e.World.Now(), Role: "leaf", Request: s.turn.Request,
	}
	if s.run.Depth < set.MaxSpawnDepth {
		s.run.Role = "orchestrator"
	}
	if s.run.Root, err = s.root(tx); err != nil {
		return err
	}
	s.run.Spec = core.SpawnSpec{
		Agent: agentID, Model: ref, Thinking: thinking, Mode: s.p.Mode, Context: s.context(agentID), LightContext: s.p.LightContext, Cleanup: s.p.Cleanup,
		TimeoutSeconds: s.timeout(set), ExpectsCompletion: s.p.Expects == nil || *s.p.Expects, Policy: s.turn.Policy,
		Generation: s.parent.Generation, Sandbox: s.p.Sandbox, Budget: s.p.Budget,
		Cwd: s.dir, Files: s.specFiles(),
	}
	if s.p.Cwd == "" && agentID == s.scope.Agent {
		s.run.Spec.Cwd = caller.Cwd // it goes on where its requester works
	}
	return s.inherit(tx)
}

// caller is what the spawn of the session that asks resolved to, zero for a
// session that nobody spawned.
func (s *spawn) caller(tx *store.Tx) (core.SpawnSpec, error) {
	if s.turn.Run != "" {
		run, err := tx.RunByID(s.turn.Run)
		return run.Spec, err
	}
	run, err := tx.LatestRunOfSession(s.parent.ID)
	if errors.Is(err, store.ErrNotFound) {
		return core.SpawnSpec{}, nil
	}
	return run.Spec, err
}

// root is the root of the tree: what a top-level session starts is one tree.
func (s *spawn) root(tx *store.Tx) (string, error) {
	if s.turn.Run != "" {
		above, err := tx.RunByID(s.turn.Run)
		return above.Root, err
	}
	above, err := tx.LatestRunOfSession(s.parent.ID)
	if err == nil {
		return above.Root, nil
	}
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Sprintf("session:%d", s.parent.ID), nil
	}
	return "", err
}

// models resolves the model and the level of thinking: of the call, of the rules
// for sub-agents, then for another agent its own model, then the caller's as it
// is in this turn.
func (s *spawn) models(set Settings, agentID string, caller core.SpawnSpec) (ref, thinking string) {
	candidates := []string{s.p.Model, set.Model}
	if agentID != s.scope.Agent {
		candidates = append(candidates, s.e.Config.Model(agentID))
	}
	if s.turn.Run != "" {
		candidates = append(candidates, caller.Model)
	}
	for _, c := range append(candidates, s.parent.Model, caller.Model, s.e.Config.Model(s.scope.Agent)) {
		if c == "" {
			continue
		}
		if s.e.Config.ModelKnown(c) {
			ref = c
			break
		}
		s.skipped = append(s.skipped, c)
		s.warn = append(s.warn, fmt.Sprintf("the model %q is unknown and was skipped", c))
	}
	for _, t := range []string{s.p.Thinking, set.Thinking, caller.Thinking, s.e.Config.Thinking(s.scope.Agent)} {
		if t != "" {
			return ref, t
		}
	}
	return ref, ""
}

// timeout is the time limit of the child, in seconds, 0 for none. What the
// operator set can only be shortened: a 0 in the call lifts nothing.
func (s *spawn) timeout(set Settings) int64 {
	limit := int64(set.RunTimeout.Seconds())
	if s.p.RunTimeoutSeconds == nil {
		return limit
	}
	asked := *s.p.RunTimeoutSeconds
	switch {
	case limit == 0:
		return asked
	case asked == 0 || asked > limit:
		s.warn = append(s.warn, fmt.Sprintf("runTimeoutSeconds %d is more than the operator allows; the limit is %d", asked, limit))
		return limit
	}
	return asked
}

// context is the context that was asked for; session may find that a fork is
// too long.
func (s *spawn) context(agentID string) string {
	c := s.p.Context
	if c == "" && s.p.Thread {
		c = s.e.Config.SpawnContext(s.turn.ReplyTo.Channel, s.turn.ReplyTo.Account)
		if c == contextFork && agentID != s.scope.Agent {
			c = contextIsolated
		}
	}
	if c == "" {
		c = contextIsolated
	}
	return c
}

// session creates the child's session, forked where that was asked for and is
// possible.
func (s *spawn) session(tx *store.Tx) (store.Session, error) {
	now := s.e.World.Now()
	child := store.Session{
		Key: core.SubagentKey(s.run.Agent, uuid(s.run.ID)).String(), Agent: s.run.Agent, Kind: core.SessionSubagent, Group: s.p.group(),
		Title: s.run.Name(), Depth: s.run.Depth, Parent: s.parent.ID, CreatedAt: now, UsedAt: now,
	}
	if s.p.Visible {
		child.Key, child.Kind = core.DashboardKey(s.run.Agent, uuid(s.run.ID)).String(), core.SessionDashboard
	}
	var open []unfinished
	if s.run.Spec.Context == contextFork {
		var err error
		if open, err = s.fork(tx, &child); err != nil {
			return child, err
		}
	}
	child, err := tx.InsertSession(child)
	if err != nil {
		return child, err
	}
	return child, s.standIn(tx, child, open)
}

// start makes the reserved run ready and returns the result of the call. It is
// the last transaction of a spawn.
func (s *spawn) start(tx *store.Tx, b core.Binding) (tool.Result, error) {
	item := model.Item{Kind: model.User, Text: TaskMark + s.run.Task, At: s.e.World.Now()}
	row := store.Inbox{
		Session: s.run.Session, Kind: store.InboxTask, Lane: store.LaneSubagent, ReplyTo: b.Address, Policy: s.turn.Policy,
		Owner: s.run.Owner, Run: s.run.ID, Body: item.Encode(), At: s.e.World.Now(),
	}
	if _, err := tx.InsertInbox(row); err != nil {
		return tool.Result{}, err
	}
	if err := s.e.ready(tx, s.run.Session, store.LaneSubagent, false); err != nil {
		return tool.Result{}, err
	}
	if s.tree.ID != "" {
		if err := tx.SetWorktree(s.tree); err != nil {
			return tool.Result{}, err
		}
	}
	run := s.run
	s.thread = b.Address
	tx.OnCommit(func() { s.e.Bindings.Spawned(run, b.Address) })
	text := tool.Encode(s.result(b))
	if s.p.IdempotencyKey != "" {
		if err := tx.KeepSpawnResult(s.requester(), s.p.IdempotencyKey, run.ID, text); err != nil {
			return tool.Result{}, err
		}
	}
	return tool.Result{ToolResult: core.ToolResult{Text: text}}, nil
}

func (s *spawn) result(b core.Binding) spawnResult {
	provider, _, _ := strings.Cut(s.run.Spec.Model, "/")
	r := spawnResult{
		Status: "accepted", RunID: s.run.ID, SessionKey: s.run.SessionKey, TaskID: s.run.TaskID, Mode: s.run.Spec.Mode,
		Context: s.run.Spec.Context, Model: s.run.Spec.Model, Provider: provider, Warnings: s.warn, Note: s.note,
		Files: s.resultFiles(), Tree: s.resultWorktree(),
	}
	if r.Warnings == nil {
		r.Warnings = []string{}
	}
	switch {
	case s.p.Visible:
		r.Note += fmt.Sprintf("It is a session that people can see and keep: /focus %s leads to it. ", focusName(s.run))
		if s.run.Spec.ExpectsCompletion {
			r.Note += "What it answers to this task comes to you as an event. Do not poll."
		}
	case !s.run.Spec.ExpectsCompletion:
		r.Note += "No event will come."
	case b.ID != "":
		r.Thread = &spawnThread{Address: b.Address.String(), Title: s.run.Name()}
		r.Note += "It answers in its own thread; its result also comes to you as an event. Do not poll; wait with sessions_yield."
	default:
		r.Note += "Its result comes to you as an event. Do not poll; wait with sessions_yield."
	}
	return r
}
