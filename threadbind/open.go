package threadbind

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/words"
)

const (
	// OpenTimeout is how long a thread may take to open.
	OpenTimeout = 10 * time.Second
	// undoTimeout is how long its removal may take.
	undoTimeout = 10 * time.Second
	// searchPauseMost is the longest pause between two looks for a thread that
	// may have been opened; they double from a second.
	searchPauseMost = 2 * time.Second
)

// ErrCannotTell is returned by Undo where the platform cannot tell whether a
// thread was opened: one empty thread may remain.
var ErrCannotTell = errors.New("the platform cannot tell whether a thread was opened")

// Steps are the caller's transactions around the opening of a thread.
type Steps struct {
	// Commit is the second transaction: the caller's session first, then
	// Activate with o (its session filled in), then the run. The run starts
	// after it. An error, also of the commit itself, undoes the thread unless
	// Abort finds the binding active.
	Commit func(o Opened) error
	// Abort is the transaction that calls Service.Abort and undoes what else
	// was reserved. It reports whether the binding was pending until then.
	Abort func(cause error) (aborted bool, err error)
}

// BindChild opens the thread of a plan and runs the steps around it. Spawns
// and /focus share it: binding, then registration, then start; a failure at
// any point leaves neither thread nor binding behind. The plan is of a pending
// record; resumed says that an earlier process may have opened its thread
// already. It blocks for OpenTimeout, the steps, and the removal of the thread.
//
// It returns the error of what failed: thread_timeout, thread_failed, or what
// Commit returned. If Abort fails too, the intent of the caller is what is
// left, and BindChild must be called again for it.
func (s *Service) BindChild(ctx context.Context, plan Plan, resumed bool, steps Steps) error {
	opened := plan.Opened()
	var err error
	if plan.Child != nil {
		opened, err = s.open(ctx, *plan.Child, resumed)
	}
	if err == nil {
		err = steps.Commit(opened)
	}
	if err == nil {
		return nil
	}
	aborted, abortErr := steps.Abort(err)
	if abortErr != nil {
		return errors.Join(err, fmt.Errorf("abort: %w", abortErr))
	}
	if !aborted || plan.Child == nil || !resumed && !hasPlace(opened.Address) && nothingOpened(err) {
		return err
	}
	late := core.ErrorCode(err) == CodeThreadTimeout
	if undoErr := s.undo(context.WithoutCancel(ctx), *plan.Child, opened.Address, late); undoErr != nil {
		s.Log.WarnContext(ctx, "a thread of a failed binding remains",
			"parent", plan.Child.Parent.String(), "address", opened.Address.String(), "intent", plan.Child.Intent, "error", undoErr)
	}
	return err
}

// nothingOpened tells whether err is a refusal of the platform, after which no
// thread can be there.
func nothingOpened(err error) bool {
	class, _ := core.ClassifySend(err)
	return class != core.SendAmbiguous
}

// open opens the thread of a request, or finds the one that an earlier process
// opened for it.
func (s *Service) open(ctx context.Context, req core.ChildRequest, resumed bool) (Opened, error) {
	adapter := s.Adapter(req.Parent.Channel, req.Parent.Account)
	if adapter == nil {
		return Opened{}, words.RefuseChannelGone(CodeThreadFailed)
	}
	ctx, cancel := s.Clock.WithTimeout(ctx, OpenTimeout)
	defer cancel()
	if finder, ok := adapter.(core.ChildFinder); ok && resumed {
		at, data, found, err := finder.FindChild(ctx, req)
		if err != nil {
			return Opened{}, refuseOpen(ctx, err)
		}
		if found && usable(at, req.Parent) {
			return Opened{Address: at, Data: data}, nil
		}
	}
	at, data, err := adapter.OpenChild(ctx, req)
	switch {
	case err != nil:
		return Opened{}, refuseOpen(ctx, err)
	case !usable(at, req.Parent):
		return Opened{}, refuseDestination(at)
	}
	return Opened{Address: at, Data: data}, nil
}

// usable tells whether what an adapter opened can be reached: a place of its
// own on the account that was asked.
func usable(at, parent core.Address) bool {
	return hasPlace(at) && sameAccount(at, parent) && !at.Same(parent) && !at.Same(parent.ParentConversation())
}

// Undo removes the thread of a request whose binding was aborted. Where at is
// empty, because the call to open it failed, it asks the adapter whether one
// was opened all the same. It blocks for ten seconds at most. Calling it again
// is harmless.
func (s *Service) Undo(ctx context.Context, req core.ChildRequest, at core.Address) error {
	return s.undo(ctx, req, at, false)
}

// undo is Undo; late is set where the request may still be under way.
func (s *Service) undo(ctx context.Context, req core.ChildRequest, at core.Address, late bool) error {
	adapter := s.Adapter(req.Parent.Channel, req.Parent.Account)
	if adapter == nil {
		return errors.New("the channel has no bindings")
	}
	ctx, cancel := s.Clock.WithTimeout(ctx, undoTimeout)
	defer cancel()
	if !usable(at, req.Parent) {
		finder, ok := adapter.(core.ChildFinder)
		if !ok {
			return ErrCannotTell
		}
		left, found, err := s.search(ctx, finder, req, late)
		if err != nil || !found {
			return err
		}
		at = left
	}
	return adapter.CloseChild(ctx, at)
}

// search looks for what an unanswered request opened; if it is late, again after
// a while: a request that was under way takes effect later.
func (s *Service) search(ctx context.Context, finder core.ChildFinder, req core.ChildRequest, late bool) (at core.Address, found bool, err error) {
	for pause := time.Second; ; pause *= 2 {
		at, _, found, err = finder.FindChild(ctx, req)
		if found = found && usable(at, req.Parent); found || err != nil || !late || pause > searchPauseMost {
			return at, found, err
		}
		if err := s.Clock.Sleep(ctx, pause); err != nil {
			return at, false, err
		}
	}
}

// Archive archives a thread of Changes.Archive, after the commit. It blocks for
// ten seconds at most. If it succeeds, the caller calls Archived in a
// transaction; if not, the timer fires again. An adapter that cannot archive is
// no error.
func (s *Service) Archive(ctx context.Context, r ArchiveRequest) error {
	archiver, ok := s.Adapter(r.Address.Channel, r.Address.Account).(core.Archiver)
	if !ok {
		return nil
	}
	ctx, cancel := s.Clock.WithTimeout(ctx, undoTimeout)
	defer cancel()
	return archiver.Archive(ctx, r.Address)
}
