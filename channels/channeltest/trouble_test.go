package channeltest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/channels/channeltest"
	"github.com/skein-bot/skein/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFaults(t *testing.T) {
	var f channeltest.Faults
	_, ok := f.Take("send")
	require.False(t, ok)
	f.Set(channeltest.Fault{Method: "send", Kind: channeltest.FaultFail, Status: 500, Times: 2})
	f.Set(channeltest.Fault{Method: "sendMessage", Kind: channeltest.FaultOKLost})
	f.Set(channeltest.Fault{Method: "edit", Kind: channeltest.FaultSlow, After: time.Second})
	require.True(t, f.Has("edit"))
	var kinds []channeltest.FaultKind
	for {
		fault, ok := f.Take("sendMessage", "send")
		if !ok {
			break
		}
		kinds = append(kinds, fault.Kind)
	}
	require.Equal(t, []channeltest.FaultKind{channeltest.FaultFail, channeltest.FaultFail, channeltest.FaultOKLost}, kinds)
	fault, ok := f.Take("edit")
	require.True(t, ok)
	require.Equal(t, time.Second, fault.After)
	require.False(t, f.Has("edit"))
}

func TestRender(t *testing.T) {
	tests := []struct {
		text           string
		buttons, files []string
		want           string
	}{
		{"hi", nil, nil, "hi"},
		{"", nil, []string{"a.pdf"}, "[a.pdf]"},
		{"pick", []string{"Yes", "No"}, nil, "pick\n[Yes] [No]"},
		{"pick", []string{"Yes"}, []string{"a.pdf"}, "pick\n[Yes] [a.pdf]"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, channeltest.Render(tt.text, tt.buttons, tt.files))
	}
}

func TestInbox(t *testing.T) {
	ctx := context.Background()
	var in channeltest.Inbox
	message := func(id, revision string, event core.EventKind) core.Message {
		return core.Message{
			ID: id, Revision: revision, Event: event, Text: id + revision,
			Address: core.Address{Channel: "console", Account: "default", Conversation: "team"},
			Cursor:  core.Cursor{Name: "updates", Value: id},
		}
	}
	require.NoError(t, in.Receive(ctx, message("1", "", core.EventMessage)))
	require.NoError(t, in.Receive(ctx, message("1", "", core.EventMessage)))
	require.NoError(t, in.Receive(ctx, message("1", "a", core.EventEdit)))
	require.NoError(t, in.Receive(ctx, message("1", "b", core.EventEdit)))
	self := message("2", "", core.EventMessage)
	self.Author.Self = true
	require.NoError(t, in.Receive(ctx, self))
	full := errors.New("full")
	in.Refuse(func(channeltest.Delivery) error { return full })
	require.ErrorIs(t, in.Receive(ctx, message("3", "", core.EventMessage)), full)
	in.Refuse(nil)
	require.Len(t, in.Messages(), 3)
	require.Len(t, in.Deliveries(), 6)
	cursor, err := in.LoadCursor(ctx, "updates")
	require.NoError(t, err)
	require.Equal(t, "2", cursor, "a refused message moves no cursor")

	change := core.PlaceChange{ID: "c1", Event: core.PlaceDeleted, Address: self.Address}
	require.NoError(t, in.PlaceChanged(ctx, change))
	require.NoError(t, in.PlaceChanged(ctx, change))
	require.Equal(t, []core.PlaceChange{change}, in.Changes())
}

// counter prints what a tracker counts.
type counter struct{ n int }

func (c *counter) Begin(name string) (done func()) {
	c.n++
	fmt.Println("begin", name, c.n)
	return func() {
		c.n--
		fmt.Println("end", name, c.n)
	}
}

func (c *counter) Park() (unpark func()) { return func() {} }

// A server tells its tracker when a poll arrives and when updates come and go.
func ExampleTracker() {
	pending := 0
	tracker := channeltest.NewTracker("demo", new(counter), func(string) int { return pending })
	tracker.PollBegins("default")

	pending = 1
	tracker.Changed("default") // a person wrote
	pending = 0
	tracker.PollBegins("default") // the next poll acknowledged it

	pending = 1
	tracker.Changed("default")
	tracker.Down() // the runtime was killed
	// Output:
	// begin demo updates of default 1
	// end demo updates of default 0
	// begin demo updates of default 1
	// end demo updates of default 0
}
