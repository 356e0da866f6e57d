package policy

import (
	"strconv"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
)

// UserLimits bounds what one person may cause (limits.perUser). Zero switches
// a limit off.
type UserLimits struct {
	MessagesPerMinute int
	TurnsPerDay       int
	USDPerDay         float64
}

// PerDay reports whether a limit of a day is on, so that Use must say what the
// day has seen.
func (l UserLimits) PerDay() bool { return l.TurnsPerDay > 0 || l.USDPerDay > 0 }

// Any reports whether a limit is on.
func (l UserLimits) Any() bool { return l.MessagesPerMinute > 0 || l.PerDay() }

// Use is what a person has caused so far.
type Use struct {
	Recent Recent
	// Turns are those of today, and the messages that wait and may become one
	// each.
	Turns int
	// USD is what today's turns have cost, as far as prices are known.
	USD float64
}

// Limit names the limit that a message is over.
type Limit string

// The limits, in the order in which they are looked at.
const (
	LimitNone    Limit = ""
	LimitMinute  Limit = "messagesPerMinute"
	LimitTurns   Limit = "turnsPerDay"
	LimitDollars Limit = "usdPerDay"
)

// Over returns the limit that one more message at now would be over. turn says
// that the message would start a turn; one that does not, as a command, meets
// the limit of a minute only.
//
// Within any 60 seconds at most MessagesPerMinute messages are not over it,
// provided that Recent counts each of them.
func (l UserLimits) Over(u Use, turn bool, now core.Millis) Limit {
	switch {
	case l.MessagesPerMinute > 0 && u.Recent.Count(now) >= l.MessagesPerMinute:
		return LimitMinute
	case turn && l.TurnsPerDay > 0 && u.Turns >= l.TurnsPerDay:
		return LimitTurns
	case turn && l.USDPerDay > 0 && u.USD >= l.USDPerDay:
		return LimitDollars
	}
	return LimitNone
}

// Recent counts what happened within the last minute, second by second, the
// oldest first. It has at most one entry for each second of a minute, however
// much happens. The zero value is nothing. Two nodes whose clocks differ may
// both count in it.
type Recent []Second

// Second is a second since 1970 in which something happened N times.
type Second struct{ At, N int64 }

// recentWindow is what Recent looks back.
const recentWindow = time.Minute

// inWindow reports whether a part of the second is less than the window ago.
// What is further ahead than that belongs to a clock that was set back.
func (s Second) inWindow(now core.Millis) bool {
	end := core.Millis((s.At + 1) * 1000)
	return end > now.Add(-recentWindow) && end <= now.Add(recentWindow)
}

// Count returns how often it happened. It never counts less than the last 60
// seconds hold, and up to a second more.
func (r Recent) Count(now core.Millis) int {
	n := int64(0)
	for _, s := range r {
		if s.inWindow(now) {
			n += s.N
		}
	}
	return int(n)
}

// Add counts one more at now and leaves out what is over.
func (r Recent) Add(now core.Millis) Recent {
	out := make(Recent, 0, len(r)+1)
	at, counted := int64(now)/1000, false
	for _, s := range r {
		if !s.inWindow(now) {
			continue
		}
		if s.At == at {
			s.N, counted = s.N+1, true
		}
		out = append(out, s)
	}
	if !counted {
		out = append(out, Second{at, 1})
	}
	return out
}

// String writes the counts as the store keeps them: "1767225600:3 1767225604:1".
func (r Recent) String() string {
	var b strings.Builder
	for i, s := range r {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.FormatInt(s.At, 10))
		b.WriteByte(':')
		b.WriteString(strconv.FormatInt(s.N, 10))
	}
	return b.String()
}

// ParseRecent is the inverse of String. What it cannot read is left out.
func ParseRecent(text string) Recent {
	var out Recent
	for field := range strings.FieldsSeq(text) {
		at, n, _ := strings.Cut(field, ":")
		second, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			continue
		}
		if count, err := strconv.ParseInt(n, 10, 32); err == nil && count > 0 {
			out = append(out, Second{second, count})
		}
	}
	return out
}
