package fullscreen

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// Command is one that people may write.
type Command struct {
	Name string // without the slash
	// Usage is what follows the name, Summary what it does.
	Usage, Summary string
}

// ownCommands are those of the screen itself.
func ownCommands() []Command {
	return []Command{
		{"edit", "<text>", "give your newest message here a new text"},
		{"delete", "", "delete your newest message here"},
		{"thread", "<number or title>|main", "go to a thread, or back"},
		{"quit", "", "leave; everything goes on without this window"},
	}
}

const (
	inputLines  = 8 // the line that is written on grows to so many rows
	inputPrompt = 2 // cells before it
	suggestions = 6 // completions shown at once
	pasteLimit  = 1 << 20
)

// newInput makes the line that is written on.
func newInput() textarea.Model {
	in := textarea.New()
	in.ShowLineNumbers = false
	in.EndOfBufferCharacter = ' '
	in.CharLimit = pasteLimit
	in.DynamicHeight = true
	in.MinHeight, in.MaxHeight, in.MaxContentHeight = 1, inputLines, pasteLimit
	in.SetVirtualCursor(false)
	in.SetPromptFunc(inputPrompt, func(i textarea.PromptInfo) string {
		if i.LineNumber == 0 {
			return "› "
		}
		return "  "
	})
	k := &in.KeyMap
	k.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "shift+enter", "ctrl+j"))
	k.LineNext = key.NewBinding(key.WithKeys("down"))
	k.LinePrevious = key.NewBinding(key.WithKeys("up"))
	k.Paste.SetEnabled(false) // the terminal pastes; reading a clipboard would run a program
	k.SelectAll.SetEnabled(false)
	k.TransposeCharacterBackward.SetEnabled(false)
	in.Focus()
	return in
}

// styleInput gives the line the colours of a theme.
func (m *Model) styleInput() {
	t := m.theme
	state := textarea.StyleState{
		Base: lipgloss.NewStyle(), Text: t.plain, CursorLine: t.plain, EndOfBuffer: t.plain, Placeholder: t.dim, Prompt: t.you,
		Selection: lipgloss.NewStyle().Reverse(true),
	}
	m.input.SetStyles(textarea.Styles{Focused: state, Blurred: state, Cursor: textarea.CursorStyle{Shape: tea.CursorBar}})
}

// setInput replaces what stands on the line, with the cursor at its end.
func (m *Model) setInput(text string) {
	m.input.SetValue(text)
	m.input.MoveToEnd()
	m.completing = nil
}

// recall shows a line that was written before: step 1 is the one before the one
// shown, -1 the one after. It reports whether there is one.
func (m *Model) recall(step int) bool {
	lines := m.places.here.history
	next := m.recalled + step
	if next < 0 || next > len(lines) {
		return false
	}
	if m.recalled == 0 {
		m.unfinished = m.input.Value()
	}
	m.recalled = next
	if next == 0 {
		m.setInput(m.unfinished)
	} else {
		m.setInput(lines[len(lines)-next])
	}
	return true
}

// atTop and atBottom tell whether a further step would leave the text.
func (m *Model) atTop() bool {
	return m.input.Line() == 0 && m.input.LineInfo().RowOffset == 0
}

func (m *Model) atBottom() bool {
	info := m.input.LineInfo()
	return m.input.Line() == m.input.LineCount()-1 && info.RowOffset >= info.Height-1
}

// completion is a choice of commands, or of what follows one.
type completion struct {
	typed   string
	choices []Command
	at      int // -1 before one was chosen
}

// suggest finds what a beginning can become.
func (m *Model) suggest(typed string) []Command {
	name, ok := strings.CutPrefix(typed, "/")
	if !ok || strings.ContainsAny(name, "\n") {
		return nil
	}
	if rest, ok := strings.CutPrefix(name, "thread "); ok {
		return m.suggestPlaces(rest)
	}
	if strings.Contains(name, " ") {
		return nil
	}
	var list []Command
	for _, c := range m.commands {
		if strings.HasPrefix(c.Name, strings.ToLower(name)) {
			list = append(list, c)
		}
	}
	return list
}

func (m *Model) suggestPlaces(typed string) []Command {
	var list []Command
	for _, p := range m.places.ordered() {
		name := strings.TrimPrefix(p.label(), "#")
		if p.at.Conversation == m.places.here.at.Conversation && strings.HasPrefix(name, strings.TrimPrefix(typed, "#")) {
			list = append(list, Command{Name: "thread " + name, Summary: p.name()})
		}
	}
	return list
}

// complete chooses the next completion, or begins to.
func (m *Model) complete(step int) {
	c := m.completing
	if c == nil {
		c = &completion{typed: m.input.Value(), choices: m.suggest(m.input.Value()), at: -1}
	}
	n := len(c.choices)
	switch {
	case n == 0:
		return
	case c.at < 0 && step < 0:
		c.at = n - 1
	default:
		c.at = (c.at + step + n) % n
	}
	chosen := c.choices[c.at]
	text := "/" + chosen.Name
	if chosen.Usage != "" || n == 1 {
		text += " "
	}
	m.setInput(text)
	if n > 1 {
		m.completing = c
	}
}

// offered returns the completions to show, and which of them is chosen.
func (m *Model) offered() ([]Command, int) {
	if m.completing != nil {
		return m.completing.choices, m.completing.at
	}
	return m.suggest(m.input.Value()), -1
}

// mergeCommands joins the commands of the runtime and of the screen, by name.
func mergeCommands(runtime []Command) []Command {
	list := append(slices.Clone(runtime), ownCommands()...)
	slices.SortStableFunc(list, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(list, func(a, b Command) bool { return a.Name == b.Name })
}
