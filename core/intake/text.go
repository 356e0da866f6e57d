package intake

import (
	"fmt"

	"github.com/skein-bot/skein/core/policy"
)

// limitText says politely that a message was left out, and how many before it.
func limitText(over policy.Limit, missed int) string {
	text := "That is as much as I can do for one person today. Please come back tomorrow (a day begins at 00:00 UTC)."
	if over == policy.LimitMinute {
		text = "You are faster than I am: this message was left out. Please wait a minute and send it again."
	}
	if missed > 0 {
		text += fmt.Sprintf(" (%d earlier ones were left out too.)", missed)
	}
	return text
}

// offerText answers the edit of a message that a turn has taken already.
func offerText(running bool) string {
	if running {
		return "I am answering what you wrote before your edit. When I am done, /retry answers the new text instead."
	}
	return "You have edited a message that I have answered. /retry answers the new text instead."
}
