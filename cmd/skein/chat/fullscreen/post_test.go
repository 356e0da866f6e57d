package fullscreen

import (
	"context"
	"errors"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/console"
)

func messageOf(seq uint64, text string) console.Message {
	return console.Message{
		ID: "m" + string(rune('A'+seq%26)) + string(rune('a'+seq/26%26)) + string(rune('a'+seq/676)), Seq: seq, Changed: seq, Conversation: console.Main,
		By: console.User{ID: console.BotID(console.DefaultAccount), Bot: true}, Text: text,
	}
}

// A message is one on the screen, whichever comes first: the answer to the post
// or the feed.
func TestPostIsShownOnce(t *testing.T) {
	for name, steps := range map[string]func(r *rig){
		"the answer first": func(r *rig) { r.pass(); r.feed() },
		"the feed first": func(r *rig) {
			post := r.unsent[0]
			sent, err := r.hub.Post(t.Context(), post)
			require.NoError(t, err)
			r.feed()
			r.send(postedMsg{post.Key, sent, nil})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 80, 24)
			r.attach()
			r.keys("hello", "enter")
			require.Contains(t, r.screen(), textSending)
			steps(r)
			require.Len(t, r.places.here.messages, 1)
			require.NotContains(t, r.screen(), textSending)
			require.Empty(t, r.unsent)
			require.Zero(t, r.places.unread(), "one's own words are no news")
		})
	}
}

func TestRefusedPostIsSaid(t *testing.T) {
	r := newRig(t, 80, 24)
	r.attach()
	r.keys("hello", "enter")
	r.send(postedMsg{key: r.unsent[0].Key, err: &console.Error{Status: 404, Code: console.CodeUnknownThread, Text: "there is no thread"}})
	require.Contains(t, r.screen(), "Not sent: there is no thread")
	require.Empty(t, r.unsent)
	require.NotContains(t, r.screen(), textSending)
	r.keys("up")
	require.Equal(t, "hello", r.input.Value(), "it is not lost")
}

// The gateway goes away and comes back: what was written meanwhile is sent
// once, and what was missed is shown once, under a line.
func TestReconnecting(t *testing.T) {
	r := newRig(t, 80, 24)
	r.attach()
	r.says("", "", "before", "")
	r.feed()
	r.send(feedMsg{err: errors.New("connection refused")})
	require.Contains(t, r.screen(), "Reconnecting")
	r.keys("typed meanwhile", "enter")
	require.Len(t, r.unsent, 1)
	require.False(t, r.sending, "nothing is sent into the void")
	r.says("", "", "missed", "")
	r.send(feedMsg{err: &console.Error{Status: 503, Code: console.CodeClosed}})
	require.True(t, r.away)
	require.Equal(t, 4*reconnectPause, r.pause, "each attempt waits longer")
	r.feed()
	require.False(t, r.away)
	require.True(t, r.sending)
	r.pass()
	r.feed()
	require.Contains(t, r.screen(), textBack)
	require.Contains(t, r.screen(), "── new ─")
	require.Len(t, r.places.here.messages, 3)
	require.Equal(t, reconnectPause, r.pause)
}

// A refusal that does not pass ends the program with its reason, as does any
// error of a console in the same process.
func TestFatalErrors(t *testing.T) {
	refused := &console.Error{Status: 403, Code: console.CodeNotMember, Text: "no"}
	r := newRig(t, 80, 24)
	r.attach()
	r.ticking = true
	_, cmd := r.Update(feedMsg{err: refused})
	require.Equal(t, tea.QuitMsg{}, cmd())
	require.ErrorIs(t, r.err, refused)

	r = newRig(t, 80, 24, func(o *Options) { o.Reconnect = false })
	r.ticking = true
	_, cmd = r.Update(attachedMsg{err: errors.New("closed")})
	require.Equal(t, tea.QuitMsg{}, cmd())
	require.EqualError(t, r.err, "closed")
}

func TestEditsAndDeletions(t *testing.T) {
	r := newRig(t, 80, 24)
	r.attach()
	sent, err := r.hub.Send(t.Context(), console.SendRequest{Account: console.DefaultAccount, Conversation: console.Main, Text: "thinki", Markdown: "think*i*"})
	require.NoError(t, err)
	r.feed()
	require.Contains(t, r.screen(), "thinki")
	_, err = r.hub.Edit(t.Context(), console.EditRequest{Account: console.DefaultAccount, ID: sent.ID, Text: "thinking of tea"})
	require.NoError(t, err)
	r.feed()
	require.Contains(t, r.screen(), "thinking of tea", "a preview grows in its place")
	require.NotContains(t, r.screen(), textEdited)
	_, err = r.hub.Delete(t.Context(), console.DeleteRequest{Account: console.DefaultAccount, ID: sent.ID})
	require.NoError(t, err)
	r.feed()
	require.Contains(t, r.screen(), textDeleted)
	require.Len(t, r.places.here.messages, 1)
}

func TestThreadThatIsDeleted(t *testing.T) {
	r := newRig(t, 80, 24)
	r.attach()
	one, two := r.opens("cats"), r.opens("dogs")
	r.feed()
	r.keys("alt+1", "a draft")
	for _, thread := range []string{one, two} {
		_, err := r.hub.ChangeThread(t.Context(), console.ThreadChange{Thread: thread, Op: console.ThreadDelete})
		require.NoError(t, err)
	}
	r.feed()
	require.Equal(t, "main", r.at())
	require.Contains(t, r.screen(), textGone)
	require.Len(t, r.places.list, 1)
}

// A place is followed by what the runtime says of it until its binding is gone.
func TestWork(t *testing.T) {
	r := newRig(t, 100, 24)
	r.attach()
	thread := r.opens("cats")
	r.feed()
	p := r.places.at(place1(thread))
	for _, step := range []struct {
		w     []Work
		state State
		busy  bool
	}{
		{[]Work{{Place: p.at, State: StateQueued, Bound: true}}, StateQueued, true},
		{[]Work{{Place: p.at, State: StateRunning, Bound: true}}, StateRunning, true},
		{[]Work{{Place: p.at, State: StateWaiting, Bound: true}}, StateWaiting, false},
		{[]Work{{Place: p.at, State: StateFailed, Bound: true}}, StateFailed, false},
		{nil, StateEnded, false},
		{nil, StateEnded, false},
		{[]Work{{Place: p.at, State: StateRunning, Bound: true}}, StateRunning, true},
	} {
		r.works(step.w...)
		require.Equal(t, step.state, p.state())
		require.Equal(t, step.busy, p.busy())
	}
	began := p.since
	r.later(time.Minute)
	r.works(Work{Place: p.at, State: StateRunning, Bound: true})
	require.Equal(t, began, p.since, "it goes on since then")
	r.send(workMsg{poll: r.polls - 1, list: nil})
	require.Equal(t, StateRunning, p.state(), "an older answer is void")
	r.send(workMsg{poll: r.polls, err: errors.New("busy")})
	require.Equal(t, StateRunning, p.state(), "no answer changes nothing")
}

// After the end no command begins any more.
func TestCommandsEndWithTheProgram(t *testing.T) {
	r := newRig(t, 80, 24)
	cmd := r.do(func(context.Context) tea.Msg { return tickMsg{} })
	require.Equal(t, tickMsg{}, cmd())
	r.tasks.finish()
	require.Nil(t, cmd())
}
