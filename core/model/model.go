// Package model is what the turn and language models say to each other: the
// items of a transcript, the provider interface and the typed errors of a
// call. The providers are in the packages below it.
package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/skein-bot/skein/core"
)

// ItemKind says what an Item is.
type ItemKind string

// The kinds of transcript item.
const (
	User       ItemKind = "user"      // what a person wrote
	Assistant  ItemKind = "assistant" // what the model said or called
	ToolOutput ItemKind = "tool"      // what a call gave back
	Event      ItemKind = "event"     // a completion of a sub-agent
	Note       ItemKind = "note"      // a message of the runtime itself
)

// Item is one entry of a transcript, in the form in which it is stored.
type Item struct {
	Kind ItemKind `json:"kind"`
	Text string   `json:"text,omitempty"`
	// Author, MessageID and Quote belong to a User item.
	Author    *core.Author `json:"author,omitempty"`
	MessageID string       `json:"messageId,omitempty"`
	Quote     *core.Quote  `json:"quote,omitempty"`
	// Context is, in a User item, what was said in its place since the bot was
	// addressed before: User items, oldest first.
	Context []Item `json:"context,omitempty"`
	// Sender is the session that a User item is from, where no person wrote it.
	Sender *Sender `json:"sender,omitempty"`
	// Think is the model's reasoning text, never shown to people.
	Think string          `json:"think,omitempty"`
	Calls []core.ToolCall `json:"calls,omitempty"` // Assistant
	// Thoughts are the reasoning that led to Calls as its service signed it.
	Thoughts []Thought `json:"thoughts,omitempty"`
	// By is the call that an Assistant item is the answer of; nil in rows of
	// versions that did not note it.
	By *Call `json:"by,omitempty"`
	// Files came with a User item.
	Files []File `json:"files,omitempty"`
	// Cut marks an answer that ended at the token limit, not at its own end.
	Cut bool `json:"cut,omitempty"`
	// CallID and Tool tie a ToolOutput to its call; Failed marks an error.
	CallID string `json:"callId,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	// Unknown is set, with Failed, where a crash or a stop interrupted the call,
	// so that nobody knows what it did.
	Unknown bool `json:"unknown,omitempty"`
	// Ends is set where the call ended its turn, with what its tool wants the
	// end of the turn to know.
	Ends json.RawMessage `json:"ends,omitempty"`
	// Dropped is, in a Note, how many messages it stands for.
	Dropped int `json:"dropped,omitempty"`
	// Left is how the first few of them begin, for the notice that people get; no
	// model reads it.
	Left []string `json:"left,omitempty"`
	// Completion belongs to an Event.
	Completion *Completion `json:"completion,omitempty"`
	// Compaction belongs to a Compacted item.
	Compaction *Compaction `json:"compaction,omitempty"`
	At         core.Millis `json:"at,omitempty"`
	// Row is the transcript row that the item was read from or written to, 0
	// where that is not known; it is not stored again.
	Row int64 `json:"-"`
}

// Sender is a session that sent a message to another one.
type Sender struct {
	Agent   string `json:"agent"`
	Session string `json:"session"` // its key
	Run     string `json:"run"`     // that of the answer
}

// Call is the call of a model that an answer came from.
type Call struct {
	Model string `json:"model"` // as "provider/model"
	// Usage is what this call used and cost; what failed tries before it used is
	// in the sum of the turn only.
	core.Usage
	At core.Millis `json:"at"` // when the model was asked
	// FirstAfter is how long it was until the first piece of the answer, in
	// milliseconds.
	FirstAfter int64 `json:"firstAfter,omitempty"`
}

// Thought is a piece of reasoning that a service signed. It wants it back as
// it was when the turn goes on after the calls.
type Thought struct {
	Model     string `json:"model"` // the only one that takes it back
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"` // in place of the text, for the service alone
}

// Completion is the typed event that tells a requester how a child ended.
type Completion struct {
	Source     string         `json:"source"` // "subagent", "send" or "cron"
	RunID      string         `json:"runId"`
	TaskID     string         `json:"taskId"`
	SessionKey string         `json:"sessionKey"`
	SessionID  int64          `json:"sessionId"`
	Number     int            `json:"number"` // of this child session's completions
	Ordinal    int            `json:"ordinal"`
	Label      string         `json:"label"`
	Task       string         `json:"task"`
	TaskName   string         `json:"taskName,omitempty"`
	Status     core.RunStatus `json:"status"`
	Detail     string         `json:"detail,omitempty"`
	Result     string         `json:"result"`
	Partial    bool           `json:"partial,omitempty"`
	// LastTool is the tool that a run which did not end ok called last, and
	// ToolCalls how many calls had ended by then.
	LastTool  string `json:"lastTool,omitempty"`
	ToolCalls int    `json:"toolCalls,omitempty"`
	// Truncated is set where Result is only the first part; Ref names the
	// whole for `skein sessions transcript`.
	Truncated bool   `json:"truncated,omitempty"`
	Ref       string `json:"ref,omitempty"`
	Stats     string `json:"stats"`
	// PostedIn is the place where the outcome was already posted, "" if none.
	PostedIn string `json:"postedIn,omitempty"`
	// Told is set where nobody has to be told any more: the event settles joins
	// but needs no answer. People know already, or Untold says why nobody will.
	Told   bool   `json:"told,omitempty"`
	Untold Untold `json:"untold,omitempty"`
}

