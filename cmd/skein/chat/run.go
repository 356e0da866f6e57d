package chat

import (
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/core"
)

// Options make a line-mode chat. People, Conversation, User, In, Out, Clock
// and NewKey are required.
type Options struct {
	People       console.People
	Conversation string
	User         string

	In  io.Reader
	Out io.Writer
	// Terminal is In and Out where they are a terminal, already in raw mode;
	// nil reads and writes plain lines.
	Terminal *term.Terminal
	Color    bool
	// Width returns how wide the terminal is; nil does not wrap lines.
	Width func() int
	// Greeting is shown first, as it is.
	Greeting string

	Clock core.Clock
	// NewKey returns keys that no other post has.
	NewKey func() string
	// Settled reports whether everything that was posted up to a message, by
	// its Seq, has been answered and nothing goes on any more. Without a
	// terminal the next line is read only then; nil does not wait.
	Settled func(ctx context.Context, posted uint64) (bool, error)
	// Patience is how long one line may take to settle; 0 is two minutes.
	Patience time.Duration
	// Reconnect tries again when the console cannot be reached, instead of
	// ending.
	Reconnect bool
}

const (
	historyLength   = 20 // messages shown of a place that is seen for the first time
	defaultPatience = 2 * time.Minute
	settlePoll      = 40 * time.Millisecond
	reconnectPause  = 250 * time.Millisecond
	reconnectMax    = 3 * time.Second
)

// ErrNoAnswer is what Run returns in the end if a line of a pipe was not
// answered in time.
var ErrNoAnswer = core.Errorf("chat_no_answer", "a message was not answered in time").
	WithRemedy("`skein sessions` shows what goes on; --patience waits longer")

// Run chats until In ends, the person quits or ctx ends; all three return nil.
// It blocks. The goroutine that reads In ends with the read it is in, which may
// be after Run.
func Run(ctx context.Context, o Options) error {
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &session{Options: o, screen: NewScreen(o.User, o.Conversation), style: style{o.Color, o.Width}, results: make(chan result)}
	if o.Greeting != "" {
		s.print(o.Greeting)
	}
	if err := s.attach(ctx); err != nil {
		return err
	}
	following := make(chan struct{})
	go func() {
		defer close(following)
		s.follow(ctx)
	}()
	err := s.loop(ctx)
	cancel()
	<-following
	return err
}

// session is one chat. Only loop touches it, but for what follow is given.
type session struct {
	Options
	screen *Screen
	style  style
	prompt string

	results chan result
	after   uint64 // of the last feed that was applied
	away    bool   // the console cannot be reached at present

	unsent   []console.Post
	posted   uint64 // Seq of the newest post
	settling bool   // the last line is not answered yet
	overdue  bool
}

// result is what one feed brought.
type result struct {
	feed console.Feed
	err  error
}

// attach shows the history of the conversation.
func (s *session) attach(ctx context.Context) error {
	threads, err := s.People.Threads(ctx, console.ThreadsRequest{Conversation: s.Conversation})
	if err != nil {
		return err
	}
	s.screen.Know(threads.Threads)
	return s.history(ctx)
}

// history shows the newest messages of the present place that were not shown.
func (s *session) history(ctx context.Context) error {
	feed, err := s.People.Feed(ctx, console.FeedRequest{
		Conversation: s.Conversation, Thread: s.screen.Here(), Only: true, Last: historyLength,
	})
	if err != nil {
		return err
	}
	feed.Threads, feed.Typing = nil, nil
	s.show(s.screen.History(feed))
	if s.after == 0 {
		s.after = feed.Seq
	}
	return nil
}

// follow hands on what changes until ctx ends or, without Reconnect, the first
// error.
func (s *session) follow(ctx context.Context) {
	request := console.FeedRequest{Conversation: s.Conversation, After: s.after, Wait: true}
	for pause := reconnectPause; ; {
		feed, err := s.People.Feed(ctx, request)
		if ctx.Err() != nil {
			return
		}
		select {
		case s.results <- result{feed, err}:
		case <-ctx.Done():
			return
		}
		request.Wait = err == nil // after a failure the first answer tells at once that the console is back
		if err == nil {
			request.After, request.TypingAfter, pause = feed.Seq, feed.TypingSeq, reconnectPause
			continue
		}
		if !s.retries(err) || !s.wait(ctx, pause) {
			return
		}
		pause = min(2*pause, reconnectMax)
	}
}

// retries reports whether an error is one that passes: the console cannot be
// reached, or is closing.
func (s *session) retries(err error) bool {
	refusal := new(console.Error)
	return s.Reconnect && (!errors.As(err, &refusal) || refusal.Code == console.CodeClosed)
}

