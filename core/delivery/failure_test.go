package delivery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

func TestErrorClasses(t *testing.T) {
	tests := []struct {
		class core.SendClass
		state store.OutboxState // of a notice after the first try
		end   store.OutboxState // if it stays so
		tries int               // at least
	}{
		{core.SendRetryable, store.OutQueued, store.OutBlocked, 5},
		{core.SendAuth, store.OutQueued, store.OutBlocked, 5},
		{core.SendConflict, store.OutQueued, store.OutBlocked, 5},
		{core.SendClass("newer"), store.OutQueued, store.OutBlocked, 5},
		{core.SendAmbiguous, store.OutAmbiguous, store.OutAmbiguous, 1},
		{core.SendGone, store.OutFailed, store.OutFailed, 1},
		{core.SendClosed, store.OutFailed, store.OutFailed, 1},
		{core.SendForbidden, store.OutFailed, store.OutFailed, 1},
		{core.SendInvalid, store.OutFailed, store.OutFailed, 1},
		{core.SendTooLarge, store.OutFailed, store.OutFailed, 1},
	}
	for _, tt := range tests {
		t.Run(string(tt.class), func(t *testing.T) {
			r := start(t, false, nil)
			r.platform.setScript(always(fault{class: tt.class}))
			row := message("x")
			row.Kind = store.OutNotice
			id := r.post(row)[0]
			require.Equal(t, tt.state, r.row(id).State)
			r.advance(31 * time.Minute)
			got := r.row(id)
			require.Equal(t, tt.end, got.State)
			require.Equal(t, string(tt.class)+": refused by the platform", got.Error)
			require.NotZero(t, got.EndedAt)
			require.GreaterOrEqual(t, len(r.platform.calls), tt.tries)
			require.Len(t, r.givenUp(), 1)
			require.Equal(t, got.State, r.givenUp()[0].State)
			require.Equal(t, 1, r.log.count("ERROR a message was not delivered"))
		})
	}
}

func TestThePlatformsOwnWaitIsKept(t *testing.T) {
	r := start(t, true, nil)
	r.platform.setScript(first(1, fault{class: core.SendRetryable, after: 90 * time.Second}))
	r.post(message("x"))
	r.advance(2 * time.Minute)
	require.Equal(t, []int{0, 90}, r.platform.called())

	r.platform.setScript(always(fault{class: core.SendRetryable, after: time.Hour}))
	id := r.post(message("y"))[0]
	row := r.row(id)
	require.Equal(t, store.OutBlocked, row.State, "a wait beyond the window is not begun")
}

func TestASlowAnswerIsSlowByTheClock(t *testing.T) {
	r := start(t, true, nil)
	r.platform.setScript(always(fault{slow: 29 * time.Second}))
	id := r.write(message("x"))[0]
	r.advance(28 * time.Second)
	require.Equal(t, store.OutQueued, r.row(id).State)
	r.advance(time.Second)
	require.Equal(t, store.OutSent, r.row(id).State)

	r.platform.setScript(first(2, fault{hang: true})) // the count goes on: one call was made
	id = r.write(message("y"))[0]
	r.advance(SendTimeout)
	row := r.row(id)
	require.Equal(t, store.OutQueued, row.State)
	require.Equal(t, 1, row.Attempts)
}

func TestAmbiguousWithIdempotencyIsRepeated(t *testing.T) {
	for name, f := range map[string]fault{
		"done, answer lost": {class: core.SendAmbiguous, effect: true},
		"not done":          {class: core.SendAmbiguous},
		"unclassified":      {unknown: true, effect: true},
		"panic":             {panics: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, true, nil)
			r.platform.setScript(first(2, f))
			row := message("x")
			row.Kind = store.OutIntro
			id := r.post(row)[0]
			r.advance(2 * time.Minute)
			require.Equal(t, []string{"x"}, r.platform.texts())
			require.Equal(t, store.OutSent, r.row(id).State)
			require.False(t, r.row(id).Resent)
			require.Equal(t, []string{r.platform.posts[0].Key}, keys(r.platform.calls))
		})
	}
	t.Run("never an answer", func(t *testing.T) {
		r := start(t, true, nil)
		r.platform.setScript(always(fault{empty: true}))
		id := r.post(message("x"))[0]
		r.advance(31 * time.Minute)
		require.Equal(t, store.OutAmbiguous, r.row(id).State)
	})
}

// keys returns the different keys of calls.
func keys(calls []core.Outgoing) (out []string) {
	seen := map[string]bool{}
	for _, c := range calls {
		if !seen[c.Key] {
			seen[c.Key] = true
			out = append(out, c.Key)
		}
	}
	return out
}

