package storetest

import (
	"errors"
	"fmt"
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

// any reports whether there is one.
func (f *failures) any() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.all) > 0
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
