package delivery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

func start(t *testing.T, native bool, with func(*Options)) *rig {
	t.Helper()
	r := newRig(t, t.TempDir(), native, with)
	t.Cleanup(r.down)
	return r
}

func TestPostDelivers(t *testing.T) {
	r := start(t, true, nil)
	row := message("hello")
	row.Anchor, row.Persona, row.Address.Thread, row.Address.Parent = "m0", "Cats", "t1", "p"
	id := r.post(row)[0]

	require.Len(t, r.platform.posts, 1)
	got := r.platform.posts[0]
	require.Equal(t, row.Address, got.Address, "the address goes whole to the adapter")
	require.Equal(t, "hello", got.Text)
	require.Equal(t, "m0", got.ReplyTo)
	require.Equal(t, "Cats", got.Persona)
	stored := r.row(id)
	require.Equal(t, store.OutSent, stored.State)
	require.Equal(t, 1, stored.PartsSent)
	require.Equal(t, r.world.Now(), stored.EndedAt)
	require.Equal(t, []string{"m1"}, r.receipts(id))
	require.Equal(t, []int64{id}, r.sent)
	st := r.status()
	require.Equal(t, int64(1), st.Sent)
	require.Zero(t, st.Open)
}

func TestPostPassesTheGate(t *testing.T) {
	r := start(t, true, func(o *Options) {
		o.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }
	})
	ids := r.post(message("NO_REPLY"), message("<think>x</think>the password is hunter2"), message(" "))
	require.Zero(t, ids[0])
	require.NotZero(t, ids[1])
	require.Zero(t, ids[2])
	require.Equal(t, []string{"the password is [redacted]"}, r.platform.texts())
}

func TestPostRefusesAnIncompleteAddress(t *testing.T) {
	r := start(t, true, nil)
	row := message("x")
	row.Address.Account = ""
	err := r.tx(func(tx *store.Tx) error {
		_, _, err := r.s.Post(tx, row)
		return err
	})
	require.Equal(t, "outbox_address", core.ErrorCode(err))
}

func TestPostOnce(t *testing.T) {
	r := start(t, true, nil)
	row := message("answer")
	row.OnceKey = "completion:1"
	id := r.post(row)[0]
	require.NoError(t, r.tx(func(tx *store.Tx) error {
		again, fresh, err := r.s.Post(tx, row)
		require.False(t, fresh)
		require.Equal(t, id, again)
		return err
	}))
	r.quiet()
	require.Equal(t, []string{"answer"}, r.platform.texts())
}

// A row whose commit nobody heard of is delivered when it is posted again.
func TestPostAgainWakesARowThatNobodyHeardOf(t *testing.T) {
	r := start(t, true, nil)
	row := message("answer")
	row.OnceKey = "turn:1"
	require.NoError(t, r.tx(func(tx *store.Tx) error {
		_, _, err := tx.InsertOutbox(row)
		return err
	}))
	r.quiet()
	require.Empty(t, r.platform.texts())
	r.post(row)
	require.Equal(t, []string{"answer"}, r.platform.texts())
}

func TestRollbackSendsNothing(t *testing.T) {
	r := start(t, true, nil)
	boom := errors.New("boom")
	require.ErrorIs(t, r.tx(func(tx *store.Tx) error {
		if _, _, err := r.s.Post(tx, message("x")); err != nil {
			return err
		}
		return boom
	}), boom)
	r.quiet()
	require.Empty(t, r.platform.calls)
}

func TestCommitsPerMessage(t *testing.T) {
	for native, want := range map[bool]int64{true: 2, false: 3} { // the post itself is one
		t.Run(fmt.Sprintf("native=%v", native), func(t *testing.T) {
			r := start(t, native, nil)
			r.quiet()
			before, _ := r.db.Stats()
			r.post(message("x"))
			after, _ := r.db.Stats()
			require.Equal(t, want, after-before)
		})
	}
}

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestB087_SendFailsThreeTimesThenWorks(t *testing.T) {
	r := start(t, false, nil)
	r.platform.setScript(first(3, fault{class: core.SendRetryable}))
	id := r.post(message("result"))[0]
	row := r.row(id)
	require.Equal(t, store.OutQueued, row.State)
	require.Equal(t, 1, row.Attempts)
	require.Contains(t, row.Error, "refused by the platform")
	require.Equal(t, Status{Channel: "fake", Account: "default", Open: 1, Retrying: 1, Retries: 1, LastError: row.Error, LastErrorAt: row.FirstTry}, r.status())
	r.advance(3 * time.Minute)
	require.Equal(t, []string{"result"}, r.platform.texts())
	require.Equal(t, store.OutSent, r.row(id).State)
	times := r.platform.called()
	require.Len(t, times, 4)
	require.InDelta(t, 15, times[1], 2)
	require.InDelta(t, 45, times[2], 5)
	require.InDelta(t, 105, times[3], 11)
}

