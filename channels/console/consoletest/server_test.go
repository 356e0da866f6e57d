package consoletest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/channeltest"
	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/channels/console/consoletest"
	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
)

// work counts as the world of conversation tests does.
type work struct {
	mu      sync.Mutex
	n       int
	changed chan struct{}
}

func (w *work) Add(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n += n
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

func (w *work) Begin(string) (done func()) {
	w.Add(1)
	return func() { w.Add(-1) }
}

func (w *work) Park() (unpark func()) {
	w.Add(-1)
	return func() { w.Add(1) }
}

// count returns the count now.
func (w *work) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

// wait blocks until the count is want.
func (w *work) wait(t *testing.T, want int) {
	t.Helper()
	late := time.After(10 * time.Second)
	for {
		w.mu.Lock()
		n := w.n
		if w.changed == nil {
			w.changed = make(chan struct{})
		}
		changed := w.changed
		w.mu.Unlock()
		if n == want {
			return
		}
		select {
		case <-changed:
		case <-late:
			require.FailNow(t, "the count does not get there", "%d instead of %d", n, want)
		}
	}
}

func start() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// bench is a server in virtual time and an adapter on it.
type bench struct {
	*testing.T
	*consoletest.Server
	work    *work
	clock   *clock.Virtual
	inbox   *channeltest.Inbox
	adapter *console.Adapter
	client  *http.Client
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, work: new(work), inbox: new(channeltest.Inbox), client: &http.Client{Transport: &http.Transport{}}}
	b.clock = clock.NewVirtual(start(), b.work)
	server, err := consoletest.New(testserver.Options{Clock: b.clock, Work: b.work})
	require.NoError(t, err)
	b.Server = server
	b.adapter = console.NewAdapter(console.NewClient(server.URL(), "", b.client), "default", b.clock)
	t.Cleanup(func() {
		b.client.CloseIdleConnections()
		require.NoError(t, server.Close())
		require.Zero(t, b.work.count(), "work is left")
	})
	return b
}

// run runs the adapter until stop is called.
func (b *bench) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			_ = b.adapter.Run(ctx, b.inbox)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

func team() testserver.Place { return testserver.Place{Conversation: "team"} }

func alice() testserver.User { return testserver.User{Name: "alice"} }

func (b *bench) say(at testserver.Place, text string) testserver.Ref {
	b.Helper()
	ref, err := b.Post(b.Context(), testserver.Post{By: alice(), At: at, Text: text})
	require.NoError(b, err)
	return ref
}

func (b *bench) send(at testserver.Place, text string) error {
	_, err := b.adapter.Send(b.Context(), core.Outgoing{Address: b.Address(at), Text: text, Key: text})
	return err
}

func TestUpdatesCountUntilAcknowledged(t *testing.T) {
	b := newBench(t)
	b.say(team(), "one")
	require.Equal(t, 1, b.work.count(), "the runtime is expected to poll soon")
	hold := make(chan struct{})
	b.inbox.Refuse(func(channeltest.Delivery) error {
		<-hold
		return nil
	})
	stop := b.run()
	require.Equal(t, 1, b.work.count())
	close(hold)
	b.inbox.WaitMessages(t, 1)
	b.work.wait(t, 0)
	stop()
}

func TestNothingCountsWhileDown(t *testing.T) {
	b := newBench(t)
	stop := b.run()
	b.say(team(), "one")
	b.inbox.WaitMessages(t, 1)
	b.work.wait(t, 0)
	stop()
	b.Down()
	b.say(team(), "two")
	require.Zero(t, b.work.count())
	b.Up()
	require.Equal(t, 1, b.work.count())
	stop = b.run()
	b.inbox.WaitMessages(t, 2)
	b.work.wait(t, 0)
	stop()
}

// TestAFailedPollDoesNotCountForLong: a runtime that waits on the clock for its
// next attempt is quiet.
func TestAFailedPollDoesNotCountForLong(t *testing.T) {
	b := newBench(t)
	stop := b.run()
	b.say(team(), "one")
	b.inbox.WaitMessages(t, 1)
	b.work.wait(t, 0)
	stop()
	require.NoError(t, b.Fault(testserver.Fault{Method: "poll", Kind: testserver.FaultFail, Status: 500}))
	require.Error(t, b.adapter.Run(t.Context(), b.inbox))
	b.say(team(), "two")
	b.work.wait(t, 0)
	stop = b.run()
	b.inbox.WaitMessages(t, 2)
	stop()
}

