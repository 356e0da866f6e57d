package channeltest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core"
)

// testSendFailures refuses sends with every status: each has its class, and a
// refused message is not there.
func testSendFailures(r *rig) {
	to := r.meet(group())
	for _, status := range slices.Sorted(maps.Keys(r.factory.Failures)) {
		require.NoError(r, r.server.Fault(testserver.Fault{Method: testserver.MethodSend, Kind: testserver.FaultFail, Status: status}))
		_, err := r.send(to, "refused")
		r.requireClass(r.factory.Failures[status], err, "status %d", status)
	}
	require.Empty(r, r.own(group()))
	r.mustSend(to, "refused")
	require.Equal(r, []string{"refused"}, r.own(group()))
}

func testSendRetryAfter(r *rig) {
	to := r.meet(group())
	require.NoError(r, r.server.Fault(testserver.Fault{Method: testserver.MethodSend, Kind: testserver.FaultRetryAfter, After: 3 * time.Second}))
	_, err := r.send(to, "later")
	r.requireClass(core.SendRetryable, err)
	_, wait := core.ClassifySend(err)
	require.Equal(r, 3*time.Second, wait)
	require.Empty(r, r.own(group()))
}

// testSendAnswerLost: the message is there and nobody knows. Where the channel
// has idempotency keys the same send again is the same message.
func testSendAnswerLost(r *rig) {
	to := r.meet(group())
	require.NoError(r, r.server.Fault(testserver.Fault{Method: testserver.MethodSend, Kind: testserver.FaultOKLost}))
	_, err := r.send(to, "once")
	r.requireClass(core.SendAmbiguous, err)
	require.Equal(r, []string{"once"}, r.own(group()))
	if !r.adapter.Describe().NativeIdempotency {
		return
	}
	id := r.mustSend(to, "once")
	require.Equal(r, []string{"once"}, r.own(group()))
	require.Equal(r, id, r.mustSend(to, "once"))
	require.Equal(r, []string{"once"}, r.own(group()))
}

func testSendInOrder(r *rig) {
	to := r.meet(group())
	var want []string
	for i := range 10 {
		want = append(want, fmt.Sprintf("part %d", i))
		r.mustSend(to, want[i])
	}
	require.Equal(r, want, r.own(group()))
}

// testSendConcurrently sends from many goroutines while updates come in.
func testSendConcurrently(r *rig) {
	r.start()
	to := r.meet(group())
	const senders = 16
	ids := make([]string, senders)
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			receipt, err := r.send(to, fmt.Sprintf("message %d", i))
			if err == nil {
				ids[i] = receipt.ID
			}
		})
	}
	r.say(group(), "meanwhile")
	wg.Wait()
	r.inbox.WaitMessages(r, 2)
	slices.Sort(ids)
	require.NotEmpty(r, ids[0], "a send failed")
	require.Len(r, slices.Compact(ids), senders, "every message has its own id")
	require.Len(r, r.own(group()), senders)
}

// testTextLimit sends a text at the limit and one over it.
func testTextLimit(r *rig) {
	to := r.meet(group())
	limit := r.adapter.Describe().TextLimit
	full := strings.Repeat("a", limit)
	r.mustSend(to, full)
	_, err := r.send(to, full+"a")
	r.requireClass(core.SendTooLarge, err)
	require.Equal(r, []string{full}, r.own(group()))
	_, err = r.send(to, "")
	r.requireClass(core.SendInvalid, err)
}

// testLostAnchor answers a message that is gone: the answer goes out without
// the anchor, once.
func testLostAnchor(r *rig) {
	ref := r.say(group(), "never mind")
	require.NoError(r, r.server.Delete(r.Context(), alice(), ref))
	out := core.Outgoing{Address: r.server.Address(group()), Text: "too late", Key: "k", ReplyTo: ref.ID}
	_, err := r.adapter.Send(r.Context(), out)
	require.NoError(r, err)
	require.Equal(r, []string{"too late"}, r.own(group()))
}

