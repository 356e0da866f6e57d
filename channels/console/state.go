package console

import (
	"cmp"
	"slices"
)

// record is one accepted change: the new versions of whatever it touched. A
// hub is the sum of its records; the journal is a list of them.
type record struct {
	Seq           uint64         `json:"seq"`
	ThreadNo      int            `json:"threadNo,omitempty"` // if it changed
	Conversations []Conversation `json:"conversations,omitempty"`
	Threads       []Thread       `json:"threads,omitempty"`
	Messages      []Message      `json:"messages,omitempty"`
	Updates       []queued       `json:"updates,omitempty"`
	Ack           *ack           `json:"ack,omitempty"`
}

// queued is an update on its way into an account's queue.
type queued struct {
	Account string `json:"account"`
	Event   Event  `json:"event"`
	Seq     uint64 `json:"seq"`
}

// ack drops the updates of an account up to Seq.
type ack struct {
	Account string `json:"account"`
	Seq     uint64 `json:"seq"`
}

// state is what a hub knows. Only apply changes it, and it replaces entities
// instead of changing them, so that a pointer handed out stays valid.
type state struct {
	seq           uint64 // of the last change
	threadNo      int    // of the last thread
	conversations map[string]*Conversation
	threads       map[string]*Thread
	messages      map[string]*Message
	threadOrder   []string // ids by opening
	messageOrder  []string // ids by posting
	changes       []touched
	keys          map[sendKey]string // message ids
	queues        map[string][]Update
}

// touched names an entity that a change touched; the list is ordered by seq,
// and an entry counts only while the entity's Changed is its seq.
type touched struct {
	seq             uint64
	message, thread string
}

// sendKey is an idempotency key: a key belongs to who used it.
type sendKey struct{ by, key string }

func newState() *state {
	return &state{
		conversations: make(map[string]*Conversation),
		threads:       make(map[string]*Thread),
		messages:      make(map[string]*Message),
		keys:          make(map[sendKey]string),
		queues:        make(map[string][]Update),
	}
}

// apply takes over an accepted change. It cannot fail.
func (s *state) apply(r *record) {
	s.seq = max(s.seq, r.Seq)
	s.threadNo = max(s.threadNo, r.ThreadNo)
	for _, c := range r.Conversations {
		s.conversations[c.ID] = &c
	}
	for _, t := range r.Threads {
		if s.threads[t.ID] == nil {
			s.threadOrder = append(s.threadOrder, t.ID)
		}
		s.threads[t.ID] = &t
		s.changes = append(s.changes, touched{seq: t.Changed, thread: t.ID})
	}
	for _, m := range r.Messages {
		if s.messages[m.ID] == nil {
			s.messageOrder = append(s.messageOrder, m.ID)
		}
		s.messages[m.ID] = &m
		s.changes = append(s.changes, touched{seq: m.Changed, message: m.ID})
		if m.Key != "" {
			s.keys[sendKey{m.By.ID, m.Key}] = m.ID
		}
	}
	for _, q := range r.Updates {
		s.queues[q.Account] = append(s.queues[q.Account], Update{Seq: q.Seq, Event: q.Event})
	}
	if r.Ack != nil {
		s.queues[r.Ack.Account] = slices.DeleteFunc(s.queues[r.Ack.Account], func(u Update) bool { return u.Seq <= r.Ack.Seq })
	}
}

// snapshot yields records that rebuild s, with the newest keep messages of
// each place and everything else that lives.
func (s *state) snapshot(keep int, yield func(*record) error) error {
	records := []*record{{Seq: s.seq, ThreadNo: s.threadNo}}
	for _, c := range s.conversations {
		records = append(records, &record{Conversations: []Conversation{*c}})
	}
	slices.SortFunc(records[1:], func(a, b *record) int { return cmp.Compare(a.Conversations[0].ID, b.Conversations[0].ID) })
	for _, id := range s.threadOrder {
		records = append(records, &record{Threads: []Thread{*s.threads[id]}})
	}
	for _, id := range s.newest(keep) {
		records = append(records, &record{Messages: []Message{*s.messages[id]}})
	}
	for account, queue := range s.queues {
		for _, u := range queue {
			records = append(records, &record{Updates: []queued{{Account: account, Seq: u.Seq, Event: u.Event}}})
		}
	}
	for _, r := range records {
		if err := yield(r); err != nil {
			return err
		}
	}
	return nil
}

// newest returns the ids of the newest keep messages of each place, oldest
// first.
func (s *state) newest(keep int) []string {
	type place struct{ conversation, thread string }
	count := make(map[place]int)
	var ids []string
	for _, id := range slices.Backward(s.messageOrder) {
		m := s.messages[id]
		if at := (place{m.Conversation, m.Thread}); count[at] < keep {
			count[at]++
			ids = append(ids, id)
		}
	}
	slices.Reverse(ids)
	return ids
}

// sortChanges restores the order of the change list after a load: a snapshot
// lists entities by kind, not by change.
func (s *state) sortChanges() {
	slices.SortStableFunc(s.changes, func(a, b touched) int { return cmp.Compare(a.seq, b.seq) })
}

// since returns what changed after seq, each entity once, in order.
func (s *state) since(seq uint64) []touched {
	i, _ := slices.BinarySearchFunc(s.changes, seq+1, func(c touched, seq uint64) int { return cmp.Compare(c.seq, seq) })
	return s.changes[i:]
}

// current returns the entities of a change, nil where it is not their last.
func (s *state) current(c touched) (m *Message, t *Thread) {
	if m = s.messages[c.message]; m != nil && m.Changed != c.seq {
		m = nil
	}
	if t = s.threads[c.thread]; t != nil && t.Changed != c.seq {
		t = nil
	}
	return m, t
}
