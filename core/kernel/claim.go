package kernel

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// Lease is the right to run one turn of a session.
type Lease struct {
	Session store.Session
	Turn    store.Turn
	// Rows are the inbox rows that this claim took, and Input the transcript
	// rows they became, which may not be committed yet. Both are empty where
	// the turn was begun by an earlier claim (Resumed): then the transcript
	// has everything.
	Rows    []store.Inbox
	Input   []store.Row
	Resumed bool
	// Orderly is set where that claim ended because its process stopped in good
	// order: the turn was put down, and its age says nothing.
	Orderly bool
	// Dead is set where the turn was claimed too often without progress: it
	// must be ended and people told.
	Dead bool
	// Interrupted is set where a newer message was to end the turn, and a crash
	// came first: it must be ended as by ErrInterrupted.
	Interrupted bool

	k          *Kernel
	node       string
	claim      *store.Pending
	more       bool
	behind     bool // messages queued behind the turn
	nextLane   store.Lane
	nextUrgent bool
}

// claimBatch is how many queued rows a claim looks at.
const claimBatch = 64

// claim takes the session for this node. A nil lease without error means that
// there is nothing to do, or nothing before delay has passed.
func (k *Kernel) claim(ctx context.Context, session int64, follows bool) (*Lease, time.Duration, error) {
	var lease *Lease
	var delay time.Duration
	node := k.Node()
	p := k.opts.DB.Submit(ctx, func(tx *store.Tx) error {
		lease, delay = nil, 0
		s, err := k.claimable(tx, session, node)
		if err != nil {
			return err
		}
		l := &Lease{Session: s, k: k, node: node}
		turn, err := tx.RunningTurn(session)
		switch {
		case err == nil:
			if err := k.continueTurn(tx, l, turn); err != nil {
				return err
			}
		case errors.Is(err, store.ErrNotFound):
			if delay, err = k.newTurn(tx, l, follows); err != nil {
				return err
			}
		default:
			return err
		}
		if l.Turn.ID != 0 {
			lease = l
		}
		return nil
	})
	if err := p.Ran(); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil, 0, nil // the session was undone
		}
		return nil, 0, err
	}
	if lease == nil {
		return nil, delay, p.Wait()
	}
	lease.claim = p
	if k.startLimit(lease) > 0 {
		k.untilDurable(p)
	}
	return lease, 0, nil
}

// errTheirs: another node owns the session.
var errTheirs = errors.New("kernel: another node owns the session")

// claimable returns the session, or errTheirs if another node that lives owns
// it.
func (k *Kernel) claimable(tx *store.Tx, session int64, node string) (store.Session, error) {
	if k.cluster == nil {
		return tx.SessionByID(session)
	}
	if err := tx.CheckNode(node); err != nil {
		return store.Session{}, err
	}
	s, err := tx.SessionByID(session)
	if err != nil || s.Owner == "" || s.Owner == node {
		return s, err
	}
	lives, err := tx.NodeLives(s.Owner)
	if err == nil && lives {
		err = errTheirs
	}
	return s, err
}

func (k *Kernel) continueTurn(tx *store.Tx, l *Lease, turn store.Turn) (err error) {
	if l.Session.Fence, err = tx.OwnSession(l.Session.ID, l.node); err != nil {
		return err
	}
	l.Resumed, l.Orderly = true, turn.WorkedFrom == 0
	if l.Turn, err = tx.ReclaimTurn(turn.ID, l.Session.Fence, k.opts.World.Now()); err != nil {
		return err
	}
	l.Dead = l.Turn.Attempts > k.attempts(turn)
	if err := k.limitStart(tx, l); err != nil {
		return err
	}
	l.Interrupted, err = k.interrupts(tx, l.Session)
	return err
}

// attempts is how often a turn may be claimed without finishing a step.
func (k *Kernel) attempts(turn store.Turn) int {
	if turn.Kind == store.InboxCompletion && turn.Run == "" {
		return min(OutcomeAttempts, k.opts.MaxAttempts)
	}
	return k.opts.MaxAttempts
}

// interrupts reports whether a queued message ends the running turn.
func (k *Kernel) interrupts(tx *store.Tx, s store.Session) (bool, error) {
	rows, err := tx.QueuedInbox(s.ID, claimBatch)
	return slices.ContainsFunc(rows, func(r store.Inbox) bool {
		return r.Kind == store.InboxMessage && k.opts.Queue(s, r).Mode == QueueInterrupt
	}), err
}

