package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/world"
)

// Template is the file of a SQLite store that this build's migrations made and
// nothing was written to. A store that begins as a copy of it is one that Open
// would have made, in a fraction of the time: for who opens many that are
// thrown away. It is safe for concurrent use.
type Template struct{ file []byte }

// NewTemplate runs the migrations in a folder for temporary files.
func NewTemplate(ctx context.Context) (_ *Template, err error) {
	dir, err := os.MkdirTemp("", "skein-template-")
	if err != nil {
		return nil, fmt.Errorf("store: template: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "skein.db")
	db, err := Open(ctx, Options{Path: path, World: world.New(clock.Real{}, nil, 1), Scratch: true})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil { // the file is whole: the last one to close empties the log into it
		return nil, fmt.Errorf("store: template: %w", err)
	}
	file, err := os.ReadFile(path)
	return &Template{file}, err
}

// Copy puts an empty store at path, private to its owner. There must be no file
// yet; a folder that is missing is made.
func (t *Template) Copy(path string) error {
	if err := ensureDir(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return openError(path, err)
	}
	_, err = f.Write(t.file)
	return errors.Join(err, f.Close())
}
