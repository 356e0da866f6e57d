package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// Runner runs turns; core/agent implements it.
type Runner interface {
	// RunTurn runs the lease's turn to its end, or continues it, and releases
	// the session in the transaction that ends the turn. It is called once per
	// claim in a goroutine of its own. ctx ends when the turn is cancelled
	// (its cause says why) and when the kernel stops. An error means that the
	// turn is not at its end; the kernel claims it again after a pause.
	RunTurn(ctx context.Context, lease *Lease) error
}

// Queue is how a session takes its queued messages (messages.queue).
type Queue struct {
	Mode     QueueMode
	Debounce time.Duration // for messages that queued behind a running turn
}

// QueueMode says what a message that arrives during a turn does.
type QueueMode string

// The queue modes. Steer is the default.
const (
	QueueSteer     QueueMode = "steer"     // joins the running turn at its next boundary
	QueueFollowup  QueueMode = "followup"  // gets a turn of its own afterwards
	QueueCollect   QueueMode = "collect"   // waits and shares one turn with the others
	QueueInterrupt QueueMode = "interrupt" // ends the running turn
)

// Options make a kernel.
type Options struct {
	DB     *store.DB
	World  *world.World
	Log    *slog.Logger
	Runner Runner
	// Slots returns how many turns a lane may run at once; it is asked at each
	// dispatch, so a reload takes effect at once. A result below 1 counts as 1.
	Slots func(store.Lane) int
	// Queue returns the queue settings of a session for one message; the
	// session's own choice is in s.QueueMode.
	Queue func(s store.Session, head store.Inbox) Queue
	// MaxAttempts is how often a turn is claimed without finishing a step
	// before it is dead; 0 means 5.
	MaxAttempts int
	// StartLimit is how long a turn that was given a slot may take to start, 0
	// for as long as it needs. Within it whoever runs the turn calls
	// Lease.Started; else the timer TimerStart is due. Nil limits none.
	StartLimit func(s store.Session, turn store.Turn) time.Duration
	// Alone says that no other process serves the store, though its database
	// could be shared: as under virtual time, where nobody keeps a lease.
	Alone bool
	// Moved is called after this node lost its lease and got another id, in a
	// goroutine of the kernel; it must not block. Nil does nothing.
	Moved func()
	// Heard is called with the hints of other nodes that are not the kernel's,
	// in a goroutine of the store; it must not block. Nil drops them.
	Heard func(store.Hint)
	// Joined is called when a session whose turn is running here has new input; it
	// must not block. Nil does nothing.
	Joined func(session int64)
}

// Kernel schedules sessions. Create it with New, then Start.
type Kernel struct {
	opts Options
	// cluster is set where other nodes may serve the store; node is this one's
	// id elsewhere.
	cluster *cluster
	node    string

	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	started  bool
	stopping bool
	entries  map[int64]*entry
	lanes    map[store.Lane]*lane

	timers *timers
}

// Causes with which the kernel ends a turn's context.
var (
	// ErrStopping: the process is shutting down; the turn is continued at the
	// next start.
	ErrStopping = errors.New("the gateway is stopping")
	// ErrStopped: a person stopped the turn.
	ErrStopped = errors.New("stopped")
	// ErrInterrupted: a newer message interrupts the turn.
	ErrInterrupted = errors.New("interrupted by a newer message")
	// ErrNotStarted: the turn had a slot and did not start in time.
	ErrNotStarted = errors.New("the turn did not start in time")
)

// New returns a kernel that is not started.
func New(opts Options) *Kernel {
	if opts.MaxAttempts == 0 {
		opts.MaxAttempts = 5
	}
	k := &Kernel{opts: opts, node: opts.World.NewID(), entries: make(map[int64]*entry), lanes: make(map[store.Lane]*lane)}
	for _, l := range []store.Lane{store.LaneMain, store.LaneSubagent} {
		k.lanes[l] = newLane()
	}
	k.ctx, k.cancel = context.WithCancelCause(opts.World.Context())
	k.timers = newTimers(k)
	if opts.DB.Shared() && !opts.Alone {
		k.cluster = newCluster(k)
	}
	return k
}

// Node returns this process's id among the nodes of the store. It changes when
// the node's lease is lost.
func (k *Kernel) Node() string {
	if k.cluster == nil {
		return k.node
	}
	id, _ := k.cluster.node()
	return id
}

// Shares reports whether other nodes may serve the store.
func (k *Kernel) Shares() bool { return k.cluster != nil }

