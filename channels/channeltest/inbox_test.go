package channeltest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/channels/channeltest"
	"github.com/skein-bot/skein/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
