package convtest

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/channels/console/consoletest"
	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
	"github.com/skein-bot/skein/core/world"
)

// storeApp is a runtime that has only a store.
type storeApp struct {
	fakeApp
	t  *testing.T
	db *store.DB
}

func (s *storeApp) DB() *store.DB { return s.db }

func newStoreApp(t *testing.T) *storeApp {
	t.Helper()
	db, err := store.Open(t.Context(), pgtest.Options(pgtest.StoreURL(t, filepath.Join(t.TempDir(), "a.db")), world.New(clock.Real{}, nil, 1)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return &storeApp{t: t, db: db}
}

func (s *storeApp) write(unit func(tx *store.Tx) error) {
	s.t.Helper()
	require.NoError(s.t, s.db.Write(s.t.Context(), unit))
}

// post queues a message and lets it wait until at.
func (s *storeApp) post(thread string, kind store.OutboxKind, at core.Millis) int64 {
	s.t.Helper()
	var id int64
	s.write(func(tx *store.Tx) error {
		row := store.Outbox{Kind: kind, Address: core.Address{Channel: "console", Account: "default", Conversation: "main", Thread: thread}}
		var err error
		if id, _, err = tx.InsertOutbox(row); err != nil || at == 0 {
			return err
		}
		row.ID, row.State, row.NextAt = id, store.OutQueued, at
		_, err = tx.UpdateOutbox(row)
		return err
	})
	return id
}

func TestBusy(t *testing.T) {
	const now = core.Millis(1000)
	for _, c := range []struct {
		name  string
		setUp func(s *storeApp)
		want  bool
	}{
		{"nothing", func(*storeApp) {}, false},
		{"a message that is due", func(s *storeApp) { s.post("", store.OutFinal, 0) }, true},
		{"one whose next try is due", func(s *storeApp) { s.post("", store.OutFinal, now) }, true},
		{"a retry ahead", func(s *storeApp) { s.post("", store.OutFinal, now+1) }, false},
		{"one behind a retry", func(s *storeApp) {
			s.post("", store.OutFinal, now+1)
			s.post("", store.OutFinal, 0)
		}, false},
		{"one of another thread", func(s *storeApp) {
			s.post("", store.OutFinal, now+1)
			s.post("t1", store.OutFinal, 0)
		}, true},
		{"a command reply waits for nobody", func(s *storeApp) {
			s.post("", store.OutFinal, now+1)
			s.post("", store.OutCommand, 0)
		}, true},
		{"many behind a retry", func(s *storeApp) {
			s.post("", store.OutFinal, now+1)
			for range outboxPage {
				s.post("", store.OutFinal, 0)
			}
		}, false},
		{"a session that is ready", func(s *storeApp) {
			s.write(func(tx *store.Tx) error {
				x, err := tx.InsertSession(store.Session{Key: "agent:main:main", Agent: "main", Kind: core.SessionMain})
				if err != nil {
					return err
				}
				return tx.MarkReady(x.ID, 1)
			})
		}, true},
		{"a turn", func(s *storeApp) {
			s.write(func(tx *store.Tx) error {
				_, err := tx.InsertTurn(store.Turn{Session: 1, Kind: store.InboxMessage, Lane: store.LaneMain})
				return err
			})
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStoreApp(t)
			c.setUp(s)
			got, err := busy(t.Context(), s, now)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	got, err := busy(t.Context(), new(fakeApp), now)
	require.NoError(t, err)
	require.False(t, got, "without a store only the world tells")
}

func TestResent(t *testing.T) {
	s := newStoreApp(t)
	at := core.Address{Channel: "console", Account: "default", Conversation: "main", Thread: "t1"}
	id := s.post("t1", store.OutFinal, 0)
	again, err := resent(t.Context(), s, at)
	require.NoError(t, err)
	require.False(t, again)
	s.write(func(tx *store.Tx) error {
		_, err := tx.MarkSending(id, 1, true)
		return err
	})
	again, err = resent(t.Context(), s, at)
	require.NoError(t, err)
	require.True(t, again)
	at.Thread = ""
	again, err = resent(t.Context(), s, at)
	require.NoError(t, err)
	require.False(t, again, "another place")
}

// requestServer has nothing but recorded requests.
type requestServer struct {
	testserver.Server
	recorder testserver.Recorder
}

func (r *requestServer) Requests(since int) []testserver.Request { return r.recorder.Requests(since) }

func TestSentWindow(t *testing.T) {
	server := new(requestServer)
	send := func(texts ...string) {
		for _, text := range texts {
			server.recorder.Record(testserver.Request{Method: "send", JSON: []byte(text)})
		}
	}
	var w sentWindow
	look := func(line int) (seen []string) {
		for _, r := range w.requests(server, line) {
			seen = append(seen, string(r.JSON))
		}
		return seen
	}
	send("a", "b")
	require.Equal(t, []string{"a", "b"}, look(0), "the first line of a script sees everything")
	w.matched[1] = true
	require.Equal(t, []string{"a"}, look(1), "what a line has matched is not there for the next one")
	send("c")
	require.Equal(t, []string{"a", "c"}, look(2))
	require.Empty(t, look(5), "after other lines only what is new")
	send("d")
	require.Equal(t, []string{"d"}, look(6))
	require.Empty(t, look(9))
}

func TestOnlyRepeatedRequestsAreForgiven(t *testing.T) {
	server := new(requestServer)
	for _, text := range []string{"a", "b", "a"} {
		server.recorder.Record(testserver.Request{Native: "send", JSON: []byte(text)})
	}
	ch := &channel{server: server}
	all := server.Requests(0)
	require.Equal(t, []bool{false, false, true}, []bool{repeated(ch, all[0]), repeated(ch, all[1]), repeated(ch, all[2])})
}

func TestRecentLog(t *testing.T) {
	l := new(recentLog)
	log := slog.New(l)
	log.Info("not kept")
	for i := range logKept + 2 {
		log.With("account", "default").WithGroup("x").Warn("slow", "n", i)
	}
	lines := l.lines()
	require.Len(t, lines, logKept)
	require.Equal(t, "WARN slow account=default n=2", lines[0])
	require.False(t, l.Enabled(context.Background(), -4))
}

// After a random kill a message that had to be sent again does not count the
// second time, where the platform cannot tell.
func TestARepetitionAfterAKillIsTolerated(t *testing.T) {
	s := newStoreApp(t)
	server, err := consoletest.New(testserver.Options{Clock: clock.Real{}})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	ch := &channel{name: "console", server: server, reader: testserver.NewReader(server)}
	p := &play{channels: []*channel{ch}, stage: newStage(start(), 1)}
	p.stage.app = s
	at := spot{ch, testserver.Place{Conversation: "main"}}
	require.Empty(t, at.unseen()) // looking opens it
	for _, text := range []string{"one", "two", "one", "one"} {
		_, err := server.Hub().Send(t.Context(), console.SendRequest{Account: "default", Conversation: "main", Text: text})
		require.NoError(t, err)
	}
	texts := func() (list []string) {
		unseen, err := p.unseen(t.Context(), at)
		require.NoError(t, err)
		for _, m := range unseen {
			list = append(list, m.Text)
		}
		return list
	}
	id := s.post("", store.OutFinal, 0)
	p.stage.watch.killed = world.OutboxAfterSend
	require.Equal(t, []string{"one", "two", "one", "one"}, texts(), "the store sent nothing again")
	s.write(func(tx *store.Tx) error {
		_, err := tx.MarkSending(id, 1, true)
		return err
	})
	ch.idempotent = true
	require.Len(t, texts(), 4, "a platform that knows repetitions has none")
	ch.idempotent = false
	require.Equal(t, []string{"one", "two"}, texts())
	p.stage.watch.killed = ""
	require.Equal(t, []string{"one", "two"}, texts(), "consumed is consumed")
}