// Start takes over what earlier processes left and begins to run turns and
// timers. On SQLite they are dead: the process lock is the lease; of a shared
// store it takes what nodes left whose lease has run out. Call it
// before intake opens, so that what was interrupted comes before what is new.
func (k *Kernel) Start(ctx context.Context) error {
	ready, err := k.takeOver(ctx)
	if err != nil {
		return fmt.Errorf("kernel: start: %w", err)
	}
	for _, id := range ready {
		l, urgent := k.laneOf(ctx, id)
		k.wake(id, l, urgent, false)
	}
	k.mu.Lock()
	k.started = true
	k.dispatch()
	k.mu.Unlock()
	k.timers.signal.Notify() // counted before the goroutine runs
	k.wg.Add(1)
	go k.timers.loop()
	if k.cluster != nil {
		k.cluster.start()
	}
	return nil
}

// takeOver makes this process a node and returns the sessions that have work.
func (k *Kernel) takeOver(ctx context.Context) (ready []int64, err error) {
	now := k.opts.World.Now()
	if k.cluster != nil {
		if err := k.cluster.join(ctx); err != nil {
			return nil, err
		}
		if err := k.cluster.takeOver(ctx); err != nil {
			return nil, err
		}
		err = k.opts.DB.Read(ctx, func(tx *store.Tx) (err error) {
			ready, err = tx.UnownedReady(1_000_000)
			return err
		})
		return ready, err
	}
	err = k.opts.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if err := tx.RegisterNode(k.node, now); err != nil {
			return err
		}
		if _, err := tx.FreeForeignSessions(k.node, now); err != nil {
			return err
		}
		ready, err = tx.ReadySessions(1_000_000)
		return err
	})
	return ready, err
}

// laneOf finds the lane of a session that became ready before this process.
func (k *Kernel) laneOf(ctx context.Context, id int64) (l store.Lane, urgent bool) {
	l = store.LaneMain
	_ = k.opts.DB.Read(ctx, func(tx *store.Tx) error {
		if t, err := tx.RunningTurn(id); err == nil {
			l, urgent = t.Lane, true
			return nil
		}
		rows, err := tx.QueuedInbox(id, claimBatch)
		if err == nil && len(rows) > 0 {
			l, urgent = laneOfRows(rows)
		}
		return err
	})
	return l, urgent
}

// Wake tells the kernel that a session has work in a lane; urgent work (a
// resumed run) goes before new work. It never blocks. Call it after the commit
// that marked the session ready.
func (k *Kernel) Wake(session int64, l store.Lane, urgent bool) { k.wake(session, l, urgent, true) }

// wake is Wake; local is false where another node told of it or the store did,
// so that nobody else need be told.
func (k *Kernel) wake(session int64, l store.Lane, urgent, local bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopping {
		return
	}
	e := k.entries[session]
	if e == nil {
		e = &entry{session: session}
		k.entries[session] = e
	}
	e.local = e.local || local
	switch e.state {
	case entryRunning:
		e.again = e.again.with(l, urgent)
		if k.opts.Joined != nil {
			k.opts.Joined(session)
		}
		return
	case entryQueued:
		if e.lane == l || l != store.LaneMain {
			return
		}
		k.unqueue(e) // a person waits now: move it to the main lane
	}
	e.lane, e.urgent = l, urgent
	k.enqueue(e)
	k.dispatch()
	if e.state == entryQueued && e.local { // another node may have room
		k.tell(e)
	}
}

// tell has the other nodes look at a session. k.mu is held.
func (k *Kernel) tell(e *entry) {
	if k.cluster != nil && k.cluster.others() {
		k.opts.DB.Hint(store.Hint{Kind: store.HintWake, Session: e.session, Lane: e.lane, Urgent: e.urgent})
	}
	e.local = false
}

// Stop takes no new work, lets running turns finish until ctx ends, then ends
// their contexts with ErrStopping and waits for them. What did not finish is put
// down, and continued at the next start however long that takes. Among other
// nodes this one stays registered, so that what the last turns said can still be
// sent, until Leave.
func (k *Kernel) Stop(ctx context.Context) {
	k.mu.Lock()
	k.stopping = true
	k.mu.Unlock()
	k.timers.stop()
	done := make(chan struct{})
	go func() {
		k.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	case <-k.opts.World.Context().Done():
	}
	k.cancel(ErrStopping)
	<-done
	k.timers.drop()
	k.checkpoint()
}

// stopPause is what a statement of the stopping may take.
const stopPause = 2 * time.Second

// checkpoint puts down the turns that did not finish. Where that fails they go on
// as after a crash.
func (k *Kernel) checkpoint() {
	if k.opts.World.Err() != nil {
		return // this is a crash
	}
	ctx, cancel := clock.Real{}.WithTimeout(k.opts.World.Context(), stopPause)
	defer cancel()
	err := k.opts.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Checkpoint(k.Node())
		return err
	})
	if err != nil {
		k.opts.Log.Warn("the turns that did not finish could not be put down; they go on as after a crash", "error", err)
	}
}

// Leave signs this node off after Stop: others take over its sessions and
// accounts at once. It blocks for at most two seconds. Where no other node
// serves the store it does nothing.
func (k *Kernel) Leave() {
	if k.cluster != nil {
		k.cluster.leave()
	}
}
