package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// apiRules: `research X` sends a sub-agent into a thread, `wait` never answers.
const apiRules = `{rules: [
  {when: {user: "/^research (.+)$/"}, call: [
    {tool: "sessions_spawn", args: {task: "Find out about $1.", label: "$1", thread: true}}, {tool: "sessions_yield", args: {}}]},
  {when: {user: "/Find out about bees/"}, say: "never said", delay: "1000h"},
  {when: {user: "/Find out about (.+)\\./"}, say: "$1 are fine."},
  {when: {event: "/ended/"}, say: "Done."},
]}`

// call asks an API and decodes the answer into out, unless out is nil.
func call(t *testing.T, h http.Handler, method, path, body string, out any) int {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "http://skein/api/v1"+path, strings.NewReader(body)))
	require.Equal(t, "application/json", w.Header().Get("Content-Type"), path)
	if out != nil {
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), out), w.Body.String())
	}
	return w.Code
}

// refused asks and returns the code of the refusal.
func refused(t *testing.T, h http.Handler, method, path, body string) (status int, code string) {
	t.Helper()
	var view app.ErrorView
	status = call(t, h, method, path, body, &view)
	require.NotEmpty(t, view.Error)
	return status, view.Code
}

// How long a test waits for what has to come, and how often it looks.
const (
	waitFor = 10 * time.Second
	tick    = 2 * time.Millisecond
)

// researched is a runtime that has researched cats and has come to rest.
func researched(t *testing.T) *home {
	t.Helper()
	h := newHome(t, apiRules)
	h.start()
	h.say(console.Main, "", "research cats")
	h.expect(console.Main, "Done")
	require.Eventually(t, func() bool {
		var status app.StatusView
		call(t, h.app.API(), "GET", "/status", "", &status)
		return status.Idle
	}, waitFor, tick)
	return h
}

func TestAPIServesWhatItLists(t *testing.T) {
	h := researched(t)
	defer h.stop()
	api := h.app.API()
	var sessions []app.SessionView
	var tasks []app.TaskView
	var bindings []app.BindingView
	var outbox []app.OutboxView
	require.Equal(t, 200, call(t, api, "GET", "/sessions", "", &sessions))
	require.Equal(t, 200, call(t, api, "GET", "/tasks", "", &tasks))
	require.Equal(t, 200, call(t, api, "GET", "/bindings", "", &bindings))
	require.Equal(t, 200, call(t, api, "GET", "/outbox", "", &outbox))
	require.Len(t, sessions, 2)
	require.Len(t, tasks, 1)
	require.Len(t, bindings, 1)
	require.NotEmpty(t, outbox)

	names := map[string]string{
		"/sessions/": sessions[0].Key, "/tasks/": tasks[0].ID, "/bindings/": bindings[0].ID, "/outbox/": strconv.FormatInt(outbox[0].ID, 10),
		"/data/": "console:local", "/worktrees/": "none",
	}
	// What a path needs besides, and what it answers where there is no such thing.
	query := map[string]string{"/data/{id}/transcript": "?session=" + strconv.FormatInt(sessions[0].ID, 10)}
	missing := map[string]bool{"/data/{id}/picture": true}
	for _, e := range app.Endpoints() {
		path := e.Path
		for list, name := range names {
			if strings.HasPrefix(path, list) {
				path = strings.NewReplacer("{key}", url.PathEscape(name), "{id}", name).Replace(path)
			}
		}
		require.NotContains(t, path, "{")
		path += query[e.Path]
		var answer json.RawMessage
		status := call(t, api, e.Method, path, "", &answer)
		require.NotContains(t, string(answer), `"not_found"`, e.Path)
		if e.Method == http.MethodGet && !missing[e.Path] {
			require.Equal(t, 200, status, "%s: %s", e.Path, answer)
		}
	}
}

