package intake

import (
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/words"
)

// limitText says politely that a message was left out, and how many before it.
func limitText(w words.Language, over policy.Limit, missed int) string {
	text := w.LimitDay()
	if over == policy.LimitMinute {
		text = w.LimitMinute()
	}
	if missed > 0 {
		text += " " + w.LimitMissed(missed)
	}
	return text
}

// offerText answers the edit of a message that a turn has taken already.
func offerText(w words.Language, running bool) string {
	if running {
		return w.EditRunning()
	}
	return w.EditAnswered()
}
