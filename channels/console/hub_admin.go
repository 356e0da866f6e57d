package console

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/skein-bot/skein/core"
)

// OpenConversation creates a conversation, or adds the accounts of v to it if
// it exists. Those who run the platform call it; accounts and people find a
// conversation, they do not make one.
func (h *Hub) OpenConversation(v Conversation) error {
	return h.commit(func(c *change) error {
		if v.ID == "" || v.Kind != core.Direct && v.Kind != core.Group {
			return invalid("a conversation needs an id and a kind")
		}
		known := c.conversations[v.ID]
		if known == nil {
			c.putConversation(v)
			return nil
		}
		next := *known
		next.Accounts = slices.Clone(known.Accounts)
		for _, account := range v.Accounts {
			if !slices.Contains(next.Accounts, account) && !slices.Contains(next.Kicked, account) {
				next.Accounts = append(next.Accounts, account)
			}
		}
		if len(next.Accounts) > len(known.Accounts) {
			c.putConversation(next)
		}
		return nil
	})
}

// Kick removes an account from a conversation: its requests there are refused
// with status 403 and it hears of it as "permission lost".
func (h *Hub) Kick(account, conversation string) error {
	return h.commit(func(c *change) error {
		conv, err := c.conversation(conversation)
		if err != nil || !slices.Contains(conv.Accounts, account) {
			return err
		}
		next := *conv
		next.Accounts = without(conv.Accounts, account)
		next.Kicked = append(without(conv.Kicked, account), account)
		c.putConversation(next)
		c.tellOne(account, conv, Event{Change: core.PlacePermissionLost})
		return nil
	})
}

// Permit takes a Kick back; the account hears of it as "permission restored".
func (h *Hub) Permit(account, conversation string) error {
	return h.commit(func(c *change) error {
		conv, err := c.conversation(conversation)
		if err != nil || slices.Contains(conv.Accounts, account) {
			return err
		}
		next := *conv
		next.Kicked = without(conv.Kicked, account)
		next.Accounts = append(without(conv.Accounts, account), account)
		c.putConversation(next)
		c.tellOne(account, conv, Event{Change: core.PlacePermissionRestored})
		return nil
	})
}

func without(list []string, v string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == v })
}

// Migrate moves a conversation with its threads and messages to a new id,
// which it returns. Requests to the old one are refused with CodeMoved.
func (h *Hub) Migrate(conversation string) (to string, err error) {
	err = h.commit(func(c *change) error {
		old, err := c.conversation(conversation)
		if err != nil {
			return err
		}
		for n := 2; to == "" || c.conversations[to] != nil; n++ {
			to = fmt.Sprintf("%s.%d", conversation, n)
		}
		c.moveTo(old, to)
		return nil
	})
	return to, err
}

func (c *change) moveTo(old *Conversation, to string) {
	next, left := *old, *old
	next.ID, left.MovedTo = to, to
	c.putConversation(next)
	c.putConversation(left)
	for _, id := range c.threadOrder {
		if t := *c.threads[id]; t.Conversation == old.ID {
			t.Conversation = to
			c.putThread(t)
		}
	}
	for _, id := range c.messageOrder {
		if m := *c.messages[id]; m.Conversation == old.ID {
			m.Conversation = to
			c.putMessage(m)
		}
	}
	c.tell(old, "", Event{Change: core.PlaceMigrated, To: to})
}

// Inject puts events into an account's queue as if they had just happened, for
// tests of an adapter: a repeated event keeps its ID.
func (h *Hub) Inject(account string, events ...Event) error {
	return h.commit(func(c *change) error {
		for _, ev := range events {
			if ev.ID == "" || ev.Kind == "" && ev.Change == "" {
				return refuse(http.StatusBadRequest, CodeInvalid, "an event needs an id and a kind or a change")
			}
			c.last++
			c.rec.Updates = append(c.rec.Updates, queued{Account: account, Seq: c.last, Event: ev})
		}
		return nil
	})
}

// Pending returns the updates that an account has not acknowledged, in order.
func (h *Hub) Pending(account string) []Update {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.st.queues[account])
}
