package config_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
)

func TestNearestWins(t *testing.T) {
	c := parse(t, `{
  session: { threadBindings: { idleHours: 1, maxAgeHours: 2, onEnd: "archive" } },
  messages: { queue: { mode: "collect", cap: 5 }, historyLimit: 9 },
  limits: { perUser: { messagesPerMinute: 7, usdPerDay: 2 } },
  channels: {
    telegram: {
      threadBindings: { idleHours: 0, placement: "child" }, queue: { cap: 6 }, historyLimit: 8,
      limits: { perUser: { messagesPerMinute: 0 } },
      accounts: {
        a: { token: "$A", threadBindings: { idleHours: 0.001 }, queue: { mode: "interrupt" }, historyLimit: 0 },
        b: { token: "$B" },
      },
    },
  },
}`)
	bindings := func(channel, account string) [3]any {
		r := c.ThreadBindings(channel, account)
		return [3]any{r.Idle, r.MaxAge, r.Placement}
	}
	require.Equal(t, [3]any{3600 * time.Millisecond, 2 * time.Hour, config.PlacementChild}, bindings("telegram", "a"))
	require.Equal(t, [3]any{time.Duration(0), 2 * time.Hour, config.PlacementChild}, bindings("telegram", "b"))
	require.Equal(t, bindings("telegram", "b"), bindings("telegram", "unknown"))
	require.Equal(t, [3]any{time.Hour, 2 * time.Hour, config.PlacementAuto}, bindings("console", "default"))

	require.Equal(t, config.QueueInterrupt, c.Queue("telegram", "a").Mode)
	require.Equal(t, 6, c.Queue("telegram", "a").Cap)
	require.Equal(t, config.QueueCollect, c.Queue("telegram", "b").Mode)
	require.Equal(t, 5, c.Queue("discord", "x").Cap)
	require.Equal(t, []int{0, 8, 9}, []int{c.HistoryLimit("telegram", "a"), c.HistoryLimit("telegram", "b"), c.HistoryLimit("console", "default")})
	require.Equal(t, config.PerUserLimits{USDPerDay: 2}, c.UserLimits("telegram", "a"))
	require.Equal(t, config.PerUserLimits{MessagesPerMinute: 7, USDPerDay: 2}, c.UserLimits("console", "default"))
}

func TestWhatSwitchedBindingsOff(t *testing.T) {
	c := parse(t, `{
  session: { threadBindings: { spawnSessions: false } },
  channels: {
    telegram: { threadBindings: { enabled: false }, accounts: {
      a: { token: "$A" }, b: { token: "$B", threadBindings: { enabled: true, spawnSessions: true } },
    } },
    console: { accounts: { c: { threadBindings: { enabled: false } } } },
  },
}`)
	keys := func(channel, account string) [2]string {
		r := c.ThreadBindings(channel, account)
		return [2]string{r.EnabledKey, r.SpawnSessionsKey}
	}
	require.Equal(t, [2]string{"channels.telegram.threadBindings.enabled", "session.threadBindings.spawnSessions"}, keys("telegram", "a"))
	require.Equal(t, [2]string{}, keys("telegram", "b"))
	require.Equal(t, [2]string{"channels.console.accounts.c.threadBindings.enabled", "session.threadBindings.spawnSessions"}, keys("console", "c"))
	require.Equal(t, [2]string{"", "session.threadBindings.spawnSessions"}, keys("matrix", "x"))
}

func TestTinyLimitIsNotNone(t *testing.T) {
	c := parse(t, `{ session: { threadBindings: { idleHours: 1e-12 } } }`)
	require.Equal(t, time.Millisecond, c.ThreadBindings("console", "default").Idle)
}

