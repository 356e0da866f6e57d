package kernel

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store"
)

// The times of a node among others. They are real: the lease is by the
// database's clock, and is renewed three times before it would run out.
const (
	nodeTick  = time.Second // looks for work that hints did not tell of
	renewals  = 3
	pollBatch = 200
)

// cluster is this process's place among the nodes of a store that others serve
// too.
type cluster struct {
	k     *Kernel
	wall  core.Clock
	lease time.Duration
	ctx   context.Context
	end   context.CancelFunc
	wg    sync.WaitGroup

	mu      sync.Mutex
	id      string
	joined  bool
	renewed time.Time // when the lease was asked for that holds now
	nodes   int       // that lived at that time, this one included
}

func newCluster(k *Kernel) *cluster {
	c := &cluster{k: k, wall: clock.Real{}, lease: k.opts.DB.NodeLease(), id: k.opts.World.NewID(), nodes: 1}
	c.ctx, c.end = context.WithCancel(k.opts.World.Context())
	return c
}

// node returns this process's id and whether its lease holds, as far as it
// knows.
func (c *cluster) node() (id string, joined bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id, c.joined
}

// others reports whether other nodes live, as far as this one knows.
func (c *cluster) others() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes > 1
}

// join registers the node.
func (c *cluster) join(ctx context.Context) error {
	id, _ := c.node()
	began := c.wall.Now()
	if err := c.k.opts.DB.Write(ctx, func(tx *store.Tx) error { return tx.RegisterNode(id, c.k.opts.World.Now()) }); err != nil {
		return err
	}
	c.mu.Lock()
	c.joined, c.renewed = true, began
	c.mu.Unlock()
	c.k.opts.DB.Hint(store.Hint{Kind: store.HintNode})
	return c.renew(ctx)
}

// renew extends the lease.
func (c *cluster) renew(ctx context.Context) error {
	id, _ := c.node()
	began, nodes := c.wall.Now(), 0
	err := c.k.opts.DB.Write(ctx, func(tx *store.Tx) (err error) {
		nodes, err = tx.RenewNode(id)
		return err
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.renewed, c.nodes = began, nodes
	c.mu.Unlock()
	return nil
}

// overdue reports whether the lease may have run out.
func (c *cluster) overdue() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.joined && c.wall.Now().Sub(c.renewed) >= c.lease
}

// lose gives up what the node had: its turns end without writing, and it comes
// back under another id. It never revives: others may have taken over.
func (c *cluster) lose() {
	c.mu.Lock()
	if !c.joined {
		c.mu.Unlock()
		return
	}
	was := c.id
	c.joined, c.id = false, c.k.opts.World.NewID()
	c.mu.Unlock()
	c.k.opts.Log.Error("this node's lease ran out; others take over its sessions, and it comes back as a new node", "node", was)
	c.k.cancelAll(store.ErrNodeLost)
	if c.k.opts.Moved != nil {
		c.k.opts.Moved()
	}
}

// start keeps the lease and looks for work until leave. The lease is watched
// apart from the statements that renew it: a database that does not answer must
// not hide that time passes.
func (c *cluster) start() {
	c.k.opts.DB.Listen(c.heard)
	c.wg.Go(func() { c.every(c.ctx, c.lease/renewals, c.keep) })
	c.wg.Go(func() { c.every(c.ctx, nodeTick, c.poll) })
	c.wg.Go(func() {
		c.every(c.ctx, min(nodeTick/4, c.lease/renewals/2), func(context.Context) {
			if c.overdue() {
				c.lose()
			}
		})
	})
}

func (c *cluster) every(ctx context.Context, d time.Duration, f func(context.Context)) {
	for c.wall.Sleep(ctx, d) == nil {
		f(ctx)
	}
}

// keep renews the lease, or registers anew after it was lost, and takes over
// what dead nodes left.
func (c *cluster) keep(ctx context.Context) {
	err := error(nil)
	if _, joined := c.node(); joined {
		if err = c.renew(ctx); errors.Is(err, store.ErrNodeLost) {
			c.lose()
		}
	}
	if _, joined := c.node(); !joined {
		if err = c.join(ctx); err == nil {
			id, _ := c.node()
			c.k.opts.Log.Info("this node is back", "node", id)
		}
	}
	if err == nil {
		err = c.takeOver(ctx)
	}
	if err != nil && ctx.Err() == nil {
		c.k.opts.Log.Warn("this node could not renew its lease; it tries again", "error", err)
	}
}

// takeOver frees what dead nodes owned: their turns are continued by whoever
// claims them first.
func (c *cluster) takeOver(ctx context.Context) error {
	var dead []string
	err := c.k.opts.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if dead, err = tx.DeadNodes(); err != nil {
			return err
		}
		for _, id := range dead {
			if _, err := tx.FreeSessionsOf(id, c.k.opts.World.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(dead) == 0 {
		return err
	}
	c.k.opts.Log.Warn("nodes are gone; their sessions are taken over", "nodes", dead)
	c.poll(ctx)
	return nil
}

// poll looks into the store for what a hint would have told: sessions with work
// that nobody serves, turns here that were stopped elsewhere, new deadlines.
func (c *cluster) poll(ctx context.Context) {
	id, joined := c.node()
	if !joined {
		return
	}
	before := c.k.fences()
	var owned map[int64]int64
	var ready []int64
	err := c.k.opts.DB.Read(ctx, func(tx *store.Tx) (err error) {
		if owned, err = tx.Owned(id); err != nil {
			return err
		}
		ready, err = tx.UnownedReady(pollBatch)
		return err
	})
	if err != nil {
		if ctx.Err() == nil {
			c.k.opts.Log.Warn("this node could not look for work; it tries again", "error", err)
		}
		return
	}
	for session, fence := range before {
		if owned[session] != fence {
			c.k.cancelFenced(session, fence)
		}
	}
	for _, session := range ready {
		if !c.k.known(session) {
			l, urgent := c.k.laneOf(ctx, session)
			c.k.wake(session, l, urgent, false)
		}
	}
	c.k.timers.signal.Notify()
}

// causes are the words by which nodes tell each other why a turn is to end.
func causes() map[string]error {
	return map[string]error{"stopped": ErrStopped, "interrupted": ErrInterrupted, "not-started": ErrNotStarted}
}

func causeWord(cause error) string {
	for word, err := range causes() {
		if errors.Is(cause, err) {
			return word
		}
	}
	return ""
}

// heard takes a hint of another node.
func (c *cluster) heard(h store.Hint) {
	switch h.Kind {
	case store.HintNode:
		c.mu.Lock()
		c.nodes = max(c.nodes, 2)
		c.mu.Unlock()
	case store.HintWake:
		c.k.wake(h.Session, h.Lane, h.Urgent, false)
	case store.HintCancel:
		if cause := causes()[h.Cause]; cause != nil {
			c.k.cancelHere(h.Session, cause)
		}
	default:
		if c.k.opts.Heard != nil {
			c.k.opts.Heard(h)
		}
	}
}

// leave gives up everything in good order, once the turns have ended.
func (c *cluster) leave() {
	c.end()
	c.wg.Wait()
	id, joined := c.node()
	if !joined {
		return
	}
	ctx, cancel := c.wall.WithTimeout(context.Background(), stopPause)
	defer cancel()
	err := c.k.opts.DB.Write(ctx, func(tx *store.Tx) error { return tx.DropNode(id, c.k.opts.World.Now()) })
	if err != nil && c.k.opts.World.Err() == nil {
		c.k.opts.Log.Warn("this node could not sign off; others take over when its lease ends", "error", err)
	}
}
