package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/store"
)

// testLeases: an account is one node's until that node is gone; who does not
// have it may not write for it, and a node that is gone may not claim.
func testLeases(t *testing.T, url string) {
	t.Helper()
	db, err := tryOpen(store.Options{URL: url, NodeLease: 200 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	write := func(fn func(tx *store.Tx) error) error { return db.Write(t.Context(), fn) }
	hold := func(node string) (held bool) {
		require.NoError(t, write(func(tx *store.Tx) (err error) {
			held, err = tx.HoldAccount("telegram", "default", node)
			return err
		}))
		return held
	}
	check := func(node string) error {
		return write(func(tx *store.Tx) error { return tx.CheckAccount("telegram", "default", node) })
	}
	require.ErrorIs(t, check("a"), store.ErrNodeLost, "nobody has it yet")
	require.NoError(t, write(func(tx *store.Tx) error { return tx.RegisterNode("a", 1) }))
	require.True(t, hold("a"))
	require.NoError(t, write(func(tx *store.Tx) error { return tx.RegisterNode("b", 1) }))
	require.False(t, hold("b"), "it is taken")
	require.NoError(t, check("a"))
	require.ErrorIs(t, check("b"), store.ErrNodeLost)

	renew := func(node string) error {
		return write(func(tx *store.Tx) error { _, err := tx.RenewNode(node); return err })
	}
	require.Eventually(t, func() bool { return renew("b") == nil && hold("b") }, 5*time.Second, 20*time.Millisecond, "a does not renew")
	require.ErrorIs(t, check("a"), store.ErrNodeLost, "who was taken for dead writes nothing more")
	require.ErrorIs(t, renew("a"), store.ErrNodeLost, "nor does it revive")
	require.NoError(t, check("b"))
	require.NoError(t, write(func(tx *store.Tx) error { _, err := tx.DeadNodes(); return err }))
	require.ErrorIs(t, write(func(tx *store.Tx) error { return tx.CheckNode("a") }), store.ErrNodeLost)
}
