package core

import (
	"context"
	"errors"
	"io"
	"time"
)

// Capabilities says what a channel can do; it is constant for an adapter.
type Capabilities struct {
	// TextLimit is the longest text of one message, in TextUnit.
	TextLimit int
	TextUnit  string // "utf16", "bytes", "runes" or "graphemes"
	// NativeIdempotency is set where sending the same Key twice makes one
	// message; an ambiguous send is then simply sent again.
	NativeIdempotency bool
	// Direct and Groups say which conversations exist.
	Direct, Groups bool
	// Threads is set where conversations can hold threads.
	Threads bool
	// StreamEvery is the shortest time between two edits by which a message
	// grows while its text is being written; 0 where such messages are not
	// wanted. The adapter must be a Deleter too, and a Streamer or an Editor.
	StreamEvery time.Duration
	// StreamOff leaves that off unless the operator switches it on.
	StreamOff bool
}

// Adapter connects one account of one channel. The runtime calls Run once in
// its own goroutine; Send and the abilities may be called from many goroutines
// at once, also before Run has connected (they then return a retryable error).
type Adapter interface {
	// Describe returns the channel's capabilities. It does not block.
	Describe() Capabilities
	// Run receives updates and hands each to in, in the platform's order per
	// conversation, and acknowledges an update to the platform only after in
	// returned nil for it. It blocks until ctx ends (then it returns nil) or
	// the connection fails. The account's supervisor restarts it with
	// backoff, except after a *SendError of class auth or conflict.
	Run(ctx context.Context, in Intake) error
	// Send posts one message part and returns the platform's ids. Its context
	// carries the deadline. It returns a *SendError when it fails; a nil
	// error with an empty Receipt counts as ambiguous.
	Send(ctx context.Context, out Outgoing) (Receipt, error)
	// Probe asks the platform whether the account works. `skein channels
	// status --probe` and the supervisor call it; it may block for ctx.
	Probe(ctx context.Context) Health
}

// Intake is what an adapter hands its updates to. Both calls return nil only
// once the update is durable (or was known, refused or dropped for good), so
// that the adapter may acknowledge it; after an error it must be delivered
// again. They block for one store commit.
type Intake interface {
	Receive(ctx context.Context, m Message) error
	PlaceChanged(ctx context.Context, c PlaceChange) error
	// LoadCursor returns the stored cursor of this account, "" if none.
	LoadCursor(ctx context.Context, name string) (string, error)
}

// Outgoing is one message part on its way to a platform.
type Outgoing struct {
	Address Address
	Text    string
	// Markdown is what Text was rendered from, where all of it is this one part
	// and it has markup; "" else. A channel whose screens read Markdown
	// themselves passes it on beside Text.
	Markdown string
	// Key names this part for ever: the same Key is the same message. Adapters
	// with native idempotency pass it on.
	Key string
	// ReplyTo is the platform id of the message this answers, "" for none. If
	// the platform no longer knows it, send without it.
	ReplyTo string
	// Persona is the display name to send under in a bound thread, where the
	// adapter can; "" for the bot's own name.
	Persona string
	// Silent asks not to notify people's devices, where the platform can.
	Silent bool
	// Draft is set where Text is only the beginning of what is being written:
	// the message will be edited, or deleted.
	Draft bool
}

// Receipt proves that a message reached the platform.
type Receipt struct {
	ID string // the platform's message id
}

// Health is recent evidence about an account.
type Health struct {
	OK     bool
	Detail string
	Since  time.Time // of the evidence
}

// Typer is the ability to show "is typing". The runtime calls Typing when a
// turn starts and every few seconds while it runs; an error is logged only.
type Typer interface {
	Typing(ctx context.Context, to Address) error
}

// Streamer is the ability to make a sent message into another one, at its place
// and with all that belongs to it (markup, persona, draft or not). Delivery
// calls Replace while an answer is written, at most one call per message at a
// time and one each Capabilities.StreamEvery, and once more with the answer. To
// replace a message by what it is already succeeds. It returns a *SendError of
// class invalid or gone where the message is not there or cannot be edited any
// more.
type Streamer interface {
	Replace(ctx context.Context, id string, with Outgoing) error
}

