package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/cmd/skein/chat/fullscreen"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
)

// What goes on in a place is what its session does, and where that does
// nothing, what became of its newest task.
func TestWorksOf(t *testing.T) {
	sessions := []app.SessionView{
		{Key: "main", Agent: "main", Address: "console:default:main", State: app.SessionWaiting},
		{Key: "helper", Agent: "helper", Address: "console:default:agent-helper", State: app.SessionIdle},
		{Key: "elsewhere", Agent: "main", Address: "telegram:default:1", State: app.SessionRunning},
		{Key: "second", Agent: "main", Address: "console:second:main", State: app.SessionRunning},
		{Key: "working", Agent: "r", Address: "console:default:main/t1", Depth: 1, State: app.SessionRunning},
		{Key: "done", Agent: "r", Depth: 1, State: app.SessionIdle},
		{Key: "failed", Agent: "r", Depth: 1, State: app.SessionIdle},
		{Key: "held", Agent: "r", Depth: 1, State: app.SessionHeld},
	}
	bindings := []app.BindingView{
		{Address: "console:default:main/t1", Session: "working", Agent: "r"},
		{Address: "console:default:main/t2", Session: "done", Agent: "r", ExpiresAt: 7},
		{Address: "console:default:main/t3", Session: "failed", Agent: "r"},
		{Address: "console:default:main/t4", Session: "held", Agent: "r"},
		{Address: "discord:default:1/2", Session: "done", Agent: "r"},
	}
	tasks := []app.TaskView{
		{Session: "done", CreatedAt: 2, Status: core.TaskSucceeded}, {Session: "done", CreatedAt: 1, Status: core.TaskStatus("failed")},
		{Session: "failed", CreatedAt: 3, Status: core.TaskStatus("timed_out"), Detail: "too slow"}, {Session: "working", CreatedAt: 1, Status: core.TaskSucceeded},
	}
	at := func(conversation, thread string) fullscreen.Place {
		return fullscreen.Place{Conversation: conversation, Thread: thread}
	}
	got := worksOf(sessions, bindings, tasks)
	slices.SortFunc(got, func(a, b fullscreen.Work) int {
		return strings.Compare(a.Place.Conversation+"/"+a.Place.Thread, b.Place.Conversation+"/"+b.Place.Thread)
	})
	require.Equal(t, []fullscreen.Work{
		{Place: at("agent-helper", ""), Agent: "helper"},
		{Place: at("main", ""), Agent: "main", State: fullscreen.StateWaiting},
		{Place: at("main", "t1"), Agent: "r", State: fullscreen.StateRunning, Bound: true},
		{Place: at("main", "t2"), Agent: "r", State: fullscreen.StateDone, Bound: true, Ends: 7},
		{Place: at("main", "t3"), Agent: "r", State: fullscreen.StateFailed, Bound: true, Detail: "too slow"},
		{Place: at("main", "t4"), Agent: "r", State: fullscreen.StateQueued, Bound: true},
	}, got)
}

func TestFarewell(t *testing.T) {
	for _, c := range []struct {
		working  int
		attached bool
		want     string
	}{
		{0, true, "Nothing is in progress. The gateway runs on; `skein chat` comes back here."},
		{1, true, "Work goes on in one place. The gateway runs on; `skein chat` comes back here."},
		{3, true, "Work goes on in 3 places. The gateway runs on; `skein chat` comes back here."},
		{0, false, "Nothing is in progress. `skein chat` comes back here."},
		{2, false, "What was in progress goes on at the next start. `skein chat` comes back here."},
	} {
		require.Equal(t, c.want, farewell(c.working, c.attached, "skein chat"))
	}
}

// Every command that people may write can be completed, with a word on what it
// does.
func TestChatCommands(t *testing.T) {
	list := chatCommands()
	require.NotEmpty(t, list)
	for _, c := range list {
		require.NotEmpty(t, c.Summary, c.Name)
	}
	require.True(t, slices.ContainsFunc(list, func(c fullscreen.Command) bool { return c.Name == "focus" && c.Usage == "<target>" }))
}
