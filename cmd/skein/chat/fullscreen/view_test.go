package fullscreen

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/console"
)

func TestViews(t *testing.T) {
	light := func(o *Options) { o.Background = BackgroundLight }
	profile := func(p colorprofile.Profile) func(*Options) { return func(o *Options) { o.Profile = p } }
	greets := func(o *Options) { o.Greeting = "Welcome.\n\n- try `tea`\n" }
	for _, c := range []struct {
		name          string
		width, height int
		change        func(*Options)
		do            func(r *rig)
		plain         bool // without escapes: the layout is what counts
	}{
		{"told-80x24-dark", 80, 24, nil, (*rig).told, false},
		{"told-80x24-light", 80, 24, light, (*rig).told, false},
		{"told-80x24-16", 80, 24, profile(colorprofile.ANSI), (*rig).told, false},
		{"told-80x24-none", 80, 24, profile(colorprofile.ASCII), (*rig).told, false},
		{"told-200x60", 200, 60, nil, (*rig).told, true},
		{"told-200x60-light", 200, 60, light, (*rig).told, false},
		{"told-50x16", 50, 16, nil, (*rig).told, true},
		{"first-80x24", 80, 24, greets, (*rig).attach, true},
		{"help-80x24", 80, 24, nil, func(r *rig) { r.attach(); r.keys("ctrl+g") }, true},
		{"help-200x60", 200, 60, nil, func(r *rig) { r.attach(); r.keys("f1") }, true},
		{"thread-80x24", 80, 24, nil, func(r *rig) { r.told(); r.keys("alt+1") }, true},
		{"ended-80x24", 80, 24, nil, func(r *rig) { r.told(); r.keys("/thread 4", "enter") }, true},
		{"selecting-80x24", 80, 24, nil, func(r *rig) { r.told(); r.keys("f2") }, true},
		{"completing-80x24", 80, 24, nil, func(r *rig) { r.told(); r.keys("/s", "tab") }, true},
		{"several-lines-80x24", 80, 24, nil, func(r *rig) { r.told(); r.keys("one", "alt+enter", "two", "shift+enter", "three 猫") }, true},
		{"sending-80x24", 80, 24, nil, func(r *rig) { r.told(); r.keys("on its way", "enter") }, true},
		{"away-80x24", 80, 24, nil, func(r *rig) { r.told(); r.send(feedMsg{err: errors.New("gone")}) }, true},
		{"scrolled-80x24", 80, 24, nil, func(r *rig) {
			r.told()
			r.keys("pgup")
			r.says("", "", "news", "")
			r.feed()
			r.notice = ""
		}, true},
		{"too-small", 20, 5, nil, (*rig).told, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.change == nil {
				c.change = func(*Options) {}
			}
			r := newRig(t, c.width, c.height, c.change)
			c.do(r)
			view := r.View().Content
			if c.plain {
				view = ansi.Strip(view)
			}
			r.golden(c.name, view)
			if !r.tooSmall() {
				r.fits()
			}
		})
	}
}

// Without colours the screen writes none; with sixteen only those.
func TestColoursAreThoseOfTheTerminal(t *testing.T) {
	for p, banned := range map[colorprofile.Profile]string{
		colorprofile.ASCII:   "\x1b\\[([0-9;]*;)?(3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]",
		colorprofile.ANSI:    "[34]8;",
		colorprofile.ANSI256: "[34]8;2",
	} {
		r := newRig(t, 120, 40, func(o *Options) { o.Profile = p })
		r.told()
		require.NotRegexp(t, banned, r.View().Content, p.String())
		r.keys("/a")
		require.NotRegexp(t, banned, r.View().Content, p.String())
	}
}

// The terminal is asked for its background, unless somebody says it.
func TestBackground(t *testing.T) {
	answer := tea.BackgroundColorMsg{Color: ansi.RGBColor{R: 250, G: 250, B: 250}}
	auto := newRig(t, 80, 24, func(o *Options) { o.Background = BackgroundAuto })
	require.True(t, auto.dark, "dark until the terminal answers")
	auto.send(answer)
	require.False(t, auto.dark)
	said := newRig(t, 80, 24)
	said.send(answer)
	require.True(t, said.dark)

	for _, ok := range []string{"auto", "dark", "light"} {
		b, err := ParseBackground(ok)
		require.NoError(t, err)
		require.Equal(t, ok, string(b))
	}
	_, err := ParseBackground("blue")
	require.Error(t, err)
}

