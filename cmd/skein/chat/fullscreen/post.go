package fullscreen

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/core"
)

// tasks counts the commands that run.
type tasks struct {
	mu    sync.Mutex
	group sync.WaitGroup
	over  bool
}

// begin reports whether a command may still begin; end is due then.
func (t *tasks) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.group.Add(1)
	}
	return !t.over
}

func (t *tasks) end() { t.group.Done() }

// finish lets no command begin any more and waits for those that run.
func (t *tasks) finish() {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.group.Wait()
}

// do makes a command of something that may block until its context ends.
func (m *Model) do(f func(ctx context.Context) tea.Msg) tea.Cmd {
	return func() (msg tea.Msg) {
		if !m.tasks.begin() {
			return nil
		}
		defer m.tasks.end()
		defer func() {
			if r := recover(); r != nil {
				msg = faultMsg(fault(r))
			}
		}()
		return f(m.ctx)
	}
}

// faultMsg says that something panicked, with its stack.
type faultMsg string

func fault(r any) string { return fmt.Sprintf("panic: %v\n\n%s", r, debug.Stack()) }

// broke ends the program after a panic, in order: the terminal is restored as
// at any other end.
func (m *Model) broke(what string) tea.Cmd {
	m.fault = what
	return m.fail(ErrBroken)
}

