package config

import (
	"maps"
	"time"
)

// ThreadBindingRules is what applies to bindings of one account. Zero switches
// a limit off.
type ThreadBindingRules struct {
	Enabled             bool
	EnabledKey          string        // the key that switched them off, "" where they are on
	Idle                time.Duration // 0 for never
	MaxAge              time.Duration // 0 for never
	SpawnSessions       bool
	SpawnSessionsKey    string // as EnabledKey
	DefaultSpawnContext SpawnContext
	Placement           Placement
	OnEnd               OnEnd
	OnLate              OnLate
	KeepEnded           time.Duration
	MaxPerUser          int // 0 for no limit
}

// QueueRules is what applies to the inbound queue of sessions of one account.
type QueueRules struct {
	Mode     QueueMode
	Debounce time.Duration
	Cap      int
	Overflow Overflow
}

// ResetRules says when a session starts over.
type ResetRules struct {
	Mode   ResetMode
	AtHour int           // of ResetDaily
	Idle   time.Duration // of ResetIdle
}

// ConversationKind is the sort of a conversation that resets distinguish.
type ConversationKind string

// The kinds of conversations.
const (
	ConversationDirect ConversationKind = "direct"
	ConversationGroup  ConversationKind = "group"
	ConversationThread ConversationKind = "thread"
)

// PerUserLimits is what one person may cause on one account. Zero switches a
// limit off.
type PerUserLimits struct {
	MessagesPerMinute int
	TurnsPerDay       int
	USDPerDay         float64
}

// layers returns the keys of an account and of its channel; what is not
// configured is empty.
func (c *Config) layers(channel, account string) (near, far ChannelKeys) {
	settings, ok := c.Channels.Get(channel)
	if !ok {
		return near, far
	}
	if a := settings.Account(account); a != nil {
		near = a.ChannelKeys
	}
	return near, *settings.Keys()
}

// ThreadBindings resolves the rules for bound conversations: account, channel,
// session.threadBindings, built-in.
func (c *Config) ThreadBindings(channel, account string) ThreadBindingRules {
	near, far := c.layers(channel, account)
	n, f, g, b := near.ThreadBindings, far.ThreadBindings, c.Session.ThreadBindings, builtins().bindings
	rules := ThreadBindingRules{
		Enabled:             nearest(false, n.Enabled, f.Enabled, g.Enabled, b.Enabled),
		Idle:                hours(nearest(0, n.IdleHours, f.IdleHours, g.IdleHours, b.IdleHours)),
		MaxAge:              hours(nearest(0, n.MaxAgeHours, f.MaxAgeHours, g.MaxAgeHours, b.MaxAgeHours)),
		SpawnSessions:       nearest(false, n.SpawnSessions, f.SpawnSessions, g.SpawnSessions, b.SpawnSessions),
		DefaultSpawnContext: nearestText(n.DefaultSpawnContext, f.DefaultSpawnContext, g.DefaultSpawnContext, b.DefaultSpawnContext),
		Placement:           nearestText(n.Placement, f.Placement, g.Placement, b.Placement),
		OnEnd:               nearestText(n.OnEnd, f.OnEnd, g.OnEnd, b.OnEnd),
		OnLate:              nearestText(n.OnLate, f.OnLate, g.OnLate, b.OnLate),
		KeepEnded:           hours(24 * nearest(0, n.KeepEndedDays, f.KeepEndedDays, g.KeepEndedDays, b.KeepEndedDays)),
		MaxPerUser:          nearest(0, n.MaxPerUser, f.MaxPerUser, g.MaxPerUser, b.MaxPerUser),
	}
	if !rules.Enabled {
		rules.EnabledKey = decidedBy("enabled", channel, account, n.Enabled.IsSet(), f.Enabled.IsSet())
	}
	if !rules.SpawnSessions {
		rules.SpawnSessionsKey = decidedBy("spawnSessions", channel, account, n.SpawnSessions.IsSet(), f.SpawnSessions.IsSet())
	}
	return rules
}

// decidedBy names the key of threadBindings that is nearest to an account.
func decidedBy(key, channel, account string, near, far bool) string {
	switch {
	case near:
		return Path{"channels", channel, "accounts", account, "threadBindings", key}.String()
	case far:
		return Path{"channels", channel, "threadBindings", key}.String()
	}
	return Path{"session", "threadBindings", key}.String()
}

// hours turns hours with fractions into a duration in whole milliseconds. What
// is not zero stays at least one millisecond, so that a tiny limit is not taken
// for none.
func hours(h float64) time.Duration {
	d := time.Duration(h * float64(time.Hour)).Round(time.Millisecond)
	if h > 0 {
		return max(d, time.Millisecond)
	}
	return d
}

