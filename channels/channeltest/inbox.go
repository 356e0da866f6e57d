package channeltest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

// guard is how long, in wall time, a test waits for something that must
// happen.
const guard = 10 * time.Second

// Delivery is one update as an adapter handed it over: a message, or what
// happened to a place.
type Delivery struct {
	Message *core.Message
	Change  *core.PlaceChange
	// Again is set if an equal one was taken before: intake would drop it.
	Again bool
	// Failed is set if the inbox refused it.
	Failed bool
}

// Inbox is a core.Intake that remembers what it gets. It outlives adapters as
// a store does. The zero value takes everything.
type Inbox struct {
	mu         sync.Mutex
	deliveries []Delivery
	known      map[any]bool
	cursors    map[string]string
	refuse     func(Delivery) error
	changed    chan struct{}
}

var _ core.Intake = (*Inbox)(nil)

// dedupeKey is what tells messages apart, as in the runtime.
type dedupeKey struct {
	channel, account, conversation, id, revision string
	event                                        core.EventKind
}

// Receive implements core.Intake.
func (b *Inbox) Receive(_ context.Context, m core.Message) error {
	key := dedupeKey{m.Address.Channel, m.Address.Account, m.Address.Conversation, m.ID, m.Revision, m.Event}
	return b.take(Delivery{Message: &m}, key, m.Cursor)
}

// PlaceChanged implements core.Intake.
func (b *Inbox) PlaceChanged(_ context.Context, c core.PlaceChange) error {
	return b.take(Delivery{Change: &c}, c.Address.Channel+" "+c.Address.Account+" "+c.ID, c.Cursor)
}

func (b *Inbox) take(d Delivery, key any, cursor core.Cursor) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known, b.cursors = make(map[any]bool), make(map[string]string)
	}
	var err error
	if b.refuse != nil {
		err = b.refuse(d)
	}
	d.Failed, d.Again = err != nil, b.known[key]
	b.deliveries = append(b.deliveries, d)
	if err == nil {
		b.known[key] = true
		if cursor != (core.Cursor{}) {
			b.cursors[cursor.Name] = cursor.Value
		}
	}
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	return err
}

// LoadCursor implements core.Intake.
func (b *Inbox) LoadCursor(_ context.Context, name string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cursors[name], nil
}

// Refuse makes the inbox fail for deliveries for which f returns an error; nil
// ends that. f is called under the inbox's lock.
func (b *Inbox) Refuse(f func(Delivery) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse = f
}

// Deliveries returns everything that was handed over, refused or not.
func (b *Inbox) Deliveries() []Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.deliveries)
}

// Messages returns the messages that were taken for the first time, own ones
// left out, in order.
func (b *Inbox) Messages() []core.Message {
	var list []core.Message
	for _, d := range b.Deliveries() {
		if d.Message != nil && !d.Failed && !d.Again && !d.Message.Author.Self {
			list = append(list, *d.Message)
		}
	}
	return list
}

// Changes returns the changes of places that were taken for the first time.
func (b *Inbox) Changes() []core.PlaceChange {
	var list []core.PlaceChange
	for _, d := range b.Deliveries() {
		if d.Change != nil && !d.Failed && !d.Again {
			list = append(list, *d.Change)
		}
	}
	return list
}

// Wait blocks until done says so, looking after every delivery, and fails the
// test after ten seconds.
func (b *Inbox) Wait(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	late := time.NewTimer(guard)
	defer late.Stop()
	for {
		b.mu.Lock()
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		changed := b.changed
		b.mu.Unlock()
		if done() {
			return
		}
		select {
		case <-changed:
		case <-late.C:
			require.FailNow(tb, "nothing comes", "waiting for %s; so far: %+v", what, b.Messages())
		}
	}
}

// WaitMessages waits for at least n messages and returns all.
func (b *Inbox) WaitMessages(tb testing.TB, n int) []core.Message {
	tb.Helper()
	b.Wait(tb, "messages", func() bool { return len(b.Messages()) >= n })
	return b.Messages()
}
