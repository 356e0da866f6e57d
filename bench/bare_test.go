package bench_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// bare writes the rows of one message up to the model call in one commit, with
// nothing around them.
type bare struct {
	db *store.DB
	n  int
}

func newBare(tb testing.TB) *bare {
	tb.Helper()
	db, err := store.Open(context.Background(), store.Options{
		Path: filepath.Join(tb.TempDir(), "bare.db"), World: world.New(clock.Real{}, nil, 1),
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	return &bare{db: db}
}

// commit takes the time of one commit of the rows that intake and the claim of
// a turn write.
func (b *bare) commit(tb testing.TB) time.Duration {
	tb.Helper()
	b.n++
	now := core.ToMillis(time.Now())
	began := time.Now()
	err := b.db.Write(context.Background(), func(tx *store.Tx) error {
		id := fmt.Sprint(b.n)
		if err := tx.SetCursor("console", "default", "c", id, now); err != nil {
			return err
		}
		if _, err := tx.InsertDedupe("console:default:g/"+id+"/message", now); err != nil {
			return err
		}
		s, err := tx.EnsureSession(store.Session{Key: fmt.Sprintf("agent:main:console:default:group:g%d", b.n%16), Agent: "main", Kind: core.SessionGroup})
		if err != nil {
			return err
		}
		body := `{"kind":"user","text":"message ` + id + `","author":{"id":"u"},"messageId":"` + id + `"}`
		row, err := tx.InsertInbox(store.Inbox{Session: s.ID, Kind: store.InboxMessage, Lane: store.LaneMain, Source: "console:default:g/" + id, Body: body, At: now})
		if err != nil {
			return err
		}
		if err := tx.MarkReady(s.ID, now); err != nil {
			return err
		}
		fence, err := tx.OwnSession(s.ID, "node")
		if err != nil {
			return err
		}
		turn, err := tx.InsertTurn(store.Turn{Session: s.ID, Generation: 1, Kind: store.InboxMessage, Lane: store.LaneMain, Fence: fence, Started: now})
		if err != nil {
			return err
		}
		if err := tx.DeleteInbox(row); err != nil {
			return err
		}
		_, err = tx.AppendRow(store.Row{Session: s.ID, Generation: 1, Turn: turn.ID, Kind: "message", Body: body, At: now})
		return err
	})
	took := time.Since(began)
	require.NoError(tb, err)
	return took
}