// A window of any size holds what is drawn in it, and what was at its top while
// scrolled stays there.
func TestResizeWithoutLoss(t *testing.T) {
	r := newRig(t, 80, 24)
	r.told()
	for i := range 40 {
		r.says("", "", strings.Repeat("word ", i)+"end", "")
	}
	r.feed()
	r.keys("pgup", "pgup")
	msg, _ := r.anchor(r.places.here)
	for _, size := range [][2]int{{40, 10}, {24, 8}, {64, 30}, {63, 30}, {80, 24}, {100, 24}} {
		r.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		r.fits()
		now, _ := r.anchor(r.places.here)
		require.Equal(t, msg, now, "%v", size)
	}
	r.send(tea.WindowSizeMsg{Width: 200, Height: 400})
	r.fits()
	require.Zero(t, r.places.here.scroll, "everything is to be seen")
}

// What people write cannot steer the terminal, nor turn its text round.
func TestHostileText(t *testing.T) {
	r := newRig(t, 120, 40)
	r.attach()
	thread := r.opens("\x1b]0;t\x07 \u202eevil")
	r.says("", "bad\x1b[2J\u202ename", "a\x1b[31mred\x1b]52;c;AAAA\x07 \u202eright to left\u2066", "")
	r.says("", "", "x", "**x\x1b[5m** `y\x1b[0m` \u202eturned\n\n```\u202e\nz\x1b[1m\u202e\n```")
	r.says(thread, "", "x", "")
	r.feed()
	r.works(Work{Place: place1(""), Agent: "\x1b[7m\u202eagent", State: StateFailed, Detail: "\x1b[8m\u202edetail"})
	r.keys("/thread ")
	r.notice = "\x1b[9m\u202enotice"
	colours := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for name, view := range map[string]string{"content": colours.ReplaceAllString(r.View().Content, ""), "title": r.View().WindowTitle} {
		for _, c := range view {
			require.False(t, c < ' ' && c != '\n' || c == 0x7f || c >= 0x80 && c < 0xa0 || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069,
				"%s has %U: %q", name, c, view)
		}
	}
	for _, banned := range []string{"\x1b[5m", "\x1b[7m", "\x1b[8m", "\x1b[31m"} {
		require.NotContains(t, r.View().Content, banned)
	}
	r.goTo(r.places.at(place1(thread)))
	require.NotContains(t, r.View().WindowTitle, "\u202e")
}

// The list shows the present place also where there are more than rows.
func TestLongListFollowsThePresentPlace(t *testing.T) {
	r := newRig(t, 80, 12)
	r.attach()
	for range 30 {
		r.opens("topic")
	}
	r.feed()
	require.NotContains(t, r.screen(), "#30 topic")
	r.keys("/thread 30", "enter")
	require.Contains(t, r.screen(), "▌   #30 topic")
	r.fits()
	require.Equal(t, "t21", r.listed(0).at.Thread)
	r.send(tea.MouseClickMsg{X: 3, Y: sideTop, Button: tea.MouseLeft})
	require.Equal(t, "t21", r.places.here.at.Thread, "a click goes where it points")
	r.send(tea.MouseClickMsg{X: 40, Y: sideTop + 1, Button: tea.MouseLeft})
	require.Equal(t, "t21", r.places.here.at.Thread)
	require.Nil(t, r.listed(-1))
}

// Chats with other agents are in the list too; what other people write is not.
func TestListHasThePersonsChats(t *testing.T) {
	r := newRig(t, 100, 20)
	_, err := r.hub.OpenChat(t.Context(), console.ChatRequest{By: console.User{ID: console.Local}, Agent: "helper"})
	require.NoError(t, err)
	require.NoError(t, r.hub.OpenConversation(console.Conversation{ID: "team", Kind: "group", Accounts: []string{console.DefaultAccount}}))
	r.attach()
	require.Contains(t, r.screen(), "helper")
	require.NotContains(t, r.screen(), "team")
	r.keys("/thread helper", "enter")
	require.Equal(t, Place{Conversation: "agent-helper"}, r.places.here.at)
	r.keys("/thread main", "enter")
	require.Equal(t, Place{Conversation: console.Main}, r.places.here.at)
}

// Terminals that count by graphemes say so; the screen then counts as the
// renderer does.
func TestWidthIsTheTerminals(t *testing.T) {
	r := newRig(t, 80, 24)
	const family = "👩‍👩‍👧"
	apart := r.measure(family)
	r.send(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeNotRecognized})
	require.Equal(t, apart, r.measure(family))
	r.send(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeReset})
	require.Equal(t, 2, r.measure(family))
	require.NotEqual(t, 2, apart)
}
