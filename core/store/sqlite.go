package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	_ "modernc.org/sqlite" // registers the pure-Go driver "sqlite"
)

// sqliteDSN returns the driver's data source name for the store of opts.
func sqliteDSN(opts Options, readOnly bool) string {
	q := url.Values{}
	synchronous := "synchronous(FULL)"
	if opts.Scratch {
		synchronous = "synchronous(OFF)"
	}
	for _, p := range []string{"busy_timeout(10000)", "journal_mode(WAL)", synchronous, "foreign_keys(1)", "temp_store(MEMORY)"} {
		if readOnly && strings.HasPrefix(p, "journal_mode") {
			continue
		}
		q.Add("_pragma", p)
	}
	if readOnly {
		q.Add("_pragma", "query_only(1)")
		q.Set("mode", "ro")
	}
	q.Set("_txlock", "immediate")
	return "file:" + (&url.URL{Path: opts.Path}).EscapedPath() + "?" + q.Encode()
}

// openSQLite opens the write connection and the read pool of the store of opts,
// creating the file and its directory (0700) if they are missing.
func openSQLite(opts Options) (write, read *sql.DB, err error) {
	path := opts.Path
	if !opts.ReadOnly {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, nil, openError(path, err)
		}
		if err := touchFile(path); err != nil {
			return nil, nil, openError(path, err)
		}
		write, err = sql.Open("sqlite", sqliteDSN(opts, false))
		if err != nil {
			return nil, nil, openError(path, err)
		}
		write.SetMaxOpenConns(1)
		if err := write.PingContext(context.Background()); err != nil {
			return nil, nil, openError(path, errors.Join(err, write.Close()))
		}
	} else if err := statFile(path); err != nil {
		return nil, nil, openError(path, err)
	}
	read, err = sql.Open("sqlite", sqliteDSN(opts, true))
	if err != nil {
		return nil, nil, openError(path, err)
	}
	read.SetMaxOpenConns(maxReaders + 1) // see DB.readers
	read.SetMaxIdleConns(maxReaders + 1)
	return write, read, nil
}

// touchFile creates the file private to its owner, or proves that it can be
// written.
func touchFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// statFile returns an error unless path is a file.
func statFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		err = &os.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	}
	return err
}

// checkOurs refuses a database that another program made; the migrations would
// add our tables to it.
func checkOurs(ctx context.Context, db *sql.DB, path string) error {
	var tables, versions int
	err := db.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(SUM(name = 'goose_db_version'), 0) FROM sqlite_master
		WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`).Scan(&tables, &versions)
	if err != nil {
		return openError(path, err)
	}
	if tables > 0 && versions == 0 {
		return notOurs(path, nil)
	}
	return nil
}

func notOurs(path string, err error) error {
	return storeError("store_corrupt", err, "%s is not a Skein store", path).WithRemedy("check store.url, or restore a backup")
}

// openError says in words what keeps the store at path from being opened.
func openError(path string, err error) error {
	switch {
	case errors.Is(err, os.ErrPermission) || strings.Contains(err.Error(), "readonly") || strings.Contains(err.Error(), "read-only"):
		return storeError("store_read_only", err, "the store %s cannot be written", path).
			WithRemedy("make the file and its folder writable for this user, or name another place with store.url")
	case errors.Is(err, os.ErrNotExist):
		return storeError("store_missing", err, "there is no store at %s", path).
			WithRemedy("start the gateway once with `skein run`, or check store.url")
	case strings.Contains(err.Error(), "not a database"):
		return notOurs(path, err)
	case strings.Contains(err.Error(), "malformed"):
		return storeError("store_corrupt", err, "the store %s is damaged", path).
			WithRemedy("restore a backup, or move the file away to start with an empty store")
	}
	return storeError("store_open", err, "open the store %s", path).WithRemedy("check store.url")
}

// isFull reports whether err says that the disk (or the allowed size) is full.
func isFull(err error) bool {
	s := err.Error()
	return strings.Contains(s, "SQLITE_FULL") || strings.Contains(s, "database or disk is full") || strings.Contains(s, "no space left")
}

// questionMarks rewrites $N placeholders to ?N: SQLite numbers `$name` by
// first appearance, `?N` by its number.
func questionMarks(query string) string {
	var b strings.Builder
	inText := false
	for i := range len(query) {
		c := query[i]
		if c == '\'' {
			inText = !inText
		}
		if c == '$' && !inText && i+1 < len(query) && query[i+1] >= '0' && query[i+1] <= '9' {
			c = '?'
		}
		b.WriteByte(c)
	}
	return b.String()
}

// ParseURL splits a store.url into the options that name the store: sqlite:PATH,
// where a leading ~ is the home directory, or postgres://...
func ParseURL(u string) (Options, error) {
	if strings.HasPrefix(u, "postgres://") || strings.HasPrefix(u, "postgresql://") {
		return Options{URL: u}, nil
	}
	p, ok := strings.CutPrefix(u, "sqlite:")
	if !ok {
		return Options{}, storeError("store_url", nil, "store.url %q names no kind of store", u).
			WithRemedy("use sqlite:PATH, for example sqlite:~/.skein/skein.db, or postgres://user:password@host/database")
	}
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return Options{}, fmt.Errorf("expand store.url: %w", err)
		}
		p = filepath.Join(home, rest)
	}
	if p == "" {
		return Options{}, storeError("store_url", nil, "store.url names no file").WithRemedy("use sqlite:PATH")
	}
	return Options{Path: p}, nil
}