// newTurn starts a turn on queued rows, or leaves l without one.
func (k *Kernel) newTurn(tx *store.Tx, l *Lease, follows bool) (delay time.Duration, err error) {
	now := k.opts.World.Now()
	rows, err := tx.QueuedInbox(l.Session.ID, claimBatch)
	if err != nil {
		return 0, err
	}
	if len(rows) == 0 {
		return 0, tx.ReleaseSession(l.Session.ID, false, now)
	}
	q := k.opts.Queue(l.Session, rows[0])
	take := choose(rows, q.Mode)
	if d := debounce(take, q, follows, now); d > 0 {
		return d, nil
	}
	if l.Session.Fence, err = tx.OwnSession(l.Session.ID, l.node); err != nil {
		return 0, err
	}
	head := lead(take)
	turn := store.Turn{
		Session: l.Session.ID, Generation: l.Session.Generation, Kind: head.Kind, Lane: head.Lane, ReplyTo: head.ReplyTo,
		Anchor: head.Anchor, Policy: head.Policy, Owner: head.Owner, Fence: l.Session.Fence, Started: now,
	}
	switch head.Kind {
	case store.InboxTask:
		turn.Run = head.Run
	default: // a completion, or a message to a run or that one waited for
		turn.Run, turn.Chain = head.ForRun, head.Chain
	}
	if turn.Request, err = tx.RequestOf(head); err != nil {
		return 0, err
	}
	if l.Turn, err = tx.InsertTurn(turn); err != nil {
		return 0, err
	}
	if err := k.limitStart(tx, l); err != nil {
		return 0, err
	}
	l.Rows = take
	l.Input, err = l.take(tx, take)
	return 0, err
}

