package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// together runs n functions at once and waits for them.
func together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}

// winners counts for each of the keys how often try succeeded, with many
// trying each key at once. try must not stop the test.
func winners(keys int, try func(worker, key int) bool) []int32 {
	won := make([]atomic.Int32, keys)
	together(8, func(worker int) {
		for key := range keys {
			if try(worker, key) {
				won[key].Add(1)
			}
		}
	})
	out := make([]int32, keys)
	for i := range won {
		out[i] = won[i].Load()
	}
	return out
}

// failures collects the errors of goroutines, which may not stop the test
// themselves.
type failures struct {
	mu  sync.Mutex
	all []error
}

func (f *failures) add(err error) bool {
	if err == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, err)
	return true
}

func (f *failures) check(s *suite) {
	s.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	require.NoError(s, errors.Join(f.all...))
}

// ones is what winners returns when every key was won once.
func ones(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

func testRaceDedupe(s *suite) {
	var fail failures
	won := winners(20, func(_, key int) (fresh bool) {
		fail.add(s.db.Write(background(), func(tx *store.Tx) (err error) {
			fresh, err = tx.InsertDedupe(fmt.Sprint(key), 1)
			return err
		}))
		return fresh
	})
	fail.check(s)
	require.Equal(s, ones(20), won)
}

func testRaceOnceKey(s *suite) {
	var fail failures
	won := winners(20, func(_, key int) (fresh bool) {
		fail.add(s.db.Write(background(), func(tx *store.Tx) (err error) {
			_, fresh, err = tx.InsertOutbox(store.Outbox{OnceKey: fmt.Sprint(key), Kind: store.OutFinal, Address: address("")})
			return err
		}))
		return fresh
	})
	fail.check(s)
	require.Equal(s, ones(20), won)
	require.Len(s, s.outboxIDs(func(tx *store.Tx) ([]store.Outbox, error) { return tx.ListOutbox("", 100) }), 20)
}

func testRacePlace(s *suite) {
	var fail failures
	won := winners(20, func(worker, key int) bool {
		b := newBinding(fmt.Sprintf("b%d-%d", worker, key), fmt.Sprint(key), int64(worker))
		err := s.db.Write(background(), func(tx *store.Tx) error { return tx.InsertBinding(b) })
		if err != nil && !errors.Is(err, store.ErrPlaceTaken) {
			fail.add(err)
		}
		return err == nil
	})
	fail.check(s)
	require.Equal(s, ones(20), won)
	require.Len(s, s.bindingIDs(func(tx *store.Tx) ([]core.Binding, error) { return tx.ListBindings(false, 1000) }), 20)
}

func testRaceOrdinals(s *suite) {
	a := s.session()
	var fail failures
	var seen sync.Map
	together(8, func(int) {
		for range 10 {
			var n int
			fail.add(s.db.Write(background(), func(tx *store.Tx) (err error) {
				n, err = tx.NextOrdinal(a.ID)
				return err
			}))
			if _, twice := seen.LoadOrStore(n, true); twice {
				fail.add(unitError{"ordinal " + fmt.Sprint(n) + " twice"})
			}
		}
	})
	fail.check(s)
	require.Equal(s, 80, s.sessionNow(a.ID).Ordinals)
}

// testRaceFence: once a stop is committed, the turn that it stopped has
// written its last row.
func testRaceFence(s *suite) {
	const stops = 30
	a := s.session()
	var fail failures
	// One turn after the other, each with parallel steps; step tells of rows.
	step, quit := make(chan struct{}, 1), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
			}
			var fence int64
			if fail.add(s.db.Write(background(), func(tx *store.Tx) (err error) {
				fence, err = tx.OwnSession(a.ID, "node")
				return err
			})) {
				return
			}
			together(3, func(int) { fail.add(s.steps(a.ID, fence, step, quit)) })
		}
	})
	last := map[string]int64{} // by fence: the newest row when it was raised
	for range stops {
		s.await(step, "a turn to write")
		var fence, row int64
		s.write(func(tx *store.Tx) error {
			now, err := tx.SessionByID(a.ID)
			if err != nil {
				return err
			}
			fence = now.Fence
			if err := tx.RaiseFence(a.ID); err != nil {
				return err
			}
			row, err = tx.LastRow(a.ID)
			return err
		})
		last[fmt.Sprint(fence)] = row
	}
	close(quit)
	wg.Wait()
	fail.check(s)
	require.Len(s, last, stops)
	rows := get(s, func(tx *store.Tx) ([]store.Row, error) { return tx.Transcript(a) })
	require.NotEmpty(s, rows)
	for _, r := range rows {
		if raised, ok := last[r.Body]; ok {
			require.LessOrEqual(s, r.ID, raised, "a row under fence %s after it was raised", r.Body)
		}
	}
}

