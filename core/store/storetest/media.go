package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/store"
)

func testMedia(s *suite) {
	a, b := s.session(), s.session()
	want := store.Media{ID: "m1", Session: a.ID, Type: "image/png", Size: 3, Data: "AAEC", At: 10}
	s.write(func(tx *store.Tx) error { return tx.InsertMedia(want) })
	require.Error(s, s.db.Write(s.Context(), func(tx *store.Tx) error { return tx.InsertMedia(want) }), "an id is used once")
	s.reopen()
	require.Equal(s, want, get(s, func(tx *store.Tx) (store.Media, error) { return tx.MediaByID("m1") }))
	missing(s, func(tx *store.Tx) (store.Media, error) { return tx.MediaByID("m2") })

	row := s.append(a.ID, "one")
	s.write(func(tx *store.Tx) error { return tx.SetRowBody(b.ID, row, "of another session") })
	require.Equal(s, []string{"one"}, s.whole(a.ID))
	s.write(func(tx *store.Tx) error { return tx.SetRowBody(a.ID, row, "two") })
	require.Equal(s, []string{"two"}, s.whole(a.ID))

	require.EqualValues(s, 10, s.oldest(store.GrownMedia))
	require.Zero(s, s.sweep(store.GrownMedia, 10, 100))
	require.Equal(s, int64(1), s.sweep(store.GrownMedia, 11, 100))
	require.Zero(s, s.oldest(store.GrownMedia))

	s.write(func(tx *store.Tx) error { return tx.InsertMedia(want) })
	s.write(func(tx *store.Tx) error { return tx.ArchiveSession(a.ID, 50) })
	require.Equal(s, int64(1), s.sweep(store.GrownArchived, 100, 100), "its transcript")
	require.Equal(s, int64(1), s.sweep(store.GrownArchived, 100, 100), "the session and what is its own")
	missing(s, func(tx *store.Tx) (store.Media, error) { return tx.MediaByID("m1") })
}
