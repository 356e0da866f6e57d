package config

import "time"

// ThreadBindingRules is what applies to bindings of one account. Zero switches
// a limit off.
type ThreadBindingRules struct {
	Enabled             bool
	Idle                time.Duration // 0 for never
	MaxAge              time.Duration // 0 for never
	SpawnSessions       bool
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
	return ThreadBindingRules{
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

// Place is a conversation as access rules see it. Only Channel and Account are
// needed; ids are the platform's own, verbatim.
type Place struct {
	Channel, Account string
	Conversation     string // group, room or Discord channel
	Thread           string // topic or thread in it
	Parent           string // of a Discord thread: its channel
	Guild            string // Discord server
}

// AccessRules is who is heard in a place.
type AccessRules struct {
	DMPolicy        DMPolicy
	AllowFrom       []string // ids of people; nil for nobody named
	GroupPolicy     GroupPolicy
	GroupAllowFrom  []string // who is heard here; AllowFrom unless something nearer is set
	Listed          bool     // the place, or "*", stands in groups or guilds
	Enabled         bool     // false if the place is switched off
	RequireMention  bool
	MentionPatterns []string
	AllowBots       BotPolicy
	Roles           []string // Discord: roles whose members are heard here
	AgentID         string   // the agent of this place; "" for none of its own
	Tools           []ToolRules
	ToolsBySender   []map[string]ToolRules // nearest first
}

// Access resolves who is heard in a place. What is said of a place beats what
// is said of the places around it, an exact id beats "*", and the account beats
// its channel. Built-in are pairing and, on the local channels console and
// webchat, open direct chats.
func (c *Config) Access(p Place) AccessRules {
	near, far := c.layers(p.Channel, p.Account)
	b := builtins().access
	if p.Channel == "console" || p.Channel == "webchat" {
		b.DMPolicy = DMOpen
	}
	rules := AccessRules{
		DMPolicy:        nearestText(near.DMPolicy, far.DMPolicy, b.DMPolicy),
		AllowFrom:       nearestList(near.AllowFrom, far.AllowFrom),
		GroupPolicy:     nearestText(near.GroupPolicy, far.GroupPolicy, b.GroupPolicy),
		GroupAllowFrom:  nearestList(near.GroupAllowFrom, far.GroupAllowFrom, near.AllowFrom, far.AllowFrom),
		Enabled:         true,
		RequireMention:  nearest(true, near.RequireMention, far.RequireMention, b.RequireMention),
		MentionPatterns: nearestList(near.MentionPatterns, far.MentionPatterns),
		AllowBots:       nearestText(near.AllowBots, far.AllowBots, b.AllowBots),
	}
	for _, place := range c.placeRules(p, near, far) {
		rules.narrow(place)
	}
	return rules
}

// narrow applies the rules of a place inside the ones seen so far.
func (r *AccessRules) narrow(place GuildChannel) {
	r.Listed = true
	r.Enabled = place.Enabled.Or(r.Enabled)
	r.RequireMention = place.RequireMention.Or(r.RequireMention)
	r.GroupAllowFrom = nearestList(place.AllowFrom, r.GroupAllowFrom)
	r.AllowBots = nearestText(place.AllowBots, r.AllowBots)
	r.Roles = nearestList(place.Roles, r.Roles)
	r.AgentID = nearestText(place.AgentID, r.AgentID)
	if place.Tools.Allow != nil || place.Tools.Deny != nil {
		r.Tools = append(r.Tools, place.Tools)
	}
	if place.ToolsBySender != nil {
		r.ToolsBySender = append([]map[string]ToolRules{place.ToolsBySender}, r.ToolsBySender...)
	}
}

// placeRules returns the rules of the places around and at p, the widest first.
func (c *Config) placeRules(p Place, near, far ChannelKeys) []GuildChannel {
	var found []GuildChannel
	if p.Channel == "discord" && p.Guild != "" && c.Channels.Discord != nil {
		found = append(found, guildRules(c.Channels.Discord.Accounts[p.Account].Guilds, p)...)
	}
	if p.Conversation == "" {
		return found
	}
	group, ok := entry(p.Conversation, near.Groups, far.Groups)
	if !ok {
		return found
	}
	found = append(found, GuildChannel{PlaceRules: group.PlaceRules})
	if topic, ok := entry(p.Thread, group.Topics); ok && p.Thread != "" {
		found = append(found, GuildChannel{PlaceRules: topic})
	}
	return found
}

// guildRules returns the rules of a Discord server and of the channel in it.
func guildRules(guilds map[string]Guild, p Place) []GuildChannel {
	guild, ok := entry(p.Guild, guilds)
	if !ok {
		return nil
	}
	whole := GuildChannel{Roles: guild.Roles}
	whole.RequireMention, whole.AllowFrom = guild.RequireMention, guild.Users
	found := []GuildChannel{whole}
	for _, id := range []string{p.Parent, p.Conversation} {
		if channel, ok := guild.Channels[id]; ok && id != "" {
			return append(found, channel)
		}
	}
	switch channel, ok := guild.Channels["*"]; {
	case ok:
		found = append(found, channel)
	case len(guild.Channels) > 0:
		off := GuildChannel{}
		off.Enabled = Some(false)
		found = append(found, off)
	}
	return found
}

// entry looks an id up in maps, the nearest first, then "*" in the same order.
func entry[T any](id string, in ...map[string]T) (found T, ok bool) {
	for _, key := range []string{id, "*"} {
		for _, m := range in {
			if found, ok = m[key]; ok {
				return found, true
			}
		}
	}
	return found, false
}
