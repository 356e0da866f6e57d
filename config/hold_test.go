package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
)

// TestHold pins that what needs a restart stays as it is, and all else changes.
func TestHold(t *testing.T) {
	inUse := parse(t, reloadBase)
	next := layOver(t, reloadBase, `{
  agents: { defaults: { model: "p/b" } }, store: { url: "sqlite:/other.db" }, logging: { format: "json", level: "debug" },
  gateway: { stateDir: "/s", shutdownGraceSeconds: 5, http: { listen: "127.0.0.1:1" } },
  channels: { telegram: { accounts: { a: { token: "$B" } } } }, plugins: { entries: { web: { command: "skein:web" } } },
}`)
	held := config.Hold(inUse, next, config.ClassRestart, config.ClassPlugin)
	require.Equal(t, `live                agents.defaults.model               "p/a" -> "p/b"
channel telegram:a  channels.telegram.accounts.a.token  "$A" -> "$B"
live                gateway.shutdownGraceSeconds        30 -> 5
live                logging.level                       "info" -> "debug"
`, config.Diff(inUse, held).String())
	waiting := config.Diff(held, next)
	require.Len(t, waiting, 5, "%s", waiting)
	require.Len(t, waiting.Of(config.ClassRestart), 4)
	require.Equal(t, "sqlite:/other.db", next.Store.URL.String(), "the argument is not changed")
}

func TestWatched(t *testing.T) {
	c, _, err := config.Load("d/root", inMemory(map[string]string{
		"d/root": `{ $include: "sub/more", models: { providers: { s: { type: "scripted", file: "rules.json5" },
  p: { type: "openai", apiKey: { source: "file", id: "key" } } } },
  agents: { defaults: { model: "s/m" }, entries: { main: { default: true, instructions: "main.md" }, b: { instructions: "Be b." } } } }`,
		"d/sub/more": `{ channels: { telegram: { enabled: false, token: { source: "file", id: "off" } } } }`,
		"d/main.md":  "You help.",
	}))
	require.NoError(t, err)
	require.Equal(t, []string{"d/root", "d/sub/more", "d/main.md", "d/rules.json5", "d/key"}, c.Watched())
}
