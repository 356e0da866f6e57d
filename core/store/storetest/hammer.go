package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store"
)

// The hammer of testRaceRelease.
const (
	hammerSessions  = 6
	hammerProducers = 6
	hammerRows      = 60 // of each producer
	hammerWorkers   = 4
	hammerTake      = 4   // rows that one turn takes at most
	hammerStops     = 9   // a producer stops a turn after so many rows
	hammerOpen      = 300 // rows that wait at most
)

// testRaceRelease: producers add input and mark sessions ready while workers
// claim, run and release them as the kernel does, and stops take leases away.
// At the end nothing is stranded, lost, doubled or out of order.
func testRaceRelease(s *suite) {
	newHammer(s, []*store.DB{s.db}).run(func(rows int) bool { return rows < hammerRows })
}

// Hammer is testRaceRelease for a time: nodes are handles of one store, each of
// which a node would have. It returns how many rows went through.
func Hammer(t *testing.T, nodes []*store.DB, d time.Duration) int {
	t.Helper()
	wall := clock.Real{}
	end := wall.Now().Add(d)
	h := newHammer(&suite{T: t, db: nodes[0]}, nodes)
	h.run(func(int) bool { return wall.Now().Before(end) })
	return int(h.rows.Load())
}

type hammer struct {
	*suite
	nodes        []*store.DB
	sessions     []int64
	wake         []chan struct{}
	quit         chan struct{}
	open         chan struct{} // has an element for each row that waits
	broken       chan struct{} // closed once a worker failed
	stop         func()        // closes it
	fail         failures
	rows         atomic.Int64
	claims, ends atomic.Int64
}

func newHammer(s *suite, nodes []*store.DB) *hammer {
	h := &hammer{
		suite: s, nodes: nodes, wake: make([]chan struct{}, hammerWorkers), quit: make(chan struct{}), open: make(chan struct{}, hammerOpen),
	}
	h.broken = make(chan struct{})
	h.stop = sync.OnceFunc(func() { close(h.broken) })
	for i := range h.wake {
		h.wake[i] = make(chan struct{}, 1)
	}
	for range hammerSessions {
		h.sessions = append(h.sessions, s.session().ID)
	}
	return h
}

// run has each producer make rows as long as more says so, by how many it has
// made, and judges what is left.
func (h *hammer) run(more func(rows int) bool) {
	h.Helper()
	var workers sync.WaitGroup
	for w := range hammerWorkers {
		workers.Go(func() { h.work(w) })
	}
	together(hammerProducers, func(p int) {
		for i := 1; !h.fail.any() && more(i-1); i++ {
			h.produce(p, i)
		}
	})
	// Every wake-up that was promised has been given; the workers run until
	// nothing is ready, then they are told to go.
	close(h.quit)
	workers.Wait()
	h.fail.check(h.suite)
	h.judge()
}

func (h *hammer) judge() {
	h.Helper()
	require.Empty(h, get(h.suite, func(tx *store.Tx) ([]int64, error) { return tx.ReadySessions(100) }))
	seen := map[string]int{}
	for _, id := range h.sessions {
		require.Empty(h, h.queued(id), "stranded in session %d", id)
		missing(h.suite, func(tx *store.Tx) (store.Turn, error) { return tx.RunningTurn(id) })
		newest := map[string]int{}
		for _, text := range h.prompt(id) {
			seen[text]++
			producer, n, _ := strings.Cut(text, "/")
			i, err := strconv.Atoi(n)
			require.NoError(h, err)
			if i <= newest[producer] {
				require.Failf(h, "out of order", "%s after %d in session %d", text, newest[producer], id)
			}
			newest[producer] = i
		}
	}
	require.Len(h, seen, int(h.rows.Load()))
	for text, n := range seen {
		if n != 1 {
			require.Failf(h, "doubled", "%s: %d times", text, n)
		}
	}
	require.Equal(h, h.claims.Load(), h.ends.Load(), "every turn ended exactly once")
}

// worker is the one that serves a session: two never claim the same at once,
// as the kernel has one entry for a session.
func (h *hammer) worker(session int64) int { return int(session) % hammerWorkers }

// node is the handle of the ith producer or worker.
func (h *hammer) node(i int) *store.DB { return h.nodes[i%len(h.nodes)] }

// ready marks a session and promises its wake-up.
func (h *hammer) ready(tx *store.Tx, session int64) error {
	tx.OnCommit(func() {
		select {
		case h.wake[h.worker(session)] <- struct{}{}:
		default:
		}
	})
	return tx.MarkReady(session, 1)
}

