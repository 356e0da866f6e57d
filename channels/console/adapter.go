package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/skein-bot/skein/core"
)

// Channel is the channel's name in addresses.
const Channel = "console"

// StreamEvery is how often a message changes that is being written.
const StreamEvery = 250 * time.Millisecond

// CursorName is the name under which the adapter stores its cursor: the Seq of
// the last update that was taken in.
const CursorName = "updates"

// Adapter connects one account of a hub to the runtime. Create it with
// NewAdapter; it has nothing to close.
type Adapter struct {
	backend Backend
	account string
	clock   core.Clock

	mu   sync.Mutex
	last core.Health // of the last poll
}

var (
	_ core.Adapter        = (*Adapter)(nil)
	_ core.Typer          = (*Adapter)(nil)
	_ core.Editor         = (*Adapter)(nil)
	_ core.Streamer       = (*Adapter)(nil)
	_ core.Deleter        = (*Adapter)(nil)
	_ core.HistoryReader  = (*Adapter)(nil)
	_ core.BindingAdapter = (*Adapter)(nil)
	_ core.ChildFinder    = (*Adapter)(nil)
	_ core.Archiver       = (*Adapter)(nil)
)

// NewAdapter returns the adapter of an account that backend knows.
func NewAdapter(backend Backend, account string, clock core.Clock) *Adapter {
	return &Adapter{backend: backend, account: account, clock: clock}
}

// Describe implements core.Adapter.
func (a *Adapter) Describe() core.Capabilities {
	return core.Capabilities{
		TextLimit: TextLimit, TextUnit: "utf16", NativeIdempotency: true,
		Direct: true, Groups: true, Threads: true,
		StreamEvery: StreamEvery,
	}
}

// Run implements core.Adapter: it polls with the stored cursor, hands every
// update to in, and acknowledges by the next poll.
func (a *Adapter) Run(ctx context.Context, in core.Intake) error {
	if err := a.run(ctx, in); ctx.Err() == nil {
		return err
	}
	return nil
}

func (a *Adapter) run(ctx context.Context, in core.Intake) error {
	stored, err := in.LoadCursor(ctx, CursorName)
	if err != nil {
		return fmt.Errorf("console: load the cursor: %w", err)
	}
	// What is not a cursor of ours acknowledges nothing: everything pending
	// comes again, and intake knows what it has seen.
	after, _ := strconv.ParseUint(stored, 10, 64)
	takenBack := false
	for {
		batch, err := a.backend.Poll(ctx, PollRequest{Account: a.account, After: after})
		if superseded(err) && !takenBack {
			takenBack = true
			continue
		}
		if ctx.Err() == nil {
			a.note(err)
		}
		if err != nil {
			return classifyPoll(err)
		}
		takenBack = false
		for _, u := range batch.Updates {
			if err := a.receive(ctx, in, u); err != nil {
				return fmt.Errorf("console: intake of update %d: %w", u.Seq, err)
			}
			after = u.Seq
		}
	}
}

// note keeps the outcome of a poll as evidence for Probe.
func (a *Adapter) note(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = core.Health{OK: err == nil, Since: a.clock.Now()}
	if err != nil {
		a.last.Detail = err.Error()
	}
}

// receive hands one update to intake.
func (a *Adapter) receive(ctx context.Context, in core.Intake, u Update) error {
	cursor := core.Cursor{Name: CursorName, Value: strconv.FormatUint(u.Seq, 10)}
	at := a.address(u.Event.Conversation, u.Event.Thread)
	if ev := u.Event; ev.Change != "" {
		change := core.PlaceChange{ID: ev.ID, Event: ev.Change, Address: at, Cursor: cursor}
		switch ev.Change {
		case core.PlaceMigrated:
			change.To = a.address(ev.To, ev.Thread)
		case core.PlaceRenamed:
			change.Title = ev.Title
		}
		return in.PlaceChanged(ctx, change)
	}
	m := a.message(u.Event)
	m.Address, m.Cursor = at, cursor
	return in.Receive(ctx, m)
}

func (a *Adapter) address(conversation, thread string) core.Address {
	return core.Address{Channel: Channel, Account: a.account, Conversation: conversation, Thread: thread}
}

// message normalises an event about a message.
func (a *Adapter) message(ev Event) core.Message {
	m := core.Message{
		Event: ev.Kind, Kind: ev.ConversationKind, Author: a.author(ev.By), Text: ev.Text,
		Revision: ev.ID, Title: ev.Title, At: ev.At,
	}
	if ev.Message == nil {
		return m
	}
	m.ID = ev.Message.ID
	switch ev.Kind {
	case core.EventMessage, core.EventEdit:
		m.Text = ev.Message.Text
		m.Attachments = attachments(ev.Message)
		m.Quote = a.quote(ev.Quote)
	case core.EventReaction, core.EventPress:
		m.Quote = a.quote(ev.Message)
	}
	if ev.Kind == core.EventMessage {
		m.Revision = ""
	}
	m.Mentioned = a.mentioned(ev)
	return m
}

