package channeltest

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core"
)

// binder returns the adapter as a BindingAdapter that can open threads in the
// suite's group.
func (r *rig) binder() (core.BindingAdapter, bool) {
	b, ok := r.adapter.(core.BindingAdapter)
	if !ok {
		return nil, false
	}
	can := b.BindingCapabilities(r.server.Address(group()))
	return b, slices.Contains(can.Placements, core.PlacementChild)
}

// inThread returns a place's thread.
func inThread(at core.Address) testserver.Place {
	p := group()
	p.Thread = at.Thread
	return p
}

// testThreads opens a thread, writes in it, finds and closes it.
func testThreads(r *rig) {
	b, ok := r.binder()
	if !ok {
		return
	}
	r.start()
	parent := r.meet(group())
	request := core.ChildRequest{Parent: parent, Title: "cats", Text: "about cats", Intent: "intent-1"}

	finder, finds := r.adapter.(core.ChildFinder)
	if finds {
		_, _, found, err := finder.FindChild(r.Context(), request)
		require.NoError(r, err)
		require.False(r, found)
	}
	child, _, err := b.OpenChild(r.Context(), request)
	require.NoError(r, err)
	require.NotEmpty(r, child.Thread)
	require.Equal(r, []string{"cats"}, titles(r.server.Threads(group())))
	if finds {
		at, _, found, err := finder.FindChild(r.Context(), request)
		require.NoError(r, err)
		require.True(r, found)
		require.True(r, at.Same(child))
	}
	sibling, _, err := b.OpenChild(r.Context(), core.ChildRequest{Parent: child, Title: "dogs", Intent: "intent-2"})
	require.NoError(r, err)
	require.False(r, sibling.Same(child))
	require.Equal(r, parent.ParentConversation().Conversation, sibling.ParentConversation().Conversation)

	r.mustSend(child, "in the thread")
	require.Contains(r, r.own(inThread(child)), "in the thread")
	require.NotContains(r, r.own(group()), "in the thread")
	r.say(inThread(child), "hers")
	r.inbox.Wait(r, "the message in the thread", func() bool {
		return slices.ContainsFunc(r.inbox.Messages(), func(m core.Message) bool {
			return m.Text == "hers" && m.Address.Same(child)
		})
	})

	require.NoError(r, b.CloseChild(r.Context(), sibling))
	require.NoError(r, b.CloseChild(r.Context(), sibling), "undoing twice is harmless")
	state, err := b.ProbeAddress(r.Context(), sibling)
	require.NoError(r, err)
	require.Contains(r, []core.PlaceState{core.PlaceIsGone, core.PlaceIsArchived}, state)
	require.NoError(r, r.server.Fault(testserver.Fault{Method: testserver.MethodOpenChild, Kind: testserver.FaultFail, Status: 500}))
	_, _, err = b.OpenChild(r.Context(), core.ChildRequest{Parent: parent, Title: "no", Intent: "intent-3"})
	r.requireClass(core.SendRetryable, err)
}

func titles(threads []testserver.Thread) []string {
	var list []string
	for _, t := range threads {
		list = append(list, t.Title)
	}
	return list
}

// child opens a thread in the suite's group.
func (r *rig) child(b core.BindingAdapter, title string) core.Address {
	r.Helper()
	at, _, err := b.OpenChild(r.Context(), core.ChildRequest{Parent: r.server.Address(group()), Title: title, Intent: "of " + title})
	require.NoError(r, err)
	return at
}

