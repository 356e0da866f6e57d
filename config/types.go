package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"

	"github.com/skein-bot/skein/config/json5"
)

//go:generate go run ./internal/reference

// Config is the whole operator configuration. Load, Parse, Decode and Default
// are its only makers: they fill in the defaults, so that a zero in a Config
// always means that zero was asked for. It is not changed after it was made and
// may be read by many goroutines.
type Config struct {
	// Names the JSON Schema for editors; ignored otherwise.
	Schema string `json:"$schema,omitzero"`

	// Model providers and how long to wait for them.
	Models Models `json:"models"`
	// The agents: shared defaults, the agents themselves, agent project folders.
	Agents Agents `json:"agents"`
	// Rules that choose an agent for a conversation; the most specific one wins, the first of equals.
	Routes []Route `json:"routes,omitzero"`
	// Session scopes, thread bindings, resets and retention.
	Session Session `json:"session"`
	// The chat channels and their accounts. A channel that is not named here does not run.
	Channels Channels `json:"channels"`
	// Which tools agents have, and how they run.
	Tools Tools `json:"tools"`
	// Tool plugins.
	Plugins Plugins `json:"plugins" reload:"plugin"`
	// Skills of the installation.
	Skills Skills `json:"skills"`
	// Scheduled jobs.
	Cron Cron `json:"cron"`
	// Who may use chat commands.
	Commands Commands `json:"commands"`
	// Inbound queue, context from the place, language.
	Messages Messages `json:"messages"`
	// Limits that protect an open bot.
	Limits Limits `json:"limits"`
	// Alerts to the operator.
	Alerts Alerts `json:"alerts"`
	// What happens to messages whose delivery is uncertain.
	Delivery Delivery `json:"delivery"`
	// The process itself: state directory, HTTP listener, shutdown.
	Gateway Gateway `json:"gateway"`
	// Where everything is stored.
	Store Store `json:"store" reload:"restart"`
	// The log.
	Logging Logging `json:"logging"`

	source source
}

// source remembers where a configuration came from.
type source struct {
	path     string
	files    []string
	tree     *json5.Node
	home     string   // ~/.skein
	inactive []string // keys of parts that are not built or switched off
}

// Path returns the file that was loaded, or the name given to Parse.
func (c *Config) Path() string { return c.source.path }

// Files returns the loaded file and every file it includes: what a watcher has
// to watch.
func (c *Config) Files() []string { return append([]string(nil), c.source.files...) }

// Tree returns the document as it was read, includes merged, before defaults,
// variables and secrets. A secret that is written out in the file stands in it in
// clear. It must not be changed; Clone it first.
func (c *Config) Tree() *json5.Node { return c.source.tree }

// Commands says who may use chat commands.
type Commands struct {
	// People who may do everything, as <channel>:<user id>.
	OwnerAllowFrom []string `json:"ownerAllowFrom,omitzero" format:"sender"`
	// People who may use commands, as <channel>:<user id>; unset means everybody whom access admits.
	AllowFrom []string `json:"allowFrom,omitzero" format:"sender"`
	// How a command of someone else is answered: one refusal an hour, or silence.
	Unauthorized Unauthorized `json:"unauthorized" default:"refuse"`
}

// Messages holds what applies to messages on every channel.
type Messages struct {
	// What happens to messages that arrive during a turn.
	Queue Queue `json:"queue"`
	// How many recent messages of a group are shown to the model as context; 0 for none.
	HistoryLimit int `json:"historyLimit" default:"20" min:"0" max:"500"`
	// Language of notices, refusals and other texts of the runtime: en, de or es; a region as in de-AT is allowed.
	Language string `json:"language" default:"en" format:"language"`
}

// Queue is the inbound queue of a session. Under a channel or an account it
// overrides messages.queue key by key.
type Queue struct {
	// What a message does that arrives during a turn.
	Mode QueueMode `json:"mode,omitzero" default:"steer"`
	// How long messages behind a running turn are gathered, in milliseconds.
	DebounceMs Optional[int] `json:"debounceMs,omitzero" default:"500" min:"0" max:"60000"`
	// How many messages may wait.
	Cap Optional[int] `json:"cap,omitzero" default:"20" min:"1" max:"1000"`
	// What gives way when more are waiting.
	Overflow Overflow `json:"overflow,omitzero" default:"summarize"`
}

// Limits protects an open bot. Under a channel or an account it overrides the
// top-level limits key by key.
type Limits struct {
	// Limits for each person.
	PerUser UserLimits `json:"perUser"`
}