func TestB075_SendFailsAlways(t *testing.T) {
	r := start(t, true, nil)
	r.platform.setScript(always(fault{class: core.SendRetryable}))
	id := r.post(message("result"))[0]
	r.advance(29 * time.Minute)
	require.Equal(t, store.OutQueued, r.row(id).State)
	require.Empty(t, r.givenUp())
	r.advance(2 * time.Minute)
	row := r.row(id)
	require.Equal(t, store.OutBlocked, row.State)
	require.Equal(t, row.FirstTry.Add(30*time.Minute), row.EndedAt, "the last try is at the end of the window")
	require.Len(t, r.givenUp(), 1)
	require.Equal(t, 1, r.log.count("ERROR a message was not delivered"))
	require.Equal(t, int64(1), r.status().Blocked)

	calls := len(r.platform.calls)
	r.advance(24 * time.Hour)
	require.Len(t, r.platform.calls, calls, "nothing is tried after that")

	r.platform.setScript(nil)
	require.NoError(t, r.tx(func(tx *store.Tx) error { return r.s.Retry(tx, id) }))
	r.quiet()
	require.Equal(t, []string{"result"}, r.platform.texts())
}

func TestB077_PendingIsNotAFailedAttempt(t *testing.T) {
	for name, pending := range map[string]fault{
		"says so":       {class: core.SendRetryable, after: 10 * time.Second},
		"never answers": {hang: true, effect: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, true, nil)
			began := r.clock.Now()
			r.platform.setScript(func(core.Outgoing, int) fault {
				if r.clock.Now().Sub(began) < time.Minute {
					return pending
				}
				return fault{}
			})
			id := r.write(message("result"))[0]
			r.advance(3 * time.Minute)
			require.Equal(t, []string{"result"}, r.platform.texts())
			require.Equal(t, store.OutSent, r.row(id).State)
		})
	}
}

func TestB101_OkWithoutIDIsAmbiguous(t *testing.T) {
	r := start(t, false, func(o *Options) { o.OnAmbiguous = func(store.OutboxKind) OnAmbiguous { return Hold } })
	r.platform.setScript(always(fault{empty: true}))
	id := r.post(message("result"))[0]
	row := r.row(id)
	require.Equal(t, store.OutAmbiguous, row.State)
	require.Equal(t, errNoReceipt.Error(), row.Error)
	require.Empty(t, r.sent)
	require.Len(t, r.givenUp(), 1)
}

func TestB261_LongTextIsSplitAndFailuresAreVisible(t *testing.T) {
	split := func(text string, caps core.Capabilities) (parts []string) {
		for len(text) > caps.TextLimit {
			parts, text = append(parts, text[:caps.TextLimit]), text[caps.TextLimit:]
		}
		return append(parts, text)
	}
	r := start(t, true, func(o *Options) { o.Split = split })
	long := message(strings.Repeat("a", 2001))
	long.Anchor = "m0"
	id := r.post(long)[0]
	require.Len(t, r.platform.posts, 2)
	require.Equal(t, long.Text, strings.Join(r.platform.texts(), ""))
	require.Equal(t, []string{"m1", "m2"}, r.receipts(id))
	require.Equal(t, "m0", r.platform.posts[0].ReplyTo)
	require.Empty(t, r.platform.posts[1].ReplyTo, "only the first part answers the anchor")
	require.NotEqual(t, r.platform.posts[0].Key, r.platform.posts[1].Key)

	r.platform.setScript(always(fault{class: core.SendTooLarge}))
	id = r.post(message("x"), message("y"), message("z"))[2]
	require.Equal(t, store.OutFailed, r.row(id).State)
	require.Equal(t, 3, r.log.count("ERROR a message was not delivered"))
	require.Len(t, r.givenUp(), 3)
}