func (s *session) wait(ctx context.Context, d time.Duration) bool {
	t := s.Clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// loop is the chat: whatever comes is handled in one place.
func (s *session) loop(ctx context.Context) error {
	s.redraw() // first: a line that begins without a prompt never gets one
	in := s.input()
	defer in.leave()
	poll := s.Clock.NewTimer(settlePoll)
	defer poll.Stop()
	var deadline time.Time
	for {
		lines := in.lines
		if s.settling {
			lines = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case r := <-s.results:
			if err := s.received(ctx, r); err != nil {
				return err
			}
		case <-in.tabs:
			s.moved(ctx, s.screen.Next())
		case line, more := <-lines:
			if !more || s.handle(ctx, line) {
				return s.end()
			}
			if s.settling {
				deadline = s.Clock.Now().Add(s.Patience)
			}
			s.redraw()
			in.next()
		case <-poll.C():
			if s.settling {
				s.settle(ctx, deadline)
			}
			poll.Reset(settlePoll)
		}
		s.redraw()
	}
}

func (s *session) end() error {
	if s.overdue {
		return ErrNoAnswer
	}
	return nil
}

// received takes over a feed.
func (s *session) received(ctx context.Context, r result) error {
	switch {
	case r.err == nil:
		s.back(ctx)
		s.apply(r.feed)
		return nil
	case !s.retries(r.err):
		return r.err
	}
	s.gone()
	return nil
}

// gone says, once, that the console cannot be reached.
func (s *session) gone() {
	if !s.away {
		s.say("the gateway does not answer; waiting for it")
	}
	s.away = true
}

// back says that the console answers again, and posts what could not be sent.
func (s *session) back(ctx context.Context) {
	if !s.away {
		return
	}
	s.away = false
	s.say("the gateway is back")
	s.flush(ctx)
}

func (s *session) apply(feed console.Feed) {
	s.show(s.screen.Apply(feed))
	s.after = feed.Seq
}

var threadNumber = regexp.MustCompile(`^#\d+$`)

// handle does what a line asks for; it reports whether the chat ends.
func (s *session) handle(ctx context.Context, line string) (ends bool) {
	line = strings.TrimSpace(line)
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "":
	case line == "/quit" || line == "/exit":
		return true
	case line == "/threads":
		s.show(s.screen.List())
	case word == "/thread":
		s.goTo(ctx, rest)
	case word == "/edit":
		s.edit(ctx, strings.TrimSpace(rest))
	case line == "/delete":
		s.change(ctx, console.MessageChange{Op: console.OpDelete}, "not deleted: ")
	case threadNumber.MatchString(line):
		s.goTo(ctx, line)
	default:
		s.post(ctx, line)
	}
	return false
}

func (s *session) goTo(ctx context.Context, to string) {
	fresh, err := s.screen.Go(to)
	if err != nil {
		s.say(err.Error())
		return
	}
	s.moved(ctx, fresh)
}

// moved shows the place that was gone to.
func (s *session) moved(ctx context.Context, fresh bool) {
	s.say("you are here")
	if !fresh {
		return
	}
	if err := s.history(ctx); err != nil {
		s.say("its history cannot be read: " + err.Error())
	}
}

// post sends a message to the present place. Its key makes it one message
// however often it is tried.
func (s *session) post(ctx context.Context, text string) {
	key := s.NewKey()
	if s.Terminal != nil {
		s.screen.Echoed(key)
	}
	s.unsent = append(s.unsent, console.Post{
		By: console.User{ID: s.User}, Conversation: s.Conversation, Thread: s.screen.Here(), Text: text, Key: key,
	})
	s.settling = s.Terminal == nil && s.Settled != nil
	s.flush(ctx)
}

// flush sends what was not sent, in order.
func (s *session) flush(ctx context.Context) {
	for len(s.unsent) > 0 {
		m, err := s.People.Post(ctx, s.unsent[0])
		switch {
		case err == nil:
			s.posted = max(s.posted, m.Seq)
		case s.retries(err):
			s.gone()
			return
		default:
			s.say("not sent: " + explain(err))
		}
		s.unsent = slices.Delete(s.unsent, 0, 1)
	}
}

// explain returns the text of a refusal without its status.
func explain(err error) string {
	refusal := new(console.Error)
	if errors.As(err, &refusal) {
		return refusal.Text
	}
	return err.Error()
}

// settle finds out whether the last line is answered, and shows what came
// until then.
func (s *session) settle(ctx context.Context, deadline time.Time) {
	settled := false
	if len(s.unsent) == 0 && !s.away {
		done, err := s.Settled(ctx, s.posted)
		settled = done && err == nil
	}
	overdue := !settled && !s.Clock.Now().Before(deadline)
	if !settled && !overdue {
		return
	}
	if feed, err := s.People.Feed(ctx, console.FeedRequest{Conversation: s.Conversation, After: s.after}); err == nil {
		s.apply(feed)
	}
	if overdue {
		s.overdue = true
		s.say("no answer within " + s.Patience.String() + "; going on")
	}
	s.settling = false
}

// say shows a notice about the present place.
func (s *session) say(text string) {
	s.show([]Line{{Place: s.screen.HereName(), Here: true, Text: text}})
}

func (s *session) show(lines []Line) {
	for _, l := range lines {
		s.print(s.style.line(l))
	}
}

func (s *session) print(text string) {
	if s.Terminal != nil {
		_, _ = s.Terminal.Write([]byte(text))
		return
	}
	_, _ = io.WriteString(s.Out, text)
}

// redraw draws the prompt anew if it has changed.
func (s *session) redraw() {
	if s.Terminal == nil {
		return
	}
	if p := s.style.prompt(s.screen); p != s.prompt {
		s.prompt = p
		s.Terminal.SetPrompt(p)
		_, _ = s.Terminal.Write(nil)
	}
}
