package console

import (
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/skein-bot/skein/core"
)

// TypingFor is how long people see that an account is typing.
const TypingFor = 6 * time.Second

// Options configure a hub.
type Options struct {
	// Path is the journal file; it and its folder are created. Empty keeps
	// everything in memory.
	Path string
	// Clock gives messages their times. Required.
	Clock core.Clock
	// CompactOver is the size in bytes from which Open rewrites the journal.
	// 0 means 8 MiB.
	CompactOver int64
	// Bare leaves out the conversation Main: every conversation is then what
	// its first user makes of it.
	Bare bool
	// Agents returns the agents that people may have a chat of their own with.
	// It is asked when one is opened and for each message in it, so an agent
	// that is gone is not answered for by another. Nil has none.
	Agents func() []string
	// Keep is how many messages of each place survive a compaction. 0 means
	// 1000. With a message goes the memory of its idempotency key.
	Keep int

	// sync puts a file on disk; nil means (*os.File).Sync.
	sync func(*os.File) error
}

// Hub is the platform. Open creates it; Close ends it. All methods may be
// called from many goroutines; those that change something block for one sync
// of the journal.
type Hub struct {
	clock  core.Clock
	agents func() []string

	mu        sync.Mutex
	st        *state
	journal   *journal // nil in memory
	closed    bool
	wake      chan struct{} // closed and replaced at every change
	pollers   map[string]*poller
	typing    map[Typing]core.Millis // key without Until
	typingSeq uint64
	contents  contents
}

var (
	_ Backend = (*Hub)(nil)
	_ People  = (*Hub)(nil)
)

// Open returns the hub of a journal, or one in memory. Unless it is bare, a new
// hub holds the direct conversation Main of the person Local with the account
// "default".
// Errors are *core.Error with code console_journal.
func Open(o Options) (*Hub, error) {
	if o.CompactOver == 0 {
		o.CompactOver = 8 << 20
	}
	if o.Keep == 0 {
		o.Keep = 1000
	}
	h := &Hub{
		clock:   o.Clock,
		agents:  o.Agents,
		st:      newState(),
		wake:    make(chan struct{}),
		pollers: make(map[string]*poller),
		typing:  make(map[Typing]core.Millis),
	}
	if o.Path != "" {
		if err := h.openFile(o); err != nil {
			return nil, err
		}
	}
	if o.Bare {
		return h, nil
	}
	if h.st.seq == 0 {
		// Ids and cursors of a hub that is gone, with its file or its memory,
		// must not be those of its successor: bots remember them.
		h.st.seq = uint64(max(h.clock.Now().UnixMilli(), 0))
	}
	main := Conversation{ID: Main, Kind: core.Direct, Peer: Local, Accounts: []string{DefaultAccount}}
	if err := h.OpenConversation(main); err != nil {
		_ = h.Close()
		return nil, err
	}
	return h, nil
}

// openFile reads the journal, and rewrites it when it has grown.
func (h *Hub) openFile(o Options) error {
	if o.sync == nil {
		o.sync = (*os.File).Sync
	}
	j, err := openJournal(o.Path, o.sync, h.st.apply)
	if err != nil {
		return err
	}
	h.st.sortChanges()
	if j.size > o.CompactOver {
		trimmed := newState()
		err := j.compact(func(yield func(*record) error) error {
			return h.st.snapshot(o.Keep, func(r *record) error {
				trimmed.apply(r)
				return yield(r)
			})
		})
		if err != nil {
			_ = j.close()
			return err
		}
		trimmed.sortChanges()
		h.st = trimmed
	}
	h.journal = j
	return nil
}

// Close ends the hub: waiting polls and feeds return, later calls are refused
// with status 503. A second Close does nothing.
func (h *Hub) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	h.closed = true
	close(h.wake)
	if h.journal == nil {
		return nil
	}
	return h.journal.close()
}

func errClosed() error { return refuse(http.StatusServiceUnavailable, CodeClosed, "the hub is closed") }

// change is a change being built, under the hub's lock.
type change struct {
	*state
	seq  uint64 // of the entities it puts
	last uint64 // last number used; every queued update takes one
	now  core.Millis
	rec  record
}