// take turns inbox rows into transcript rows of the turn.
func (l *Lease) take(tx *store.Tx, rows []store.Inbox) ([]store.Row, error) {
	var out []store.Row
	for _, r := range rows {
		if err := tx.DeleteInbox(r.ID); err != nil {
			return nil, err
		}
		row := store.Row{Session: l.Session.ID, Generation: l.Turn.Generation, Turn: l.Turn.ID, Seq: l.Turn.Seq, Kind: string(r.Kind),
			Body: r.Body, Owner: r.Owner, At: r.At}
		var err error
		if row.ID, err = tx.AppendRow(row); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}

// debounce returns how long messages that queued behind a turn still wait for
// more of their kind.
func debounce(take []store.Inbox, q Queue, follows bool, now core.Millis) time.Duration {
	if !follows || take[0].Kind != store.InboxMessage || q.Mode == QueueFollowup {
		return 0
	}
	newest := take[len(take)-1].At
	return max(newest.Add(q.Debounce).Sub(now), 0)
}

// awaited reports whether r is the message that a wait was for whose note, or an
// event that it held back, head is: they are taken together, so that the waiter
// is resumed once.
func awaited(head, r store.Inbox) bool {
	if r.Kind != store.InboxMessage || r.ForRun != head.ForRun {
		return false
	}
	return head.ForRun != "" || head.Kind == store.InboxWake && r.Chain != 0 && r.Chain == head.Chain
}

// steers reports whether r is a message to that run. Such a message has no place
// or policy of its own: it is handled as the run is.
func steers(r store.Inbox, run string) bool {
	return r.Kind == store.InboxSteer && run != "" && r.ForRun == run
}

// lead returns the row that names the turn: a message before a note to it.
func lead(take []store.Inbox) store.Inbox {
	for _, r := range take {
		if r.Kind == store.InboxMessage {
			return r
		}
	}
	return take[0]
}

// choose returns the rows that one turn takes, the first of the queue among
// them. Only rows that agree in reply address and sender policy share a turn.
func choose(rows []store.Inbox, mode QueueMode) []store.Inbox {
	head := rows[0]
	var take []store.Inbox
	switch head.Kind {
	case store.InboxCompletion, store.InboxWake:
		by := head
		if n := slices.IndexFunc(rows, func(r store.Inbox) bool { return awaited(head, r) }); n >= 0 {
			by = rows[n] // what came meanwhile does not go before the message
		}
		for _, r := range rows {
			event := r.Kind == store.InboxCompletion || r.Kind == store.InboxWake
			if (event || awaited(head, r)) && r.ForRun == head.ForRun && agree(r, by.ReplyTo, by.Policy) || steers(r, head.ForRun) {
				take = append(take, r)
			}
		}
		slices.SortStableFunc(take, func(a, b store.Inbox) int { return a.Ordinal - b.Ordinal })
	case store.InboxMessage, store.InboxDropped:
		if mode == QueueFollowup {
			return rows[:1:1]
		}
		for _, r := range rows {
			if (r.Kind == store.InboxMessage || r.Kind == store.InboxDropped) && agree(r, head.ReplyTo, head.Policy) {
				take = append(take, r)
			}
		}
	default:
		run := head.Run // of a task
		if head.Kind == store.InboxSteer {
			run = head.ForRun
		}
		take = rows[:1:1]
		for _, r := range rows[1:] {
			if steers(r, run) {
				take = append(take, r)
			}
		}
	}
	return take
}

// agree reports whether a row may be handled in a turn with that reply address
// and sender policy.
func agree(r store.Inbox, to core.Address, policy string) bool {
	return r.ReplyTo.Same(to) && r.Policy == policy
}

// Step runs fn as one transaction of the turn, after comparing the fence. It
// returns store.ErrFenced if the lease was lost; the turn must then end at
// once. It blocks until the commit.
func (l *Lease) Step(ctx context.Context, fn func(tx *store.Tx) error) error {
	return l.StepWith(ctx, nil, fn)
}

// StepWith is Step for a transaction that will also touch other sessions, those
// above a sub-agent for example: they are locked first, all in one order, so
// that two transactions never wait for each other.
func (l *Lease) StepWith(ctx context.Context, also []int64, fn func(tx *store.Tx) error) error {
	return l.k.opts.DB.Write(ctx, func(tx *store.Tx) error {
		if len(also) > 0 {
			if err := tx.LockSession(append(also, l.Session.ID)...); err != nil {
				return err
			}
		}
		if err := tx.CheckFence(l.Session.ID, l.Turn.Fence); err != nil {
			return err
		}
		return fn(tx)
	})
}

// Durable waits until the claim itself is committed. A turn that is about to
// have an effect outside the store calls it first.
func (l *Lease) Durable() error { return l.claim.Wait() }

// Release gives the session up inside the transaction that ends the turn, and
// looks once more for rows: what came meanwhile gets the next turn. What comes
// from then on did not queue behind the turn.
func (l *Lease) Release(tx *store.Tx) error {
	rows, err := tx.QueuedInbox(l.Session.ID, claimBatch)
	if err != nil {
		return err
	}
	l.more = len(rows) > 0
	l.behind = slices.ContainsFunc(rows, func(r store.Inbox) bool { return r.Kind == store.InboxMessage || r.Kind == store.InboxDropped })
	if l.more {
		l.nextLane, l.nextUrgent = laneOfRows(rows)
	}
	return tx.ReleaseSession(l.Session.ID, l.more, l.k.opts.World.Now())
}

// laneOfRows is where queued rows are served: the lane of the first, unless a
// person waits behind it.
func laneOfRows(rows []store.Inbox) (l store.Lane, urgent bool) {
	l, urgent = rows[0].Lane, resumes(rows[0])
	if slices.ContainsFunc(rows, func(r store.Inbox) bool { return r.Lane == store.LaneMain }) {
		l = store.LaneMain
	}
	return l, urgent
}

// resumes reports whether a row goes on with something that has begun.
func resumes(r store.Inbox) bool {
	return r.Kind == store.InboxCompletion || r.Kind == store.InboxWake || r.Kind == store.InboxSteer
}

// TakeSteer takes the queued rows that may join the running turn: messages
// with its reply address and sender policy where the mode is steer, completions
// for its run, and what its run is told by whoever may steer it; they become
// transcript rows under the turn's step number. Call it inside Step.
func (l *Lease) TakeSteer(tx *store.Tx) ([]store.Row, error) {
	rows, err := tx.QueuedInbox(l.Session.ID, claimBatch)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var take []store.Inbox
	for _, r := range rows {
		if steers(r, l.Turn.Run) {
			take = append(take, r)
			continue
		}
		if !agree(r, l.Turn.ReplyTo, l.Turn.Policy) {
			continue
		}
		switch r.Kind {
		case store.InboxMessage, store.InboxDropped:
			if l.k.opts.Queue(l.Session, r).Mode != QueueSteer || r.ForRun != "" && r.ForRun != l.Turn.Run {
				continue
			}
		case store.InboxCompletion:
			if r.ForRun != l.Turn.Run {
				continue
			}
		default:
			continue
		}
		take = append(take, r)
	}
	return l.take(tx, take)
}
