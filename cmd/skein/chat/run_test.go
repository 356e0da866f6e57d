package chat_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/term"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/cmd/skein/chat"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
)

// echoBot answers every message of a hub with "echo: <text>", "thread <title>"
// by opening one.
type echoBot struct {
	hub  *console.Hub
	done atomic.Uint64 // Seq of the last message that was answered
}

func newHub(t *testing.T) (*console.Hub, *echoBot) {
	t.Helper()
	hub, err := console.Open(console.Options{Clock: clock.Real{}})
	require.NoError(t, err)
	b := &echoBot{hub: hub}
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		b.run()
	}()
	t.Cleanup(func() {
		require.NoError(t, hub.Close())
		wg.Wait()
	})
	return hub, b
}

func (b *echoBot) run() {
	for after := uint64(0); ; {
		batch, err := b.hub.Poll(context.Background(), console.PollRequest{Account: console.DefaultAccount, After: after})
		if err != nil {
			return
		}
		for _, u := range batch.Updates {
			b.answer(u.Event)
			after = u.Seq
			if m := u.Event.Message; m != nil {
				b.done.Store(m.Changed)
			}
		}
	}
}

func (b *echoBot) answer(ev console.Event) {
	m := ev.Message
	if ev.Kind != core.EventMessage {
		return
	}
	if title, ok := strings.CutPrefix(m.Text, "open "); ok {
		_, _ = b.hub.OpenThread(context.Background(), console.OpenRequest{Account: console.DefaultAccount, Conversation: m.Conversation, Title: title})
		return
	}
	_, _ = b.hub.Send(context.Background(), console.SendRequest{
		Account: console.DefaultAccount, Conversation: m.Conversation, Thread: m.Thread, Text: "echo: " + m.Text, Key: "echo-" + m.ID,
	})
}

func (b *echoBot) settled(_ context.Context, posted uint64) (bool, error) {
	return b.done.Load() >= posted, nil
}

// keys counts.
func keys() func() string {
	var n atomic.Int64
	return func() string { return "k" + string(rune('a'+n.Add(1))) }
}

func options(hub console.People, in io.Reader, out io.Writer) chat.Options {
	return chat.Options{
		People: hub, Conversation: console.Main, User: console.Local, In: in, Out: out, Clock: clock.Real{}, NewKey: keys(), Patience: 10 * time.Second,
	}
}

func TestRunOnAPipe(t *testing.T) {
	hub, bot := newHub(t)
	_, err := hub.Post(t.Context(), console.Post{By: console.User{ID: console.Local}, Conversation: console.Main, Text: "before"})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return bot.done.Load() > 0 }, time.Minute, time.Millisecond)

	var out strings.Builder
	in := strings.NewReader("hello\n\nopen cats\n/thread 1\nmeow\ntwo\n/threads\n/thread 7\n#1\n/thread main\nback\n/quit\nnever\n")
	o := options(hub, in, &out)
	o.Greeting, o.Settled = "Welcome.\n", bot.settled
	require.NoError(t, chat.Run(t.Context(), o))
	require.Equal(t, `Welcome.
[main] you: before
[main] skein: echo: before
[main] you: hello
[main] skein: echo: hello
[main] you: open cats
[#1 cats] -- a new thread: /thread 1 goes there
[#1 cats] -- you are here
[#1 cats] you: meow
[#1 cats] skein: echo: meow
[#1 cats] you: two
[#1 cats] skein: echo: two
[main]
[#1 cats] -- you are here
[#1 cats] -- there is no thread "7" (threads: #1 cats)
[#1 cats] -- you are here
[main] -- you are here
[main] you: back
[main] skein: echo: back
`, out.String())
}

func TestRunEndsWithItsInputAfterTheLastAnswer(t *testing.T) {
	hub, bot := newHub(t)
	var out strings.Builder
	o := options(hub, strings.NewReader("last words"), &out)
	o.Settled = bot.settled
	require.NoError(t, chat.Run(t.Context(), o))
	require.Contains(t, out.String(), "echo: last words")
}

