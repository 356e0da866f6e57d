package policy

import (
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
)

// Sender returns the form "channel:id" in which command rights, owners of
// bindings and approvers name a person, "" for somebody without a stable id.
func Sender(channel string, author core.Author) string {
	if channel == "" || author.ID == "" {
		return ""
	}
	return channel + ":" + author.ID
}

// IsOwner reports whether sender, a result of Sender, is an operator of the
// installation (commands.ownerAllowFrom). Entries are "channel:id" or "*" for
// everybody; a bare id names nobody, because another channel may give the same
// id to somebody else.
func IsOwner(sender string, ownerAllowFrom []string) bool {
	return namesSender(ownerAllowFrom, sender)
}

// CommandAllowed reports whether sender, a result of Sender whom Decide has
// admitted, may use chat commands: owners may, and those in allowFrom
// (commands.allowFrom), or everybody where that is nil. What only owners may
// do asks IsOwner. Somebody without an id may nothing.
func CommandAllowed(sender string, ownerAllowFrom, allowFrom []string) bool {
	if !isPerson(sender) {
		return false
	}
	return allowFrom == nil || namesSender(allowFrom, sender) || IsOwner(sender, ownerAllowFrom)
}

// isPerson reports whether sender has both a channel and an id.
func isPerson(sender string) bool {
	channel, id, _ := strings.Cut(sender, ":")
	return channel != "" && id != ""
}

func namesSender(list []string, sender string) bool {
	return isPerson(sender) && (slices.Contains(list, sender) || slices.Contains(list, "*"))
}
