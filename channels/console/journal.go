package console

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/skein-bot/skein/core"
)

// journalVersion is the version of the file format. A file of a newer version
// is refused, one of an older version is read.
const journalVersion = 1

// firstLine is the header as this version writes it.
const firstLine = `{"console":1}`

// header is the first line of a journal.
type header struct {
	Console int `json:"console"` // the version
}

// journal is an append-only file of records, one JSON object a line. It is
// used under the hub's lock.
type journal struct {
	path   string
	file   *os.File
	sync   func(*os.File) error
	size   int64 // of what was accepted
	broken error // set when the file's state is unknown; nothing is accepted then
}

// openJournal opens or creates the file and hands every record to apply. A
// torn last line, which a crash leaves behind, is cut off.
func openJournal(path string, sync func(*os.File) error, apply func(*record)) (*journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, journalError(path, err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, journalError(path, err)
	}
	j := &journal{path: path, file: file, sync: sync}
	if err := j.load(apply); err != nil {
		_ = file.Close()
		return nil, err
	}
	return j, nil
}

func journalError(path string, err error) error {
	e := &core.Error{Code: "console_journal", Text: "console journal " + path, Err: err}
	if errors.Is(err, fs.ErrPermission) {
		return e.WithRemedy("make the file and its folder writable")
	}
	return e
}

func (j *journal) load(apply func(*record)) error {
	in := bufio.NewReaderSize(j.file, 1<<16)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return journalError(j.path, err)
		}
		if len(line) == 0 {
			break
		}
		if err := j.take(line, number, apply); err != nil {
			if _, more := in.Peek(1); more == nil || !torn(line, number) || errors.Is(err, errNewer) {
				return core.Errorf("console_journal", "console journal %s, line %d: %v", j.path, number, err).
					WithRemedy("the file is damaged; remove the line or move the file away")
			}
			break // torn
		}
		j.size += int64(len(line))
	}
	if err := j.file.Truncate(j.size); err != nil {
		return journalError(j.path, err)
	}
	if _, err := j.file.Seek(j.size, io.SeekStart); err != nil {
		return journalError(j.path, err)
	}
	if j.size == 0 {
		return j.append(header{Console: journalVersion}, true)
	}
	return nil
}

// torn reports whether a last line that cannot be read may be what a crash left
// of ours. The first line is of little variety: another one is not ours.
func torn(line []byte, number int) bool {
	return number > 1 || strings.HasPrefix(firstLine, strings.TrimRight(string(line), "\x00\n"))
}

// errNewer is fatal even on the last line: the file is whole, but not for us.
var errNewer = errors.New("the file was written by a newer version")

// take reads one line.
func (j *journal) take(line []byte, number int, apply func(*record)) error {
	if !bytes.HasSuffix(line, []byte("\n")) {
		return io.ErrUnexpectedEOF
	}
	if number > 1 {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		apply(&r)
		return nil
	}
	var h header
	if err := json.Unmarshal(line, &h); err != nil {
		return err
	}
	if h.Console < 1 || h.Console > journalVersion {
		return fmt.Errorf("version %d: %w", h.Console, errNewer)
	}
	return nil
}

// append writes one line, and syncs it to disk if durable. After an error the
// line is not part of the journal.
func (j *journal) append(v any, durable bool) error {
	if j.broken != nil {
		return j.broken
	}
	line, err := json.Marshal(v)
	if err != nil {
		return journalError(j.path, err)
	}
	line = append(line, '\n')
	_, err = j.file.Write(line)
	if err == nil && durable {
		err = j.sync(j.file)
	}
	if err == nil {
		j.size += int64(len(line))
		return nil
	}
	if undo := j.undo(); undo != nil {
		j.broken = journalError(j.path, errors.Join(err, undo))
	}
	return journalError(j.path, err)
}

// undo removes what a failed write may have left.
func (j *journal) undo() error {
	if err := j.file.Truncate(j.size); err != nil {
		return err
	}
	_, err := j.file.Seek(j.size, io.SeekStart)
	return err
}

// compact replaces the file by one with only the records of write. The old
// file stays until the new one is whole and on disk.
func (j *journal) compact(write func(yield func(*record) error) error) error {
	next := &journal{path: j.path + ".new", sync: j.sync}
	file, err := os.OpenFile(next.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return journalError(next.path, err)
	}
	next.file = file
	if err := next.fill(write); err != nil {
		_ = file.Close()
		_ = os.Remove(next.path)
		return err
	}
	if err := os.Rename(next.path, j.path); err != nil {
		_ = file.Close()
		return journalError(j.path, err)
	}
	_ = j.file.Close()
	j.file, j.size = file, next.size
	return j.syncFolder()
}

func (j *journal) fill(write func(yield func(*record) error) error) error {
	if err := j.append(header{Console: journalVersion}, false); err != nil {
		return err
	}
	if err := write(func(r *record) error { return j.append(r, false) }); err != nil {
		return err
	}
	if err := j.sync(j.file); err != nil {
		return journalError(j.path, err)
	}
	return nil
}

// syncFolder makes a rename durable.
func (j *journal) syncFolder() error {
	folder, err := os.Open(filepath.Dir(j.path))
	if err != nil {
		return journalError(j.path, err)
	}
	defer func() { _ = folder.Close() }()
	if err := j.sync(folder); err != nil {
		return journalError(j.path, err)
	}
	return nil
}

func (j *journal) close() error { return j.file.Close() }