// Untold is why nobody is told of an outcome, "" where people know of it.
type Untold string

// The reasons.
const (
	UntoldSilence Untold = "silence" // the run ended ok and chose to say nothing
	UntoldNotify  Untold = "notify"  // whoever runs the gateway chose it for the task
)

// Request is one call of a model.
type Request struct {
	// ID names the call for ever: a retry, and the repetition after a crash,
	// carry the ID of the first try. "" if the caller keeps no such name.
	ID       string
	Model    string // the provider's own id
	Agent    string
	Task     string // label, task name or task of the run, for `scripted`
	TaskName string
	TaskText string
	System   string
	Items    []Item
	Tools    []core.ToolSpec
	Thinking string // off, minimal, low, medium, high
	// MaxTokens limits the answer, reasoning and all; 0 for the provider's
	// default.
	MaxTokens int
}

// Usage counts tokens; a zero Usage means that the provider did not say.
type Usage struct {
	In  int64 `json:"in"`
	Out int64 `json:"out"`
	// CacheRead is the part of In that came from a cache, CacheWrite the part
	// that was put into one at a price of its own.
	CacheRead  int64 `json:"cacheRead,omitempty"`
	CacheWrite int64 `json:"cacheWrite,omitempty"`
}

// Delta is one piece of a streamed answer.
type Delta struct {
	Text  string
	Think string
	Call  *core.ToolCall // a finished call
	// Thought is a finished piece of signed reasoning, whose text was given out
	// as Think.
	Thought *Thought
	// KeepAlive is set where the model wrote something of which nothing can be
	// given out yet, Ping where the service only said that the call lives.
	KeepAlive, Ping bool
	// Done is set on the last delta, with the usage. A stream that ends
	// without it was cut off.
	Done  bool
	Usage Usage
	// Cut is set with Done where the answer ended at the token limit.
	Cut bool
}

// Written reports whether the delta has a piece of an answer in it: text,
// reasoning or a call.
func (d Delta) Written() bool {
	return d.Text != "" || d.Think != "" || d.Call != nil || d.Thought != nil
}

// Provider calls models of one service. Stream is called by turns, from many
// goroutines at once; the sequence blocks while the model works and stops with
// ctx. An error ends the sequence; it is an *Error if its class is known.
type Provider interface {
	Stream(ctx context.Context, req Request) iter.Seq2[Delta, error]
	// Models lists the service's model ids; `skein demo` takes the first.
	Models(ctx context.Context) ([]string, error)
}

// ErrorClass says what went wrong in a call.
type ErrorClass string

// The classes of model errors.
const (
	RateLimited ErrorClass = "rate_limited"
	Overloaded  ErrorClass = "overloaded"
	Overflow    ErrorClass = "overflow" // the request is larger than the context window
	Auth        ErrorClass = "auth"
	BadRequest  ErrorClass = "bad_request"
	Refused     ErrorClass = "refused"
	Network     ErrorClass = "network"
	Truncated   ErrorClass = "truncated" // the stream ended without its end mark
)

// Transient reports whether the same call may succeed later.
func (c ErrorClass) Transient() bool {
	switch c {
	case RateLimited, Overloaded, Network, Truncated:
		return true
	}
	return false
}

// Error is a failed call.
type Error struct {
	Class  ErrorClass
	After  time.Duration // with RateLimited and Overloaded: the service's own wait
	Status int           // HTTP status, 0 if none
	Err    error
}

// Error returns the class and the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("model call failed: %s", e.Class)
	}
	return fmt.Sprintf("model call failed: %s: %v", e.Class, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// What an Error may wrap, so that it can be told apart within its class.
var (
	// ErrStalled: with Network, nothing came for too long.
	ErrStalled = errors.New("the model sent nothing")
	// ErrTooLarge: with BadRequest, an answer beyond the limits.
	ErrTooLarge = errors.New("the model's answer is too large")
	// ErrNoCredit: with Auth, the account is out of money.
	ErrNoCredit = errors.New("the account has no credit left")
	// ErrNoService: with BadRequest, what answers is no service of the protocol.
	ErrNoService = errors.New("this is not a model service")
)

// ClassOf returns the class of err; an unknown error is Network, because then
// trying again is right.
func ClassOf(err error) ErrorClass {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Network
}

// Encode returns the stored form of an item.
func (i Item) Encode() string {
	b, err := json.Marshal(i)
	if err != nil { // only invalid raw arguments can do this, and those are replaced at the edge
		b, _ = json.Marshal(Item{Kind: i.Kind, Text: i.Text, At: i.At})
	}
	return string(b)
}

// DecodeItem reads the stored form.
func DecodeItem(s string) (Item, error) {
	var i Item
	if err := json.Unmarshal([]byte(s), &i); err != nil {
		return Item{}, fmt.Errorf("decode transcript item: %w", err)
	}
	return i, nil
}
