package fullscreen

import (
	"fmt"
	"time"

	"github.com/skein-bot/skein/core"
)

// Every word that the screen shows of its own is in this file.

const (
	textYou       = "you"
	textDeleted   = "(deleted)"
	textEdited    = "edited"
	textSending   = "sending"
	textNew       = "new"
	textGone      = "This thread is gone."
	textEmpty     = "Nothing was written here yet."
	textSelecting = "Select with the mouse, as in any terminal. F2 goes back."
	textCopied    = "copied the last answer"
	textNoCopy    = "there is no answer to copy yet"
	textAway      = "The gateway does not answer. Reconnecting; what you write waits, and is sent once."
	textBack      = "the gateway is back"
	textHere      = "Write a message, or / for commands"
	textEndedHere = "Nobody listens here any more; writing goes to the conversation's agent"
	textTooSmall  = "This window is too small. Make it larger, or use `skein chat --plain`."
	textHint      = "enter send · tab next · ctrl+g help · ctrl+c quit"
	textHintSmall = "ctrl+g help"
	textTitle     = "skein"
)

// stateText is a state as people read it.
func stateText(s State) string {
	switch s {
	case StateQueued:
		return "queued"
	case StateRunning:
		return "working"
	case StateWaiting:
		return "waiting for its threads"
	case StateDone:
		return "done"
	case StateFailed:
		return "failed"
	case StateEnded:
		return "ended"
	}
	return "listening"
}

// icon is a state in one cell.
func icon(s State, bound bool) string {
	switch s {
	case StateQueued:
		return "…"
	case StateWaiting:
		return "◷"
	case StateDone:
		return "✓"
	case StateFailed:
		return "✗"
	case StateEnded:
		return "·"
	}
	if bound {
		return "○"
	}
	return " "
}

func textWriting(who string, d time.Duration) string {
	return fmt.Sprintf("%s is working · %s", who, duration(d))
}

func textEnds(d time.Duration) string {
	switch { // minutes do not count far ahead
	case d > 36*time.Hour:
		d = d.Round(24 * time.Hour)
	case d > 2*time.Hour:
		d = d.Round(time.Hour)
	case d > time.Minute:
		d = d.Round(time.Minute)
	}
	return "ends in " + duration(d)
}

func textAnswered(name string) string { return name + " answered · ctrl+n goes there" }

func textBelow(n int) string {
	if n == 1 {
		return "↓ 1 new message · end goes there"
	}
	return fmt.Sprintf("↓ %d new messages · end goes there", n)
}

func textNotChanged(why string) string { return "Not changed: " + why }

const (
	textEditWhat    = "write the new text behind /edit"
	textNothingHere = "you have written nothing here lately"
)

func textNotSent(why string) string { return "Not sent: " + why }

func textNoPlace(name string) *core.Error {
	return core.Errorf("chat_no_thread", "there is no thread %q", name).WithRemedy("the list on the left has them all")
}

const textScrolled = "↓ more below · end goes there"

// duration is a time span as people read it: "3s", "2m 5s", "45m", "2h 30m",
// "3d".
func duration(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(int(d/time.Second), 0))
	case d < 10*time.Minute && d%time.Minute != 0:
		return fmt.Sprintf("%dm %ds", d/time.Minute, d%time.Minute/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 24*time.Hour && d%time.Hour >= time.Minute:
		return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// helpRow is one row of the help: keys and what they do; without keys it is a
// heading.
type helpRow struct{ keys, does string }

func helpRows() []helpRow {
	return []helpRow{
		{"", "Write"},
		{"enter", "send"},
		{"alt+enter, shift+enter, ctrl+j", "a new line"},
		{"up, down", "what you wrote here before"},
		{"tab after /", "complete a command"},
		{"/edit …, /delete", "change your newest message here"},
		{"", "Go"},
		{"tab, shift+tab", "next place (unread first), previous one"},
		{"ctrl+up, ctrl+down", "up and down the list"},
		{"alt+1 … alt+9, alt+0", "thread #1 … #9, the conversation"},
		{"ctrl+n", "where the last answer came"},
		{"/thread 12, #12", "any thread; a click in the list works too"},
		{"", "Read"},
		{"pgup, pgdn, wheel", "scroll; end of an empty line goes to the newest"},
		{"ctrl+y", "copy the last answer"},
		{"F2", "select text with the mouse; again to go back"},
		{"", "End"},
		{"ctrl+c, ctrl+d, /quit", "leave; everything goes on without this window"},
	}
}

// helpStates explains the marks of the list.
func helpStates() string {
	return "✓ done  ✗ failed  … queued  ◷ waiting  ○ listening  · ended"
}

const textThreads = "the list on the left has them all; tab, ctrl+up and ctrl+down go through it"
