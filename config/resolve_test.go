package config_test

import (
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
      groups: { "-1": { requireMention: true }, "*": { allowBots: "mentions" } },
      accounts: {
        a: { token: "$A", allowBots: true, groups: {
          "-2": { allowFrom: ["9"], agentId: "ops", tools: { deny: ["exec"] }, topics: {
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
	at := func(channel, account, conversation, thread string) config.AccessRules {
		return c.Access(config.Place{Channel: channel, Account: account, Conversation: conversation, Thread: thread})
	}
	direct := at("telegram", "a", "", "")
	require.Equal(t, config.DMAllowlist, direct.DMPolicy)
	require.Equal(t, []string{"1"}, direct.AllowFrom)
	require.Equal(t, config.BotsAlways, direct.AllowBots)
	require.False(t, direct.Listed)
	require.Equal(t, config.DMOpen, at("telegram", "b", "", "").DMPolicy)

	require.True(t, at("telegram", "b", "-1", "").RequireMention, "groups of the channel apply to its accounts")
	require.False(t, at("telegram", "b", "-3", "").RequireMention)
	require.Equal(t, config.BotsMentions, at("telegram", "b", "-3", "").AllowBots, `"*" stands for all others`)
	require.Equal(t, config.BotsNever, at("telegram", "b", "-1", "").AllowBots, "an exact id replaces it")

	group := at("telegram", "a", "-2", "")
	require.True(t, group.Listed && group.Enabled)
	require.Equal(t, []string{"9"}, group.GroupAllowFrom)
	require.Equal(t, "ops", group.AgentID)
	require.Equal(t, []config.ToolRules{{Deny: []string{"exec"}}}, group.Tools)
	seven := at("telegram", "a", "-2", "7")
	require.Equal(t, "main", seven.AgentID)
	require.False(t, seven.Enabled)
	require.False(t, seven.RequireMention)
	eight := at("telegram", "a", "-2", "8")
	require.True(t, eight.RequireMention && eight.Enabled)
	require.Equal(t, "ops", eight.AgentID, "a topic inherits from its group")
	require.Len(t, eight.ToolsBySender, 1)

	guild := func(guild, parent, conversation string) config.AccessRules {
		return c.Access(config.Place{Channel: "discord", Account: "default", Guild: guild, Parent: parent, Conversation: conversation})
	}
	require.False(t, guild("g", "", "c").RequireMention)
	require.Equal(t, []string{"5"}, guild("g", "", "c").GroupAllowFrom)
	require.Equal(t, []string{"r"}, guild("g", "", "c").Roles)
	require.False(t, guild("g", "c", "thread").RequireMention, "a thread inherits from its channel")
	require.False(t, guild("g", "", "d").Enabled)
	require.False(t, guild("g", "", "other").Enabled, "once a channel is named, only named ones are heard")
	require.True(t, guild("open", "", "x").Enabled)
	require.False(t, guild("strange", "", "x").Listed)

	require.Equal(t, config.DMOpen, at("console", "default", "", "").DMPolicy, "the local channels are open to their user")
	require.Equal(t, config.DMOpen, at("webchat", "default", "", "").DMPolicy)
	require.Equal(t, config.DMPairing, at("matrix", "default", "", "").DMPolicy)
	require.True(t, at("matrix", "default", "!r", "").RequireMention)
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