// UserLimits bounds what one person may cause. Zero switches a limit off.
type UserLimits struct {
	// Messages a minute; 0 for no limit.
	MessagesPerMinute Optional[int] `json:"messagesPerMinute,omitzero" default:"20" min:"0"`
	// Turns a day; 0 for no limit.
	TurnsPerDay Optional[int] `json:"turnsPerDay,omitzero" default:"0" min:"0"`
	// US dollars a day; 0 for no limit.
	USDPerDay Optional[float64] `json:"usdPerDay,omitzero" default:"0" min:"0"`
}

// Alerts says where the operator is told of trouble.
type Alerts struct {
	// Address that gets one message for each kind of trouble; empty for none.
	To string `json:"to,omitzero" format:"address"`
	// How long the same alert stays quiet after it was sent, in minutes.
	CooldownMinutes int `json:"cooldownMinutes" default:"60" min:"0"`
}

// Delivery holds the rules of the outbox.
type Delivery struct {
	// What to do when it cannot be known whether a message was sent, on channels without idempotency.
	OnAmbiguous OnAmbiguous `json:"onAmbiguous"`
}

// OnAmbiguous chooses between a possible repetition and a possible loss.
type OnAmbiguous struct {
	// For completions and final answers.
	Final Ambiguous `json:"final" default:"resend"`
	// For everything else.
	Other Ambiguous `json:"other" default:"hold"`
}

// Gateway is the process itself.
type Gateway struct {
	// Folder of the socket, locks and files of the process; unset: the folder of the SQLite file, else ~/.skein.
	StateDir string `json:"stateDir,omitzero" format:"path" reload:"restart"`
	// Address under which the outside reaches the HTTP listener; webhooks need it.
	PublicURL string `json:"publicUrl,omitzero" format:"url" reload:"restart"`
	// How long a graceful stop waits for running turns, in seconds.
	ShutdownGraceSeconds int `json:"shutdownGraceSeconds" default:"30" min:"0" max:"3600"`
	// The HTTP listener (web chat, control UI, API, webhooks); without this key nothing listens on TCP.
	HTTP *HTTP `json:"http,omitzero" reload:"restart"`
}

// HTTP is the TCP listener.
type HTTP struct {
	// Host and port to listen on.
	Listen string `json:"listen" default:"127.0.0.1:7878" format:"listen"`
	// What clients must present; required unless the listener is on loopback.
	Token Secret `json:"token,omitzero"`
	// Certificate for HTTPS without a reverse proxy.
	TLS *TLS `json:"tls,omitzero"`
}

// TLS names the files of a certificate.
type TLS struct {
	// Certificate chain, PEM.
	CertFile string `json:"certFile" format:"path" required:"true"`
	// Private key, PEM.
	KeyFile string `json:"keyFile" format:"path" required:"true"`
}

// Store says where everything is kept.
type Store struct {
	// Address of the store: sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE.
	URL StoreURL `json:"url" default:"sqlite:~/.skein/skein.db" format:"store"`
}

// StoreURL is the address of a store. Printing, logging and encoding it hide a
// password; Reveal does not.
type StoreURL string

// Reveal returns the address with its password.
func (u StoreURL) Reveal() string { return string(u) }

// SQLitePath returns the file of a SQLite store; ok is false for others.
func (u StoreURL) SQLitePath() (path string, ok bool) { return strings.CutPrefix(string(u), "sqlite:") }

// String returns the address with any password hidden.
func (u StoreURL) String() string {
	if _, ok := u.SQLitePath(); ok || u == "" {
		return string(u)
	}
	parsed, err := url.Parse(string(u))
	if err != nil {
		return secretMask
	}
	if q := parsed.Query(); q.Has("password") {
		q.Set("password", "xxxxx")
		parsed.RawQuery = q.Encode()
	}
	return parsed.Redacted()
}

// Format prints the address with any password hidden, under every verb.
func (u StoreURL) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, u.String()) }

// LogValue hides the password from the log.
func (u StoreURL) LogValue() slog.Value { return slog.StringValue(u.String()) }

// MarshalJSON hides the password from dumps.
func (u StoreURL) MarshalJSON() ([]byte, error) { return json.Marshal(u.String()) }

// Logging says what is logged and how.
type Logging struct {
	// Lowest level that is logged.
	Level LogLevel `json:"level" default:"info"`
	// Lines for people or for machines.
	Format LogFormat `json:"format" default:"text" reload:"restart"`
}
