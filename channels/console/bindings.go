package console

import (
	"context"

	"github.com/skein-bot/skein/core"
)

// BindingCapabilities implements core.BindingAdapter: threads exist
// everywhere, and a thread asked for inside a thread is its sibling.
func (a *Adapter) BindingCapabilities(core.Address) core.BindingCapabilities {
	return core.BindingCapabilities{
		Placements:      []core.Placement{core.PlacementChild, core.PlacementCurrent},
		ThreadsInDirect: true,
		TitleLimit:      TitleLimit,
	}
}

// OpenChild implements core.BindingAdapter. There are no data to keep.
func (a *Adapter) OpenChild(ctx context.Context, req core.ChildRequest) (core.Address, []byte, error) {
	t, err := a.backend.OpenThread(ctx, OpenRequest{
		Account: a.account, Conversation: req.Parent.Conversation, Title: req.Title, Intent: req.Intent,
	})
	if err != nil {
		return core.Address{}, nil, classify(err)
	}
	return a.address(t.Conversation, t.ID), nil, nil
}

// FindChild implements core.ChildFinder.
func (a *Adapter) FindChild(ctx context.Context, req core.ChildRequest) (core.Address, []byte, bool, error) {
	found, err := a.backend.FindThread(ctx, FindRequest{
		Account: a.account, Conversation: req.Parent.Conversation, Intent: req.Intent,
	})
	if err != nil || found.Thread == nil {
		return core.Address{}, nil, false, classify(err)
	}
	return a.address(found.Thread.Conversation, found.Thread.ID), nil, true, nil
}

// ProbeAddress implements core.BindingAdapter.
func (a *Adapter) ProbeAddress(ctx context.Context, at core.Address) (core.PlaceState, error) {
	probed, err := a.backend.Probe(ctx, ProbeRequest{
		Account: a.account, Conversation: at.Conversation, Thread: at.Thread,
	})
	return probed.State, classify(err)
}

// CloseChild implements core.BindingAdapter: it deletes the thread.
func (a *Adapter) CloseChild(ctx context.Context, at core.Address) error {
	return a.closeThread(ctx, at, false)
}

// Archive implements core.Archiver.
func (a *Adapter) Archive(ctx context.Context, at core.Address) error {
	return a.closeThread(ctx, at, true)
}

func (a *Adapter) closeThread(ctx context.Context, at core.Address, archive bool) error {
	_, err := a.backend.CloseThread(ctx, CloseRequest{
		Account: a.account, Conversation: at.Conversation, Thread: at.Thread, Archive: archive,
	})
	return classify(err)
}
