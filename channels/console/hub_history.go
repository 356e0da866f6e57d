package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/skein-bot/skein/core"
)

// History implements Backend.
func (h *Hub) History(_ context.Context, r HistoryRequest) (History, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return History{}, errClosed()
	}
	conv, before := h.st.conversations[r.Conversation], h.st.messages[r.Before]
	switch {
	case conv == nil:
		return History{}, refuse(http.StatusNotFound, CodeUnknownConversation, "there is no conversation %q", r.Conversation)
	case !slices.Contains(conv.Accounts, r.Account):
		return History{}, refuse(http.StatusForbidden, CodeNotMember, "the account %q does not take part in %q", r.Account, r.Conversation)
	case before == nil || before.Conversation != conv.ID:
		return History{}, errUnknownMessage(r.Before)
	}
	var said []*Message
	for _, m := range h.st.messages {
		if m.Conversation == conv.ID && m.Thread == r.Thread && m.Seq < before.Seq && !m.Deleted {
			said = append(said, m)
		}
	}
	slices.SortFunc(said, func(a, b *Message) int { return cmp.Compare(a.Seq, b.Seq) })
	out := History{Events: []Event{}}
	for _, m := range said[max(len(said)-max(r.Limit, 0), 0):] {
		message := *m
		ev := Event{
			Kind: core.EventMessage, Conversation: conv.ID, ConversationKind: conv.Kind, Thread: m.Thread, Title: conv.Title, At: m.At,
			By: m.By, Message: &message,
		}
		if quote := h.st.messages[m.ReplyTo]; quote != nil && !quote.Deleted {
			quoted := *quote
			ev.Quote = &quoted
		}
		out.Events = append(out.Events, ev)
	}
	return out, nil
}
