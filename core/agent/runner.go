package agent

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/tool"
	"github.com/skein-bot/skein/core/words"
	"github.com/skein-bot/skein/core/world"
)

// Definition is an agent as the operator configured it, resolved.
type Definition struct {
	ID           string
	Name         string
	Instructions string
	// ContextFiles are put into the prompt after the instructions.
	ContextFiles []ContextFile
	Model        string // "<provider>/<model id>"
	// Fallbacks are asked, in order, where the turn's model fails.
	Fallbacks []string
	Thinking  string
	// Workspace is where its tools work, an absolute path; "" for nowhere.
	Workspace string
	Timezone  *time.Location
	MaxSteps  int           // model calls of one turn; 0 means 50
	Timeout   time.Duration // of one turn; 0 means none
}

// ContextFile is a file that every prompt of an agent carries.
type ContextFile struct {
	Name, Text string
	// Persona marks what makes the agent a person to people; its sub-agents do
	// not get it.
	Persona bool
}

// Catalogue finds what a turn needs, in the configuration that is live when
// the turn starts; a reload does not change a turn in progress.
type Catalogue interface {
	// Agent returns a definition; ok is false if it is not configured any more.
	Agent(id string) (def Definition, ok bool)
	// Ways returns how an agent may ask a model, "<provider>/<model id>": with a
	// credential of its own first, then with the shared one where it may use
	// that. The error, a *core.Error or *model.Error, says why it can ask it in
	// no way.
	Ways(agentID, ref string) ([]Way, error)
	// Info returns what is known about a model; of one that is not configured, a
	// window alone.
	Info(ref string) model.Info
	// Tools returns the tools of a turn after every stage of the policy. An
	// error, of code no_tools, ends the turn before it calls a model: the agent
	// needs tools, and none is left.
	Tools(ctx context.Context, scope Scope) (Offer, error)
	// Limits returns the settings that apply to every turn.
	Limits() Limits
}

// Way is one way to ask a model: an endpoint, with one credential.
type Way struct {
	Provider model.Provider
	ID       string // of the model, as the provider knows it
	// Key names the credential with the model, for cooldowns; two names of one
	// thing have the same.
	Key model.Key
	// Own is set where the credential is the agent's own.
	Own bool
}

// Limits apply to every turn.
type Limits struct {
	Stall       time.Duration // a model call without a token (models.stallSeconds)
	ToolTimeout time.Duration // one tool call (tools.timeoutSeconds)
	ToolGrace   time.Duration // for tools to stop when a turn is stopped
}

// Offer is what the tool policy leaves of all tools, and what it removed.
type Offer struct {
	Tools   []core.ToolSpec
	Removed []policy.Removal
}

// Scope is what a tool policy decides on.
type Scope struct {
	Agent   string
	Session store.Session
	Turn    store.Turn
	Run     *core.Run // that the turn works for; nil for a chat turn
	// Child is the run that a sub-agent's session was made for: Run, or the
	// latest one, which has ended; nil in other sessions.
	Child *core.Run
	Model string // the model that is asked, "<provider>/<model id>"
}

// Person reports whether a person decides about the tools of the turn, and not
// the spawn of a sub-agent: one who wrote to it, or in a conversation the one
// behind its turn.
func (s Scope) Person() bool {
	switch s.Turn.Kind {
	case store.InboxMessage, store.InboxDropped:
		return true
	}
	return s.Run == nil && s.Session.Depth == 0
}

