package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/model/modeltest"
	"github.com/skein-bot/skein/core/store"
)

// keyed starts a scene whose providers "x" (OpenAI) and "y" (Anthropic) are a
// service that knows keys. auth is what the agent "main" has of its own.
func keyed(t *testing.T, auth, rest string) (*scene, *modeltest.Server) {
	t.Helper()
	service := modeltest.New()
	t.Cleanup(service.Close)
	for _, m := range []string{"m", "n"} {
		service.On(m, modeltest.ByKey(map[string]modeltest.Answer{
			"key-shared": modeltest.Say("for all"), "key-main": modeltest.Say("for main"), "key-new": modeltest.Say("for main, anew"),
			"key-busy": modeltest.Refuse(http.StatusTooManyRequests, "rate_limit_error", "slower, key-busy", "Retry-After", "600"),
			"key-big":  modeltest.Refuse(http.StatusBadRequest, "invalid_request_error", "what is this?"),
		}))
	}
	return newScene(t, keyedSettings(service, auth, rest), `{when: {user: "/^send (\\w+)$/"}, call: [{tool: "sessions_spawn", args: {task: "say it", label: "it", agentId: "$1", model: "x/m"}}]},
  {when: {lastTool: "sessions_spawn"}, say: "sent"}, {when: {event: "/(for [a-z, ]+)/"}, say: "it says: $1"},`), service
}

func keyedSettings(service *modeltest.Server, auth, rest string) string {
	return fmt.Sprintf(`{
  models: { providers: {
    x: { type: "openai", baseUrl: %q, apiKey: "key-shared" },
    y: { type: "anthropic", baseUrl: %q, apiKey: "key-shared" },
  } },
  agents: { defaults: { model: "x/m" }, entries: { main: { default: true, auth: %s } } } %s }`,
		modeltest.OpenAI.Base(service), modeltest.Anthropic.Base(service), auth, rest)
}

// TestCredentialsOfAnAgent: its own credential comes first; the shared one is
// one more way to ask, unless the agent is isolated.
func TestCredentialsOfAnAgent(t *testing.T) {
	const refused = "credentials were refused"
	for _, c := range []struct {
		name, auth string
		first      []string // the keys that are asked with for the first message
		second     []string // for the second one, at once
		third      []string // for the third one, after the cooldown
		told       string   // each time, or a part of it
	}{
		{"none of its own", `{}`, []string{"key-shared"}, []string{"key-shared"}, []string{"key-shared"}, "for all"},
		{"its own", `{ providers: { x: { apiKey: "key-main" } } }`, []string{"key-main"}, []string{"key-main"}, []string{"key-main"}, "for main"},
		{"for another provider", `{ providers: { y: { apiKey: "key-main" } } }`, []string{"key-shared"}, []string{"key-shared"}, []string{"key-shared"}, "for all"},
		{
			"its own is refused", `{ providers: { x: { apiKey: "key-wrong" } } }`,
			[]string{"key-wrong", "key-shared"}, []string{"key-shared"}, []string{"key-wrong", "key-shared"}, "for all",
		},
		{
			"its own is limited", `{ providers: { x: { apiKey: "key-busy" } } }`,
			[]string{"key-busy", "key-shared"}, []string{"key-shared"}, []string{"key-busy", "key-shared"}, "for all",
		},
		{
			"the request is what is wrong", `{ providers: { x: { apiKey: "key-big" } } }`,
			[]string{"key-big"}, []string{"key-big"}, []string{"key-big"}, "it refused the request as malformed",
		},
		{
			"isolated", `{ mode: "isolated", providers: { x: { apiKey: "key-main" } } }`,
			[]string{"key-main"}, []string{"key-main"}, []string{"key-main"}, "for main",
		},
		{
			"isolated and refused", `{ mode: "isolated", providers: { x: { apiKey: "key-wrong" } } }`,
			[]string{"key-wrong"}, []string{"key-wrong"}, []string{"key-wrong"}, refused,
		},
		{
			"the same as the shared one", `{ providers: { x: { apiKey: "key-shared" } } }`,
			[]string{"key-shared"}, []string{"key-shared"}, []string{"key-shared"}, "for all",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, service := keyed(t, c.auth, "")
			for n, keys := range [][]string{c.first, c.second, c.third} {
				s.say("team", fmt.Sprint("message ", n))
				s.pass(time.Second)
				require.Equal(t, keys, service.Keys())
				told := s.told("team")
				require.Len(t, told, n+1)
				require.Contains(t, told[n], c.told)
				if n == 1 {
					s.pass(11 * time.Minute)
				}
			}
		})
	}
}

// TestCredentialsOfAnthropic: the header is the protocol's own.
func TestCredentialsOfAnthropic(t *testing.T) {
	s, service := keyed(t, `{ providers: { y: { apiKey: "key-wrong" } } }`, `, messages: { language: "en" }`)
	s.say("team", "/new y/m")
	s.say("team", "hello")
	require.Equal(t, []string{"key-wrong", "key-shared"}, service.Keys())
	require.Equal(t, "for all", s.told("team")[1])
}

