package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/config/json5"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noEnv is an environment without any variable.
func noEnv(string) (string, bool) { return "", false }

// parse reads a document that must be right.
func parse(t *testing.T, src string) *config.Config {
	t.Helper()
	c, _, err := config.Parse("<test>", []byte(src), config.Options{Env: noEnv, Home: "/home/skein", Built: config.AllParts()})
	require.NoError(t, err)
	return c
}

func ExampleParse() {
	src := `{
  models: { providers: { demo: { type: "scripted" } } },
  agents: { defaults: { model: "demo/any", maxStep: 10 } },
}`
	_, _, err := config.Parse("skein.json5", []byte(src), config.Options{})
	fmt.Println(err)
	// Output: skein.json5:3:44: agents.defaults.maxStep: unknown key (did you mean maxSteps?)
}

func ExampleConfig_ThreadBindings() {
	c, _, err := config.Parse("", []byte(`{
  session: { threadBindings: { idleHours: 0.5, maxAgeHours: 12 } },
  channels: { console: { threadBindings: { maxAgeHours: 0 } } },
}`), config.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	rules := c.ThreadBindings("console", "default")
	fmt.Println(rules.Idle, rules.MaxAge)
	// Output: 30m0s 0s
}

func TestSampleValidates(t *testing.T) {
	c, warnings, err := config.Load("testdata/sample.json5", config.Options{Env: noEnv, Home: "/home/skein"})
	require.NoError(t, err)
	for _, w := range warnings {
		require.Contains(t, w.String(), "not in this build")
	}
	require.Equal(t, "/home/skein/.skein", c.StateDir())
	require.Equal(t, "/home/skein/.skein/skein.db", first(c.Store.URL.SQLitePath()))
	require.Equal(t, "testdata/work", c.Agents.Entries["main"].Workspace, "paths are relative to the file")

	access := c.Access("telegram", "default")
	require.Equal(t, "main", access.Groups["-100123"].Topics["7"].AgentID)
	require.Equal(t, config.DMOpen, access.DMPolicy)
	_, provider, model, ok := c.Model("local/m1")
	require.True(t, ok)
	require.Equal(t, "$LOCAL_KEY", "$"+provider.APIKey.Origin()[len("env "):])
	require.InDelta(t, 0.05, model.Cost.CacheRead.Or(0), 0)
	require.False(t, model.Cost.CacheWrite.IsSet(), "an absent price is unknown, not free")
	require.NoError(t, c.ResolveSecrets(config.Options{Env: func(name string) (string, bool) {
		require.Contains(t, []string{"LOCAL_KEY", "ANTHROPIC_API_KEY"}, name, "secrets of parts that are not built are not asked for")
		return "k", true
	}}))
}

func first[T any](v T, _ bool) T { return v }

func TestDefaultIsWhatAnEmptyFileMeans(t *testing.T) {
	c := config.Default()
	require.Equal(t, config.DefaultAgentID, c.DefaultAgent())
	a, ok := c.Agent("main")
	require.True(t, ok)
	require.Equal(t, 50, a.MaxSteps)
	require.Equal(t, config.ThinkingOff, a.Thinking)
	require.Equal(t, config.SubagentSettings{
		MaxSpawnDepth: 1, MaxChildrenPerAgent: 5, MaxTreeRuns: 16, AnnounceTimeout: 2 * time.Minute,
		ArchiveAfter: time.Hour, ForkMaxTokens: 100000, DelegationMode: config.DelegationSuggest,
	}, a.Subagents)
	require.Equal(t, 16, c.Agents.Defaults.MaxConcurrent)
	require.Equal(t, 8, c.Agents.Defaults.Subagents.MaxConcurrent)
	require.Equal(t, 60, c.Models.StallSeconds)
	require.Equal(t, 120, c.Tools.TimeoutSeconds)
	require.Equal(t, 30, c.Gateway.ShutdownGraceSeconds)
	require.Equal(t, config.DMScopePerChannelPeer, c.Session.DMScope)
	require.Equal(t, config.ThreadBindingRules{
		Enabled: true, Idle: 24 * time.Hour, SpawnSessions: true, DefaultSpawnContext: config.SpawnFork,
		Placement: config.PlacementAuto, OnEnd: config.OnEndKeep, OnLate: config.OnLateFallthrough,
		KeepEnded: 7 * 24 * time.Hour, MaxPerUser: 20,
	}, c.ThreadBindings("console", "default"))
	require.Equal(t, config.QueueRules{
		Mode: config.QueueSteer, Debounce: 500 * time.Millisecond, Cap: 20, Overflow: config.OverflowSummarize,
	}, c.Queue("console", "default"))
	require.Equal(t, config.PerUserLimits{MessagesPerMinute: 20}, c.UserLimits("console", "default"))
	require.Equal(t, config.AmbiguousResend, c.Delivery.OnAmbiguous.Final)
	require.Equal(t, config.AmbiguousHold, c.Delivery.OnAmbiguous.Other)
	require.Empty(t, c.Channels.Names())
	require.Empty(t, c.Files())
}

func TestFindOrder(t *testing.T) {
	t.Chdir(t.TempDir())
	home := t.TempDir()
	env := map[string]string{}
	opts := config.Options{Home: home, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}

	_, err := config.Find("", opts)
	require.ErrorIs(t, err, config.ErrNotFound)
	require.ErrorContains(t, err, "skein init")

	inHome := filepath.Join(home, ".skein", "skein.json5")
	require.NoError(t, os.MkdirAll(filepath.Dir(inHome), 0o700))
	require.NoError(t, os.WriteFile(inHome, []byte("{}"), 0o600))
	require.NoError(t, os.WriteFile("skein.json5", []byte("{}"), 0o600))
	env["SKEIN_CONFIG"] = "/from/env.json5"

	want := []string{"/explicit.json5", "/from/env.json5", "skein.json5", inHome}
	got := make([]string, 0, len(want))
	find := func(explicit string) {
		name, err := config.Find(explicit, opts)
		require.NoError(t, err)
		got = append(got, name)
	}
	find("/explicit.json5")
	find("")
	delete(env, "SKEIN_CONFIG")
	find("")
	require.NoError(t, os.Remove("skein.json5"))
	find("")
	require.Equal(t, want, got)
}

func TestLoadOfAMissingFile(t *testing.T) {
	_, _, err := config.Load(filepath.Join(t.TempDir(), "none.json5"), config.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "skein init")
}

// TestB351_LoadLeavesTheFileAlone pins that reading never writes.
func TestB351_LoadLeavesTheFileAlone(t *testing.T) {
	name := filepath.Join(t.TempDir(), "skein.json5")
	src := []byte("{ // mine\n  agents: {},\r\n}")
	require.NoError(t, os.WriteFile(name, src, 0o400))
	_, _, err := config.Load(name, config.Options{})
	require.NoError(t, err)
	after, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, src, after)
}

