package testserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// The methods that every channel has, by the names that scripts use.
const (
	MethodSend       = "send"
	MethodEdit       = "edit"
	MethodOpenChild  = "open-child"
	MethodCloseChild = "close-child"
	MethodTyping     = "typing"
	MethodPoll       = "poll"
)

// FaultKind says how a call goes wrong.
type FaultKind string

// The kinds of fault.
const (
	FaultOKLost     FaultKind = "ok-lost"     // done, but the answer is lost
	FaultFail       FaultKind = "fail"        // refused with Status, before any effect
	FaultRetryAfter FaultKind = "retry-after" // rate limited for After, before any effect
	FaultSlow       FaultKind = "slow"        // answered after After on the runtime's clock
)

// Fault is a fault of the next Times calls (0 means 1) of Method, which is a
// name from above or the platform's own.
type Fault struct {
	Method string
	Kind   FaultKind
	Status int
	After  time.Duration
	Times  int
}

// Faults holds the faults set on a server. The zero value has none.
type Faults struct {
	mu   sync.Mutex
	list []Fault
}

// Set adds a fault. Faults of one method happen in the order of being set.
func (f *Faults) Set(fault Fault) {
	fault.Times = max(fault.Times, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, fault)
}

// Take uses up one fault of a method known under any of names.
func (f *Faults) Take(names ...string) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.list, func(x Fault) bool { return slices.Contains(names, x.Method) })
	if i < 0 {
		return Fault{}, false
	}
	taken := f.list[i]
	f.list[i].Times--
	if f.list[i].Times == 0 {
		f.list = slices.Delete(f.list, i, i+1)
	}
	return taken, true
}

// Has tells whether a fault of a method known under any of names is set.
func (f *Faults) Has(names ...string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.list, func(x Fault) bool { return slices.Contains(names, x.Method) })
}

// Request is one recorded request of an adapter.
type Request struct {
	N      int    // its number, counted from 0
	Method string // as in the constants above, or Native if it has no such name
	Native string // the platform's own name
	JSON   json.RawMessage
	At     time.Time // on the runtime's clock
}

// Is reports whether method names r, in either way.
func (r Request) Is(method string) bool { return r.Method == method || r.Native == method }

// Recorder records requests. The zero value is empty.
type Recorder struct {
	mu   sync.Mutex
	list []Request
}

// Record adds a request; it fills in the number.
func (r *Recorder) Record(req Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	req.N = len(r.list)
	r.list = append(r.list, req)
}

// Requests returns the requests from number since on.
func (r *Recorder) Requests(since int) []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list[min(max(since, 0), len(r.list)):])
}

// Reader reads a server's places as a person does who looks at each message
// once. It is for one goroutine.
type Reader struct {
	view View
	seen map[Place]map[string]bool
}

// NewReader returns a reader that has seen nothing.
func NewReader(v View) *Reader { return &Reader{view: v, seen: make(map[Place]map[string]bool)} }

// Unseen returns the messages of the place's account that were not consumed,
// in order. A message that was edited meanwhile is one message, with its last
// text.
func (r *Reader) Unseen(at Place) []Seen {
	return slices.DeleteFunc(r.view.Messages(at), func(m Seen) bool { return !m.Own || r.seen[at][m.ID] })
}

// Consume marks messages as seen.
func (r *Reader) Consume(at Place, messages ...Seen) {
	if r.seen[at] == nil {
		r.seen[at] = make(map[string]bool)
	}
	for _, m := range messages {
		r.seen[at][m.ID] = true
	}
}

// Render writes a message as Seen.Text has it: the text, then buttons and
// files in brackets on a line of their own.
func Render(text string, buttons, files []string) string {
	var extra []string
	for _, label := range append(slices.Clone(buttons), files...) {
		extra = append(extra, fmt.Sprintf("[%s]", label))
	}
	switch {
	case len(extra) == 0:
		return text
	case text == "":
		return strings.Join(extra, " ")
	}
	return text + "\n" + strings.Join(extra, " ")
}
