package store_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/storetest"
	"github.com/skein-bot/skein/core/world"
)

// TestSQLite runs the suite that every database passes.
func TestSQLite(t *testing.T) {
	template, err := store.NewTemplate(t.Context())
	require.NoError(t, err)
	storetest.Run(t, storetest.Backend{
		Open: func(t *testing.T) *store.DB {
			t.Helper()
			path := filepath.Join(t.TempDir(), "skein.db")
			require.NoError(t, template.Copy(path))
			return open(t, store.Options{Path: path, Scratch: true})
		},
		Reopen: func(t *testing.T, db *store.DB) *store.DB {
			t.Helper()
			require.NoError(t, db.Close())
			return open(t, store.Options{Path: db.Path(), Scratch: true})
		},
	})
}

func openEmpty(t *testing.T) *store.DB {
	t.Helper()
	return open(t, store.Options{})
}

func newWorld() *world.World { return world.New(clock.Real{}, nil, 1) }

// open opens a store that must open; it is closed with the test.
func open(t *testing.T, opts store.Options) *store.DB {
	t.Helper()
	if opts.Path == "" {
		opts.Path = filepath.Join(t.TempDir(), "skein.db")
	}
	db, err := tryOpen(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// tryOpen opens a store in a world of its own.
func tryOpen(opts store.Options) (*store.DB, error) {
	if opts.World == nil {
		opts.World = newWorld()
	}
	return store.Open(context.Background(), opts)
}