// Outcome is how a turn ended, for Ender.
type Outcome struct {
	State store.TurnState
	// Status is how the turn's run ends if it has one and nothing is left to
	// wait for.
	Status core.RunStatus
	Text   string // the visible answer, "" if none
	// Spoke is set where visible text was posted before the end.
	Spoke bool
	// Silence is the silence token that was the whole answer, "" if none.
	Silence string
	// Partial marks a Text that was cut off by a stop or a timeout.
	Partial bool
	Detail  string // for people: why it failed
	// Yield is set where a call of this turn asked to wait, with its terms.
	Yield json.RawMessage
	// Events are the completions that the turn consumed.
	Events []model.Completion
	// Asked is set where the turn consumed a message of a person.
	Asked bool
	// Dropped is how many messages were over the cap of the queue.
	Dropped int
	// Left is how the first of them begin.
	Left []string
	// CallsFailed is set where the turn called tools and every call failed.
	CallsFailed bool
	// Calls is how many tool calls of the turn have ended, and LastTool what it
	// called last.
	Calls    int
	LastTool string
	// Over is set where a budget that is spent ended the turn.
	Over *BudgetError
	// Preview is the row that shows a part of the answer, 0 for none. What is
	// posted as the answer replaces it; else it goes.
	Preview int64
	// Targets are where the outcomes of runs are told, where Ender.Prepare
	// found another place than the one they would be told at.
	Targets map[Telling]core.Address
}

// Telling is a run whose outcome would be told at a place.
type Telling struct {
	Run string
	At  core.Place
}

// Ender decides what a turn means beyond its own session.
type Ender interface {
	// Begin is called in a transaction before the first model call of a claim.
	// It may end the turn instead by returning an outcome (a run that is too
	// old to resume).
	Begin(tx *store.Tx, lease *kernel.Lease) (*Outcome, error)
	// Prepare is called before the transaction of End, outside any: what may
	// take time, such as hooks, is asked here and noted in out.
	Prepare(ctx context.Context, lease *kernel.Lease, out *Outcome) error
	// End is called in the transaction that ends the turn, before the session
	// is released: it posts the answer, ends or parks the run, and hands its
	// completion to the requester.
	End(tx *store.Tx, lease *kernel.Lease, out Outcome) error
	// Progress is called in the transaction of a model answer that calls tools
	// and has visible text, or a preview, which the text replaces or which goes.
	// It may post the text.
	Progress(tx *store.Tx, lease *kernel.Lease, seq int, text string, preview int64) error
	// PreviewPlace returns where an answer of the turn can be shown while it is
	// written, the zero address for nowhere.
	PreviewPlace(tx *store.Tx, lease *kernel.Lease) (core.Address, error)
	// Preview posts the beginning of an answer there and returns its row.
	Preview(tx *store.Tx, lease *kernel.Lease, text string) (int64, error)
	// Prompt returns what the prompt says about the session's sub-agents and
	// its place; it may read the store.
	Prompt(tx *store.Tx, lease *kernel.Lease) (string, error)
	// Purse returns the budgets that the turn's calls draw on, nil for none. It
	// is asked once for each claim: a reload does not change them.
	Purse(tx *store.Tx, lease *kernel.Lease) (Purse, error)
	// Deadline returns when the turn's run times out, 0 for never.
	Deadline(run *core.Run) core.Millis
}

// Presence shows people that a turn is running; it must not block.
type Presence interface {
	Typing(ctx context.Context, at core.Address)
}

// Options make a Runner.
type Options struct {
	World     *world.World
	DB        *store.DB
	Log       *slog.Logger
	Catalogue Catalogue
	Tools     *tool.Registry
	Ender     Ender
	Presence  Presence // may be nil
	Previews  Previews // may be nil: answers are shown when they are whole
	Files     Files    // may be nil: nothing can be fetched
}

// Runner implements kernel.Runner.
type Runner struct {
	opts      Options
	cache     *historyCache
	cooldowns model.Cooldowns
	sizes     sizes
}

var _ kernel.Runner = (*Runner)(nil)

// New returns a runner.
func New(opts Options) *Runner {
	return &Runner{opts: opts, cache: newHistoryCache(512)}
}

