package fullscreen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/core"
)

// Options make a full-screen chat. People, Conversation, User, Clock, Zone and
// NewKey are required; Run also needs In and Out.
type Options struct {
	People console.People
	// Conversation is the one that is shown first. The person's other direct
	// chats are in the list.
	Conversation string
	User         string

	In, Out *os.File // a terminal
	// Environ says what the terminal can, as in os.Environ; nil is the
	// process's own.
	Environ []string

	Clock core.Clock
	Zone  *time.Location // of the times shown
	// NewKey returns keys that no other post has.
	NewKey func() string

	// Overview says what goes on in each place; it may block until ctx ends.
	// Nil shows only who is writing.
	Overview func(ctx context.Context) ([]Work, error)
	// Commands are those of the runtime, for completion.
	Commands []Command
	// Greeting stands before the first message.
	Greeting string
	// Warning is shown for a while at the beginning.
	Warning string
	// Memory keeps what was written and read; nil forgets it in the end. It
	// stays open.
	Memory *Memory
	// Reconnect tries again when the console cannot be reached, instead of
	// ending.
	Reconnect bool

	// Faults gets the stack of a panic, once the terminal is restored; nil
	// discards it.
	Faults io.Writer

	// Background chooses colours; "" is auto.
	Background Background
	// Profile is how many colours there are; Unknown finds out.
	Profile colorprofile.Profile
}

// ErrBroken is what Run returns after a panic. The terminal was restored.
var ErrBroken = core.Errorf("chat_broken", "the screen broke down").
	WithRemedy("nothing is lost: start it again, or use --plain; please report what stands above")

// Run shows the chat until the person quits, ctx ends, or the console refuses;
// the first two return nil. It blocks, and leaves the terminal as it was, also
// after a panic. working is in how many places work goes on.
func Run(ctx context.Context, o Options) (working int, err error) {
	if o.Background == "" {
		o.Background = BackgroundAuto
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	m := NewModel(inner, o)
	program := tea.NewProgram(m, m.programOptions()...)
	ended := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ctx.Done():
			program.Quit()
		case <-ended:
		}
	}()
	_, err = program.Run()
	close(ended)
	cancel()
	<-done
	m.tasks.finish()
	m.remember()
	switch {
	case m.fault != "":
		if o.Faults != nil {
			fmt.Fprintln(o.Faults, m.fault)
		}
		return 0, ErrBroken
	case errors.Is(err, tea.ErrProgramPanic): // while drawing: it has printed the stack
		return 0, ErrBroken
	case err != nil && ctx.Err() == nil:
		return 0, err
	}
	return m.places.busyCount(), m.err
}

func (m *Model) programOptions() []tea.ProgramOption {
	options := []tea.ProgramOption{tea.WithInput(m.o.In), tea.WithOutput(m.o.Out), tea.WithoutSignalHandler()}
	if m.o.Environ != nil {
		options = append(options, tea.WithEnvironment(m.o.Environ))
	}
	if m.o.Profile != colorprofile.Unknown {
		options = append(options, tea.WithColorProfile(m.o.Profile))
	}
	return options
}

// remember keeps what was read.
func (m *Model) remember() {
	for at, p := range m.places.list {
		if p.visited || p.unread > 0 { // what was not read yet is news next time too
			m.o.Memory.seen(at, p.read)
		}
	}
	if m.attached {
		m.o.Memory.leave(m.after)
	}
}
