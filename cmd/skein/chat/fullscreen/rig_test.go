package fullscreen

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/world"
)

var update = flag.Bool("update", false, "write the golden views anew")

// begin is when every test begins.
var begin = time.Date(2026, 3, 14, 9, 30, 0, 0, time.UTC)

// rig is a screen on a console in memory. Its commands are not run: a test
// hands it what they would bring, so that nothing depends on time.
type rig struct {
	t     *testing.T
	hub   *console.Hub
	clock *clock.Virtual
	*Model
}

func newRig(t *testing.T, width, height int, change ...func(*Options)) *rig {
	t.Helper()
	c := clock.NewVirtual(begin, new(world.Work))
	hub, err := console.Open(console.Options{Clock: c, Agents: func() []string { return []string{"helper"} }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, hub.Close()) })
	keys := 0
	o := Options{
		People: hub, Conversation: console.Main, User: console.Local, Clock: c, Zone: time.UTC, Background: BackgroundDark,
		Profile: colorprofile.TrueColor, Reconnect: true,
		NewKey: func() string { keys++; return fmt.Sprintf("key-%d", keys) },
		Commands: []Command{
			{"agents", "", "sub-agents, their threads, and what can be focused"}, {"focus", "<target>", "talk to a sub-agent here"},
			{"help", "", "this list"}, {"stop", "", "stop the answer in progress"}, {"status", "", "what goes on here"},
		},
	}
	for _, f := range change {
		f(&o)
	}
	r := &rig{t: t, hub: hub, clock: c, Model: NewModel(t.Context(), o)}
	r.send(tea.WindowSizeMsg{Width: width, Height: height})
	return r
}

// send hands the screen a message.
func (r *rig) send(msg tea.Msg) { r.Update(msg) }

// attach brings what there was.
func (r *rig) attach() { r.send(r.Model.attach(0)()) }

// feed brings what changed since.
func (r *rig) feed() {
	feed, err := r.hub.Feed(r.t.Context(), console.FeedRequest{After: r.after, TypingAfter: r.typingAt})
	r.send(feedMsg{feed, err})
}

// pass sends what was not sent.
func (r *rig) pass() {
	for len(r.unsent) > 0 {
		post := r.unsent[0]
		sent, err := r.hub.Post(r.t.Context(), post)
		r.send(postedMsg{post.Key, sent, err})
	}
}

// says posts as the account; persona and thread may be empty.
func (r *rig) says(thread, persona, text, markdown string) {
	r.t.Helper()
	_, err := r.hub.Send(r.t.Context(), console.SendRequest{
		Account: console.DefaultAccount, Conversation: console.Main, Thread: thread, Persona: persona, Text: text, Markdown: markdown,
	})
	require.NoError(r.t, err)
}

func (r *rig) opens(title string) string {
	r.t.Helper()
	t, err := r.hub.OpenThread(r.t.Context(), console.OpenRequest{Account: console.DefaultAccount, Conversation: console.Main, Title: title})
	require.NoError(r.t, err)
	return t.ID
}

// works tells what goes on.
func (r *rig) works(list ...Work) { r.send(workMsg{poll: r.polls, list: list}) }

// keys presses keys by their names; other words are typed.
func (r *rig) keys(names ...string) {
	named := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
		"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "esc": {Code: tea.KeyEscape}, "end": {Code: tea.KeyEnd}, "home": {Code: tea.KeyHome},
		"pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown}, "f1": {Code: tea.KeyF1}, "f2": {Code: tea.KeyF2},
		"alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt}, "shift+enter": {Code: tea.KeyEnter, Mod: tea.ModShift},
		"ctrl+up": {Code: tea.KeyUp, Mod: tea.ModCtrl}, "ctrl+down": {Code: tea.KeyDown, Mod: tea.ModCtrl},
		"alt+1": {Code: '1', Mod: tea.ModAlt}, "alt+0": {Code: '0', Mod: tea.ModAlt}, "alt+9": {Code: '9', Mod: tea.ModAlt},
		"ctrl+n": {Code: 'n', Mod: tea.ModCtrl}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+d": {Code: 'd', Mod: tea.ModCtrl},
		"ctrl+g": {Code: 'g', Mod: tea.ModCtrl}, "ctrl+y": {Code: 'y', Mod: tea.ModCtrl}, "ctrl+l": {Code: 'l', Mod: tea.ModCtrl},
		"ctrl+home": {Code: tea.KeyHome, Mod: tea.ModCtrl}, "ctrl+end": {Code: tea.KeyEnd, Mod: tea.ModCtrl},
	}
	for _, name := range names {
		if key, ok := named[name]; ok {
			r.send(key)
			continue
		}
		for _, c := range name {
			r.send(tea.KeyPressMsg{Code: c, Text: string(c)})
		}
	}
}

