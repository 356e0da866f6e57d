package store

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// fileLock is an exclusive lock that the operating system drops with the
// process, however it ends.
type fileLock struct{ f *os.File }

// lockFile takes the lock for the store at path and notes since when, or returns an error that
// wraps ErrLocked and names the holder.
func lockFile(path string, now time.Time) (*fileLock, error) {
	name := path + ".lock"
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, openError(path, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 200))
		_ = f.Close()
		who := strings.TrimSpace(string(holder))
		if who == "" {
			who = "another process"
		}
		return nil, storeError("store_locked", ErrLocked, "the store %s is in use by %s", path, who).
			WithRemedy("stop that process first, or give this one another store.url; SQLite serves one process")
	}
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(f, "process %d, since %s\n", os.Getpid(), now.UTC().Format(time.RFC3339))
	}
	return &fileLock{f}, nil
}

func (l *fileLock) release() error {
	if l == nil {
		return nil
	}
	return l.f.Close()
}
