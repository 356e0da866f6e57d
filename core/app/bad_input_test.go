package app_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/model"
)

// noLeak fails a test that leaves goroutines behind. Call it first; the test
// must not be parallel.
func noLeak(t *testing.T) {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
}

// sse is a stream of an OpenAI-compatible service.
func sse(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString("data: " + c + "\n\n")
	}
	return b.String()
}

func content(text string) string {
	return `{"choices":[{"index":0,"delta":{"role":"assistant","content":"` + text + `"}}]}`
}

func toolCall(name, args string) string {
	return `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"` + name +
		`","arguments":` + strconv.Quote(args) + `}}]}}]}`
}

const (
	finished = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	calls    = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	end      = "[DONE]"
)

// TestAModelThatReturnsGarbage: whatever comes from a model, the person is told
// something, nothing of it is a call that runs, and the next message is
// answered.
func TestAModelThatReturnsGarbage(t *testing.T) {
	const failed = "^This did not work: the model did not answer: "
	for _, c := range []struct {
		name   string
		status int
		kind   string
		body   string
		want   string // what the person sees
	}{
		{"a page", 200, "text/html", "<html><body>Bad gateway</body></html>", failed},
		{"a page with an error status", 502, "text/html", "<html>502</html>", failed},
		{"nothing", 200, "text/event-stream", "", failed},
		{"no JSON", 200, "text/event-stream", sse("{not json", end), failed},
		{"other JSON", 200, "text/event-stream", sse(`[1, 2]`, `"x"`, end), failed},
		{"bytes", 200, "text/event-stream", "data: \x00\xff\xfe\x01\n\n", failed},
		{"a broken stream", 200, "text/event-stream", sse(content("half an")), failed},
		{"an endless line", 200, "text/event-stream", "data: " + strings.Repeat("a", 20<<20), failed},
		{"an empty answer", 200, "text/event-stream", sse(finished, end), "^\\(The agent finished without an answer.\\)$"},
		{"invalid UTF-8", 200, "text/event-stream", sse(content("a\xff\xfeb"), finished, end), "^a\uFFFD+b$"},
		{"an unknown tool", 200, "text/event-stream", sse(toolCall("rm", "{}"), calls, end), "no such tool"},
		{"arguments that are none", 200, "text/event-stream", sse(toolCall("sessions_spawn", `{"task":`), calls, end), "no such tool"},
		{"a runtime text", 200, "text/event-stream", sse(content("NO_REPLY"), finished, end), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			noLeak(t)
			good := false
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked, err := io.ReadAll(r.Body)
				switch {
				case err != nil:
					w.WriteHeader(http.StatusBadRequest)
				case good:
					_, _ = io.WriteString(w, sse(content("good"), finished, end))
				case strings.Contains(string(asked), `"role":"tool"`):
					_, _ = io.WriteString(w, sse(content("no such tool"), finished, end))
				default:
					w.Header().Set("Content-Type", c.kind)
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.body)
				}
			}))
			defer service.Close()
			s := newScene(t, `{
  models: { providers: { bad: { type: "openai", baseUrl: "`+service.URL+`", apiKey: "k" } } }, agents: { defaults: { model: "bad/m" } } }`, "")
			s.say("team", "hello")
			s.pass(10 * time.Minute)
			if c.want == "" {
				require.Empty(t, s.told("team"))
			} else {
				require.Len(t, s.told("team"), 1)
				require.Regexp(t, c.want, s.told("team")[0])
				require.True(t, utf8.ValidString(s.told("team")[0]))
			}
			require.Empty(t, s.runs(), "nothing was started")
			good = true
			s.say("team", "again")
			s.pass(time.Minute)
			require.Equal(t, "good", last(s.told("team")))
			s.stop()
		})
	}
}

// TestAMessageOfFiveMegabytes: it is stored whole, a model gets it whole if it
// reads so much, else its beginning and its end, and the session goes on.
func TestAMessageOfFiveMegabytes(t *testing.T) {
	noLeak(t)
	const rules = `{when: {user: "/^x+$/"}, say: "long"}, {when: {user: "/truncated/"}, say: "long, and cut"},`
	text := strings.Repeat("x", 5<<20)
	large := newScene(t, `{ models: { providers: { demo: { models: [{ id: "m", contextTokens: 2000000 }] } } } }`, rules)
	large.say("team", text)
	require.Equal(t, []string{"long"}, large.told("team"))
	require.Equal(t, []string{text}, texts(large.last(""), model.User))
	large.stop()

	s := newScene(t, "", rules)
	s.say("team", text)
	require.Equal(t, []string{"long, and cut"}, s.told("team"))
	cut := texts(s.last(""), model.User)[0]
	require.Regexp(t, `^x+\n\[truncated \d+ bytes\]\nx+$`, cut)
	require.Greater(t, len(cut), 100_000, "as much as there is room for")
	require.Equal(t, text, s.history(teamKey)[0].Text)
	s.crash(time.Minute)
	s.say("team", "and?")
	require.Equal(t, "ok: and?", last(s.told("team")))
}

// TestB261_AnAnswerOverTheLimit: without a splitter of the embedder an answer is
// cut at the channel's limit, and nothing of it is lost.
func TestB261_AnAnswerOverTheLimit(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("word ", 8000))
	s := newScene(t, "", fmt.Sprintf(`{when: {user: "/^long$/"}, say: %q},`, long))
	s.say("team", "long")
	s.pass(time.Minute)
	require.Len(t, s.told("team"), 3)
	require.Equal(t, long, strings.Join(s.told("team"), ""))
}