func TestAgentSettings(t *testing.T) {
	c := parse(t, `{
  models: { providers: { p: { type: "openai" } } },
  agents: {
    defaults: {
      model: "p/a", thinking: "low", fallbacks: ["p/b"], timezone: "UTC", timeoutSeconds: 60, limits: { maxTokens: 9, maxUsd: 1 },
      subagents: { maxSpawnDepth: 2, allowAgents: ["helper"], model: "p/c", thinking: "" },
    },
    entries: {
      main: { default: true, thinking: "high", fallbacks: [], timeoutSeconds: 0, limits: { maxUsd: 0 },
              subagents: { maxSpawnDepth: 3, allowAgents: [], delegationMode: "prefer", thinking: "minimal" } },
      helper: { name: "Helper", model: "p/d" },
    },
  },
}`)
	main, ok := c.Agent("main")
	require.True(t, ok)
	require.Equal(t, "p/a", main.Model)
	require.Equal(t, config.ThinkingHigh, main.Thinking)
	require.Empty(t, main.Fallbacks, "[] means none")
	require.Zero(t, main.TurnTimeout, "0 is not the same as left out")
	require.Equal(t, config.BudgetLimits{MaxTokens: 9}, main.Limits)
	require.Equal(t, 3, main.Subagents.MaxSpawnDepth)
	require.Empty(t, main.Subagents.AllowAgents)
	require.Equal(t, config.DelegationPrefer, main.Subagents.DelegationMode)
	require.Equal(t, config.ThinkingMinimal, main.Subagents.Thinking)
	require.Equal(t, "p/c", main.Subagents.Model)

	helper, ok := c.Agent("helper")
	require.True(t, ok)
	require.Equal(t, "Helper", helper.Name)
	require.Equal(t, "p/d", helper.Model)
	require.Equal(t, []string{"p/b"}, helper.Fallbacks)
	require.Equal(t, time.Minute, helper.TurnTimeout)
	require.Equal(t, config.BudgetLimits{MaxTokens: 9, MaxUSD: 1}, helper.Limits)
	require.Equal(t, []string{"helper"}, helper.Subagents.AllowAgents)
	require.Empty(t, helper.Subagents.Thinking, "empty means as the caller")
	require.Equal(t, "main", c.DefaultAgent())
	require.Equal(t, []string{"helper", "main"}, c.AgentIDs())
	_, ok = c.Agent("ghost")
	require.False(t, ok)
}

func TestReset(t *testing.T) {
	c := parse(t, `{ session: {
  reset: { mode: "daily", atHour: 6 },
  resetByType: { thread: { mode: "idle", idleMinutes: 10 }, direct: { atHour: 0 } },
  resetByChannel: { telegram: { mode: "none" } },
} }`)
	require.Equal(t, config.ResetRules{Mode: config.ResetDaily, AtHour: 6, Idle: time.Hour}, c.Reset("console", config.ConversationGroup))
	require.Equal(t, config.ResetRules{Mode: config.ResetDaily, AtHour: 0, Idle: time.Hour}, c.Reset("console", config.ConversationDirect))
	require.Equal(t, config.ResetRules{Mode: config.ResetIdle, AtHour: 6, Idle: 10 * time.Minute}, c.Reset("console", config.ConversationThread))
	require.Equal(t, config.ResetNone, c.Reset("telegram", config.ConversationThread).Mode)
}