// TestAFaultOfPollReachesAPollThatWaits, so that a script sees it now.
func TestAFaultOfPollReachesAPollThatWaits(t *testing.T) {
	b := newBench(t)
	failed := make(chan error)
	go func() { failed <- b.adapter.Run(t.Context(), b.inbox) }()
	b.say(team(), "one")
	b.inbox.WaitMessages(t, 1)
	require.NoError(t, b.Fault(testserver.Fault{Method: "poll", Kind: testserver.FaultFail, Status: 401}))
	class, _ := core.ClassifySend(<-failed)
	require.Equal(t, core.SendAuth, class)
}

// TestSlowWaitsOnTheClock: while a slow request waits, the world is quiet.
func TestSlowWaitsOnTheClock(t *testing.T) {
	b := newBench(t)
	b.say(team(), "hi")
	require.NoError(t, b.Hub().Acknowledge(console.PollRequest{Account: "default", After: b.Hub().Pending("default")[0].Seq}))
	stop := b.run()
	b.work.wait(t, 0)
	require.NoError(t, b.Fault(testserver.Fault{Method: "send", Kind: testserver.FaultSlow, After: 2 * time.Second, Times: 2}))

	caller := b.work.Begin("the outbox")
	sent := make(chan error)
	go func() { sent <- b.send(team(), "slow") }()
	b.work.wait(t, 0)
	require.Len(t, b.Messages(team()), 1, "not done yet")
	b.clock.AdvanceTo(start().Add(2 * time.Second))
	require.NoError(t, <-sent)
	require.Len(t, b.Messages(team()), 2)

	// A caller that is killed meanwhile: what arrived takes effect.
	ctx, kill := context.WithCancel(context.Background())
	go func() {
		_, err := b.adapter.Send(ctx, core.Outgoing{Address: b.Address(team()), Text: "killed", Key: "killed"})
		sent <- err
	}()
	b.work.wait(t, 0)
	kill()
	class, _ := core.ClassifySend(<-sent)
	require.Equal(t, core.SendAmbiguous, class)
	stop()
	caller()
	b.Down()
	require.Zero(t, b.work.count())
	require.Len(t, b.Messages(team()), 3)
}

func TestSlowPoll(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.Fault(testserver.Fault{Method: "poll", Kind: testserver.FaultSlow, After: time.Minute}))
	b.say(team(), "one")
	stop := b.run()
	b.work.wait(t, 0)
	require.Empty(t, b.inbox.Messages())
	b.clock.AdvanceTo(start().Add(time.Minute))
	b.inbox.WaitMessages(t, 1)
	stop()
}

func TestFaultsAndRecord(t *testing.T) {
	b := newBench(t)
	b.say(team(), "hi")
	require.NoError(t, b.Fault(testserver.Fault{Method: "send", Kind: testserver.FaultFail, Status: 500, Times: 2}))
	require.Error(t, b.send(team(), "a"))
	require.Error(t, b.send(team(), "a"))
	require.NoError(t, b.send(team(), "a"))
	require.NoError(t, b.Fault(testserver.Fault{Method: "open-thread", Kind: testserver.FaultOKLost}))
	request := core.ChildRequest{Parent: b.Address(team()), Title: "cats", Intent: "i1"}
	_, _, err := b.adapter.OpenChild(t.Context(), request)
	class, _ := core.ClassifySend(err)
	require.Equal(t, core.SendAmbiguous, class)
	_, _, found, err := b.adapter.FindChild(t.Context(), request)
	require.NoError(t, err)
	require.True(t, found, "done, but the answer was lost")

	recorded := b.Requests(0)
	require.Len(t, recorded, 5)
	for n, r := range recorded {
		require.Equal(t, n, r.N)
		require.Equal(t, start(), r.At)
	}
	require.True(t, recorded[3].Is("open-child"))
	require.True(t, recorded[3].Is("open-thread"))
	var opened console.OpenRequest
	require.NoError(t, json.Unmarshal(recorded[3].JSON, &opened))
	require.Equal(t, console.OpenRequest{Account: "default", Conversation: "team", Title: "cats", Intent: "i1"}, opened)
	require.Len(t, b.Requests(4), 1)
	require.Empty(t, b.Requests(99))

	require.ErrorContains(t, b.Fault(testserver.Fault{Method: "dance", Kind: testserver.FaultFail, Status: 500}), "dance")
	require.ErrorContains(t, b.Fault(testserver.Fault{Method: "send", Kind: testserver.FaultFail, Status: 200}), "200")
}

