package core

// ConversationKind says what kind of place a conversation is.
type ConversationKind string

// The kinds of conversation.
const (
	Direct ConversationKind = "direct" // one person and the bot
	Group  ConversationKind = "group"  // a group, channel or room
)

// EventKind says what an inbound update is; it is part of the dedupe key.
type EventKind string

// The kinds of inbound event.
const (
	EventMessage EventKind = "message"
	// EventEdit: the author of a message changed it. The adapter reports it with
	// the message's own ID, Address and Author, with Text and Attachments as
	// they are now, and with a Revision of its own for each edit. One whose text
	// is as before (a link preview came) is harmless.
	EventEdit EventKind = "edit"
	// EventDelete: a message is gone. ID and Address name it; Author is its
	// author, or whoever deleted it, or zero where the platform does not say.
	// A platform that deletes many at once is one event for each.
	EventDelete   EventKind = "delete"
	EventReaction EventKind = "reaction"
	EventPress    EventKind = "press" // a button
)

// Author is who wrote a message. ID is the platform's stable id; names are
// for display and never decide anything.
type Author struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	Bot  bool   `json:"bot,omitempty"`
	// Self is set for the bot's own messages and its own webhooks; they are
	// dropped before anything else.
	Self bool `json:"self,omitempty"`
}

// Quote is the message that a message replies to.
type Quote struct {
	ID     string `json:"id"`
	Author Author `json:"author"`
	Text   string `json:"text"`
}

// Attachment describes a file that came with a message; it is fetched after
// intake, never inside it.
type Attachment struct {
	ID   string `json:"id"` // opaque to all but the adapter
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"` // MIME type as the platform states it
	Size int64  `json:"size,omitempty"` // bytes, 0 if unknown
}

// Message is one inbound update, normalised by an adapter.
type Message struct {
	// ID is the platform's id of the message, unique within the conversation.
	ID      string           `json:"id"`
	Event   EventKind        `json:"event"`
	Address Address          `json:"address"`
	Kind    ConversationKind `json:"kind"`
	Author  Author           `json:"author"`
	Text    string           `json:"text"`
	// Revision tells events of one kind about one message apart (a second
	// edit, another reaction); it is part of the dedupe key. It stays the same
	// over redeliveries and is empty for a message itself.
	Revision string `json:"revision,omitempty"`
	// Mentioned is set when the bot is addressed natively: a mention or a
	// reply to one of its messages.
	Mentioned   bool         `json:"mentioned,omitempty"`
	Quote       *Quote       `json:"quote,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	// Title is the conversation's title, for the prompt and for lists.
	Title string `json:"title,omitempty"`
	// Guild, Roles and Team are routing attributes of platforms that have them.
	Guild string   `json:"guild,omitempty"`
	Roles []string `json:"roles,omitempty"`
	Team  string   `json:"team,omitempty"`
	// At is the platform's time of the message, 0 if it gives none. Deadlines
	// are judged by arrival on our clock, not by At.
	At Millis `json:"at,omitempty"`
	// Cursor is stored in the same transaction as the message.
	Cursor Cursor `json:"-"`
}

// Cursor is an adapter's position in the platform's stream of updates. Name
// tells several streams of one account apart. A zero Cursor is not stored.
type Cursor struct {
	Name, Value string
}

// PlaceEvent is what happened to a conversation or thread itself.
type PlaceEvent string

// The events of places that an adapter must report.
const (
	PlaceDeleted            PlaceEvent = "deleted"
	PlaceArchived           PlaceEvent = "archived"
	PlaceUnarchived         PlaceEvent = "unarchived"
	PlaceLocked             PlaceEvent = "locked"
	PlaceUnlocked           PlaceEvent = "unlocked"
	PlaceRenamed            PlaceEvent = "renamed"
	PlacePermissionLost     PlaceEvent = "permission_lost"
	PlacePermissionRestored PlaceEvent = "permission_restored"
	PlaceMigrated           PlaceEvent = "migrated"
)

// PlaceChange reports a PlaceEvent. An Address without a thread speaks of the
// whole conversation.
type PlaceChange struct {
	ID      string // unique per change, for dedupe; empty if the platform has none
	Event   PlaceEvent
	Address Address
	To      Address // with PlaceMigrated: the new place
	Title   string  // with PlaceRenamed: the new title
	Cursor  Cursor
}
