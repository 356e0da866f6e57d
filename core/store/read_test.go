package store_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/skein-bot/skein/core/store"
)

// TestReadersPrepareAtTheSameTime: reads that all meet statements nobody has
// prepared yet do not wait for each other's connections.
func TestReadersPrepareAtTheSameTime(t *testing.T) {
	reads := []func(tx *store.Tx) error{
		func(tx *store.Tx) error { _, err := tx.QueuedInbox(1, 1); return err },
		func(tx *store.Tx) error { _, err := tx.Setting(1, "x"); return err },
		func(tx *store.Tx) error { _, err := tx.NextTimer(); return err },
		func(tx *store.Tx) error { _, err := tx.CountQueued(1); return err },
	}
	for range 5 {
		db := open(t, store.Options{})
		var inside, all sync.WaitGroup
		inside.Add(len(reads))
		for _, read := range reads {
			all.Go(func() {
				assert.NoError(t, db.Read(t.Context(), func(tx *store.Tx) error {
					inside.Done()
					inside.Wait() // each holds a connection now
					return read(tx)
				}))
			})
		}
		all.Wait()
	}
}
