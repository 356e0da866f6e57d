package threadbind

import (
	"context"
	"errors"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/words"
)

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
	return words.RefuseBindingsDisabled(CodeBindingsDisabled, s.enabledKey())
}

func refuseUnknownSender() *core.Error { return words.RefuseUnknownSender(CodeNotOwner) }

func refuseNotOwner(b core.Binding) *core.Error {
	if b.Owner == "" {
		return words.RefuseNoOwner(CodeNotOwner, called(b))
	}
	return words.RefuseNotOwner(CodeNotOwner, called(b), b.Owner)
}

// called is name for errors, which are English and worded again where people
// read them.
func called(b core.Binding) string { return name(words.Language{}, b) }

func refuseFocused(b core.Binding) *core.Error {
	if b.Status == core.BindingPending {
		return words.RefuseBindingPending(CodeAlreadyFocused)
	}
	return words.RefuseFocused(CodeAlreadyFocused, called(b))
}

func refuseNotFocused() *core.Error { return words.RefuseNotFocused(CodeNotFocused) }

func refuseInherited() *core.Error { return words.RefuseInherited(CodeNotFocused) }

func refuseQuota(have, limit int) *core.Error { return words.RefuseQuota(CodeQuota, have, limit) }

func refuseDuration(s string) *core.Error { return words.RefuseDuration(CodeBadDuration, Title(s, 40)) }

// RefuseGivenUp refuses to go on with a binding that was given up while its
// thread was opened.
func RefuseGivenUp() *core.Error { return words.RefuseGivenUp(CodeThreadFailed) }

func refuseTarget(target string) *core.Error {
	return words.RefuseSessionGone(CodeTargetUnknown, target)
}

// refuseDestination fails closed: a child that nobody can reach must not look
// bound.
func refuseDestination(at core.Address) *core.Error {
	return words.RefuseThreadUseless(CodeThreadFailed, at.String())
}

// refuseOpen says why a thread did not open.
func refuseOpen(ctx context.Context, err error) error {
	refusal := words.RefuseThreadFailed(CodeThreadFailed)
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		refusal = words.RefuseThreadTimeout(CodeThreadTimeout, OpenTimeout)
	}
	refusal.Err = err
	return refusal
}

func refuseSpawn(s Settings) *core.Error {
	return words.RefuseSpawnSessionsDisabled(CodeSpawnSessionsDisabled, s.spawnSessionsKey())
}

// refusePlace says that a place takes no binding: of a kind, or none at all
// where want is empty. A spawn is told what a model can do.
func refusePlace(q PlaceQuery, want core.Placement) *core.Error {
	because := q.Caps.Reason
	var err *core.Error
	switch {
	case want == core.PlacementChild && because == "":
		err = words.RefuseNoThreadHere(CodeNotBindable)
	case want == core.PlacementChild:
		err = words.RefuseNoThreadHereBecause(CodeNotBindable, because)
	case want == core.PlacementCurrent && because == "":
		err = words.RefuseNotInPlace(CodeNotBindable)
	case want == core.PlacementCurrent:
		err = words.RefuseNotInPlaceBecause(CodeNotBindable, because)
	case because == "":
		err = words.RefuseNotBindable(CodeNotBindable)
	default:
		err = words.RefuseNotBindableBecause(CodeNotBindable, because)
	}
	if q.Automatic {
		return err.WithRemedy("spawn without thread, in mode run")
	}
	return err
}
