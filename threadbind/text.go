package threadbind

import (
	"slices"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/words"
)

// The texts that this package puts before people are those of package words;
// this file puts them together. Refusals are in errors.go.

// nameLimit is the longest name in a text, in UTF-16 code units.
const nameLimit = 100

// name returns what people call the session behind a binding.
func name(w words.Language, b core.Binding) string {
	for _, s := range []string{b.Label, b.Agent, b.SessionKey} {
		if s = Title(s, nameLimit); s != "" {
			return s
		}
	}
	return w.BindingAgent()
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
func Intro(w words.Language, b core.Binding, configured Limits) string {
	parts := []string{w.BindingIntroCurrent(name(w, b))}
	leave := w.BindingLeaveCurrent()
	if b.Placement == core.PlacementChild {
		parts, leave = []string{w.BindingIntroChild(name(w, b))}, w.BindingLeaveChild()
	}
	if limits := limitTexts(w, configured.Of(b), b.Deadline); len(limits) > 0 {
		parts = append(parts, w.BindingLeaves(limits))
	}
	return sentences(append(parts, leave)...)
}

// sentences joins sentences, empty ones left out.
func sentences(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// limitTexts words the limits that are on.
func limitTexts(w words.Language, l Limits, deadline core.Millis) []string {
	var parts []string
	if l.Idle > 0 {
		parts = append(parts, w.BindingLeavesIdle(l.Idle))
	}
	if l.MaxAge > 0 {
		parts = append(parts, w.BindingLeavesMaxAge(l.MaxAge))
	}
	if deadline != 0 {
		parts = append(parts, w.BindingLeavesAt(deadline.Time().UTC()))
	}
	return parts
}

// Farewell says in the language of s that a binding ended, why, where messages
// go now, and after idling how to go on.
func Farewell(b core.Binding, s Settings) string {
	w := s.Language
	over := w.BindingOver(name(w, b), because(w, b, s.Limits().Of(b)))
	late := b.Reason == core.EndIdle || b.Reason == core.EndMaxAge
	if late && s.OnLate == LateResume {
		return sentences(over, w.BindingOverResume())
	}
	return sentences(over, w.BindingOverUsual(), resumption(b, s))
}

// resumption says how to go on after idling, and for how long that works.
func resumption(b core.Binding, s Settings) string {
	switch {
	case b.Reason != core.EndIdle || target(b) == "":
		return ""
	case b.Target != core.TargetSubagent || s.ArchiveAfter <= 0 || neverArchived(b):
		return s.Language.BindingOverFocus(target(b))
	}
	return s.Language.BindingOverFocusWithin(target(b), s.ArchiveAfter)
}

// neverArchived reports whether people keep the session of the binding: it is a
// visible one.
func neverArchived(b core.Binding) bool {
	k, err := core.ParseSessionKey(b.SessionKey)
	return err == nil && k.Kind == core.SessionDashboard
}

// because words the reason of an end.
func because(w words.Language, b core.Binding, l Limits) string {
	switch b.Reason {
	case core.EndIdle:
		return w.BindingOverIdle(l.Idle)
	case core.EndMaxAge:
		return w.BindingOverMaxAge(l.MaxAge)
	case core.EndDeadline:
		return w.BindingOverDeadline()
	case core.EndManual:
		return w.BindingOverManual()
	case core.EndSessionEnded:
		return w.BindingOverSessionEnded()
	case core.EndReplaced:
		return w.BindingOverReplaced()
	case core.EndThreadDeleted:
		return w.BindingOverThreadDeleted()
	case core.EndAccountRemoved:
		return w.BindingOverAccountRemoved()
	case core.EndSpawnFailed:
		return w.BindingOverSpawnFailed()
	}
	return b.Reason.String()
}

// SuspendedNotice tells the owner, in the conversation around it, that a
// binding is suspended.
func SuspendedNotice(w words.Language, b core.Binding) string {
	return w.BindingSuspended(unreachable(w, b))
}

// UndeliveredLine says in one line why an answer goes to the conversation
// around its place: it stands before the answer.
func UndeliveredLine(w words.Language, b core.Binding) string {
	if b.Reason == core.EndThreadDeleted {
		return w.BindingUndeliveredGone(name(w, b))
	}
	return w.BindingUndelivered(unreachable(w, b))
}

// unreachable says why a place cannot be written to.
func unreachable(w words.Language, b core.Binding) string {
	if strings.HasPrefix(b.SuspendReason, string(CauseClosed)) {
		return w.BindingClosed(name(w, b))
	}
	return w.BindingForbidden(name(w, b))
}

// IdleText answers /session idle; times are shown in zone.
func IdleText(w words.Language, v View, now core.Millis, zone *time.Location) string {
	if v.Limits.Idle <= 0 {
		return sentences(w.BindingLimitIdleOff(name(w, v.Binding)), nextText(w, v, now, zone))
	}
	busy := ""
	if v.Busy {
		busy = w.BindingLimitBusy()
	}
	return sentences(w.BindingLimitIdle(v.Limits.Idle, name(w, v.Binding)), busy, nextText(w, v, now, zone))
}

// MaxAgeText answers /session max-age; times are shown in zone.
func MaxAgeText(w words.Language, v View, now core.Millis, zone *time.Location) string {
	text := w.BindingLimitMaxAgeOff(name(w, v.Binding))
	if v.Limits.MaxAge > 0 {
		text = w.BindingLimitMaxAge(v.Limits.MaxAge, name(w, v.Binding))
	}
	return sentences(text, nextText(w, v, now, zone))
}

// nextText says when the next deadline is.
func nextText(w words.Language, v View, now core.Millis, zone *time.Location) string {
	if v.Next == 0 {
		return w.BindingLimitNever()
	}
	return w.BindingLimitNext(v.Next.Time().In(zone), words.Until(now.Time(), v.Next.Time()), limitWord(v.Reason))
}

// limitWord is the name of the limit that ends a binding, as /session spells
// it.
func limitWord(r core.EndReason) string { return strings.TrimSuffix(r.String(), "-expired") }

// ExpiryText is the word on expiry in lists such as /agents.
func ExpiryText(w words.Language, v View, now core.Millis) string {
	switch {
	case v.Next == 0 && v.Busy:
		return w.BindingExpiryBusy()
	case v.Next == 0:
		return w.BindingExpiryNever()
	}
	return w.BindingExpiryNext(words.Until(now.Time(), v.Next.Time()), limitWord(v.Reason))
}
