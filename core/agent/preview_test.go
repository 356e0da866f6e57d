package agent

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
	"github.com/skein-bot/skein/core/world"
)

// A preview whose transaction ended without word of its outcome: the end of the
// answer finds it where it was written, and nothing where it was not.
func TestAPreviewOfAnUnknownOutcomeIsFoundAtTheEnd(t *testing.T) {
	work := new(world.Work)
	w := world.New(clock.NewVirtual(time.UnixMilli(1_700_000_000_000), work), work, 1)
	db, err := store.Open(t.Context(), pgtest.Options(pgtest.StoreURL(t, filepath.Join(t.TempDir(), "skein.db")), w))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	lost := &turn{l: &kernel.Lease{Session: store.Session{ID: 7}}, preview: preview{off: true, lost: true}}
	other := &turn{l: &kernel.Lease{Session: store.Session{ID: 8}}, preview: preview{off: true, lost: true}}
	known := &turn{l: &kernel.Lease{Session: store.Session{ID: 7}}, preview: preview{row: 99}}
	require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		shown, err := lost.shown(tx)
		require.NoError(t, err)
		require.Zero(t, shown)
		written, _, err := tx.InsertOutbox(store.Outbox{
			Kind: store.OutPreview, State: store.OutQueued, Session: 7, Text: "half",
			Address: core.Address{Channel: "fake", Account: "default", Conversation: "c"},
		})
		require.NoError(t, err)
		for turn, want := range map[*turn]int64{lost: written, other: 0, known: 99} {
			shown, err := turn.shown(tx)
			require.NoError(t, err)
			require.Equal(t, want, shown)
		}
		return nil
	}))
}