// produce makes a producer's ith row, and now and then takes the lease from a
// turn in progress.
func (h *hammer) produce(p, i int) {
	select {
	case h.open <- struct{}{}:
	case <-h.broken:
		return
	}
	session := h.sessions[(p*7+i*i)%len(h.sessions)]
	if h.fail.add(h.node(p).Write(background(), func(tx *store.Tx) error {
		if _, err := tx.InsertInbox(store.Inbox{
			Session: session, Kind: store.InboxMessage, Lane: store.LaneMain, Body: fmt.Sprintf("%d/%d", p, i),
		}); err != nil {
			return err
		}
		return h.ready(tx, session)
	})) {
		<-h.open
		return
	}
	h.rows.Add(1)
	if i%hammerStops != 0 {
		return
	}
	session = h.sessions[(p+i)%len(h.sessions)]
	h.fail.add(h.node(p+1).Write(background(), func(tx *store.Tx) error {
		if err := tx.RaiseFence(session); err != nil {
			return err
		}
		return h.ready(tx, session)
	}))
}

// work serves this worker's sessions whenever it is woken, and once more when
// it is told to go.
func (h *hammer) work(w int) {
	for {
		last := false
		select {
		case <-h.wake[w]:
		case <-h.quit:
			last = true
			select { // what was promised before comes first
			case <-h.wake[w]:
				last = false
			default:
			}
		}
		if last {
			return
		}
		h.serveReady(w)
	}
}

// serveReady serves this worker's sessions until none is ready.
func (h *hammer) serveReady(w int) {
	db := h.node(w)
	for {
		var mine []int64
		if h.fail.add(db.Read(background(), func(tx *store.Tx) error {
			mine = mine[:0]
			all, err := tx.ReadySessions(100)
			for _, id := range all {
				if h.worker(id) == w {
					mine = append(mine, id)
				}
			}
			return err
		})) || len(mine) == 0 {
			return
		}
		for _, id := range mine {
			if h.fail.add(h.serve(db, id)) {
				h.stop()
				return
			}
		}
	}
}

// serve claims a session, runs one turn and releases it; a turn that lost its
// lease is left for the next claim.
func (h *hammer) serve(db *store.DB, session int64) error {
	var turn store.Turn
	p := db.Submit(background(), func(tx *store.Tx) (err error) {
		turn, err = h.claim(tx, session)
		return err
	})
	if err := p.Ran(); err != nil || turn.ID == 0 {
		return errors.Join(err, p.Wait())
	}
	err := db.Write(background(), func(tx *store.Tx) error {
		if err := tx.CheckFence(session, turn.Fence); err != nil {
			return err
		}
		if err := tx.EndTurn(turn.ID, store.TurnDone, "", core.Usage{}, 1); err != nil {
			return err
		}
		rows, err := tx.QueuedInbox(session, 1)
		if err != nil {
			return err
		}
		return tx.ReleaseSession(session, len(rows) > 0, 1)
	})
	if errors.Is(err, store.ErrFenced) {
		return p.Wait()
	}
	h.ends.Add(1)
	return err
}

// claim continues the session's turn or starts one on queued rows.
func (h *hammer) claim(tx *store.Tx, session int64) (store.Turn, error) {
	turn, err := tx.RunningTurn(session)
	if err == nil {
		if turn.Fence, err = tx.OwnSession(session, "node"); err != nil {
			return turn, err
		}
		return tx.ReclaimTurn(turn.ID, turn.Fence, 2)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return turn, err
	}
	rows, err := tx.QueuedInbox(session, hammerTake)
	if err != nil {
		return turn, err
	}
	if len(rows) == 0 {
		return store.Turn{}, tx.ReleaseSession(session, false, 1)
	}
	fence, err := tx.OwnSession(session, "node")
	if err != nil {
		return turn, err
	}
	turn, err = tx.InsertTurn(store.Turn{Session: session, Generation: 1, Kind: store.InboxMessage, Lane: store.LaneMain, Fence: fence})
	if err != nil {
		return turn, err
	}
	for _, r := range rows {
		if err := tx.DeleteInbox(r.ID); err != nil {
			return turn, err
		}
		if _, err := tx.AppendRow(store.Row{Session: session, Generation: 1, Turn: turn.ID, Kind: string(r.Kind), Body: r.Body}); err != nil {
			return turn, err
		}
	}
	tx.OnCommit(func() {
		h.claims.Add(1)
		for range rows {
			<-h.open
		}
	})
	return turn, nil
}