// testSendAfterCancel: a context that has ended sends nothing, and that is
// known.
func testSendAfterCancel(r *rig) {
	to := r.meet(group())
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	_, err := r.adapter.Send(ctx, core.Outgoing{Address: to, Text: "x", Key: "k"})
	r.requireClass(core.SendRetryable, err)
	require.Empty(r, r.own(group()))
}

func testProbe(r *rig) {
	require.True(r, r.adapter.Probe(r.Context()).OK)
	require.NoError(r, r.server.Fault(testserver.Fault{Method: testserver.MethodPoll, Kind: testserver.FaultFail, Status: 401}))
	require.Error(r, r.adapter.Run(r.Context(), r.inbox))
	sick := r.adapter.Probe(r.Context())
	require.False(r, sick.OK, "an account that cannot receive is not well")
	require.NotEmpty(r, sick.Detail)
	r.start()
	r.say(group(), "hi")
	r.inbox.WaitMessages(r, 1)
	require.True(r, r.adapter.Probe(r.Context()).OK)
}

func testEditAndDelete(r *rig) {
	to := r.meet(group())
	id := r.mustSend(to, "draft")
	if editor, ok := r.adapter.(core.Editor); ok {
		require.NoError(r, editor.Edit(r.Context(), to, id, "final"))
		require.Equal(r, []string{"final"}, r.own(group()))
		require.NoError(r, r.server.Fault(testserver.Fault{Method: testserver.MethodEdit, Kind: testserver.FaultRetryAfter, After: time.Second}))
		r.requireClass(core.SendRetryable, editor.Edit(r.Context(), to, id, "again"))
		require.NoError(r, r.server.Fault(testserver.Fault{Method: testserver.MethodEdit, Kind: testserver.FaultOKLost}))
		r.requireClass(core.SendAmbiguous, editor.Edit(r.Context(), to, id, "again"))
		r.requireClass(core.SendInvalid, editor.Edit(r.Context(), to, "nothing", "x"), "the place is still there")
	}
	if deleter, ok := r.adapter.(core.Deleter); ok {
		require.NoError(r, deleter.Delete(r.Context(), to, id))
		require.Empty(r, r.own(group()))
	}
	if typer, ok := r.adapter.(core.Typer); ok {
		require.NoError(r, typer.Typing(r.Context(), to))
	}
}

// testPreview: a message that is being written grows in place and ends as
// another, and again makes no difference.
func testPreview(r *rig) {
	if r.adapter.Describe().StreamEvery <= 0 {
		return
	}
	require.Implements(r, (*core.Deleter)(nil), r.adapter, "what was shown of an answer that is not to be must go")
	change := func(at core.Address, id, text string, draft bool) error {
		if s, ok := r.adapter.(core.Streamer); ok {
			return s.Replace(r.Context(), id, core.Outgoing{Address: at, Text: text, Draft: draft})
		}
		return r.adapter.(core.Editor).Edit(r.Context(), at, id, text)
	}
	to := r.meet(group())
	receipt, err := r.adapter.Send(r.Context(), core.Outgoing{Address: to, Text: "It", Key: "preview", Draft: true})
	require.NoError(r, err)
	for range 2 {
		require.NoError(r, change(to, receipt.ID, "It is", true))
	}
	require.Equal(r, []string{"It is"}, r.own(group()))
	require.NoError(r, r.server.Fault(testserver.Fault{Method: testserver.MethodEdit, Kind: testserver.FaultRetryAfter, After: time.Second}))
	r.requireClass(core.SendRetryable, change(to, receipt.ID, "It is done.", false))
	require.NoError(r, r.server.Fault(testserver.Fault{Method: testserver.MethodEdit, Kind: testserver.FaultOKLost}))
	r.requireClass(core.SendAmbiguous, change(to, receipt.ID, "It is done.", false))
	require.NoError(r, change(to, receipt.ID, "It is done.", false))
	require.Equal(r, []string{"It is done."}, r.own(group()))
	require.NoError(r, r.adapter.(core.Deleter).Delete(r.Context(), to, receipt.ID))
	class, _ := core.ClassifySend(change(to, receipt.ID, "It was", false))
	require.Contains(r, []core.SendClass{core.SendInvalid, core.SendGone}, class, "a message that is gone cannot be edited")
}
