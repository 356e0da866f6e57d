package console

import (
	"context"

	"github.com/skein-bot/skein/core"
)

// Backend is the platform as a bot sees it. [Hub] implements it in process,
// the client of [NewClient] over HTTP. Every refusal is an *Error; every other
// error means that the platform was not reached or its answer was lost.
// All methods may be called from many goroutines.
type Backend interface {
	// Poll acknowledges the updates of the account up to After and returns the
	// next ones in order, at most MaxUpdates. It blocks until there are any;
	// over HTTP it may return none after the server's wait limit. A newer poll
	// of the same account ends an older one with status 409: two processes use
	// the account.
	Poll(ctx context.Context, r PollRequest) (Updates, error)
	// Send posts a message. The same Key again returns the same message.
	Send(ctx context.Context, r SendRequest) (Sent, error)
	// Edit replaces the text of a message of the account.
	Edit(ctx context.Context, r EditRequest) (Done, error)
	// Delete removes a message of the account; a second time does nothing.
	Delete(ctx context.Context, r DeleteRequest) (Done, error)
	// OpenThread opens a thread. The same Intent again returns the same thread.
	OpenThread(ctx context.Context, r OpenRequest) (Thread, error)
	// CloseThread deletes or archives a thread; a second time does nothing.
	CloseThread(ctx context.Context, r CloseRequest) (Done, error)
	// FindThread looks for the thread that was opened with an intent.
	FindThread(ctx context.Context, r FindRequest) (Found, error)
	// Probe tells the state of a place, or with an empty conversation whether
	// the platform answers.
	Probe(ctx context.Context, r ProbeRequest) (Probed, error)
	// History returns what was said in a place before a message.
	History(ctx context.Context, r HistoryRequest) (History, error)
	// Typing shows people that the account is writing, for TypingFor.
	Typing(ctx context.Context, r TypingRequest) (Done, error)
	// Fetch returns the content of a file of a message. The platform keeps the
	// newest contents only, and none over a restart.
	Fetch(ctx context.Context, r FetchRequest) (Content, error)
}

// MaxUpdates is how many updates one poll returns at most.
const MaxUpdates = 100

// Done is the answer of a request that has no other.
type Done struct{}

// PollRequest asks for updates after a cursor.
type PollRequest struct {
	Account string `json:"account"`
	// After is the Seq of the last update that the bot has stored; 0 for none.
	After uint64 `json:"after,omitempty"`
}

// Updates is the answer to a poll.
type Updates struct {
	Updates []Update `json:"updates"`
}

// SendRequest posts a message of an account.
type SendRequest struct {
	Account      string   `json:"account"`
	Conversation string   `json:"conversation"`
	Thread       string   `json:"thread,omitempty"`
	Text         string   `json:"text"`
	Markdown     string   `json:"markdown,omitempty"` // what Text was made from
	Key          string   `json:"key,omitempty"`
	ReplyTo      string   `json:"replyTo,omitempty"`
	Persona      string   `json:"persona,omitempty"`
	Draft        bool     `json:"draft,omitempty"` // it goes on being written
	Files        []File   `json:"files,omitempty"`
	Buttons      []string `json:"buttons,omitempty"`
}

// Sent is the id of a sent message.
type Sent struct {
	ID string `json:"id"`
}

// EditRequest replaces the text of a message.
type EditRequest struct {
	Account  string `json:"account"`
	ID       string `json:"id"`
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"` // what Text was made from
	Draft    bool   `json:"draft,omitempty"`    // it goes on being written
}

// DeleteRequest removes a message.
type DeleteRequest struct {
	Account string `json:"account"`
	ID      string `json:"id"`
}

// OpenRequest opens a thread.
type OpenRequest struct {
	Account      string `json:"account"`
	Conversation string `json:"conversation"`
	Title        string `json:"title"`
	Intent       string `json:"intent,omitempty"`
}

// CloseRequest deletes a thread, or archives it.
type CloseRequest struct {
	Account      string `json:"account"`
	Conversation string `json:"conversation"`
	Thread       string `json:"thread"`
	Archive      bool   `json:"archive,omitempty"`
}

// FindRequest looks for a thread by its intent.
type FindRequest struct {
	Account      string `json:"account"`
	Conversation string `json:"conversation"`
	Intent       string `json:"intent"`
}

// Found is the answer to a FindRequest; Thread is nil if there is none.
type Found struct {
	Thread *Thread `json:"thread,omitempty"`
}

// ProbeRequest asks for the state of a place.
type ProbeRequest struct {
	Account      string `json:"account"`
	Conversation string `json:"conversation,omitempty"`
	Thread       string `json:"thread,omitempty"`
}

// Probed is the state of a place.
type Probed struct {
	State core.PlaceState `json:"state"`
}

// HistoryRequest asks for the newest messages of a place before a message, at
// most Limit.
type HistoryRequest struct {
	Account      string `json:"account"`
	Conversation string `json:"conversation"`
	Thread       string `json:"thread,omitempty"`
	Before       string `json:"before"` // id of a message of the conversation
	Limit        int    `json:"limit"`
}

// History is what was said, oldest first, each message as the event that told
// of it would be now.
type History struct {
	Events []Event `json:"events"`
}

// TypingRequest shows that an account is writing.
type TypingRequest struct {
	Account      string `json:"account"`
	Conversation string `json:"conversation"`
	Thread       string `json:"thread,omitempty"`
}

