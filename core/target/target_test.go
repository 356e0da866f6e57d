package target_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
	"github.com/skein-bot/skein/core/target"
	"github.com/skein-bot/skein/core/world"
)

type rig struct {
	*testing.T
	world *world.World
	clock *clock.Virtual
	db    *store.DB
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, clock: clock.NewVirtual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), new(world.Work))}
	r.world = world.New(r.clock, nil, 7)
	var err error
	r.db, err = store.Open(t.Context(), pgtest.Options(pgtest.StoreURL(t, filepath.Join(t.TempDir(), "skein.db")), r.world))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.db.Close()) })
	return r
}

func (r *rig) write(do func(tx *store.Tx) error) {
	r.Helper()
	require.NoError(r, r.db.Write(r.Context(), do))
}

func (r *rig) session(key, title string, parent int64) (s store.Session) {
	r.Helper()
	parsed, err := core.ParseSessionKey(key)
	require.NoError(r, err)
	r.write(func(tx *store.Tx) (err error) {
		s, err = tx.EnsureSession(store.Session{
			Key: key, Agent: parsed.Agent, Kind: parsed.Kind, Title: title, Parent: parent, CreatedAt: r.world.Now(), UsedAt: r.world.Now(),
		})
		return err
	})
	return s
}

// child makes a sub-agent of a session, or another run of one that exists.
func (r *rig) child(of int64, key, label, taskName string) core.Run {
	r.Helper()
	s := r.session(key, label, of)
	run := core.Run{
		ID: r.world.NewID(), Root: "root", TaskID: "task-" + r.world.NewID(), Session: s.ID, SessionKey: s.Key, Requester: of, Agent: "main", Role: "leaf",
		Task: "find out about " + label, TaskName: taskName, Label: label, Status: core.RunQueued, Delivery: core.DeliveryPending, CreatedAt: r.world.Now(),
	}
	r.write(func(tx *store.Tx) (err error) {
		if run.Ordinal, err = tx.NextOrdinal(of); err != nil {
			return err
		}
		if run.Completion, err = tx.NextCompletion(s.ID); err != nil {
			return err
		}
		if err := tx.InsertRun(run); err != nil {
			return err
		}
		_, err = tx.InsertInbox(store.Inbox{Session: s.ID, Kind: store.InboxTask, Lane: store.LaneSubagent, Run: run.ID, Body: "{}", At: run.CreatedAt})
		return err // it moves
	})
	return run
}

func (r *rig) end(run core.Run) {
	r.Helper()
	r.write(func(tx *store.Tx) error {
		_, err := tx.EndRun(run.ID, core.RunOK, "", "done", false, core.DeliveryDelivered, r.world.Now())
		return err
	})
}

// find returns the key of what a token names, or the code of the refusal.
func (r *rig) find(f target.Finder, token string) (key string, t target.Target, err error) {
	r.Helper()
	require.NoError(r, r.db.Read(r.Context(), func(tx *store.Tx) error {
		f.Tx = tx
		t, err = f.Find(token)
		return nil
	}))
	if err != nil {
		var failure *target.Error
		require.ErrorAs(r, err, &failure)
		require.Equal(r, failure.Code(), core.ErrorCode(err))
		return core.ErrorCode(err), t, err
	}
	return t.Session.Key, t, nil
}

const (
	unknown   = target.CodeUnknown
	ambiguous = target.CodeAmbiguous
)

