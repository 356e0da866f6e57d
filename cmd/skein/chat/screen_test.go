package chat_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/cmd/skein/chat"
	"github.com/skein-bot/skein/core"
)

// said makes a message of the conversation main.
func said(id, thread, by, text string, changed uint64) console.Message {
	return console.Message{
		ID: id, Seq: changed, Changed: changed, Conversation: console.Main, Thread: thread, By: console.User{ID: by}, Text: text,
	}
}

func thread(id, title string) console.Thread {
	return console.Thread{ID: id, Title: title, Conversation: console.Main}
}

const bot = "bot:default"

func newScreen() *chat.Screen { return chat.NewScreen(console.Local, console.Main) }

func TestScreenShowsEachChangeOnce(t *testing.T) {
	s := newScreen()
	first := console.Feed{Messages: []console.Message{said("m1", "", bot, "hello", 1)}}
	require.Equal(t, []chat.Line{{Place: "main", Here: true, From: "skein", Text: "hello"}}, s.Apply(first))
	require.Empty(t, s.Apply(first), "the same feed again, as after a lost connection")

	edited := said("m1", "", bot, "hello there", 2)
	edited.EditedAt = core.Millis(5)
	lines := s.Apply(console.Feed{Messages: []console.Message{edited}})
	require.Equal(t, "(edited) hello there", lines[0].Text)

	reacted := edited
	reacted.EditedAt, reacted.Changed = 0, 3
	require.Empty(t, s.Apply(console.Feed{Messages: []console.Message{reacted}}))

	gone := edited
	gone.Deleted, gone.Text, gone.Changed = true, "", 4
	require.Equal(t, "(deleted)", s.Apply(console.Feed{Messages: []console.Message{gone}})[0].Text)
	require.Empty(t, s.Apply(console.Feed{Messages: []console.Message{{ID: "m9", Conversation: console.Main, Deleted: true, Changed: 5}}}),
		"what was never seen does not go")
	require.Empty(t, s.Apply(console.Feed{Messages: []console.Message{{ID: "m8", Conversation: "other", Text: "x", Changed: 6}}}))
}

func TestScreenShowsAnAnswerOnceItIsWhole(t *testing.T) {
	s := newScreen()
	m := said("m1", "", bot, "hel", 1)
	m.Draft = true
	require.Empty(t, s.Apply(console.Feed{Messages: []console.Message{m}}))
	m.Text, m.EditedAt, m.Changed = "hello th", 5, 2
	require.Empty(t, s.Apply(console.Feed{Messages: []console.Message{m}}))
	m.Text, m.Draft, m.Changed = "hello there", false, 3
	require.Equal(t, []chat.Line{{Place: "main", Here: true, From: "skein", Text: "hello there"}}, s.Apply(console.Feed{Messages: []console.Message{m}}))

	gone := said("m2", "", bot, "x", 4)
	gone.Draft = true
	require.Empty(t, s.Apply(console.Feed{Messages: []console.Message{gone}}))
	gone.Deleted, gone.Draft, gone.Changed = true, false, 5
	require.Empty(t, s.Apply(console.Feed{Messages: []console.Message{gone}}), "what was never shown does not go")
}

func TestScreenAuthors(t *testing.T) {
	for _, c := range []struct {
		name string
		m    console.Message
		want string
	}{
		{"the person", console.Message{By: console.User{ID: console.Local}}, "you"},
		{"the default account", console.Message{By: console.User{ID: bot, Name: "default", Bot: true}}, "skein"},
		{"another account", console.Message{By: console.User{ID: "bot:second", Name: "second", Bot: true}}, "second"},
		{"a persona", console.Message{By: console.User{ID: bot, Bot: true}, Persona: "cats"}, "cats"},
		{"somebody else", console.Message{By: console.User{ID: "alice"}}, "alice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.m.ID, c.m.Conversation, c.m.Text, c.m.Changed = "m", console.Main, "x", 1
			require.Equal(t, c.want, newScreen().Apply(console.Feed{Messages: []console.Message{c.m}})[0].From)
		})
	}
}

func TestScreenDoesNotRepeatWhatWasTyped(t *testing.T) {
	s := newScreen()
	s.Echoed("k1")
	mine := said("m1", "", console.Local, "typed here", 1)
	mine.Key = "k1"
	other := said("m2", "", console.Local, "typed in another terminal", 2)
	other.Key = "k2"
	lines := s.Apply(console.Feed{Messages: []console.Message{mine, other}})
	require.Len(t, lines, 1)
	require.Equal(t, "typed in another terminal", lines[0].Text)
	require.True(t, lines[0].Mine)
}

