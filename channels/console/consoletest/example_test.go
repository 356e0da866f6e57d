package consoletest_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/channels/console/consoletest"
	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
)

// A bot's first answer gets lost on the way back; it sends again with the same
// key, and the person sees one message.
func ExampleServer() {
	ctx := context.Background()
	server, err := consoletest.New(testserver.Options{Clock: clock.Real{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	bot := console.NewAdapter(console.NewClient(server.URL(), "", client), "default", clock.Real{})

	team := testserver.Place{Conversation: "team"}
	_, _ = server.Post(ctx, testserver.Post{By: testserver.User{Name: "alice"}, At: team, Text: "@bot hello"})
	_ = server.Fault(testserver.Fault{Method: testserver.MethodSend, Kind: testserver.FaultOKLost})

	answer := core.Outgoing{Address: server.Address(team), Text: "hello alice", Key: "turn-1"}
	for {
		_, err := bot.Send(ctx, answer)
		class, _ := core.ClassifySend(err)
		if err == nil {
			break
		}
		fmt.Println("the outcome is", class)
	}
	for _, m := range server.Messages(team) {
		fmt.Printf("%s: %s\n", m.By, m.Text)
	}
	// Output:
	// the outcome is ambiguous
	// alice: @bot hello
	// bot:default: hello alice
}