// Queue resolves the rules of the inbound queue: account, channel,
// messages.queue, built-in.
func (c *Config) Queue(channel, account string) QueueRules {
	near, far := c.layers(channel, account)
	n, f, g, b := near.Queue, far.Queue, c.Messages.Queue, builtins().queue
	return QueueRules{
		Mode:     nearestText(n.Mode, f.Mode, g.Mode, b.Mode),
		Debounce: time.Duration(nearest(0, n.DebounceMs, f.DebounceMs, g.DebounceMs, b.DebounceMs)) * time.Millisecond,
		Cap:      nearest(0, n.Cap, f.Cap, g.Cap, b.Cap),
		Overflow: nearestText(n.Overflow, f.Overflow, g.Overflow, b.Overflow),
	}
}

// Reset resolves when a session starts over: session.resetByChannel,
// resetByType, reset, built-in.
func (c *Config) Reset(channel string, kind ConversationKind) ResetRules {
	n, g, b := c.Session.ResetByChannel[channel], c.Session.Reset, builtins().reset
	f := map[ConversationKind]Reset{
		ConversationDirect: c.Session.ResetByType.Direct,
		ConversationGroup:  c.Session.ResetByType.Group,
		ConversationThread: c.Session.ResetByType.Thread,
	}[kind]
	return ResetRules{
		Mode:   nearestText(n.Mode, f.Mode, g.Mode, b.Mode),
		AtHour: nearest(0, n.AtHour, f.AtHour, g.AtHour, b.AtHour),
		Idle:   time.Duration(nearest(0, n.IdleMinutes, f.IdleMinutes, g.IdleMinutes, b.IdleMinutes)) * time.Minute,
	}
}

// UserLimits resolves what one person may cause: account, channel, limits,
// built-in.
func (c *Config) UserLimits(channel, account string) PerUserLimits {
	near, far := c.layers(channel, account)
	n, f, g, b := near.Limits.PerUser, far.Limits.PerUser, c.Limits.PerUser, builtins().limits
	return PerUserLimits{
		MessagesPerMinute: nearest(0, n.MessagesPerMinute, f.MessagesPerMinute, g.MessagesPerMinute, b.MessagesPerMinute),
		TurnsPerDay:       nearest(0, n.TurnsPerDay, f.TurnsPerDay, g.TurnsPerDay, b.TurnsPerDay),
		USDPerDay:         nearest(0, n.USDPerDay, f.USDPerDay, g.USDPerDay, b.USDPerDay),
	}
}

// HistoryLimit resolves how many recent messages of a group are shown: account,
// channel, messages.historyLimit.
func (c *Config) HistoryLimit(channel, account string) int {
	near, far := c.layers(channel, account)
	return nearest(c.Messages.HistoryLimit, near.HistoryLimit, far.HistoryLimit)
}

// Streaming resolves whether answers are shown while they are written: account,
// channel, what the channel is set to.
func (c *Config) Streaming(channel, account string, preset bool) bool {
	near, far := c.layers(channel, account)
	return nearest(preset, near.Streaming, far.Streaming)
}

// AccessRules is what an account says about access: its own keys, and those of
// its channel where it leaves one out. A list is nil where neither sets it.
// Which entries of Groups and Guilds hold at a place is for core/policy to
// say.
type AccessRules struct {
	DMPolicy        DMPolicy
	AllowFrom       []string
	GroupPolicy     GroupPolicy
	GroupAllowFrom  []string
	Groups          map[string]Group // the account's entries beat the channel's of the same id
	Guilds          map[string]Guild // Discord only
	RequireMention  bool
	MentionPatterns []string
	AllowBots       BotPolicy
}

// Access resolves what an account says about access. Built-in are pairing and,
// on the local channels console and webchat, open direct chats.
func (c *Config) Access(channel, account string) AccessRules {
	near, far := c.layers(channel, account)
	b := builtins().access
	if channel == "console" || channel == "webchat" {
		b.DMPolicy = DMOpen
	}
	rules := AccessRules{
		DMPolicy:        nearestText(near.DMPolicy, far.DMPolicy, b.DMPolicy),
		AllowFrom:       nearestList(near.AllowFrom, far.AllowFrom),
		GroupPolicy:     nearestText(near.GroupPolicy, far.GroupPolicy, b.GroupPolicy),
		GroupAllowFrom:  nearestList(near.GroupAllowFrom, far.GroupAllowFrom),
		Groups:          maps.Clone(far.Groups),
		RequireMention:  nearest(true, near.RequireMention, far.RequireMention, b.RequireMention),
		MentionPatterns: nearestList(near.MentionPatterns, far.MentionPatterns),
		AllowBots:       nearestText(near.AllowBots, far.AllowBots, b.AllowBots),
	}
	if rules.Groups == nil {
		rules.Groups = make(map[string]Group, len(near.Groups))
	}
	maps.Copy(rules.Groups, near.Groups)
	if channel == "discord" && c.Channels.Discord != nil {
		rules.Guilds = c.Channels.Discord.Accounts[account].Guilds
	}
	return rules
}
