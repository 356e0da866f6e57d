package subagent

import (
	"context"
	"log/slog"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
	"github.com/skein-bot/skein/core/world"
)

// Settings are agents.*.subagents, resolved for one agent.
type Settings struct {
	MaxSpawnDepth       int
	MaxChildrenPerAgent int
	MaxTreeRuns         int // 0 is off
	RunTimeout          time.Duration
	AnnounceTimeout     time.Duration // for a turn on a completion to start
	ArchiveAfter        time.Duration // 0 is off
	ForkMaxTokens       int
	AllowAgents         []string // nil or empty: only itself
	RequireAgentID      bool
	Prefer              bool // delegationMode "prefer"
	Model, Thinking     string
}

// Config answers from the live configuration.
type Config interface {
	Subagents(agentID string) Settings
	// Limits are the budgets of an agent, one that is not configured has none.
	Limits(agentID string) Limits
	// AgentKnown reports whether an agent is configured.
	AgentKnown(id string) bool
	// Language is the one in which people are spoken to.
	Language() words.Language
	Agents() []string
	// Model returns an agent's own model; ModelKnown whether a reference can
	// be resolved.
	Model(agentID string) string
	ModelKnown(ref string) bool
	Thinking(agentID string) string
	// Workspace is where an agent's tools work, "" for nowhere; Directories are
	// the folders outside of it that an operator opened to sub-agents.
	Workspace(agentID string) string
	Directories() []string
	// Files are the rules for files that a spawn hands over.
	Files() FileRules
	// ToolCeiling returns what the sender policy of a turn leaves of all tools,
	// nil for no ceiling: the most that a child of that turn may ever have.
	ToolCeiling(scope agent.Scope) []string
	// SpawnContext is the default context of a thread-bound spawn.
	SpawnContext(channel, account string) string
}

// BindRequest asks for a binding of a spawn.
type BindRequest struct {
	ID         string // of the record, chosen by the caller
	At         core.Address
	Kind       core.ConversationKind
	Session    int64
	SessionKey string
	Agent      string
	Label      string
	Owner      string
	RunID      string
	Intent     string
	Text       string
	Place      *core.Address // supplied by a hook
}

// Reservation is a binding that is reserved for a spawn.
type Reservation struct {
	// Binding is pending; it is zero where the spawn runs unbound, and Unbound
	// says why.
	Binding core.Binding
	Unbound string
	// Child is set where a thread must be opened.
	Child *core.ChildRequest
	// Handle is what the implementation needs again; opaque.
	Handle any
}

// Opened is a place that Open opened or found.
type Opened struct {
	Address core.Address
	Data    []byte
}

// Bindings is what a spawn needs of thread bindings; core/app joins it with
// package threadbind.
type Bindings interface {
	Reserve(tx *store.Tx, req BindRequest) (Reservation, error)
	// Restore rebuilds a reservation from its pending record after a restart.
	Restore(tx *store.Tx, id string, req BindRequest) (Reservation, bool, error)
	// Open opens the thread and calls commit once with it; any failure undoes
	// the thread and calls abort. resumed says that an earlier process may
	// have opened it.
	Open(ctx context.Context, r Reservation, resumed bool, commit func(Opened) error, abort func(cause error) (bool, error)) error
	Activate(tx *store.Tx, id string, o Opened, session int64, key string) (core.Binding, error)
	Abort(tx *store.Tx, id string) (bool, error)
	EndSession(tx *store.Tx, session int64) error
	End(tx *store.Tx, id string, reason core.EndReason) error
	// Spawning asks the veto hooks; it may block for their deadlines. Spawned
	// and Ended tell the observers and never block.
	Spawning(ctx context.Context, run core.Run) (place *core.Address, err error)
	Spawned(run core.Run, at core.Address)
	RunEnded(run core.Run)
	// Redirects reports whether DeliveryTarget has anybody to ask.
	Redirects() bool
	// DeliveryTarget may replace the address of a completion's answer. It may
	// block for the deadlines of hooks: call it outside transactions.
	DeliveryTarget(ctx context.Context, run core.Run, to core.Address) core.Address
}

// Poster puts messages into the outbox; core/delivery implements it.
type Poster interface {
	Post(tx *store.Tx, r store.Outbox) (id int64, fresh bool, err error)
	// Withdraw takes back what a session has not sent yet.
	Withdraw(tx *store.Tx, session int64) (int64, error)
	// Reissue sends a message in trouble once more, under another once-key.
	Reissue(tx *store.Tx, old store.Outbox, key string) error
	// DropPreview has a preview removed, unless a row is there to replace it.
	DropPreview(tx *store.Tx, id int64) error
}

// Waker is the kernel's part that the engine needs.
type Waker interface {
	Wake(session int64, lane store.Lane, urgent bool)
	Cancel(session int64, cause error) bool
	// Running reports whether a turn of the session runs in this process.
	Running(session int64) bool
	Due(at core.Millis)
}

