package delivery

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

func TestOrderWithinALane(t *testing.T) {
	r := start(t, true, nil)
	r.platform.setScript(always(fault{slow: time.Second}))
	var rows []store.Outbox
	for i := range 20 {
		row := message(fmt.Sprintf("%d", i))
		row.Kind = []store.OutboxKind{store.OutFinal, store.OutProgress, store.OutNotice}[i%3]
		rows = append(rows, row)
	}
	r.write(rows...)
	r.advance(time.Minute)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprintf("%d", i))
	}
	require.Equal(t, want, r.platform.texts())
	require.Equal(t, 1, r.platform.most)
}

func TestLanesAreConcurrentAndBounded(t *testing.T) {
	r := start(t, true, nil)
	r.platform.setScript(always(fault{slow: time.Second}))
	for i := range 3 * Concurrency {
		row := message("x")
		row.Address = address("c", fmt.Sprintf("t%d", i))
		r.write(row)
	}
	r.advance(1500 * time.Millisecond)
	require.Len(t, r.platform.texts(), Concurrency)
	r.advance(2 * time.Second)
	require.Len(t, r.platform.texts(), 3*Concurrency)
	require.Equal(t, Concurrency, r.platform.most)
}

func TestCommandRepliesPassBusyLanes(t *testing.T) {
	r := start(t, true, nil)
	r.platform.setScript(func(out core.Outgoing, _ int) fault {
		if out.Text == "reply" {
			return fault{}
		}
		return fault{hang: true}
	})
	for i := range 2 * Concurrency {
		row := message("x")
		row.Address.Conversation = fmt.Sprintf("c%d", i)
		r.write(row)
	}
	reply := message("reply")
	reply.Kind, reply.Address.Conversation = store.OutCommand, "c0"
	r.post(reply)
	require.Equal(t, []string{"reply"}, r.platform.texts())
	r.s.Stop(cancelled())
}

func TestHeadBlocksItsFollowersTwoMinutes(t *testing.T) {
	r := start(t, true, nil)
	r.platform.setScript(func(out core.Outgoing, _ int) fault {
		if out.Text == "head" && r.clock.Now().Sub(r.platform.start) < 10*time.Minute {
			return fault{class: core.SendRetryable}
		}
		return fault{}
	})
	r.post(message("head"), message("second"), message("third"))
	other := message("other lane")
	other.Address.Thread = "t"
	r.post(other)
	require.Equal(t, []string{"other lane"}, r.platform.texts())
	r.advance(119 * time.Second)
	require.Equal(t, []string{"other lane"}, r.platform.texts())
	r.advance(time.Second)
	require.Equal(t, []string{"other lane", "second", "third"}, r.platform.texts())
	r.post(message("fourth"))
	require.Equal(t, []string{"other lane", "second", "third", "fourth"}, r.platform.texts(), "it holds nobody up any more")
	r.advance(12 * time.Minute)
	require.Equal(t, []string{"other lane", "second", "third", "fourth", "head"}, r.platform.texts())
}

func TestEveryFollowerBlocksInItsTurn(t *testing.T) {
	r := start(t, true, nil)
	r.platform.setScript(always(fault{class: core.SendAuth}))
	for i := range 10 {
		r.post(message(fmt.Sprint(i)))
	}
	r.advance(9 * time.Minute)
	seen := map[string]bool{}
	for _, c := range r.platform.calls {
		seen[c.Text] = true
	}
	require.Len(t, seen, 5, "an account that is down is not asked for every waiting message at once")
	r.platform.setScript(nil)
	r.advance(11 * time.Minute)
	require.Len(t, r.platform.texts(), 10)
}

func TestHeldFailedAndBlockedRowsDoNotBlock(t *testing.T) {
	r := start(t, false, nil)
	r.platform.setScript(func(out core.Outgoing, _ int) fault {
		switch out.Text {
		case "held":
			return fault{class: core.SendAmbiguous}
		case "failed":
			return fault{class: core.SendInvalid}
		}
		return fault{}
	})
	held := message("held")
	held.Kind = store.OutNotice
	r.post(held, message("failed"), message("last"))
	require.Equal(t, []string{"last"}, r.platform.texts())
}

func TestCommandRepliesAreRetriedQuicklyAndShortly(t *testing.T) {
	r := start(t, true, nil)
	r.platform.setScript(func(out core.Outgoing, _ int) fault {
		if out.Text == "never" {
			return fault{class: core.SendRetryable}
		}
		return fault{}
	})
	row, after := message("never"), message("next")
	row.Kind, after.Kind = store.OutCommand, store.OutCommand
	id := r.post(row, after)[0]
	require.Equal(t, []string{"next"}, r.platform.texts(), "a reply never waits behind a retried one")
	r.advance(3 * time.Minute)
	require.Equal(t, store.OutFailed, r.row(id).State)
	var tries []float64
	for i, c := range r.platform.calls {
		if c.Text == "never" {
			tries = append(tries, r.platform.times[i].Seconds())
		}
	}
	require.InDeltaSlice(t, []float64{0, 1, 3, 7, 15, 31, 61, 91, 120}, tries, 10)
	require.InDelta(t, 1, tries[1], 0.11)
	require.InDelta(t, 120, tries[len(tries)-1], 0, "the last try is at the end of the window")
}

// What waits behind a stuck row does not keep all its text in memory.
func TestManyWaitingRows(t *testing.T) {
	r := start(t, true, nil)
	r.platform.setScript(func(_ core.Outgoing, call int) fault {
		if call == 1 {
			return fault{class: core.SendRetryable}
		}
		return fault{}
	})
	const n = maxTexts + 2*loadPage + 10
	var rows []store.Outbox
	for i := range n {
		rows = append(rows, message(fmt.Sprint(i)))
	}
	r.write(rows...)
	r.quiet()
	check := func() {
		w := r.s.worker(message("").Address)
		w.mu.Lock()
		defer w.mu.Unlock()
		require.Len(t, w.items, n)
		require.LessOrEqual(t, w.texts, maxTexts)
	}
	check()
	r.restart()
	check()
	r.advance(20 * time.Second)
	got := r.platform.texts()
	require.Len(t, got, n)
	for i := range got {
		require.Equal(t, fmt.Sprint(i), got[i])
	}
	w := r.s.worker(message("").Address)
	require.Zero(t, w.texts)
	require.Empty(t, w.items)
	require.Empty(t, w.lanes)
	require.Empty(t, w.alone)
}
