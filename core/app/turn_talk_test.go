package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// edits and deletes are what a person does to a message.
func (s *scene) edits(who string, m testserver.Ref, text string) {
	s.Helper()
	require.NoError(s, s.server.Edit(s.Context(), testserver.User{Name: who}, m, text))
	s.quiet()
}

func (s *scene) deletes(who string, m testserver.Ref) {
	s.Helper()
	require.NoError(s, s.server.Delete(s.Context(), testserver.User{Name: who}, m))
	s.quiet()
}

// thinkRule is a model that takes a while.
const thinkRule = `{when: {user: "/^think$/"}, delay: "10s", say: "thought"},`

// TestB249_AnEditWithAFileIsNoTurn: the edit of a message with a file is an
// edit, whether the message waits or is answered.
func TestB249_AnEditWithAFileIsNoTurn(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ messages: { queue: { mode: "followup" } } }`, thinkRule)
	photo := func(text string) testserver.Ref {
		ref, err := s.server.Post(s.Context(), testserver.Post{
			By: testserver.User{Name: "alice"}, At: at("team"), Text: text, File: &testserver.File{Name: "cat.png", Data: []byte("x")},
		})
		require.NoError(t, err)
		s.quiet()
		return ref
	}
	answered := photo("look")
	s.edits("alice", answered, "look at this")
	require.Len(t, s.requests.list(""), 1)

	s.say("team", "think")
	waits := photo("and at that")
	s.edits("alice", waits, "and at those")
	s.pass(time.Minute)
	require.Len(t, s.requests.list(""), 3)
	asked := s.last("").Items
	newest := asked[len(asked)-1]
	require.Equal(t, "and at those", newest.Text)
	require.Len(t, newest.Files, 1, "the file is still there")
}

// TestOnlyTheAuthorsEditCounts: an edit by somebody who may not speak any more
// is as little heard as a message.
func TestOnlyTheAuthorsEditCounts(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ messages: { queue: { mode: "followup" } } }`, thinkRule)
	s.say("team", "think")
	waits := s.says("bob", "team", "harmless")
	s.reload(`{ messages: { queue: { mode: "followup" } }, channels: { console: { groupAllowFrom: ["alice"] } } }`)
	s.edits("bob", waits, "harmful")
	s.pass(time.Minute)
	require.Equal(t, []string{"think", "harmless"}, texts(s.last(""), model.User))
}

// TestRetryOfWhatFailed: a turn that failed is tried again; the failure is not
// in the prompt, and the transcript tells what was replaced.
func TestRetryOfWhatFailed(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `{when: {user: "/^break$/"}, call: [{tool: "sessions_list"}], times: 1}, {when: {lastTool: "sessions_list"}, fail: "overflow", times: 1},`)
	s.say("team", "hello")
	s.say("team", "break")
	require.Contains(t, last(s.told("team")), "did not work")
	s.say("team", "/retry")
	require.Equal(t, "ok: break", last(s.told("team")))
	require.Equal(t, []string{"hello", "break"}, texts(s.last(""), model.User))
	require.Empty(t, texts(s.last(""), model.ToolOutput))
	var whole []app.RowView
	s.read(func(tx *store.Tx) (err error) {
		whole, err = app.Views{}.Transcript(tx, teamKey, false, 0, 1000)
		return err
	})
	var kinds []string
	for _, row := range whole {
		kind := string(row.Kind)
		if row.Replaced {
			kind = "(" + kind + ")"
		}
		kinds = append(kinds, kind)
	}
	require.Equal(t, "user assistant (user) (assistant) (tool) user assistant", strings.Join(kinds, " "))
}

