package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/target"
)

// find resolves a token and returns the label of what it finds, or the code of
// the refusal.
func (r *rig) find(req Request, token string, sessions bool) (label string, t target.Target, err error) {
	r.Helper()
	require.NoError(r, r.db.Read(r.Context(), func(tx *store.Tx) error {
		t, err = r.set.resolve(tx, req, token, sessions)
		return nil
	}))
	if err != nil {
		require.NotEmpty(r, core.ErrorCode(err), err.Error())
		return core.ErrorCode(err), t, err
	}
	return t.Label, t, nil
}

func TestTargets(t *testing.T) {
	r := newRig(t)
	req := r.request("/focus x")
	cats := r.child(req.Session, "Cats and dogs", func(run *core.Run) { run.TaskName = "pets" })
	r.child(req.Session, "cattle", nil)
	old := r.child(req.Session, "old", nil)
	r.end(old, core.DeliveryDelivered)
	gone := r.child(req.Session, "gone", nil)
	r.end(gone, core.DeliveryDelivered)
	r.write(func(tx *store.Tx) error { return tx.ArchiveSession(gone.Session, r.world.Now()) })
	r.clock.AdvanceTo(r.clock.Now().Add(target.Window + 1e9))
	req.Now = r.world.Now()
	r.child(req.Session, "twin", nil)
	r.child(req.Session, "twin", func(run *core.Run) { run.TaskName = "second" })
	theirs := r.session("agent:main:subagent:theirs", "theirs", 0)
	dashboard := r.session("agent:main:dashboard:d1", "Ledger", 0)

	for _, c := range []struct {
		name, token string
		runs, focus string // what the commands for runs find, and what /focus finds
	}{
		{"last", "last", "twin", "twin"},
		{"last in any case", "LAST", "twin", "twin"},
		{"ordinal", "1", "Cats and dogs", "Cats and dogs"},
		{"ordinal of an old one", "3", target.CodeUnknown, "old"},
		{"ordinal of an archived one", "4", target.CodeUnknown, target.CodeUnknown},
		{"ordinal that nobody has", "99", target.CodeUnknown, target.CodeUnknown},
		{"no ordinal", "0", target.CodeUnknown, target.CodeUnknown},
		{"task name", "pets", "Cats and dogs", "Cats and dogs"},
		{"label in any case", "cats AND dogs", "Cats and dogs", "Cats and dogs"},
		{"unique prefix", "catt", "cattle", "cattle"},
		{"ambiguous prefix", "cat", target.CodeAmbiguous, target.CodeAmbiguous},
		{"ambiguous label", "twin", target.CodeAmbiguous, target.CodeAmbiguous},
		{"task name of an ambiguous label", "second", "twin", "twin"},
		{"old label", "old", target.CodeUnknown, "old"},
		{"archived label", "gone", target.CodeUnknown, target.CodeUnknown},
		{"whole run id", strings.ToLower(cats.ID), "Cats and dogs", "Cats and dogs"},
		{"run id prefix", cats.ID[:len(cats.ID)-1], "Cats and dogs", "Cats and dogs"},
		{"too short a run id prefix", cats.ID[:3], target.CodeUnknown, target.CodeUnknown},
		{"session key", cats.SessionKey, "Cats and dogs", "Cats and dogs"},
		{"unknown session key", "agent:main:subagent:nobody", target.CodeUnknown, target.CodeUnknown},
		{"session id", fmt.Sprint("session:", cats.Session), "Cats and dogs", "Cats and dogs"},
		{"unknown session id", "session:9999", target.CodeUnknown, target.CodeUnknown},
		{"no session id", "session:x", target.CodeUnknown, target.CodeUnknown},
		{"archived session id", fmt.Sprint("session:", gone.Session), target.CodeUnknown, target.CodeUnknown},
		{"somebody else's session key", theirs.Key, target.CodeUnknown, target.CodeUnknown},
		{"somebody else's label", "theirs", target.CodeUnknown, target.CodeUnknown},
		{"a dashboard's title", "Ledger", target.CodeUnknown, target.CodeUnknown},
		{"declared name", "researchbot", target.CodeUnknown, "ResearchBot"},
		{"prefix of a declared name", "Rese", target.CodeUnknown, "ResearchBot"},
		{"agent id", "main", target.CodeUnknown, "main"},
		{"this session", req.Session.Key, target.CodeUnknown, req.Session.Key},
		{"nothing", "zebra", target.CodeUnknown, target.CodeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, _ := r.find(req, c.token, false)
			require.Equal(t, c.runs, got)
			got, _, _ = r.find(req, c.token, true)
			require.Equal(t, c.focus, got)
		})
	}

	t.Run("an operator finds every session", func(t *testing.T) {
		boss := req
		boss.Operator = true
		for token, want := range map[string]string{"theirs": "theirs", theirs.Key: "theirs", "Ledger": "Ledger", fmt.Sprint("session:", dashboard.ID): "Ledger"} {
			got, _, _ := r.find(boss, token, true)
			require.Equal(t, want, got)
		}
	})
	t.Run("ambiguity lists the candidates", func(t *testing.T) {
		_, _, err := r.find(req, "cat", false)
		require.Contains(t, err.Error(), `"Cats and dogs" (1), "cattle" (2)`)
	})
	t.Run("before anything is spawned", func(t *testing.T) {
		empty := req
		empty.Session = store.Session{}
		for _, token := range []string{"last", "1", "nobody"} {
			got, _, _ := r.find(empty, token, true)
			require.Equal(t, target.CodeUnknown, got)
		}
	})
}

