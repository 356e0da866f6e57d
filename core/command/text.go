package command

import (
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/words"
)

// The texts that this package puts before people are those of package words;
// this file and refusal.go put them together. The texts have no markup.

// nameLimit is the longest name in a text, in characters.
const nameLimit = 60

// stoppedText is the answer to /stop. Its counts are those of one transaction,
// so what was to be stopped is what was stopped.
func stoppedText(w words.Language, s subagent.Stopped) string {
	parts := stoppedParts(w, s)
	if len(parts) == 0 {
		return w.StopNothing()
	}
	return strings.Join(parts, " ")
}

func stoppedParts(w words.Language, s subagent.Stopped) []string {
	var parts []string
	if s.Turn {
		parts = append(parts, w.StopTurn())
	}
	runs := s.Runs
	if s.Run { // in a sub-agent's own thread it counts too
		runs++
	}
	if runs > 0 {
		parts = append(parts, w.StopRuns(runs))
	}
	if s.Queued > 0 {
		parts = append(parts, w.StopCleared(int(s.Queued)))
	}
	return parts
}

func freshText(w words.Language, s subagent.Stopped, model string) string {
	text := w.NewBegins()
	if model != "" {
		text = w.NewBeginsWith(model)
	}
	return strings.Join(append(stoppedParts(w, s), text), " ")
}

func resetText(w words.Language, s subagent.Stopped) string {
	return strings.Join(append(stoppedParts(w, s), w.ResetDone()), " ")
}

func queueText(w words.Language, mode string, own bool) string {
	if own {
		return w.QueueOwn(queueMeaning(w, mode), mode)
	}
	return w.QueueConfigured(queueMeaning(w, mode), mode)
}

func queueMeaning(w words.Language, mode string) string {
	switch mode {
	case "steer":
		return w.QueueSteer()
	case "followup":
		return w.QueueFollowup()
	case "collect":
		return w.QueueCollect()
	case "interrupt":
		return w.QueueInterrupt()
	}
	return ""
}

// focusedText answers a /focus that opened a thread, in the place of the
// command.
func focusedText(w words.Language, label, title string) string {
	return w.FocusDone(core.Clip(label, nameLimit), core.Clip(title, nameLimit))
}

// runState is the word for a run in lists.
func runState(w words.Language, r core.Run, now core.Millis) string {
	switch {
	case r.Status.Live() && r.StartedAt == 0:
		return liveWord(w, r.Status)
	case r.Status.Live():
		return w.RunFor(liveWord(w, r.Status), now.Sub(r.StartedAt))
	case r.StartedAt == 0:
		return taskWord(w, r.Status.Task())
	}
	return w.RunAfter(taskWord(w, r.Status.Task()), r.EndedAt.Sub(r.StartedAt))
}

func liveWord(w words.Language, s core.RunStatus) string {
	switch s {
	case core.RunQueued:
		return w.RunQueued()
	case core.RunRunning:
		return w.RunRunning()
	case core.RunWaiting:
		return w.RunWaiting()
	}
	return string(s)
}

func taskWord(w words.Language, s core.TaskStatus) string {
	switch s {
	case core.TaskSucceeded:
		return w.RunSucceeded()
	case core.TaskFailed:
		return w.RunFailed()
	case core.TaskTimedOut:
		return w.RunTimedOut()
	case core.TaskCancelled:
		return w.RunCancelled()
	case core.TaskInterrupted:
		return w.RunInterrupted()
	case core.TaskOverBudget:
		return w.RunOverBudget()
	}
	return string(s)
}

// placeText is where a session is bound, in lists.
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

// deliveryText is the word for how far an outcome has come.
func deliveryText(w words.Language, r core.Run) string {
	switch r.Delivery {
	case core.DeliveryNotRequired:
		return w.DeliveryNotRequired()
	case core.DeliveryPending:
		return w.DeliveryPending()
	case core.DeliverySessionQueued:
		return w.DeliverySessionQueued()
	case core.DeliveryDelivered:
		return w.DeliveryDelivered()
	case core.DeliveryDismissed:
		return w.DeliveryDismissed()
	case core.DeliveryBlocked:
		if r.Detail == "" {
			return w.DeliveryBlocked()
		}
		return w.DeliveryBlockedBecause(core.Clip(w.Recall(r.Detail), nameLimit))
	}
	return string(r.Delivery)
}

// moment writes a time for people, "-" for none.
func moment(w words.Language, at core.Millis) string {
	if at == 0 {
		return "-"
	}
	return w.Moment(at.Time())
}

// line adds one line with a label, nothing where there is no value.
func line(lines []string, label func(value string) string, value string) []string {
	if strings.TrimSpace(value) == "" {
		return lines
	}
	return append(lines, label(value))
}

// turnText says what a session's running turn does.
func turnText(w words.Language, k store.InboxKind, took time.Duration) string {
	if k == store.InboxMessage || k == store.InboxDropped {
		return w.StatusFor(took, w.StatusAnswering())
	}
	return w.StatusFor(took, w.StatusWorking())
}
