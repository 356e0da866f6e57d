package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// Every text that this package puts before people is in this file. The texts
// have no markup.

// The codes of refusals that are decided here. Those of bindings are
// threadbind's.
const (
	CodeUnknown         = "command_unknown"
	CodeUsage           = "command_usage"
	CodeTargetUnknown   = "target_unknown"
	CodeTargetAmbiguous = "target_ambiguous"
	CodeModelUnknown    = "model_unknown"
	CodeQueueMode       = "queue_mode_unknown"
	CodeRetryNothing    = "retry_nothing"
	CodeRetryBusy       = "retry_busy"
	CodeRetryOthers     = "retry_not_yours"
)

// nameLimit is the longest name in a text, in characters.
const nameLimit = 60

func refuseUnknown(name string) *core.Error {
	return core.Errorf(CodeUnknown, "there is no command /%s", core.Clip(name, nameLimit)).WithRemedy("/help lists the commands")
}

func refuseUsage(c string) *core.Error {
	return core.Errorf(CodeUsage, "this is not how the command works").WithRemedy("write %s", c)
}

func refuseTarget(token string) *core.Error {
	return core.Errorf(CodeTargetUnknown, "nothing is called %q here", core.Clip(token, nameLimit)).
		WithRemedy("/agents lists what there is; name it by its number, its label or the start of it")
}

func refuseAmbiguous(token string, candidates []string) *core.Error {
	const most = 8
	more := ""
	if len(candidates) > most {
		more = fmt.Sprintf(" and %d more", len(candidates)-most)
		candidates = candidates[:most]
	}
	return core.Errorf(CodeTargetAmbiguous, "%q can be %s%s", core.Clip(token, nameLimit), strings.Join(candidates, ", "), more).
		WithRemedy("write the number or the whole name")
}

func refuseModel(ref string) *core.Error {
	return core.Errorf(CodeModelUnknown, "the model %q is not configured", core.Clip(ref, nameLimit)).
		WithRemedy("models are written <provider>/<model id>")
}

func refuseQueue(mode string) *core.Error {
	return core.Errorf(CodeQueueMode, "%q is no queue mode", core.Clip(mode, nameLimit)).
		WithRemedy("write steer, followup, collect, interrupt, or default")
}

func refuseNothingToRetry() *core.Error {
	return core.Errorf(CodeRetryNothing, "there is nothing to answer again here").WithRemedy("write a message first")
}

func refuseRetryBusy() *core.Error {
	return core.Errorf(CodeRetryBusy, "the answer is not finished yet, or its sub-agents are at work").
		WithRemedy("wait for them, or stop them with /stop; then /retry")
}

func refuseRetryOfOthers() *core.Error {
	return core.Errorf(CodeRetryOthers, "the last message is somebody else's").WithRemedy("they or an operator can have it answered again; or write it yourself")
}

// candidate names one of several targets.
func candidate(t Target) string {
	name := fmt.Sprintf("%q", core.Clip(t.Label, nameLimit))
	switch {
	case t.Run.Ordinal > 0:
		return fmt.Sprintf("%s (%d)", name, t.Run.Ordinal)
	case t.Session.ID != 0:
		return fmt.Sprintf("%s (%s)", name, sessionRef(t.Session.ID))
	}
	return name
}

// sessionRef is how people name a session by its id.
func sessionRef(id int64) string { return fmt.Sprintf("session:%d", id) }

// stoppedText is the answer to /stop. Its counts are those of one transaction,
// so what was to be stopped is what was stopped.
func stoppedText(s stopped) string {
	parts := stoppedParts(s)
	if len(parts) == 0 {
		return "Nothing is running here."
	}
	return strings.Join(parts, " ")
}

func stoppedParts(s stopped) []string {
	var parts []string
	if s.Turn {
		parts = append(parts, "The answer in progress is stopped.")
	}
	runs := s.Runs
	if s.run { // in a sub-agent's own thread it counts too
		runs++
	}
	if runs > 0 {
		parts = append(parts, fmt.Sprintf("Sub-agents: stopped %d of %d.", runs, runs))
	}
	if s.Queued > 0 {
		parts = append(parts, fmt.Sprintf("Cleared %s.", count(s.Queued, "waiting message", "waiting messages")))
	}
	return parts
}

