package console_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/core/clock"
)

// TestContents: files are given out by message and number, the oldest give way,
// and what is too much is refused with nothing posted.
func TestContents(t *testing.T) {
	h, err := console.Open(console.Options{Clock: clock.Real{}})
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close()) }()
	post := func(contents ...[]byte) (console.Message, error) {
		return h.Post(t.Context(), console.Post{
			By: console.User{ID: console.Local}, Conversation: console.Main, Files: []console.File{{Name: "a"}, {Name: "b"}}, Contents: contents,
		})
	}
	fetch := func(id string) ([]byte, error) {
		c, err := h.Fetch(t.Context(), console.FetchRequest{Account: console.DefaultAccount, File: id})
		return c.Data, err
	}
	first, err := post([]byte("one"), []byte("two"))
	require.NoError(t, err)
	for id, want := range map[string]string{first.ID + "/0": "one", first.ID + "/1": "two"} {
		got, err := fetch(id)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	_, err = fetch(first.ID + "/2")
	refusal := new(console.Error)
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, []any{http.StatusNotFound, console.CodeUnknownFile}, []any{refusal.Status, refusal.Code})

	_, err = post(nil, nil, nil)
	require.ErrorContains(t, err, "more contents than files")
	big := bytes.Repeat([]byte("x"), console.PostLimit)
	_, err = post(big, []byte("x"))
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, console.CodeTooLarge, refusal.Code)

	for range 8 {
		_, err = post(big)
		require.NoError(t, err)
	}
	_, err = fetch(first.ID + "/0")
	require.Error(t, err, "64 MiB are held")
}