func TestAPIViews(t *testing.T) {
	h := researched(t)
	defer h.stop()
	api := h.app.API()

	var tasks []app.TaskView
	call(t, api, "GET", "/tasks?limit=1", "", &tasks)
	task := tasks[0]
	require.Equal(t, "cats", task.Name)
	require.Equal(t, core.TaskSucceeded, task.Status)
	require.Equal(t, core.DeliveryDelivered, task.Delivery)
	require.Equal(t, "console:default:main/t1", task.BoundTo)
	require.Equal(t, "agent:main:console:direct:local", task.Requester)

	for _, ref := range []string{task.ID, task.RunID, task.ID[:25], strings.ToLower(task.RunID)} {
		var detail app.TaskDetail
		require.Equal(t, 200, call(t, api, "GET", "/tasks/"+ref, "", &detail), ref)
		require.Equal(t, "cats are fine.", detail.Result)
		require.Equal(t, "Find out about cats.", detail.Task)
		require.Equal(t, "console:default:main", detail.Origin)
		require.NotEmpty(t, detail.BindingID)
	}

	var binding app.BindingView
	var bindings []app.BindingView
	call(t, api, "GET", "/bindings", "", &bindings)
	require.Equal(t, 200, call(t, api, "GET", "/bindings/"+bindings[0].ID[:20], "", &binding))
	require.Equal(t, bindings[0], binding)
	require.Equal(t, "console:local", binding.Owner)
	require.Equal(t, int64(24*3600*1000), binding.IdleMs)
	require.Equal(t, core.EndIdle, binding.ExpiresBy)
	require.Greater(t, binding.ExpiresAt, binding.BoundAt)
	require.False(t, binding.OwnLimits)

	var session app.SessionDetail
	for _, ref := range []string{task.Requester, "agent:main:console", "session:1", "1"} {
		require.Equal(t, 200, call(t, api, "GET", "/sessions/"+url.PathEscape(ref), "", &session), ref)
		require.Equal(t, task.Requester, session.Key)
	}
	require.Equal(t, app.SessionIdle, session.State)
	require.Len(t, session.Tasks, 1)
	require.Len(t, session.Turns, 2)
	call(t, api, "GET", "/sessions/"+url.PathEscape(task.Session), "", &session)
	require.Equal(t, task.Requester, session.Parent)
	require.Len(t, session.Bindings, 1)
	require.Equal(t, 1, session.Depth)

	var status app.StatusView
	require.Equal(t, 200, call(t, api, "GET", "/status", "", &status))
	require.True(t, status.Running)
	require.Equal(t, 2, status.Load.Sessions)
	require.Equal(t, 1, status.Load.Bindings)
	require.NotZero(t, status.ReadyAt)
	require.Equal(t, app.AccountRunning, status.Channels[0].State)
	require.NotEmpty(t, status.Channels[0].Cursors[console.CursorName])
}

func TestAPITranscript(t *testing.T) {
	h := researched(t)
	defer h.stop()
	var rows []app.RowView
	require.Equal(t, 200, call(t, h.app.API(), "GET", "/sessions/1/transcript", "", &rows))
	var kinds []string
	for _, r := range rows {
		kinds = append(kinds, string(r.Kind))
		require.Empty(t, r.Item)
	}
	require.Equal(t, "user assistant tool tool event assistant", strings.Join(kinds, " "))
	require.Equal(t, "research cats", rows[0].Text)
	require.Contains(t, rows[1].Calls[0], "sessions_spawn(")
	require.Equal(t, "Done.", rows[5].Text)

	require.Equal(t, 200, call(t, h.app.API(), "GET", "/sessions/1/transcript?raw=true", "", &rows))
	require.Contains(t, string(rows[0].Item), `"text":"research cats"`)

	var whole, paged []app.RowView
	require.Equal(t, 200, call(t, h.app.API(), "GET", "/sessions/1/transcript?raw=true", "", &whole))
	for after := int64(0); ; after = paged[len(paged)-1].Row {
		var page []app.RowView
		require.Equal(t, 200, call(t, h.app.API(), "GET", fmt.Sprintf("/sessions/1/transcript?raw=true&limit=4&after=%d", after), "", &page))
		if len(page) == 0 {
			break
		}
		require.LessOrEqual(t, len(page), 4)
		paged = append(paged, page...)
	}
	require.Equal(t, whole, paged)
	for _, query := range []string{"limit=0", "after=x", "after=-1", "raw=perhaps"} {
		_, code := refused(t, h.app.API(), http.MethodGet, "/sessions/1/transcript?"+query, "")
		require.Equal(t, "bad_request", code)
	}
}

func TestAPISend(t *testing.T) {
	h := newHome(t, apiRules)
	h.start()
	defer h.stop()
	api := h.app.API()
	var first, again app.SentView
	body := `{"to": "console:default:main", "message": "the build is green", "key": "build-7"}`
	require.Equal(t, 200, call(t, api, "POST", "/send", body, &first))
	require.True(t, first.Fresh)
	h.expect(console.Main, "the build is green")
	require.Equal(t, 200, call(t, api, "POST", "/send", body, &again))
	require.Equal(t, app.SentView{ID: first.ID}, again)

	var sent app.OutboxDetail
	require.Eventually(t, func() bool {
		call(t, api, "GET", "/outbox/"+strconv.FormatInt(first.ID, 10), "", &sent)
		return sent.State == store.OutSent
	}, waitFor, tick)
	require.Equal(t, "the build is green", sent.Text)
	require.Len(t, sent.PlatformIDs, 1)
	_, code := refused(t, api, "POST", "/outbox/1/retry", "")
	require.Equal(t, "outbox_state", code, "what was sent is not sent again")
}

