package command

import (
	"errors"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/target"
	"github.com/skein-bot/skein/core/words"
)

// The codes of refusals that are decided here. Those of bindings are
// threadbind's, those of targets target's.
const (
	CodeUnknown      = "command_unknown"
	CodeUsage        = "command_usage"
	CodeModelUnknown = "model_unknown"
	CodeQueueMode    = "queue_mode_unknown"
	CodeRetryNothing = "retry_nothing"
	CodeRetryBusy    = "retry_busy"
	CodeRetryOthers  = "retry_not_yours"
	// CodeToolDenied refuses to start a sub-agent where the tool policy has none.
	CodeToolDenied = "tool_denied"
	// CodeTargetEnded, CodeTargetOthers and CodeTargetArchived refuse what a
	// sub-agent could be told.
	CodeTargetEnded    = subagent.CodeTargetEnded
	CodeTargetOthers   = "target_not_yours"
	CodeTargetArchived = "target_archived"
)

func refuseUnknown(name string) *core.Error {
	return words.RefuseCommandUnknown(CodeUnknown, core.Clip(name, nameLimit))
}

// refuseTarget words a target.Error for people; other errors stay as they
// are.
func refuseTarget(err error) error {
	var f *target.Error
	if !errors.As(err, &f) {
		return err
	}
	token := core.Clip(f.Token, nameLimit)
	names, more := target.Names(f.Candidates)
	switch {
	case len(names) == 0:
		return words.RefuseTargetUnknown(f.Code(), token)
	case more > 0:
		return words.RefuseTargetAmbiguousMore(f.Code(), names, more, token)
	}
	return words.RefuseTargetAmbiguous(f.Code(), names, token)
}

func refuseEnded(label string) *core.Error {
	return words.RefuseTargetEnded(CodeTargetEnded, core.Clip(label, nameLimit))
}

func refuseOthers(label string) *core.Error {
	return words.RefuseTargetOthers(CodeTargetOthers, core.Clip(label, nameLimit))
}

func refuseArchived(label string) *core.Error {
	return words.RefuseTargetArchived(CodeTargetArchived, core.Clip(label, nameLimit))
}

func refuseQueue(mode string) *core.Error {
	return words.RefuseQueueMode(CodeQueueMode, core.Clip(mode, nameLimit))
}
