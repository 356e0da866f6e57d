package fullscreen

import (
	"regexp"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/cmd/skein/chat"
)

// key handles a key.
func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	if m.helping {
		m.helping = false
		if name != "ctrl+c" && name != "ctrl+d" {
			return nil
		}
	}
	if cmd, done := m.global(name); done {
		return cmd
	}
	if cmd, done := m.moves(name); done {
		return cmd
	}
	return m.edit(msg, name)
}

// global handles the keys of the screen as a whole.
func (m *Model) global(name string) (cmd tea.Cmd, done bool) {
	switch name {
	case "ctrl+c":
		if m.input.Value() == "" {
			return tea.Quit, true
		}
		m.setInput("")
		m.recalled = 0
	case "ctrl+d":
		if m.input.Value() != "" {
			return nil, false
		}
		return tea.Quit, true
	case "f1", "ctrl+g":
		m.helping = true
	case "f2":
		m.selecting = !m.selecting
		m.resize(m.width, m.height)
	case "ctrl+l":
		return tea.ClearScreen, true
	case "ctrl+y":
		return m.copyAnswer(), true
	case "esc":
		switch {
		case m.completing != nil:
			m.setInput(m.completing.typed)
		case m.selecting:
			m.selecting = false
			m.resize(m.width, m.height)
		default:
			m.scrollTo(0)
		}
	default:
		return nil, false
	}
	return nil, true
}

// moves handles the keys that go somewhere.
func (m *Model) moves(name string) (cmd tea.Cmd, done bool) {
	s := m.places
	switch name {
	case "tab", "shift+tab":
		step := 1
		if name == "shift+tab" {
			step = -1
		}
		if offered, _ := m.offered(); len(offered) > 0 {
			m.complete(step)
			return nil, true
		}
		if step < 0 {
			return m.goTo(s.step(-1)), true
		}
		return m.goTo(s.next()), true
	case "ctrl+up", "alt+up":
		return m.goTo(s.step(-1)), true
	case "ctrl+down", "alt+down":
		return m.goTo(s.step(1)), true
	case "ctrl+n":
		if s.answered == nil {
			return m.goTo(s.next()), true
		}
		return m.goTo(s.answered), true
	case "pgup":
		m.scrollTo(s.here.scroll + max(m.bodyHeight()-2, 1))
	case "pgdown":
		m.scrollTo(s.here.scroll - max(m.bodyHeight()-2, 1))
	case "ctrl+home":
		m.scrollTo(m.total(s.here))
	case "ctrl+end":
		m.scrollTo(0)
	case "home", "end":
		if m.input.Value() != "" {
			return nil, false
		}
		m.scrollTo(map[string]int{"home": m.total(s.here)}[name])
	default:
		if digit, ok := strings.CutPrefix(name, "alt+"); ok && len(digit) == 1 && digit[0] >= '0' && digit[0] <= '9' {
			return m.goToNamed(digit), true
		}
		return nil, false
	}
	return nil, true
}

// edit handles the keys of the line that is written on.
func (m *Model) edit(msg tea.KeyPressMsg, name string) tea.Cmd {
	switch {
	case name == "enter":
		return m.enter()
	case name == "up" && m.atTop() && m.recall(1), name == "down" && m.atBottom() && m.recalled > 0 && m.recall(-1):
		return nil
	}
	return m.toInput(msg)
}

func (m *Model) toInput(msg tea.Msg) tea.Cmd {
	before := m.input.Value()
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	if m.input.Value() != before {
		m.completing = nil
	}
	return cmd
}

// paste puts pasted text on the line, whatever is in it: it is never a key and
// never sent by itself.
func (m *Model) paste(msg tea.PasteMsg) tea.Cmd {
	m.helping = false
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(msg.Content)
	return m.toInput(tea.PasteMsg{Content: chat.Clean(strings.TrimRight(text, "\n"))})
}

var threadNumber = regexp.MustCompile(`^#\d+$`)

// enter does what the line asks for.
func (m *Model) enter() tea.Cmd {
	text := strings.TrimRight(m.input.Value(), " \t\n")
	line := strings.TrimSpace(text)
	if line == "" {
		return nil
	}
	m.input.Reset()
	m.completing, m.recalled = nil, 0
	m.o.Memory.wrote(m.places.here.at, text)
	m.places.here.history = m.o.Memory.history[m.places.here.at]
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "/quit" || line == "/exit":
		return tea.Quit
	case line == "/threads":
		m.say(textThreads)
		return nil
	case word == "/edit":
		return m.reword(strings.TrimSpace(rest))
	case line == "/delete":
		return m.change(console.MessageChange{Op: console.OpDelete})
	case word == "/thread":
		return m.goToNamed(rest)
	case threadNumber.MatchString(line):
		return m.goToNamed(line)
	}
	return m.post(text)
}

// goToNamed goes to a place that somebody names.
func (m *Model) goToNamed(name string) tea.Cmd {
	if name == "0" {
		name = ""
	}
	p := m.places.find(name)
	if p == nil {
		m.say(textNoPlace(strings.TrimSpace(name)).Error())
		return nil
	}
	return m.goTo(p)
}

// goTo makes another place the one that is shown and written to.
func (m *Model) goTo(p *place) tea.Cmd {
	from := m.places.here
	if p == from {
		return nil
	}
	from.draft = m.input.Value()
	m.o.Memory.seen(from.at, from.read)
	m.places.enter(p)
	p.history = m.o.Memory.history[p.at]
	m.setInput(p.draft)
	m.recalled = 0
	if m.notice == textAnswered(p.name()) {
		m.notice = ""
	}
	return m.load(p)
}

// scrollTo shows the conversation with so many lines below the window.
func (m *Model) scrollTo(lines int) {
	p := m.places.here
	p.scroll = min(max(lines, 0), max(m.total(p)-m.bodyHeight(), 0))
}

// click goes to the place in the list that was clicked on.
func (m *Model) click(at tea.Mouse) tea.Cmd {
	if m.helping {
		m.helping = false
		return nil
	}
	if at.Button != tea.MouseLeft || at.X >= m.sideWidth() {
		return nil
	}
	if p := m.listed(at.Y - sideTop); p != nil {
		return m.goTo(p)
	}
	return nil
}

const wheelLines = 3

func (m *Model) wheel(at tea.Mouse) {
	switch at.Button {
	case tea.MouseWheelUp:
		m.scrollTo(m.places.here.scroll + wheelLines)
	case tea.MouseWheelDown:
		m.scrollTo(m.places.here.scroll - wheelLines)
	}
}

// copyAnswer puts the newest answer of the place into the terminal's clipboard.
func (m *Model) copyAnswer() tea.Cmd {
	list := m.places.here.messages
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].counts(m.o.User) {
			m.say(textCopied)
			return tea.SetClipboard(chat.Clean(list[i].Text))
		}
	}
	m.say(textNoCopy)
	return nil
}
