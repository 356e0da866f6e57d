package config

import (
	"maps"
	"slices"
)

// Channels holds the chat channels. A nil channel is not configured and does
// not run.
type Channels struct {
	// Telegram bots.
	Telegram *Channel[TelegramAccount] `json:"telegram,omitzero" reload:"channel"`
	// Discord bots.
	Discord *Channel[DiscordAccount] `json:"discord,omitzero" reload:"channel"`
	// Matrix accounts.
	Matrix *Channel[MatrixAccount] `json:"matrix,omitzero" reload:"channel"`
	// Hosts with Apple's Messages.
	IMessage *Channel[IMessageAccount] `json:"imessage,omitzero" reload:"channel"`
	// The web chat of the HTTP listener.
	WebChat *Channel[WebChatAccount] `json:"webchat,omitzero" reload:"channel"`
	// The terminal.
	Console *Channel[ConsoleAccount] `json:"console,omitzero" reload:"channel"`
}

// Channel is one chat platform. Keys of a single account may stand directly
// under the channel; it is then the account "default".
type Channel[A any] struct {
	// Whether the channel runs.
	Enabled bool `json:"enabled" default:"true"`
	ChannelKeys
	// The accounts by name.
	Accounts map[string]A `json:"accounts,omitzero" keys:"id" direct:"true"`
}

// AccountKeys are the keys that every account has.
type AccountKeys struct {
	// Whether the account runs.
	Enabled bool `json:"enabled" default:"true"`
	// Name for people.
	Name string `json:"name,omitzero" reload:"live"`
	ChannelKeys
}

// ChannelKeys may stand under a channel and under each of its accounts; the
// account wins, key by key.
type ChannelKeys struct {
	Access
	// What happens to messages that arrive during a turn; overrides messages.queue.
	Queue Queue `json:"queue" reload:"live"`
	// Rules for bound conversations; overrides session.threadBindings.
	ThreadBindings ThreadBindings `json:"threadBindings" reload:"live"`
	// Limits for each person; overrides the top-level limits.
	Limits Limits `json:"limits" reload:"live"`
	// How many recent messages of a group are shown to the model; overrides messages.historyLimit.
	HistoryLimit Optional[int] `json:"historyLimit,omitzero" min:"0" max:"500" reload:"live"`
	// Whether an answer is shown while it is written, by editing one message; unset: what the channel is made for.
	Streaming Optional[bool] `json:"streaming,omitzero" reload:"live"`
}

// Access says who is heard, and where.
type Access struct {
	// Who may write to the bot directly.
	DMPolicy DMPolicy `json:"dmPolicy,omitzero" default:"pairing" reload:"live"`
	// Ids of people who may write directly; "*" for everybody.
	AllowFrom []string `json:"allowFrom,omitzero" reload:"live"`
	// In which groups the bot listens.
	GroupPolicy GroupPolicy `json:"groupPolicy,omitzero" default:"allowlist" reload:"live"`
	// Ids of people who are heard in groups; unset: allowFrom, or everybody where groupPolicy is open.
	GroupAllowFrom []string `json:"groupAllowFrom,omitzero" reload:"live"`
	// Groups by id; "*" for all others.
	Groups map[string]Group `json:"groups,omitzero" reload:"live"`
	// Whether the bot must be addressed in groups.
	RequireMention Optional[bool] `json:"requireMention,omitzero" default:"true" reload:"live"`
	// Regular expressions (RE2) that count as addressing the bot.
	MentionPatterns []string `json:"mentionPatterns,omitzero" format:"regexp" reload:"live"`
	// Whether other bots are heard: false, "mentions" or true. After 20 messages within a minute a bot is not heard for the next one.
	AllowBots BotPolicy `json:"allowBots,omitzero" default:"false" reload:"live"`
}

// PlaceRules are the keys of a group, topic or guild channel. What is left out
// comes from the next wider place.
type PlaceRules struct {
	// Whether the bot listens here.
	Enabled Optional[bool] `json:"enabled,omitzero" default:"true"`
	// Whether the bot must be addressed here.
	RequireMention Optional[bool] `json:"requireMention,omitzero"`
	// Ids of people who are heard here.
	AllowFrom []string `json:"allowFrom,omitzero"`
	// Whether other bots are heard here: false, "mentions" or true.
	AllowBots BotPolicy `json:"allowBots,omitzero"`
	// The agent of this place.
	AgentID string `json:"agentId,omitzero" format:"agentId"`
	// Narrows the tools here.
	Tools ToolRules `json:"tools"`
	// Narrows the tools by sender id; "*" for everybody else.
	ToolsBySender map[string]ToolRules `json:"toolsBySender,omitzero"`
}

// Group is one group conversation.
type Group struct {
	PlaceRules
	// Topics or threads by id; "*" for all others.
	Topics map[string]PlaceRules `json:"topics,omitzero"`
}

// TelegramAccount is one Telegram bot.
type TelegramAccount struct {
	AccountKeys
	// Bot token.
	Token Secret `json:"token,omitzero"`
	// Root of the Bot API.
	APIRoot string `json:"apiRoot" default:"https://api.telegram.org" format:"url"`
	// Proxy for all requests: http, https or socks5.
	Proxy string `json:"proxy,omitzero" format:"url"`
	// Whether updates come by webhook instead of polling; needs gateway.publicUrl.
	Webhook bool `json:"webhook" default:"false"`
	// Secret that webhook requests must present.
	WebhookSecret Secret `json:"webhookSecret,omitzero"`
}