// TestB353_FilesNameEveryInclude pins what a watcher has to watch.
func TestB353_FilesNameEveryInclude(t *testing.T) {
	dir := t.TempDir()
	write := func(name, src string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(src), 0o600))
		return path
	}
	root := write("skein.json5", `{ agents: { $include: "parts/agents.json5", defaults: { maxSteps: 7 } } }`)
	agents := write("parts/agents.json5", `{ $include: "common.json5", entries: { main: { instructions: "main.md" } } }`)
	common := write("parts/common.json5", `{ defaults: { maxSteps: 5, timeoutSeconds: 9 } }`)
	write("parts/main.md", "Be kind.")

	c, _, err := config.Load(root, config.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{root, agents, common}, c.Files())
	require.Equal(t, root, c.Path())
	require.Equal(t, 7, c.Agents.Defaults.MaxSteps, "keys beside an include are laid over it")
	require.Equal(t, 9, c.Agents.Defaults.TimeoutSeconds)
	text, err := c.Instructions("main", config.Options{})
	require.NoError(t, err)
	require.Equal(t, "Be kind.", text, "relative to the file that names it")
	_, err = c.Instructions("ghost", config.Options{})
	require.ErrorIs(t, err, config.ErrUnknownAgent)
}

// TestLayOver shows what conversation tests do: look at a key of their own,
// take it out, lay the file over a base, decode.
func TestLayOver(t *testing.T) {
	base, err := config.ParseTree("<open>", []byte(`{
  models: { providers: { scripted: { type: "scripted" } } },
  agents: { defaults: { model: "scripted/any" }, entries: { main: { default: true } } },
  channels: { console: { dmPolicy: "open", requireMention: false } },
}`), config.Options{})
	require.NoError(t, err)
	over, err := config.ParseTree("case/skein.json5", []byte("{ $open: true,\n  channels: { console: { requireMention: true } },\n  agents: { defaults: { maxSteps: 0 } },\n}"), config.Options{})
	require.NoError(t, err)

	require.True(t, over.Tree.Remove("$open").Bool)
	merged := json5.Merge(base.Tree, over.Tree)
	_, _, err = config.Decode(merged, config.Options{})
	require.EqualError(t, err, "case/skein.json5:3:35: agents.defaults.maxSteps: expected a whole number from 1 to 1000, found 0")

	merged.At("agents", "defaults").Remove("maxSteps")
	c, _, err := config.Decode(merged, config.Options{})
	require.NoError(t, err)
	access := c.Access("console", "default")
	require.True(t, access.RequireMention)
	require.Equal(t, config.DMOpen, access.DMPolicy)
}

// TestB349_FalseAndZeroSurvive pins that what is switched off stays off through
// encoding and decoding.
func TestB349_FalseAndZeroSurvive(t *testing.T) {
	c := parse(t, `{
  session: { threadBindings: { enabled: false, idleHours: 0, maxPerUser: 0 } },
  agents: { defaults: { subagents: { maxTreeRuns: 0, archiveAfterMinutes: 0 } } },
  channels: { console: { enabled: false, requireMention: false } },
  gateway: { shutdownGraceSeconds: 0 },
  messages: { historyLimit: 0, queue: { debounceMs: 0 } },
}`)
	text, err := json.Marshal(c)
	require.NoError(t, err)
	again := parse(t, string(text))
	for _, c := range []*config.Config{c, again} {
		rules := c.ThreadBindings("console", "default")
		require.False(t, rules.Enabled)
		require.Zero(t, rules.Idle)
		require.Zero(t, rules.MaxPerUser)
		a, _ := c.Agent("main")
		require.Zero(t, a.Subagents.MaxTreeRuns)
		require.Zero(t, a.Subagents.ArchiveAfter)
		require.False(t, c.Channels.Console.Enabled)
		require.False(t, c.Access("console", "default").RequireMention)
		require.Zero(t, c.Gateway.ShutdownGraceSeconds)
		require.Zero(t, c.Messages.HistoryLimit)
		require.Zero(t, c.Queue("console", "default").Debounce)
	}
	require.Empty(t, config.Diff(c, again))
}

// BenchmarkParse measures what a start spends on its configuration.
func BenchmarkParse(b *testing.B) {
	src, err := os.ReadFile("testdata/sample.json5")
	require.NoError(b, err)
	opts := config.Options{Env: noEnv, Home: "/home/skein", Built: config.AllParts()}
	for b.Loop() {
		if _, _, err := config.Parse("<bench>", src, opts); err != nil {
			b.Fatal(err)
		}
	}
}
