package config

import (
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strings"
)

// checkAgentName refuses an unknown agent. With agent projects the ids are not
// all known here.
func (d *decoder) checkAgentName(c *Config, id string, path Path) {
	if id == "" || len(c.Agents.Projects) > 0 || !agentIDPattern.MatchString(id) {
		return
	}
	if _, ok := c.Agents.Entries[id]; ok {
		return
	}
	suggestion := "agents are " + strings.Join(c.AgentIDs(), ", ")
	if near := nearestWord(id, c.AgentIDs()); near != "" {
		suggestion = "did you mean " + quote(near) + "?"
	}
	d.refuse(c, path, fmt.Sprintf("unknown agent %q", id), suggestion)
}

// checkAgentNames checks every other key that names an agent.
func (d *decoder) checkAgentNames(c *Config) {
	walk(Keys(), reflectValue(c), nil, func(k *Key, v reflect.Value, path Path) {
		switch k.Format {
		case "agentId":
			if path[0] != "routes" {
				d.checkAgentName(c, v.String(), path)
			}
		case "agentIdOrAll":
			id := v.String()
			if _, ok := c.Agents.Entries[id]; !ok && id != "*" && len(c.Agents.Projects) == 0 && agentIDPattern.MatchString(id) {
				d.warn(c, path, fmt.Sprintf("the agent %q is not configured, so it cannot be started", id), "agents are "+strings.Join(c.AgentIDs(), ", "))
			}
		}
	})
}

// checkChannels checks what each account needs to connect.
func (d *decoder) checkChannels(c *Config) {
	checkAccounts(d, c, "telegram", c.Channels.Telegram, func(a TelegramAccount, need needs) {
		need.secret("token", a.Token)
		if a.Webhook {
			need.secret("webhookSecret", a.WebhookSecret)
			need.text("webhook", c.Gateway.PublicURL, "webhooks need an address that the platform can reach", "set gateway.publicUrl")
		}
	}, func(a TelegramAccount) Secret { return a.Token })
	checkAccounts(d, c, "discord", c.Channels.Discord, func(a DiscordAccount, need needs) {
		need.secret("token", a.Token)
	}, func(a DiscordAccount) Secret { return a.Token })
	checkAccounts(d, c, "matrix", c.Channels.Matrix, func(a MatrixAccount, need needs) {
		need.text("homeserver", a.Homeserver, "expected the URL of a homeserver, found nothing", "add the key")
		if a.AccessToken.IsZero() {
			need.secret("password", a.Password)
			need.text("userId", a.UserID, "expected the user id for the password, found nothing", "add the key")
		}
	}, func(a MatrixAccount) Secret { return a.AccessToken })
	checkAccounts(d, c, "imessage", c.Channels.IMessage, func(a IMessageAccount, need needs) {
		if a.Transport == TransportBlueBubbles {
			need.text("serverUrl", a.ServerURL, "expected the URL of a BlueBubbles server, found nothing", "add the key")
			need.secret("password", a.Password)
			need.secret("webhookSecret", a.WebhookSecret)
		}
	}, func(IMessageAccount) Secret { return Secret{} })
	for _, name := range c.Channels.Names() {
		d.checkAllowlists(c, name)
	}
}

// needs reports keys that an account lacks.
type needs struct {
	d    *decoder
	c    *Config
	path Path
}

func (n needs) secret(key string, s Secret) {
	if s.IsZero() {
		n.d.refuse(n.c, n.path.Child(key), `expected a secret such as "$NAME", found nothing`, "add the key")
	}
}

func (n needs) text(key, value, message, suggestion string) {
	if value == "" {
		n.d.refuse(n.c, n.path.Child(key), message, suggestion)
	}
}

// checkAccounts checks every enabled account of a channel, and that no two of
// them are the same one.
func checkAccounts[A any](d *decoder, c *Config, name string, channel *Channel[A], check func(A, needs), credential func(A) Secret) {
	if channel == nil || !channel.Enabled {
		return
	}
	seen := map[string]string{}
	for _, account := range channel.AccountNames() {
		if !channel.Account(account).Enabled {
			continue
		}
		path := Path{"channels", name, "accounts", account}
		check(channel.Accounts[account], needs{d, c, path})
		s := credential(channel.Accounts[account])
		if s.IsZero() {
			continue
		}
		identity := string(s.Source()) + " " + s.content().id
		if first, ok := seen[identity]; ok {
			d.refuse(c, path, fmt.Sprintf("this account has the same credential as the account %q", first), "give each account its own, or remove one")
		}
		seen[identity] = account
	}
}

// checkAllowlists warns of an account that nobody can write to.
func (d *decoder) checkAllowlists(c *Config, name string) {
	channel, _ := c.Channels.Get(name)
	for _, account := range channel.AccountNames() {
		access := c.Access(name, account)
		if access.DMPolicy == DMAllowlist && len(access.AllowFrom) == 0 {
			d.warn(c, Path{"channels", name, "accounts", account, "dmPolicy"}, "with this policy and an empty allowFrom nobody can write directly", "add ids to allowFrom")
		}
	}
}

// checkSharedHistory warns where several people would share one history.
func (d *decoder) checkSharedHistory(c *Config) {
	if c.Session.DMScope != DMScopeMain {
		return
	}
	people, bounded := c.directWriters()
	if bounded && len(people) == 1 {
		return
	}
	found := "an unknown number of people"
	if bounded {
		found = fmt.Sprintf("%d people", len(people))
	}
	d.warn(c, Path{"session", "dmScope"}, "everyone who writes directly shares one history, and "+found+" may write",
		`use "per-channel-peer", or allow exactly one person`)
}

// directWriters lists who may write directly; bounded is false if that cannot
// be counted.
func (c *Config) directWriters() (people []string, bounded bool) {
	for _, name := range c.Channels.Names() {
		channel, _ := c.Channels.Get(name)
		for _, account := range channel.AccountNames() {
			access := c.Access(name, account)
			if !channel.IsEnabled() || !channel.Account(account).Enabled || access.DMPolicy == DMDisabled {
				continue
			}
			writers := access.AllowFrom
			if c.isLocalConsole(name, account) {
				writers = []string{"local"}
			} else if access.DMPolicy != DMAllowlist || slices.Contains(writers, "*") {
				return nil, false
			}
			for _, id := range writers {
				if person := name + ":" + id; !slices.Contains(people, person) {
					people = append(people, person)
				}
			}
		}
	}
	return people, true
}

func (c *Config) isLocalConsole(channel, account string) bool {
	return channel == "console" && c.Channels.Console.Accounts[account].APIRoot == ""
}

// checkGateway refuses a listener that is open to a network without a token.
func (d *decoder) checkGateway(c *Config) {
	h := c.Gateway.HTTP
	if h == nil || !h.Token.IsZero() || isLoopback(h.Listen) {
		return
	}
	d.refuse(c, Path{"gateway", "http", "token"}, "a listener that is not on loopback needs a token", `add token: "$SKEIN_TOKEN", or listen on 127.0.0.1`)
}

func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return true // the format was refused already
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