func TestReorderWhileDown(t *testing.T) {
	b := newBench(t)
	require.Error(t, b.Dup())
	b.say(team(), "one")
	require.Error(t, b.Reorder())
	b.say(team(), "two")
	require.NoError(t, b.Reorder())
	stop := b.run()
	got := b.inbox.WaitMessages(t, 2)
	require.Equal(t, "two", got[0].Text)
	require.Equal(t, "one", got[1].Text)
	stop()
}

// TestRawEcho: an echo of the account's own message is marked as its own.
func TestRawEcho(t *testing.T) {
	b := newBench(t)
	stop := b.run()
	defer stop()
	b.say(team(), "hi")
	require.NoError(t, b.Raw("", []byte(`{
		"id": "e999", "kind": "message", "conversation": "team", "conversationKind": "group", "at": 1,
		"by": {"id": "bot:default", "bot": true},
		"message": {"id": "m999", "seq": 999, "conversation": "team", "by": {"id": "bot:default"}, "text": "notice", "at": 1, "changed": 999}
	}`)))
	b.inbox.Wait(t, "the echo", func() bool { return len(b.inbox.Deliveries()) == 2 })
	echo := b.inbox.Deliveries()[1].Message
	require.Equal(t, "notice", echo.Text)
	require.True(t, echo.Author.Self)
	require.Len(t, b.inbox.Messages(), 1)
	require.Error(t, b.Raw("", []byte(`{"id":"e1"}`)))
	require.Error(t, b.Raw("", []byte(`{"colour":"red"}`)))
}

func TestPlaces(t *testing.T) {
	b := newBench(t)
	second := testserver.Place{Account: "second", Conversation: "team"}
	tests := []struct {
		place, id string
		at        testserver.Place
	}{
		{"main", "main", testserver.Place{Conversation: console.Main}},
		{"second:main", "main", testserver.Place{Account: "second", Conversation: console.Main}},
		{"dm:alice", "dm:alice", testserver.Place{Account: "default", Conversation: "dm:alice"}},
		{"second:dm:alice", "second/dm:alice", testserver.Place{Account: "second", Conversation: "dm:alice"}},
		{"team/t1", "team", testserver.Place{Conversation: "team", Thread: "t1"}},
		{"second:team", "team", second},
	}
	for _, tt := range tests {
		require.Equal(t, tt.place, tt.at.String())
		require.Equal(t, tt.id, b.Address(tt.at).Conversation)
		require.Equal(t, tt.at.Thread, b.Address(tt.at).Thread)
	}
	b.say(team(), "only the first bot is here")
	require.Len(t, b.Messages(second), 1, "from now on the second is, too")
	b.say(team(), "both")
	require.Len(t, b.Hub().Pending("default"), 2)
	require.Len(t, b.Hub().Pending("second"), 1)

	require.NoError(t, b.SetPlace(testserver.Place{Conversation: "alice"}, testserver.KindDirect))
	require.NoError(t, b.SetPlace(testserver.Place{Conversation: "news"}, testserver.KindForum))
	list, err := b.Hub().Conversations(t.Context(), console.Done{})
	require.NoError(t, err)
	kinds := map[string]core.ConversationKind{}
	for _, conv := range list.Conversations {
		kinds[conv.ID] = conv.Kind
	}
	require.Equal(t, map[string]core.ConversationKind{
		"team": core.Group, "alice": core.Direct, "news": core.Group,
	}, kinds)
	b.Down()
}