// The rest of a message waits for the platform; order and completeness stay.
func TestB283_RateLimitInTheMiddle(t *testing.T) {
	r := start(t, false, func(o *Options) { o.Split = eachLine })
	r.platform.setScript(func(_ core.Outgoing, call int) fault {
		if call == 3 {
			return fault{class: core.SendRetryable, after: 3 * time.Second}
		}
		return fault{}
	})
	id := r.post(message("1\n2\n3\n4\n5"))[0]
	require.Equal(t, 2, r.row(id).PartsSent)
	r.advance(4 * time.Second)
	require.Equal(t, []string{"1", "2", "3", "4", "5"}, r.platform.texts())
	require.Equal(t, []int{0, 0, 0, 3, 3, 3}, r.platform.called())
}

// A message of many parts on a slow platform is not cut off by the window.
func TestTheWindowIsThatOfAPart(t *testing.T) {
	r := start(t, true, func(o *Options) { o.Split = eachLine })
	r.platform.setScript(func(_ core.Outgoing, call int) fault {
		if call%2 == 1 {
			return fault{class: core.SendRetryable, after: 20 * time.Minute}
		}
		return fault{}
	})
	r.write(message("1\n2\n3\n4"))
	r.advance(2 * time.Hour)
	require.Equal(t, []string{"1", "2", "3", "4"}, r.platform.texts())
}

func TestPartsThatRenderToNothing(t *testing.T) {
	r := start(t, true, func(o *Options) {
		o.Split = eachLine
		o.Render = func(channel, text string) string {
			require.Equal(t, "fake", channel)
			return strings.ReplaceAll(text, "<!-- -->", "")
		}
	})
	r.post(message("a\n\n \nb"), message("<!-- -->"))
	require.Equal(t, []string{"a", "b", "<!-- -->"}, r.platform.texts())
}

func TestTextsOfTheRuntimeHaveNoMarkup(t *testing.T) {
	r := start(t, true, func(o *Options) {
		o.Render = func(_, text string) string { return "rendered " + text }
		o.Literal = func(_, text string) string { return "literal " + text }
	})
	rows := map[store.OutboxKind]string{
		store.OutFinal: "rendered", store.OutProgress: "rendered", store.OutNotice: "rendered", store.OutSend: "rendered",
		store.OutCommand: "literal", store.OutIntro: "literal", store.OutFarewell: "literal",
	}
	for kind, want := range rows {
		m := message("2. a*b*")
		m.Kind = kind
		r.post(m)
		texts := r.platform.texts()
		require.Equal(t, want+" 2. a*b*", texts[len(texts)-1], "%s", kind)
	}
}

func TestARendererThatPanics(t *testing.T) {
	r := start(t, true, func(o *Options) {
		o.Render = func(_, text string) string { panic(text) }
		o.Plain = func(_, text string) string { return text }
	})
	r.post(message("x"))
	require.Equal(t, []string{"x"}, r.platform.texts())
	require.Equal(t, 1, r.log.count("could not be rendered"))
}

func TestWithdraw(t *testing.T) {
	r := start(t, true, nil)
	r.platform.setScript(first(1, fault{class: core.SendRetryable}))
	var rows []store.Outbox
	for i, kind := range []store.OutboxKind{store.OutFinal, store.OutProgress, store.OutIntro, store.OutFinal} {
		row := message(fmt.Sprintf("%s %d", kind, i))
		row.Kind, row.Session = kind, 5
		rows = append(rows, row)
	}
	rows[3].Session = 6
	ids := r.post(rows...)
	require.NoError(t, r.tx(func(tx *store.Tx) error {
		n, err := r.s.Withdraw(tx, 5)
		require.Equal(t, int64(2), n)
		return err
	}))
	r.advance(time.Minute)
	require.Equal(t, []string{"intro 2", "final 3"}, r.platform.texts())
	require.Equal(t, store.OutWithdrawn, r.row(ids[0]).State)
}