// TestRetryIsAboutItsPlace: where direct chats share a history, /retry does not
// answer again what somebody else asked elsewhere.
func TestRetryIsAboutItsPlace(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ session: { dmScope: "main" }, commands: { ownerAllowFrom: ["console:bob"] } }`, "")
	s.says("alice", "dm:alice", "my question")
	s.says("bob", "dm:bob", "/retry")
	require.Contains(t, last(s.told("dm:bob")), "retry_nothing")
	require.Len(t, s.requests.list(""), 1)
	s.says("alice", "dm:alice", "/retry")
	require.Equal(t, []string{"ok: my question", "ok: my question"}, s.told("dm:alice"))
}

// TestWhatIsLeftOutStaysApart: where direct chats share a history and its queue
// overflows, what one person wrote is not told to another.
func TestWhatIsLeftOutStaysApart(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ session: { dmScope: "main" }, messages: { queue: { mode: "collect", cap: 2 } } }`, thinkRule)
	s.says("alice", "dm:alice", "think")
	for _, n := range []string{"1", "2"} {
		s.says("alice", "dm:alice", "alice "+n)
		s.says("bob", "dm:bob", "bob "+n)
	}
	s.pass(time.Minute)
	for _, who := range []string{"alice", "bob"} {
		notices := 0
		for _, text := range s.told("dm:" + who) {
			if strings.HasPrefix(text, "1 message") {
				notices++
			}
		}
		require.Equal(t, 1, notices, "%s: %v", who, s.told("dm:"+who))
	}
	s.read(func(tx *store.Tx) error {
		turns, err := tx.TurnsOfSession(s.session("agent:main:main").ID, 10)
		for _, turn := range turns {
			rows, err := tx.RowsOfTurn(s.session("agent:main:main"), turn.ID)
			require.NoError(t, err)
			for _, row := range rows {
				other := map[string]string{"dm:alice": "bob ", "dm:bob": "alice "}[turn.ReplyTo.Conversation]
				require.NotContains(t, row.Body, other)
			}
		}
		return err
	})
}

// TestABoundSessionIsNotResetByTime: a session that is bound anywhere keeps its
// history, also for the place that it began in; unbound it starts over.
func TestABoundSessionIsNotResetByTime(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ session: { reset: { mode: "idle", idleMinutes: 30 } } }`, "")
	s.say("team", "remember blue")
	s.say("team", "/focus "+teamKey)
	elsewhere := s.thread("team")
	require.Len(t, s.bindings(false), 1)
	s.pass(time.Hour)
	s.say("team", "which colour?")
	require.Equal(t, []string{"remember blue", "which colour?"}, texts(s.last(""), model.User))
	s.say(elsewhere, "/unfocus")
	require.Empty(t, s.bindings(false), "%v", s.told(elsewhere))
	s.pass(time.Hour)
	s.say("team", "which colour now?")
	require.Equal(t, []string{"which colour now?"}, texts(s.last(""), model.User))
	require.EqualValues(t, 2, s.session(teamKey).Generation)
}

// TestWhatWasSeenIsSwept: what nobody asked about is not kept for ever.
func TestWhatWasSeenIsSwept(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ channels: { console: { requireMention: true } }, session: { retention: { eventsDays: 2 } } }`, "")
	s.say("team", "we talk among ourselves")
	seen := func() (at bool) {
		s.read(func(tx *store.Tx) error {
			oldest, err := tx.Oldest(store.GrownHistory)
			at = oldest != 0
			return err
		})
		return at
	}
	require.True(t, seen())
	s.read(func(tx *store.Tx) error {
		_, err := tx.SessionByKey(teamKey)
		require.ErrorIs(t, err, store.ErrNotFound, "no session and no inbox row comes of it")
		return nil
	})
	require.Zero(t, s.load().Inbox)
	s.pass(24 * time.Hour)
	require.True(t, seen())
	s.restart()
	s.pass(26 * time.Hour)
	require.False(t, seen())
}

// TestWhatWasDeletedIsNotAskedAgain: of several messages that shared a turn,
// /retry leaves out the deleted ones, in whatever order edits came.
func TestWhatWasDeletedIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ messages: { queue: { mode: "collect" } } }`, thinkRule)
	s.say("team", "think")
	first := s.says("alice", "team", "first")
	second := s.says("alice", "team", "second")
	third := s.says("alice", "team", "third")
	s.pass(time.Minute)
	s.edits("alice", second, "second, edited")
	s.deletes("alice", first)
	s.deletes("alice", second)
	s.edits("alice", third, "third, edited")
	s.say("team", "/retry")
	require.Equal(t, []string{"think", "third, edited"}, texts(s.last(""), model.User))
	require.Equal(t, "ok: third, edited", last(s.told("team")))
}