func TestAccess(t *testing.T) {
	c := parse(t, `{
  agents: { entries: { main: { default: true }, ops: {} } },
  channels: {
    telegram: {
      dmPolicy: "allowlist", allowFrom: ["1"], groupPolicy: "open", requireMention: false,
      groups: { "-1": { requireMention: true }, "-2": { requireMention: false }, "*": { allowBots: "mentions" } },
      accounts: {
        a: { token: "$A", allowBots: true, groups: {
          "-2": { requireMention: true, allowFrom: ["9"], agentId: "ops", tools: { deny: ["exec"] }, topics: {
            "7": { agentId: "main", enabled: false }, "*": { requireMention: true, toolsBySender: { "9": { allow: ["read"] } } } } } } },
        b: { token: "$B", dmPolicy: "open" },
      },
    },
    discord: { token: "$D", guilds: {
      g: { users: ["5"], roles: ["r"], channels: { c: { requireMention: false }, d: { enabled: false } } },
      open: { requireMention: false },
    } },
    console: {}, webchat: {},
  },
}`)
	a := c.Access("telegram", "a")
	require.Equal(t, config.DMAllowlist, a.DMPolicy)
	require.Equal(t, []string{"1"}, a.AllowFrom)
	require.Nil(t, a.GroupAllowFrom, "unset: what allowFrom means in groups is for the policy to say")
	require.Equal(t, config.GroupOpen, a.GroupPolicy)
	require.Equal(t, config.BotsAlways, a.AllowBots)
	require.False(t, a.RequireMention)
	require.ElementsMatch(t, []string{"-1", "-2", "*"}, slices.Collect(maps.Keys(a.Groups)), "groups of the channel apply to its accounts")
	require.True(t, a.Groups["-2"].RequireMention.Or(false), "the account's entry beats the channel's")
	require.Equal(t, []string{"9"}, a.Groups["-2"].AllowFrom)
	require.False(t, a.Groups["-2"].Topics["7"].Enabled.Or(true))
	require.Empty(t, a.Guilds)

	b := c.Access("telegram", "b")
	require.Equal(t, config.DMOpen, b.DMPolicy)
	require.Equal(t, config.BotsNever, b.AllowBots)
	require.False(t, b.Groups["-2"].RequireMention.Or(true))
	require.Equal(t, []string{"5"}, c.Access("discord", "default").Guilds["g"].Users)

	require.Equal(t, config.DMOpen, c.Access("console", "default").DMPolicy, "the local channels are open to their user")
	require.Equal(t, config.DMOpen, c.Access("webchat", "default").DMPolicy)
	require.Equal(t, config.DMPairing, c.Access("matrix", "default").DMPolicy)
	require.True(t, c.Access("matrix", "default").RequireMention)
}

func TestChannelAccounts(t *testing.T) {
	c := parse(t, `{ channels: {
  console: { apiRoot: "http://127.0.0.1:1", name: "here", dmPolicy: "disabled" },
  telegram: { accounts: { x: { token: "$X", enabled: false }, a: { token: "$A" } } },
} }`)
	require.Equal(t, []string{"telegram", "console"}, c.Channels.Names())
	console, ok := c.Channels.Get("console")
	require.True(t, ok)
	require.Equal(t, []string{"default"}, console.AccountNames())
	require.Equal(t, "here", console.Account("default").Name)
	require.Nil(t, console.Account("other"))
	require.Equal(t, "http://127.0.0.1:1", c.Channels.Console.Accounts["default"].APIRoot)
	require.Equal(t, config.DMDisabled, console.Keys().DMPolicy)
	telegram, _ := c.Channels.Get("telegram")
	require.Equal(t, []string{"a", "x"}, telegram.AccountNames())
	require.False(t, telegram.Account("x").Enabled)
	require.True(t, telegram.Account("a").Enabled)
	require.Equal(t, "https://api.telegram.org", c.Channels.Telegram.Accounts["a"].APIRoot)
	_, ok = c.Channels.Get("matrix")
	require.False(t, ok)
	_, ok = c.Channels.Get("slack")
	require.False(t, ok)
}

func TestStateDir(t *testing.T) {
	for src, want := range map[string]string{
		`{}`: "/home/skein/.skein",
		`{ store: { url: "sqlite:/var/lib/skein/db" } }`:                                   "/var/lib/skein",
		`{ store: { url: "sqlite:/var/lib/skein/db" }, gateway: { stateDir: "~/state" } }`: "/home/skein/state",
		`{ store: { url: "postgres://u:pw@h/d" } }`:                                        "/home/skein/.skein",
	} {
		require.Equal(t, want, parse(t, src).StateDir(), src)
	}
}

func TestStreaming(t *testing.T) {
	c := parse(t, `{ channels: { console: { streaming: false, accounts: { a: { streaming: true }, b: {} } } } }`)
	require.True(t, c.Streaming("console", "a", false))
	require.False(t, c.Streaming("console", "b", true))
	require.True(t, c.Streaming("telegram", "b", true), "what the channel is set to")
	require.False(t, c.Streaming("telegram", "b", false))
}