// steps writes rows under a fence until it is raised or quit is closed.
func (s *suite) steps(session, fence int64, step chan<- struct{}, quit <-chan struct{}) error {
	for {
		select {
		case <-quit:
			return nil
		default:
		}
		err := s.db.Write(background(), func(tx *store.Tx) error {
			if err := tx.CheckFence(session, fence); err != nil {
				return err
			}
			_, err := tx.AppendRow(store.Row{Session: session, Generation: 1, Kind: "user", Body: fmt.Sprint(fence)})
			return err
		})
		if errors.Is(err, store.ErrFenced) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case step <- struct{}{}:
		default:
		}
	}
}

// The hammer of testRaceRelease.
const (
	hammerSessions  = 6
	hammerProducers = 6
	hammerRows      = 60 // of each producer
	hammerWorkers   = 3
	hammerTake      = 4 // rows that one turn takes at most
)

// testRaceRelease: producers add input and mark sessions ready while workers
// claim, run and release them as the kernel does, and stops take leases away.
// At the end nothing is stranded, lost, doubled or out of order.
func testRaceRelease(s *suite) {
	h := &hammer{suite: s, wake: make([]chan struct{}, hammerWorkers), quit: make(chan struct{})}
	for i := range h.wake {
		h.wake[i] = make(chan struct{}, 1)
	}
	for range hammerSessions {
		h.sessions = append(h.sessions, s.session().ID)
	}
	var workers sync.WaitGroup
	for w := range hammerWorkers {
		workers.Go(func() { h.work(w) })
	}
	together(hammerProducers+1, func(p int) {
		if p == hammerProducers {
			h.stopSome()
			return
		}
		h.produce(p)
	})
	// Every wake-up that was promised has been given; the workers run until
	// nothing is ready, then they are told to go.
	close(h.quit)
	workers.Wait()
	h.fail.check(s)

	require.Empty(s, get(s, func(tx *store.Tx) ([]int64, error) { return tx.ReadySessions(100) }))
	seen := map[string]int{}
	for _, id := range h.sessions {
		require.Empty(s, s.queued(id), "stranded in session %d", id)
		missing(s, func(tx *store.Tx) (store.Turn, error) { return tx.RunningTurn(id) })
		newest := map[string]int{}
		for _, text := range s.prompt(id) {
			seen[text]++
			producer, n, _ := strings.Cut(text, "/")
			i, err := strconv.Atoi(n)
			require.NoError(s, err)
			require.Greater(s, i, newest[producer], "out of order in session %d", id)
			newest[producer] = i
		}
	}
	require.Len(s, seen, hammerProducers*hammerRows)
	for text, n := range seen {
		require.Equal(s, 1, n, text)
	}
	require.Equal(s, h.claims.Load(), h.ends.Load(), "every turn ended exactly once")
}

type hammer struct {
	*suite
	sessions     []int64
	wake         []chan struct{}
	quit         chan struct{}
	fail         failures
	claims, ends atomic.Int64
}

// worker is the one that serves a session: two never claim the same at once,
// as the kernel has one entry for a session.
func (h *hammer) worker(session int64) int { return int(session) % hammerWorkers }

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

func (h *hammer) produce(p int) {
	for i := 1; i <= hammerRows; i++ {
		session := h.sessions[(p*7+i*i)%len(h.sessions)]
		h.fail.add(h.db.Write(background(), func(tx *store.Tx) error {
			if _, err := tx.InsertInbox(store.Inbox{
				Session: session, Kind: store.InboxMessage, Lane: store.LaneMain, Body: fmt.Sprintf("%d/%d", p, i),
			}); err != nil {
				return err
			}
			return h.ready(tx, session)
		}))
	}
}

// stopSome takes leases away from turns in progress.
func (h *hammer) stopSome() {
	for i := range 40 {
		session := h.sessions[i%len(h.sessions)]
		h.fail.add(h.db.Write(background(), func(tx *store.Tx) error {
			if err := tx.RaiseFence(session); err != nil {
				return err
			}
			return h.ready(tx, session)
		}))
	}
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
		for {
			var mine []int64
			if h.fail.add(h.db.Read(background(), func(tx *store.Tx) error {
				all, err := tx.ReadySessions(100)
				for _, id := range all {
					if h.worker(id) == w {
						mine = append(mine, id)
					}
				}
				return err
			})) {
				return
			}
			if len(mine) == 0 {
				break
			}
			for _, id := range mine {
				h.fail.add(h.serve(id))
			}
		}
	}
}

// serve claims a session, runs one turn and releases it; a turn that lost its
// lease is left for the next claim.
func (h *hammer) serve(session int64) error {
	var turn store.Turn
	p := h.db.Submit(background(), func(tx *store.Tx) (err error) {
		turn, err = h.claim(tx, session)
		return err
	})
	if err := p.Ran(); err != nil || turn.ID == 0 {
		return errors.Join(err, p.Wait())
	}
	err := h.db.Write(background(), func(tx *store.Tx) error {
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
		return turn, tx.ReclaimTurn(turn.ID, turn.Fence)
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
	tx.OnCommit(func() { h.claims.Add(1) })
	return turn, nil
}