func TestAPIOutboxTrouble(t *testing.T) {
	h := newHome(t, apiRules)
	h.start()
	defer h.stop()
	api := h.app.API()
	var sent app.SentView
	require.Equal(t, 200, call(t, api, "POST", "/send", `{"to": "console:default:nowhere", "message": "lost"}`, &sent))
	path := "/outbox/" + strconv.FormatInt(sent.ID, 10)
	failed := func() bool {
		var view app.OutboxView
		call(t, api, "GET", path, "", &view)
		return view.State == store.OutFailed
	}
	require.Eventually(t, failed, waitFor, tick)
	var list []app.OutboxView
	call(t, api, "GET", "/outbox?state=failed", "", &list)
	require.Len(t, list, 1)
	require.NotEmpty(t, list[0].Error)

	var view app.OutboxView
	require.Equal(t, 200, call(t, api, "POST", path+"/retry", "", &view))
	require.Equal(t, store.OutQueued, view.State)
	require.Eventually(t, failed, waitFor, tick)
	require.Equal(t, 200, call(t, api, "POST", path+"/dismiss", "", &view))
	require.Equal(t, store.OutDismissed, view.State)
}

func TestAPIEndsABinding(t *testing.T) {
	h := researched(t)
	defer h.stop()
	api := h.app.API()
	var bindings []app.BindingView
	call(t, api, "GET", "/bindings", "", &bindings)
	var ended app.BindingView
	require.Equal(t, 200, call(t, api, "POST", "/bindings/"+bindings[0].ID+"/end", "", &ended))
	require.Equal(t, core.BindingEnded, ended.Status)
	require.Equal(t, core.EndManual, ended.EndReason)
	h.expect(console.Main, "not listening here any more")
	_, code := refused(t, api, "POST", "/bindings/"+bindings[0].ID+"/end", "")
	require.Equal(t, "binding_state", code)
	call(t, api, "GET", "/bindings?ended=true", "", &bindings)
	require.Len(t, bindings, 1)
}

func TestAPIStops(t *testing.T) {
	for _, c := range []struct{ name, path string }{
		{"a session", "/sessions/1/stop"}, {"a task", "/tasks/%s/cancel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t, apiRules)
			h.start()
			defer h.stop()
			api := h.app.API()
			h.say(console.Main, "", "research bees")
			h.expect(console.Main, "bees is here")
			var tasks []app.TaskView
			require.Eventually(t, func() bool {
				call(t, api, "GET", "/tasks", "", &tasks)
				return len(tasks) == 1 && tasks[0].Status == core.TaskRunning
			}, waitFor, tick)
			var stopped app.StopView
			path := strings.ReplaceAll(c.path, "%s", tasks[0].ID)
			require.Equal(t, 200, call(t, api, "POST", path, "", &stopped))
			require.Equal(t, 1, stopped.Tasks)
			call(t, api, "GET", "/tasks", "", &tasks)
			require.Equal(t, core.TaskCancelled, tasks[0].Status)
			_, code := refused(t, api, "POST", "/tasks/"+tasks[0].ID+"/cancel", "")
			require.Equal(t, "task_state", code)
		})
	}
}

func TestAPIReload(t *testing.T) {
	h := newHome(t, apiRules)
	load := func(text string) *config.Config {
		cfg, _, err := config.Parse(filepath.Join(h.dir, "skein.json5"), []byte(text), config.Options{})
		require.NoError(t, err)
		return cfg
	}
	next := baseConfig
	a, err := app.New(app.Options{
		Config: load(baseConfig), Channels: channels.New(console.Entry(h.hub)),
		LoadConfig: func() (*config.Config, error) {
			cfg, _, err := config.Parse(filepath.Join(h.dir, "skein.json5"), []byte(next), config.Options{})
			return cfg, err
		},
	})
	require.NoError(t, err)
	require.NoError(t, a.Start(t.Context()))
	defer func() { require.NoError(t, a.Stop(t.Context())) }()

	next = strings.Replace(baseConfig, "You help.", "You help a lot.", 1)
	var view app.ReloadView
	require.Equal(t, 200, call(t, a.API(), "POST", "/reload", "", &view))
	require.Len(t, view.Changes, 1)
	require.Contains(t, view.Changes[0], "agents.entries.main.instructions")

	next = strings.Replace(baseConfig, "skein.db", "other.db", 1)
	require.Equal(t, 200, call(t, a.API(), "POST", "/reload", "", &view))
	require.Len(t, view.Pending, 1)
	require.Contains(t, view.Pending[0], "store.url")
	require.Equal(t, []app.AccountReload{{Channel: "console", Account: "default", Result: app.ReloadUnchanged}}, view.Accounts)
	var state app.StatusView
	require.Equal(t, 200, call(t, a.API(), "GET", "/status", "", &state))
	require.Equal(t, view.Pending, state.Pending)
	require.Contains(t, state.Store, "skein.db", "the store in use stays")
	require.Empty(t, state.ConfigError)

	next = "{ agnets: 1 }"
	status, code := refused(t, a.API(), "POST", "/reload", "")
	require.Equal(t, "config_invalid", code)
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Equal(t, 200, call(t, a.API(), "GET", "/status", "", &state))
	require.Contains(t, state.ConfigError, "agnets: unknown key (did you mean agents?)")
	require.Equal(t, view.Pending, state.Pending, "what waits for a restart still does")
}