func TestRetryAndDismiss(t *testing.T) {
	r := start(t, true, func(o *Options) { o.Split = eachLine })
	r.platform.setScript(func(out core.Outgoing, _ int) fault {
		if out.Text == "b" {
			return fault{class: core.SendInvalid}
		}
		return fault{}
	})
	ids := r.post(message("a\nb\nc"), message("b"))
	require.Equal(t, []string{"a"}, r.platform.texts())
	require.NoError(t, r.tx(func(tx *store.Tx) error { return r.s.Dismiss(tx, ids[1]) }))
	require.Equal(t, store.OutDismissed, r.row(ids[1]).State)
	r.platform.setScript(nil)
	require.NoError(t, r.tx(func(tx *store.Tx) error { return r.s.Retry(tx, ids[0]) }))
	r.quiet()
	require.Equal(t, []string{"a", "b", "c"}, r.platform.texts(), "it goes on at the first part that was not sent")

	for _, f := range []func(*store.Tx, int64) error{r.s.Retry, r.s.Dismiss} {
		require.Equal(t, "outbox_state", core.ErrorCode(r.tx(func(tx *store.Tx) error { return f(tx, ids[0]) })))
		require.Equal(t, "outbox_unknown", core.ErrorCode(r.tx(func(tx *store.Tx) error { return f(tx, 999) })))
	}
}

// A row may be reopened before the worker has settled its end.
func TestRetryRightAfterTheEnd(t *testing.T) {
	var r *rig
	r = start(t, true, func(o *Options) {
		o.OnGaveUp = func(tx *store.Tx, row store.Outbox, _ core.Millis) error { return r.s.Retry(tx, row.ID) }
	})
	r.platform.setScript(first(2, fault{class: core.SendInvalid}))
	id := r.post(message("x"), message("y"))[0]
	require.Equal(t, []string{"x", "y"}, r.platform.texts())
	require.Equal(t, store.OutSent, r.row(id).State)
}

func TestAccountsComeAndGo(t *testing.T) {
	r := start(t, true, nil)
	r.s.SetAccounts(context.Background(), nil)
	require.Empty(t, r.s.Status())
	r.post(message("one"))
	require.Empty(t, r.platform.texts(), "it waits for its account")
	r.s.SetAccounts(context.Background(), []Account{r.account()})
	r.post(message("two"))
	require.Equal(t, []string{"one", "two"}, r.platform.texts())

	other := newPlatform(true, r.clock)
	r.s.SetAccounts(context.Background(), []Account{{Channel: "fake", ID: "default", Adapter: other}})
	r.post(message("three"))
	require.Equal(t, []string{"three"}, other.texts(), "another adapter takes over")

	foreign := message("foreign")
	foreign.Address.Account = "second"
	r.post(foreign)
	require.Len(t, other.texts(), 1)
}

func TestStopLeavesTheRestToTheNextStart(t *testing.T) {
	for _, native := range []bool{true, false} {
		t.Run(fmt.Sprintf("native=%v", native), func(t *testing.T) {
			r := start(t, native, func(o *Options) { o.Split = eachLine })
			var stopped chan struct{}
			r.platform.setScript(func(out core.Outgoing, _ int) fault {
				if out.Text == "2" { // stop in the middle of a message
					stopped = make(chan struct{})
					go func() {
						defer close(stopped)
						r.s.Stop(context.Background())
					}()
					for {
						r.s.mu.RLock()
						n := len(r.s.workers)
						r.s.mu.RUnlock()
						if n == 0 {
							break
						}
					}
				}
				return fault{}
			})
			ids := r.post(message("1\n2\n3"), message("next"))
			<-stopped
			require.Equal(t, []string{"1", "2"}, r.platform.texts())
			require.Equal(t, store.OutQueued, r.row(ids[0]).State, "nothing of it is on its way")
			r.platform.setScript(nil)
			r.restart()
			require.Equal(t, []string{"1", "2", "3", "next"}, r.platform.texts())
			require.False(t, r.row(ids[0]).Resent)
		})
	}
}

func TestStopCancelsWhatDoesNotEnd(t *testing.T) {
	r := start(t, false, nil)
	r.platform.setScript(always(fault{hang: true}))
	id := r.write(message("x"))[0]
	r.quiet()
	r.s.Stop(cancelled())
	require.Equal(t, store.OutSending, r.row(id).State, "nobody knows what became of it")
	r.platform.setScript(nil)
	r.restart()
	require.True(t, r.row(id).Resent)
	require.Equal(t, []string{"x"}, r.platform.texts())
}
