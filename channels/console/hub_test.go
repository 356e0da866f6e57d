package console_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noWork is a counter for a virtual clock that nobody waits for.
type noWork struct{}

func (noWork) Add(int) {}

// start is the time at which virtual clocks of these tests begin.
func start() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// openHub returns a hub in memory with the group "team", on a virtual clock.
func openHub(t *testing.T) (*console.Hub, *clock.Virtual) {
	t.Helper()
	c := clock.NewVirtual(start(), noWork{})
	h, err := console.Open(console.Options{Clock: c})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	require.NoError(t, h.OpenConversation(console.Conversation{
		ID: "team", Kind: core.Group, Title: "The team", Accounts: []string{"default", "second"},
	}))
	return h, c
}

func post(t *testing.T, h console.People, who, conversation, thread, text string) console.Message {
	t.Helper()
	m, err := h.Post(context.Background(), console.Post{
		By: console.User{ID: who}, Conversation: conversation, Thread: thread, Text: text,
	})
	require.NoError(t, err)
	return m
}

func send(t *testing.T, h console.Backend, r console.SendRequest) string {
	t.Helper()
	if r.Account == "" {
		r.Account = "default"
	}
	sent, err := h.Send(context.Background(), r)
	require.NoError(t, err)
	require.NotEmpty(t, sent.ID)
	return sent.ID
}

func open(t *testing.T, h console.Backend, conversation, title, intent string) console.Thread {
	t.Helper()
	thread, err := h.OpenThread(context.Background(), console.OpenRequest{
		Account: "default", Conversation: conversation, Title: title, Intent: intent,
	})
	require.NoError(t, err)
	return thread
}

// poll returns the texts or changes of what the account has not acknowledged,
// and the cursor that acknowledges them.
func poll(t *testing.T, h console.Backend, account string, after uint64) (seen []string, cursor uint64) {
	t.Helper()
	got, err := h.Poll(context.Background(), console.PollRequest{Account: account, After: after})
	require.NoError(t, err)
	for _, u := range got.Updates {
		require.Greater(t, u.Seq, cursor)
		cursor = u.Seq
		ev := u.Event
		switch {
		case ev.Change != "":
			seen = append(seen, string(ev.Change)+" "+ev.Conversation+"/"+ev.Thread)
		default:
			seen = append(seen, string(ev.Kind)+" "+ev.Message.Text)
		}
	}
	return seen, cursor
}

// status returns the status of a refusal, 0 for no error.
func status(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	refusal := new(console.Error)
	require.ErrorAs(t, err, &refusal)
	return refusal.Status
}

func TestUpdatesStayUntilAcknowledged(t *testing.T) {
	h, _ := openHub(t)
	post(t, h, "alice", "team", "", "one")
	post(t, h, "bob", "team", "", "two")

	seen, first := poll(t, h, "default", 0)
	require.Equal(t, []string{"message one", "message two"}, seen)
	again, second := poll(t, h, "default", 0)
	require.Equal(t, seen, again)
	require.Equal(t, first, second)

	post(t, h, "bob", "team", "", "three")
	seen, _ = poll(t, h, "default", first)
	require.Equal(t, []string{"message three"}, seen)
	seen, _ = poll(t, h, "second", 0)
	require.Len(t, seen, 3, "each account has its own queue")
}

func TestACursorOfAnotherHubAcknowledgesNothing(t *testing.T) {
	h, _ := openHub(t)
	post(t, h, "alice", "team", "", "one")
	seen, _ := poll(t, h, "default", 1<<40)
	require.Equal(t, []string{"message one"}, seen)
}

// TestLargeBatches: a poll answers with what one can digest.
func TestLargeBatches(t *testing.T) {
	h, _ := openHub(t)
	for range console.MaxUpdates + 1 {
		post(t, h, "alice", "team", "", "small")
	}
	seen, cursor := poll(t, h, "default", 0)
	require.Len(t, seen, console.MaxUpdates)
	for range 3 {
		post(t, h, "alice", "team", "", strings.Repeat("x", 800<<10))
	}
	seen, cursor = poll(t, h, "default", cursor)
	require.Len(t, seen, 3, "one small, two large")
	seen, _ = poll(t, h, "default", cursor)
	require.Len(t, seen, 1)
}

func TestPollWaits(t *testing.T) {
	h, _ := openHub(t)
	got := make(chan console.Updates)
	go func() {
		updates, err := h.Poll(context.Background(), console.PollRequest{Account: "default"})
		if err == nil {
			got <- updates
		}
	}()
	post(t, h, "alice", "team", "", "hello")
	require.Len(t, (<-got).Updates, 1)
}