// testThreadStates: an archived thread opens when written to, a locked one is
// closed, a deleted one is gone.
func testThreadStates(r *rig) {
	b, ok := r.binder()
	if !ok {
		return
	}
	r.meet(group())
	at := r.child(b, "cats")
	probe := func() core.PlaceState {
		state, err := b.ProbeAddress(r.Context(), at)
		require.NoError(r, err)
		return state
	}
	require.Equal(r, core.PlaceExists, probe())
	if archiver, ok := r.adapter.(core.Archiver); ok {
		require.NoError(r, archiver.Archive(r.Context(), at))
		require.NoError(r, archiver.Archive(r.Context(), at))
		require.Equal(r, core.PlaceIsArchived, probe())
		r.mustSend(at, "knock knock")
		require.Equal(r, core.PlaceExists, probe())
	}
	for _, step := range []struct {
		op    testserver.ThreadOp
		state core.PlaceState
		class core.SendClass
	}{
		{testserver.ThreadLock, core.PlaceIsLocked, core.SendClosed},
		{testserver.ThreadDelete, core.PlaceIsGone, core.SendGone},
	} {
		require.NoError(r, r.server.ChangeThread(r.Context(), inThread(at), step.op, ""))
		require.Equal(r, step.state, probe())
		_, err := r.send(at, "into "+string(step.op))
		r.requireClass(step.class, err)
	}
}

// testPlaceEvents: the adapter reports what happens to a thread.
func testPlaceEvents(r *rig) {
	b, ok := r.binder()
	if !ok {
		return
	}
	r.start()
	r.meet(group())
	at := r.child(b, "cats")
	steps := []struct {
		op    testserver.ThreadOp
		event core.PlaceEvent
	}{
		{testserver.ThreadArchive, core.PlaceArchived},
		{testserver.ThreadUnarchive, core.PlaceUnarchived},
		{testserver.ThreadLock, core.PlaceLocked},
		{testserver.ThreadUnlock, core.PlaceUnlocked},
		{testserver.ThreadRename, core.PlaceRenamed},
		{testserver.ThreadDelete, core.PlaceDeleted},
	}
	for i, step := range steps {
		require.NoError(r, r.server.ChangeThread(r.Context(), inThread(at), step.op, "dogs"))
		r.inbox.Wait(r, string(step.event), func() bool { return len(r.inbox.Changes()) > i })
		change := r.inbox.Changes()[i]
		require.Equal(r, step.event, change.Event)
		require.True(r, change.Address.Same(at), "%s: %v", step.event, change.Address)
		if step.event == core.PlaceRenamed {
			require.Equal(r, "dogs", change.Title)
		}
	}
}

// testPermission: an account that was removed hears of it, and of the return.
func testPermission(r *rig) {
	r.start()
	to := r.meet(group())
	r.inbox.WaitMessages(r, 1)
	require.NoError(r, r.server.Kick(r.Context(), group()))
	_, err := r.send(to, "anybody?")
	r.requireClass(core.SendForbidden, err)
	if b, ok := r.binder(); ok {
		state, err := b.ProbeAddress(r.Context(), to)
		require.NoError(r, err)
		require.Equal(r, core.PlaceIsForbidden, state)
	}
	require.NoError(r, r.server.Permit(r.Context(), group()))
	r.mustSend(to, "anybody?")
	r.inbox.Wait(r, "both changes", func() bool { return len(r.inbox.Changes()) >= 2 })
	changes := r.inbox.Changes()
	require.Equal(r, core.PlacePermissionLost, changes[0].Event)
	require.Equal(r, core.PlacePermissionRestored, changes[1].Event)
	require.True(r, changes[0].Address.Same(to))
}

// testMigration: a conversation gets a new id; the old address still reaches
// it, and nobody else.
func testMigration(r *rig) {
	r.start()
	old := r.meet(group())
	r.inbox.WaitMessages(r, 1)
	if err := r.server.Migrate(r.Context(), group()); err != nil {
		require.ErrorIs(r, err, testserver.ErrUnsupported)
		return
	}
	next := r.server.Address(group())
	require.False(r, next.Same(old))
	r.inbox.Wait(r, "the move", func() bool { return len(r.inbox.Changes()) > 0 })
	change := r.inbox.Changes()[0]
	require.Equal(r, core.PlaceMigrated, change.Event)
	require.True(r, change.Address.Same(old))
	require.True(r, change.To.Same(next))
	r.mustSend(old, "to the old address")
	require.Equal(r, []string{"to the old address"}, r.own(group()))
	r.say(group(), "hi")
	require.True(r, r.inbox.WaitMessages(r, 2)[1].Address.Same(next))
}
