package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/command"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
	"github.com/skein-bot/skein/core/world"
)

// QueueRules bound a session's inbox (messages.queue).
type QueueRules struct {
	Mode     kernel.QueueMode
	Cap      int      // waiting messages of one session; 0 is no limit
	Overflow Overflow // what happens beyond the cap
}

// Overflow says what happens to messages beyond the cap of a queue.
type Overflow string

// The overflow policies. Summarize is the default.
const (
	OverflowSummarize Overflow = "summarize" // the oldest become one listed row
	OverflowOld       Overflow = "old"       // the oldest is dropped, and counted
	OverflowNew       Overflow = "new"       // the newest is dropped, and counted
)

// Config answers from the live configuration.
type Config interface {
	// Access is what an account says about access.
	Access(channel, account string) policy.Settings
	// PolicyOf is the sender policy of a message: messages whose policies
	// differ do not share a turn. "" where nobody has one of their own.
	PolicyOf(m core.Message) string
	// PlaceAgent is the agent configured for a group or topic itself, "" if
	// none.
	PlaceAgent(at core.Address, guild string) string
	Router() *Router
	DirectScope() core.DirectScope
	Queue(channel, account string) QueueRules
	// UserLimits are the limits of one person on an account.
	UserLimits(channel, account string) policy.UserLimits
	// HistoryLimit is how many messages of a group that were not for the bot
	// the next one that is brings along as context; 0 is none.
	HistoryLimit(channel, account string) int
	// Reset says when a session of such a conversation starts over by itself.
	Reset(channel string, kind core.ConversationKind, threaded bool) ResetRules
	// Zone is the time zone of an agent, nil for the host's.
	Zone(agent string) *time.Location
	Owners() []string
	// CommandsAllow is commands.allowFrom, nil if unset; RefuseCommands is
	// false where unauthorised commands get no answer.
	CommandsAllow() []string
	RefuseCommands() bool
	// Language is the one in which people are spoken to.
	Language() words.Language
}

// Bindings is what intake needs of thread bindings.
type Bindings interface {
	// Peek tells through which binding a message would go; mentionFree that it
	// needs no mention of the bot.
	Peek(tx *store.Tx, at core.Address) (b core.Binding, found, mentionFree bool, err error)
	// Resolve does it: it touches the binding, or ends one whose deadline has
	// come. held says that its place cannot be written to at present.
	Resolve(tx *store.Tx, at core.Address) (b core.Binding, found, held bool, err error)
	PlaceChanged(tx *store.Tx, c core.PlaceChange) error
}

// Commands runs chat commands; command.Set is one.
type Commands interface {
	Known(name string) bool
	Run(tx *store.Tx, r command.Request) (command.Reply, error)
}

// Waiter takes a message that a run waits for.
type Waiter interface {
	MessageArrived(tx *store.Tx, row *store.Inbox) error
}

// Waker is the kernel's part that intake needs.
type Waker interface {
	Wake(session int64, lane store.Lane, urgent bool)
	Cancel(session int64, cause error) bool
}

// Poster puts messages into the outbox.
type Poster interface {
	Post(tx *store.Tx, r store.Outbox) (id int64, fresh bool, err error)
}

// Options make a Service.
type Options struct {
	World    *world.World
	DB       *store.DB
	Log      *slog.Logger
	Config   Config
	Bindings Bindings
	Commands Commands
	Waiter   Waiter
	Kernel   Waker
	Poster   Poster
	// History returns what can read an account's places, nil if nothing can.
	History func(channel, account string) core.HistoryReader
	// Guard refuses an update of an account that another node has meanwhile; nil
	// where no other node serves the store.
	Guard func(tx *store.Tx, channel, account string) error
	// OnLoop is called in the transaction of the message after which a bot is not
	// heard in a place for a while; nil for nobody to tell.
	OnLoop func(tx *store.Tx, place core.Address, bot string) error
	// Go runs the part of a command that is outside the store, in a goroutine
	// that the runtime waits for.
	Go func(func(ctx context.Context))
}

// Service is the inbound pipeline, for all accounts.
type Service struct{ Options }

// New returns a service.
func New(o Options) *Service { return &Service{o} }

