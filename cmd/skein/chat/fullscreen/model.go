package fullscreen

import (
	"context"
	"errors"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/skein-bot/skein/channels/console"
)

// Model is the screen as a Bubble Tea model. Make one with NewModel; Run does.
type Model struct {
	o      Options
	ctx    context.Context //nolint:containedctx // of the commands: a model has no other way to hand it to them
	tasks  *tasks
	places *places

	width, height int
	dark          bool
	profile       colorprofile.Profile
	theme         theme
	measure       measure
	drawing       int // grows with everything that all lines depend on
	focused       bool
	selecting     bool
	helping       bool

	input      textarea.Model
	commands   []Command
	completing *completion
	recalled   int    // lines back in the history, 0 for none
	unfinished string // what was written before looking back

	attached bool
	after    uint64 // of the last feed
	typingAt uint64
	away     bool
	pause    time.Duration
	unsent   []console.Post
	sending  bool
	polls    int // number of the newest poll of the overview
	ticking  bool
	frame    int // of the spinner
	notice   string
	noticeAt time.Time

	err   error
	fault string // the stack of a panic
}

// The messages of the program.
type (
	// attachedMsg brings what there was before.
	attachedMsg struct {
		conversations []console.Conversation
		threads       []console.Thread
		feed          console.Feed
		err           error
	}
	feedMsg struct {
		feed console.Feed
		err  error
	}
	historyMsg struct {
		at   Place
		feed console.Feed
		err  error
	}
	postedMsg struct {
		key     string
		message console.Message
		err     error
	}
	changedMsg struct {
		at      Place
		message console.Message
		err     error
	}
	workMsg struct {
		poll int
		list []Work
		err  error
	}
	tickMsg  struct{}
	flushMsg struct{}
)

// NewModel returns the screen before anything is known. ctx ends its commands.
func NewModel(ctx context.Context, o Options) *Model {
	if o.Memory == nil {
		o.Memory, _ = OpenMemory("") // it cannot fail
	}
	m := &Model{
		o: o, ctx: ctx, tasks: new(tasks), places: newPlaces(o.User, o.Conversation), measure: byRunes, dark: o.Background != BackgroundLight,
		profile: o.Profile, focused: true, input: newInput(), commands: mergeCommands(o.Commands), pause: reconnectPause,
	}
	m.places.here.history = o.Memory.history[m.places.here.at]
	m.restyle()
	if o.Warning != "" {
		m.say(o.Warning)
	}
	return m
}

// restyle takes over new colours.
func (m *Model) restyle() {
	m.theme = newTheme(m.dark, m.profile)
	m.styleInput()
	m.drawing++
}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.attach(0), m.poll(0)}
	if m.o.Background == BackgroundAuto {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	return tea.Batch(cmds...)
}

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.guarded(msg)
	return m, tea.Batch(cmd, m.tick())
}

// guarded is update; a panic in it ends the program.
func (m *Model) guarded(msg tea.Msg) (cmd tea.Cmd) {
	defer func() {
		if r := recover(); r != nil {
			cmd = m.broke(fault(r))
		}
	}()
	if m.fault != "" {
		return nil
	}
	cmd = m.update(msg)
	m.layoutInput()
	m.look()
	return cmd
}

func (m *Model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.BackgroundColorMsg:
		if m.o.Background == BackgroundAuto && msg.IsDark() != m.dark {
			m.dark = msg.IsDark()
			m.restyle()
		}
	case tea.ColorProfileMsg:
		if m.o.Profile == colorprofile.Unknown && msg.Profile != m.profile {
			m.profile = msg.Profile
			m.restyle()
		}
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeUnicodeCore && (msg.Value == ansi.ModeReset || msg.Value == ansi.ModeSet || msg.Value == ansi.ModePermanentlySet) {
			m.measure = byGraphemes // as the renderer does then
			m.drawing++
		}
	case tea.FocusMsg:
		m.focused = true
	case tea.BlurMsg:
		m.focused = false
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		return m.paste(msg)
	case tea.MouseClickMsg:
		return m.click(msg.Mouse())
	case tea.MouseWheelMsg:
		m.wheel(msg.Mouse())
	default:
		return m.brought(msg)
	}
	return nil
}

// brought takes over what a command brings.
func (m *Model) brought(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case attachedMsg:
		return m.attachedTo(msg)
	case feedMsg:
		return m.fed(msg)
	case historyMsg:
		m.told(msg)
	case postedMsg:
		return m.posted(msg)
	case changedMsg:
		return m.changed(msg)
	case flushMsg:
		return m.flush()
	case workMsg:
		return m.worked(msg)
	case faultMsg:
		return m.broke(string(msg))
	case tickMsg:
		m.ticking = false
		m.frame++
		if m.notice != "" && m.o.Clock.Now().Sub(m.noticeAt) >= noticeFor {
			m.notice = ""
		}
	}
	return nil
}

// look marks what is on the screen as read.
func (m *Model) look() {
	p := m.places.here
	if m.attached && m.focused && p.scroll == 0 && !m.helping {
		p.see()
	}
}

// The pace of the screen.
const (
	tickEvery      = 120 * time.Millisecond
	noticeFor      = 6 * time.Second
	pollBusy       = 2 * time.Second
	pollIdle       = 15 * time.Second
	pollSoon       = 150 * time.Millisecond
	reconnectPause = 250 * time.Millisecond
	reconnectMax   = 3 * time.Second
)

// tick keeps the spinner going while there is something to show; else nothing
// moves.
func (m *Model) tick() tea.Cmd {
	if m.ticking || !m.moving() {
		return nil
	}
	m.ticking = true
	return m.do(func(ctx context.Context) tea.Msg {
		if !m.wait(ctx, tickEvery) {
			return nil
		}
		return tickMsg{}
	})
}

func (m *Model) moving() bool {
	if m.notice != "" || m.away || !m.attached {
		return true
	}
	for _, p := range m.places.list {
		if p.busy() {
			return true
		}
	}
	return false
}

// say shows a notice for a while.
func (m *Model) say(text string) { m.notice, m.noticeAt = text, m.o.Clock.Now() }

// fail ends the program with an error.
func (m *Model) fail(err error) tea.Cmd {
	m.err = err
	return tea.Quit
}

// poll asks what goes on, after a while. Older polls that still wait are void.
func (m *Model) poll(after time.Duration) tea.Cmd {
	if m.o.Overview == nil {
		return nil
	}
	m.polls++
	n := m.polls
	return m.do(func(ctx context.Context) tea.Msg {
		if after > 0 && !m.wait(ctx, after) {
			return nil
		}
		list, err := m.o.Overview(ctx)
		if ctx.Err() != nil {
			return nil
		}
		return workMsg{n, list, err}
	})
}

func (m *Model) worked(msg workMsg) tea.Cmd {
	if msg.poll != m.polls {
		return nil
	}
	if msg.err == nil {
		m.places.working(msg.list, m.o.Clock.Now())
	}
	if m.places.busyCount() > 0 {
		return m.poll(pollBusy)
	}
	return m.poll(pollIdle)
}

// passes tells that an error is one that passes: the console cannot be
// reached, or is closing.
func (m *Model) passes(err error) bool {
	refusal := new(console.Error)
	return m.o.Reconnect && (!errors.As(err, &refusal) || refusal.Code == console.CodeClosed)
}
