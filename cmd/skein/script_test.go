package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
	"github.com/skein-bot/skein/core/world"
)

// TestMain lets the test binary stand for the program: scripts run it as
// `skein`, in a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){"skein": main})
}

// leakChecked fails a run that leaves goroutines behind.
type leakChecked struct{ *testing.M }

func (l leakChecked) Run() int {
	code := l.M.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// TestScripts runs the command line as people do. Besides testscript's own
// commands there are
//
//	exits N skein ARGS...   it ends with exactly that code
//	ready FOLDER            a gateway serves the state folder
//	await FILE PATTERN      the file holds that text
//	reload FOLDER           the gateway reads its configuration again
//	task FILE NAME          sets NAME to the id of the first task of a list in JSON
//	untold FILE ID RESULT   ends that task of the store of a configuration; nobody was told
//	lose FILE ID            nothing moves that running task of it any more
//	newer STORE             the SQLite store was written by a newer version
//	openai                  a model service; sets OPENAI_BASE_URL and OPENAI_API_KEY
//	anthropic               another; sets ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY
//
// Their stores are on the database of pgtest.Env, where it is set.
func TestScripts(t *testing.T) { testscript.Run(t, scripts("testdata/script", onTestDatabase)) }

// TestSQLiteScripts runs what is true of SQLite only.
func TestSQLiteScripts(t *testing.T) {
	testscript.Run(t, scripts("testdata/sqlite", func(*testscript.Env) error { return nil }))
}

// TestPostgresScripts runs what is true of PostgreSQL only, where pgtest.Env
// names a server.
func TestPostgresScripts(t *testing.T) {
	if os.Getenv(pgtest.Env) != "" {
		testscript.Run(t, scripts("testdata/postgres", onTestDatabase))
	}
}

// onTestDatabase puts the stores of a script's configurations into new
// databases where pgtest.Env names a server; one file's store is one database.
func onTestDatabase(e *testscript.Env) error {
	if os.Getenv(pgtest.Env) == "" {
		return nil
	}
	urls := make(map[string]string)
	return filepath.WalkDir(e.WorkDir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json5" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		placed := regexp.MustCompile(`sqlite:[\w/]*skein\.db`).ReplaceAllStringFunc(string(text), func(file string) string {
			if urls[file] == "" {
				urls[file] = pgtest.StoreURL(e.T().(pgtest.TB), file)
			}
			return urls[file]
		})
		return os.WriteFile(path, []byte(placed), 0o600)
	})
}

func scripts(dir string, stores func(*testscript.Env) error) testscript.Params {
	return testscript.Params{
		Dir: dir, RequireExplicitExec: true, RequireUniqueNames: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scriptExits, "ready": scriptReady, "await": scriptAwait, "newer": scriptNewer, "reload": scriptReload, "task": scriptTask,
			"untold": scriptUntold, "lose": scriptLose,
			"openai": scriptOpenAI, "anthropic": scriptAnthropic,
		},
		Setup: func(e *testscript.Env) error {
			for _, name := range []string{"SKEIN_CONFIG", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "NO_COLOR"} {
				e.Setenv(name, "")
			}
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("TZ", "UTC")
			return stores(e)
		},
	}
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N command args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// scriptLimit is how long a script waits for what has to come.
const scriptLimit = time.Minute

// until waits until ok holds.
func until(ts *testscript.TestScript, what string, ok func() bool) {
	c := clock.Real{}
	limit := c.Now().Add(scriptLimit)
	for !ok() {
		if c.Now().After(limit) {
			ts.Fatalf("%s: not within %s", what, scriptLimit)
		}
		<-c.NewTimer(5 * time.Millisecond).C()
	}
}

func scriptReady(ts *testscript.TestScript, _ bool, args []string) {
	c := socketClient(ts.MkAbs(args[0]))
	defer c.CloseIdleConnections()
	until(ts, "the gateway is ready", func() bool {
		var status app.StatusView
		asked := client{http: c}
		return asked.get(context.Background(), "/status", nil, &status) == nil && status.ReadyAt != 0
	})
}

func scriptReload(ts *testscript.TestScript, _ bool, args []string) {
	c := socketClient(ts.MkAbs(args[0]))
	defer c.CloseIdleConnections()
	asked := client{http: c}
	ts.Check(asked.post(context.Background(), "/reload", nil, new(json.RawMessage)))
}

