package threadbind

import "github.com/skein-bot/skein/core"

// The codes of refusals, as people, models and programs see them.
const (
	CodeNotBindable           = "not_bindable"
	CodeBindingsDisabled      = "bindings_disabled"
	CodeSpawnSessionsDisabled = "spawn_sessions_disabled"
	CodeTargetUnknown         = "target_unknown"
	CodeTargetAmbiguous       = "target_ambiguous" // used by whoever looks targets up
	CodeAlreadyFocused        = "already_focused"
	CodeQuota                 = "quota"
	CodeNotFocused            = "not_focused"
	CodeNotOwner              = "not_owner"
	CodeBadDuration           = "bad_duration"
	CodeHookVeto              = "hook_veto"
	CodeThreadFailed          = "thread_failed"
	CodeThreadTimeout         = "thread_timeout"
)

func refuseDisabled(s Settings) *core.Error {
	return core.Errorf(CodeBindingsDisabled, "thread bindings are switched off here").
		WithRemedy("an operator can set %s to true", s.enabledKey())
}

func refuseUnknownSender() *core.Error {
	return core.Errorf(CodeNotOwner, "the platform did not say who wrote this, and only the owner may").
		WithRemedy("ask an operator")
}

func refuseNotOwner(b core.Binding) *core.Error {
	owner := b.Owner
	if owner == "" {
		owner = "nobody here"
	}
	return core.Errorf(CodeNotOwner, "%s was focused by %s, and only the owner or an operator may change that", name(b), owner).
		WithRemedy("ask them, or an operator")
}

func refuseFocused(b core.Binding) *core.Error {
	if b.Status == core.BindingPending {
		return core.Errorf(CodeAlreadyFocused, "a binding is being set up here").WithRemedy("try again in a moment")
	}
	return core.Errorf(CodeAlreadyFocused, "this conversation is already focused on %s by someone else", name(b)).
		WithRemedy("ask them to /unfocus, or focus elsewhere")
}

func refuseNotFocused() *core.Error {
	return core.Errorf(CodeNotFocused, "this conversation is not focused").WithRemedy("/focus <target> focuses it, /agents lists targets")
}

func refuseInherited() *core.Error {
	return core.Errorf(CodeNotFocused, "this thread has no binding of its own, it follows the conversation around it").
		WithRemedy("use the command there")
}

func refuseQuota(have, limit int) *core.Error {
	return core.Errorf(CodeQuota, "you have %d of at most %d live bindings", have, limit).
		WithRemedy("/unfocus one that you no longer need")
}
