package console_test

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
)

// A chat with one agent is one conversation, however often it is opened, and
// its messages are refused once the agent is gone.
func TestHubOpenChat(t *testing.T) {
	agents := []string{"helper", "main"}
	hub, err := console.Open(console.Options{Clock: clock.Real{}, Agents: func() []string { return agents }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, hub.Close()) })
	server := httptest.NewServer(console.PeopleHandler(hub, console.Wait{}))
	t.Cleanup(server.Close)
	me, other := console.User{ID: console.Local}, console.User{ID: "eve"}
	for name, people := range map[string]console.People{"in process": hub, "over HTTP": console.NewPeopleClient(server.URL, "", server.Client())} {
		t.Run(name, func(t *testing.T) {
			opened, err := people.OpenChat(t.Context(), console.ChatRequest{By: me, Agent: "helper"})
			require.NoError(t, err)
			opened.Changed = 0
			require.Equal(t, console.Conversation{
				ID: "agent-helper", Kind: core.Direct, Peer: console.Local, Title: "helper", Agent: "helper", Accounts: []string{console.DefaultAccount},
			}, opened)
			list, err := people.Conversations(t.Context(), console.Done{})
			require.NoError(t, err)
			require.Len(t, list.Conversations, 2)

			for _, c := range []struct {
				name string
				r    console.ChatRequest
				code string
			}{
				{"unknown agent", console.ChatRequest{By: me, Agent: "nobody"}, console.CodeUnknownAgent},
				{"no agent", console.ChatRequest{By: me}, console.CodeUnknownAgent},
				{"somebody else's chat", console.ChatRequest{By: other, Agent: "helper"}, console.CodeInvalid},
				{"a bot", console.ChatRequest{By: console.User{ID: console.BotID("default")}, Agent: "helper"}, console.CodeInvalid},
			} {
				_, err := people.OpenChat(t.Context(), c.r)
				refusal := new(console.Error)
				require.ErrorAs(t, err, &refusal, c.name)
				require.Equal(t, c.code, refusal.Code, c.name)
			}

			post := console.Post{By: me, Conversation: opened.ID, Text: "hello"}
			_, err = people.Post(t.Context(), post)
			require.NoError(t, err)
			agents = []string{"main"}
			t.Cleanup(func() { agents = []string{"helper", "main"} })
			_, err = people.Post(t.Context(), post)
			require.ErrorContains(t, err, `there is no agent "helper" (agents: main)`)
			_, err = people.Post(t.Context(), console.Post{By: me, Conversation: console.Main, Text: "hello"})
			require.NoError(t, err, "the main conversation belongs to nobody")
		})
	}
}

func TestAgentOf(t *testing.T) {
	require.Equal(t, "helper", console.AgentOf(console.AgentChat("helper")))
	require.Equal(t, console.Main, console.AgentOf(console.Main))
}
