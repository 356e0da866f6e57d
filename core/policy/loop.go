package policy

import (
	"strconv"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
)

// Two bots that hear each other may answer each other for ever. After LoopEvents
// messages of a bot in one conversation within LoopWindow it is not heard there
// for LoopSilence.
const (
	LoopEvents  = 20
	LoopWindow  = time.Minute
	LoopSilence = time.Minute
)

// Talk is how often a bot spoke in a conversation of late. The zero value is
// never.
type Talk struct {
	// Recent are the messages that were heard within the window, the oldest first.
	Recent []core.Millis
	// Until is the end of the silence that the last one too many began.
	Until core.Millis
}

// TalkPlace is the conversation in which a bot is counted: a parent channel
// with all its threads.
func TalkPlace(a core.Address) core.Address {
	if a.Parent != "" {
		a.Conversation, a.Parent = a.Parent, ""
	}
	return a.InThread("")
}

// Hear counts one more message at now. heard is false where it is one too many;
// the first such one begins the silence, which what is said meanwhile does not
// prolong. Within any LoopWindow at most LoopEvents messages are heard.
func (t Talk) Hear(now core.Millis) (after Talk, heard, begins bool) {
	if now < t.Until && t.Until <= now.Add(LoopSilence) { // else a clock was set back
		return t, false, false
	}
	after.Until = 0
	for _, at := range t.Recent {
		if at > now.Add(-LoopWindow) && at <= now.Add(LoopWindow) {
			after.Recent = append(after.Recent, at)
		}
	}
	if len(after.Recent) >= LoopEvents {
		return Talk{Until: now.Add(LoopSilence)}, false, true
	}
	after.Recent = append(after.Recent, now)
	return after, true, false
}

// String writes the recent messages as the store keeps them.
func (t Talk) String() string {
	var b strings.Builder
	for i, at := range t.Recent {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.FormatInt(int64(at), 10))
	}
	return b.String()
}

// ParseTalk is the inverse of String; what it cannot read is left out.
func ParseTalk(recent string, until core.Millis) Talk {
	t := Talk{Until: until}
	for field := range strings.FieldsSeq(recent) {
		if at, err := strconv.ParseInt(field, 10, 64); err == nil {
			t.Recent = append(t.Recent, core.Millis(at))
		}
	}
	return t
}