func TestWhatAPersonSees(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	main := testserver.Place{Conversation: console.Main}
	first := b.say(main, "hi")
	_, err := b.Hub().Send(ctx, console.SendRequest{
		Account: "default", Conversation: console.Main, Text: "Pick one", Buttons: []string{"Yes", "No"},
		Files: []console.File{{Name: "a.pdf"}}, Persona: "cats",
	})
	require.NoError(t, err)
	preview, err := b.Hub().Send(ctx, console.SendRequest{Account: "default", Conversation: console.Main, Text: "draft"})
	require.NoError(t, err)
	_, err = b.Hub().Send(ctx, console.SendRequest{Account: "default", Conversation: console.Main, Files: []console.File{{Name: "b.png"}}})
	require.NoError(t, err)
	_, err = b.Hub().Edit(ctx, console.EditRequest{Account: "default", ID: preview.ID, Text: "final"})
	require.NoError(t, err)

	reader := testserver.NewReader(b)
	unseen := reader.Unseen(main)
	var texts []string
	for _, m := range unseen {
		require.True(t, m.Own)
		require.Equal(t, start(), m.At)
		texts = append(texts, m.Text)
	}
	require.Equal(t, []string{"Pick one\n[Yes] [No] [a.pdf]", "final", "[b.png]"}, texts, "an edit does not move a message")
	require.Equal(t, "cats", unseen[0].By)
	reader.Consume(main, unseen[0], unseen[2])
	require.Equal(t, unseen[1:2], reader.Unseen(main))

	require.NoError(t, b.Press(ctx, alice(), main, "No"))
	require.ErrorContains(t, b.Press(ctx, alice(), main, "Maybe"), "[Maybe]")
	require.NoError(t, b.Delete(ctx, alice(), first))
	require.True(t, b.Messages(main)[0].Own, "her message is gone")

	topic, err := b.OpenTopic(ctx, alice(), main, "cats")
	require.NoError(t, err)
	in := testserver.Place{Conversation: console.Main, Thread: topic}
	require.NoError(t, b.ChangeThread(ctx, in, testserver.ThreadArchive, ""))
	require.NoError(t, b.ChangeThread(ctx, in, testserver.ThreadLock, ""))
	require.Equal(t, []testserver.Thread{{ID: topic, Title: "cats", Archived: true, Locked: true}}, b.Threads(main))
	require.NoError(t, b.ChangeThread(ctx, in, testserver.ThreadDelete, ""))
	require.Empty(t, b.Threads(main))
	b.Down()
}

func TestWhatAPersonSends(t *testing.T) {
	b := newBench(t)
	stop := b.run()
	defer stop()
	_, err := b.Post(t.Context(), testserver.Post{By: alice(), At: team(), Text: "focus cats", Command: true})
	require.NoError(t, err)
	_, err = b.Post(t.Context(), testserver.Post{By: alice(), At: team(), File: &testserver.File{Name: "a.txt", Data: []byte("hello")}})
	require.NoError(t, err)
	got := b.inbox.WaitMessages(t, 2)
	require.Equal(t, "/focus cats", got[0].Text)
	require.True(t, got[0].Mentioned, "a native command is for the bot")
	require.Len(t, got[1].Attachments, 1)
	file := got[1].Attachments[0]
	require.Equal(t, "a.txt", file.Name)
	require.Equal(t, int64(5), file.Size)
	require.Contains(t, file.Type, "text/plain")
}

// TestEverythingAtOnce is for the race detector.
func TestEverythingAtOnce(t *testing.T) {
	b := newBench(t)
	stop := b.run()
	b.say(team(), "hi")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				_, _ = b.Post(context.Background(), testserver.Post{By: alice(), At: team(), Text: "x"})
				_ = b.Dup()
				_ = b.Reorder()
				_ = b.Fault(testserver.Fault{Method: "poll", Kind: testserver.FaultOKLost})
				b.Messages(team())
				b.Requests(0)
			}
		})
	}
	all.Go(func() {
		for range 10 {
			b.Down()
			b.Up()
		}
	})
	all.Wait()
	b.inbox.WaitMessages(t, 41)
	b.work.wait(t, 0)
	stop()
}
