package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/skein-bot/skein/core"
)

// poll is how often a log is looked at that is followed.
const poll = 250 * time.Millisecond

// Reader shows the log of a state folder.
type Reader struct {
	path string
	f    *os.File
}

// NewReader opens the log for reading. The error is a *core.Error of code
// log_missing where there is none.
func NewReader(stateDir string) (*Reader, error) {
	r := &Reader{path: filepath.Join(stateDir, Name)}
	f, err := os.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, core.Errorf("log_missing", "there is no log at %s", r.path).WithRemedy("`skein run` writes it; is this the configuration of that gateway?")
	}
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	r.f = f
	return r, nil
}

// Close closes the log.
func (r *Reader) Close() error { return r.f.Close() }

// Tail writes the last lines of the log, older files included, and leaves the
// reader at its end; 0 is all there is.
func (r *Reader) Tail(w io.Writer, lines int) error {
	text, err := io.ReadAll(r.f)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	for i := 1; i <= Keep && (lines == 0 || bytes.Count(text, []byte("\n")) < lines); i++ {
		before, err := os.ReadFile(older(r.path, i))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		text = append(before, text...)
	}
	_, err = w.Write(last(text, lines))
	return err
}

// last returns the last lines of a text; 0 is all.
func last(text []byte, lines int) []byte {
	if lines == 0 {
		return text
	}
	for i := len(text) - 1; i > 0; i-- {
		if text[i-1] != '\n' {
			continue
		}
		lines--
		if lines == 0 {
			return text[i:]
		}
	}
	return text
}

// Follow writes what is added to the log until ctx ends, also where the file is
// exchanged for a new one or emptied.
func (r *Reader) Follow(ctx context.Context, w io.Writer, clock core.Clock) error {
	timer := clock.NewTimer(poll)
	defer timer.Stop()
	for {
		if err := r.more(w); err != nil {
			return err
		}
		select {
		case <-timer.C():
			timer.Reset(poll)
		case <-ctx.Done():
			return nil
		}
	}
}

// more copies what is new.
func (r *Reader) more(w io.Writer) error {
	if _, err := io.Copy(w, r.f); err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	now, err := os.Stat(r.path)
	if err != nil {
		return nil //nolint:nilerr // between two files; the next look finds the new one
	}
	mine, err := r.f.Stat()
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	if os.SameFile(now, mine) {
		return r.fromStart(now.Size())
	}
	next, err := os.Open(r.path)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	_, err = io.Copy(w, r.f) // what came before it was moved
	err = errors.Join(err, r.f.Close())
	r.f = next
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	_, err = io.Copy(w, r.f)
	return err
}

// fromStart goes back to the start of a file that was emptied.
func (r *Reader) fromStart(size int64) error {
	at, err := r.f.Seek(0, io.SeekCurrent)
	if err == nil && size < at {
		_, err = r.f.Seek(0, io.SeekStart)
	}
	return err
}
