package pgtest

import (
	"context"
	"os"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// StoreURL is where a test keeps its store, which is empty and has the schema of
// this build: a PostgreSQL database where Env names a server, else a SQLite file
// that it makes at path.
func StoreURL(tb TB, path string) string {
	tb.Helper()
	if server := os.Getenv(Env); server != "" {
		return New(tb, server)
	}
	t, err := sqliteTemplate()
	require.NoError(tb, err)
	require.NoError(tb, t.Copy(path))
	return "sqlite:" + path
}

// sqliteTemplate is what the SQLite stores of one process begin as.
var sqliteTemplate = sync.OnceValues(func() (*store.Template, error) { return store.NewTemplate(context.Background()) })

// Options open a store at what StoreURL gave, or at the path of a SQLite file.
func Options(storeURL string, w *world.World) store.Options {
	o := Manner()
	o.World = w
	if strings.HasPrefix(storeURL, "postgres") {
		o.URL = storeURL
	} else {
		o.Path = strings.TrimPrefix(storeURL, "sqlite:")
	}
	return o
}

// Manner is how the stores of tests are opened, wherever they are.
func Manner() store.Options { return store.Options{Rehearse: Rehearse(), Scratch: true} }