// Account returns the core.Intake of one account.
func (s *Service) Account(channel, account string) core.Intake {
	return accountIntake{s, channel, account}
}

type accountIntake struct {
	s                *Service
	channel, account string
}

// Receive implements core.Intake.
func (a accountIntake) Receive(ctx context.Context, m core.Message) error {
	m.Address.Channel, m.Address.Account = a.channel, a.account
	return a.s.Receive(ctx, m)
}

// PlaceChanged implements core.Intake.
func (a accountIntake) PlaceChanged(ctx context.Context, c core.PlaceChange) error {
	c.Address.Channel, c.Address.Account = a.channel, a.account
	return a.s.PlaceChanged(ctx, c)
}

// LoadCursor implements core.Intake.
func (a accountIntake) LoadCursor(ctx context.Context, name string) (value string, err error) {
	err = a.s.DB.Read(ctx, func(tx *store.Tx) error {
		value, err = tx.Cursor(a.channel, a.account, name)
		return err
	})
	return value, err
}

// Receive takes one update. It returns after the commit; an error means that
// the update must be delivered again.
func (s *Service) Receive(ctx context.Context, m core.Message) error {
	defer s.World.Work.Begin("intake")()
	m.Text, m.Title = cleanText(m.Text), cleanText(m.Title)
	before := s.saidBefore(ctx, m)
	var after []func(ctx context.Context)
	err := s.DB.Write(ctx, func(tx *store.Tx) error {
		after = nil
		if err := s.guard(tx, m.Address); err != nil {
			return err
		}
		if err := s.saveCursor(tx, m.Address, m.Cursor); err != nil {
			return err
		}
		if m.Author.Self {
			return nil
		}
		if fresh, err := tx.InsertDedupe(dedupeKey(m), s.World.Now()); err != nil || !fresh {
			return err
		}
		run, err := s.handle(tx, m, before)
		if err != nil {
			return err
		}
		if run != nil {
			after = append(after, run)
		}
		return tx.Crash(world.IntakeBeforeCommit)
	})
	if err != nil {
		return err
	}
	for _, f := range after {
		s.Go(f)
	}
	return s.World.Crash(world.IntakeAfterCommit)
}

// dedupeKey names an update for ever.
func dedupeKey(m core.Message) string {
	key := fmt.Sprintf("%s/%s/%s", m.Address.InThread("").String(), m.ID, m.Event)
	if m.Revision != "" {
		key += "/" + m.Revision
	}
	return key
}

func (s *Service) guard(tx *store.Tx, at core.Address) error {
	if s.Guard == nil {
		return nil
	}
	return s.Guard(tx, at.Channel, at.Account)
}

func (s *Service) saveCursor(tx *store.Tx, at core.Address, c core.Cursor) error {
	if c.Name == "" && c.Value == "" {
		return nil
	}
	return tx.SetCursor(at.Channel, at.Account, c.Name, c.Value, s.World.Now())
}