func TestAPIRefusals(t *testing.T) {
	h := researched(t)
	defer h.stop()
	api := h.app.API()
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code                     string
	}{
		{"no such path", "GET", "/nothing", "", 404, "not_found"},
		{"another method", "POST", "/tasks", "", 405, "method_not_allowed"},
		{"another method for a change", "GET", "/send", "", 405, "method_not_allowed"},
		{"no such session", "GET", "/sessions/agent:nobody", "", 404, "session_unknown"},
		{"no such session number", "GET", "/sessions/session:99", "", 404, "session_unknown"},
		{"several sessions", "GET", "/sessions/agent:", "", 409, "session_ambiguous"},
		{"no such task", "GET", "/tasks/ZZZ", "", 404, "task_unknown"},
		{"no such binding", "POST", "/bindings/ZZZ/end", "", 404, "binding_unknown"},
		{"no such message", "GET", "/outbox/999", "", 404, "outbox_unknown"},
		{"no message number", "GET", "/outbox/abc", "", 404, "outbox_unknown"},
		{"a limit that is none", "GET", "/tasks?limit=0", "", 400, "bad_request"},
		{"a limit that is too large", "GET", "/outbox?limit=1001", "", 400, "bad_request"},
		{"a flag that is none", "GET", "/sessions?archived=perhaps", "", 400, "bad_request"},
		{"another flag that is none", "GET", "/bindings?ended=perhaps", "", 400, "bad_request"},
		{"no state", "GET", "/outbox?state=lost", "", 400, "bad_request"},
		{"no body", "POST", "/send", "", 400, "bad_request"},
		{"an unknown field", "POST", "/send", `{"to":"a:b:c","message":"x","cc":"y"}`, 400, "bad_request"},
		{"more after the body", "POST", "/send", `{"to":"a:b:c","message":"x"} {}`, 400, "bad_request"},
		{"a body that is too large", "POST", "/send", `{"message":"` + strings.Repeat("x", 2<<20) + `"}`, 400, "bad_request"},
		{"no address", "POST", "/send", `{"to":"main","message":"x"}`, 400, "bad_address"},
		{"no such account", "POST", "/send", `{"to":"telegram:default:1","message":"x"}`, 404, "account_unknown"},
		{"nothing to send", "POST", "/send", `{"to":"console:default:main","message":"  "}`, 400, "message_empty"},
		{"no configuration to reload", "POST", "/reload", "", 422, "reload_unavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, code := refused(t, api, c.method, c.path, c.body)
			require.Equal(t, c.code, code)
			require.Equal(t, c.status, status)
		})
	}
}

func TestReadOnlyAPI(t *testing.T) {
	h := researched(t)
	var before, after []app.TaskView
	call(t, h.app.API(), "GET", "/tasks", "", &before)
	h.stop()

	cfg, _, err := config.Load(filepath.Join(h.dir, "skein.json5"), config.Options{})
	require.NoError(t, err)
	opts, err := store.ParseURL(cfg.Store.URL.Reveal())
	require.NoError(t, err)
	opts.World, opts.ReadOnly = world.New(clock.Real{}, nil, 1), true
	db, err := store.Open(t.Context(), opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	api := app.ReadOnlyAPI(db, cfg)
	require.Equal(t, 200, call(t, api, "GET", "/tasks", "", &after))
	require.Equal(t, before, after)

	var status app.StatusView
	require.Equal(t, 200, call(t, api, "GET", "/status", "", &status))
	require.False(t, status.Running)
	require.True(t, status.Idle)
	require.Equal(t, app.AccountOffline, status.Channels[0].State)
	for _, e := range app.Endpoints() {
		if e.Writes {
			got, code := refused(t, api, e.Method, strings.NewReplacer("{key}", "1", "{id}", "1").Replace(e.Path), "{}")
			require.Equal(t, "gateway_down", code, e.Path)
			require.Equal(t, http.StatusServiceUnavailable, got, e.Path)
		}
	}
}