func TestScreenThreads(t *testing.T) {
	s := newScreen()
	open := thread("t1", "cats")
	lines := s.Apply(console.Feed{Threads: []console.Thread{open}, Messages: []console.Message{said("m1", "t1", bot, "meow", 1)}})
	require.Equal(t, "a new thread: /thread 1 goes there", lines[0].Text)
	require.Equal(t, chat.Line{Place: "#1 cats", From: "skein", Text: "meow"}, lines[1])

	change := func(edit func(*console.Thread)) []chat.Line {
		edit(&open)
		return s.Apply(console.Feed{Threads: []console.Thread{open}})
	}
	require.Equal(t, "the thread was called cats", change(func(t *console.Thread) { t.Title = "lions" })[0].Text)
	require.Equal(t, "the thread is locked", change(func(t *console.Thread) { t.Locked = true })[0].Text)
	require.Equal(t, "the thread is open again", change(func(t *console.Thread) { t.Locked = false })[0].Text)
	require.Contains(t, change(func(t *console.Thread) { t.Archived = true })[0].Text, "archived")
	require.Equal(t, "the thread is open again", change(func(t *console.Thread) { t.Archived = false })[0].Text)
	require.Empty(t, change(func(*console.Thread) {}))

	// A message can be known before its thread.
	require.Equal(t, "#2", s.Apply(console.Feed{Messages: []console.Message{said("m7", "t2", bot, "early", 7)}})[0].Place)
	late := thread("t2", "late")
	late.Changed = 8
	require.Equal(t, "a new thread: /thread 2 goes there", s.Apply(console.Feed{Threads: []console.Thread{late}})[0].Text)

	_, err := s.Go("1")
	require.NoError(t, err)
	require.Equal(t, "#1 lions", s.HereName())
	require.Equal(t, "the thread is gone", change(func(t *console.Thread) { t.Deleted = true })[0].Text)
	require.Equal(t, "main", s.HereName(), "who stood in a deleted thread is back in the conversation")
	require.Empty(t, s.Apply(console.Feed{Threads: []console.Thread{{ID: "t9", Conversation: console.Main, Deleted: true}}}))
}

func TestScreenUnread(t *testing.T) {
	s := newScreen()
	s.Know([]console.Thread{thread("t1", "cats"), thread("t2", "dogs"), thread("t10", "tea")})
	require.Empty(t, s.History(console.Feed{}))
	s.Apply(console.Feed{Messages: []console.Message{
		said("m1", "", bot, "here", 1), said("m2", "t2", bot, "woof", 2), said("m3", "t2", bot, "woof", 3),
		said("m4", "t10", bot, "hiss", 4), said("m5", "t1", console.Local, "mine", 5),
	}})
	require.Equal(t, []chat.Unread{{Label: "#2", Count: 2}, {Label: "#10", Count: 1}}, s.Unread())

	require.True(t, s.Next(), "the history of a place is shown when it is first seen")
	require.Equal(t, "t2", s.Here(), "unread places come first")
	s.Next()
	require.Equal(t, "t10", s.Here())
	require.Empty(t, s.Unread())
	require.False(t, s.Next())
	require.Empty(t, s.Here(), "then round and round")
	s.Next()
	require.Equal(t, "t1", s.Here())
}

func TestScreenGo(t *testing.T) {
	s := newScreen()
	_, err := s.Go("1")
	require.EqualError(t, err, `there is no thread "1" (there are no threads yet)`)
	s.Know([]console.Thread{thread("t1", "cats"), thread("t2", "dogs"), {ID: "t3", Conversation: "elsewhere"}})
	for _, c := range []struct{ to, want string }{
		{"1", "t1"}, {"#2", "t2"}, {"t1", "t1"}, {"Dogs", "t2"}, {"main", ""}, {"", ""}, {" 2 ", "t2"}, {"MAIN", ""},
	} {
		_, err := s.Go(c.to)
		require.NoError(t, err, c.to)
		require.Equal(t, c.want, s.Here(), c.to)
	}
	_, err = s.Go("t3")
	require.EqualError(t, err, `there is no thread "t3" (threads: #1 cats, #2 dogs)`)
	require.Equal(t, "chat_no_thread", core.ErrorCode(err))
}

func TestScreenList(t *testing.T) {
	s := newScreen()
	s.Know([]console.Thread{thread("t1", "cats"), {ID: "t2", Title: "dogs", Conversation: console.Main, Archived: true, Locked: true}})
	s.Apply(console.Feed{
		Messages: []console.Message{said("m1", "t1", bot, "meow", 1)},
		Typing:   []console.Typing{{Conversation: console.Main, Thread: "t2", Account: "default"}, {Conversation: "other"}},
	})
	require.Equal(t, []string{"#2"}, s.Typing())
	require.Equal(t, []chat.Line{
		{Place: "main", Here: true, Text: "you are here"}, {Place: "#1 cats", Text: "1 new message"}, {Place: "#2 dogs", Text: "archived, locked"},
	}, s.List())
}
