package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
	"github.com/skein-bot/skein/core/world"
)

// runner records what ran; hook decides what a turn does.
type runner struct {
	mu      sync.Mutex
	active  map[int64]int
	lanes   map[store.Lane]int
	maxLane map[store.Lane]int
	turns   []string // bodies of each turn, joined
	hook    func(ctx context.Context, l *kernel.Lease) error
	ended   func(text string) // called once a turn has ended, before it is over for the kernel
	overlap bool
}

func (r *runner) RunTurn(ctx context.Context, l *kernel.Lease) error {
	r.mu.Lock()
	r.active[l.Session.ID]++
	r.overlap = r.overlap || r.active[l.Session.ID] > 1
	r.lanes[l.Turn.Lane]++
	r.maxLane[l.Turn.Lane] = max(r.maxLane[l.Turn.Lane], r.lanes[l.Turn.Lane])
	text := ""
	for _, row := range l.Input {
		text += row.Body
	}
	r.turns = append(r.turns, text)
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.active[l.Session.ID]--
		r.lanes[l.Turn.Lane]--
		r.mu.Unlock()
	}()
	if r.hook != nil {
		if err := r.hook(ctx, l); err != nil {
			return err
		}
	}
	err := end(ctx, l)
	if r.ended != nil {
		r.ended(text)
	}
	return err
}

func end(ctx context.Context, l *kernel.Lease) error {
	return l.Step(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		if err := tx.EndTurn(l.Turn.ID, store.TurnDone, "", core.Usage{}, 1); err != nil {
			return err
		}
		return l.Release(tx)
	})
}

func (r *runner) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.turns)
}

// sleep moves the time of a synctest bubble.
func sleep(d time.Duration) { <-time.After(d) }

// rig is a store with a kernel.
type rig struct {
	t     require.TestingT
	path  string
	world *world.World
	db    *store.DB
	k     *kernel.Kernel
	r     *runner
	mode  kernel.QueueMode
	slots map[store.Lane]int
	life  uint64 // which process this is
}

// place is where a test keeps its store.
func place(t *testing.T) string {
	t.Helper()
	return pgtest.StoreURL(t, filepath.Join(t.TempDir(), "a.db"))
}

func newRig(t require.TestingT, path string) *rig {
	g := &rig{t: t, path: path, mode: kernel.QueueSteer, slots: map[store.Lane]int{store.LaneMain: 4, store.LaneSubagent: 2}}
	g.r = &runner{active: map[int64]int{}, lanes: map[store.Lane]int{}, maxLane: map[store.Lane]int{}}
	g.open()
	return g
}

func (g *rig) open() {
	g.life++
	g.world = world.New(clock.Real{}, nil, g.life)
	db, err := store.Open(context.Background(), pgtest.Options(g.path, g.world))
	require.NoError(g.t, err)
	g.db = db
	g.k = kernel.New(kernel.Options{
		DB: db, World: g.world, Log: slog.New(slog.DiscardHandler), Runner: g.r, MaxAttempts: 3, Alone: true,
		Slots: func(l store.Lane) int { return g.slots[l] },
		Queue: func(store.Session, store.Inbox) kernel.Queue {
			return kernel.Queue{Mode: g.mode, Debounce: 500 * time.Millisecond}
		},
	})
}

func (g *rig) start() { require.NoError(g.t, g.k.Start(context.Background())) }

func (g *rig) close() {
	g.k.Stop(context.Background())
	g.k.Leave()
	require.NoError(g.t, g.db.Close())
}

func (g *rig) kill() {
	g.world.Cut()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g.k.Stop(ctx)
	g.k.Leave()
	require.NoError(g.t, g.db.Close())
}

