package console

import (
	"context"
	"net/http"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/skein-bot/skein/core"
)

// poller is one poll in progress.
type poller struct{ cancel context.CancelCauseFunc }

// Poll implements Backend.
func (h *Hub) Poll(ctx context.Context, r PollRequest) (Updates, error) {
	ctx, end, err := h.startPoll(ctx, r)
	if err != nil {
		return Updates{}, err
	}
	defer end()
	for {
		h.mu.Lock()
		closed, wake := h.closed, h.wake
		updates := slices.Clone(firstBatch(h.st.queues[r.Account]))
		h.mu.Unlock()
		switch {
		case closed:
			return Updates{}, errClosed()
		case ctx.Err() != nil:
			return Updates{}, context.Cause(ctx)
		case len(updates) > 0:
			return Updates{Updates: updates}, nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
		}
	}
}

// batchText is how many bytes of text a batch of updates may hold before its
// last update.
const batchText = 1 << 20

// firstBatch returns the start of a queue: at most MaxUpdates, and fewer where
// they are large.
func firstBatch(queue []Update) []Update {
	size := 0
	for i, u := range queue {
		if i == MaxUpdates || size > batchText {
			return queue[:i]
		}
		if u.Event.Message != nil {
			size += len(u.Event.Message.Text)
		}
		if u.Event.Quote != nil {
			size += len(u.Event.Quote.Text)
		}
	}
	return queue
}

// startPoll acknowledges, and takes the account over from an older poll.
func (h *Hub) startPoll(ctx context.Context, r PollRequest) (context.Context, func(), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, errClosed()
	}
	if older := h.pollers[r.Account]; older != nil {
		older.cancel(refuse(http.StatusConflict, CodeSuperseded, "another client polls the account %q", r.Account))
	}
	if err := h.acknowledge(r); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	mine := &poller{cancel: cancel}
	h.pollers[r.Account] = mine
	return ctx, func() { h.endPoll(r.Account, mine) }, nil
}

// acknowledge drops what a poll says is stored. A cursor beyond the last change
// is not of this hub: it acknowledges nothing, and what is redelivered is
// recognised by its ids.
func (h *Hub) acknowledge(r PollRequest) error {
	queue := h.st.queues[r.Account]
	if len(queue) == 0 || queue[0].Seq > r.After || r.After > h.st.seq {
		return nil
	}
	// Not synced: a lost acknowledgement comes again with the next poll.
	return h.accept(&record{Ack: &ack{Account: r.Account, Seq: r.After}}, false)
}

// Acknowledge does the first half of a poll: it drops the updates up to After.
func (h *Hub) Acknowledge(r PollRequest) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errClosed()
	}
	return h.acknowledge(r)
}

func (h *Hub) endPoll(account string, mine *poller) {
	h.mu.Lock()
	defer h.mu.Unlock()
	mine.cancel(nil)
	if h.pollers[account] == mine {
		delete(h.pollers, account)
	}
}

// Send implements Backend. A message into an archived thread un-archives it.
func (h *Hub) Send(_ context.Context, r SendRequest) (sent Sent, err error) {
	by := User{ID: BotID(r.Account), Name: r.Account, Bot: true}
	err = h.commit(func(c *change) error {
		if known := c.keys[sendKey{by.ID, r.Key}]; known != "" && r.Key != "" {
			sent.ID = known
			return nil
		}
		conv, thread, err := c.member(r.Account, r.Conversation, r.Thread)
		if err != nil {
			return err
		}
		if thread != nil && thread.Locked {
			return refuse(http.StatusLocked, CodeLocked, "the thread %s is locked", thread.Label())
		}
		if err := checkText(r.Text, len(r.Files) > 0); err != nil {
			return err
		}
		if err := checkText(r.Markdown, true); err != nil {
			return err
		}
		if err := c.checkReply(conv, r.ReplyTo); err != nil {
			return err
		}
		c.unarchive(conv, thread, r.Account)
		m := Message{
			ID: c.newMessageID(), Seq: c.seq, Conversation: conv.ID, Thread: r.Thread, By: by, Persona: r.Persona, Text: r.Text, Markdown: r.Markdown,
			ReplyTo: r.ReplyTo, Files: r.Files, Buttons: r.Buttons, At: c.now, Key: r.Key, Draft: r.Draft,
		}
		c.putMessage(m)
		sent.ID = m.ID
		return nil
	})
	if err != nil {
		return Sent{}, err
	}
	h.setTyping(Typing{Conversation: r.Conversation, Thread: r.Thread, Account: r.Account}, 0)
	return sent, nil
}