func TestRunGivesUpWaiting(t *testing.T) {
	hub, _ := newHub(t)
	var out strings.Builder
	o := options(hub, strings.NewReader("anybody?\n"), &out)
	o.Patience = 50 * time.Millisecond
	o.Settled = func(context.Context, uint64) (bool, error) { return false, nil }
	require.ErrorIs(t, chat.Run(t.Context(), o), chat.ErrNoAnswer)
	require.Contains(t, out.String(), "no answer within 50ms; going on")
}

func TestRunEndsWithItsContext(t *testing.T) {
	hub, _ := newHub(t)
	in, typed := io.Pipe()
	t.Cleanup(func() { require.NoError(t, typed.Close()) })
	ctx, cancel := context.WithCancel(t.Context())
	var out strings.Builder
	cancel()
	require.NoError(t, chat.Run(ctx, options(hub, in, &out)))
}

func TestRunShowsOnlyTheEndOfALongHistory(t *testing.T) {
	hub, _ := newHub(t)
	for range 30 {
		_, err := hub.Send(t.Context(), console.SendRequest{Account: console.DefaultAccount, Conversation: console.Main, Text: "line"})
		require.NoError(t, err)
	}
	var out strings.Builder
	require.NoError(t, chat.Run(t.Context(), options(hub, strings.NewReader(""), &out)))
	require.Equal(t, 20, strings.Count(out.String(), "skein: line"))
}

// refusing is a console that takes no posts.
type refusing struct{ console.People }

func (refusing) Post(context.Context, console.Post) (console.Message, error) {
	return console.Message{}, &console.Error{Status: 404, Text: "there is no such thread"}
}

func TestRunSaysWhatIsRefused(t *testing.T) {
	hub, bot := newHub(t)
	var out strings.Builder
	o := options(refusing{hub}, strings.NewReader("hello\n"), &out)
	o.Settled = bot.settled
	require.NoError(t, chat.Run(t.Context(), o))
	require.Equal(t, "[main] -- not sent: there is no such thread\n", out.String())
}

func TestRunEndsWithAHubOfThisProcess(t *testing.T) {
	hub, _ := newHub(t)
	in, typed := io.Pipe()
	out := newOutput()
	ended := make(chan error, 1)
	go func() { ended <- chat.Run(t.Context(), options(hub, in, out)) }()
	write(t, typed, "/threads\n")
	out.wait(t, "[main]")
	require.NoError(t, hub.Close())
	require.ErrorContains(t, <-ended, "the hub is closed")
	require.NoError(t, typed.Close())
}

// flaky is a console that is away at times, as over a socket whose gateway is
// started anew.
type flaky struct {
	console.People
	away  atomic.Bool
	feeds chan struct{} // a feed that failed

	failed, waited atomic.Bool // the feed before failed; one after a failure waits for news
}

var errAway = errors.New("connection refused")

