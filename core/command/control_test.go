package command

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

func TestStopCountsExactly(t *testing.T) {
	r := newRig(t)
	require.Equal(t, "Nothing is running here.", r.run(r.request("/stop")))
	req := r.request("/stop")
	for _, label := range []string{"cats", "dogs", "birds"} {
		r.child(req.Session, label, nil)
	}
	deep := r.child(req.Session, "fish", nil)
	s := r.session(deep.SessionKey, "", 0)
	r.child(s, "sharks", nil)
	r.write(func(tx *store.Tx) error {
		_, err := tx.InsertInbox(store.Inbox{Session: req.Session.ID, Kind: store.InboxMessage, Lane: store.LaneMain, ReplyTo: room})
		return err
	})
	require.Equal(t, "Sub-agents: stopped 5 of 5. Cleared 1 waiting message.", r.run(req))
	require.Equal(t, "Nothing is running here.", r.run(r.request("/stop")))
}

func TestStopOfATurnAndOfARun(t *testing.T) {
	r := newRig(t)
	req := r.request("/stop")
	r.write(func(tx *store.Tx) error {
		_, err := tx.InsertTurn(store.Turn{Session: req.Session.ID, Generation: 1, Kind: store.InboxMessage, Lane: store.LaneMain})
		return err
	})
	require.Equal(t, "The answer in progress is stopped.", r.run(req))

	run := r.child(req.Session, "cats", func(run *core.Run) { run.Status, run.StartedAt = core.RunQueued, 0 })
	r.write(func(tx *store.Tx) error {
		_, err := tx.InsertInbox(store.Inbox{Session: run.Session, Kind: store.InboxTask, Lane: store.LaneSubagent, Run: run.ID})
		return err
	})
	bound := r.request("/stop")
	bound.Session, bound.Bound = r.session(run.SessionKey, "", 0), true
	require.Equal(t, "Sub-agents: stopped 1 of 1.", r.run(bound))
}

func TestNewAndReset(t *testing.T) {
	generation := func(r *rig) (g int64, model string) {
		require.NoError(t, r.db.Read(t.Context(), func(tx *store.Tx) error {
			s, err := tx.SessionByKey("agent:main:fake:default:group:Room")
			if err == nil {
				g = s.Generation
				model, err = tx.Setting(s.ID, store.SettingModel)
			}
			return err
		}))
		return g, model
	}
	r := newRig(t)
	req := r.request("/new local/m1")
	r.child(req.Session, "cats", nil)
	require.Equal(t, "Sub-agents: stopped 1 of 1. A new conversation begins here, with the model local/m1.", r.run(req))
	g, model := generation(r)
	require.Equal(t, int64(2), g)
	require.Equal(t, "local/m1", model)
	require.Equal(t, "What was said here is forgotten.", r.run(r.request("/reset")))
	g, model = generation(r)
	require.Equal(t, int64(3), g)
	require.Equal(t, "local/m1", model, "/reset keeps the settings")
	require.Contains(t, r.refused(CodeModelUnknown, r.request("/new gpt-99")), "gpt-99")
	r.refused(CodeUsage, r.request("/reset soft"))
	g, _ = generation(r)
	require.Equal(t, int64(3), g, "a refusal changes nothing")
	require.Equal(t, "A new conversation begins here.", r.run(r.request("/new")))
	g, model = generation(r)
	require.Equal(t, int64(4), g)
	require.Empty(t, model)
}

func TestNewInABoundPlaceResetsTheBoundSession(t *testing.T) {
	r := newRig(t)
	req := r.request("/new")
	run := r.child(req.Session, "cats", nil)
	child := r.session(run.SessionKey, "", 0)
	req.Session, req.Bound, req.Binding = child, true, r.bind(child.ID, "cats", room.InThread("t"))
	require.Equal(t, "Sub-agents: stopped 1 of 1. A new conversation begins here.", r.run(req))
	require.NoError(t, r.db.Read(t.Context(), func(tx *store.Tx) error {
		s, err := tx.SessionByID(child.ID)
		require.Equal(t, int64(2), s.Generation)
		b, live, bindErr := tx.BindingAt(room.InThread("t").Place())
		require.NoError(t, bindErr)
		require.True(t, live)
		require.Equal(t, child.ID, b.Session)
		return err
	}))
}

func TestQueue(t *testing.T) {
	r := newRig(t)
	require.Contains(t, r.run(r.request("/queue")), "Queue mode: steer (as configured).")
	require.Contains(t, r.run(r.request("/queue Collect")), "Queue mode: collect (set for this conversation")
	require.Contains(t, r.run(r.request("/queue")), "Queue mode: collect")
	require.Contains(t, r.run(r.request("/status")), "Queue: collect")
	require.Contains(t, r.run(r.request("/queue default")), "Queue mode: steer (as configured).")
	require.Contains(t, r.run(r.request("/queue")), "Queue mode: steer (as configured).")
	r.refused(CodeQueueMode, r.request("/queue fast"))
}

func TestSettingsOfASessionThatDoesNotExistYet(t *testing.T) {
	r := newRig(t)
	for _, text := range []string{"/queue followup", "/new local/m1"} {
		req := r.request(text)
		req.Session = store.Session{}
		req.Key.Peer = "Room " + text
		r.run(req)
		require.NoError(t, r.db.Read(t.Context(), func(tx *store.Tx) error {
			s, err := tx.SessionByKey(req.Key.String())
			require.Equal(t, "main", s.Agent)
			return err
		}))
	}
}

// The commands of a conversation that nobody has spoken in yet, and of one with
// more than fits; try counts the answers.
func TestEveryCommandAnswersOnceAndFits(t *testing.T) {
	commands := []string{
		"/agents", "/focus child", "/focus last", "/help", "/queue", "/queue steer", "/session idle", "/session max-age 2h", "/status",
		"/subagents", "/subagents list", "/subagents info 1", "/subagents info child", "/subagents log 1 200 tools", "/tasks", "/unfocus",
		"/whoami", "/nothing", "/stop", "/new", "/reset",
	}
	r := newRig(t)
	r.bindings.text = "Idle limit of cats: 1d."
	for _, text := range commands {
		req := r.request(text)
		req.Session = store.Session{}
		_, _ = r.try(req)
	}
	s := r.request("/agents").Session
	crowd(r, s)
	b := r.bind(s.ID, long("here"), room)
	for _, text := range commands {
		req := r.request(text)
		req.Bound, req.Binding = true, b
		_, _ = r.try(req)
	}
}

func TestUnknownCommand(t *testing.T) {
	r := newRig(t)
	require.Contains(t, r.refused(CodeUnknown, r.request("/compact")), "/help lists the commands")
	require.False(t, r.set.Known("compact"))
	more := r.set.With(Command{Name: "compact", Summary: func(words.Language) string { return "make it shorter" }, Run: func(*store.Tx, Request) (Reply, error) {
		return Reply{Text: "done", Kind: store.OutNotice}, nil
	}})
	require.True(t, more.Known("compact"))
	require.False(t, r.set.Known("compact"), "a set is a value")
	r.set = more
	reply, err := r.commit(r.request("/compact"))
	require.NoError(t, err)
	require.Equal(t, Reply{Text: "done", Kind: store.OutNotice}, reply)
	require.Contains(t, r.run(r.request("/help")), "/compact - make it shorter")
}