// Editor is the ability to edit a sent message. Delivery calls Edit as it would
// Streamer.Replace, where an adapter has no more than this.
type Editor interface {
	Edit(ctx context.Context, to Address, id, text string) error
}

// Deleter is the ability to delete a sent message. Delivery removes what it
// showed of an answer that was not to be.
type Deleter interface {
	Delete(ctx context.Context, to Address, id string) error
}

// ErrNoFiles is what fetching a file gives where the channel hands none over,
// or has this one no more.
var ErrNoFiles = errors.New("the channel does not hand this file over")

// Fetcher is the ability to fetch files that came with messages.
type Fetcher interface {
	// Fetch opens the content of an attachment of a message that came from an
	// address of this account. The turn that reads the message calls it, never
	// intake: after a crash it may be called again. ctx carries the deadline,
	// also of reading. The caller reads no more than it wants and closes.
	Fetch(ctx context.Context, from Address, f Attachment) (io.ReadCloser, error)
}

// HistoryReader is the ability to read what was said before a message. Where an
// adapter has it, a message that addresses the bot in a group brings along what
// the platform says was said there since the bot was addressed before, also
// while it was away; elsewhere, what the bot has seen.
type HistoryReader interface {
	// History returns the messages of exactly this place that stand before the
	// message with id before, the newest ones, at most limit (from 1 to 500),
	// oldest first, as they are now: edited ones with their last text, deleted
	// ones left out. They are normalised as for Intake.Receive, the bot's own
	// with Author.Self.
	//
	// The runtime calls it once for each message that addresses the bot in a
	// group where it must be, before that message is durable: ctx ends after
	// two seconds, and after an error what was seen serves.
	History(ctx context.Context, at Address, before string, limit int) ([]Message, error)
}

// Placement says where a binding lives relative to where it was asked for.
type Placement string

// The placements.
const (
	PlacementAuto    Placement = "auto"    // the adapter's default for the place
	PlacementCurrent Placement = "current" // bind the place where we are
	PlacementChild   Placement = "child"   // open a thread first, bind that
)

// BindingCapabilities says what bindings are possible at an address.
type BindingCapabilities struct {
	// Placements that work here, the default first. Empty: not bindable.
	Placements []Placement
	// ThreadsInDirect is set where a direct chat can hold threads.
	ThreadsInDirect bool
	// TitleLimit is the longest thread title in UTF-16 units, 0 for none.
	TitleLimit int
	// Reason says, where Placements is empty, why.
	Reason string
}

// ChildRequest asks an adapter to open a thread.
type ChildRequest struct {
	Parent Address // where the request was made; a thread gets a sibling
	Title  string
	Text   string // first text, for platforms whose threads grow from a message
	Intent string // unique mark of this request, the same after a restart
}

// PlaceState is the answer of a probe.
type PlaceState string

// The states of a place.
const (
	PlaceExists      PlaceState = "exists"
	PlaceIsArchived  PlaceState = "archived"
	PlaceIsLocked    PlaceState = "locked"
	PlaceIsGone      PlaceState = "gone"
	PlaceIsForbidden PlaceState = "forbidden"
)

// BindingAdapter is the ability to hold bound sessions. threadbind drives it.
type BindingAdapter interface {
	// BindingCapabilities tells what is possible at an address; it does not
	// block.
	BindingCapabilities(at Address) BindingCapabilities
	// OpenChild opens a thread and returns its address and data to keep with
	// the binding. It is called once per intent unless FindChild says that a
	// crash left none behind; ctx carries the deadline (10 s in a spawn).
	OpenChild(ctx context.Context, req ChildRequest) (Address, []byte, error)
	// ProbeAddress tells the state of a place.
	ProbeAddress(ctx context.Context, at Address) (PlaceState, error)
	// CloseChild undoes OpenChild: it deletes the thread, else archives it.
	CloseChild(ctx context.Context, at Address) error
}

// ChildFinder is the ability to find a thread that a crash left behind
// between OpenChild and the transaction that recorded it.
type ChildFinder interface {
	// FindChild returns the thread opened for intent; ok is false if there is
	// none.
	FindChild(ctx context.Context, req ChildRequest) (at Address, data []byte, ok bool, err error)
}

// Archiver is the ability to archive a thread (threadBindings.onEnd).
type Archiver interface {
	Archive(ctx context.Context, at Address) error
}
