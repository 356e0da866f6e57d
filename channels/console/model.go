package console

import (
	"strings"

	"github.com/skein-bot/skein/core"
)

// The terminal's place: the direct conversation Main with the person Local.
const (
	Main  = "main"
	Local = "local"
)

// agentPrefix begins the ids of chats that belong to one agent.
const agentPrefix = "agent-"

// AgentChat returns the id of the conversation between Local and one agent, for
// those to whom Main does not lead.
func AgentChat(agent string) string { return agentPrefix + agent }

// AgentOf returns the agent that a conversation belongs to by its id; another
// conversation's own id.
func AgentOf(conversation string) string { return strings.TrimPrefix(conversation, agentPrefix) }

// DefaultAccount is the account of the terminal's conversation.
const DefaultAccount = "default"

// The limits of the platform. A request over one of them is refused.
const (
	TextLimit  = 16000   // UTF-16 code units in one message of an account
	PostLimit  = 8 << 20 // bytes in one message of a person
	TitleLimit = 100     // graphemes in a thread's title
)

// botPrefix begins the user id of every account, so that no person can have it.
const botPrefix = "bot:"

// BotID returns the user id under which an account's messages appear.
func BotID(account string) string { return botPrefix + account }

// User is a person or a bot as the author of something.
type User struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"` // shown instead of the id
	Bot  bool   `json:"bot,omitempty"`
}

// isBotOf reports whether u is the given account.
func (u User) isBotOf(account string) bool { return u.ID == BotID(account) }

// ofAccount reports whether u is any account of the hub.
func (u User) ofAccount() bool { return strings.HasPrefix(u.ID, botPrefix) }

// Conversation is a direct chat of one person with one account, or a group of
// any number of both.
type Conversation struct {
	ID    string                `json:"id"`
	Kind  core.ConversationKind `json:"kind"`
	Peer  string                `json:"peer,omitempty"` // the person of a direct chat
	Title string                `json:"title,omitempty"`
	// Agent is who answers in a chat that belongs to one agent, "" for others.
	Agent string `json:"agent,omitempty"`
	// Accounts are the bots that take part; they get its updates and may write.
	Accounts []string `json:"accounts,omitempty"`
	// Kicked are the bots that were removed and may not write at present.
	Kicked []string `json:"kicked,omitempty"`
	// MovedTo is the conversation that replaced this one, "" while it lives.
	MovedTo string `json:"movedTo,omitempty"`
	Changed uint64 `json:"changed"` // sequence number of its last change
}

// Thread is a thread inside a conversation.
type Thread struct {
	ID           string `json:"id"` // t1, t2, ...; unique in the hub, never reused
	Conversation string `json:"conversation"`
	Title        string `json:"title,omitempty"`
	Opener       User   `json:"opener"`
	// Intent is the mark of the request that opened it, "" for people's.
	Intent   string      `json:"intent,omitempty"`
	OpenedAt core.Millis `json:"openedAt"`
	Archived bool        `json:"archived,omitempty"`
	Locked   bool        `json:"locked,omitempty"`
	Deleted  bool        `json:"deleted,omitempty"`
	Changed  uint64      `json:"changed"` // sequence number of its last change
}

// Label is the thread as people see it: t7 is #7.
func (t Thread) Label() string { return "#" + strings.TrimPrefix(t.ID, "t") }

// state returns what a probe of the thread answers.
func (t Thread) state() core.PlaceState {
	switch {
	case t.Deleted:
		return core.PlaceIsGone
	case t.Locked:
		return core.PlaceIsLocked
	case t.Archived:
		return core.PlaceIsArchived
	}
	return core.PlaceExists
}

// File is a file of a message. Its content is fetched apart.
type File struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"` // MIME type
	Size int64  `json:"size,omitempty"` // bytes
}

// Reaction is one person's reaction to a message.
type Reaction struct {
	By    User   `json:"by"`
	Emoji string `json:"emoji"`
}

// Message is one message, of a person or an account.
type Message struct {
	ID           string `json:"id"`  // unique in the hub, never reused
	Seq          uint64 `json:"seq"` // orders messages by posting
	Conversation string `json:"conversation"`
	Thread       string `json:"thread,omitempty"`
	By           User   `json:"by"`
	// Persona is the display name an account wrote under, "" for its own.
	Persona string `json:"persona,omitempty"`
	Text    string `json:"text"`
	// Markdown is what Text was made from, for screens that draw it; "" where
	// Text is all there is.
	Markdown string `json:"markdown,omitempty"`
	// Mentions are the accounts that the author addressed.
	Mentions  []string    `json:"mentions,omitempty"`
	ReplyTo   string      `json:"replyTo,omitempty"` // id of the message it answers
	Files     []File      `json:"files,omitempty"`
	Buttons   []string    `json:"buttons,omitempty"` // labels
	Reactions []Reaction  `json:"reactions,omitempty"`
	At        core.Millis `json:"at"`
	EditedAt  core.Millis `json:"editedAt,omitempty"`
	Deleted   bool        `json:"deleted,omitempty"` // the text is then empty
	Draft     bool        `json:"draft,omitempty"`   // an account is still writing it
	// Key is the idempotency key it was sent with, "" for none.
	Key     string `json:"key,omitempty"`
	Changed uint64 `json:"changed"` // sequence number of its last change
}

// Update is one event in an account's queue. Seq grows along the queue; it is
// the cursor that acknowledges the update and all before it.
type Update struct {
	Seq   uint64 `json:"seq"`
	Event Event  `json:"event"`
}

// Event is what happened: something about a message (Kind is set) or about a
// place (Change is set).
type Event struct {
	// ID names the event for ever; a redelivery has the same.
	ID     string          `json:"id"`
	Kind   core.EventKind  `json:"kind,omitempty"`
	Change core.PlaceEvent `json:"change,omitempty"`

	Conversation     string                `json:"conversation"`
	ConversationKind core.ConversationKind `json:"conversationKind"`
	Thread           string                `json:"thread,omitempty"`
	// Title is the conversation's title, or with a renamed thread its new one.
	Title string      `json:"title,omitempty"`
	To    string      `json:"to,omitempty"` // with "migrated": the new conversation
	At    core.Millis `json:"at"`

	// By is who wrote, edited, deleted, reacted or pressed.
	By User `json:"by,omitzero"`
	// Message is the message concerned, as it was after the event.
	Message *Message `json:"message,omitempty"`
	// Quote is the message that Message answers, if it is still known.
	Quote *Message `json:"quote,omitempty"`
	// Text is the emoji of a reaction or the label of a button.
	Text string `json:"text,omitempty"`
}

// Typing says that an account is writing at a place.
type Typing struct {
	Conversation string      `json:"conversation"`
	Thread       string      `json:"thread,omitempty"`
	Account      string      `json:"account"`
	Until        core.Millis `json:"until"`
}
