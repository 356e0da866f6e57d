package consoletest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/channels/testserver"
)

// methods returns the neutral names of the platform's methods.
func methods() map[string]string {
	return map[string]string{
		"poll": testserver.MethodPoll, "send": testserver.MethodSend, "edit": testserver.MethodEdit,
		"open-thread": testserver.MethodOpenChild, "close-thread": testserver.MethodCloseChild,
		"typing": testserver.MethodTyping, "delete": "delete", "find-thread": "find-thread", "probe": "probe",
		"history": "history", "fetch": "fetch",
	}
}

// Fault implements testserver.Trouble. A fault of poll ends the polls that
// wait, with no updates, so that the next call is soon.
func (s *Server) Fault(f testserver.Fault) error {
	known := false
	for native, neutral := range methods() {
		known = known || f.Method == native || f.Method == neutral
	}
	if !known {
		return fmt.Errorf("console has no method %q", f.Method)
	}
	if f.Kind == testserver.FaultFail && (f.Status < 400 || f.Status > 599) {
		return fmt.Errorf("%d is not the status of a failure", f.Status)
	}
	s.faults.Set(f)
	if f.Method == testserver.MethodPoll {
		s.polls.interrupt()
	}
	return nil
}

// handler serves the platform with faults and a record around it.
func (s *Server) handler() http.Handler {
	inner := console.Handler(s.polls, s.hub, console.Wait{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		native, bot := strings.CutPrefix(r.URL.Path, "/v1/bot/")
		neutral := methods()[native]
		if !bot || neutral == "" {
			inner.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		ctx, done := s.tracker.Request(r.Context(), native, neutral != testserver.MethodPoll)
		defer done()
		defer s.changed()
		s.Record(testserver.Request{Method: neutral, Native: native, JSON: json.RawMessage(body), At: s.clock.Now()})
		s.answer(w, r.WithContext(ctx), inner, call{native: native, neutral: neutral, body: body})
	})
}

// call is one request of an account.
type call struct {
	native, neutral string
	body            []byte
}

// account returns the account that makes the call.
func (c call) account() string {
	var who struct {
		Account string `json:"account"`
	}
	_ = json.Unmarshal(c.body, &who) // a request without one is refused later
	return who.Account
}

// answer answers a request, with the fault that is set for it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, inner http.Handler, c call) {
	poll := c.neutral == testserver.MethodPoll
	fault, faulty := s.faults.Take(c.native, c.neutral)
	if faulty && poll && fault.Kind != testserver.FaultSlow {
		defer s.tracker.PollFailed(c.account())
	}
	switch {
	case !faulty:
		inner.ServeHTTP(w, r)
	case fault.Kind == testserver.FaultFail:
		console.WriteError(w, &console.Error{Status: fault.Status, Code: "fault", Text: "a fault was set"})
	case fault.Kind == testserver.FaultRetryAfter:
		console.WriteError(w, &console.Error{
			Status: http.StatusTooManyRequests, Code: "fault", Text: "too many requests", RetryAfter: fault.After,
		})
	case fault.Kind == testserver.FaultSlow && poll:
		s.slowPoll(r.Context(), c.account(), fault)
		inner.ServeHTTP(w, r)
	case fault.Kind == testserver.FaultSlow:
		s.tracker.Sleep(r.Context(), s.clock, fault.After)
		inner.ServeHTTP(w, r)
	default: // ok-lost
		inner.ServeHTTP(discard{header: make(http.Header)}, r)
		panic(http.ErrAbortHandler) // closes the connection
	}
}

// slowPoll waits on the clock. Nobody who is counted waits for a poll, so it
// is counted for as long as it sleeps, and its updates are not.
func (s *Server) slowPoll(ctx context.Context, account string, f testserver.Fault) {
	ctx, done := s.tracker.Request(ctx, "slow poll", true)
	defer done()
	s.tracker.PollPauses(account)
	_ = s.clock.Sleep(ctx, f.After) // a poll whose caller is gone ends by itself
	s.tracker.PollBegins(account)
}