func TestANewerPollEndsAnOlderOne(t *testing.T) {
	h, _ := openHub(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	for range 2 {
		go func() {
			_, err := h.Poll(ctx, console.PollRequest{Account: "default"})
			ended <- err
		}()
	}
	require.Equal(t, http.StatusConflict, status(t, <-ended), "whichever came first")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// overtaken is a backend whose first polls are ended by another client.
type overtaken struct {
	console.Backend
	times int
}

func (o *overtaken) Poll(ctx context.Context, r console.PollRequest) (console.Updates, error) {
	if o.times > 0 {
		o.times--
		return console.Updates{}, &console.Error{Status: http.StatusConflict, Code: console.CodeSuperseded}
	}
	return o.Backend.Poll(ctx, r)
}

// TestAPollOfTheDeadIsOvertaken: what a process that was killed had on its way
// does not cost the next one the account; another one that lives does.
func TestAPollOfTheDeadIsOvertaken(t *testing.T) {
	h, c := openHub(t)
	post(t, h, "alice", "team", "", "hello")
	err := console.NewAdapter(&overtaken{h, 1}, "default", c).Run(context.Background(), emptyIntake{})
	require.ErrorIs(t, err, errFull, "it receives")
	err = console.NewAdapter(&overtaken{h, 2}, "default", c).Run(context.Background(), emptyIntake{})
	class, _ := core.ClassifySend(err)
	require.Equal(t, core.SendConflict, class)
}

// TestOfTwoProcessesOneKeepsTheAccount: they do not take it from each other for
// ever.
func TestOfTwoProcessesOneKeepsTheAccount(t *testing.T) {
	h, c := openHub(t)
	ended := make(chan error)
	for range 2 {
		go func() { ended <- console.NewAdapter(h, "default", c).Run(context.Background(), emptyIntake{}) }()
	}
	class, _ := core.ClassifySend(<-ended)
	require.Equal(t, core.SendConflict, class)
	post(t, h, "alice", "team", "", "hello")
	require.ErrorIs(t, <-ended, errFull)
}

func TestSendIsIdempotent(t *testing.T) {
	h, _ := openHub(t)
	first := send(t, h, console.SendRequest{Conversation: "team", Text: "hi", Key: "k1"})
	require.Equal(t, first, send(t, h, console.SendRequest{Conversation: "team", Text: "hi", Key: "k1"}))
	require.NotEqual(t, first, send(t, h, console.SendRequest{Conversation: "team", Text: "hi", Key: "k2"}))
	require.NotEqual(t, first, send(t, h, console.SendRequest{Account: "second", Conversation: "team", Text: "hi", Key: "k1"}),
		"a key belongs to its account")

	feed, err := h.Feed(context.Background(), console.FeedRequest{})
	require.NoError(t, err)
	require.Len(t, feed.Messages, 3)
}

func TestAccountsHearPeopleAndNotThemselves(t *testing.T) {
	h, _ := openHub(t)
	thread := open(t, h, "team", "cats", "")
	send(t, h, console.SendRequest{Conversation: "team", Thread: thread.ID, Text: "mine"})
	post(t, h, "alice", "team", thread.ID, "hers")
	seen, _ := poll(t, h, "default", 0)
	require.Equal(t, []string{"message hers"}, seen)
}

func TestWhatPeopleDoToMessages(t *testing.T) {
	h, _ := openHub(t)
	alice := console.User{ID: "alice"}
	m := post(t, h, "alice", "team", "", "helo")
	menu := send(t, h, console.SendRequest{Conversation: "team", Text: "pick", Buttons: []string{"Yes"}})

	for _, tt := range []struct {
		change console.MessageChange
		status int
	}{
		{console.MessageChange{By: alice, ID: m.ID, Op: console.OpEdit, Text: "hello"}, 0},
		{console.MessageChange{By: console.User{ID: "bob"}, ID: m.ID, Op: console.OpReact, Text: "👍"}, 0},
		{console.MessageChange{By: alice, ID: menu, Op: console.OpPress, Text: "Yes"}, 0},
		{console.MessageChange{By: alice, ID: menu, Op: console.OpPress, Text: "No"}, http.StatusBadRequest},
		{console.MessageChange{By: console.User{ID: "bob"}, ID: m.ID, Op: console.OpEdit, Text: "x"}, http.StatusForbidden},
		{console.MessageChange{By: alice, ID: menu, Op: console.OpDelete}, http.StatusForbidden},
		{console.MessageChange{By: alice, ID: m.ID, Op: console.OpDelete}, 0},
		{console.MessageChange{By: alice, ID: m.ID, Op: console.OpEdit, Text: "x"}, http.StatusNotFound},
		{console.MessageChange{By: alice, ID: menu, Op: "paint"}, http.StatusBadRequest},
	} {
		_, err := h.Change(context.Background(), tt.change)
		require.Equal(t, tt.status, status(t, err), "%+v", tt.change)
	}
	seen, _ := poll(t, h, "default", 0)
	require.Equal(t, []string{"message helo", "edit hello", "reaction hello", "press pick", "delete "}, seen)
}

func TestThreadStates(t *testing.T) {
	ctx := context.Background()
	h, _ := openHub(t)
	thread := open(t, h, "team", "cats", "")
	require.Equal(t, "#1", thread.Label())
	state := func() core.PlaceState {
		p, err := h.Probe(ctx, console.ProbeRequest{Account: "default", Conversation: "team", Thread: thread.ID})
		require.NoError(t, err)
		return p.State
	}
	change := func(op console.ThreadOp, title string) {
		_, err := h.ChangeThread(ctx, console.ThreadChange{Thread: thread.ID, Op: op, Title: title})
		require.NoError(t, err)
	}
	into := console.SendRequest{Account: "default", Conversation: "team", Thread: thread.ID, Text: "hi"}

	require.Equal(t, core.PlaceExists, state())
	change(console.ThreadArchive, "")
	require.Equal(t, core.PlaceIsArchived, state())
	send(t, h, into)
	require.Equal(t, core.PlaceExists, state(), "a send un-archives")
	change(console.ThreadLock, "")
	require.Equal(t, core.PlaceIsLocked, state())
	_, err := h.Send(ctx, into)
	require.Equal(t, http.StatusLocked, status(t, err))
	post(t, h, "alice", "team", thread.ID, "people may write in a locked thread")
	change(console.ThreadUnlock, "")
	change(console.ThreadRename, "dogs")
	change(console.ThreadRename, "dogs") // changes nothing
	change(console.ThreadDelete, "")
	require.Equal(t, core.PlaceIsGone, state())
	_, err = h.Send(ctx, into)
	require.Equal(t, http.StatusNotFound, status(t, err))

	seen, _ := poll(t, h, "default", 0)
	require.Equal(t, []string{
		"archived team/t1", "locked team/t1", "message people may write in a locked thread",
		"unlocked team/t1", "renamed team/t1", "deleted team/t1",
	}, seen, "an account does not hear of what it did itself")
	require.Equal(t, "t2", open(t, h, "team", "next", "").ID, "ids are never used again")
}

func TestAPersonUnarchives(t *testing.T) {
	h, _ := openHub(t)
	thread := open(t, h, "team", "cats", "")
	_, err := h.CloseThread(context.Background(), console.CloseRequest{Account: "default", Conversation: "team", Thread: thread.ID, Archive: true})
	require.NoError(t, err)
	post(t, h, "alice", "team", thread.ID, "still there?")
	seen, _ := poll(t, h, "default", 0)
	require.Equal(t, []string{"unarchived team/t1", "message still there?"}, seen)
}

func TestOpenAndFindByIntent(t *testing.T) {
	ctx := context.Background()
	h, _ := openHub(t)
	find := console.FindRequest{Account: "default", Conversation: "team", Intent: "i1"}
	found, err := h.FindThread(ctx, find)
	require.NoError(t, err)
	require.Nil(t, found.Thread)

	thread := open(t, h, "team", "cats", "i1")
	require.Equal(t, thread.ID, open(t, h, "team", "cats", "i1").ID)
	found, err = h.FindThread(ctx, find)
	require.NoError(t, err)
	require.Equal(t, thread, *found.Thread)

	for range 2 { // undoing twice is harmless
		_, err = h.CloseThread(ctx, console.CloseRequest{Account: "default", Conversation: "team", Thread: thread.ID})
		require.NoError(t, err)
	}
	found, err = h.FindThread(ctx, find)
	require.NoError(t, err)
	require.Nil(t, found.Thread)
}

func TestKickAndPermit(t *testing.T) {
	ctx := context.Background()
	h, _ := openHub(t)
	hello := console.SendRequest{Account: "default", Conversation: "team", Text: "hi"}
	require.NoError(t, h.Kick("default", "team"))
	post(t, h, "alice", "team", "", "unheard")
	_, err := h.Send(ctx, hello)
	require.Equal(t, http.StatusForbidden, status(t, err))
	require.NoError(t, h.OpenConversation(console.Conversation{ID: "team", Kind: core.Group, Accounts: []string{"default"}}))
	_, err = h.Send(ctx, hello)
	require.Equal(t, http.StatusForbidden, status(t, err), "opening again does not undo a kick")
	require.NoError(t, h.Permit("default", "team"))
	send(t, h, hello)
	seen, _ := poll(t, h, "default", 0)
	require.Equal(t, []string{"permission_lost team/", "permission_restored team/"}, seen)
}

func TestMigrate(t *testing.T) {
	ctx := context.Background()
	h, _ := openHub(t)
	thread := open(t, h, "team", "cats", "")
	post(t, h, "alice", "team", "", "before")
	to, err := h.Migrate("team")
	require.NoError(t, err)
	require.Equal(t, "team.2", to)

	_, err = h.Send(ctx, console.SendRequest{Account: "default", Conversation: "team", Text: "hi"})
	refusal := new(console.Error)
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, to, refusal.MovedTo)
	send(t, h, console.SendRequest{Conversation: to, Thread: thread.ID, Text: "hi"})

	updates, err := h.Poll(ctx, console.PollRequest{Account: "default"})
	require.NoError(t, err)
	moved := updates.Updates[len(updates.Updates)-1].Event
	require.Equal(t, core.PlaceMigrated, moved.Change)
	require.Equal(t, "team", moved.Conversation)
	require.Equal(t, to, moved.To)
	feed, err := h.Feed(ctx, console.FeedRequest{Conversation: to})
	require.NoError(t, err)
	require.Len(t, feed.Messages, 2)
	list, err := h.Conversations(ctx, console.Done{})
	require.NoError(t, err)
	require.Len(t, list.Conversations, 2, "the old one is not listed")
}

func TestRefusals(t *testing.T) {
	ctx := context.Background()
	h, _ := openHub(t)
	hers := post(t, h, "alice", "team", "", "hers")
	tests := []struct {
		name   string
		call   func() error
		status int
	}{
		{"unknown conversation", func() error {
			_, err := h.Send(ctx, console.SendRequest{Account: "default", Conversation: "nowhere", Text: "x"})
			return err
		}, 404},
		{"unknown thread", func() error {
			_, err := h.Send(ctx, console.SendRequest{Account: "default", Conversation: "team", Thread: "t9", Text: "x"})
			return err
		}, 404},
		{"not a member", func() error {
			_, err := h.Send(ctx, console.SendRequest{Account: "third", Conversation: "team", Text: "x"})
			return err
		}, 403},
		{"empty text", func() error {
			_, err := h.Send(ctx, console.SendRequest{Account: "default", Conversation: "team"})
			return err
		}, 400},
		{"bad text", func() error {
			_, err := h.Send(ctx, console.SendRequest{Account: "default", Conversation: "team", Text: "\xff"})
			return err
		}, 400},
		{"unknown anchor", func() error {
			_, err := h.Send(ctx, console.SendRequest{Account: "default", Conversation: "team", Text: "x", ReplyTo: "m999"})
			return err
		}, 400},
		{"text at the limit", func() error {
			_, err := h.Send(ctx, console.SendRequest{Account: "default", Conversation: "team", Text: strings.Repeat("🎩", console.TextLimit/2)})
			return err
		}, 0},
		{"text over the limit", func() error {
			_, err := h.Send(ctx, console.SendRequest{Account: "default", Conversation: "team", Text: strings.Repeat("🎩", console.TextLimit/2) + "x"})
			return err
		}, 413},
		{"edit of another's message", func() error {
			_, err := h.Edit(ctx, console.EditRequest{Account: "default", ID: hers.ID, Text: "x"})
			return err
		}, 400},
		{"edit of nothing", func() error {
			_, err := h.Edit(ctx, console.EditRequest{Account: "default", ID: "m999", Text: "x"})
			return err
		}, 404},
		{"no title", func() error {
			_, err := h.OpenThread(ctx, console.OpenRequest{Account: "default", Conversation: "team"})
			return err
		}, 400},
		{"long title", func() error {
			_, err := h.OpenThread(ctx, console.OpenRequest{Account: "default", Conversation: "team", Title: strings.Repeat("é", 101)})
			return err
		}, 413},
		{"nobody", func() error {
			_, err := h.Post(ctx, console.Post{Conversation: "team", Text: "x"})
			return err
		}, 400},
		{"an account as a person", func() error {
			_, err := h.Post(ctx, console.Post{By: console.User{ID: console.BotID("default")}, Conversation: "team", Text: "x"})
			return err
		}, 400},
		{"empty post", func() error {
			_, err := h.Post(ctx, console.Post{By: console.User{ID: "alice"}, Conversation: "team"})
			return err
		}, 400},
		{"post over the limit", func() error {
			_, err := h.Post(ctx, console.Post{By: console.User{ID: "alice"}, Conversation: "team", Text: strings.Repeat("x", console.PostLimit+1)})
			return err
		}, 413},
		{"typing nowhere", func() error {
			_, err := h.Typing(ctx, console.TypingRequest{Account: "default", Conversation: "nowhere"})
			return err
		}, 404},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.status, status(t, tt.call())) })
	}
}