// send puts a message into a session's inbox, as intake does.
func (g *rig) send(key, body string, change func(*store.Inbox)) {
	require.NoError(g.t, g.db.Write(context.Background(), func(tx *store.Tx) error {
		now := g.world.Now()
		s, err := tx.EnsureSession(store.Session{Key: key, Agent: "a", Kind: core.SessionMain, CreatedAt: now, UsedAt: now})
		if err != nil {
			return err
		}
		row := store.Inbox{Session: s.ID, Kind: store.InboxMessage, Lane: store.LaneMain, Body: body, At: now}
		if change != nil {
			change(&row)
		}
		if _, err := tx.InsertInbox(row); err != nil {
			return err
		}
		if err := tx.MarkReady(s.ID, now); err != nil {
			return err
		}
		tx.OnCommit(func() { g.k.Wake(s.ID, row.Lane, row.Kind == store.InboxCompletion) })
		return nil
	}))
}

func TestMessagesOfOneSessionRunOneByOneInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, place(t))
		defer g.close()
		g.mode = kernel.QueueFollowup
		g.r.hook = func(ctx context.Context, _ *kernel.Lease) error { return g.world.Clock.Sleep(ctx, time.Second) }
		g.start()
		for i := range 5 {
			g.send("k", fmt.Sprint(i), nil)
		}
		sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"0", "1", "2", "3", "4"}, g.r.seen())
		require.False(t, g.r.overlap)
	})
}

// B245: a backlog of one conversation is one turn.
func TestB245_BacklogIsOneTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, place(t))
		defer g.close()
		g.r.hook = func(ctx context.Context, _ *kernel.Lease) error { return g.world.Clock.Sleep(ctx, 10*time.Second) }
		g.start()
		g.send("k", "first.", nil)
		sleep(time.Second)
		for i := range 10 {
			g.send("k", fmt.Sprintf("%d.", i), nil)
		}
		sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"first.", "0.1.2.3.4.5.6.7.8.9."}, g.r.seen())
	})
}

func TestMessagesBehindATurnAreDebounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, place(t))
		defer g.close()
		g.r.hook = func(ctx context.Context, _ *kernel.Lease) error { return g.world.Clock.Sleep(ctx, time.Second) }
		g.start()
		g.send("k", "a", nil)
		sleep(900 * time.Millisecond)
		g.send("k", "b", nil)
		sleep(400 * time.Millisecond) // the turn has ended; b is 400 ms old
		require.Equal(t, []string{"a"}, g.r.seen())
		g.send("k", "c", nil)
		sleep(450 * time.Millisecond) // c is 450 ms old
		require.Equal(t, []string{"a"}, g.r.seen())
		sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"a", "bc"}, g.r.seen())
	})
}

// A person who writes as soon as the answer is there does not wait as one who
// wrote before it: nothing queued behind the turn, though the kernel still has it
// in hand.
func TestAMessageRightAfterATurnIsNotDebounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, place(t))
		defer g.close()
		g.r.ended = func(text string) {
			if text == "a" {
				g.send("k", "b", nil)
				sleep(time.Millisecond)
			}
		}
		g.start()
		g.send("k", "a", nil)
		sleep(100 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, []string{"a", "b"}, g.r.seen())
	})
}

func TestOnlyRowsOfOneAddressAndPolicyShareATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, place(t))
		defer g.close()
		at := func(thread, policy string) func(*store.Inbox) {
			return func(r *store.Inbox) {
				r.ReplyTo = core.Address{Channel: "c", Account: "a", Conversation: "x", Thread: thread}
				r.Policy = policy
			}
		}
		g.send("k", "1", at("t", ""))
		g.send("k", "2", at("u", ""))
		g.send("k", "3", at("t", ""))
		g.send("k", "4", at("t", "narrow"))
		g.start()
		sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"13", "2", "4"}, g.r.seen())
	})
}

func TestLanesKeepTheirLimitAndServeInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, place(t))
		defer g.close()
		g.r.hook = func(ctx context.Context, _ *kernel.Lease) error { return g.world.Clock.Sleep(ctx, time.Second) }
		g.start()
		for i := range 12 {
			g.send(fmt.Sprintf("s%d", i), fmt.Sprintf("sub%d", i), func(r *store.Inbox) { r.Lane = store.LaneSubagent; r.Kind = store.InboxTask })
		}
		g.send("person", "hello", nil) // does not wait for the 12
		sleep(100 * time.Millisecond)
		require.Contains(t, g.r.seen(), "hello")
		sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 2, g.r.maxLane[store.LaneSubagent])
		want := []string{}
		for i := range 12 {
			want = append(want, fmt.Sprintf("sub%d", i))
		}
		got := slices.DeleteFunc(g.r.seen(), func(s string) bool { return s == "hello" })
		require.Len(t, got, len(want))
		for i := 0; i < len(want); i += 2 { // two at a time, in either order
			require.ElementsMatch(t, want[i:i+2], got[i:i+2])
		}
	})
}

