package command

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/target"
)

func TestFocusInPlace(t *testing.T) {
	r := newRig(t)
	run := r.child(r.request("/agents").Session, "cats", nil)
	require.Empty(t, r.run(r.request("/focus last")), "the intro is the answer")
	require.Empty(t, r.posted())
	f := r.bindings.focused[0]
	require.Equal(t, run.Session, f.Session.ID)
	require.Equal(t, core.SessionSubagent, f.Session.Kind)
	require.Equal(t, "cats", f.Label)
	require.Equal(t, Actor{User: "fake:alice"}, f.Actor)
	require.Equal(t, room, f.At)
}

func TestFocusInAThread(t *testing.T) {
	r := newRig(t)
	r.bindings.child = true
	r.child(r.request("/agents").Session, "cats", nil)
	req := r.request("/focus cats")
	reply, refusal := r.commit(req)
	require.NoError(t, refusal)
	require.True(t, reply.Silent)
	require.Equal(t, 1, r.openIntents(), "reserved before the thread is opened")
	require.Empty(t, r.posted())
	reply.After(t.Context())
	require.Equal(t, []string{"cats listens in the thread “cats” now."}, r.posted())
	require.Zero(t, r.openIntents())
	require.Empty(t, r.bindings.pending)
	require.Equal(t, 1, r.typing)
	require.Equal(t, []bool{false}, r.bindings.resumed)

	again, refusal := r.commit(req) // the platform delivers it once more
	require.NoError(t, refusal)
	require.Equal(t, Reply{Silent: true, Kind: store.OutCommand}, again)
	require.Len(t, r.bindings.focused, 1)
}

func TestAThreadThatDoesNotOpenIsAnsweredOnce(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"refusal": {core.Errorf("thread_timeout", "the channel opened no thread within 10s").WithRemedy("try again"), "the channel opened no thread within 10s (try again) [thread_timeout]"},
		"other":   {errors.New("secret detail"), english.FocusFailed()},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.bindings.child, r.bindings.openErr = true, c.err
			r.child(r.request("/agents").Session, "cats", nil)
			r.run(r.request("/focus cats"))
			require.Equal(t, []string{c.want}, r.posted())
			require.Zero(t, r.openIntents())
			require.Empty(t, r.bindings.pending)
		})
	}
}

func TestFocusGoesOnAfterACrash(t *testing.T) {
	crash := func(t *testing.T) (*rig, Request) {
		t.Helper()
		r := newRig(t)
		r.bindings.child = true
		r.child(r.request("/agents").Session, "cats", nil)
		req := r.request("/focus cats")
		reply, refusal := r.commit(req)
		require.NoError(t, refusal)
		r.bindings.onOpen = r.world.Cut
		reply.After(t.Context())
		r.bindings.onOpen = nil
		r.restart()
		require.Empty(t, r.posted())
		require.Equal(t, 1, r.openIntents())
		return r, req
	}
	t.Run("at the start", func(t *testing.T) {
		r, _ := crash(t)
		for id := range r.bindings.pending { // the crash came before the abort
			require.NotEmpty(t, id)
		}
		require.NoError(t, r.set.Recover(t.Context()))
		require.Len(t, r.posted(), 1)
		require.Zero(t, r.openIntents())
		require.NoError(t, r.set.Recover(t.Context()))
		require.Len(t, r.posted(), 1)
	})
	t.Run("when the message comes again", func(t *testing.T) {
		r, req := crash(t)
		reply, refusal := r.commit(req)
		require.NoError(t, refusal)
		reply.After(t.Context())
		require.Len(t, r.posted(), 1)
		require.NoError(t, r.set.Recover(t.Context()))
		require.Len(t, r.posted(), 1)
	})
	t.Run("where the binding was given up", func(t *testing.T) {
		r, _ := crash(t)
		r.bindings.pending = nil
		require.NoError(t, r.set.Recover(t.Context()))
		require.Equal(t, []string{english.FocusFailed()}, r.posted())
		require.Zero(t, r.openIntents())
	})
}

func TestFocusOfAnAgentOpensItsSessionHere(t *testing.T) {
	r := newRig(t)
	key := core.GroupKey("research", room).String()
	exists := func() bool {
		err := r.db.Read(t.Context(), func(tx *store.Tx) error {
			_, err := tx.SessionByKey(key)
			return err
		})
		return !errors.Is(err, store.ErrNotFound)
	}
	r.bindings.refuse = core.Errorf("quota", "too many").WithRemedy("fewer")
	r.refused("quota", r.request("/focus ResearchBot"))
	require.False(t, exists(), "a refusal leaves nothing behind")
	r.bindings.refuse = nil
	require.Empty(t, r.run(r.request("/focus ResearchBot")))
	require.True(t, exists())
	require.Equal(t, key, r.bindings.focused[0].Session.Key)
	r.bindings.refuse = core.Errorf("quota", "too many").WithRemedy("fewer")
	r.refused("quota", r.request("/focus ResearchBot"))
	require.True(t, exists(), "it was there before")

	r.bindings.refuse = nil
	direct := r.request("/focus ResearchBot")
	direct.Message.Kind = core.Direct
	r.run(direct)
	require.Equal(t, "agent:research:fake:direct:alice", r.bindings.focused[1].Session.Key)
}

func TestFocusRefusals(t *testing.T) {
	r := newRig(t)
	r.refused(CodeUsage, r.request("/focus"))
	r.refused(target.CodeUnknown, r.request("/focus nobody"))
	require.Empty(t, r.bindings.calls)
}

func TestUnfocusAndLimits(t *testing.T) {
	r := newRig(t)
	require.Empty(t, r.run(r.request("/unfocus")), "the farewell is the answer")
	op := r.request("/unfocus")
	op.Operator = true
	r.bindings.text = "cats is not listening here any more."
	require.Equal(t, r.bindings.text, r.run(op))
	r.bindings.text = "Idle limit of cats: 1d."
	require.Equal(t, r.bindings.text, r.run(r.request("/session idle")))
	require.Equal(t, r.bindings.text, r.run(r.request("/session max-age 2h 30m")))
	r.bindings.text = ""
	require.Empty(t, r.run(r.request("/session idle 1s")), "it ended by that, and says so itself")
	require.Equal(t, []string{
		"unfocus fake:default:Room fake:alice false", "unfocus fake:default:Room fake:alice true", "show fake:default:Room idle",
		`set fake:default:Room max-age "2h 30m" fake:alice`, `set fake:default:Room idle "1s" fake:alice`,
	}, r.bindings.calls)
	for _, text := range []string{"/session", "/session 1h", "/session idled 1h", "/session off"} {
		r.refused(CodeUsage, r.request(text))
	}
	r.bindings.refuse = core.Errorf("not_focused", "this conversation is not focused").WithRemedy("/focus <target> focuses it")
	r.refused("not_focused", r.request("/unfocus"))
	r.refused("not_focused", r.request("/session idle"))
	r.refused("not_focused", r.request("/session idle 1h"))
}
