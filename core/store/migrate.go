package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// sqliteWords are the words of the migrations that differ between databases:
// {{id}} is an ascending integer key, {{keyed}} marks a table that is nothing
// but its primary key's index, {{computed}} a generated column.
func sqliteWords() *strings.Replacer {
	return strings.NewReplacer("{{id}}", "INTEGER PRIMARY KEY AUTOINCREMENT", "{{keyed}}", " WITHOUT ROWID", "{{computed}}", "VIRTUAL")
}

// schema returns the migrations with a database's words filled in.
func schema(words *strings.Replacer) (fs.FS, error) {
	written, err := fs.Sub(migrationFiles, "migrations")
	return filledFS{written, words}, err
}

// filledFS fills a database's words into the files of another file system.
// Their sizes are those from before.
type filledFS struct {
	written fs.FS
	words   *strings.Replacer
}

// Open implements fs.FS.
func (f filledFS) Open(name string) (fs.File, error) {
	file, err := f.written.Open(name)
	if err != nil {
		return nil, err
	}
	if _, folder := file.(fs.ReadDirFile); folder {
		return file, nil
	}
	b, err := io.ReadAll(file)
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return filledFile{file, strings.NewReader(f.words.Replace(string(b)))}, nil
}

// filledFile is an open file with another text.
type filledFile struct {
	fs.File
	text io.Reader
}

func (f filledFile) Read(p []byte) (int, error) { return f.text.Read(p) }

// schemaOf is what the migrations need to know of a database.
type schemaOf struct {
	dialect goose.Dialect
	words   *strings.Replacer
}

func sqliteSchema() schemaOf { return schemaOf{goose.DialectSQLite3, sqliteWords()} }

func newProvider(db *sql.DB, of schemaOf) (*goose.Provider, error) {
	files, err := schema(of.words)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(of.dialect, db, files)
}

// migrate brings the schema of the store at path up to this build's version,
// and refuses a store that a newer build has changed.
func migrate(ctx context.Context, db *sql.DB, of schemaOf, path string) error {
	p, err := newProvider(db, of)
	if err != nil {
		return fmt.Errorf("store: migrations: %w", err)
	}
	current, target, err := p.GetVersions(ctx)
	if err != nil {
		return openError(path, wrapFull(err))
	}
	if current > target {
		return newerError(current, target)
	}
	if current == target {
		return nil
	}
	if _, err := p.Up(ctx); err != nil {
		return storeError("store_migrate", wrapFull(err), "bring the store from schema %d to %d", current, target).
			WithRemedy("the store is unchanged; restore a backup or report this")
	}
	return nil
}

// checkVersion refuses to read a store whose schema is not this build's.
func checkVersion(ctx context.Context, db *sql.DB, path string) error {
	var current int64
	err := db.QueryRowContext(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version").Scan(&current)
	if err != nil {
		return openError(path, err)
	}
	target, err := newestMigration()
	if err != nil {
		return err
	}
	switch {
	case current > target:
		return newerError(current, target)
	case current < target:
		return storeError("store_older", nil, "the store has schema %d, this build reads %d", current, target).
			WithRemedy("start the gateway once with `skein run`; it brings the store up to date")
	}
	return nil
}

// SchemaVersion is the schema that a store has which this build has opened.
func SchemaVersion() (int64, error) { return newestMigration() }

// newestMigration is the schema version that this build makes.
func newestMigration() (newest int64, err error) {
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	for _, name := range files {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return 0, fmt.Errorf("store: %w", err)
		}
		newest = max(newest, version)
	}
	return newest, nil
}

func newerError(current, target int64) error {
	return storeError("store_newer", ErrNewer, "the store has schema %d, this build knows up to %d", current, target).
		WithRemedy("run the newer version of skein again; the store is unchanged")
}
