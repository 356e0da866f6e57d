package fullscreen

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/console"
)

// at is the label of the place that is shown.
func (r *rig) at() string { return r.places.here.label() }

func TestGoing(t *testing.T) {
	r := newRig(t, 80, 24)
	r.attach()
	one, two := r.opens("cats"), r.opens("dogs")
	r.opens("owls")
	r.feed()
	r.says(two, "dogs", "Dogs!", "")
	r.feed()
	for _, step := range []struct{ key, at string }{
		{"tab", "#2"}, // unread first
		{"tab", "#3"}, {"tab", "main"}, {"shift+tab", "#3"}, {"ctrl+up", "#2"}, {"ctrl+down", "#3"}, {"alt+1", "#1"}, {"alt+0", "main"},
		{"alt+0", "main"}, {"alt+9", "main"}, {"ctrl+n", "#1"},
	} {
		r.keys(step.key)
		require.Equal(t, step.at, r.at(), step.key)
	}
	r.keys("alt+0")
	r.says(one, "cats", "Cats!", "")
	r.feed()
	require.Contains(t, r.screen(), "#1 cats answered · ctrl+n goes there")
	r.keys("ctrl+n")
	require.Equal(t, "#1", r.at())
	require.NotContains(t, r.screen(), "answered")

	for _, step := range []struct{ line, at string }{
		{"/thread 2", "#2"}, {"#3", "#3"}, {"/thread main", "main"}, {"/thread CATS", "#1"}, {"/thread", "main"}, {"/thread 77", "main"},
	} {
		r.keys(step.line, "enter")
		require.Equal(t, step.at, r.at(), step.line)
	}
	require.Contains(t, r.screen(), `there is no thread "77"`)
	require.Empty(t, r.unsent, "none of it is a message")
	r.send(tea.MouseClickMsg{X: 2, Y: sideTop + 2, Button: tea.MouseLeft})
	require.Equal(t, "#2", r.at())
}

// What the runtime says when a sub-agent comes is no answer.
func TestIntroIsNoAnswer(t *testing.T) {
	r := newRig(t, 80, 24)
	r.attach()
	thread := r.opens("cats")
	r.says(thread, "", "cats is here.", "")
	r.feed()
	require.NotContains(t, r.screen(), "answered")
	require.Equal(t, 1, r.places.unread())
}

func TestDraftsStayWhereTheyAreWritten(t *testing.T) {
	r := newRig(t, 80, 24)
	r.attach()
	r.opens("cats")
	r.feed()
	r.keys("for main", "ctrl+down", "for cats", "ctrl+up")
	require.Equal(t, "for main", r.input.Value())
	r.keys("tab")
	require.Equal(t, "for cats", r.input.Value())
}

func TestWriting(t *testing.T) {
	r := newRig(t, 80, 24)
	r.attach()
	r.keys("one", "alt+enter", "two", "shift+enter", "three", "enter")
	require.Equal(t, "one\ntwo\nthree", r.unsent[0].Text)
	r.pass()
	r.send(tea.PasteMsg{Content: "a\r\nb\x1b[31m\tc\n\n"})
	require.Equal(t, "a\nb[31m    c", strings.ReplaceAll(r.input.Value(), "\t", "    "), "a paste is text, and not sent by itself")
	require.Empty(t, r.unsent)
	r.keys("enter", "   ", "enter", "enter")
	require.Len(t, r.unsent, 1, "nothing but blanks is no message")
	r.pass()
	long := strings.Repeat("a long line ", 40)
	r.send(tea.PasteMsg{Content: strings.Repeat(long+"\n", 30)})
	r.fits()
	require.LessOrEqual(t, r.input.Height(), inputLines)
}

func TestHistoryOfAPlace(t *testing.T) {
	r := newRig(t, 80, 24)
	r.attach()
	r.opens("cats")
	r.feed()
	r.keys("first", "enter", "second", "alt+enter", "line", "enter", "first", "enter")
	r.pass()
	r.keys("draft", "up")
	require.Equal(t, "first", r.input.Value())
	r.keys("up")
	require.Equal(t, "second\nline", r.input.Value(), "what was written twice is there once")
	r.keys("up")
	require.Equal(t, "second\nline", r.input.Value(), "the cursor goes up in it first, and there is no older line")
	r.keys("down", "down")
	require.Equal(t, "first", r.input.Value())
	r.keys("down")
	require.Equal(t, "draft", r.input.Value())
	r.keys("down")
	require.Equal(t, "draft", r.input.Value())
	r.keys("ctrl+c", "tab", "up")
	require.Empty(t, r.input.Value(), "another place has another history")
}

