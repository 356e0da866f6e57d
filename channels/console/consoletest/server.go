// Package consoletest is the test server of the console channel: a
// testserver.Server that serves a hub in memory over HTTP on the loopback
// interface, with faults, a record of all requests and virtual time.
//
// Names map to ids like this. A person's id is the name. The conversation
// "dm:alice" is the direct chat of alice; any other is a group of that id, also
// "main", which on a terminal is a direct chat. Direct chats of an account other
// than "default" have the account and a slash before that. Thread ids are
// those of the hub: t1, t2, ...
//
// People may do everything to threads, also write in locked ones. Anybody may
// write in a direct chat; the author is who wrote.
package consoletest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core"
)

// Server is the test server. Start creates it; Close ends it.
type Server struct {
	testserver.Recorder
	clock    core.Clock
	hub      *console.Hub
	tracker  *testserver.Tracker
	faults   testserver.Faults
	listener net.Listener
	http     http.Server
	served   chan struct{} // closed when the listener's goroutine has ended

	mu    sync.Mutex
	moved map[string]string // conversations that were migrated, to their new ids
	polls *updates
}

var _ testserver.Server = (*Server)(nil)

// Start starts a server for a harness; it is a testserver.New.
func Start(o testserver.Options) (testserver.Server, error) { return New(o) }

// New starts a server on a free port of the loopback interface.
func New(o testserver.Options) (*Server, error) {
	hub, err := console.Open(console.Options{Clock: o.Clock, Bare: true})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, hub.Close())
	}
	s := &Server{
		clock: o.Clock, hub: hub, listener: listener, served: make(chan struct{}),
		moved: make(map[string]string),
	}
	s.tracker = testserver.NewTracker("console", o.Work, func(account string) int { return len(hub.Pending(account)) })
	s.polls = newUpdates(hub, s.tracker, &s.faults)
	s.http.Handler = s.handler()
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // ends with Close
	}()
	return s, nil
}

// Hub returns the platform behind the server, for what the channel-neutral
// interface does not have.
func (s *Server) Hub() *console.Hub { return s.hub }

// URL returns the server's apiRoot.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Channel implements testserver.Harness.
func (s *Server) Channel() string { return console.Channel }

// Config implements testserver.Harness.
func (s *Server) Config(string) map[string]any { return map[string]any{"apiRoot": s.URL()} }

// UserID implements testserver.Harness.
func (s *Server) UserID(name string) string { return name }

// Up implements testserver.Harness.
func (s *Server) Up() { s.tracker.Up() }

// Down implements testserver.Harness.
func (s *Server) Down() { s.tracker.Down() }

// Moved implements testserver.Harness.
func (s *Server) Moved() { s.tracker.Moved() }

// Close implements testserver.Harness.
func (s *Server) Close() error {
	err := s.http.Close()
	s.tracker.Down()
	<-s.served
	return errors.Join(err, s.hub.Close())
}

// Address implements testserver.Harness.
func (s *Server) Address(at testserver.Place) core.Address {
	return core.Address{
		Channel: console.Channel, Account: account(at), Conversation: s.conversationID(at), Thread: at.Thread,
	}
}

func account(at testserver.Place) string { return cmp.Or(at.Account, console.DefaultAccount) }

// direct returns the person of a direct chat, by the name of the place.
func direct(at testserver.Place) (peer string, ok bool) {
	return strings.CutPrefix(at.Conversation, "dm:")
}

