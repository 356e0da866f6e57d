package delivery

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

func TestCrashPoints(t *testing.T) {
	tests := []struct {
		point  string
		native bool
		kind   store.OutboxKind
		want   []string
		state  store.OutboxState
		resent bool
	}{
		{world.OutboxBeforeSend, true, store.OutFinal, []string{"x"}, store.OutSent, false},
		{world.OutboxAfterSend, true, store.OutFinal, []string{"x"}, store.OutSent, false},
		{world.OutboxAfterReceipt, true, store.OutFinal, []string{"x"}, store.OutSent, false},
		{world.OutboxAfterSend, true, store.OutCommand, []string{"x"}, store.OutSent, false},

		{world.OutboxBeforeSend, false, store.OutFinal, []string{"x"}, store.OutSent, true},
		{world.OutboxAfterSend, false, store.OutFinal, []string{"x", "x"}, store.OutSent, true},
		{world.OutboxAfterReceipt, false, store.OutFinal, []string{"x"}, store.OutSent, false},
		{world.OutboxBeforeSend, false, store.OutNotice, nil, store.OutAmbiguous, false},
		{world.OutboxAfterSend, false, store.OutNotice, []string{"x"}, store.OutAmbiguous, false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s native=%v %s", tt.point, tt.native, tt.kind), func(t *testing.T) {
			r := start(t, tt.native, nil)
			r.world.Arm(tt.point, 1, world.TrapCut, nil)
			row := message("x")
			row.Kind = tt.kind
			id := r.post(row)[0]
			require.ErrorIs(t, r.world.Err(), world.ErrKilled)
			r.restart()
			require.Equal(t, tt.want, r.platform.texts())
			got := r.row(id)
			require.Equal(t, tt.state, got.State)
			require.Equal(t, tt.resent, got.Resent)
		})
	}
}

// A kill between send and receipt, and three starts afterwards.
func TestB127_RestartsSendNothingAgain(t *testing.T) {
	r := start(t, false, nil)
	r.world.Arm(world.OutboxAfterSend, 1, world.TrapCut, nil)
	r.post(message("x"))
	for range 3 {
		r.restart()
		r.advance(time.Hour)
	}
	require.Equal(t, []string{"x", "x"}, r.platform.texts(), "once more, marked as such, and never again")
}

func TestAPartlySentMessageResumesAtItsFirstUnsentPart(t *testing.T) {
	for _, native := range []bool{true, false} {
		r := start(t, native, func(o *Options) { o.Split = eachLine })
		r.world.Arm(world.OutboxAfterReceipt, 2, world.TrapCut, nil)
		id := r.post(message("1\n2\n3"))[0]
		require.Equal(t, []string{"1", "2"}, r.platform.texts())
		r.restart()
		require.Equal(t, []string{"1", "2", "3"}, r.platform.texts())
		require.Equal(t, []string{"m1", "m2", "m3"}, r.receipts(id))
	}
}

func TestFewerPartsThanWereSent(t *testing.T) {
	r := start(t, true, func(o *Options) { o.Split = eachLine })
	r.world.Arm(world.OutboxAfterReceipt, 2, world.TrapCut, nil)
	id := r.post(message("1\n2\n3"))[0]
	r.opts.Split = nil
	r.restart()
	require.Equal(t, store.OutSent, r.row(id).State)
	require.Equal(t, []int64{id}, r.sent)
}

func TestKeysTellStoresAndRestoredRowsApart(t *testing.T) {
	r := start(t, true, nil)
	id := r.post(message("x"))[0]
	row := r.row(id)
	key := r.s.messageKey(row, 0)
	require.Equal(t, key, r.platform.posts[0].Key)
	require.NotEqual(t, key, r.s.messageKey(row, 1))
	row.At++
	require.NotEqual(t, key, r.s.messageKey(row, 0), "the id was used before the store was restored")
	other := New(Options{Instance: "other"})
	require.NotEqual(t, other.messageKey(r.row(id), 0), key)
}

// ledger is what a random test knows: what it posted, lane by lane.
type ledger struct {
	r        *rig
	posted   map[laneKey][]string
	ids      map[string]int64
	failures map[string]int
	faults   []fault
	n        int
}

var dirs atomic.Int64

func newLedger(t *rapid.T, dir string, native bool, faults []fault) *ledger {
	m := &ledger{posted: make(map[laneKey][]string), ids: make(map[string]int64), failures: make(map[string]int), faults: faults}
	m.r = newRig(t, filepath.Join(dir, fmt.Sprint(dirs.Add(1))), native, func(o *Options) { o.Split = eachLine })
	return m
}

// post posts a message of up to three parts into one of three lanes.
func (m *ledger) post(t *rapid.T) {
	m.n++
	row := store.Outbox{
		Kind:    rapid.SampledFrom([]store.OutboxKind{store.OutFinal, store.OutFinal, store.OutNotice, store.OutCommand}).Draw(t, "kind"),
		Address: address("c", rapid.SampledFrom([]string{"", "t"}).Draw(t, "thread")),
		OnceKey: fmt.Sprint("once ", m.n),
	}
	parts := rapid.IntRange(1, 3).Draw(t, "parts")
	key := keyOf(row)
	for i := range parts {
		text := fmt.Sprintf("%d.%d", m.n, i)
		if i > 0 {
			row.Text += "\n"
		}
		row.Text += text
		m.posted[key] = append(m.posted[key], text)
	}
	var id int64
	err := m.r.tx(func(tx *store.Tx) (err error) {
		id, _, err = m.r.s.Post(tx, row)
		return err
	})
	if err != nil { // the world was cut before the commit: what caused it starts again
		require.ErrorIs(t, err, world.ErrKilled)
		m.revive()
		require.NoError(t, m.r.tx(func(tx *store.Tx) (err error) {
			id, _, err = m.r.s.Post(tx, row)
			return err
		}))
	}
	m.ids[row.OnceKey] = id
}

