package command

import (
	"fmt"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/words"
)

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

func refuseUnknown(name string) *core.Error {
	return words.RefuseCommandUnknown(CodeUnknown, core.Clip(name, nameLimit))
}

func refuseTarget(token string) *core.Error {
	return words.RefuseTargetUnknown(CodeTargetUnknown, core.Clip(token, nameLimit))
}

func refuseAmbiguous(token string, candidates []string) *core.Error {
	const most = 8
	token = core.Clip(token, nameLimit)
	if more := len(candidates) - most; more > 0 {
		return words.RefuseTargetAmbiguousMore(CodeTargetAmbiguous, candidates[:most], more, token)
	}
	return words.RefuseTargetAmbiguous(CodeTargetAmbiguous, candidates, token)
}

func refuseModel(ref string) *core.Error {
	return words.RefuseModelUnknown(CodeModelUnknown, core.Clip(ref, nameLimit))
}

func refuseQueue(mode string) *core.Error {
	return words.RefuseQueueMode(CodeQueueMode, core.Clip(mode, nameLimit))
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
