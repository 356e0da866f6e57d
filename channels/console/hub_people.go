package console

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
)

// Post implements People. A message into an archived thread un-archives it.
// Invalid UTF-8 becomes U+FFFD.
func (h *Hub) Post(_ context.Context, r Post) (posted Message, err error) {
	err = h.commit(func(c *change) error {
		if known := c.keys[sendKey{r.By.ID, r.Key}]; known != "" && r.Key != "" {
			posted = *c.messages[known]
			return nil
		}
		if err := checkPerson(r.By); err != nil {
			return err
		}
		conv, thread, err := c.place(r.Conversation, r.Thread)
		if err != nil {
			return err
		}
		if err := h.checkAgent(conv.Agent); conv.Agent != "" && err != nil {
			return err
		}
		if len(r.Text) > PostLimit {
			return refuse(http.StatusRequestEntityTooLarge, CodeTooLarge, "the message has %d bytes, more than %d", len(r.Text), PostLimit)
		}
		if r.Text == "" && len(r.Files) == 0 {
			return invalid("the message is empty")
		}
		if err := checkContents(r); err != nil {
			return err
		}
		if err := c.checkReply(conv, r.ReplyTo); err != nil {
			return err
		}
		c.unarchive(conv, thread, "")
		posted = Message{
			ID: c.newMessageID(), Seq: c.seq, Conversation: conv.ID, Thread: r.Thread, By: r.By, Text: strings.ToValidUTF8(r.Text, "\uFFFD"),
			Mentions: r.Mentions, ReplyTo: r.ReplyTo, Files: r.Files, At: c.now, Key: r.Key,
		}
		c.putMessage(posted)
		posted.Changed = c.seq
		h.contents.keep(posted.ID, r.Contents) // before anybody hears of it
		c.tellMessage(core.EventMessage, conv, posted, r.By, "")
		return nil
	})
	return posted, err
}

func checkPerson(u User) error {
	if u.ID == "" || u.ofAccount() {
		return invalid("%q cannot be the id of a person", u.ID)
	}
	return nil
}

// tellMessage queues an event about a message.
func (c *change) tellMessage(kind core.EventKind, conv *Conversation, m Message, by User, text string) {
	ev := Event{Kind: kind, Thread: m.Thread, By: by, Message: &m, Text: text}
	if quote := c.messages[m.ReplyTo]; quote != nil && !quote.Deleted {
		ev.Quote = quote
	}
	c.tell(conv, "", ev)
}

// Change implements People.
func (h *Hub) Change(_ context.Context, r MessageChange) (changed Message, err error) {
	err = h.commit(func(c *change) error {
		if err := checkPerson(r.By); err != nil {
			return err
		}
		m := c.messages[r.ID]
		if m == nil || m.Deleted {
			return errUnknownMessage(r.ID)
		}
		conv, _, err := c.place(m.Conversation, m.Thread)
		if err != nil {
			return err
		}
		kind, next, err := m.changed(r, c.now)
		if err != nil {
			return err
		}
		if kind != core.EventPress {
			c.putMessage(next)
			next.Changed = c.seq
		}
		changed = next
		c.tellMessage(kind, conv, next, r.By, r.Text)
		return nil
	})
	return changed, err
}

// changed returns the message after what a person did to it, and the event
// that accounts hear of.
func (m *Message) changed(r MessageChange, now core.Millis) (core.EventKind, Message, error) {
	next := *m
	if own := m.By.ID == r.By.ID; !own && (r.Op == OpEdit || r.Op == OpDelete) {
		return "", next, refuse(http.StatusForbidden, CodeNotAuthor, "the message %q is not of %q", m.ID, r.By.ID)
	}
	switch r.Op {
	case OpEdit:
		if r.Text == "" && len(m.Files) == 0 {
			return "", next, invalid("the message is empty")
		}
		next.Text, next.EditedAt = strings.ToValidUTF8(r.Text, "\uFFFD"), now
		return core.EventEdit, next, nil
	case OpDelete:
		return core.EventDelete, deleted(next), nil
	case OpReact:
		if r.Text == "" {
			return "", next, invalid("the reaction is empty")
		}
		next.Reactions = append(slices.Clone(m.Reactions), Reaction{By: r.By, Emoji: r.Text})
		return core.EventReaction, next, nil
	case OpPress:
		if !slices.Contains(m.Buttons, r.Text) {
			return "", next, invalid("the message %q has no button %q", m.ID, r.Text)
		}
		return core.EventPress, next, nil
	}
	return "", next, invalid("unknown operation %q", r.Op)
}

// OpenChat implements People.
func (h *Hub) OpenChat(_ context.Context, r ChatRequest) (opened Conversation, err error) {
	err = h.commit(func(c *change) error {
		if err := checkPerson(r.By); err != nil {
			return err
		}
		if err := h.checkAgent(r.Agent); err != nil {
			return err
		}
		opened = Conversation{
			ID: AgentChat(r.Agent), Kind: core.Direct, Peer: r.By.ID, Title: r.Agent, Agent: r.Agent, Accounts: []string{DefaultAccount},
		}
		known := c.conversations[opened.ID]
		if known == nil {
			c.putConversation(opened)
			opened.Changed = c.seq
			return nil
		}
		if known.Agent != r.Agent || known.Peer != r.By.ID {
			return refuse(http.StatusForbidden, CodeInvalid, "the conversation %q is not a chat of %q with the agent %q", known.ID, r.By.ID, r.Agent)
		}
		opened = *known
		return nil
	})
	return opened, err
}

