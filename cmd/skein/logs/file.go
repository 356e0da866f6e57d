package logs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Name is the name of the log in the state folder.
const Name = "skein.log"

// The bounds of a log: the size of one file in bytes, and how many older files
// stay beside it.
const (
	MaxBytes = 10 << 20
	Keep     = 3
)

// File is a log file that is open for writing. It is safe for concurrent use.
type File struct {
	path string
	max  int64

	mu   sync.Mutex
	f    *os.File
	size int64
}

// Open opens the log of a state folder, and makes both if they are missing.
func Open(stateDir string) (*File, error) { return open(filepath.Join(stateDir, Name), MaxBytes) }

func open(path string, limit int64) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the state folder: %w", err)
	}
	l := &File{path: path, max: limit}
	if err := l.reopen(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *File) reopen() error {
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open the log: %w", err), f.Close())
	}
	l.f, l.size = f, info.Size()
	return nil
}

// Write appends whole lines. Where the file would outgrow its bound it makes
// room first; if that fails it goes on in the same file.
func (l *File) Write(lines []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return 0, fs.ErrClosed
	}
	if l.size > 0 && l.size+int64(len(lines)) > l.max {
		l.rotate()
	}
	n, err := l.f.Write(lines)
	l.size += int64(n)
	return n, err
}

// rotate moves the file aside and begins another one.
func (l *File) rotate() {
	for i := Keep; i > 0; i-- {
		if err := os.Rename(older(l.path, i-1), older(l.path, i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
	old := l.f
	if l.reopen() == nil {
		_ = old.Close()
	}
}

// older is the name of the nth older file, the log itself for 0.
func older(path string, n int) string {
	if n == 0 {
		return path
	}
	return fmt.Sprintf("%s.%d", path, n)
}

// Close ends the writing; a later Write fails.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}

// Tee writes to w, and to the log besides: what the log cannot take, on a full
// disk, is not missing from w.
func Tee(w io.Writer, log *File) io.Writer { return tee{w, log} }

type tee struct {
	w   io.Writer
	log *File
}

func (t tee) Write(lines []byte) (int, error) {
	_, _ = t.log.Write(lines)
	return t.w.Write(lines)
}
