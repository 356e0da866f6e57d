package console_test

import (
	"context"
	"fmt"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
)

// A person writes in the terminal, the account answers in a thread, and the
// terminal reads what changed.
func ExampleHub() {
	ctx := context.Background()
	hub, err := console.Open(console.Options{Clock: clock.Real{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = hub.Close() }()
	_, _ = hub.Post(ctx, console.Post{By: console.User{ID: console.Local}, Conversation: console.Main, Text: "research cats"})

	updates, _ := hub.Poll(ctx, console.PollRequest{Account: console.DefaultAccount})
	fmt.Println("received:", updates.Updates[0].Event.Message.Text)
	thread, _ := hub.OpenThread(ctx, console.OpenRequest{Account: console.DefaultAccount, Conversation: console.Main, Title: "cats"})
	_, _ = hub.Send(ctx, console.SendRequest{
		Account: console.DefaultAccount, Conversation: console.Main, Thread: thread.ID, Text: "They purr.", Key: "answer-1",
	})

	feed, _ := hub.Feed(ctx, console.FeedRequest{Conversation: console.Main})
	fmt.Println("threads:", feed.Threads[0].Label(), feed.Threads[0].Title)
	for _, m := range feed.Messages {
		fmt.Printf("%s: %s\n", m.By.ID, m.Text)
	}
	// Output:
	// received: research cats
	// threads: #1 cats
	// local: research cats
	// bot:default: They purr.
}

// printer is an intake that prints what it gets.
type printer struct{ stop context.CancelFunc }

func (p printer) Receive(_ context.Context, m core.Message) error {
	fmt.Printf("%s at %s: %s\n", m.Author.ID, m.Address, m.Text)
	p.stop()
	return nil
}

func (printer) PlaceChanged(context.Context, core.PlaceChange) error { return nil }
func (printer) LoadCursor(context.Context, string) (string, error)   { return "", nil }

// An adapter hands every update to intake.
func ExampleAdapter() {
	hub, err := console.Open(console.Options{Clock: clock.Real{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = hub.Close() }()
	ctx, stop := context.WithCancel(context.Background())
	_, _ = hub.Post(ctx, console.Post{By: console.User{ID: console.Local}, Conversation: console.Main, Text: "hello"})
	adapter := console.NewAdapter(hub, console.DefaultAccount, clock.Real{})
	fmt.Println(adapter.Run(ctx, printer{stop}))
	// Output:
	// local at console:default:main: hello
	// <nil>
}
