package threadbind

import (
	"context"
	"fmt"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
)

// The store of the example is in memory; in the runtime it is a transaction of
// the store.
func ExampleService() {
	store := newFakeStore()
	store.sessions[7] = fakeSession{key: "agent:main:subagent:cats", live: true}
	service := NewService(Options{
		Clock:    clock.Real{},
		Settings: func(channel, account string) Settings { return DefaultSettings() },
		Adapter:  func(channel, account string) core.BindingAdapter { return &fakeChannel{} },
		NewID:    func() string { return "01JB" },
	})
	chat := core.Address{Channel: "console", Account: "default", Conversation: "main"}
	bound := core.Millis(1_700_000_000_000)

	// Alice focuses her chat on a sub-agent.
	_, changes, err := service.Focus(store, Request{
		At: chat, Kind: core.Direct, Placement: core.PlacementCurrent,
		Session: 7, Target: core.TargetSubagent, Agent: "main", Label: "cats",
		Actor: Actor{User: "console:alice"},
	}, bound)
	if err != nil {
		fmt.Println(err)
		return
	}
	service.Committed(context.Background(), changes)
	fmt.Println(store.posts[0].text)

	// What she writes goes there, until a day has passed in silence.
	for _, wait := range []time.Duration{time.Hour, 25 * time.Hour} {
		r, err := service.Resolve(store, chat, bound.Add(wait))
		if err != nil {
			fmt.Println(err)
			return
		}
		service.Committed(context.Background(), r.Changes)
		fmt.Printf("%t %q\n", r.Found, r.Binding.SessionKey)
	}
	fmt.Println(store.posts[1].text)
	// Output:
	// cats is listening here now. What you write here goes to it instead of this conversation's usual agent. It leaves after 1d without a message (idle). /unfocus brings the usual one back.
	// true "agent:main:subagent:cats"
	// false ""
	// cats is not listening here any more: idle for 1d. Messages here go to this conversation's usual agent. /focus cats resumes it within 1h.
}
