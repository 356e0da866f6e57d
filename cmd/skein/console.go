package main

import (
	"net/http"
	"path/filepath"
	"time"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/clock"
)

// Each channel has one file like this one, which alone imports its adapter and
// adds it to the registry. An adapter that a build may lack has a build tag
// there (no_<channel>) and a second file for builds without it.

// consolePath begins the paths of the console's people side on the socket.
const consolePath = app.APIRoot + "/console"

// consoleWait is how long a feed waits before it answers with nothing, so that
// a client that went away is noticed.
const consoleWait = 25 * time.Second

// openHub opens the console of a gateway; nil if no account of the
// configuration uses it. Only the process that holds the socket may open it.
func openHub(cfg *config.Config, c core.Clock, agents func() []string) (*console.Hub, error) {
	if !usesHub(cfg) {
		return nil, nil
	}
	return console.Open(console.Options{
		Clock: c, Path: filepath.Join(cfg.StateDir(), "channels", "console", "hub.journal"), Agents: agents,
	})
}

// usesHub tells whether an account of the console is the local one.
func usesHub(cfg *config.Config) bool {
	channel := cfg.Channels.Console
	if channel == nil || !channel.Enabled {
		return false
	}
	for _, account := range channel.Accounts {
		if account.Enabled && account.APIRoot == "" {
			return true
		}
	}
	return false
}

// withConsole adds the console to a registry. Without a hub an account of the
// local console cannot be opened: it was not in the configuration when the
// gateway started.
func withConsole(r channels.Registry, hub *console.Hub) channels.Registry {
	entry := console.Entry(hub)
	open := entry.New
	entry.New = func(o channels.Options) (core.Adapter, error) {
		adapter, err := open(o)
		if core.ErrorCode(err) == "console_no_hub" {
			return nil, core.Errorf("channel_needs_restart", "the local console is opened when the gateway starts").WithRemedy("restart the gateway")
		}
		return adapter, err
	}
	return r.With(entry)
}

// peopleHandler serves the console to terminals.
func peopleHandler(hub *console.Hub) http.Handler {
	return http.StripPrefix(consolePath, console.PeopleHandler(hub, console.Wait{Clock: clock.Real{}, For: consoleWait}))
}

// agentPlace is where an agent is talked to by `skein chat --agent`.
func agentPlace(agent string) core.Address {
	return core.Address{Channel: console.Channel, Account: console.DefaultAccount, Conversation: console.AgentChat(agent)}
}