// B247: what a dead process held is served after a restart, at once.
func TestB247_AClaimDiesWithItsProcess(t *testing.T) {
	path := place(t)
	g := newRig(t, path)
	claimed := make(chan struct{}, 1)
	g.r.hook = func(ctx context.Context, l *kernel.Lease) error {
		// A claim is not awaited; what commits after it is.
		if err := l.Step(ctx, func(*store.Tx) error { return nil }); err != nil {
			return err
		}
		claimed <- struct{}{}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	g.start()
	g.send("k", "a", nil)
	<-claimed
	g.kill()

	ran := make(chan bool, 1)
	g.r.hook = func(_ context.Context, l *kernel.Lease) error {
		ran <- l.Resumed
		return nil
	}
	g.open()
	g.start()
	defer g.close()
	require.True(t, <-ran)
}

// A message that is to end the running turn does so after a crash, too.
func TestAnInterruptOutlivesACrash(t *testing.T) {
	for _, mode := range []kernel.QueueMode{kernel.QueueInterrupt, kernel.QueueSteer} {
		t.Run(string(mode), func(t *testing.T) {
			g := newRig(t, place(t))
			g.mode = mode
			claimed := make(chan struct{}, 1)
			g.r.hook = func(ctx context.Context, _ *kernel.Lease) error {
				claimed <- struct{}{}
				<-ctx.Done()
				return context.Cause(ctx)
			}
			g.start()
			g.send("k", "a", nil)
			<-claimed
			g.send("k", "b", nil)
			g.kill()

			interrupted := make(chan bool, 2)
			g.r.hook = func(_ context.Context, l *kernel.Lease) error {
				interrupted <- l.Interrupted
				return nil
			}
			g.open()
			g.start()
			defer g.close()
			require.Equal(t, mode == kernel.QueueInterrupt, <-interrupted)
		})
	}
}

func TestATurnThatNeverGetsAnywhereIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, place(t))
		defer g.close()
		var dead []bool
		g.r.hook = func(_ context.Context, l *kernel.Lease) error {
			dead = append(dead, l.Dead)
			if l.Dead {
				return nil
			}
			return errors.New("boom")
		}
		g.start()
		g.send("k", "a", nil)
		sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, []bool{false, false, false, true}, dead)
	})
}

func TestAPanicIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, place(t))
		defer g.close()
		n := 0
		g.r.hook = func(context.Context, *kernel.Lease) error {
			n++
			if n == 1 {
				panic("boom")
			}
			return nil
		}
		g.start()
		g.send("k", "a", nil)
		sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 2, n)
	})
}

func TestAFencedTurnWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, place(t))
		defer g.close()
		var errs []error
		g.r.hook = func(ctx context.Context, l *kernel.Lease) error {
			require.NoError(t, g.db.Write(ctx, func(tx *store.Tx) error { return tx.RaiseFence(l.Session.ID) }))
			err := l.Step(ctx, func(tx *store.Tx) error { t.Error("a fenced step ran"); return nil })
			errs = append(errs, err)
			return err
		}
		g.start()
		g.send("k", "a", nil)
		sleep(time.Minute)
		synctest.Wait()
		require.Len(t, errs, 1)
		require.ErrorIs(t, errs[0], store.ErrFenced)
	})
}

func TestStopEndsTurnsThatDoNotFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, place(t))
		var cause error
		g.r.hook = func(ctx context.Context, _ *kernel.Lease) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return cause
		}
		g.start()
		g.send("k", "a", nil)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		g.k.Stop(ctx)
		require.Equal(t, 3*time.Second, time.Since(began))
		require.ErrorIs(t, cause, kernel.ErrStopping)
		require.NoError(t, g.db.Close())
	})
}

func TestTimersFireInTimeAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, place(t))
		defer g.close()
		var fired []string
		began := time.Now()
		g.k.HandleTimer("x", func(tx *store.Tx, tm store.Timer, _ core.Millis) error {
			tx.OnCommit(func() { fired = append(fired, fmt.Sprintf("%s after %s", tm.Ref, time.Since(began))) })
			return nil
		})
		g.start()
		set := func(ref string, after time.Duration) {
			due := g.world.Now().Add(after)
			require.NoError(t, g.db.Write(t.Context(), func(tx *store.Tx) error {
				tx.OnCommit(func() { g.k.Due(due) })
				return tx.SetTimer(store.Timer{Kind: "x", Ref: ref, Due: due})
			}))
		}
		set("late", time.Hour)
		synctest.Wait()
		set("soon", time.Minute)
		set("moved", time.Minute)
		set("moved", 2*time.Hour)
		sleep(3 * time.Hour)
		synctest.Wait()
		require.Equal(t, []string{"soon after 1m0s", "late after 1h0m0s", "moved after 2h0m0s"}, fired)
	})
}

// Random messages, lanes, crashes and restarts: every message is taken by
// exactly one turn, and a session never has two turns at once.
func TestNoMessageIsLostOrTakenTwice(t *testing.T) {
	type step struct {
		do      string
		session int
		wait    time.Duration
	}
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			do:      rapid.SampledFrom([]string{"send", "send", "send", "wait", "kill", "restart"}).Draw(t, "do"),
			session: rapid.IntRange(0, 3).Draw(t, "session"),
			wait:    time.Duration(rapid.IntRange(0, 300).Draw(t, "ms")) * time.Millisecond,
		}
	}), 1, 20)
	rapid.Check(t, func(rt *rapid.T) {
		plan := steps.Draw(rt, "steps")
		problem := ""
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, place(t))
			g.r.hook = func(ctx context.Context, l *kernel.Lease) error {
				return g.world.Clock.Sleep(ctx, time.Duration(l.Session.ID)*50*time.Millisecond)
			}
			g.start()
			sent := 0
			for _, s := range plan {
				switch s.do {
				case "send":
					sent++
					g.send(fmt.Sprintf("k%d", s.session), fmt.Sprintf("<%d>", sent), nil)
				case "wait":
					sleep(s.wait)
				case "kill":
					g.kill()
					g.open()
					g.start()
				case "restart":
					g.close()
					g.open()
					g.start()
				}
			}
			sleep(time.Hour)
			synctest.Wait()
			problem = g.audit(sent)
			g.close()
		})
		require.Empty(rt, problem)
	})
}

// audit says what is wrong after everything has run.
func (g *rig) audit(sent int) (problem string) {
	if g.r.overlap {
		return "two turns of one session ran at once"
	}
	taken := map[string]int{}
	err := g.db.Read(context.Background(), func(tx *store.Tx) error {
		sessions, err := tx.Sessions(false, 100)
		if err != nil {
			return err
		}
		for _, s := range sessions {
			rows, err := tx.WholeTranscript(s)
			if err != nil {
				return err
			}
			for _, r := range rows {
				taken[r.Body]++
			}
			left, err := tx.QueuedInbox(s.ID, 100)
			if err != nil {
				return err
			}
			if len(left) > 0 {
				problem = fmt.Sprintf("%d rows are stranded in %s", len(left), s.Key)
			}
			if _, err = tx.RunningTurn(s.ID); !errors.Is(err, store.ErrNotFound) {
				problem = "a turn was left running in " + s.Key
			}
		}
		return nil
	})
	if err != nil {
		return err.Error()
	}
	for body, n := range taken {
		if n != 1 {
			return fmt.Sprintf("%s was taken %d times", body, n)
		}
	}
	if len(taken) != sent {
		return fmt.Sprintf("%d of %d messages were taken", len(taken), sent)
	}
	return problem
}
