package convtest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/skein-bot/skein/convtest/script"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
)

// testCLI is a program whose commands a script can run.
func testCLI(_ context.Context, args []string, env CLIEnv) (string, int) {
	switch args[0] {
	case "echo":
		return strings.Join(args[1:], " ") + "\n", 0
	case "state":
		if env.App == nil || env.API == nil {
			return "down\n", 0
		}
		return "up\n", 0
	}
	return "no such thing\n", 3
}

// testStore is where the scripts play: see pgtest.Env.
func testStore() string { return os.Getenv(pgtest.Env) }

// TestScripts plays the scripts that must pass.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/pass/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			File(t, path, Options{RunCLI: testCLI, Store: testStore()})
		})
	}
}

// unstable is what differs from run to run in a report.
var unstable = regexp.MustCompile(`127\.0\.0\.1:\d+|"key":"[^"]*"`)

// TestReports plays the scripts that must fail, and compares what is printed
// about them with the file "report" of each.
func TestReports(t *testing.T) {
	paths, err := filepath.Glob("testdata/fail/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			var out bytes.Buffer
			sum, err := Run(t.Context(), Options{Paths: []string{path}, Out: &out, RunCLI: testCLI, Store: testStore()})
			require.NoError(t, err)
			got := unstable.ReplaceAllString(out.String(), "...")
			last := &archive.Files[len(archive.Files)-1]
			require.Equal(t, "report", last.Name)
			if os.Getenv("UPDATE_GOLDEN") != "" {
				last.Data = []byte(got)
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o600))
			}
			require.Equal(t, string(last.Data), got)
			code := 1
			if strings.HasPrefix(filepath.Base(path), "bad-") {
				code = 2
			}
			require.Equal(t, code, sum.ExitCode())
		})
	}
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	sum, err := Run(t.Context(), Options{
		Paths: []string{"testdata/pass/model.txtar", "testdata/fail/next.txtar", "testdata/fail/bad-lines.txtar"}, Out: &out, JSON: true, Repeat: 2, Seed: 7,
		Store: testStore(),
	})
	require.NoError(t, err)
	require.Equal(t, 2, sum.ExitCode())
	var got Summary
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	require.Equal(t, sum, got)
	require.Equal(t, []int{1, 1, 1}, []int{got.Passed, got.Failed, got.Bad})
	require.Equal(t, uint64(7), got.Seed)
	bad, failed, passed := got.Files[0], got.Files[1], got.Files[2]
	require.Equal(t, Bad, bad.Status)
	require.Contains(t, bad.Problems[0], "testdata/fail/bad-lines.txtar:1: expected")
	require.Equal(t, Fail, failed.Status)
	require.Equal(t, uint64(7), failed.Failure.Seed)
	require.Equal(t, 1, failed.Plays)
	require.Equal(t, Pass, passed.Status)
	require.Equal(t, 2, passed.Plays)
}

func TestTheModelsRequestIsShown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.txtar")
	require.NoError(t, os.WriteFile(path, []byte("alice @ console/team: hello\nmodel /goodbye/\n"), 0o600))
	sum, err := Run(t.Context(), Options{Paths: []string{path}, Store: testStore()})
	require.NoError(t, err)
	require.Equal(t, "the last request to the model to contain /goodbye/", sum.Files[0].Failure.Expected)
	seen := strings.Join(sum.Files[0].Failure.Seen, "\n")
	require.Regexp(t, `(?m)^tools:.* sessions_spawn`, seen)
	require.Regexp(t, `(?s)user: .*hello$`, seen)
}

func TestTranscript(t *testing.T) {
	var out bytes.Buffer
	_, err := Run(t.Context(), Options{Paths: []string{"testdata/pass/lives.txtar"}, Out: &out, Verbose: true, Store: testStore()})
	require.NoError(t, err)
	require.Contains(t, out.String(), `
       +0s  console/main  alice: hello
       +0s  console/main  bot: ok: hello
       +0s  --- kill
       +0s  console/main  alice: are you there?
   +1h0m0s  --- start
   +1h0m0s  console/main  bot: ok: are you there?
   +1h0m0s  console/main  alice: one
   +1h0m0s  --- killed at turn.before-end
`)
}