// turn is the state of one claim while it runs.
type turn struct {
	r   *Runner
	l   *kernel.Lease
	def Definition
	run *core.Run
	// child is the run that a sub-agent's session was made for: run, or in the
	// turns of people who write to the sub-agent later, the one that has ended.
	child *core.Run
	// offers are the tools of the turn by the model that is asked, and offer
	// those of the one that was asked last.
	offers map[string]Offer
	offer  Offer
	lim    Limits

	system string
	items  []model.Item // the whole prompt, this turn's rows included
	sound  int          // so many of them went to a model as they are
	prompt []model.Item // the items of the request that is made now
	asked  int          // its tokens as estimated, 0 where they were not counted
	// refused are the tokens of the request that the model which is asked now
	// refused as too large, 0 if it did not.
	refused int
	final   *model.Item // the answer that ends the turn, where an earlier claim journalled it
	seq     int
	// pictures are contents by their Ref, read in this turn.
	pictures map[string]string
	usage    core.Usage // not booked yet
	purse    Purse      // nil for no limit
	out      Outcome
	preview  preview // of the answer that is written now
	// answerSeq is the step number of this turn's last model answer.
	answerSeq int
	steps     int // model answers of this turn
	calls     int // tool calls of this turn
	failed    int // of which failed
	// compactions are steps too, but a request has the same name before and
	// after one.
	compactions int
	// withheld is set where arguments of this turn's calls lie apart.
	withheld bool
	// warned is set where the run was told that its time is nearly over.
	warned bool
	// summaryFailed is set where this turn could not have its history
	// summarised: it is not tried again at each step.
	summaryFailed bool
}

// RunTurn implements kernel.Runner.
func (r *Runner) RunTurn(ctx context.Context, l *kernel.Lease) error {
	t := &turn{r: r, l: l, seq: l.Turn.Seq, lim: r.opts.Catalogue.Limits()}
	if l.Dead {
		return t.dead(ctx)
	}
	early, err := t.load(ctx)
	if err != nil {
		return err
	}
	if early != nil {
		early.Events, early.Asked = t.out.Events, t.out.Asked
		t.out = *early
		return t.end(ctx)
	}
	if l.Interrupted {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(kernel.ErrInterrupted)
		return t.settle(ctx, kernel.ErrInterrupted)
	}
	stopTyping := r.typing(ctx, l.Turn.ReplyTo)
	defer stopTyping()
	ctx, cancel := t.deadline(ctx)
	defer cancel()
	err = t.loop(ctx)
	return t.settle(ctx, err)
}

// errRunTimeout and errTurnTimeout are causes of a turn's context.
var (
	errRunTimeout  = errors.New("the run's time limit is over")
	errTurnTimeout = errors.New("the turn's time limit is over")
)

// deadline limits the turn: that of a sub-agent by the time of its run, any other
// by the time that its agent gives a turn.
func (t *turn) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var timers []core.Timer
	clock, now := t.r.opts.World.Clock, t.r.opts.World.Now()
	if d := t.def.Timeout; d > 0 && (t.run == nil || t.run.Kind != core.RunSubagent) {
		left := t.l.Turn.Started.Add(d).Sub(now)
		timers = append(timers, clock.AfterFunc(left, func() { cancel(errTurnTimeout) }))
	}
	if at := t.r.opts.Ender.Deadline(t.run); at != 0 {
		timers = append(timers, clock.AfterFunc(at.Sub(now), func() { cancel(errRunTimeout) }))
	}
	return ctx, func() {
		for _, x := range timers {
			x.Stop()
		}
		cancel(nil)
	}
}

// settle turns what ended the loop into the end of the turn, or hands the
// error to the kernel where the turn must not end.
func (t *turn) settle(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if killed := t.r.opts.World.Err(); killed != nil {
		return killed
	}
	if errors.Is(err, store.ErrFenced) {
		return err
	}
	switch cause := context.Cause(ctx); {
	case cause == nil && isStoreError(err):
		return err // the turn is claimed again: nothing is lost
	case errors.Is(cause, kernel.ErrStopping), errors.Is(cause, kernel.ErrNotStarted), errors.Is(cause, store.ErrNodeLost):
		return cause // it is continued, here or on another node
	case errors.Is(cause, errRunTimeout), errors.Is(cause, errTurnTimeout):
		t.out.State, t.out.Status, t.out.Partial, t.out.Detail = store.TurnCancelled, core.RunTimeout, true, t.ended(cause)
	case errors.Is(cause, kernel.ErrInterrupted):
		t.out.State, t.out.Status, t.out.Partial, t.out.Detail = store.TurnCancelled, core.RunCancelled, true, t.ended(cause)
		t.out.Text = ""
	case cause != nil:
		t.out.State, t.out.Status, t.out.Partial, t.out.Detail = store.TurnCancelled, core.RunCancelled, true, t.ended(cause)
	case over(err):
		t.out.State, t.out.Status, t.out.Partial, t.out.Detail = store.TurnFailed, core.RunBudget, true, explain(err)
		t.out.Over, _ = asOver(err)
	default:
		t.out.State, t.out.Status = store.TurnFailed, core.RunError
		t.out.Detail = explain(err)
		t.r.opts.Log.Warn("a turn failed", "session", t.l.Session.Key, "turn", t.l.Turn.ID, "model", t.modelRef(), "error", err)
	}
	// The turn's own context is over, but its end must still be written.
	return t.end(t.r.opts.World.Context())
}