// Options make an Engine. Kernel is set later with SetKernel, because the
// kernel needs the turn, which needs the engine.
type Options struct {
	World    *world.World
	DB       *store.DB
	Log      *slog.Logger
	Config   Config
	Bindings Bindings
	Poster   Poster
	// OnBlocked runs in the transaction in which it becomes known that nobody
	// was told a run's outcome; nil does nothing.
	OnBlocked func(tx *store.Tx, run core.Run, detail string) error
	// OnBacklog runs in that transaction too where n outcomes of the run's tree
	// are blocked, of the most it may have; nil does nothing.
	OnBacklog func(tx *store.Tx, run core.Run, n, most int) error
	// OnBudget runs in the transaction that ends a turn because the limits of an
	// agent are used up; nil does nothing.
	OnBudget func(tx *store.Tx, over *agent.BudgetError) error
	// Registry finds the tools that hear of the ends of runs; nil knows none.
	Registry Registry
	// Go runs what must not be done in a transaction, in a goroutine that the
	// runtime waits for.
	Go func(f func(ctx context.Context))
	// Worktrees is the folder where managed worktrees are made, absolute.
	Worktrees string
	// Settle is how long a spawn must have been half done before Recover takes
	// it for one that a crash left; 0 where this process is alone on its store.
	Settle time.Duration
}

// Engine runs sub-agents.
type Engine struct {
	Options
	kernel  Waker
	waiters waiters
}

var _ agent.Ender = (*Engine)(nil)

// New returns an engine without a kernel.
func New(o Options) *Engine { return &Engine{Options: o} }

// SetKernel joins the engine with the kernel; call it before Start.
func (e *Engine) SetKernel(k Waker) { e.kernel = k }

// ready marks a session ready and wakes it after the commit.
func (e *Engine) ready(tx *store.Tx, session int64, lane store.Lane, urgent bool) error {
	if err := tx.MarkReady(session, e.World.Now()); err != nil {
		return err
	}
	tx.OnCommit(func() { e.kernel.Wake(session, lane, urgent) })
	return nil
}

// Deadline implements agent.Ender: when the run's time is over.
func (e *Engine) Deadline(run *core.Run) core.Millis {
	if run == nil || run.Spec.TimeoutSeconds <= 0 || run.StartedAt == 0 {
		return 0
	}
	return run.StartedAt.Add(time.Duration(run.Spec.TimeoutSeconds) * time.Second)
}

// Limits of recovery (see Begin).
const (
	resumeAge     = 2 * time.Hour
	resumeWindow  = 2 * time.Minute
	resumeMax     = 2 // the third resume within the window gives up
	resumeGrace   = time.Minute
	recentWindow  = 30 * time.Minute
	inlineResult  = 32 << 10
	noticeExcerpt = 600
)

// Begin implements agent.Ender: it starts the run, and decides after a crash
// whether a run may go on.
func (e *Engine) Begin(tx *store.Tx, l *kernel.Lease) (*agent.Outcome, error) {
	if err := l.Started(tx); err != nil {
		return nil, err
	}
	if l.Turn.Run == "" {
		return nil, nil
	}
	now := e.World.Now()
	run, err := tx.RunByID(l.Turn.Run)
	if err != nil {
		return nil, err
	}
	if !run.Status.Live() {
		return &agent.Outcome{State: store.TurnCancelled, Status: run.Status, Detail: words.English().DetailRunOver()}, nil
	}
	if l.Resumed {
		if out, err := e.mayResume(tx, l, run, now); out != nil || err != nil {
			return out, err
		}
	}
	if err := e.tellGoes(tx, l, run); err != nil {
		return nil, err
	}
	tx.OnCommit(func() { e.kernel.Due(now.Add(sweepEvery)) })
	return nil, tx.SetRunStatus(run.ID, core.RunRunning, now)
}

// mayResume returns an outcome where a run must not be resumed: what a crash
// interrupted is too old, or it brings the process down again and again. The age
// is that of the turn in progress, so a run may wait, and a session be kept, for
// as long as they need; and it counts from the last orderly stop, after which
// every turn simply goes on.
func (e *Engine) mayResume(tx *store.Tx, l *kernel.Lease, run core.Run, now core.Millis) (*agent.Outcome, error) {
	if l.Orderly {
		return nil, e.noteResumed(tx, l)
	}
	oldest := max(resumeAge, time.Duration(run.Spec.TimeoutSeconds)*time.Second+resumeGrace)
	if now.Sub(l.Turn.WorkedFrom) > oldest {
		return &agent.Outcome{
			State: store.TurnCancelled, Status: core.RunInterrupted, Partial: true,
			Detail: words.English().DetailTooOld(),
		}, nil
	}
	n, err := tx.NoteResume(run.ID, now, now.Add(-resumeWindow))
	if err != nil {
		return nil, err
	}
	if n > resumeMax {
		why := words.English().DetailTombstone()
		if err := tx.InsertTombstone(run.ID, why, now); err != nil {
			return nil, err
		}
		return &agent.Outcome{State: store.TurnCancelled, Status: core.RunInterrupted, Partial: true, Detail: why}, nil
	}
	return nil, e.noteResumed(tx, l)
}

// noteResumed tells a run that has begun its work why it stopped.
func (e *Engine) noteResumed(tx *store.Tx, l *kernel.Lease) error {
	if l.Turn.Seq == 0 {
		return nil
	}
	return e.appendNote(tx, l, "The process was restarted while you were working. Nothing above was lost; go on where you stopped.")
}
