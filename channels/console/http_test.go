package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
)

// serveHub serves a hub over HTTP and returns both sides' clients.
func serveHub(t *testing.T, h *console.Hub, wait console.Wait) (console.Backend, console.People, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(console.Handler(h, h, wait))
	t.Cleanup(server.Close)
	return console.NewClient(server.URL, "", server.Client()), console.NewPeopleClient(server.URL+"/", "", server.Client()), server
}

// TestOverHTTP calls every method through a client: the answers are those of
// the hub.
func TestOverHTTP(t *testing.T) {
	ctx := context.Background()
	h, _ := openHub(t)
	bot, people, _ := serveHub(t, h, console.Wait{})

	topic, err := people.OpenTopic(ctx, console.TopicRequest{By: console.User{ID: "alice"}, Conversation: "team", Title: "hers"})
	require.NoError(t, err)
	thread := open(t, bot, "team", "cats", "i1")
	found, err := bot.FindThread(ctx, console.FindRequest{Account: "default", Conversation: "team", Intent: "i1"})
	require.NoError(t, err)
	require.Equal(t, thread, *found.Thread)
	listed, err := people.Threads(ctx, console.ThreadsRequest{Conversation: "team"})
	require.NoError(t, err)
	require.Equal(t, []console.Thread{topic, thread}, listed.Threads)

	posted := post(t, people, "alice", "team", thread.ID, "hello")
	_, err = people.Change(ctx, console.MessageChange{By: console.User{ID: "alice"}, ID: posted.ID, Op: console.OpEdit, Text: "hello!"})
	require.NoError(t, err)
	seen, cursor := poll(t, bot, "default", 0)
	require.Equal(t, []string{"message hello", "edit hello!"}, seen)

	_, err = bot.Typing(ctx, console.TypingRequest{Account: "default", Conversation: "team"})
	require.NoError(t, err)
	feed, err := people.Feed(ctx, console.FeedRequest{Conversation: "team"})
	require.NoError(t, err)
	require.Len(t, feed.Messages, 1)
	require.Len(t, feed.Typing, 1)

	id := send(t, bot, console.SendRequest{Conversation: "team", Text: "draft"})
	_, err = bot.Edit(ctx, console.EditRequest{Account: "default", ID: id, Text: "final"})
	require.NoError(t, err)
	_, err = bot.Delete(ctx, console.DeleteRequest{Account: "default", ID: id})
	require.NoError(t, err)
	probed, err := bot.Probe(ctx, console.ProbeRequest{Account: "default", Conversation: "team", Thread: thread.ID})
	require.NoError(t, err)
	require.Equal(t, core.PlaceExists, probed.State)
	_, err = people.ChangeThread(ctx, console.ThreadChange{Thread: thread.ID, Op: console.ThreadLock})
	require.NoError(t, err)
	_, err = bot.CloseThread(ctx, console.CloseRequest{Account: "default", Conversation: "team", Thread: topic.ID})
	require.NoError(t, err)
	list, err := people.Conversations(ctx, console.Done{})
	require.NoError(t, err)
	direct, err := h.Conversations(ctx, console.Done{})
	require.NoError(t, err)
	require.Equal(t, direct, list)
	seen, _ = poll(t, bot, "default", cursor)
	require.Equal(t, []string{"locked team/t2"}, seen)
}

func TestRefusalsOverHTTP(t *testing.T) {
	ctx := context.Background()
	h, _ := openHub(t)
	bot, _, server := serveHub(t, h, console.Wait{})
	to, err := h.Migrate("team")
	require.NoError(t, err)
	_, err = bot.Send(ctx, console.SendRequest{Account: "default", Conversation: "team", Text: "x"})
	refusal := new(console.Error)
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, console.Error{
		Status: 400, Code: console.CodeMoved, MovedTo: to, Text: `the conversation "team" is now "team.2"`,
	}, *refusal)

	tests := []struct {
		name, method, path, body string
		status                   int
	}{
		{"unknown field", "POST", "/v1/bot/send", `{"account":"default","colour":"red"}`, 400},
		{"not JSON", "POST", "/v1/bot/send", `hello`, 400},
		{"unknown method", "POST", "/v1/bot/dance", `{}`, 404},
		{"not a POST", "GET", "/v1/bot/send", ``, 405},
		{"huge", "POST", "/v1/people/post", `{"text":"` + strings.Repeat("x", 3*console.PostLimit) + `"}`, 413},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(ctx, tt.method, server.URL+tt.path, strings.NewReader(tt.body))
			require.NoError(t, err)
			resp, err := server.Client().Do(r)
			require.NoError(t, err)
			defer func() { require.NoError(t, resp.Body.Close()) }()
			_, err = io.Copy(io.Discard, resp.Body)
			require.NoError(t, err)
			require.Equal(t, tt.status, resp.StatusCode)
		})
	}
}

// TestWaitLimit: over HTTP a poll and a feed end with nothing after a while.
func TestWaitLimit(t *testing.T) {
	ctx := context.Background()
	h, _ := openHub(t)
	bot, people, _ := serveHub(t, h, console.Wait{Clock: clock.Real{}, For: time.Millisecond})
	got, err := bot.Poll(ctx, console.PollRequest{Account: "default"})
	require.NoError(t, err)
	require.Empty(t, got.Updates)
	feed, err := people.Feed(ctx, console.FeedRequest{After: 1 << 20, Wait: true, Conversation: "nowhere"})
	require.NoError(t, err)
	require.Empty(t, feed.Messages)
	require.NotZero(t, feed.Seq)
}