func TestFeed(t *testing.T) {
	ctx := context.Background()
	h, c := openHub(t)
	thread := open(t, h, "team", "cats", "")
	id := send(t, h, console.SendRequest{Conversation: "team", Text: "draft"})
	post(t, h, "alice", "team", thread.ID, "in the thread")
	post(t, h, console.Local, console.Main, "", "elsewhere")

	feed, err := h.Feed(ctx, console.FeedRequest{Conversation: "team"})
	require.NoError(t, err)
	require.Len(t, feed.Messages, 2)
	require.Len(t, feed.Threads, 1)
	only, err := h.Feed(ctx, console.FeedRequest{Conversation: "team", Only: true, Thread: thread.ID})
	require.NoError(t, err)
	require.Len(t, only.Messages, 1)
	last, err := h.Feed(ctx, console.FeedRequest{Last: 1})
	require.NoError(t, err)
	require.Equal(t, "elsewhere", last.Messages[0].Text)

	next := console.FeedRequest{Conversation: "team", After: feed.Seq, TypingAfter: feed.TypingSeq, Wait: true}
	got := make(chan console.Feed)
	wait := func() {
		feed, err := h.Feed(ctx, next)
		if err == nil {
			got <- feed
		}
	}
	go wait()
	_, err = h.Edit(ctx, console.EditRequest{Account: "default", ID: id, Text: "final"})
	require.NoError(t, err)
	feed = <-got
	require.Len(t, feed.Messages, 1, "only what changed")
	require.Equal(t, "final", feed.Messages[0].Text)

	next.After, next.TypingAfter = feed.Seq, feed.TypingSeq
	go wait()
	_, err = h.Typing(ctx, console.TypingRequest{Account: "default", Conversation: "team"})
	require.NoError(t, err)
	feed = <-got
	require.Equal(t, []console.Typing{{Conversation: "team", Account: "default", Until: core.ToMillis(start().Add(console.TypingFor))}}, feed.Typing)

	c.AdvanceTo(start().Add(console.TypingFor))
	feed, err = h.Feed(ctx, console.FeedRequest{})
	require.NoError(t, err)
	require.Empty(t, feed.Typing)
}

func TestSendingEndsTyping(t *testing.T) {
	h, _ := openHub(t)
	_, err := h.Typing(context.Background(), console.TypingRequest{Account: "default", Conversation: "team"})
	require.NoError(t, err)
	send(t, h, console.SendRequest{Conversation: "team", Text: "done"})
	feed, err := h.Feed(context.Background(), console.FeedRequest{})
	require.NoError(t, err)
	require.Empty(t, feed.Typing)
}

func TestClosedHub(t *testing.T) {
	h, err := console.Open(console.Options{Clock: clock.Real{}, Path: filepath.Join(t.TempDir(), "console.jsonl")})
	require.NoError(t, err)
	waiting := make(chan error)
	go func() {
		_, err := h.Poll(context.Background(), console.PollRequest{Account: "default"})
		waiting <- err
	}()
	require.NoError(t, h.Close())
	require.NoError(t, h.Close())
	require.Equal(t, http.StatusServiceUnavailable, status(t, <-waiting))
	_, err = h.Post(context.Background(), console.Post{By: console.User{ID: "a"}, Conversation: "main", Text: "x"})
	require.Equal(t, http.StatusServiceUnavailable, status(t, err))
}