// press presses a key and tells whether the program ends with it.
func (r *rig) press(key tea.KeyPressMsg) (quits bool) {
	_, cmd := r.Update(key)
	if cmd == nil {
		return false
	}
	msg := cmd()
	_, quits = msg.(tea.QuitMsg)
	return quits
}

// screen is the view without colours.
func (r *rig) screen() string { return ansi.Strip(r.View().Content) }

// golden compares the view with a file; escapes are shown as ␛.
func (r *rig) golden(name, view string) {
	r.t.Helper()
	lines := strings.Split(strings.ReplaceAll(view, "\x1b", "␛"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	got := strings.Join(lines, "\n") + "\n"
	file := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(r.t, os.MkdirAll("testdata", 0o755))
		require.NoError(r.t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(r.t, err, "write it with -update")
	require.Equal(r.t, string(want), got)
}

// fits holds every row to the size of the window.
func (r *rig) fits() {
	r.t.Helper()
	rows := strings.Split(r.View().Content, "\n")
	require.Len(r.t, rows, r.height)
	for i, row := range rows {
		require.LessOrEqual(r.t, r.measure(ansi.Strip(row)), r.width, "row %d: %q", i, row)
	}
}

func (r *rig) minute(n int) { r.later(time.Duration(n) * time.Minute) }

func (r *rig) later(d time.Duration) { r.clock.AdvanceTo(r.clock.Now().Add(d)) }

func place1(thread string) Place { return Place{Conversation: console.Main, Thread: thread} }

const answer = `# Tea

Green and **black** tea come from *one* plant; see [the list](https://example.org/tea).

| kind | minutes |
| --- | ---: |
| green | 2 |
| black | 4 |

- ` + "`brew()`" + ` it
  - hot
- drink it

> Not the ~~bag~~ leaf.

` + "```go\nfunc brew(m int) {\n\twait(m) // minutes\n}\n```"

// told plays a conversation with everything in it.
func (r *rig) told() {
	r.post0("你好，世界: tea 👩‍👩‍👧 and e\u0301clairs, שלום עולם please; and one line that is longer than the pane is wide")
	r.minute(1)
	r.says("", "", "Tea", answer)
	cats, dogs, owls := r.opens("cats"), r.opens("dogs"), r.opens("owls")
	old := r.opens("a thread with a rather long title")
	r.attach()
	r.minute(9)
	r.says(cats, "cats", "Cats sleep a lot.", "")
	r.says("", "", "Both are back.\n\n1. cats: asleep\n2. dogs: `awake`", "")
	_, err := r.hub.ChangeThread(r.t.Context(), console.ThreadChange{Thread: old, Op: console.ThreadArchive})
	require.NoError(r.t, err)
	_, err = r.hub.Typing(r.t.Context(), console.TypingRequest{Account: console.DefaultAccount, Conversation: console.Main, Thread: dogs})
	require.NoError(r.t, err)
	r.feed()
	r.works(
		Work{Place: place1(""), Agent: "Skein", State: StateWaiting},
		Work{Place: place1(cats), Agent: "Researcher", State: StateDone, Bound: true, Ends: core.ToMillis(r.clock.Now().Add(24 * time.Hour))},
		Work{Place: place1(dogs), Agent: "Researcher", State: StateRunning, Bound: true},
		Work{Place: place1(owls), Agent: "Researcher", State: StateFailed, Bound: true, Detail: "the model did not answer"},
	)
	r.later(3 * time.Second)
	r.notice = ""
}

func (r *rig) post0(text string) {
	r.t.Helper()
	_, err := r.hub.Post(r.t.Context(), console.Post{By: console.User{ID: console.Local}, Conversation: console.Main, Text: text})
	require.NoError(r.t, err)
}