func scriptAwait(ts *testscript.TestScript, _ bool, args []string) {
	until(ts, args[1], func() bool {
		content, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && strings.Contains(string(content), args[1])
	})
}

func scriptTask(ts *testscript.TestScript, _ bool, args []string) {
	var tasks []app.TaskView
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &tasks))
	ts.Setenv(args[1], tasks[0].ID)
}

// scriptUntold ends a task in the store of a configuration, which no gateway has
// open, as one whose outcome nobody was told.
func scriptUntold(ts *testscript.TestScript, _ bool, args []string) {
	scriptChange(ts, args[0], args[1], func(tx *store.Tx, run core.Run, now core.Millis) error {
		if _, err := tx.EndRun(run.ID, core.RunOK, "", args[2], false, core.DeliveryPending, now); err != nil {
			return err
		}
		return tx.SetDelivery(run.ID, core.DeliveryBlocked, "", now)
	})
}

func scriptLose(ts *testscript.TestScript, _ bool, args []string) {
	scriptChange(ts, args[0], args[1], func(tx *store.Tx, run core.Run, now core.Millis) error {
		turn, err := tx.RunningTurn(run.Session)
		if err != nil {
			return err
		}
		if err := tx.EndTurn(turn.ID, store.TurnDead, "", core.Usage{}, now); err != nil {
			return err
		}
		return tx.ReleaseSession(run.Session, false, now)
	})
}

// scriptChange changes a task of the store of a configuration.
func scriptChange(ts *testscript.TestScript, file, task string, change func(tx *store.Tx, run core.Run, now core.Millis) error) {
	e := &env{stdout: io.Discard, stderr: io.Discard, lookup: os.LookupEnv, clock: clock.Real{}, configFlag: ts.MkAbs(file), dir: ts.MkAbs(".")}
	cfg, err := e.load()
	ts.Check(err)
	where, err := store.ParseURL(cfg.Store.URL.Reveal())
	ts.Check(err)
	where.World = world.New(e.clock, nil, 0)
	db, err := store.Open(context.Background(), where)
	ts.Check(err)
	err = db.Write(context.Background(), func(tx *store.Tx) error {
		run, err := tx.RunByTask(task)
		if err != nil {
			return err
		}
		return change(tx, run, where.World.Now())
	})
	ts.Check(errors.Join(err, db.Close()))
}

func scriptNewer(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
	ts.Check(errors.Join(err, db.Close()))
}

// scriptOpenAI serves one model that says the same whatever it is asked.
func scriptOpenAI(ts *testscript.TestScript, _ bool, _ []string) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"object":"list","data":[{"id":"first-model","object":"model"},{"id":"second-model","object":"model"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a real answer to %s\"}}]}\n\n", r.Header.Get("Authorization"))
		_, _ = fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	})
	server := httptest.NewServer(mux)
	ts.Defer(server.Close)
	ts.Setenv("OPENAI_BASE_URL", server.URL+"/v1")
	ts.Setenv("OPENAI_API_KEY", "sesame")
}

// scriptAnthropic serves models that say their name and the key.
func scriptAnthropic(ts *testscript.TestScript, _ bool, _ []string) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&asked)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"%s answers %s\"}}\n\n",
			asked.Model, r.Header.Get("X-Api-Key"))
		_, _ = fmt.Fprint(w, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	})
	server := httptest.NewServer(mux)
	ts.Defer(server.Close)
	ts.Setenv("ANTHROPIC_BASE_URL", server.URL)
	ts.Setenv("ANTHROPIC_API_KEY", "mellon")
}

func TestEveryCommandIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/cli.md")
	require.NoError(t, err)
	documented := func(text string) bool { return strings.Contains(string(page), text) }
	for _, cmd := range newRoot(&env{}).Commands() {
		require.NotEmpty(t, cmd.Short, cmd.CommandPath())
		require.True(t, documented(cmd.CommandPath()), "%s is not in docs/cli.md", cmd.CommandPath())
		for _, sub := range cmd.Commands() {
			require.NotEmpty(t, sub.Short, sub.CommandPath())
			require.True(t, documented(cmd.Name()+" "+sub.Name()), "%s is not in docs/cli.md", sub.CommandPath())
		}
	}
}