func TestB131_AmbiguousWithoutIdempotencyFollowsThePolicy(t *testing.T) {
	lost := fault{class: core.SendAmbiguous, effect: true}
	t.Run("final is sent again", func(t *testing.T) {
		r := start(t, false, nil)
		r.platform.setScript(first(1, lost))
		id := r.post(message("x"))[0]
		row := r.row(id)
		require.Equal(t, store.OutSending, row.State)
		require.True(t, row.Resent)
		r.advance(time.Minute)
		require.Equal(t, store.OutSent, r.row(id).State)
		require.True(t, r.row(id).Resent, "shown as such")
		require.Equal(t, []string{"x", "x"}, r.platform.texts())
		require.Equal(t, int64(1), r.status().Resent)
		require.Equal(t, 1, r.log.count("may have been sent already"))
	})
	t.Run("but not for ever", func(t *testing.T) {
		r := start(t, false, nil)
		r.platform.setScript(always(lost))
		id := r.post(message("x"))[0]
		r.advance(time.Hour)
		require.Equal(t, store.OutAmbiguous, r.row(id).State)
		require.Len(t, r.platform.calls, 1+maxResends)
	})
	t.Run("the rest is held", func(t *testing.T) {
		r := start(t, false, nil)
		r.platform.setScript(always(lost))
		row := message("x")
		row.Kind = store.OutCommand
		id := r.post(row)[0]
		require.Equal(t, store.OutAmbiguous, r.row(id).State)
		r.platform.setScript(nil)
		require.NoError(t, r.tx(func(tx *store.Tx) error { return r.s.Retry(tx, id) }))
		r.quiet()
		require.Equal(t, store.OutSent, r.row(id).State)
		require.True(t, r.row(id).Resent, "an operator sent it again")
	})
}

func TestRefusedTextIsTriedPlainThenWithoutAnchor(t *testing.T) {
	plain := func(o *Options) {
		o.Plain = func(channel, part string) string { return strings.ReplaceAll(part, "*", "") }
	}
	anchored := message("*x*")
	anchored.Anchor = "m0"
	t.Run("plain", func(t *testing.T) {
		r := start(t, true, plain)
		r.platform.setScript(func(out core.Outgoing, _ int) fault {
			if strings.Contains(out.Text, "*") {
				return fault{class: core.SendInvalid}
			}
			return fault{}
		})
		r.post(anchored)
		require.Equal(t, []string{"x"}, r.platform.texts())
		require.Equal(t, "m0", r.platform.posts[0].ReplyTo)
	})
	t.Run("without anchor", func(t *testing.T) {
		r := start(t, true, plain)
		r.platform.setScript(func(out core.Outgoing, _ int) fault {
			if out.ReplyTo != "" {
				return fault{class: core.SendInvalid}
			}
			return fault{}
		})
		r.post(anchored)
		require.Equal(t, []string{"x"}, r.platform.texts())
	})
	t.Run("neither", func(t *testing.T) {
		r := start(t, true, plain)
		r.platform.setScript(always(fault{class: core.SendInvalid}))
		id := r.post(anchored)[0]
		require.Equal(t, store.OutFailed, r.row(id).State)
		require.Len(t, r.platform.calls, 3)
	})
	t.Run("a part of many", func(t *testing.T) {
		r := start(t, true, func(o *Options) {
			plain(o)
			o.Split = eachLine
		})
		r.platform.setScript(func(out core.Outgoing, _ int) fault {
			if out.Text == "*2*" {
				return fault{class: core.SendInvalid}
			}
			return fault{}
		})
		r.post(message("*1*\n*2*\n*3*"))
		require.Equal(t, []string{"*1*", "2", "*3*"}, r.platform.texts())
	})
}

// toParent is what the wiring does about a thread that is gone.
func toParent(_ *store.Tx, row store.Outbox, _ core.SendClass) (store.Outbox, bool, error) {
	if row.Address.Thread == "" {
		return row, false, nil
	}
	row.Address = row.Address.ParentConversation()
	row.Text = "(The thread is gone.)\n" + row.Text
	return row, true, nil
}

func TestGoneThreadGoesToTheParentOnce(t *testing.T) {
	for _, class := range []core.SendClass{core.SendGone, core.SendClosed, core.SendForbidden} {
		t.Run(string(class), func(t *testing.T) {
			r := start(t, true, func(o *Options) { o.OnUndeliverable = toParent })
			r.platform.setScript(func(out core.Outgoing, _ int) fault {
				if out.Address.Thread != "" {
					return fault{class: class, effect: true} // the key is used up there
				}
				return fault{}
			})
			row := message("result")
			row.Address.Thread, row.Anchor, row.OnceKey = "t", "m0", "completion:1"
			id := r.post(row)[0]
			require.Equal(t, []string{"result", "(The thread is gone.)\nresult"}, r.platform.texts())
			got := r.row(id)
			require.Equal(t, store.OutSent, got.State)
			require.Equal(t, address("c", ""), got.Address)
			require.Equal(t, "completion:1", got.OnceKey)
			require.Empty(t, r.platform.posts[1].ReplyTo, "the anchor was a message of the thread")
			require.NotEqual(t, r.platform.calls[0].Key, r.platform.calls[1].Key)
			require.Empty(t, r.givenUp())
		})
	}
	t.Run("the parent is gone too", func(t *testing.T) {
		r := start(t, true, func(o *Options) { o.OnUndeliverable = toParent })
		r.platform.setScript(always(fault{class: core.SendGone}))
		row := message("result")
		row.Address.Thread = "t"
		id := r.post(row)[0]
		require.Equal(t, store.OutFailed, r.row(id).State)
		require.Len(t, r.platform.calls, 2)
		require.Len(t, r.givenUp(), 1)
	})
	t.Run("the parent is a conversation of its own", func(t *testing.T) {
		r := start(t, true, func(o *Options) { o.OnUndeliverable = toParent })
		r.platform.setScript(first(1, fault{class: core.SendGone}))
		row := message("result")
		row.Address.Thread, row.Address.Parent = "t", "parent"
		id := r.post(row)[0]
		require.Equal(t, address("parent", ""), r.row(id).Address)
	})
}