// TestServerStops: a request that waits while the server ends its requests is
// told that the hub closes, so that a terminal waits for the next start.
func TestServerStops(t *testing.T) {
	h, _ := openHub(t)
	serving, stop := context.WithCancel(context.Background())
	server := httptest.NewUnstartedServer(console.PeopleHandler(h, console.Wait{}))
	server.Config.BaseContext = func(net.Listener) context.Context { return serving }
	server.Start()
	defer server.Close()
	people := console.NewPeopleClient(server.URL, "", server.Client())
	first, err := people.Feed(t.Context(), console.FeedRequest{})
	require.NoError(t, err)
	stop()
	_, err = people.Feed(t.Context(), console.FeedRequest{After: first.Seq, Wait: true})
	var refusal *console.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, console.CodeClosed, refusal.Code)
}

func TestPeopleHandlerHasNoBotSide(t *testing.T) {
	h, _ := openHub(t)
	server := httptest.NewServer(console.PeopleHandler(h, console.Wait{}))
	defer server.Close()
	post(t, console.NewPeopleClient(server.URL, "", server.Client()), "alice", "team", "", "hi")
	_, err := console.NewClient(server.URL, "", server.Client()).Probe(context.Background(), console.ProbeRequest{Account: "default"})
	require.Equal(t, http.StatusNotFound, status(t, err))
}

// TestAnswersThatMakeNoSense: whatever stands between, the class tells whether
// the message may be there.
func TestAnswersThatMakeNoSense(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
		class  core.SendClass
		wait   time.Duration
	}{
		{"a proxy's page", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<html>Bad Gateway</html>")
		}, core.SendRetryable, 0},
		{"a proxy's limit", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}, core.SendRetryable, 7 * time.Second},
		{"a page instead of an answer", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<html>Welcome to this hotspot</html>")
		}, core.SendAmbiguous, 0},
		{"half an answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"id":`)
		}, core.SendAmbiguous, 0},
		{"no id", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) }, "", 0},
		{"a token that is refused", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer secret" { // what the adapter was told to say
				w.WriteHeader(http.StatusUnauthorized)
			}
		}, core.SendAuth, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(tt.answer)
			defer server.Close()
			adapter := newAdapter(t, map[string]any{"apiRoot": server.URL, "token": "secret"}, server.Client())
			receipt, err := adapter.Send(context.Background(), core.Outgoing{Text: "x"})
			if tt.class == "" {
				require.NoError(t, err)
				require.Empty(t, receipt, "an empty receipt counts as ambiguous")
				return
			}
			class, wait := core.ClassifySend(err)
			require.Equal(t, tt.class, class, "%v", err)
			require.Equal(t, tt.wait, wait)
			require.Error(t, adapter.Run(context.Background(), emptyIntake{}))
		})
	}
}

// TestNobodyThere: what did not leave may be sent again.
func TestNobodyThere(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	root := "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	adapter := newAdapter(t, map[string]any{"apiRoot": root}, nil)
	_, err = adapter.Send(context.Background(), core.Outgoing{Text: "x"})
	class, _ := core.ClassifySend(err)
	require.Equal(t, core.SendRetryable, class)
	require.False(t, adapter.Probe(context.Background()).OK)
}

// TestDeadlineAfterTheRequestLeft: the platform may have it.
func TestDeadlineAfterTheRequestLeft(t *testing.T) {
	arrived := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
	}))
	defer server.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		<-arrived
		cancel(context.DeadlineExceeded)
	}()
	adapter := newAdapter(t, map[string]any{"apiRoot": server.URL}, server.Client())
	_, err := adapter.Send(ctx, core.Outgoing{Text: "x"})
	class, _ := core.ClassifySend(err)
	require.Equal(t, core.SendAmbiguous, class)
}

// emptyIntake is an intake without a cursor that takes nothing.
type emptyIntake struct{}

var errFull = errors.New("full")

func (emptyIntake) Receive(context.Context, core.Message) error          { return errFull }
func (emptyIntake) PlaceChanged(context.Context, core.PlaceChange) error { return errFull }
func (emptyIntake) LoadCursor(context.Context, string) (string, error)   { return "not ours", nil }

func newAdapter(t *testing.T, settings map[string]any, client *http.Client) core.Adapter {
	t.Helper()
	raw, err := json.Marshal(settings)
	require.NoError(t, err)
	adapter, err := channels.New(console.Entry(nil)).Open("console", channels.Options{
		Account: "default", Settings: raw, Clock: clock.Real{}, HTTP: client,
	})
	require.NoError(t, err)
	return adapter
}

func TestEntry(t *testing.T) {
	h, _ := openHub(t)
	registry := channels.New(console.Entry(h))
	local, err := registry.Open("console", channels.Options{Account: "default", Clock: clock.Real{}})
	require.NoError(t, err)
	receipt, err := local.Send(context.Background(), core.Outgoing{
		Address: core.Address{Channel: "console", Account: "default", Conversation: console.Main}, Text: "hi",
	})
	require.NoError(t, err)
	require.NotEmpty(t, receipt.ID)

	_, err = channels.New(console.Entry(nil)).Open("console", channels.Options{Account: "second"})
	require.Equal(t, "console_no_hub", core.ErrorCode(err))
	_, err = registry.Open("console", channels.Options{Account: "second", Settings: json.RawMessage(`{"apiRoot":7}`)})
	require.Equal(t, "bad_settings", core.ErrorCode(err))
}

// TestIntakeFails: Run reports it, and the update stays in the queue.
func TestIntakeFails(t *testing.T) {
	h, _ := openHub(t)
	post(t, h, "alice", "team", "", "one")
	adapter := console.NewAdapter(h, "default", clock.Real{})
	require.ErrorIs(t, adapter.Run(context.Background(), emptyIntake{}), errFull)
	require.Len(t, h.Pending("default"), 1)
}
