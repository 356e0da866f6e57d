package app_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/clock"
)

// The runtime in a program of one's own: a console to talk to, an agent on a
// scripted model, a store in a folder.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "skein")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cfg, _, err := config.Parse(filepath.Join(dir, "skein.json5"), []byte(`{
		models: { providers: { demo: { type: "scripted" } } },
		agents: { defaults: { model: "demo/any" }, entries: { main: { instructions: "You help." } } },
		channels: { console: { accounts: { default: {} } } },
		store: { url: "sqlite:skein.db" },
	}`), config.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	hub, err := console.Open(console.Options{Clock: clock.Real{}, Path: filepath.Join(dir, "console.jsonl")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = hub.Close() }()
	a, err := app.New(app.Options{Config: cfg, Channels: channels.New(console.Entry(hub))})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if err := a.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = a.Stop(ctx) }()

	asked, err := hub.Post(ctx, console.Post{By: console.User{ID: console.Local}, Conversation: console.Main, Text: "hello"})
	if err != nil {
		fmt.Println(err)
		return
	}
	feed, err := hub.Feed(ctx, console.FeedRequest{Conversation: console.Main, After: asked.Changed, Wait: true})
	if err != nil || len(feed.Messages) == 0 {
		fmt.Println("no answer", err)
		return
	}
	fmt.Println(feed.Messages[0].Text)
	// Output: ok: hello
}