func TestCompletion(t *testing.T) {
	r := newRig(t, 80, 24)
	r.attach()
	r.opens("cats")
	r.feed()
	r.keys("/he", "tab")
	require.Equal(t, "/help ", r.input.Value(), "the only one")
	r.keys("ctrl+c", "/s")
	require.Contains(t, r.screen(), "/stop    stop the answer in progress")
	r.keys("tab")
	require.Equal(t, "/status", r.input.Value())
	r.keys("tab")
	require.Equal(t, "/stop", r.input.Value())
	r.keys("shift+tab")
	require.Equal(t, "/status", r.input.Value())
	r.keys("esc")
	require.Equal(t, "/s", r.input.Value())
	r.keys("ctrl+c", "/thread ")
	require.Contains(t, r.screen(), "#1 cats")
	r.keys("tab", "tab", "enter")
	require.Equal(t, "#1", r.at())
	r.keys("/foc", "tab")
	require.Equal(t, "/focus ", r.input.Value())
	require.Contains(t, r.screen(), "/focus <target>", "how it is written")
	r.keys("ctrl+c", "/nothing", "tab")
	require.Equal(t, "main", r.at(), "where nothing can be completed, Tab goes on")
}

func TestScrolling(t *testing.T) {
	r := newRig(t, 80, 24)
	r.attach()
	for range 60 {
		r.says("", "", "line", "")
	}
	r.feed()
	require.Zero(t, r.places.here.unread)
	r.keys("pgup")
	up := r.places.here.scroll
	require.Equal(t, r.bodyHeight()-2, up)
	require.Contains(t, r.screen(), "more below")
	before, _ := r.anchor(r.places.here)
	r.says("", "", "news", "")
	r.feed()
	require.Contains(t, r.screen(), "↓ 1 new message")
	now, _ := r.anchor(r.places.here)
	require.Equal(t, before, now, "what is read does not move")
	r.keys("end")
	require.Contains(t, r.screen(), "── new ─")
	require.Zero(t, r.places.here.unread)
	r.send(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	require.Equal(t, wheelLines, r.places.here.scroll)
	r.keys("home", "pgup", "ctrl+home")
	require.Equal(t, r.total(r.places.here)-r.bodyHeight(), r.places.here.scroll)
	r.keys("pgdown", "esc")
	require.Zero(t, r.places.here.scroll)
	r.keys("my answer", "enter")
	require.NotContains(t, r.screen(), "── new ─", "who answers has read")
}

func TestQuitting(t *testing.T) {
	ctrlC, ctrlD := tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}, tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl}
	enter := tea.KeyPressMsg{Code: tea.KeyEnter}
	for _, c := range []struct {
		typed string
		key   tea.KeyPressMsg
		quits bool
	}{{"", ctrlC, true}, {"x", ctrlC, false}, {"", ctrlD, true}, {"x", ctrlD, false}, {"/quit", enter, true}, {"/exit", enter, true}, {"", enter, false}} {
		r := newRig(t, 80, 24)
		r.ticking = true // no timer of the spinner
		r.keys(c.typed)
		require.Equal(t, c.quits, r.press(c.key), "%q %s", c.typed, c.key)
	}
	r := newRig(t, 80, 24)
	r.ticking = true
	r.keys("f1")
	require.True(t, r.press(ctrlC), "out of the help too")
}

func TestCopying(t *testing.T) {
	r := newRig(t, 80, 24)
	r.attach()
	r.keys("ctrl+y")
	require.Contains(t, r.screen(), textNoCopy)
	r.says("", "", "the answer", "")
	r.post0("mine")
	r.feed()
	r.ticking = true
	_, cmd := r.Update(tea.KeyPressMsg{Code: 'y', Mod: tea.ModCtrl})
	require.NotNil(t, cmd)
	require.Equal(t, tea.SetClipboard("the answer")(), cmd())
	require.Equal(t, tea.MouseModeCellMotion, r.View().MouseMode)
	r.keys("f2")
	require.Equal(t, tea.MouseModeNone, r.View().MouseMode, "the terminal selects")
	require.NotContains(t, r.screen(), "│", "and only text")
	r.keys("esc")
	require.Contains(t, r.screen(), "│")
}

// A notice goes by itself.
func TestNoticesPass(t *testing.T) {
	r := newRig(t, 80, 24)
	r.attach()
	r.keys("/threads", "enter")
	require.Contains(t, r.screen(), "the list on the left")
	r.later(noticeFor - time.Second)
	r.send(tickMsg{})
	require.Contains(t, r.screen(), "the list on the left")
	r.later(time.Second)
	r.send(tickMsg{})
	require.NotContains(t, r.screen(), "the list on the left")
}

// Nothing moves where nothing goes on.
func TestQuietScreenHasNoTimer(t *testing.T) {
	r := newRig(t, 80, 24)
	r.attach()
	require.False(t, r.moving())
	_, err := r.hub.Typing(t.Context(), console.TypingRequest{Account: console.DefaultAccount, Conversation: console.Main})
	require.NoError(t, err)
	r.feed()
	require.True(t, r.moving())
	r.later(61 * time.Second)
	require.Contains(t, r.screen(), "skein is working · 1m 1s")
	r.says("", "", "done", "")
	r.feed()
	require.False(t, r.moving())
}