// checkText holds an account's text to the platform's limits.
func checkText(text string, emptyAllowed bool) error {
	switch {
	case !utf8.ValidString(text):
		return invalid("the text is not valid UTF-8")
	case text == "" && !emptyAllowed:
		return invalid("the text is empty")
	}
	units := 0
	for _, r := range text {
		units += utf16.RuneLen(r)
	}
	if units > TextLimit {
		return refuse(http.StatusRequestEntityTooLarge, CodeTooLarge, "the text has %d UTF-16 code units, more than %d", units, TextLimit)
	}
	return nil
}

func (c *change) checkReply(conv *Conversation, id string) error {
	if id == "" {
		return nil
	}
	if m := c.messages[id]; m == nil || m.Deleted || m.Conversation != conv.ID {
		return refuse(http.StatusBadRequest, CodeUnknownReply, "the message to answer, %q, is not in %q", id, conv.ID)
	}
	return nil
}

// Edit implements Backend.
func (h *Hub) Edit(_ context.Context, r EditRequest) (Done, error) {
	return Done{}, h.commit(func(c *change) error {
		m, err := c.own(r.Account, r.ID)
		if err != nil {
			return err
		}
		if m.Deleted {
			return errUnknownMessage(r.ID)
		}
		if err := checkText(r.Text, len(m.Files) > 0); err != nil {
			return err
		}
		if err := checkText(r.Markdown, true); err != nil {
			return err
		}
		if m.Text == r.Text && m.Markdown == r.Markdown && m.Draft == r.Draft {
			return nil
		}
		next := *m
		next.Text, next.Markdown, next.Draft, next.EditedAt = r.Text, r.Markdown, r.Draft, c.now
		c.putMessage(next)
		return nil
	})
}

// Delete implements Backend.
func (h *Hub) Delete(_ context.Context, r DeleteRequest) (Done, error) {
	return Done{}, h.commit(func(c *change) error {
		m, err := c.own(r.Account, r.ID)
		if err != nil || m.Deleted {
			return err
		}
		c.putMessage(deleted(*m))
		return nil
	})
}

// deleted returns what remains of a message.
func deleted(m Message) Message {
	m.Deleted, m.Draft, m.Text, m.Markdown, m.Files, m.Buttons, m.Reactions = true, false, "", "", nil, nil, nil
	return m
}

func errUnknownMessage(id string) error {
	return refuse(http.StatusNotFound, CodeUnknownMessage, "there is no message %q", id)
}

// own returns a message that the account wrote and may still change.
func (c *change) own(account, id string) (*Message, error) {
	m := c.messages[id]
	if m == nil {
		return nil, errUnknownMessage(id)
	}
	_, thread, err := c.member(account, m.Conversation, m.Thread)
	switch {
	case err != nil:
		return nil, err
	case !m.By.isBotOf(account):
		return nil, refuse(http.StatusBadRequest, CodeNotAuthor, "the message %q is not of %q", id, account)
	case thread != nil && thread.Locked:
		return nil, refuse(http.StatusLocked, CodeLocked, "the thread %s is locked", thread.Label())
	}
	return m, nil
}

// OpenThread implements Backend.
func (h *Hub) OpenThread(_ context.Context, r OpenRequest) (opened Thread, err error) {
	err = h.commit(func(c *change) error {
		conv, _, err := c.member(r.Account, r.Conversation, "")
		if err != nil {
			return err
		}
		if t := c.byIntent(conv.ID, r.Account, r.Intent); t != nil {
			opened = *t
			return nil
		}
		opened, err = c.openThread(conv, User{ID: BotID(r.Account), Name: r.Account, Bot: true}, r.Title, r.Intent)
		return err
	})
	return opened, err
}

