package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/store"
)

func testSpawnKeys(s *suite) {
	keep := func(requester, key, run, result string) {
		s.write(func(tx *store.Tx) error { return tx.KeepSpawnResult(requester, key, run, result) })
	}
	result := func(requester, key string) string {
		return get(s, func(tx *store.Tx) (string, error) { return tx.SpawnResult(requester, key) })
	}
	missing(s, func(tx *store.Tx) (string, error) { return tx.SpawnResult("run/1", "k") })
	keep("run/1", "k", "01RUN01", "first")
	keep("run/1", "k", "01RUN02", "second")
	keep("turn/1", "k", "01RUN02", "of a chat")
	require.Equal(s, "first", result("run/1", "k"))
	require.Equal(s, "of a chat", result("turn/1", "k"))
	missing(s, func(tx *store.Tx) (string, error) { return tx.SpawnResult("run/1", "K") })

	child := s.session()
	s.addRun(newRun(3, 7, child.ID))
	keep("run/1", "x", "01RUN03", "third")
	s.write(func(tx *store.Tx) error {
		e := tx.NewErasure()
		e.Session(child.ID)
		_, err := e.Counts()
		return err
	})
	missing(s, func(tx *store.Tx) (string, error) { return tx.SpawnResult("run/1", "x") })
	require.Equal(s, "first", result("run/1", "k"))
}