// A binding must not show anybody what others said.
func TestWhatAPersonMayName(t *testing.T) {
	r := newRig(t)
	req := r.request("/focus x")
	req.Message.Address = room.InThread("17")
	mine := r.session("agent:main:fake:direct:alice", "Alice", 0)
	child := r.child(mine, "kitten", func(run *core.Run) { run.Owner = "" })
	hers := r.session("agent:main:fake:direct:bob", "Bob", 0)
	herChild := r.child(hers, "puppy", func(run *core.Run) { run.Owner = "fake:bob" })
	asked := r.child(hers, "asked", nil)
	topic := r.session("agent:research:fake:default:group:Room:thread:17", "Topic", 0)
	elsewhere := r.session("agent:main:fake:default:group:Other", "Other", 0)
	other := r.session("agent:main:other:direct:alice", "Alice elsewhere", 0)
	for token, want := range map[string]string{
		mine.Key: "Alice", child.SessionKey: "kitten", "kitten": "kitten", hers.Key: target.CodeUnknown, herChild.SessionKey: target.CodeUnknown,
		"puppy": target.CodeUnknown, asked.SessionKey: "asked", topic.Key: "Topic", elsewhere.Key: target.CodeUnknown, other.Key: target.CodeUnknown,
	} {
		got, _, _ := r.find(req, token, true)
		require.Equal(t, want, got, token)
	}
	t.Run("a sibling, from a bound thread", func(t *testing.T) {
		bound := req
		cats, dogs := r.child(req.Session, "cats", nil), r.child(req.Session, "dogs", func(run *core.Run) { run.Owner = "" })
		bound.Session, bound.Bound = r.session(cats.SessionKey, "", 0), true
		got, found, _ := r.find(bound, "dogs", true)
		require.Equal(t, "dogs", got)
		require.Equal(t, dogs.Session, found.Session.ID)
	})
	t.Run("nobody without an id", func(t *testing.T) {
		nobody := req
		nobody.Actor, nobody.Message.Author.ID = "", ""
		empty := r.session("agent:main:fake:direct:%", "Nobody", 0)
		got, _, _ := r.find(nobody, empty.Key, true)
		require.Equal(t, target.CodeUnknown, got)
	})
}

// The commands find what is below the sub-agents too, by its names and ids, and in
// a thread the sub-agent that it is of; numbers are those of the conversation.
func TestTargetsOfTheWholeTree(t *testing.T) {
	r := newRig(t)
	req := r.request("/x")
	cats := r.child(req.Session, "cats", nil)
	above := store.Session{ID: cats.Session, Key: cats.SessionKey}
	kitten := r.child(above, "kitten", func(run *core.Run) { run.TaskName = "small" })
	r.child(above, "kite", nil)
	for token, want := range map[string]string{
		"kitten": "kitten", "small": "kitten", "kitt": "kitten", "kit": target.CodeAmbiguous, kitten.ID: "kitten", kitten.TaskID: "kitten",
		kitten.SessionKey: "kitten", "1": "cats", "2": target.CodeUnknown, "last": "cats",
	} {
		got, _, _ := r.find(req, token, false)
		require.Equal(t, want, got, token)
	}
	_, _, err := r.find(req, "kit", false)
	require.Contains(t, err.Error(), `"kitten" (session:`)
	require.Contains(t, err.Error(), `"kite" (session:`)

	bound := req
	bound.Session, bound.Bound, bound.Binding.Owner = r.session(cats.SessionKey, "", 0), true, "fake:alice"
	for token, want := range map[string]string{"cats": "cats", cats.SessionKey: "cats", cats.ID: "cats", "1": "kitten", "kitten": "kitten"} {
		got, _, _ := r.find(bound, token, false)
		require.Equal(t, want, got, token)
	}
	bound.Name, bound.Args = "subagents", "kill cats"
	require.Equal(t, "Sub-agents: stopped 3 of 3.", r.run(bound))
	require.Equal(t, core.RunCancelled, r.status(kitten))
}
