package store_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

func TestSmoke(t *testing.T) {
	w := world.New(clock.Real{}, nil, 1)
	db, err := store.Open(context.Background(), store.Options{Path: filepath.Join(t.TempDir(), "a.db"), World: w})
	require.NoError(t, err)
	defer db.Close()
	start := time.Now()
	for i := 0; i < 1000; i++ {
		require.NoError(t, db.Write(context.Background(), func(tx *store.Tx) error {
			s, err := tx.EnsureSession(store.Session{Key: "k", Agent: "a", Kind: "main"})
			if err != nil {
				return err
			}
			_, err = tx.InsertInbox(store.Inbox{Session: s.ID, Kind: store.InboxMessage, Lane: store.LaneMain, Body: "x"})
			return err
		}))
	}
	t.Log(time.Since(start) / 1000)
}
