package store

import (
	"errors"

	"github.com/skein-bot/skein/core"
)

// Errors of a unit of work, for errors.Is.
var (
	// ErrCommit: the COMMIT failed, so it is unknown whether the units of the
	// batch took effect; the caller must treat them as not done and rely on
	// their keys when it tries again.
	ErrCommit = errors.New("store: commit failed")
	// ErrFenced: the session's lease was lost (a stop, a takeover); the turn
	// must end at once without further effect.
	ErrFenced = errors.New("store: the session's fence has moved")
	// ErrLocked: another process has the store open; the message names it.
	ErrLocked = errors.New("store: in use by another process")
	// ErrNewer: the store was written by a newer version.
	ErrNewer = errors.New("store: written by a newer version")
	// ErrClosed: the store is closed.
	ErrClosed = errors.New("store: closed")
	// ErrNotFound: no such row.
	ErrNotFound = errors.New("store: not found")
)

func storeError(code string, err error, format string, args ...any) *core.Error {
	e := core.Errorf(code, format, args...)
	e.Err = err
	return e
}

func wrapFull(err error) error {
	if err != nil && isFull(err) {
		return storeError("store_full", err, "the store cannot grow: the disk is full").
			WithRemedy("free space on the store's disk; nothing that was accepted is lost, and work goes on by itself")
	}
	return err
}
