package command

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// asked makes a turn that alice's message m1 started in the room, with what was
// answered, and returns it.
func (r *rig) asked(owner string, change func(*store.Turn), items ...model.Item) (turn store.Turn) {
	r.Helper()
	session := r.session("agent:main:fake:default:group:Room", "", 0)
	r.write(func(tx *store.Tx) (err error) {
		t := store.Turn{Session: session.ID, Generation: session.Generation, Kind: store.InboxMessage, Lane: store.LaneMain, ReplyTo: room, Owner: owner, Policy: "p", Started: r.world.Now()}
		if change != nil {
			change(&t)
		}
		if turn, err = tx.InsertTurn(t); err != nil {
			return err
		}
		for i, item := range items {
			row := store.Row{Session: session.ID, Generation: session.Generation, Turn: turn.ID, Seq: i, Kind: string(item.Kind), Body: item.Encode()}
			if item.Kind == model.User {
				row.Kind, row.Owner = string(store.InboxMessage), owner
			}
			if _, err := tx.AppendRow(row); err != nil {
				return err
			}
		}
		return tx.EndTurn(turn.ID, store.TurnDone, "", core.Usage{}, r.world.Now())
	})
	return turn
}

func question(text string) model.Item {
	return model.Item{Kind: model.User, Text: text, MessageID: "m1", Author: &core.Author{ID: "alice"}}
}

func answer(text string) model.Item { return model.Item{Kind: model.Assistant, Text: text} }

// queuedTexts returns what waits in the room's session, and its prompt.
func (r *rig) queuedAndPrompt() (queued []store.Inbox, prompt []string) {
	r.Helper()
	session := r.session("agent:main:fake:default:group:Room", "", 0)
	require.NoError(r, r.db.Read(r.Context(), func(tx *store.Tx) (err error) {
		if queued, err = tx.QueuedInbox(session.ID, 100); err != nil {
			return err
		}
		rows, err := tx.Transcript(session)
		for _, row := range rows {
			item, err := model.DecodeItem(row.Body)
			require.NoError(r, err)
			prompt = append(prompt, item.Text)
		}
		return err
	}))
	return queued, prompt
}

func TestRetry(t *testing.T) {
	r := newRig(t)
	r.refused(CodeRetryNothing, r.request("/retry"))
	r.asked("fake:alice", nil, question("first"), answer("one"))
	turn := r.asked("fake:alice", nil, question("second"), answer("two"))
	fence := r.request("/status").Session.Fence
	require.Empty(t, r.run(r.request("/retry")), "the answer is the reply")

	queued, prompt := r.queuedAndPrompt()
	require.Equal(t, []string{"first", "one"}, prompt)
	require.Len(t, queued, 1)
	item, err := model.DecodeItem(queued[0].Body)
	require.NoError(t, err)
	require.Equal(t, "second", item.Text)
	require.Equal(t, store.Inbox{
		ID: queued[0].ID, Session: turn.Session, Kind: store.InboxMessage, State: store.InboxQueued, Lane: store.LaneMain, ReplyTo: room,
		Anchor: "m1", Policy: "p", Owner: "fake:alice", Source: store.SourceOf(room, "m1"), Body: queued[0].Body, At: r.world.Now(),
	}, queued[0], "its rights, its place and its name are those of the message")
	require.Greater(t, r.request("/status").Session.Fence, fence, "whoever remembers the old prompt reads it anew")
	r.refused(CodeRetryBusy, r.request("/retry"))
	r.refused(CodeUsage, r.request("/retry please"))
}