// discard is where a lost answer goes.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// updates is the hub as accounts poll it: it keeps the tracker informed,
// remembers what was delivered and swaps what Reorder said.
type updates struct {
	*console.Hub
	tracker *testserver.Tracker
	faults  *testserver.Faults

	mu        sync.Mutex
	delivered map[string][]console.Update         // the newest two of each account
	swapped   map[string]map[uint64]console.Event // what to deliver instead
	waiting   map[context.Context]context.CancelFunc
}

func newUpdates(hub *console.Hub, tracker *testserver.Tracker, faults *testserver.Faults) *updates {
	return &updates{
		Hub: hub, tracker: tracker, faults: faults,
		delivered: make(map[string][]console.Update),
		swapped:   make(map[string]map[uint64]console.Event),
		waiting:   make(map[context.Context]context.CancelFunc),
	}
}

// Poll implements console.Backend.
func (u *updates) Poll(ctx context.Context, r console.PollRequest) (console.Updates, error) {
	if err := u.Acknowledge(r); err != nil {
		return console.Updates{}, err
	}
	u.tracker.PollBegins(r.Account)
	waiting, cancel := context.WithCancel(ctx)
	u.mu.Lock()
	u.waiting[waiting] = cancel
	u.mu.Unlock()
	if u.faults.Has(testserver.MethodPoll) { // it came too late for interrupt
		cancel()
	}
	got, err := u.Hub.Poll(waiting, r)
	u.mu.Lock()
	defer u.mu.Unlock()
	interrupted := waiting.Err() != nil && ctx.Err() == nil
	delete(u.waiting, waiting)
	cancel()
	switch {
	case err == nil:
		return console.Updates{Updates: u.deliver(r.Account, got.Updates)}, nil
	case interrupted && !errors.As(err, new(*console.Error)):
		return console.Updates{Updates: []console.Update{}}, nil
	}
	u.tracker.PollFailed(r.Account)
	return console.Updates{}, err
}

// interrupt ends all polls that wait.
func (u *updates) interrupt() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, cancel := range u.waiting {
		cancel()
	}
}

// deliver remembers the newest updates and swaps them if told to.
func (u *updates) deliver(account string, list []console.Update) []console.Update {
	for i := range list {
		if ev, ok := u.swapped[account][list[i].Seq]; ok {
			list[i].Event = ev
		}
	}
	u.delivered[account] = newest(u.delivered[account], list)
	return list
}

// newest returns the newest two updates of two lists, each once.
func newest(a, b []console.Update) []console.Update {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(x, y console.Update) int { return cmp.Compare(x.Seq, y.Seq) })
	all = slices.CompactFunc(all, func(x, y console.Update) bool { return x.Seq == y.Seq })
	return slices.Clone(all[max(len(all)-2, 0):])
}

// latest returns the newest two updates of the account that got the newest of
// all, and how many of them were delivered.
func (u *updates) latest(accounts []string) (account string, list []console.Update, delivered int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, name := range accounts {
		two := newest(u.delivered[name], u.Pending(name))
		if len(two) == 0 || len(list) > 0 && two[len(two)-1].Seq < list[len(list)-1].Seq {
			continue
		}
		account, list = name, two
	}
	for _, one := range list {
		if slices.ContainsFunc(u.delivered[account], func(d console.Update) bool { return d.Seq == one.Seq }) {
			delivered++
		}
	}
	return account, list, delivered
}

// swap makes two updates that wait change places.
func (u *updates) swap(account string, a, b console.Update) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.swapped[account] == nil {
		u.swapped[account] = make(map[uint64]console.Event)
	}
	u.swapped[account][a.Seq], u.swapped[account][b.Seq] = b.Event, a.Event
}

// Dup implements testserver.Trouble.
func (s *Server) Dup() error {
	account, list, _ := s.polls.latest(s.accounts())
	if len(list) == 0 {
		return errors.New("there is no update to deliver again")
	}
	return s.inject(account, list[len(list)-1].Event)
}

// Reorder implements testserver.Trouble.
func (s *Server) Reorder() error {
	account, list, delivered := s.polls.latest(s.accounts())
	switch {
	case len(list) < 2:
		return errors.New("there are no two updates to swap")
	case delivered == 0:
		s.polls.swap(account, list[0], list[1])
		return nil
	}
	return s.inject(account, list[1].Event, list[0].Event)
}