// openThread puts a new thread.
func (c *change) openThread(conv *Conversation, by User, title, intent string) (Thread, error) {
	if err := checkTitle(title); err != nil {
		return Thread{}, err
	}
	t := Thread{ID: c.newThreadID(), Conversation: conv.ID, Title: title, Opener: by, Intent: intent, OpenedAt: c.now}
	c.putThread(t)
	t.Changed = c.seq
	return t, nil
}

func checkTitle(title string) error {
	switch {
	case title == "" || !utf8.ValidString(title):
		return invalid("a thread needs a title of valid UTF-8")
	case uniseg.GraphemeClusterCount(title) > TitleLimit:
		return refuse(http.StatusRequestEntityTooLarge, CodeTooLarge, "the title is longer than %d characters", TitleLimit)
	}
	return nil
}

// byIntent finds the living thread that an account opened for an intent.
func (c *change) byIntent(conversation, account, intent string) *Thread {
	if intent == "" {
		return nil
	}
	for _, id := range slices.Backward(c.threadOrder) {
		t := c.threads[id]
		if t.Intent == intent && t.Conversation == conversation && t.Opener.isBotOf(account) && !t.Deleted {
			return t
		}
	}
	return nil
}

// CloseThread implements Backend.
func (h *Hub) CloseThread(_ context.Context, r CloseRequest) (Done, error) {
	op := ThreadDelete
	if r.Archive {
		op = ThreadArchive
	}
	return Done{}, h.commit(func(c *change) error {
		conv, _, err := c.member(r.Account, r.Conversation, "")
		if err != nil {
			return err
		}
		t := c.threads[r.Thread]
		if t == nil || t.Conversation != conv.ID || (t.Deleted && r.Archive) {
			return refuse(http.StatusNotFound, CodeUnknownThread, "there is no thread %q in %q", r.Thread, conv.ID)
		}
		_, err = c.changeThread(conv, t, ThreadChange{Op: op}, r.Account)
		return err
	})
}

// FindThread implements Backend.
func (h *Hub) FindThread(_ context.Context, r FindRequest) (found Found, err error) {
	err = h.commit(func(c *change) error {
		conv, _, err := c.member(r.Account, r.Conversation, "")
		if err != nil {
			return err
		}
		if t := c.byIntent(conv.ID, r.Account, r.Intent); t != nil {
			found.Thread = new(*t)
		}
		return nil
	})
	return found, err
}

// Probe implements Backend.
func (h *Hub) Probe(_ context.Context, r ProbeRequest) (Probed, error) {
	probed := Probed{State: core.PlaceExists}
	err := h.commit(func(c *change) error {
		if r.Conversation == "" {
			return nil
		}
		conv := c.conversations[r.Conversation]
		thread := c.threads[r.Thread]
		switch {
		case conv == nil || conv.MovedTo != "":
			probed.State = core.PlaceIsGone
		case !slices.Contains(conv.Accounts, r.Account):
			probed.State = core.PlaceIsForbidden
		case r.Thread == "":
		case thread == nil || thread.Conversation != conv.ID:
			probed.State = core.PlaceIsGone
		default:
			probed.State = thread.state()
		}
		return nil
	})
	return probed, err
}

// Typing implements Backend.
func (h *Hub) Typing(_ context.Context, r TypingRequest) (Done, error) {
	err := h.commit(func(c *change) error {
		_, _, err := c.member(r.Account, r.Conversation, r.Thread)
		return err
	})
	if err == nil {
		until := core.ToMillis(h.clock.Now().Add(TypingFor))
		h.setTyping(Typing{Conversation: r.Conversation, Thread: r.Thread, Account: r.Account}, until)
	}
	return Done{}, err
}

// setTyping remembers that an account is typing until then; 0 ends it. It is
// not journaled.
func (h *Hub) setTyping(who Typing, until core.Millis) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.typing[who] == until || h.closed {
		return
	}
	if until == 0 {
		delete(h.typing, who)
	} else {
		h.typing[who] = until
	}
	h.typingSeq++
	h.wakeAll()
}
