package testserver

import (
	"context"
	"errors"
	"time"

	"github.com/skein-bot/skein/core"
)

// Worker counts work in progress; *world.Work is one.
type Worker interface {
	// Begin counts one piece of work until done is called.
	Begin(name string) (done func())
	// Park gives one unit back until unpark is called.
	Park() (unpark func())
}

// Options are what a test server gets from its harness.
type Options struct {
	// Clock is the clock of the runtime under test. Required.
	Clock core.Clock
	// Work counts what is in progress; nil means that nobody asks.
	Work Worker
}

// New starts a test server.
type New func(Options) (Server, error)

// ErrUnsupported is returned by a server whose platform has no such thing.
var ErrUnsupported = errors.New("this channel has no such thing")

// Server is the test server of a channel. All methods may be called from many
// goroutines. Those that act return when the server holds what was done,
// whether or not the runtime has taken notice.
type Server interface {
	Harness
	People
	Moderator
	View
	Trouble
}

// Harness is the part of a server that connects it to a runtime.
type Harness interface {
	// Channel is the channel's name, as in addresses.
	Channel() string
	// Config returns the keys that an account needs in the configuration to
	// connect to this server: addresses and credentials, no policy.
	Config(account string) map[string]any
	// UserID returns the platform id of the person that scripts call name.
	UserID(name string) string
	// Address returns the address of a place as the adapter will report it.
	Address(at Place) core.Address
	// Up and Down say whether the runtime runs; a server starts up. Down is
	// called when the runtime has ended, however it did: it ends requests that
	// were left waiting and returns when none is left.
	Up()
	Down()
	// Moved is called after the clock has moved: a runtime may be on its way
	// from a timer to its next poll.
	Moved()
	// Close ends the server and waits for its goroutines.
	Close() error
}

// Place is a place as scripts name it. Account "" is "default". Conversation
// is a name: "dm:alice" is the direct chat of alice with the account, any other
// is a group unless SetPlace said otherwise. It is created on first use, and the account takes part from then
// on. Thread is the platform's id of a thread in it, "" for none.
type Place struct {
	Account, Conversation, Thread string
}

// String returns the form [account:]conversation[/thread].
func (p Place) String() string {
	s := p.Conversation
	if p.Account != "" && p.Account != "default" {
		s = p.Account + ":" + s
	}
	if p.Thread != "" {
		s += "/" + p.Thread
	}
	return s
}

// PlaceKind says what a conversation is created as.
type PlaceKind string

// The kinds of place. Platforms without forums or channels make groups.
const (
	KindForum   PlaceKind = "forum"
	KindGroup   PlaceKind = "group"
	KindChannel PlaceKind = "channel"
	KindDirect  PlaceKind = "direct"
)

// User is a person as scripts name one, or a bot that is not ours.
type User struct {
	Name string
	Bot  bool
}

// Ref names a message.
type Ref struct {
	Place Place
	ID    string
}

// Post is something that a person writes.
type Post struct {
	By User
	At Place
	// Text is what the person writes; "@bot" in it is a native mention of the
	// place's bot.
	Text string
	// Command makes Text, "name args", a native command where the platform
	// has them, else the message "/name args".
	Command bool
	ReplyTo *Ref
	File    *File
}

// File is a file that a person sends.
type File struct {
	Name string
	Data []byte
}

// People is what people do. A person who may not do it gets the platform's
// refusal as the error.
type People interface {
	// SetPlace creates a conversation as kind, before its first use.
	SetPlace(at Place, kind PlaceKind) error
	Post(ctx context.Context, p Post) (Ref, error)
	Edit(ctx context.Context, by User, m Ref, text string) error
	Delete(ctx context.Context, by User, m Ref) error
	React(ctx context.Context, by User, m Ref, emoji string) error
	// Press presses the newest button with that label at a place.
	Press(ctx context.Context, by User, at Place, label string) error
	// OpenTopic opens a thread and returns its id.
	OpenTopic(ctx context.Context, by User, at Place, title string) (thread string, err error)
}

// ThreadOp is what an admin does to a thread.
type ThreadOp string

// What admins do to threads.
const (
	ThreadArchive   ThreadOp = "archive"
	ThreadUnarchive ThreadOp = "unarchive"
	ThreadLock      ThreadOp = "lock"
	ThreadUnlock    ThreadOp = "unlock"
	ThreadRename    ThreadOp = "rename"
	ThreadDelete    ThreadOp = "delete"
)

// Moderator is what a platform or its admins do.
type Moderator interface {
	// ChangeThread changes the thread of a place; title is for ThreadRename.
	ChangeThread(ctx context.Context, at Place, op ThreadOp, title string) error
	// Migrate gives a conversation a new id; its Place stays the same.
	Migrate(ctx context.Context, at Place) error
	// Kick takes the right to write in a conversation from its account, Permit
	// gives it back.
	Kick(ctx context.Context, at Place) error
	Permit(ctx context.Context, at Place) error
}

// Seen is a message as a person sees it.
type Seen struct {
	ID string
	By string // the author's id, or the persona it was written under
	// Own is set for messages of the place's account.
	Own bool
	// Text is without markup; buttons stand in it as [Label], files as [name].
	Text string
	At   time.Time
}

// Thread is a thread as people see it in a list.
type Thread struct {
	ID, Title        string
	Archived, Locked bool
}

// View is what a person sees.
type View interface {
	// Messages returns the messages of a place in order of posting, each with
	// its last text, the deleted ones left out: those of people and those of
	// the place's account, not those of other accounts.
	Messages(at Place) []Seen
	// Threads returns the threads of a conversation in order of opening.
	Threads(at Place) []Thread
}

// Trouble is what goes wrong, and the record of what an adapter did.
type Trouble interface {
	// Fault makes the next calls of a method fail. An unknown method is an
	// error.
	Fault(f Fault) error
	// Dup delivers the newest update again.
	Dup() error
	// Reorder swaps the two newest updates of the account that got the newest;
	// if they were delivered already, both are delivered again, swapped.
	Reorder() error
	// Raw delivers data as one update in the platform's own form.
	Raw(account string, data []byte) error
	// Requests returns the recorded requests from number since on. A script
	// asks for those since the last that it has matched.
	Requests(since int) []Request
}