// TestCredentialsAreThoseOfTheAgent: not of the session or of who asked; a limit
// of one credential is none of another.
func TestCredentialsAreThoseOfTheAgent(t *testing.T) {
	s, service := keyed(t, `{}`, "")
	entries := `{
    main: { default: true, model: "demo/m", subagents: { allowAgents: ["*"] }, auth: { mode: "isolated", providers: { x: { apiKey: "key-main" } } } },
    other: { fallbacks: [], auth: { providers: { x: { apiKey: "key-new" } } } },
    third: { fallbacks: [] } }`
	s.reload(fmt.Sprintf(`{ models: { providers: { x: { type: "openai", baseUrl: %q, apiKey: "key-shared" } } }, agents: { defaults: { model: "x/m" }, entries: %s } }`,
		modeltest.OpenAI.Base(service), entries))
	for agent, key := range map[string]string{"main": "key-main", "other": "key-new", "third": "key-shared"} {
		s.say("team", "send "+agent)
		s.pass(time.Minute)
		require.Equal(t, []string{key}, service.Keys(), agent)
	}
	require.Contains(t, s.told("team"), "it says: for main, anew")
}

// TestCredentialMissing: an isolated agent without a credential for a model is
// told so before anything is asked, and people read what to do.
func TestCredentialMissing(t *testing.T) {
	s, service := keyed(t, `{ mode: "isolated", providers: { x: { apiKey: "key-main" } } }`, `, messages: { language: "de" }`)
	s.say("team", "/new y/m")
	s.say("team", "hello")
	s.pass(time.Minute)
	require.Empty(t, service.Keys())
	require.Contains(t, s.told("team")[1], "der Agent main hat keine eigenen Zugangsdaten für y und darf die gemeinsamen nicht verwenden "+
		"(ein Betreiber setzt agents.entries.main.auth.providers.y.apiKey")
	_, _, err := config.Parse("f.json5", []byte(keyedSettings(service, `{ mode: "isolated" }`, "")), config.Options{})
	require.ErrorContains(t, err, `agents.entries.main.auth.mode: the agent is isolated and has no credential of its own for the model "x/m"`)
}

// TestCredentialsAreReloaded: the next turn uses the new one; what did not
// change stays.
func TestCredentialsAreReloaded(t *testing.T) {
	s, service := keyed(t, `{ providers: { x: { apiKey: "key-wrong" } } }`, "")
	s.say("team", "one")
	require.Equal(t, []string{"key-wrong", "key-shared"}, service.Keys())
	s.reload(keyedSettings(service, `{ providers: { x: { apiKey: "key-new" } } }`, ""))
	s.say("team", "two")
	require.Equal(t, []string{"key-new"}, service.Keys())
	require.Equal(t, []string{"for all", "for main, anew"}, s.told("team"))
}

// TestB443KeysOfAgents and B445: no part of a credential is in a log, in what
// people read, in the store, in a view, or in what a reload says.
func TestB443KeysOfAgents(t *testing.T) { noKeyAnywhere(t, "key-wrong") }

// TestB445KeysOfAgents: nor of one that works.
func TestB445KeysOfAgents(t *testing.T) { noKeyAnywhere(t, "key-main") }

func noKeyAnywhere(t *testing.T, key string) {
	t.Helper()
	service := modeltest.New()
	t.Cleanup(service.Close)
	service.On("m", modeltest.ByKey(map[string]modeltest.Answer{"key-main": modeltest.Say("hello")}))
	settings := keyedSettings(service, fmt.Sprintf(`{ mode: "isolated", providers: { x: { apiKey: %q } } }`, key), "")
	var log bytes.Buffer
	s := prepareScene(t, settings, "")
	s.options = func(o *app.Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	s.start()
	s.say("team", "hello")
	s.say("team", "/status")
	s.say("team", "/usage")
	s.pass(time.Minute)
	require.Equal(t, []string{key}, service.Keys()[:1])
	told := strings.Join(s.told("team"), "\n")
	require.Contains(t, told, "Model: x/m")
	var views bytes.Buffer
	s.read(func(tx *store.Tx) error {
		v := app.Views{Config: s.config(), Now: s.world.Now()}
		d, err := v.Doctor(tx)
		require.NoError(t, err)
		status, err := v.Status(tx)
		require.NoError(t, err)
		return json.NewEncoder(&views).Encode([]any{d, status})
	})
	shown, err := s.config().Effective("agents")
	require.NoError(t, err)
	require.Contains(t, string(shown), `"apiKey": "***"`)
	s.configure(strings.ReplaceAll(settings, key, "key-other"))
	done, err := s.app.Reload(t.Context(), s.config())
	require.NoError(t, err)
	require.Contains(t, done.String(), "agents.entries.main.auth.providers.x.apiKey")
	for where, text := range map[string]string{
		"log": log.String(), "people": told, "views": views.String(), "config get": string(shown), "plan": done.String(),
		"store": strings.Join(s.everywhere(key), "\n"),
	} {
		require.NotContains(t, text, strings.TrimPrefix(key, "key"), where)
	}
}
