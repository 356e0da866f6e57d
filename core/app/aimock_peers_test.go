//go:build peers

package app_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/clock"
)

// aimockFixtures is what the independent model service answers.
const aimockFixtures = `{"fixtures":[
  {"match":{"userMessage":"tool turn","hasToolResult":false},"response":{"toolCalls":[{"name":"sessions_yield","arguments":"{}"}]}},
  {"match":{"userMessage":"tool turn","hasToolResult":true},"response":{"content":"The tool has answered."}},
  {"match":{"userMessage":"hello"},"response":{"content":"Hello from another project: héllo €🎉, in many small pieces."}}
]}`

// aimock starts @copilotkit/aimock with these flags and returns its address.
// `make peers` installs it and says where in SKEIN_AIMOCK.
func aimock(t *testing.T, flags ...string) string {
	t.Helper()
	cli := filepath.Join(os.Getenv("SKEIN_AIMOCK"), "node_modules", "@copilotkit", "aimock", "dist", "cli.js")
	require.FileExists(t, cli, "run `make peers`, which installs it")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "all.json"), []byte(aimockFixtures), 0o600))
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	require.NoError(t, free.Close())
	args := append([]string{cli, "-p", strconv.Itoa(port), "-f", dir, "--log-level", "warn", "--chunk-size", "3"}, flags...)
	node := filepath.Join(os.Getenv("SKEIN_AIMOCK"), "node_modules", ".bin", "node")
	if _, err := os.Stat(node); err != nil {
		node = "node"
	}
	cmd := exec.Command(node, args...)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address := "http://127.0.0.1:" + strconv.Itoa(port)
	for range 200 {
		if resp, err := http.Get(address + "/__aimock/journal"); err == nil {
			require.NoError(t, resp.Body.Close())
			return address
		}
		require.NoError(t, clock.Real{}.Sleep(t.Context(), 50*time.Millisecond))
	}
	t.Fatal("aimock does not answer")
	return ""
}

// TestPeerModel: an independent model service in both protocols: streamed text,
// a turn with a tool, and each of its chaos flags. The person gets an answer or
// a line that says what failed, never silence.
func TestPeerModel(t *testing.T) {
	const (
		hello = "Hello from another project: héllo €🎉, in many small pieces."
		tool  = "The tool has answered."
	)
	for _, c := range []struct {
		name        string
		flags       []string
		hello, tool string
	}{
		{"well", nil, hello, tool},
		{"latency", []string{"--chaos-latency", "300", "--latency", "5"}, hello, tool},
		{"drop", []string{"--chaos-drop", "1"}, saysTrouble500, saysTrouble500},
		{"malformed", []string{"--chaos-malformed", "1"}, saysBroken, saysBroken},
		{"disconnect", []string{"--chaos-disconnect", "1"}, saysUnreached, saysUnreached},
		{"rate limit", []string{"--chaos-ratelimit", "1"}, saysLimited1s, saysLimited1s},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := aimock(t, c.flags...)
			for kind, base := range map[string]string{"openai": address + "/v1", "anthropic": address} {
				s := newScene(t, fmt.Sprintf(`{
  models: { providers: { x: { type: %q, baseUrl: %q, apiKey: "k" } } },
  agents: { defaults: { model: "x/gpt-4o" } } }`, kind, base), "")
				s.say("team", "hello")
				s.pass(time.Minute)
				require.Equal(t, []string{c.hello}, s.told("team"), kind)
				s.say("team", "/new")
				s.say("dm:alice", "tool turn")
				s.pass(time.Minute)
				require.Equal(t, []string{c.tool}, s.told("dm:alice"), kind)
				s.stop()
			}
		})
	}
}

// TestPeerModelNowAndThen: of a service that fails half of the time most
// messages are answered, and every one of them gets a line.
func TestPeerModelNowAndThen(t *testing.T) {
	address := aimock(t, "--chaos-drop", "0.2", "--chaos-disconnect", "0.2", "--chaos-ratelimit", "0.1")
	s := newScene(t, fmt.Sprintf(`{
  models: { providers: { x: { type: "openai", baseUrl: %q, apiKey: "k" } } },
  agents: { defaults: { model: "x/gpt-4o" } } }`, address+"/v1"), "")
	const messages = 20
	for n := range messages {
		s.say("team", "hello")
		s.pass(2 * time.Minute)
		require.Len(t, s.told("team"), n+1)
	}
	answered := 0
	for _, text := range s.told("team") {
		if text == "Hello from another project: héllo €🎉, in many small pieces." {
			answered++
		}
	}
	require.Greater(t, answered, messages*3/4)
	s.stop()
}
