package subagent

import (
	"context"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/tool"
	"github.com/skein-bot/skein/core/words"
)

// Asked is a spawn that a person asks for with a command, not an agent with a
// call. It is admitted by the same rules.
type Asked struct {
	// Key names the message for ever. It is negative, so that it is never a turn's;
	// what the spawn spends is counted as one request under it, and the intent of
	// a spawn with a thread is its step askedSeq.
	Key int64 `json:"key"`
	// Session is the requester: the one to which the conversation leads.
	Session int64                 `json:"session"`
	At      core.Address          `json:"at"` // where the command was written
	Kind    core.ConversationKind `json:"kind"`
	Anchor  string                `json:"anchor,omitempty"` // the message
	Owner   string                `json:"owner,omitempty"`  // the person as "channel:id"
	Policy  string                `json:"policy,omitempty"` // the sender policy of the message

	Agent    string `json:"agent"`
	Task     string `json:"task"`
	Model    string `json:"model,omitempty"`    // "" for the usual one
	Thinking string `json:"thinking,omitempty"` // "" for the usual level
}

// askedSeq is the step of the intent of a spawn with a thread that was asked for;
// step 0 is that of whoever asks.
const askedSeq = 1

// Started is what an Asked spawn came to.
type Started struct {
	Run core.Run
	// Skipped are the models that were to be used and are unknown.
	Skipped []string
	// Thread is where it answers, zero where it has no thread; Unbound then says
	// why, where one was asked for.
	Thread  core.Address
	Unbound string
}

// SpawnAsked starts a sub-agent without a thread, in the transaction of the
// message. A *core.Error is a refusal, and has written nothing.
func (e *Engine) SpawnAsked(tx *store.Tx, a Asked) (Started, error) {
	s, err := e.asks(a, false)
	if err != nil {
		return Started{}, err
	}
	if err := tx.LockSession(a.Session); err != nil {
		return Started{}, err
	}
	if err := s.load(tx); err != nil {
		return Started{}, err
	}
	if err := s.admit(tx); err != nil {
		return Started{}, err
	}
	if err := s.roomInTree(tx); err != nil {
		return Started{}, err
	}
	if _, err := s.start(tx, core.Binding{}); err != nil {
		return Started{}, err
	}
	return s.started(core.Address{}), nil
}

// ThreadAsked starts a sub-agent with a thread, in two phases as a call does. It
// blocks for the extensions and the platform. done is called once, in the
// transaction in which the sub-agent begins, or in one of its own with why none
// does. Called again after a crash it goes on where it was, for as long as done
// has not been committed.
func (e *Engine) ThreadAsked(ctx context.Context, a Asked, done func(tx *store.Tx, st Started, refusal error) error) error {
	s, err := e.asks(a, true)
	if err != nil {
		return e.DB.Write(ctx, func(tx *store.Tx) error { return done(tx, Started{}, err) })
	}
	return s.outside(ctx, askedSteps{s, done})
}

// asks is the spawn of a person.
func (e *Engine) asks(a Asked, thread bool) (*spawn, error) {
	if !agentIDForm.MatchString(a.Agent) {
		return nil, words.RefuseSpawnAgentUnknown("agent_unknown", core.Clip(a.Agent, 60), e.Config.Agents())
	}
	s := &spawn{e: e, asked: &a, p: spawnParams{Task: a.Task, AgentID: a.Agent, Model: a.Model, Thinking: a.Thinking, Thread: thread}}
	s.scope = core.ToolScope{Session: a.Session, Turn: a.Key, Seq: askedSeq, Reply: a.At}
	return s, s.p.check()
}

// turn stands for the turn that a call would be of.
func (a Asked) turn(s store.Session) store.Turn {
	return store.Turn{
		Session: s.ID, Generation: s.Generation, Request: a.Key, Kind: store.InboxMessage, Lane: store.LaneMain, ReplyTo: a.At, Anchor: a.Anchor,
		Policy: a.Policy, Owner: a.Owner,
	}
}

// who reads who asks.
func (s *spawn) who(tx *store.Tx) (err error) {
	if s.parent, err = tx.SessionByID(s.scope.Session); err != nil {
		return err
	}
	if s.asked == nil {
		s.turn, err = tx.TurnByID(s.scope.Turn)
		return err
	}
	s.turn, s.scope.Agent = s.asked.turn(s.parent), s.parent.Agent
	return nil
}

// started is what the spawn came to.
func (s *spawn) started(thread core.Address) Started {
	return Started{Run: s.run, Skipped: s.skipped, Thread: thread, Unbound: s.bound.Unbound}
}

// askedSteps are the transactions of a spawn that a person asks for.
type askedSteps struct {
	s    *spawn
	done func(tx *store.Tx, st Started, refusal error) error
}

var _ tool.Steps = askedSteps{}

// Do implements tool.Steps. The requester's session is locked, as it is in a turn.
func (a askedSteps) Do(ctx context.Context, fn func(tx *store.Tx) error) error {
	return a.DoWith(ctx, nil, fn)
}

// DoWith implements tool.Steps.
func (a askedSteps) DoWith(ctx context.Context, also []int64, fn func(tx *store.Tx) error) error {
	return a.s.e.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.LockSession(append(also, a.s.scope.Session)...); err != nil {
			return err
		}
		return fn(tx)
	})
}

// Finish implements tool.Steps.
func (a askedSteps) Finish(ctx context.Context, fn func(tx *store.Tx) (tool.Result, error)) error {
	return a.Do(ctx, func(tx *store.Tx) error {
		a.s.thread = core.Address{}
		if _, err := fn(tx); err != nil {
			return err
		}
		if a.s.refused != nil {
			return a.done(tx, Started{}, a.s.refused)
		}
		return a.done(tx, a.s.started(a.s.thread), nil)
	})
}

// Rest implements tool.Steps: there is no slot to give back.
func (askedSteps) Rest(ctx context.Context, wait func(ctx context.Context)) { wait(ctx) }