func (f *flaky) Feed(ctx context.Context, r console.FeedRequest) (console.Feed, error) {
	if f.away.Load() {
		select {
		case f.feeds <- struct{}{}:
		default:
		}
		f.failed.Store(true)
		return console.Feed{}, errAway
	}
	if f.failed.Swap(false) && r.Wait {
		f.waited.Store(true)
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	feed, err := f.People.Feed(ctx, r)
	if errors.Is(err, context.DeadlineExceeded) {
		r.Wait = false
		return f.People.Feed(context.Background(), r)
	}
	return feed, err
}

func (f *flaky) Post(ctx context.Context, r console.Post) (console.Message, error) {
	if f.away.Load() {
		// The console took it, and the answer was lost.
		if _, err := f.People.Post(ctx, r); err != nil {
			return console.Message{}, err
		}
		return console.Message{}, errAway
	}
	return f.People.Post(ctx, r)
}

func TestRunReconnects(t *testing.T) {
	hub, bot := newHub(t)
	people := &flaky{People: hub, feeds: make(chan struct{}, 1)}
	in, typed := io.Pipe()
	out := newOutput()
	o := options(people, in, out)
	o.Settled, o.Reconnect = bot.settled, true
	ended := make(chan error, 1)
	go func() { ended <- chat.Run(t.Context(), o) }()

	write(t, typed, "one\n")
	out.wait(t, "echo: one")
	people.away.Store(true)
	<-people.feeds
	out.wait(t, "the gateway does not answer")
	write(t, typed, "two\n")
	require.Eventually(t, func() bool { return bot.done.Load() > 0 && len(hub.Pending(console.DefaultAccount)) == 0 }, time.Minute, time.Millisecond)
	people.away.Store(false)
	out.wait(t, "the gateway is back")
	out.wait(t, "echo: two")
	require.False(t, people.waited.Load(), "where nothing is new, it would not be noticed that the console is back")
	require.NoError(t, typed.Close())
	require.NoError(t, <-ended)
	for _, once := range []string{"you: one", "echo: one", "you: two", "echo: two"} {
		require.Equal(t, 1, strings.Count(out.String(), once), once)
	}
}

func TestRunOnATerminal(t *testing.T) {
	hub, _ := newHub(t)
	keyboard, typed := io.Pipe()
	out := newOutput()
	o := options(hub, nil, nil)
	o.Terminal = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{keyboard, out}, "")
	o.Color, o.Width = true, func() int { return 80 }
	ended := make(chan error, 1)
	go func() { ended <- chat.Run(t.Context(), o) }()

	out.wait(t, "main> ")
	write(t, typed, "open cats\r")
	out.wait(t, "a new thread")
	require.NotContains(t, out.String(), "you: open cats", "what was typed is on the screen already")
	_, err := hub.Send(t.Context(), console.SendRequest{Account: console.DefaultAccount, Conversation: console.Main, Thread: "t1", Text: "meow"})
	require.NoError(t, err)
	out.wait(t, "main (#1: 1 new)> ")
	_, err = hub.Typing(t.Context(), console.TypingRequest{Account: console.DefaultAccount, Conversation: console.Main, Thread: "t1"})
	require.NoError(t, err)
	out.wait(t, "#1: writing")
	write(t, typed, "\t")
	out.wait(t, "you are here")
	out.wait(t, "#1 cats")
	write(t, typed, "purr\r")
	out.wait(t, "echo: purr")
	write(t, typed, "\x04")
	require.NoError(t, <-ended)
	require.NoError(t, typed.Close())
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
}

// output collects what was written and lets a test wait for it.
type output struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func newOutput() *output { return &output{more: make(chan struct{})} }

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(b)
	close(o.more)
	o.more = make(chan struct{})
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// wait waits until the text was written.
func (o *output) wait(t *testing.T, text string) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		o.mu.Lock()
		have, more := o.text.String(), o.more
		o.mu.Unlock()
		if strings.Contains(have, text) {
			return
		}
		select {
		case <-more:
		case <-limit:
			require.FailNow(t, "not written", "%q in:\n%s", text, have)
		}
	}
}

// TestRunChangesMessages: the newest message of the place is edited and
// deleted, also by a pipe, which waits for what comes of it.
func TestRunChangesMessages(t *testing.T) {
	hub, bot := newHub(t)
	var out strings.Builder
	in := strings.NewReader("/delete\nhelo\n/edit\n/edit hello there\nopen cats\n/thread 1\nmeow\n/delete\n/delete\n/thread main\n/delete\n/delete\n")
	o := options(hub, in, &out)
	o.Settled = bot.settled
	require.NoError(t, chat.Run(t.Context(), o))
	require.Equal(t, `[main] -- you have written nothing here lately
[main] you: helo
[main] skein: echo: helo
[main] -- write the new text behind /edit
[main] you: (edited) hello there
[main] you: open cats
[#1 cats] -- a new thread: /thread 1 goes there
[#1 cats] -- you are here
[#1 cats] you: meow
[#1 cats] skein: echo: meow
[#1 cats] you: (deleted)
[#1 cats] -- you have written nothing here lately
[main] -- you are here
[main] you: (deleted)
[main] you: (deleted)
`, out.String())
}