// FetchRequest asks for a file, by the id that the adapter gives it:
// "<message>/<number from 0>".
type FetchRequest struct {
	Account string `json:"account"`
	File    string `json:"file"`
}

// Content is what a file holds.
type Content struct {
	Data []byte `json:"data"`
}

// People is the platform as people see it. [Hub] implements it in process, the
// client of [NewPeopleClient] over HTTP; a terminal works with either. All
// methods may be called from many goroutines.
type People interface {
	// Post writes a message of a person. When it returns, the hub holds it.
	Post(ctx context.Context, r Post) (Message, error)
	// Change edits or deletes a message, reacts to it or presses its button.
	Change(ctx context.Context, r MessageChange) (Message, error)
	// OpenChat opens the direct chat of a person with one agent, or returns it
	// if it exists.
	OpenChat(ctx context.Context, r ChatRequest) (Conversation, error)
	// OpenTopic opens a thread as a person does.
	OpenTopic(ctx context.Context, r TopicRequest) (Thread, error)
	// ChangeThread archives, locks, renames or deletes a thread, or undoes it.
	ChangeThread(ctx context.Context, r ThreadChange) (Thread, error)
	// Feed returns what changed after a point, as it is now. With Wait it
	// blocks until something did; over HTTP it may return an empty feed after
	// the server's wait limit.
	Feed(ctx context.Context, r FeedRequest) (Feed, error)
	// Conversations lists the conversations in order of their ids.
	Conversations(ctx context.Context, r Done) (Conversations, error)
	// Threads lists the threads of a conversation in order of opening, the
	// deleted ones left out.
	Threads(ctx context.Context, r ThreadsRequest) (Threads, error)
}

// Post is a message of a person.
type Post struct {
	By           User     `json:"by"`
	Conversation string   `json:"conversation"`
	Thread       string   `json:"thread,omitempty"`
	Text         string   `json:"text"`
	Mentions     []string `json:"mentions,omitempty"` // accounts
	ReplyTo      string   `json:"replyTo,omitempty"`
	Files        []File   `json:"files,omitempty"`
	// Contents are those of Files, in their order; those behind the last one
	// cannot be fetched. In all they have at most PostLimit bytes.
	Contents [][]byte `json:"contents,omitempty"`
	// Key, if set, makes a repeated Post the same message.
	Key string `json:"key,omitempty"`
}

// ChangeOp says what a person does to a message.
type ChangeOp string

// What people do to messages.
const (
	OpEdit   ChangeOp = "edit"   // own messages; Text is the new text
	OpDelete ChangeOp = "delete" // own messages
	OpReact  ChangeOp = "react"  // Text is the emoji
	OpPress  ChangeOp = "press"  // Text is the label of a button
)

// MessageChange is what a person does to a message.
type MessageChange struct {
	By   User     `json:"by"`
	ID   string   `json:"id"`
	Op   ChangeOp `json:"op"`
	Text string   `json:"text,omitempty"`
}

// TopicRequest opens a thread as a person does.
type TopicRequest struct {
	By           User   `json:"by"`
	Conversation string `json:"conversation"`
	Title        string `json:"title"`
}

// ChatRequest opens a chat that belongs to one agent.
type ChatRequest struct {
	By    User   `json:"by"`
	Agent string `json:"agent"`
}

// ThreadOp says what happens to a thread.
type ThreadOp string

// What people and their platform do to threads.
const (
	ThreadArchive   ThreadOp = "archive"
	ThreadUnarchive ThreadOp = "unarchive"
	ThreadLock      ThreadOp = "lock"
	ThreadUnlock    ThreadOp = "unlock"
	ThreadRename    ThreadOp = "rename" // Title is the new title
	ThreadDelete    ThreadOp = "delete"
)

// ThreadChange is what a person does to a thread.
type ThreadChange struct {
	Thread string   `json:"thread"`
	Op     ThreadOp `json:"op"`
	Title  string   `json:"title,omitempty"`
}

// FeedRequest asks what changed after a point.
type FeedRequest struct {
	// Conversation limits the feed to one conversation and its threads; empty
	// is everything.
	Conversation string `json:"conversation,omitempty"`
	// Only leaves the threads out, or with Thread everything but that thread.
	Only   bool   `json:"only,omitempty"`
	Thread string `json:"thread,omitempty"`
	// After and TypingAfter are Seq and TypingSeq of the feed before, 0 at
	// first.
	After       uint64 `json:"after,omitempty"`
	TypingAfter uint64 `json:"typingAfter,omitempty"`
	Wait        bool   `json:"wait,omitempty"`
	// Last keeps only that many newest messages; 0 keeps all.
	Last int `json:"last,omitempty"`
}

// Feed is what changed, in the order of the changes.
type Feed struct {
	Messages  []Message `json:"messages,omitempty"`
	Threads   []Thread  `json:"threads,omitempty"`
	Typing    []Typing  `json:"typing,omitempty"` // all who are typing now
	Seq       uint64    `json:"seq"`
	TypingSeq uint64    `json:"typingSeq"`
}

// Conversations is the list of conversations.
type Conversations struct {
	Conversations []Conversation `json:"conversations"`
}

// ThreadsRequest asks for the threads of a conversation.
type ThreadsRequest struct {
	Conversation string `json:"conversation"`
}

// Threads is the list of threads of a conversation.
type Threads struct {
	Threads []Thread `json:"threads"`
}
