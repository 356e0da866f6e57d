package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
	"github.com/skein-bot/skein/core/world"
)

// answered is an answer of the gateway: how large it was, and how much had been
// printed when it was asked for.
type answered struct{ bytes, printed int }

// weighing serves an API and weighs its answers.
type weighing struct {
	api     http.Handler
	printed *bytes.Buffer
	answers []answered
}

// ServeHTTP implements http.Handler.
func (w *weighing) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	got := &recorder{header: http.Header{}, status: http.StatusOK}
	printed := w.printed.Len()
	w.api.ServeHTTP(got, r)
	w.answers = append(w.answers, answered{got.body.Len(), printed})
	to.WriteHeader(got.status)
	_, _ = to.Write(got.body.Bytes())
}

// TestATranscriptIsPrintedAsItIsRead: a transcript of 8 MB in all its histories is
// printed whole, with one page of it in memory, which is printed before the next is
// asked for. A page ends at a number of rows or bytes.
func TestATranscriptIsPrintedAsItIsRead(t *testing.T) {
	const small, large, size = 2 * rowsPage, 40, 200_000
	db, err := store.Open(t.Context(), pgtest.Options(pgtest.StoreURL(t, filepath.Join(t.TempDir(), "skein.db")), world.New(clock.Real{}, nil, 1)))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	var ids []int64
	require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		s, err := tx.InsertSession(store.Session{Key: "agent:main:main", Agent: "main", Kind: core.SessionMain})
		for i := 0; i < small+large && err == nil; i++ {
			text := "short"
			if i >= small {
				text = strings.Repeat("x", size)
			}
			var id int64
			id, err = tx.AppendRow(store.Row{Session: s.ID, Generation: int64(1 + i/300), Kind: "user", Body: model.Item{Kind: model.User, Text: text}.Encode()})
			ids = append(ids, id)
		}
		return err
	}))
	cfg, _, err := config.Parse("<test>", []byte(`{}`), config.Options{})
	require.NoError(t, err)
	var out, failed bytes.Buffer
	gateway := &weighing{api: app.ReadOnlyAPI(db, cfg), printed: &out}
	e := &env{stdin: strings.NewReader(""), stdout: &out, stderr: &failed, clock: clock.Real{}, zone: time.UTC, gateway: gateway, config: cfg}
	require.Equal(t, exitOK, execute(e, []string{"sessions", "transcript", "agent:main"}), failed.String())

	var rows []int64
	histories := map[int64]bool{}
	for lines := json.NewDecoder(bytes.NewReader(out.Bytes())); ; {
		var row app.RowView
		if err := lines.Decode(&row); err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		rows, histories[row.History] = append(rows, row.Row), true
	}
	require.Equal(t, ids, rows)
	require.Len(t, histories, 4)
	require.Greater(t, len(gateway.answers), 8, "the session, pages, and an empty one")
	before := gateway.answers[1].printed
	for _, a := range gateway.answers[2:] {
		require.Less(t, a.bytes, 1_500_000, "a megabyte and a row")
		require.Greater(t, a.printed, before, "a page is printed before the next one is asked for")
		before = a.printed
	}
}