// commit runs build and makes what it put durable, then visible. If build
// fails or puts nothing, nothing happens.
func (h *Hub) commit(build func(c *change) error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errClosed()
	}
	c := &change{state: h.st, seq: h.st.seq + 1, last: h.st.seq + 1, now: core.ToMillis(h.clock.Now())}
	if err := build(c); err != nil {
		return err
	}
	r := &c.rec
	if len(r.Conversations)+len(r.Threads)+len(r.Messages)+len(r.Updates) == 0 {
		return nil
	}
	r.Seq = c.last
	return h.accept(r, true)
}

// accept journals a record, takes it over and wakes who waits.
func (h *Hub) accept(r *record, durable bool) error {
	if h.journal != nil {
		if err := h.journal.append(r, durable); err != nil {
			return refuse(http.StatusInsufficientStorage, "not_stored", "%v", err)
		}
	}
	h.st.apply(r)
	h.wakeAll()
	return nil
}

func (h *Hub) wakeAll() {
	close(h.wake)
	h.wake = make(chan struct{})
}

func (c *change) putConversation(v Conversation) {
	v.Changed = c.seq
	c.rec.Conversations = append(c.rec.Conversations, v)
}

func (c *change) putThread(v Thread) {
	v.Changed = c.seq
	c.rec.Threads = append(c.rec.Threads, v)
}

func (c *change) putMessage(v Message) {
	v.Changed = c.seq
	c.rec.Messages = append(c.rec.Messages, v)
}

// newMessageID returns an id that no message had before.
func (c *change) newMessageID() string { return "m" + strconv.FormatUint(c.seq, 10) }

// newThreadID returns the next thread id.
func (c *change) newThreadID() string {
	c.rec.ThreadNo = c.threadNo + 1
	return "t" + strconv.Itoa(c.rec.ThreadNo)
}

// tell queues an event for the accounts of a conversation, except the one that
// caused it: an account never hears of what it did itself.
func (c *change) tell(conv *Conversation, except string, ev Event) {
	for _, account := range conv.Accounts {
		if account != except {
			c.tellOne(account, conv, ev)
		}
	}
}

func (c *change) tellOne(account string, conv *Conversation, ev Event) {
	c.last++
	ev.ID = "e" + strconv.FormatUint(c.last, 10)
	ev.Conversation, ev.ConversationKind, ev.At = conv.ID, conv.Kind, c.now
	if ev.Title == "" {
		ev.Title = conv.Title
	}
	c.rec.Updates = append(c.rec.Updates, queued{Account: account, Seq: c.last, Event: ev})
}

// conversation returns a living conversation.
func (c *change) conversation(id string) (*Conversation, error) {
	conv := c.conversations[id]
	switch {
	case conv == nil:
		return nil, refuse(http.StatusNotFound, CodeUnknownConversation, "there is no conversation %q", id)
	case conv.MovedTo != "":
		e := refuse(http.StatusBadRequest, CodeMoved, "the conversation %q is now %q", id, conv.MovedTo)
		e.MovedTo = conv.MovedTo
		return nil, e
	}
	return conv, nil
}

// place returns a conversation and, unless thread is empty, its thread, which
// must not be deleted.
func (c *change) place(conversation, thread string) (*Conversation, *Thread, error) {
	conv, err := c.conversation(conversation)
	if err != nil || thread == "" {
		return conv, nil, err
	}
	t := c.threads[thread]
	if t == nil || t.Conversation != conv.ID || t.Deleted {
		return nil, nil, refuse(http.StatusNotFound, CodeUnknownThread, "there is no thread %q in %q", thread, conversation)
	}
	return conv, t, nil
}

// member is place for an account, which must take part in the conversation.
func (c *change) member(account, conversation, thread string) (*Conversation, *Thread, error) {
	conv, err := c.conversation(conversation)
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains(conv.Accounts, account) {
		return nil, nil, refuse(http.StatusForbidden, CodeNotMember, "the account %q does not take part in %q", account, conversation)
	}
	return c.place(conversation, thread)
}

// unarchive opens an archived thread before a message is put into it. by is
// the account that writes, "" for a person.
func (c *change) unarchive(conv *Conversation, t *Thread, by string) {
	if t == nil || !t.Archived {
		return
	}
	next := *t
	next.Archived = false
	c.putThread(next)
	c.tell(conv, by, Event{Change: core.PlaceUnarchived, Thread: t.ID})
}