// cleanText makes text storable: valid UTF-8 without NUL.
func cleanText(s string) string {
	if utf8.ValidString(s) && !strings.ContainsRune(s, 0) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// handle decides what becomes of a fresh update.
func (s *Service) handle(tx *store.Tx, m core.Message, before *past) (after func(context.Context), err error) {
	switch m.Event {
	case core.EventEdit:
		return nil, s.edited(tx, m)
	case core.EventDelete:
		return nil, s.deleted(tx, m)
	case core.EventMessage, "":
	default:
		return nil, nil // reactions and buttons have no effect in this build
	}
	b, bound, free, err := s.Bindings.Peek(tx, m.Address)
	if err != nil {
		return nil, err
	}
	cmd, isCommand := command.Parse(m.Text)
	request := s.asks(m, cmd, isCommand)
	request.Bound = free
	decision := policy.Decide(request)
	if m.Author.Bot && decision.Allowed() {
		if request.Looping, err = s.looping(tx, m); err != nil {
			return nil, err
		}
		decision = policy.Decide(request)
	}
	if !decision.Allowed() {
		s.Log.Info("a message was not taken", "address", m.Address.String(), "author", m.Author.ID, "decision", decision)
		if decision.Reason == policy.ReasonNotAddressed && !isCommand {
			return nil, s.overhear(tx, m)
		}
		return nil, nil
	}
	if over, err := s.overLimit(tx, m, cmd, isCommand); over || err != nil {
		return nil, err
	}
	if isCommand {
		return s.command(tx, m, cmd, b, bound)
	}
	if free { // what was said before went to the session already
		before = nil
	}
	return nil, s.enqueue(tx, m, before)
}

// asks is what access control is asked about a message or an edit, in a place
// that is not bound.
func (s *Service) asks(m core.Message, cmd command.Line, isCommand bool) policy.Request {
	settings := s.Config.Access(m.Address.Channel, m.Address.Account)
	event := m.Event
	if event == "" {
		event = core.EventMessage
	}
	return policy.Request{
		Author: m.Author, Roles: m.Roles, Kind: m.Kind, Event: event, Address: m.Address, Guild: m.Guild,
		Mentioned: m.Mentioned || settings.Mentions(m.Text), Command: commandForm(cmd, isCommand, m), Settings: settings,
	}
}

// commandForm says whom a command addresses, by the name after its '@'.
func commandForm(cmd command.Line, isCommand bool, m core.Message) policy.CommandForm {
	switch {
	case !isCommand:
		return policy.NotCommand
	case cmd.Bot == "":
		return policy.CommandBare
	case m.Mentioned:
		return policy.CommandToUs
	}
	return policy.CommandToOther
}

// destination is the session that a conversation leads to.
type destination struct {
	key     core.SessionKey
	agent   string
	session store.Session // its ID is 0 if the session does not exist yet
}

// locate finds the session of an unbound place.
func (s *Service) locate(tx *store.Tx, m core.Message) (d destination, err error) {
	if m.Kind == core.Group {
		d.agent = s.Config.PlaceAgent(m.Address, m.Guild)
	}
	if d.agent == "" {
		d.agent, _ = s.Config.Router().Route(MatchOf(m))
	}
	if m.Kind == core.Direct {
		d.key = core.DirectKey(d.agent, s.Config.DirectScope(), m.Address, m.Author.ID)
	} else {
		d.key = core.GroupKey(d.agent, m.Address)
	}
	d.session, err = tx.SessionByKey(d.key.String())
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return d, err
}

// command runs a chat command and queues its one reply.
func (s *Service) command(tx *store.Tx, m core.Message, cmd command.Line, b core.Binding, bound bool) (func(context.Context), error) {
	sender := policy.Sender(m.Address.Channel, m.Author)
	if !policy.CommandAllowed(sender, s.Config.Owners(), s.Config.CommandsAllow()) {
		return nil, s.refuseCommand(tx, m, sender)
	}
	d, err := s.locate(tx, m)
	if err != nil {
		return nil, err
	}
	if bound {
		if d.session, err = tx.SessionByID(b.Session); err != nil {
			return nil, err
		}
		d.agent = d.session.Agent
		if key, err := core.ParseSessionKey(d.session.Key); err == nil {
			d.key = key
		}
	}
	reply, err := s.Commands.Run(tx, command.Request{
		Name: cmd.Name, Args: cmd.Args, Message: m, Actor: sender, Operator: policy.IsOwner(sender, s.Config.Owners()),
		Session: d.session, Key: d.key, AgentID: d.agent, Binding: b, Bound: bound, Now: s.World.Now(),
	})
	var refusal *core.Error
	switch {
	case errors.As(err, &refusal) && !strings.HasPrefix(refusal.Code, "store_"):
		reply = command.Reply{Text: command.Fit(s.Config.Language().Refusal(refusal))}
	case err != nil:
		return nil, err
	}
	if reply.Silent || reply.Text == "" {
		return reply.After, nil
	}
	return reply.After, s.reply(tx, m, reply.Text)
}

// reply answers a command where it was written.
func (s *Service) reply(tx *store.Tx, m core.Message, text string) error {
	_, _, err := s.Poster.Post(tx, store.Outbox{
		OnceKey: "command/" + dedupeKey(m), Kind: store.OutCommand, Address: m.Address, Anchor: m.ID, Text: text,
		Owner: policy.Sender(m.Address.Channel, m.Author), At: s.World.Now(),
	})
	return err
}

// refuseEvery is how often one person is told that commands are not theirs.
const refuseEvery = time.Hour

func (s *Service) refuseCommand(tx *store.Tx, m core.Message, sender string) error {
	s.Log.Info("a command was refused", "address", m.Address.String(), "author", m.Author.ID)
	if !s.Config.RefuseCommands() {
		return nil
	}
	now := s.World.Now()
	first, err := tx.FirstNotice("command-refused/"+sender, now, now.Add(-refuseEvery))
	if err != nil || !first {
		return err
	}
	return s.reply(tx, m, s.Config.Language().CommandNotAllowed())
}

// enqueue puts a message into the inbox of its session.
func (s *Service) enqueue(tx *store.Tx, m core.Message, before *past) error {
	now := s.World.Now()
	b, bound, held, err := s.Bindings.Resolve(tx, m.Address)
	if err != nil {
		return err
	}
	session, err := s.session(tx, m, b, bound, now)
	if err != nil {
		return err
	}
	item := said(m, now)
	row := store.Inbox{
		Session: session.ID, Kind: store.InboxMessage, Lane: store.LaneMain, ReplyTo: m.Address, Anchor: m.ID,
		Policy: s.Config.PolicyOf(m), Owner: policy.Sender(m.Address.Channel, m.Author), Source: store.SourceOf(m.Address, m.ID), Body: item.Encode(), At: now,
	}
	if session.Waits > 0 {
		if err := s.Waiter.MessageArrived(tx, &row); err != nil {
			return err
		}
	}
	rules := s.Config.Queue(m.Address.Channel, m.Address.Account)
	if session.QueueMode != "" { // /queue chose another
		rules.Mode = kernel.QueueMode(session.QueueMode)
	}
	if held {
		row.State = store.InboxHeld
	} else if session.Ready || session.Owner != "" { // something may wait already
		if dropped, err := s.overflow(tx, rules, row, m.Text); dropped || err != nil {
			return err
		}
	}
	if item.Context, err = s.background(tx, m, before); err != nil {
		return err
	}
	row.Body = item.Encode()
	if _, err := tx.InsertInbox(row); err != nil {
		return err
	}
	if held {
		return nil
	}
	if err := tx.MarkReady(session.ID, now); err != nil {
		return err
	}
	tx.OnCommit(func() {
		if rules.Mode == kernel.QueueInterrupt {
			s.Kernel.Cancel(session.ID, kernel.ErrInterrupted)
		}
		s.Kernel.Wake(session.ID, store.LaneMain, false)
	})
	return nil
}

// session returns the session that a message goes to, creating it if needed.
func (s *Service) session(tx *store.Tx, m core.Message, b core.Binding, bound bool, now core.Millis) (store.Session, error) {
	if bound {
		return tx.SessionByID(b.Session)
	}
	d, err := s.locate(tx, m)
	if err != nil {
		return d.session, err
	}
	if d.session.ID != 0 && d.session.ArchivedAt == 0 {
		return s.renew(tx, d.session, m, now)
	}
	return tx.EnsureSession(store.Session{
		Key: d.key.String(), Agent: d.agent, Kind: d.key.Kind, Address: m.Address, Title: m.Title, CreatedAt: now, UsedAt: now,
	})
}

// PlaceChanged takes an event of a conversation or thread.
func (s *Service) PlaceChanged(ctx context.Context, c core.PlaceChange) error {
	defer s.World.Work.Begin("intake")()
	return s.DB.Write(ctx, func(tx *store.Tx) error {
		if err := s.guard(tx, c.Address); err != nil {
			return err
		}
		if err := s.saveCursor(tx, c.Address, c.Cursor); err != nil {
			return err
		}
		if c.ID != "" {
			key := fmt.Sprintf("%s/%s/place", c.Address.String(), c.ID)
			if fresh, err := tx.InsertDedupe(key, s.World.Now()); err != nil || !fresh {
				return err
			}
		}
		if c.Event == core.PlaceMigrated {
			c.To.Channel, c.To.Account = c.Address.Channel, c.Address.Account
			if err := tx.MigrateConversation(c.Address, c.To); err != nil {
				return err
			}
		}
		if err := s.Bindings.PlaceChanged(tx, c); err != nil {
			return err
		}
		return tx.Crash(world.IntakeBeforeCommit)
	})
}