// checkAgent refuses an agent that nobody could answer for.
func (h *Hub) checkAgent(agent string) error {
	var known []string
	if h.agents != nil {
		known = h.agents()
	}
	if slices.Contains(known, agent) {
		return nil
	}
	return refuse(http.StatusNotFound, CodeUnknownAgent, "there is no agent %q (agents: %s)", agent, strings.Join(known, ", "))
}

// OpenTopic implements People.
func (h *Hub) OpenTopic(_ context.Context, r TopicRequest) (opened Thread, err error) {
	err = h.commit(func(c *change) error {
		if err := checkPerson(r.By); err != nil {
			return err
		}
		conv, err := c.conversation(r.Conversation)
		if err != nil {
			return err
		}
		opened, err = c.openThread(conv, r.By, r.Title, "")
		return err
	})
	return opened, err
}

// ChangeThread implements People.
func (h *Hub) ChangeThread(_ context.Context, r ThreadChange) (changed Thread, err error) {
	err = h.commit(func(c *change) error {
		t := c.threads[r.Thread]
		if t == nil || t.Deleted {
			return refuse(http.StatusNotFound, CodeUnknownThread, "there is no thread %q", r.Thread)
		}
		changed, err = c.changeThread(c.conversations[t.Conversation], t, r, "")
		return err
	})
	return changed, err
}

// changeThread puts the thread after op and tells the accounts but by. What
// changes nothing puts nothing.
func (c *change) changeThread(conv *Conversation, t *Thread, r ThreadChange, by string) (Thread, error) {
	next := *t
	ev := Event{Thread: t.ID}
	switch r.Op {
	case ThreadArchive:
		next.Archived, ev.Change = true, core.PlaceArchived
	case ThreadUnarchive:
		next.Archived, ev.Change = false, core.PlaceUnarchived
	case ThreadLock:
		next.Locked, ev.Change = true, core.PlaceLocked
	case ThreadUnlock:
		next.Locked, ev.Change = false, core.PlaceUnlocked
	case ThreadDelete:
		next.Deleted, ev.Change = true, core.PlaceDeleted
	case ThreadRename:
		if err := checkTitle(r.Title); err != nil {
			return next, err
		}
		next.Title, ev.Change, ev.Title = r.Title, core.PlaceRenamed, r.Title
	default:
		return next, invalid("unknown operation %q", r.Op)
	}
	if next == *t {
		return next, nil
	}
	c.putThread(next)
	next.Changed = c.seq
	c.tell(conv, by, ev)
	return next, nil
}

// Conversations implements People.
func (h *Hub) Conversations(context.Context, Done) (Conversations, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return Conversations{}, errClosed()
	}
	list := Conversations{Conversations: []Conversation{}}
	for _, id := range slices.Sorted(maps.Keys(h.st.conversations)) {
		if conv := h.st.conversations[id]; conv.MovedTo == "" {
			list.Conversations = append(list.Conversations, *conv)
		}
	}
	return list, nil
}

// Threads implements People.
func (h *Hub) Threads(_ context.Context, r ThreadsRequest) (Threads, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return Threads{}, errClosed()
	}
	list := Threads{Threads: []Thread{}}
	for _, id := range h.st.threadOrder {
		if t := h.st.threads[id]; t.Conversation == r.Conversation && !t.Deleted {
			list.Threads = append(list.Threads, *t)
		}
	}
	return list, nil
}

// Feed implements People.
func (h *Hub) Feed(ctx context.Context, r FeedRequest) (Feed, error) {
	for {
		h.mu.Lock()
		closed, wake := h.closed, h.wake
		feed := h.feed(r)
		h.mu.Unlock()
		switch {
		case closed:
			return Feed{}, errClosed()
		case !r.Wait || feed.news(r):
			return feed, nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return Feed{}, context.Cause(ctx)
		}
	}
}

// news reports whether a feed says more than the one before it.
func (f *Feed) news(r FeedRequest) bool {
	return len(f.Messages)+len(f.Threads) > 0 || f.TypingSeq != r.TypingAfter
}

// feed collects what changed. A client whose After is beyond the last change
// saw another hub: it gets everything.
func (h *Hub) feed(r FeedRequest) Feed {
	feed := Feed{Seq: h.st.seq, TypingSeq: h.typingSeq, Typing: h.typingNow(r)}
	after := r.After
	if after > h.st.seq {
		after = 0
	}
	for _, c := range h.st.since(after) {
		m, t := h.st.current(c)
		if m != nil && r.covers(m.Conversation, m.Thread) {
			feed.Messages = append(feed.Messages, *m)
		}
		if t != nil && r.covers(t.Conversation, t.ID) {
			feed.Threads = append(feed.Threads, *t)
		}
	}
	if extra := len(feed.Messages) - r.Last; r.Last > 0 && extra > 0 {
		feed.Messages = feed.Messages[extra:]
	}
	return feed
}

// covers reports whether a place belongs to the feed.
func (r *FeedRequest) covers(conversation, thread string) bool {
	return r.Conversation == "" || r.Conversation == conversation && (!r.Only || r.Thread == thread)
}

func (h *Hub) typingNow(r FeedRequest) []Typing {
	now := core.ToMillis(h.clock.Now())
	var list []Typing
	for who, until := range h.typing {
		if until > now && r.covers(who.Conversation, who.Thread) {
			who.Until = until
			list = append(list, who)
		}
	}
	slices.SortFunc(list, func(a, b Typing) int {
		return cmp.Or(cmp.Compare(a.Conversation, b.Conversation), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Account, b.Account))
	})
	return list
}
