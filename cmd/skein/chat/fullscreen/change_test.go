package fullscreen

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/core/clock"
)

func TestTheNewestMessageIsChanged(t *testing.T) {
	hub, err := console.Open(console.Options{Clock: clock.Real{}})
	require.NoError(t, err)
	defer func() { require.NoError(t, hub.Close()) }()
	m := NewModel(t.Context(), Options{
		People: hub, Conversation: console.Main, User: console.Local, Clock: clock.Real{}, Zone: time.UTC, NewKey: func() string { return "k" },
	})
	here := m.places.here
	type text struct {
		text    string
		deleted bool
	}
	line := func(line string) []text {
		m.input.SetValue(line)
		if cmd := m.enter(); cmd != nil {
			m.brought(cmd())
		}
		var texts []text
		for _, x := range here.messages {
			texts = append(texts, text{x.Text, x.Deleted})
		}
		return texts
	}
	require.Empty(t, line("/edit hello"))
	require.Equal(t, textNothingHere, m.notice)
	for _, words := range []string{"one", "two", "/status"} {
		posted, err := hub.Post(t.Context(), console.Post{By: console.User{ID: console.Local}, Conversation: console.Main, Text: words})
		require.NoError(t, err)
		here.put(posted)
	}
	require.Equal(t, []text{{"one", false}, {"two", false}, {"/status", false}}, line("/edit"))
	require.Equal(t, textEditWhat, m.notice)
	require.Equal(t, []text{{"one", false}, {"two words", false}, {"/status", false}}, line("/edit two words"), "not the command")
	require.Equal(t, []text{{"one", false}, {"", true}, {"/status", false}}, line("/delete"))
	require.Equal(t, []text{{"uno", false}, {"", true}, {"/status", false}}, line("/edit uno"), "the newest that is left")

	_, err = hub.Change(t.Context(), console.MessageChange{By: console.User{ID: console.Local}, ID: here.messages[0].ID, Op: console.OpDelete})
	require.NoError(t, err)
	line("/edit eins")
	require.Contains(t, m.notice, "Not changed: ")
}
