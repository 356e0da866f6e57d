package fullscreen

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/skein-bot/skein/core"
)

// The bounds of a memory.
const (
	historyOfPlace = 200      // lines kept of what was written in one place
	historyLine    = 16 << 10 // bytes of the longest line that is kept
	memoryPlaces   = 200      // places that are remembered
	memoryRecords  = 4000     // records of a file that is written anew
)

// Memory keeps, in a file that only its owner may read (0600), what was written
// in each place and how far each was read. Terminals may share a file: each
// appends records, and sees those of others when it opens it. It is not safe
// for concurrent use.
type Memory struct {
	file    *os.File // nil where nothing is kept
	history map[Place][]string
	read    map[Place]uint64
	order   []Place // by use, the latest last
	left    uint64
	err     error // of the last write
}

// memoryRecord is one line of the file.
type memoryRecord struct {
	At   Place  `json:"at,omitzero"`
	Line string `json:"line,omitempty"`
	Read uint64 `json:"read,omitempty"`
	Left uint64 `json:"left,omitempty"`
}

// OpenMemory reads the file, which is made with its folder (0700) if need be.
// Records that make no sense are passed over. An error is a *core.Error of code
// chat_memory; the memory returned with it works and keeps nothing.
func OpenMemory(path string) (*Memory, error) {
	m := &Memory{history: make(map[Place][]string), read: make(map[Place]uint64)}
	if path == "" {
		return m, nil
	}
	if err := m.open(path); err != nil {
		failed := core.Errorf("chat_memory", "what is written in this terminal is not kept: %v", err).
			WithRemedy("make %s a folder that you may write to", filepath.Dir(path))
		failed.Err = err
		return m, failed
	}
	return m, nil
}

func (m *Memory) open(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	records := m.load(content)
	if records > memoryRecords {
		if err := m.rewrite(path); err != nil {
			return err
		}
		content = nil
	}
	if m.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	if err := m.file.Chmod(0o600); err != nil {
		return err
	}
	if len(content) > 0 && content[len(content)-1] != '\n' { // a write that broke off
		_, err = m.file.WriteString("\n")
	}
	return err
}

// load takes over the records of a file and counts its lines.
func (m *Memory) load(content []byte) (records int) {
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 16*historyLine)
	for ; lines.Scan(); records++ {
		var r memoryRecord
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			m.take(r)
		}
	}
	return records
}

func (m *Memory) take(r memoryRecord) {
	m.left = max(m.left, r.Left)
	if r.At == (Place{}) {
		return
	}
	m.order = append(slices.DeleteFunc(m.order, func(p Place) bool { return p == r.At }), r.At)
	m.read[r.At] = max(m.read[r.At], r.Read)
	if r.Line != "" {
		m.history[r.At] = pushHistory(m.history[r.At], r.Line)
	}
	if len(m.order) > memoryPlaces {
		delete(m.history, m.order[0])
		delete(m.read, m.order[0])
		m.order = m.order[1:]
	}
}

// pushHistory appends a line; one that was written before moves to the end.
func pushHistory(list []string, line string) []string {
	list = append(slices.DeleteFunc(list, func(s string) bool { return s == line }), line)
	return list[max(len(list)-historyOfPlace, 0):]
}

// rewrite writes what is remembered, and nothing else, in the file's place.
func (m *Memory) rewrite(path string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, at := range m.order {
		for _, line := range m.history[at] {
			_ = enc.Encode(memoryRecord{At: at, Line: line}) // it was JSON
		}
		_ = enc.Encode(memoryRecord{At: at, Read: m.read[at]})
	}
	_ = enc.Encode(memoryRecord{Left: m.left})
	temp, err := os.CreateTemp(filepath.Dir(path), ".chat-*") // made with 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(b.Bytes())
	if err = errors.Join(err, temp.Close()); err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return os.Rename(temp.Name(), path)
}

func (m *Memory) write(r memoryRecord) {
	m.take(r)
	if m.file == nil {
		return
	}
	line, err := json.Marshal(r)
	if err == nil {
		_, err = m.file.Write(append(line, '\n')) // one write: records of terminals do not mix
	}
	m.err = errors.Join(m.err, err)
}

// wrote remembers a line that was written in a place.
func (m *Memory) wrote(at Place, line string) {
	if len(line) <= historyLine {
		m.write(memoryRecord{At: at, Line: line})
	}
}

// seen remembers how far a place was read.
func (m *Memory) seen(at Place, seq uint64) {
	if seq > m.read[at] {
		m.write(memoryRecord{At: at, Read: seq})
	}
}

// leave remembers up to where anything was shown: what is newer is news, also
// in places that were never read.
func (m *Memory) leave(seq uint64) {
	if seq > m.left {
		m.write(memoryRecord{Left: seq})
	}
}

// Close closes the file and returns what could not be written.
func (m *Memory) Close() error {
	if m.file == nil {
		return nil
	}
	err := errors.Join(m.err, m.file.Close())
	m.file = nil
	return err
}
