package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// big is a unit that takes about two pages.
func big(key string) func(tx *store.Tx) error {
	return func(tx *store.Tx) error {
		if err := claim(key)(tx); err != nil {
			return err
		}
		_, err := tx.InsertInbox(store.Inbox{Session: 1, Kind: store.InboxMessage, Lane: store.LaneMain, Source: key, Body: strings.Repeat("x", 8000)})
		return err
	}
}

// TestFullDisk: a store that cannot grow says so, keeps what it accepted, and
// goes on when there is room again, without or with a restart.
func TestFullDisk(t *testing.T) {
	db := open(t, store.Options{MaxPages: 150})
	accepted := 0
	var err error
	for ; accepted < 1000; accepted++ {
		if err = db.Write(t.Context(), big(fmt.Sprint(accepted))); err != nil {
			break
		}
	}
	require.NotZero(t, accepted)
	requireFull := func(err error) {
		t.Helper()
		require.Equal(t, "store_full", core.ErrorCode(err), err)
		require.ErrorContains(t, err, "the disk is full")
		require.ErrorContains(t, err, "free space")
	}
	requireFull(err)

	// Many at once: each is accepted or refused as a whole.
	var pending []*store.Pending
	for i := range 40 {
		pending = append(pending, db.Submit(t.Context(), big(fmt.Sprint("many ", i))))
	}
	for _, p := range pending {
		requireFull(p.Wait())
	}

	rows := queued(t, db)
	require.Len(t, rows, accepted, "what was accepted is there, what was refused is not")

	for _, r := range rows[:accepted/2] {
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.DeleteInbox(r.ID) }))
	}
	require.NoError(t, db.Write(t.Context(), big("room again")), "work goes on when there is room")

	require.NoError(t, db.Close())
	db = open(t, store.Options{Path: db.Path(), MaxPages: 1000})
	require.Len(t, queued(t, db), accepted-accepted/2+1)
	for i := range 50 {
		require.NoError(t, db.Write(t.Context(), big(fmt.Sprint("later ", i))))
	}
}

// TestFullDiskOfNeighbours: a unit for which there is no room does not take
// along those that fit.
func TestFullDiskOfNeighbours(t *testing.T) {
	db := open(t, store.Options{MaxPages: 150})
	gate, inside := make(chan struct{}), make(chan struct{})
	held := db.Submit(t.Context(), func(*store.Tx) error {
		close(inside)
		<-gate
		return nil
	})
	<-inside
	first := db.Submit(t.Context(), claim("first"))
	huge := db.Submit(t.Context(), func(tx *store.Tx) error {
		_, err := tx.InsertInbox(store.Inbox{Session: 1, Kind: store.InboxMessage, Lane: store.LaneMain, Body: strings.Repeat("x", 1<<20)})
		return err
	})
	second := db.Submit(t.Context(), claim("second"))
	close(gate)
	require.Equal(t, "store_full", core.ErrorCode(huge.Wait()))
	for name, p := range map[string]*store.Pending{"held": held, "first": first, "second": second} {
		if err := p.Wait(); err != nil {
			require.Equal(t, "store_full", core.ErrorCode(err), name)
		}
	}
	for key, p := range map[string]*store.Pending{"first": first, "second": second} {
		require.Equal(t, p.Wait() == nil, db.Write(t.Context(), claim(key)) != nil, "%s is there exactly if the store said so", key)
	}
	require.Empty(t, queued(t, db))
}

func queued(t *testing.T, db *store.DB) (rows []store.Inbox) {
	t.Helper()
	require.NoError(t, db.Read(t.Context(), func(tx *store.Tx) (err error) {
		rows, err = tx.QueuedInbox(1, 10_000)
		return err
	}))
	return rows
}
