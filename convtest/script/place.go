package script

import (
	"regexp"
	"strings"
)

// Place is channel[:account]/conversation[/thread] as a line has it. It may
// hold $NAME and ${id:...} in every part but the channel.
type Place struct {
	Channel      string
	Account      string // "" is "default"
	Conversation string
	Thread       string // "" for none
	// Each is set for "/*": every thread of the conversation, each alone.
	Each bool
}

// String returns the place as it is written.
func (p Place) String() string {
	s := p.Channel
	if p.Account != "" && p.Account != "default" {
		s += ":" + p.Account
	}
	s += "/" + p.Conversation
	if p.Thread != "" {
		s += "/" + p.Thread
	}
	if p.Each {
		s += "/*"
	}
	return s
}

const placeForm = "a place, channel[:account]/conversation[/thread], such as console/main"

var (
	channelName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	accountName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
)

// ParsePlace reads a place. Its thread may not be "*".
func ParsePlace(s string) (Place, error) {
	p, err := parsePlace(s)
	if err == nil && p.Each {
		return Place{}, want("one place (/* stands in `place/* < /regex/ => T` only)", s)
	}
	return p, err
}

func parsePlace(s string) (Place, error) {
	parts := strings.Split(s, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return Place{}, want(placeForm, s)
	}
	channel, account, hasAccount := strings.Cut(parts[0], ":")
	p := Place{Channel: channel, Account: account, Conversation: parts[1]}
	if account == "default" {
		p.Account = ""
	}
	switch {
	case !channelName.MatchString(channel):
		return Place{}, want("the name of a channel before the slash, such as console", channel)
	case hasAccount && !accountName.MatchString(account):
		return Place{}, want("the name of an account after the colon", account)
	case p.Conversation == "" || strings.ContainsAny(p.Conversation, "*<>@"):
		return Place{}, want("the name of a conversation after the slash", p.Conversation)
	}
	if len(parts) == 3 {
		p.Thread = parts[2]
		switch {
		case p.Thread == "*":
			p.Thread, p.Each = "", true
		case p.Thread == "" || strings.ContainsAny(p.Thread, "*<>@"):
			return Place{}, want("a thread after the second slash, such as $T", p.Thread)
		}
	}
	return p, nil
}

// channelAccount reads channel[:account].
func channelAccount(s string) (channel, account string, err error) {
	channel, account, has := strings.Cut(s, ":")
	switch {
	case !channelName.MatchString(channel):
		return "", "", want("the name of a channel, such as telegram", s)
	case has && !accountName.MatchString(account):
		return "", "", want("the name of an account after the colon", account)
	case account == "default":
		account = ""
	}
	return channel, account, nil
}