func TestAMovedRowKeepsTheOrderOfItsNewLane(t *testing.T) {
	r := start(t, true, func(o *Options) { o.OnUndeliverable = toParent })
	r.platform.setScript(func(out core.Outgoing, _ int) fault {
		switch {
		case out.Address.Thread != "":
			return fault{class: core.SendGone, slow: time.Second}
		case out.Text == "first":
			return fault{slow: 2 * time.Second}
		}
		return fault{}
	})
	thread := message("moved")
	thread.Address.Thread = "t"
	r.write(message("first"), thread, message("last"))
	r.advance(5 * time.Second)
	require.Equal(t, []string{"first", "(The thread is gone.)\nmoved", "last"}, r.platform.texts())
}

func TestNeverAnotherChat(t *testing.T) {
	for name, to := range map[string]core.Address{
		"another conversation": address("other", ""),
		"another thread":       address("c", "t2"),
		"another account":      {Channel: "fake", Account: "second", Conversation: "c"},
		"another channel":      {Channel: "mail", Account: "default", Conversation: "c"},
		"the same place":       address("c", "t"),
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, true, func(o *Options) {
				o.OnUndeliverable = func(_ *store.Tx, row store.Outbox, _ core.SendClass) (store.Outbox, bool, error) {
					row.Address = to
					return row, true, nil
				}
			})
			r.platform.setScript(always(fault{class: core.SendGone}))
			row := message("x")
			row.Address.Thread = "t"
			id := r.post(row)[0]
			require.Equal(t, store.OutFailed, r.row(id).State)
			require.Equal(t, row.Address, r.row(id).Address)
			require.Len(t, r.platform.calls, 1)
		})
	}
}

// A hook that fails does not make the message be sent again.
func TestB115_AFailingHookSendsNothingTwice(t *testing.T) {
	boom := errors.New("boom")
	hookFails := func(times int) func(*Options) {
		return func(o *Options) {
			o.OnSent = func(*store.Tx, store.Outbox, core.Millis) error {
				times--
				if times >= 0 {
					return boom
				}
				return nil
			}
			o.OnGaveUp = o.OnSent
			o.OnUndeliverable = func(_ *store.Tx, row store.Outbox, _ core.SendClass) (store.Outbox, bool, error) {
				return row, false, boom
			}
		}
	}
	for _, times := range []int{1, 100} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			r := start(t, false, hookFails(times))
			ids := r.write(message("x"))
			r.advance(10 * time.Second)
			require.Equal(t, store.OutSent, r.row(ids[0]).State)
			require.Equal(t, []string{"x"}, r.platform.texts())

			for _, class := range []core.SendClass{core.SendAmbiguous, core.SendGone} {
				r.platform.setScript(always(fault{class: class}))
				row := message("y")
				row.Kind = store.OutNotice
				calls := len(r.platform.calls)
				ids = r.write(row)
				r.advance(20 * time.Second)
				require.NotEqual(t, store.OutSending, r.row(ids[0]).State)
				require.Len(t, r.platform.calls, calls+1)
			}
		})
	}
}

func TestPatience(t *testing.T) {
	require.Equal(t, patience{first: time.Second, most: 30 * time.Second, window: 2 * time.Minute, end: store.OutFailed}, patienceFor(store.OutCommand))
	p := patienceFor(store.OutFinal)
	var got []time.Duration
	for n := 1; n <= 7; n++ {
		got = append(got, p.pause(n, 0))
	}
	require.Equal(t, []time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute}, got)
	rapid.Check(t, func(t *rapid.T) {
		n, jitter := rapid.IntRange(1, 1000).Draw(t, "n"), rapid.Float64Range(0, 0.999).Draw(t, "jitter")
		d := p.pause(n, jitter)
		require.GreaterOrEqual(t, d, p.first)
		require.LessOrEqual(t, d, p.most+p.most/10)
		require.GreaterOrEqual(t, p.pause(n+1, jitter), d)
	})
}

// A store that is closed under a worker ends it; nothing hangs.
func TestClosedStore(t *testing.T) {
	r := newRig(t, t.TempDir(), true, nil)
	r.platform.setScript(always(fault{slow: time.Second}))
	r.write(message("x"))
	r.quiet()
	require.NoError(t, r.db.Close())
	r.advance(2 * time.Second)
	r.s.Stop(context.Background())
	r.up()
	r.quiet()
	r.advance(2 * time.Second)
	require.Equal(t, []string{"x"}, r.platform.texts(), "the same key makes the same message")
	r.down()
}