// storeError marks errors of the store, after which the turn is tried again.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

func isStoreError(err error) bool {
	var e storeError
	return errors.As(err, &e)
}

// step runs one transaction of the turn.
func (t *turn) step(ctx context.Context, fn func(tx *store.Tx) error) error {
	if err := t.l.Step(ctx, fn); err != nil {
		return stepError(ctx, err)
	}
	return t.r.opts.World.Crash(world.StepAfterCommit)
}

// stepError is what a failed transaction means for the turn.
func stepError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		return cause
	}
	return storeError{err}
}

// dead ends a turn that crashed the process, or failed in the store, too
// often.
func (t *turn) dead(ctx context.Context) error {
	if _, err := t.load(ctx); err != nil {
		return err
	}
	t.out.State, t.out.Status = store.TurnDead, core.RunInterrupted
	t.out.Detail = words.English().DetailSetAside()
	return t.end(ctx)
}

// end writes the end of the turn.
func (t *turn) end(ctx context.Context) error {
	w := t.r.opts.World
	if err := w.Crash(world.TurnBeforeEnd); err != nil {
		return err
	}
	t.out.CallsFailed, t.out.Calls = t.calls > 0 && t.failed == t.calls, t.calls
	if err := t.r.opts.Ender.Prepare(ctx, t.l, &t.out); err != nil {
		return storeError{err}
	}
	now := w.Now()
	var above []int64
	if t.run != nil {
		above = []int64{t.run.Requester} // who is told of the end of a run
	}
	err := t.l.StepWith(ctx, above, func(tx *store.Tx) (err error) {
		if err := tx.EndTurn(t.l.Turn.ID, t.out.State, t.out.Detail, t.usage, now); err != nil {
			return err
		}
		if t.withheld || t.l.Resumed { // calls that got no result
			if err := tx.DropWithheldOf(t.l.Turn.ID); err != nil {
				return err
			}
		}
		if t.out.Preview, err = t.shown(tx); err != nil {
			return err
		}
		if err := t.r.opts.Ender.End(tx, t.l, t.out); err != nil {
			return err
		}
		return t.l.Release(tx)
	})
	if err != nil {
		t.r.cache.drop(t.l.Session.ID)
		return err
	}
	t.keep()
	return w.Crash(world.TurnAfterEnd)
}

func (t *turn) row(i model.Item, seq int) store.Row {
	return store.Row{
		Session: t.l.Session.ID, Generation: t.l.Turn.Generation, Turn: t.l.Turn.ID, Seq: seq, Kind: string(i.Kind),
		Body: i.Encode(), At: i.At,
	}
}

// visible returns an answer as people may see it; the silence tokens are
// nothing to see.
func visible(text string) string {
	s := strings.TrimSpace(text)
	if IsSilence(s) {
		return ""
	}
	return s
}

// The exact answers by which an agent chooses to say nothing.
const (
	NoReply      = "NO_REPLY"      // in any case
	AnnounceSkip = "ANNOUNCE_SKIP" // exactly so
)

// silenceOf returns which silence token text is.
func silenceOf(text string) string {
	if strings.TrimSpace(text) == AnnounceSkip {
		return AnnounceSkip
	}
	return NoReply
}

// IsSilence reports whether text is one of the silence tokens.
func IsSilence(text string) bool {
	s := strings.TrimSpace(text)
	return s == AnnounceSkip || strings.EqualFold(s, NoReply)
}
