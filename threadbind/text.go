package threadbind

import (
	"fmt"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
)

// Every text that this package puts before people is in this file; refusals are in
// errors.go. The texts have no markup.

// nameLimit is the longest name in a text, in UTF-16 code units.
const nameLimit = 100

// name returns what people call the session behind a binding.
func name(b core.Binding) string {
	for _, s := range []string{b.Label, b.Agent, b.SessionKey} {
		if s = Title(s, nameLimit); s != "" {
			return s
		}
	}
	return "the agent"
}

// target returns what /focus finds the session of a binding by.
func target(b core.Binding) string {
	if label := Title(b.Label, nameLimit); label != "" {
		return label
	}
	return b.SessionKey
}

// Intro says who is here, that writing here talks to it, which limits are on,
// and how to leave.
func Intro(b core.Binding, configured Limits) string {
	var s strings.Builder
	if b.Placement == core.PlacementChild {
		fmt.Fprintf(&s, "%s is here. What you write in this thread goes to it.", name(b))
	} else {
		fmt.Fprintf(&s, "%s is listening here now. What you write here goes to it instead of this conversation's usual agent.", name(b))
	}
	if limits := limitsText(configured.Of(b), b.Deadline); limits != "" {
		s.WriteString(" It leaves " + limits + ".")
	}
	if b.Placement == core.PlacementChild {
		s.WriteString(" /unfocus ends it.")
	} else {
		s.WriteString(" /unfocus brings the usual one back.")
	}
	return s.String()
}

// limitsText joins the limits that are on; it is empty if none is.
func limitsText(l Limits, deadline core.Millis) string {
	var parts []string
	if l.Idle > 0 {
		parts = append(parts, "after "+Duration(l.Idle)+" without a message (idle)")
	}
	if l.MaxAge > 0 {
		parts = append(parts, Duration(l.MaxAge)+" from now at the latest (max-age)")
	}
	if deadline != 0 {
		parts = append(parts, "at "+clockText(deadline, time.UTC)+" in any case")
	}
	return strings.Join(parts, ", and ")
}

// Farewell says that a binding ended, why, where messages go now, and after
// idling how to go on.
func Farewell(b core.Binding, s Settings) string {
	limits := s.Limits().Of(b)
	text := fmt.Sprintf("%s is not listening here any more: %s.", name(b), because(b, limits))
	late := b.Reason == core.EndIdle || b.Reason == core.EndMaxAge
	if late && s.OnLate == LateResume {
		return text + " Write here again to resume."
	}
	text += " Messages here go to this conversation's usual agent."
	if b.Reason == core.EndIdle && target(b) != "" {
		text += " /focus " + target(b) + " resumes it" + window(b, s) + "."
	}
	return text
}

// window says for how long an ended binding can be resumed.
func window(b core.Binding, s Settings) string {
	if b.Target != core.TargetSubagent || s.ArchiveAfter <= 0 {
		return ""
	}
	return " within " + Duration(s.ArchiveAfter)
}

// because words the reason of an end.
func because(b core.Binding, l Limits) string {
	switch b.Reason {
	case core.EndIdle:
		return "idle for " + Duration(l.Idle)
	case core.EndMaxAge:
		return "its max-age of " + Duration(l.MaxAge) + " is over"
	case core.EndDeadline:
		return "its time is up"
	case core.EndManual:
		return "unfocused"
	case core.EndSessionEnded:
		return "its session has ended"
	case core.EndReplaced:
		return "another one took its place"
	}
	return b.Reason.String()
}

// SuspendedNotice tells the owner, in the conversation around it, that a
// binding is suspended.
func SuspendedNotice(b core.Binding) string {
	return unreachable(b) + ". What is written there waits until that is over; its answers come here meanwhile."
}

// UndeliveredLine says in one line why an answer goes to the conversation
// around its place: it stands before the answer.
func UndeliveredLine(b core.Binding) string {
	if b.Reason == core.EndThreadDeleted {
		return fmt.Sprintf("The thread of %s is gone, so its answer comes here:", name(b))
	}
	return unreachable(b) + ", so its answer comes here:"
}

// unreachable says why a place cannot be written to.
func unreachable(b core.Binding) string {
	why := "I may not write in its thread at present"
	if strings.HasPrefix(b.SuspendReason, string(CauseClosed)) {
		why = "its thread is closed"
	}
	return fmt.Sprintf("%s cannot be reached: %s", name(b), why)
}

// Focused answers a /focus that opened a thread, in the place of the command.
func Focused(b core.Binding, title string) string {
	if title = Title(title, nameLimit); title == "" {
		title = name(b)
	}
	return fmt.Sprintf("%s listens in the thread “%s” now.", name(b), title)
}

// UnboundNote is the note of a spawn that runs without the binding it asked
// for; why is Plan.Unbound.
func UnboundNote(why, target string) string {
	return fmt.Sprintf("not bound to this conversation: %s; /focus %s talks to it", why, target)
}

// IdleText answers /session idle; times are shown in zone.
func IdleText(v View, now core.Millis, zone *time.Location) string {
	if v.Limits.Idle <= 0 {
		return fmt.Sprintf("Idle limit of %s: off.%s", name(v.Binding), nextText(v, now, zone))
	}
	text := fmt.Sprintf("Idle limit of %s: %s.", name(v.Binding), Duration(v.Limits.Idle))
	if v.Busy {
		text += " It does not count while there is work to do."
	}
	return text + nextText(v, now, zone)
}

// MaxAgeText answers /session max-age; times are shown in zone.
func MaxAgeText(v View, now core.Millis, zone *time.Location) string {
	value := "off"
	if v.Limits.MaxAge > 0 {
		value = Duration(v.Limits.MaxAge)
	}
	return fmt.Sprintf("Age limit of %s: %s.%s", name(v.Binding), value, nextText(v, now, zone))
}

// nextText says when the next deadline is.
func nextText(v View, now core.Millis, zone *time.Location) string {
	if v.Next == 0 {
		return " Nothing ends it by itself at present."
	}
	return fmt.Sprintf(" It ends at %s, in %s (%s), if nothing moves that.",
		clockText(v.Next, zone), Left(now, v.Next), strings.TrimSuffix(v.Reason.String(), "-expired"))
}

// ExpiryText is the word on expiry in lists such as /agents.
func ExpiryText(v View, now core.Millis) string {
	switch {
	case v.Next == 0 && v.Busy:
		return "at work"
	case v.Next == 0:
		return "no expiry"
	}
	return fmt.Sprintf("expires in %s (%s)", Left(now, v.Next), strings.TrimSuffix(v.Reason.String(), "-expired"))
}

func clockText(at core.Millis, zone *time.Location) string {
	return at.Time().In(zone).Format("2006-01-02 15:04 MST")
}