// disturb makes the platform fail now and then, one part at most twice, so that
// no retry outlasts the time for which a head holds its followers.
func (m *ledger) disturb(t *rapid.T) {
	plan := rapid.SliceOfN(rapid.IntRange(0, 3*len(m.faults)), 16, 16).Draw(t, "plan")
	m.r.platform.setScript(func(out core.Outgoing, call int) fault {
		k := plan[call%len(plan)]
		if k >= len(m.faults) || m.failures[out.Text] >= 2 {
			return fault{}
		}
		m.failures[out.Text]++
		return m.faults[k]
	})
}

func (m *ledger) arm(t *rapid.T) {
	point := rapid.SampledFrom([]string{world.OutboxBeforeSend, world.OutboxAfterSend, world.OutboxAfterReceipt, world.AnyPoint}).Draw(t, "point")
	m.r.world.Arm(point, rapid.IntRange(1, 6).Draw(t, "pass"), world.TrapCut, nil)
}

// revive starts a process again whose world was cut, at once.
func (m *ledger) revive() {
	if m.r.world.Err() != nil {
		m.r.restart()
	}
}

// live runs a random life, and lets everything come to its end.
func (m *ledger) live(t *rapid.T) {
	for range rapid.IntRange(1, 20).Draw(t, "actions") {
		switch rapid.SampledFrom([]string{"post", "post", "post", "disturb", "arm", "kill", "restart", "quiet", "advance"}).Draw(t, "action") {
		case "post":
			m.post(t)
		case "disturb":
			m.disturb(t)
		case "arm":
			m.arm(t)
		case "kill":
			m.r.kill()
		case "restart":
			m.r.s.Stop(cancelled()) // a slow request would wait for the clock
			m.r.restart()
		case "quiet":
			m.r.quiet()
			m.revive()
		case "advance":
			for range rapid.IntRange(1, 20).Draw(t, "seconds") {
				m.revive() // no time passes while the process is down
				m.r.advance(time.Second)
			}
		}
	}
	m.revive()
	m.r.world.Disarm()
	m.r.platform.setScript(nil)
	m.r.advance(time.Hour)
	require.Zero(m.r.t, m.r.status().Open)
}

// seen returns what people see, lane by lane.
func (m *ledger) seen() map[laneKey][]string {
	lanes := make(map[string]laneKey)
	for key, texts := range m.posted {
		for _, text := range texts {
			lanes[text] = key
		}
	}
	out := make(map[laneKey][]string)
	for _, p := range m.r.platform.posts {
		key := lanes[p.Text]
		out[key] = append(out[key], p.Text)
	}
	return out
}

// Where the platform has idempotency keys everything arrives exactly once, in
// the order of its lane, whatever fails and whenever the process dies.
func TestRandomFailuresAndCrashesWithIdempotency(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		m := newLedger(t, dir, true, []fault{
			{class: core.SendRetryable}, {class: core.SendRetryable, after: time.Second}, {class: core.SendAmbiguous},
			{class: core.SendAmbiguous, effect: true}, {empty: true}, {class: core.SendAuth}, {panics: true}, {slow: time.Second},
		})
		defer m.r.down()
		m.live(t)
		got := m.seen()
		for key, want := range m.posted {
			if key.command { // a retried reply lets the others pass
				require.ElementsMatch(t, want, got[key])
				continue
			}
			require.Equal(t, want, got[key])
		}
		for _, id := range m.ids {
			require.Equal(t, store.OutSent, m.r.row(id).State)
		}
	})
}

// Where it has none, nothing is lost without a trace and nothing is sent twice
// without a mark.
func TestRandomFailuresAndCrashesWithoutIdempotency(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		m := newLedger(t, dir, false, []fault{
			{class: core.SendRetryable}, {class: core.SendAmbiguous}, {class: core.SendAmbiguous, effect: true}, {empty: true},
		})
		defer m.r.down()
		m.live(t)
		copies := make(map[string]int)
		for _, p := range m.r.platform.posts {
			copies[p.Text]++
		}
		for once, id := range m.ids {
			row := m.r.row(id)
			require.Contains(t, []store.OutboxState{store.OutSent, store.OutAmbiguous}, row.State)
			if row.Kind == store.OutFinal && m.failures[row.Text] == 0 && row.State == store.OutAmbiguous {
				require.True(t, row.Resent)
			}
			for i, text := range eachLine(row.Text, core.Capabilities{}) {
				n := copies[text]
				if row.State == store.OutSent || i < row.PartsSent {
					require.Positive(t, n, "%s: %s", once, text)
				}
				if !row.Resent {
					require.LessOrEqual(t, n, 1, "%s: %s", once, text)
				}
			}
		}
	})
}
