package fullscreen

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/core/clock"
)

// running is a program on pipes instead of a terminal.
type running struct {
	hub   *console.Hub
	typed *os.File
	shown func() string
	ended chan error
	works int
	// all closes the output and returns what was written to it.
	all func() string
}

func start(t *testing.T, ctx context.Context, change func(*Options)) *running { //nolint:revive // the test comes first here
	t.Helper()
	hub, err := console.Open(console.Options{Clock: clock.Real{}})
	require.NoError(t, err)
	in, typed, err := os.Pipe()
	require.NoError(t, err)
	shown, out, err := os.Pipe()
	require.NoError(t, err)
	var mu sync.Mutex
	var screen bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		buffer := make([]byte, 4096)
		for {
			n, err := shown.Read(buffer)
			mu.Lock()
			screen.Write(buffer[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	o := Options{
		People: hub, Conversation: console.Main, User: console.Local, In: in, Out: out, Clock: clock.Real{}, Zone: time.UTC,
		Environ: []string{"TERM=xterm-256color"}, Background: BackgroundDark, Profile: colorprofile.ANSI256, NewKey: func() string { return "k" },
	}
	change(&o)
	r := &running{hub: hub, typed: typed, ended: make(chan error, 1), shown: func() string {
		mu.Lock()
		defer mu.Unlock()
		return screen.String()
	}}
	r.all = func() string {
		_ = out.Close()
		<-read
		return r.shown()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var err error
		r.works, err = Run(ctx, o)
		r.ended <- err
	}()
	t.Cleanup(func() {
		_ = hub.Close()
		<-done
		r.all()
		for _, f := range []io.Closer{in, typed} {
			_ = f.Close()
		}
		_ = shown.Close()
	})
	return r
}

func (r *running) posts() []console.Message {
	feed, err := r.hub.Feed(context.Background(), console.FeedRequest{})
	if err != nil {
		return nil
	}
	return feed.Messages
}

// Run leaves nothing behind: goleak holds TestMain to that.
func TestRunTalksAndQuits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chat.jsonl")
	memory, err := OpenMemory(path)
	require.NoError(t, err)
	r := start(t, t.Context(), func(o *Options) {
		o.Memory = memory
		o.Overview = func(context.Context) ([]Work, error) { return []Work{{Place: place1(""), State: StateWaiting}}, nil }
	})
	_, err = r.typed.WriteString("hello\r")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(r.posts()) == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, "hello", r.posts()[0].Text)
	_, err = r.typed.WriteString("\x03")
	require.NoError(t, err)
	require.NoError(t, <-r.ended)
	require.Equal(t, 1, r.works)
	require.NoError(t, memory.Close())
	shown := r.all()
	require.Contains(t, shown, "\x1b[?1049l", "the screen from before is back")
	require.Contains(t, shown, "\x1b[?25h", "and its cursor")
	memory, err = OpenMemory(path)
	require.NoError(t, err)
	require.Equal(t, []string{"hello"}, memory.history[place1("")])
	require.NotZero(t, memory.left)
	require.NoError(t, memory.Close())
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := start(t, ctx, func(*Options) {})
	require.Eventually(t, func() bool { return r.shown() != "" }, time.Minute, time.Millisecond)
	cancel()
	require.NoError(t, <-r.ended)
	require.Contains(t, r.all(), "\x1b[?1049l")
}

func TestRunEndsWithAHubOfThisProcess(t *testing.T) {
	r := start(t, t.Context(), func(*Options) {})
	require.NoError(t, r.hub.Close())
	require.ErrorContains(t, <-r.ended, "closed")
}

// fallible breaks down while it is asked.
type fallible struct{ console.People }

func (fallible) Conversations(context.Context, console.Done) (console.Conversations, error) {
	panic("out of order")
}

func TestRunRestoresTheTerminalAfterAPanic(t *testing.T) {
	for name, c := range map[string]struct {
		panics func(*Options)
		typed  string
	}{
		"in a command":  {func(o *Options) { o.People = fallible{o.People} }, ""},
		"in the screen": {func(o *Options) { o.NewKey = func() string { panic("out of keys") } }, "hello\r"},
	} {
		t.Run(name, func(t *testing.T) {
			var faults bytes.Buffer
			r := start(t, t.Context(), func(o *Options) {
				o.Faults = &faults
				c.panics(o)
			})
			_, err := r.typed.WriteString(c.typed)
			require.NoError(t, err)
			require.ErrorIs(t, <-r.ended, ErrBroken)
			require.Contains(t, faults.String(), "out of ")
			require.Contains(t, faults.String(), "goroutine")
			shown := r.all()
			require.Equal(t, strings.Count(shown, "\x1b[?1049h"), strings.Count(shown, "\x1b[?1049l"), "%q", shown)
		})
	}
}