func TestRetryIsRefused(t *testing.T) {
	elsewhere := room
	elsewhere.Conversation = "Elsewhere"
	for _, c := range []struct {
		name  string
		owner string
		turn  func(*store.Turn)
		also  func(*rig)
		by    func(*Request)
		code  string // "" if it is not refused
	}{
		{name: "somebody else's", owner: "fake:bob", code: CodeRetryOthers},
		{name: "somebody else's, by an operator", owner: "fake:bob", by: func(r *Request) { r.Operator = true }},
		{name: "of nobody with an id", owner: "", by: func(r *Request) { r.Actor = "" }, code: CodeRetryOthers},
		{name: "of another place", owner: "fake:alice", turn: func(t *store.Turn) { t.ReplyTo = elsewhere }, code: CodeRetryNothing},
		{name: "of an older conversation", owner: "fake:alice", also: func(r *rig) {
			r.run(r.request("/new"))
		}, code: CodeRetryNothing},
		{name: "no person's", owner: "fake:alice", turn: func(t *store.Turn) { t.Kind = store.InboxCompletion }, code: CodeRetryNothing},
		{name: "with a live sub-agent", owner: "fake:alice", also: func(r *rig) {
			r.child(r.request("/status").Session, "cats", nil)
		}, code: CodeRetryBusy},
		{name: "while a wait is armed", owner: "fake:alice", also: func(r *rig) {
			session := r.request("/status").Session.ID
			r.write(func(tx *store.Tx) error { return tx.InsertWait(store.Wait{Turn: 1, Session: session, Kind: "message"}) })
		}, code: CodeRetryBusy},
		{name: "all of it was deleted", owner: "fake:alice", also: func(r *rig) {
			r.write(func(tx *store.Tx) error {
				edits := Edits{Turn: 1}
				edits.Remove("m1")
				return edits.Save(tx, 1)
			})
		}, code: CodeRetryNothing},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.asked(c.owner, c.turn, question("hello"), answer("hi"))
			if c.also != nil {
				c.also(r)
			}
			req := r.request("/retry")
			if c.by != nil {
				c.by(&req)
			}
			if c.code != "" {
				r.refused(c.code, req)
				queued, _ := r.queuedAndPrompt()
				require.Empty(t, queued)
				return
			}
			require.Empty(t, r.run(req))
		})
	}
}

// TestRetryOfATurnThatWasCompacted: what a compaction in the turn carried over
// is asked again, and so not said twice; the summary of what was before stays.
func TestRetryOfATurnThatWasCompacted(t *testing.T) {
	r := newRig(t)
	carried := question("second")
	r.asked("fake:alice", nil, question("first"), answer("one"))
	turn := r.asked("fake:alice", nil, question("second"), model.Item{
		Kind: model.Compacted, Text: "a summary", Compaction: &model.Compaction{By: model.CompactedByModel, Rows: 2, Carried: []model.Item{carried}},
	}, answer("two"))
	session := r.session("agent:main:fake:default:group:Room", "", 0)
	r.write(func(tx *store.Tx) error {
		rows, err := tx.RowsOfTurn(session, turn.ID)
		require.Len(t, rows, 3)
		if err != nil {
			return err
		}
		return tx.SetContextFrom(turn.Session, rows[1].ID)
	})
	require.Empty(t, r.run(r.request("/retry")))
	queued, prompt := r.queuedAndPrompt()
	require.Len(t, queued, 1)
	require.Equal(t, []string{"a summary", "a summary"}, prompt, "of compactions the newest counts")
	session = r.session("agent:main:fake:default:group:Room", "", 0)
	require.NoError(t, r.db.Read(t.Context(), func(tx *store.Tx) error {
		rows, err := tx.Transcript(session)
		item, decoded := model.DecodeItem(rows[1].Body)
		require.NoError(t, decoded)
		require.Empty(t, item.Compaction.Carried)
		return err
	}))
}

func TestEditsAreOfOneTurn(t *testing.T) {
	r := newRig(t)
	session := r.session("agent:main:fake:default:group:Room", "", 0).ID
	load := func(turn int64) (e Edits) {
		require.NoError(t, r.db.Read(t.Context(), func(tx *store.Tx) (err error) {
			e, err = LoadEdits(tx, session, turn)
			return err
		}))
		return e
	}
	require.Equal(t, Edits{Turn: 7}, load(7))
	want := Edits{Turn: 7}
	want.Reword("m1", "one")
	want.Reword("m1", "uno")
	want.Remove("m2")
	want.Remove("m2")
	r.write(func(tx *store.Tx) error { return want.Save(tx, session) })
	r.restart()
	require.Equal(t, Edits{Turn: 7, Texts: map[string]string{"m1": "uno"}, Deleted: []string{"m2"}}, load(7))
	require.Equal(t, Edits{Turn: 8}, load(8))
}