func (a *Adapter) mentioned(ev Event) bool {
	if ev.Quote != nil && ev.Quote.By.isBotOf(a.account) {
		return true
	}
	for _, account := range ev.Message.Mentions {
		if account == a.account {
			return true
		}
	}
	return false
}

func (a *Adapter) author(u User) core.Author {
	return core.Author{ID: u.ID, Name: u.Name, Bot: u.Bot, Self: u.isBotOf(a.account)}
}

func (a *Adapter) quote(m *Message) *core.Quote {
	if m == nil {
		return nil
	}
	return &core.Quote{ID: m.ID, Author: a.author(m.By), Text: m.Text}
}

func attachments(m *Message) []core.Attachment {
	var list []core.Attachment
	for i, f := range m.Files {
		list = append(list, core.Attachment{ID: fileID(m.ID, i), Name: f.Name, Type: f.Type, Size: f.Size})
	}
	return list
}

// Send implements core.Adapter. A conversation that moved is followed; a
// message to answer that is gone is left out.
func (a *Adapter) Send(ctx context.Context, out core.Outgoing) (core.Receipt, error) {
	r := SendRequest{
		Account: a.account, Conversation: out.Address.Conversation, Thread: out.Address.Thread,
		Text: strings.ToValidUTF8(out.Text, "\uFFFD"), Key: out.Key, ReplyTo: out.ReplyTo, Persona: out.Persona,
		Markdown: markdown(out), Draft: out.Draft,
	}
	sent, err := a.backend.Send(ctx, r)
	for range 3 { // a move, another move, a lost anchor: more is no accident
		refusal := new(Error)
		switch {
		case !errors.As(err, &refusal):
			return core.Receipt{ID: sent.ID}, classify(err)
		case refusal.Code == CodeUnknownReply && r.ReplyTo != "":
			r.ReplyTo = ""
		case refusal.MovedTo != "":
			r.Conversation = refusal.MovedTo
		default:
			return core.Receipt{}, classify(err)
		}
		sent, err = a.backend.Send(ctx, r)
	}
	return core.Receipt{ID: sent.ID}, classify(err)
}

// markdown is what a text was made from, "" where it is too long.
func markdown(out core.Outgoing) string {
	md := strings.ToValidUTF8(out.Markdown, "\uFFFD")
	if checkText(md, true) != nil {
		return ""
	}
	return md
}

// Replace implements core.Streamer.
func (a *Adapter) Replace(ctx context.Context, id string, with core.Outgoing) error {
	_, err := a.backend.Edit(ctx, EditRequest{
		Account: a.account, ID: id, Text: strings.ToValidUTF8(with.Text, "\uFFFD"), Markdown: markdown(with), Draft: with.Draft,
	})
	return classify(err)
}

// Edit implements core.Editor.
func (a *Adapter) Edit(ctx context.Context, _ core.Address, id, text string) error {
	_, err := a.backend.Edit(ctx, EditRequest{Account: a.account, ID: id, Text: strings.ToValidUTF8(text, "\uFFFD")})
	return classify(err)
}

// Delete implements core.Deleter.
func (a *Adapter) Delete(ctx context.Context, _ core.Address, id string) error {
	_, err := a.backend.Delete(ctx, DeleteRequest{Account: a.account, ID: id})
	return classify(err)
}

// History implements core.HistoryReader.
func (a *Adapter) History(ctx context.Context, at core.Address, before string, limit int) ([]core.Message, error) {
	said, err := a.backend.History(ctx, HistoryRequest{
		Account: a.account, Conversation: at.Conversation, Thread: at.Thread, Before: before, Limit: limit,
	})
	if err != nil {
		return nil, classify(err)
	}
	var out []core.Message
	for _, ev := range said.Events {
		m := a.message(ev)
		m.Address = a.address(ev.Conversation, ev.Thread)
		out = append(out, m)
	}
	return out, nil
}

// Typing implements core.Typer.
func (a *Adapter) Typing(ctx context.Context, to core.Address) error {
	_, err := a.backend.Typing(ctx, TypingRequest{Account: a.account, Conversation: to.Conversation, Thread: to.Thread})
	return classify(err)
}

// Fetch implements core.Fetcher.
func (a *Adapter) Fetch(ctx context.Context, _ core.Address, f core.Attachment) (io.ReadCloser, error) {
	content, err := a.backend.Fetch(ctx, FetchRequest{Account: a.account, File: f.ID})
	if refusal := new(Error); errors.As(err, &refusal) && refusal.Code == CodeUnknownFile {
		return nil, fmt.Errorf("%w: %w", core.ErrNoFiles, err)
	}
	return io.NopCloser(bytes.NewReader(content.Data)), err
}

// Probe implements core.Adapter. The platform's answer counts, and after a
// failed poll that failure: an account that can send but not receive is ill.
func (a *Adapter) Probe(ctx context.Context) core.Health {
	if _, err := a.backend.Probe(ctx, ProbeRequest{Account: a.account}); err != nil {
		return core.Health{Detail: err.Error(), Since: a.clock.Now()}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last.Detail != "" {
		return a.last
	}
	return core.Health{OK: true, Since: a.clock.Now()}
}