// dirty is a console whose platform does not care for encodings.
type dirty struct{ *console.Adapter }

func (d dirty) Run(ctx context.Context, in core.Intake) error {
	return d.Adapter.Run(ctx, dirtyIntake{in})
}

type dirtyIntake struct{ core.Intake }

func (d dirtyIntake) Receive(ctx context.Context, m core.Message) error {
	const bytes = "\xff\xfe\x00\xc3\x28"
	m.Text += bytes
	m.Title = "title" + bytes
	m.Author.Name = "name" + bytes
	m.Quote = &core.Quote{ID: "1", Text: "quoted" + bytes}
	m.Attachments = []core.Attachment{{Name: "file" + bytes}}
	return d.Intake.Receive(ctx, m)
}

// TestInvalidUTF8: bytes that are no text are replaced wherever they come in,
// and everything else works on.
func TestInvalidUTF8(t *testing.T) {
	noLeak(t)
	s := prepareScene(t, "", "")
	s.options = func(o *app.Options) {
		entry := console.Entry(nil)
		open := entry.New
		entry.New = func(o channels.Options) (core.Adapter, error) {
			adapter, err := open(o)
			if err != nil {
				return nil, err
			}
			return dirty{adapter.(*console.Adapter)}, nil
		}
		o.Channels = channels.New(entry)
	}
	s.start()
	s.say("team", "hello")
	require.Len(t, s.told("team"), 1)
	require.Regexp(t, "^ok: hello\uFFFD", s.told("team")[0])
	req := s.last("")
	require.True(t, utf8.ValidString(req.System))
	for _, i := range req.Items {
		require.True(t, utf8.ValidString(i.Encode()))
		require.NotContains(t, i.Text+i.Quote.Text+i.Author.Name, "\x00")
	}
	session := s.session(teamKey)
	require.True(t, utf8.ValidString(session.Title))
	require.NotContains(t, session.Title, "\x00")
	s.crash(time.Second)
	s.say("team", "/status")
	s.say("team", "/no\xffsuch")
	require.Len(t, s.told("team"), 3)
}

// moreThan is what is said of messages that found no room.
var moreThan = regexp.MustCompile(`^(\d+) messages? (?:was|were) more than the queue holds`)

// TestABurstOfAThousand: a thousand messages come as fast as they can; each is
// in a prompt, or counted in what the person is told.
func TestABurstOfAThousand(t *testing.T) { burst(t, "steer") }

func burst(t *testing.T, mode string) {
	t.Helper()
	noLeak(t)
	const messages = 1000
	s := newScene(t, `{ messages: { queue: { mode: "`+mode+`", overflow: "old" } } }`, "")
	for i := range messages {
		_, err := s.server.Post(t.Context(), testserver.Post{By: testserver.User{Name: "alice"}, At: at("team"), Text: fmt.Sprintf("m%d", i)})
		require.NoError(t, err)
	}
	s.pass(time.Hour)
	heard, dropped := make(map[string]bool), 0
	for _, text := range texts(s.last(""), model.User) {
		require.False(t, heard[text], "%s was taken twice", text)
		heard[text] = true
	}
	for _, text := range s.told("team") {
		require.LessOrEqual(t, strings.Count(text, "\n> m"), 5, "the first of them are named")
		if m := moreThan.FindStringSubmatch(text); m != nil {
			n, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			dropped += n
		}
	}
	require.Equal(t, messages, len(heard)+dropped, "%d heard, %d announced", len(heard), dropped)
	require.True(t, heard["m999"], "the newest is kept")
	require.Zero(t, s.load().Inbox)
}

// TestAFullDiskUnderLoad: the disk fills while messages come. What does not fit
// stays on the platform; when there is room again every message is answered
// once.
func TestAFullDiskUnderLoad(t *testing.T) {
	noLeak(t)
	const messages = 40
	h := newHome(t, `{rules: [{when: {user: "/^(m\\d+) /"}, say: "got $1."}]}`)
	settings := strings.Replace(baseConfig, "commands:", `messages: { queue: { mode: "followup", cap: 1000 } }, commands:`, 1)
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "skein.json5"), []byte(settings), 0o600))
	h.pages = 250
	h.start()
	for i := range messages {
		h.say("main", "", fmt.Sprintf("m%d ", i)+strings.Repeat("x", 40_000))
	}
	require.Eventually(t, func() bool {
		got := h.app.Accounts()[0]
		return got.State == app.AccountRetrying && strings.Contains(got.LastError, "the disk is full")
	}, time.Minute, time.Millisecond, "the account says why it does not go on")
	require.NotEmpty(t, h.hub.Pending("default"))
	h.stop()
	h.pages = 0
	h.start()
	h.say("main", "", "the end")
	h.expect("main", "^ok: the end$")
	h.stop()
	require.Empty(t, h.hub.Pending("default"))
	feed, err := h.hub.Feed(t.Context(), console.FeedRequest{})
	require.NoError(t, err)
	counts := make(map[string]int)
	for _, m := range feed.Messages {
		counts[m.Text]++
	}
	for i := range messages {
		require.Equal(t, 1, counts[fmt.Sprintf("got m%d.", i)], "m%d", i)
	}
}