// conversationID returns the hub's id of a place, wherever it has moved.
func (s *Server) conversationID(at testserver.Place) string {
	id := at.Conversation
	if _, ok := direct(at); ok && account(at) != console.DefaultAccount {
		id = account(at) + "/" + id
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.moved[id] != "" {
		id = s.moved[id]
	}
	return id
}

// enter returns the id of a place's conversation, which it creates if need be,
// and lets the account take part.
func (s *Server) enter(at testserver.Place) (string, error) {
	peer, ok := direct(at)
	if ok {
		return s.open(at, core.Direct, peer)
	}
	return s.open(at, core.Group, "")
}

func (s *Server) open(at testserver.Place, kind core.ConversationKind, peer string) (string, error) {
	id := s.conversationID(at)
	err := s.hub.OpenConversation(console.Conversation{
		ID: id, Kind: kind, Peer: peer, Title: at.Conversation, Accounts: []string{account(at)},
	})
	return id, err
}

// SetPlace implements testserver.People. A direct chat is one with the person
// of the conversation's name.
func (s *Server) SetPlace(at testserver.Place, kind testserver.PlaceKind) error {
	if kind != testserver.KindDirect {
		_, err := s.open(at, core.Group, "")
		return err
	}
	_, err := s.open(at, core.Direct, strings.TrimPrefix(at.Conversation, "dm:"))
	return err
}

func user(u testserver.User) console.User { return console.User{ID: u.Name, Bot: u.Bot} }

// Post implements testserver.People.
func (s *Server) Post(ctx context.Context, p testserver.Post) (testserver.Ref, error) {
	id, err := s.enter(p.At)
	if err != nil {
		return testserver.Ref{}, err
	}
	r := console.Post{By: user(p.By), Conversation: id, Thread: p.At.Thread, Text: p.Text}
	if p.Command {
		r.Text = "/" + p.Text
	}
	if p.Command || strings.Contains(p.Text, "@bot") {
		r.Mentions = []string{account(p.At)}
	}
	if p.ReplyTo != nil {
		r.ReplyTo = p.ReplyTo.ID
	}
	if p.File != nil {
		kind := mime.TypeByExtension(filepath.Ext(p.File.Name))
		r.Files, r.Contents = []console.File{{Name: p.File.Name, Type: kind, Size: int64(len(p.File.Data))}}, [][]byte{p.File.Data}
	}
	m, err := s.hub.Post(ctx, r)
	s.changed()
	return testserver.Ref{Place: p.At, ID: m.ID}, err
}

// changed recounts the updates of all accounts.
func (s *Server) changed() { s.tracker.Changed(s.accounts()...) }

// accounts returns every account that takes part in a conversation.
func (s *Server) accounts() []string {
	list, err := s.hub.Conversations(context.Background(), console.Done{})
	if err != nil {
		return nil
	}
	var names []string
	for _, conv := range list.Conversations {
		names = slices.Concat(names, conv.Accounts, conv.Kicked)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (s *Server) change(ctx context.Context, r console.MessageChange) error {
	defer s.changed()
	_, err := s.hub.Change(ctx, r)
	return err
}

// Edit implements testserver.People.
func (s *Server) Edit(ctx context.Context, by testserver.User, m testserver.Ref, text string) error {
	return s.change(ctx, console.MessageChange{By: user(by), ID: m.ID, Op: console.OpEdit, Text: text})
}

// Delete implements testserver.People.
func (s *Server) Delete(ctx context.Context, by testserver.User, m testserver.Ref) error {
	return s.change(ctx, console.MessageChange{By: user(by), ID: m.ID, Op: console.OpDelete})
}

// React implements testserver.People.
func (s *Server) React(ctx context.Context, by testserver.User, m testserver.Ref, emoji string) error {
	return s.change(ctx, console.MessageChange{By: user(by), ID: m.ID, Op: console.OpReact, Text: emoji})
}

// Press implements testserver.People.
func (s *Server) Press(ctx context.Context, by testserver.User, at testserver.Place, label string) error {
	for _, m := range slices.Backward(s.messages(at)) {
		if slices.Contains(m.Buttons, label) {
			return s.change(ctx, console.MessageChange{By: user(by), ID: m.ID, Op: console.OpPress, Text: label})
		}
	}
	return fmt.Errorf("there is no button [%s] at %s", label, at)
}

// OpenTopic implements testserver.People.
func (s *Server) OpenTopic(ctx context.Context, by testserver.User, at testserver.Place, title string) (string, error) {
	id, err := s.enter(at)
	if err != nil {
		return "", err
	}
	t, err := s.hub.OpenTopic(ctx, console.TopicRequest{By: user(by), Conversation: id, Title: title})
	return t.ID, err
}

// ChangeThread implements testserver.Moderator.
func (s *Server) ChangeThread(ctx context.Context, at testserver.Place, op testserver.ThreadOp, title string) error {
	defer s.changed()
	_, err := s.hub.ChangeThread(ctx, console.ThreadChange{Thread: at.Thread, Op: console.ThreadOp(op), Title: title})
	return err
}

// Migrate implements testserver.Moderator.
func (s *Server) Migrate(_ context.Context, at testserver.Place) error {
	id, err := s.enter(at)
	if err != nil {
		return err
	}
	to, err := s.hub.Migrate(id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.moved[id] = to
	s.mu.Unlock()
	s.changed()
	return nil
}

// Kick implements testserver.Moderator.
func (s *Server) Kick(_ context.Context, at testserver.Place) error {
	id, err := s.enter(at)
	if err != nil {
		return err
	}
	defer s.changed()
	return s.hub.Kick(account(at), id)
}

// Permit implements testserver.Moderator.
func (s *Server) Permit(_ context.Context, at testserver.Place) error {
	defer s.changed()
	return s.hub.Permit(account(at), s.conversationID(at))
}

// Messages implements testserver.View.
func (s *Server) Messages(at testserver.Place) []testserver.Seen {
	var list []testserver.Seen
	own := console.BotID(account(at))
	for _, m := range s.messages(at) {
		if m.By.ID != own && strings.HasPrefix(m.By.ID, console.BotID("")) {
			continue // another account's
		}
		var files []string
		for _, f := range m.Files {
			files = append(files, f.Name)
		}
		list = append(list, testserver.Seen{
			ID: m.ID, By: cmp.Or(m.Persona, m.By.ID), Own: m.By.ID == own,
			Text: testserver.Render(m.Text, m.Buttons, files), At: m.At.Time(),
		})
	}
	return list
}

// messages returns the living messages of a place in order of posting. Looking
// at a place counts as its use.
func (s *Server) messages(at testserver.Place) []console.Message {
	id, err := s.enter(at)
	if err != nil {
		return nil
	}
	feed, err := s.hub.Feed(context.Background(), console.FeedRequest{Conversation: id, Only: true, Thread: at.Thread})
	if err != nil {
		return nil
	}
	list := slices.DeleteFunc(feed.Messages, func(m console.Message) bool { return m.Deleted })
	slices.SortFunc(list, func(a, b console.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return list
}

// Threads implements testserver.View.
func (s *Server) Threads(at testserver.Place) []testserver.Thread {
	id, err := s.enter(at)
	if err != nil {
		return nil
	}
	all, err := s.hub.Threads(context.Background(), console.ThreadsRequest{Conversation: id})
	if err != nil {
		return nil
	}
	var list []testserver.Thread
	for _, t := range all.Threads {
		list = append(list, testserver.Thread{ID: t.ID, Title: t.Title, Archived: t.Archived, Locked: t.Locked})
	}
	return list
}

// Raw implements testserver.Trouble: data is a console.Event as JSON.
func (s *Server) Raw(account string, data []byte) error {
	var ev console.Event
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&ev); err != nil {
		return fmt.Errorf("not a console event: %w", err)
	}
	return s.inject(cmp.Or(account, console.DefaultAccount), ev)
}

func (s *Server) inject(account string, events ...console.Event) error {
	defer s.tracker.Changed(account)
	return s.hub.Inject(account, events...)
}