func TestFind(t *testing.T) {
	r := newRig(t)
	chat := r.session("agent:main:main", "", 0)
	key := func(id string) string { return "agent:main:subagent:" + id }
	cats := r.child(chat.ID, key("cats"), "Cats and dogs", "pets")
	r.child(chat.ID, key("cattle"), "cattle", "")
	old := r.child(chat.ID, key("old"), "old", "")
	below := r.child(old.Session, key("kitten"), "kitten", "")
	r.child(cats.Session, key("deep"), "twin", "deep")
	r.end(old)
	r.clock.AdvanceTo(r.clock.Now().Add(target.Window + time.Second))
	r.child(chat.ID, key("twin"), "twin", "")
	again := r.child(chat.ID, key("cats"), "Cats again", "")
	other := r.session("agent:main:dashboard:d1", "Ledger", 0)
	finder := target.Finder{Session: chat.ID, Since: target.Recent(r.world.Now())}

	for token, want := range map[string]struct{ children, tree string }{
		"last":                                  {key("twin"), key("twin")},
		" LAST ":                                {key("twin"), key("twin")},
		"1":                                     {key("cats"), key("cats")},
		"2":                                     {key("cattle"), key("cattle")},
		"3":                                     {unknown, unknown}, // ended too long ago
		"5":                                     {unknown, unknown}, // the session has its first number
		"0":                                     {unknown, unknown},
		"-1":                                    {unknown, unknown},
		"cats again":                            {key("cats"), key("cats")},
		"pets":                                  {unknown, unknown}, // the newest run has no such name
		"catt":                                  {key("cattle"), key("cattle")},
		"cat":                                   {ambiguous, ambiguous},
		"old":                                   {unknown, unknown},
		"twin":                                  {key("twin"), key("twin")}, // its own before what others asked for
		"deep":                                  {unknown, key("deep")},
		"kitten":                                {unknown, key("kitten")}, // its requester has ended
		strings.ToLower(again.ID):               {key("cats"), key("cats")},
		again.TaskID:                            {key("cats"), key("cats")},
		again.ID[:len(again.ID)-1]:              {key("cats"), key("cats")},
		again.ID[:3]:                            {unknown, unknown},
		"task-":                                 {ambiguous, ambiguous},
		key("cattle"):                           {key("cattle"), key("cattle")},
		"agent:main:subagent:x:subagent:cattle": {key("cattle"), key("cattle")}, // nested, from another system
		"agent:main:subagent:x:subagent:deep":   {unknown, key("deep")},
		"agent:main:subagent:CATTLE":            {unknown, unknown}, // remote ids keep their case
		fmt.Sprint("session:", below.Session):   {unknown, key("kitten")},
		fmt.Sprint("session:", other.ID):        {unknown, unknown},
		"session:x":                             {unknown, unknown},
		"":                                      {unknown, unknown},
		"Ledger":                                {unknown, unknown},
	} {
		t.Run(token, func(t *testing.T) {
			f := finder
			got, _, _ := r.find(f, token)
			require.Equal(t, want.children, got)
			f.Tree = true
			got, _, _ = r.find(f, token)
			require.Equal(t, want.tree, got)
		})
	}
	t.Run("the number of the first run", func(t *testing.T) {
		_, found, _ := r.find(finder, "cats again")
		require.Equal(t, 1, found.Run.Ordinal)
		require.Equal(t, again.ID, found.Run.ID)
	})
	t.Run("of any age", func(t *testing.T) {
		f := finder
		f.Since = 0
		got, _, _ := r.find(f, "3")
		require.Equal(t, key("old"), got)
		r.write(func(tx *store.Tx) error { return tx.ArchiveSession(old.Session, r.world.Now()) })
		got, _, _ = r.find(f, "3")
		require.Equal(t, unknown, got)
	})
	t.Run("others, and those that may be seen", func(t *testing.T) {
		f := finder
		f.Others = func() ([]target.Target, error) {
			return []target.Target{{Session: other, Label: "cattle"}, {Agent: "x", Label: "X"}}, nil
		}
		f.Visible = func(s store.Session) (target.Target, bool, error) {
			return target.Target{Session: s, Label: s.Title}, s.ID == other.ID, nil
		}
		for token, want := range map[string]string{
			"cattle": key("cattle"), "ledg": other.Key, other.Key: other.Key, fmt.Sprint("session:", other.ID): other.Key, chat.Key: unknown,
		} {
			got, _, _ := r.find(f, token)
			require.Equal(t, want, got, token)
		}
		_, found, _ := r.find(f, "x")
		require.Equal(t, "x", found.Agent)
	})
	t.Run("before anything is spawned", func(t *testing.T) {
		for _, token := range []string{"last", "1", "cats", cats.SessionKey} {
			got, _, err := r.find(target.Finder{Tree: true}, token)
			require.Equal(t, unknown, got)
			require.ErrorContains(t, err, "no sub-agent to name")
		}
	})
}

// What cannot be found reads as plain English, and has the facts for whoever
// words it otherwise.
func TestFailure(t *testing.T) {
	r := newRig(t)
	chat := r.session("agent:main:main", "", 0)
	for i := range 10 {
		r.child(chat.ID, fmt.Sprint("agent:main:subagent:", i), fmt.Sprint("cat ", i), "")
	}
	finder := target.Finder{Session: chat.ID}
	_, _, err := r.find(finder, "cat")
	require.EqualError(t, err, `"cat" can be "cat 0" (1), "cat 1" (2), "cat 2" (3), "cat 3" (4), "cat 4" (5), "cat 5" (6), "cat 6" (7), "cat 7" (8), 2 more `+
		`(write the number, the run id or the whole name)`)
	var f *target.Error
	require.ErrorAs(t, err, &f)
	require.Len(t, f.Candidates, 10)
	_, _, err = r.find(finder, strings.Repeat("dog ", 100))
	require.ErrorContains(t, err, `dog…" here (there are "cat 0" (1)`)
	var coded *core.Error
	require.ErrorAs(t, err, &coded)
	require.Equal(t, unknown, coded.Code)
}

// Sessions that asked for each other are no way round and round.
func TestTreeWithACircle(t *testing.T) {
	r := newRig(t)
	a, b := r.session("agent:main:dashboard:a", "", 0), r.session("agent:main:dashboard:b", "", 0)
	r.child(a.ID, b.Key, "to b", "")
	r.child(b.ID, a.Key, "to a", "")
	got, _, _ := r.find(target.Finder{Session: a.ID, Tree: true}, "to b")
	require.Equal(t, b.Key, got)
	got, _, _ = r.find(target.Finder{Session: a.ID, Tree: true}, "to a")
	require.Equal(t, unknown, got, "that is the session itself")
}

// Whatever children are called: the whole name finds one that is called so, or
// several are; a number finds exactly its child.
func TestFindProperty(t *testing.T) {
	r := newRig(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		chat := r.session(fmt.Sprint("agent:main:dashboard:", n), "", 0)
		labels := rapid.SliceOfN(rapid.StringMatching(`[a-cA-C]{1,3}`), 1, 5).Draw(rt, "labels")
		for i, l := range labels {
			r.child(chat.ID, fmt.Sprintf("agent:main:subagent:%d-%d", n, i), l, "")
		}
		f := target.Finder{Session: chat.ID}
		for i, l := range labels {
			_, found, err := r.find(f, fmt.Sprint(i+1))
			require.NoError(rt, err)
			require.Equal(rt, l, found.Label)
			same := 0
			for _, o := range labels {
				if strings.EqualFold(o, l) {
					same++
				}
			}
			code, found, err := r.find(f, l)
			if same > 1 {
				require.Equal(rt, ambiguous, code)
				continue
			}
			require.NoError(rt, err)
			require.Equal(rt, i+1, found.Run.Ordinal)
		}
	})
}