// DiscordAccount is one Discord bot.
type DiscordAccount struct {
	AccountKeys
	// Bot token.
	Token Secret `json:"token,omitzero"`
	// Root of the REST API.
	APIRoot string `json:"apiRoot" default:"https://discord.com/api" format:"url"`
	// Servers by id.
	Guilds map[string]Guild `json:"guilds,omitzero" reload:"live"`
}

// Guild is one Discord server.
type Guild struct {
	// Whether the bot must be addressed here.
	RequireMention Optional[bool] `json:"requireMention,omitzero"`
	// Ids of people who are heard here.
	Users []string `json:"users,omitzero"`
	// Ids of roles whose members are heard here.
	Roles []string `json:"roles,omitzero"`
	// Channels by id; once one is named, only named ones are heard, "*" for all others.
	Channels map[string]GuildChannel `json:"channels,omitzero"`
}

// GuildChannel is one channel of a Discord server.
type GuildChannel struct {
	PlaceRules
	// Ids of roles whose members are heard here.
	Roles []string `json:"roles,omitzero"`
}

// MatrixAccount is one Matrix account.
type MatrixAccount struct {
	AccountKeys
	// Root of the homeserver.
	Homeserver string `json:"homeserver,omitzero" format:"url"`
	// Full user id, @name:server.
	UserID string `json:"userId,omitzero"`
	// Access token; or use a password.
	AccessToken Secret `json:"accessToken,omitzero"`
	// Password; or use an access token.
	Password Secret `json:"password,omitzero"`
	// Device name shown to others.
	DeviceName string `json:"deviceName,omitzero"`
	// Whether encrypted rooms are taken part in, if the build can.
	Encryption bool `json:"encryption" default:"true"`
	// Which invitations are accepted.
	AutoJoin AutoJoin `json:"autoJoin" default:"allowlist"`
	// Room ids, aliases and user ids whose invitations are accepted.
	AutoJoinAllowlist []string `json:"autoJoinAllowlist,omitzero"`
	// When answers go into a thread.
	ThreadReplies ThreadReplies `json:"threadReplies" default:"inbound"`
}

// IMessageAccount is one host with Messages.
type IMessageAccount struct {
	AccountKeys
	// The bridge.
	Transport IMessageTransport `json:"transport" default:"imsg"`
	// Program of the imsg bridge.
	CLIPath string `json:"cliPath" default:"imsg"`
	// Host of the imsg bridge, reached over ssh; empty: this one.
	RemoteHost string `json:"remoteHost,omitzero"`
	// Root of the BlueBubbles server.
	ServerURL string `json:"serverUrl,omitzero" format:"url"`
	// Password of the BlueBubbles server.
	Password Secret `json:"password,omitzero"`
	// Secret that webhook requests must present.
	WebhookSecret Secret `json:"webhookSecret,omitzero"`
	// Messages older than this are not answered, in minutes.
	MaxAgeMinutes int `json:"maxAgeMinutes" default:"15" min:"1"`
}

// WebChatAccount is the web chat; it needs no keys of its own.
type WebChatAccount struct {
	AccountKeys
}

// ConsoleAccount is the terminal.
type ConsoleAccount struct {
	AccountKeys
	// Root of a console server to attach to; empty: the built-in local console.
	APIRoot string `json:"apiRoot,omitzero" format:"url"`
}

// ChannelSettings is what all channels have in common, whatever their accounts
// look like.
type ChannelSettings interface {
	// IsEnabled says whether the channel runs.
	IsEnabled() bool
	// Keys returns the keys that apply to all accounts.
	Keys() *ChannelKeys
	// AccountNames returns the names of the accounts, sorted.
	AccountNames() []string
	// Account returns the common keys of an account, or nil.
	Account(name string) *AccountKeys
}

// IsEnabled implements ChannelSettings.
func (c *Channel[A]) IsEnabled() bool { return c.Enabled }

// Keys implements ChannelSettings.
func (c *Channel[A]) Keys() *ChannelKeys { return &c.ChannelKeys }

// AccountNames implements ChannelSettings.
func (c *Channel[A]) AccountNames() []string { return slices.Sorted(maps.Keys(c.Accounts)) }

// Account implements ChannelSettings.
func (c *Channel[A]) Account(name string) *AccountKeys {
	a, ok := c.Accounts[name]
	if !ok {
		return nil
	}
	return any(&a).(interface{ common() *AccountKeys }).common()
}

func (a *AccountKeys) common() *AccountKeys { return a }

// channelNames lists every channel that has a key, in the order of the file.
func channelNames() []string {
	return []string{"telegram", "discord", "matrix", "imessage", "webchat", "console"}
}

// Get returns a channel by name; ok is false if it is not configured.
func (c *Channels) Get(name string) (settings ChannelSettings, ok bool) {
	switch name {
	case "telegram":
		return c.Telegram, c.Telegram != nil
	case "discord":
		return c.Discord, c.Discord != nil
	case "matrix":
		return c.Matrix, c.Matrix != nil
	case "imessage":
		return c.IMessage, c.IMessage != nil
	case "webchat":
		return c.WebChat, c.WebChat != nil
	case "console":
		return c.Console, c.Console != nil
	}
	return nil, false
}

// Names returns the configured channels, enabled or not, in a fixed order.
func (c *Channels) Names() []string {
	return slices.DeleteFunc(channelNames(), func(name string) bool {
		_, ok := c.Get(name)
		return !ok
	})
}