// wait blocks for a while; false is the end of ctx.
func (m *Model) wait(ctx context.Context, d time.Duration) bool {
	t := m.o.Clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// The history that is asked for.
const (
	historyAll   = 2000 // of everything, at the beginning
	historyPlace = 1000 // of a place that is gone to
)

// attach asks for everything that there was.
func (m *Model) attach(after time.Duration) tea.Cmd {
	return m.do(func(ctx context.Context) tea.Msg {
		if after > 0 && !m.wait(ctx, after) {
			return nil
		}
		var msg attachedMsg
		list, err := m.o.People.Conversations(ctx, console.Done{})
		for _, c := range list.Conversations {
			if err == nil {
				var threads console.Threads
				threads, err = m.o.People.Threads(ctx, console.ThreadsRequest{Conversation: c.ID})
				msg.threads = append(msg.threads, threads.Threads...)
			}
		}
		if err == nil {
			msg.feed, err = m.o.People.Feed(ctx, console.FeedRequest{Last: historyAll})
		}
		if ctx.Err() != nil {
			return nil
		}
		msg.conversations, msg.err = list.Conversations, err
		return msg
	})
}

// attachedTo takes over what there was, and follows what comes.
func (m *Model) attachedTo(msg attachedMsg) tea.Cmd {
	if msg.err != nil {
		return m.lost(msg.err, m.attach)
	}
	m.returned()
	s, memory := m.places, m.o.Memory
	s.left = memory.left
	if memory.left == 0 { // for the first time: nothing is news
		s.left = msg.feed.Seq
	}
	s.conversations(msg.conversations)
	msg.feed.Threads = msg.threads
	now := m.o.Clock.Now()
	s.apply(msg.feed, now)
	for at, p := range s.list {
		p.read = max(memory.read[at], s.left*boolInt(memory.read[at] == 0))
		p.history = memory.history[at]
		p.count(s.user)
	}
	here := s.here
	here.loaded = len(msg.feed.Messages) < historyAll
	m.attached = true
	m.after, m.typingAt = msg.feed.Seq, msg.feed.TypingSeq
	m.markNew(here)
	here.version++
	return tea.Batch(m.follow(0), m.load(here), m.flush(), m.poll(0))
}

func boolInt(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// markNew puts the line "new" before what was not read.
func (m *Model) markNew(p *place) {
	if p.mark != 0 {
		return
	}
	for _, x := range p.messages {
		if x.counts(m.places.user) && x.Seq > p.read {
			p.mark = x.Seq
			p.version++
			return
		}
	}
}

// follow asks for what changes.
func (m *Model) follow(after time.Duration) tea.Cmd {
	request := console.FeedRequest{After: m.after, TypingAfter: m.typingAt, Wait: after == 0}
	return m.do(func(ctx context.Context) tea.Msg {
		if after > 0 && !m.wait(ctx, after) {
			return nil
		}
		feed, err := m.o.People.Feed(ctx, request)
		if ctx.Err() != nil {
			return nil
		}
		return feedMsg{feed, err}
	})
}

// lost handles an error of the console: it tries again later, or ends.
func (m *Model) lost(err error, again func(time.Duration) tea.Cmd) tea.Cmd {
	if !m.passes(err) {
		return m.fail(err)
	}
	m.away = true
	pause := m.pause
	m.pause = min(2*m.pause, reconnectMax)
	return again(pause)
}

// returned notes that the console answers.
func (m *Model) returned() {
	if m.away {
		m.say(textBack)
	}
	m.away, m.pause = false, reconnectPause
}

// fed takes over what changed.
func (m *Model) fed(msg feedMsg) tea.Cmd {
	if msg.err != nil {
		return m.lost(msg.err, m.follow)
	}
	wasAway := m.away
	m.returned()
	here := m.places.here
	before := m.total(here)
	m.after, m.typingAt = msg.feed.Seq, msg.feed.TypingSeq
	for _, p := range m.places.apply(msg.feed, m.o.Clock.Now()) {
		switch {
		case p != here && p.answered():
			m.places.answered = p
			m.say(textAnswered(p.name()))
		case p.scroll > 0 || !m.focused || wasAway:
			m.markNew(p)
		}
	}
	if here.scroll > 0 {
		here.scroll += max(m.total(here)-before, 0)
	}
	if here.gone {
		m.goTo(m.places.at(Place{Conversation: here.at.Conversation}))
		m.say(textGone)
	}
	return tea.Batch(m.follow(0), m.flush(), m.poll(pollSoon))
}

// load asks for the history of a place, once.
func (m *Model) load(p *place) tea.Cmd {
	if p.loaded || !m.attached {
		return nil
	}
	p.loaded = true
	at := p.at
	return m.do(func(ctx context.Context) tea.Msg {
		feed, err := m.o.People.Feed(ctx, console.FeedRequest{Conversation: at.Conversation, Thread: at.Thread, Only: true, Last: historyPlace})
		if ctx.Err() != nil {
			return nil
		}
		return historyMsg{at, feed, err}
	})
}

// told takes over the history of a place.
func (m *Model) told(msg historyMsg) {
	p := m.places.list[msg.at]
	if p == nil {
		return
	}
	if msg.err != nil {
		p.loaded = false
		return
	}
	for _, x := range msg.feed.Messages {
		p.put(x)
	}
}

// post sends a message to the present place. Its key makes it one message
// however often it is tried.
func (m *Model) post(text string) tea.Cmd {
	p := m.places.here
	post := console.Post{
		By: console.User{ID: m.o.User}, Conversation: p.at.Conversation, Thread: p.at.Thread, Text: text, Key: m.o.NewKey(),
	}
	p.insert(&message{pending: true, Message: console.Message{
		ID: post.Key, By: post.By, Text: text, Key: post.Key, At: core.ToMillis(m.o.Clock.Now()),
	}})
	p.mark, p.scroll = 0, 0
	m.unsent = append(m.unsent, post)
	return m.flush()
}

// flush sends what was not sent, in order, one by one.
func (m *Model) flush() tea.Cmd {
	if m.sending || m.away || !m.attached || len(m.unsent) == 0 {
		return nil
	}
	m.sending = true
	post := m.unsent[0]
	return m.do(func(ctx context.Context) tea.Msg {
		sent, err := m.o.People.Post(ctx, post)
		if ctx.Err() != nil {
			return nil
		}
		return postedMsg{post.Key, sent, err}
	})
}

// posted takes over the console's answer.
func (m *Model) posted(msg postedMsg) tea.Cmd {
	m.sending = false
	if msg.err != nil && m.passes(msg.err) {
		return m.do(func(ctx context.Context) tea.Msg {
			if !m.wait(ctx, time.Second) {
				return nil
			}
			return flushMsg{}
		})
	}
	post := m.unsent[0]
	m.unsent = slices.Delete(m.unsent, 0, 1)
	p := m.places.at(Place{post.Conversation, post.Thread})
	if msg.err != nil {
		p.drop(msg.key)
		p.insert(m.remark(textNotSent(explain(msg.err))))
		return m.flush()
	}
	p.put(msg.message)
	return tea.Batch(m.flush(), m.poll(pollSoon))
}

// drop takes a message out that was not sent.
func (p *place) drop(key string) {
	p.messages = slices.DeleteFunc(p.messages, func(x *message) bool { return x.pending && x.Key == key })
	p.version++
}

// remark is a line of the screen itself among the messages.
func (m *Model) remark(text string) *message {
	return &message{notice: true, Message: console.Message{Text: text, At: core.ToMillis(m.o.Clock.Now())}}
}

// explain returns the text of a refusal without its status.
func explain(err error) string {
	refusal := new(console.Error)
	if errors.As(err, &refusal) {
		return refusal.Text
	}
	return err.Error()
}