// TestKillAtEveryPass kills a conversation at each pass of a crash point, one
// after the other.
func TestKillAtEveryPass(t *testing.T) {
	const text = `alice @ console/main: hello
console/main < /^ok: hello$/
console/main < nothing
alice @ console/main: and again
console/main < /^ok: and again$/
console/main < nothing
model calls 2
`
	path := filepath.Join(t.TempDir(), "hello.txtar")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	s := parseFile(t, path)
	var o Options
	if testStore() != "" {
		o.places, _ = store.NewScratches(testStore())
		defer func() { require.NoError(t, o.places.Close(context.Background())) }()
	}
	p := &play{script: s, seed: 1, opts: o}
	dry, err := p.run(t.Context())
	require.NoError(t, err)
	require.Greater(t, dry.passes, 10)
	points := make(map[string]bool)
	for at := 1; at <= dry.passes; at++ {
		p := &play{script: s, seed: uint64(at), killAt: at, opts: o}
		result, err := p.run(t.Context())
		require.NoError(t, err, "killed at pass %d, %s", at, result.killed)
		points[result.killed] = true
	}
	require.GreaterOrEqual(t, len(points), 7, "what runs at the same time passes in any order, but most points were met: %v", points)
}

func TestRaceKill(t *testing.T) {
	var out bytes.Buffer
	sum, err := Run(t.Context(), Options{
		Paths: []string{"testdata/pass/model.txtar", "testdata/race"}, Out: &out, RaceKill: true, Repeat: 5, Seed: 3,
		Store: testStore(),
	})
	require.NoError(t, err)
	require.Zero(t, sum.ExitCode(), out.String())
	require.Equal(t, 6, sum.Files[0].Plays)
	require.Positive(t, sum.Files[0].Kills)
	off := sum.Files[1]
	require.Equal(t, 1, off.Plays)
	require.Equal(t, "it counts what a kill repeats", off.NoRaceKill)
	require.Contains(t, out.String(), "without kills: it counts what a kill repeats")
	require.Contains(t, out.String(), "2 passed, seed 3")
}

func parseFile(t *testing.T, path string) *script.Script {
	t.Helper()
	src, err := os.ReadFile(path)
	require.NoError(t, err)
	s, err := script.Parse(path, src)
	require.NoError(t, err)
	return s
}

// TestManual holds the manual to what is built in.
func TestManual(t *testing.T) {
	manual, err := os.ReadFile("../docs/testing.md")
	require.NoError(t, err)
	require.Contains(t, string(manual), string(openConfig))
	require.Contains(t, string(manual), start().Format("Monday, 2 January 2006, 15:04 MST"))
}

func TestWhatCannotBePlayed(t *testing.T) {
	_, err := Run(t.Context(), Options{Paths: []string{t.TempDir()}})
	require.ErrorIs(t, err, ErrNoScripts)
	_, err = Run(t.Context(), Options{Paths: []string{"testdata/nothing.txtar"}})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Run(t.Context(), Options{Paths: []string{"testdata/pass"}, StateDir: t.TempDir()})
	require.EqualError(t, err, "a store can be kept of one script, played once")
}

// A script can run on another configuration, and leave its store behind.
func TestBaseAndStateDir(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	base := write("base.json5", `{
		models: { providers: { demo: { type: "scripted", file: "rules.json5" } } },
		agents: { defaults: { model: "demo/any" } },
		channels: { console: { dmPolicy: "open", groupPolicy: "open", requireMention: false } },
	}`)
	write("rules.json5", `{ rules: [{ say: "Hello from the base." }] }`)
	first := write("first.txtar", "alice @ console/team: hello\nconsole/team < /from the base/\n")
	File(t, first, Options{Base: base, StateDir: state})
	require.FileExists(t, filepath.Join(state, "skein.db"))
}

func TestACrashPointThatIsNotPassedIsReported(t *testing.T) {
	for name, text := range map[string]string{
		"never":    "crash archive.before\nalice @ console/team: hello\nconsole/team < /ok/\n",
		"at start": "crash archive.before\nstart\nalice @ console/team: hello\nconsole/team < /ok/\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "crash.txtar")
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			var out bytes.Buffer
			sum, err := Run(t.Context(), Options{Paths: []string{path}, Out: &out, Store: testStore()})
			require.NoError(t, err)
			require.Equal(t, 0, sum.ExitCode())
			require.Equal(t, []string{"archive.before"}, sum.Files[0].Unpassed)
			require.Contains(t, out.String(), "never passed: archive.before")
		})
	}
}