func freshText(s stopped, model string) string {
	text := "A new conversation begins here."
	if model != "" {
		text = fmt.Sprintf("A new conversation begins here, with the model %s.", model)
	}
	return strings.Join(append(stoppedParts(s), text), " ")
}

func resetText(s stopped) string {
	return strings.Join(append(stoppedParts(s), "What was said here is forgotten."), " ")
}

func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func queueText(mode string, own bool) string {
	from := "as configured"
	if own {
		from = "set for this conversation; /queue default goes back"
	}
	return fmt.Sprintf("Queue mode: %s (%s). %s", mode, from, queueMeaning(mode))
}

func queueMeaning(mode string) string {
	switch mode {
	case "steer":
		return "A message joins the answer in progress."
	case "followup":
		return "A message gets an answer of its own, after the one in progress."
	case "collect":
		return "Messages wait for the answer in progress and then share one."
	case "interrupt":
		return "A message ends the answer in progress."
	}
	return ""
}

// focusedText answers a /focus that opened a thread, in the place of the
// command.
func focusedText(label, title string) string {
	return fmt.Sprintf("%s listens in the thread “%s” now.", core.Clip(label, nameLimit), core.Clip(title, nameLimit))
}

// RefusalText words a refusal for the person who wrote the command: what failed,
// what to do, and the code to look it up by; without its cause.
func RefusalText(err *core.Error) string {
	text := err.Text
	if err.Remedy != "" {
		text += " (" + err.Remedy + ")"
	}
	return fmt.Sprintf("%s [%s]", text, err.Code)
}

// runState is the word for a run in lists.
func runState(r core.Run, now core.Millis) string {
	switch {
	case r.Status.Live() && r.StartedAt == 0:
		return string(r.Status)
	case r.Status.Live():
		return fmt.Sprintf("%s for %s", r.Status, age(now.Sub(r.StartedAt)))
	case r.StartedAt == 0:
		return string(r.Status.Task())
	}
	return fmt.Sprintf("%s after %s", r.Status.Task(), age(r.EndedAt.Sub(r.StartedAt)))
}

// age writes a duration with at most two units: 12s, 45m, 2h 30m, 3d.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return twoUnits(int(d.Hours()), "h", int(d.Minutes())%60, "m")
	}
	return twoUnits(int(d.Hours())/24, "d", int(d.Hours())%24, "h")
}

func twoUnits(n int, unit string, m int, small string) string {
	if m == 0 {
		return fmt.Sprintf("%d%s", n, unit)
	}
	return fmt.Sprintf("%d%s %d%s", n, unit, m, small)
}

// place is where a session is bound, in lists.
func placeText(b core.Binding) string {
	name := b.Address.Thread
	switch {
	case b.Placement == core.PlacementChild && b.Label != "":
		name = core.Clip(b.Label, nameLimit)
	case name == "":
		name = b.Address.Conversation
	}
	return "thread:" + name
}

const (
	unbound     = "unbound"
	unavailable = "bindings unavailable"
	noRuns      = "No sub-agents: none active or bound, none ended in the last 30 minutes."
	noTasks     = "No background work here."

	threadFailed = "The thread could not be opened. (Try again, or focus inside an existing thread.)"
)

// deliveryText is the word for how far an outcome has come.
func deliveryText(r core.Run) string {
	switch r.Delivery {
	case core.DeliveryNotRequired:
		return "nobody to tell"
	case core.DeliverySessionQueued:
		return "told to its requester, not yet to you"
	case core.DeliveryBlocked:
		return strings.TrimSuffix("nobody was told: "+core.Clip(r.Detail, nameLimit), ": ")
	}
	return string(r.Delivery)
}

// moment writes a time for people, "-" for none.
func moment(at core.Millis) string {
	if at == 0 {
		return "-"
	}
	return at.Time().Format("2006-01-02 15:04:05 MST")
}

// line is one "name: value" line, nothing where there is no value.
func line(lines []string, name, format string, args ...any) []string {
	value := fmt.Sprintf(format, args...)
	if strings.TrimSpace(value) == "" {
		return lines
	}
	return append(lines, name+": "+value)
}

func kindText(k store.InboxKind) string {
	if k == store.InboxMessage || k == store.InboxDropped {
		return "an answer is in progress"
	}
	return "at work"
}
