package threadbind

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/skein-bot/skein/core"
)

// Extension is what a plugin or an embedder registers. It implements one or
// more of the hook interfaces below; each call gets a context that ends at the
// deadline of the hooks.
type Extension interface {
	// Name identifies the extension in logs and refusals.
	Name() string
}

// SpawningHook is asked before a sub-agent is spawned and before anything is
// stored for it. An error refuses the spawn with its text. A place is where
// the child shall be bound, nil to leave that to the settings; it must exist,
// on the channel and account of the requester.
type SpawningHook interface {
	SubagentSpawning(ctx context.Context, e SpawningEvent) (place *core.Address, err error)
}

// SpawnedHook is told after a spawn was committed.
type SpawnedHook interface {
	SubagentSpawned(ctx context.Context, e SpawnedEvent) error
}

// DeliveryTargetHook may send the answer to a completion elsewhere: it returns
// the new address, or nil to leave it. A channel and account that it leaves out
// are those of the old one; another channel or account is ignored.
type DeliveryTargetHook interface {
	SubagentDeliveryTarget(ctx context.Context, e DeliveryTargetEvent) (*core.Address, error)
}

// SubagentEndedHook is told after the run of a sub-agent ended.
type SubagentEndedHook interface {
	SubagentEnded(ctx context.Context, e SubagentEndedEvent) error
}

// BindingCreatedHook is told after a binding became active.
type BindingCreatedHook interface {
	BindingCreated(ctx context.Context, b core.Binding) error
}

// BindingEndedHook is told after a binding ended; b has the reason.
type BindingEndedHook interface {
	BindingEnded(ctx context.Context, b core.Binding) error
}

// SpawningEvent describes a spawn that is about to be admitted. Run has the
// keys and the requester's origin; its own session does not exist yet.
type SpawningEvent struct {
	Run    core.Run
	Thread bool // a binding was asked for
}

// SpawnedEvent describes an admitted spawn. Place is where it is bound, zero
// if it is not.
type SpawnedEvent struct {
	Run   core.Run
	Place core.Address
}

// DeliveryTargetEvent describes a completion about to be answered at Target.
type DeliveryTargetEvent struct {
	Run    core.Run
	Target core.Address
}

// SubagentEndedEvent describes a run that ended; its status says how.
type SubagentEndedEvent struct {
	Run core.Run
}

// DefaultHookTimeout is the deadline of one hook call.
const DefaultHookTimeout = 5 * time.Second

// Hooks calls extensions, in the order in which they were given, each within
// the deadline. What an observer does wrong is logged and ignored. A nil
// *Hooks has no extensions.
type Hooks struct {
	clock      core.Clock
	log        *slog.Logger
	timeout    time.Duration
	extensions []Extension
	calls      sync.WaitGroup
}

// NewHooks returns hooks for extensions. A timeout of 0 or less is
// DefaultHookTimeout; a nil log discards.
func NewHooks(clock core.Clock, log *slog.Logger, timeout time.Duration, extensions ...Extension) *Hooks {
	if timeout <= 0 {
		timeout = DefaultHookTimeout
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Hooks{clock: clock, log: log, timeout: timeout, extensions: extensions}
}

// Wait blocks until every call has returned, also those whose deadline passed
// and whose result nobody awaits any more.
func (h *Hooks) Wait() {
	if h != nil {
		h.calls.Wait()
	}
}

// Spawning asks all extensions. The first place given wins, the first error
// refuses: a *core.Error with the code hook_veto. It blocks for the deadline of
// each hook at most.
func (h *Hooks) Spawning(ctx context.Context, e SpawningEvent) (place core.Address, err error) {
	err = each(ctx, h, &e, SpawningHook.SubagentSpawning, func(name string, given *core.Address, err error) error {
		switch {
		case err != nil:
			return core.Errorf(CodeHookVeto, "the extension %s refused the spawn: %v", name, err)
		case given == nil || !place.IsZero():
			return nil
		case !sameAccount(*given, e.Run.Origin) || given.Conversation == "":
			return core.Errorf(CodeHookVeto, "the extension %s gave a place that is not on the requester's account: %q", name, given)
		}
		place = *given
		return nil
	})
	return place, err
}

// Spawned tells all extensions.
func (h *Hooks) Spawned(ctx context.Context, e SpawnedEvent) {
	observe(ctx, h, "subagent_spawned", e, SpawnedHook.SubagentSpawned)
}

// Redirects reports whether an extension cares where answers go.
func (h *Hooks) Redirects() bool {
	return h != nil && slices.ContainsFunc(h.extensions, func(x Extension) bool {
		_, ok := x.(DeliveryTargetHook)
		return ok
	})
}

// DeliveryTarget returns where the answer to a completion goes: what the last
// extension that cared returned, else e.Target. Each extension sees what those
// before it chose.
func (h *Hooks) DeliveryTarget(ctx context.Context, e DeliveryTargetEvent) core.Address {
	_ = each(ctx, h, &e, DeliveryTargetHook.SubagentDeliveryTarget, func(name string, to *core.Address, err error) error {
		switch {
		case err != nil:
			h.log.Warn("a hook failed", "hook", "subagent_delivery_target", "extension", name, "run", e.Run.ID, "error", err)
		case to == nil:
		case !sameAccount(filled(*to, e.Target), e.Target) || to.Conversation == "":
			h.log.Warn("a hook chose an address on another account", "extension", name, "run", e.Run.ID, "address", to.String())
		default:
			e.Target = filled(*to, e.Target)
		}
		return nil
	})
	return e.Target
}

// filled is an address whose missing channel and account are those of from.
func filled(a, from core.Address) core.Address {
	if a.Channel == "" {
		a.Channel = from.Channel
	}
	if a.Account == "" && a.Channel == from.Channel {
		a.Account = from.Account
	}
	return a
}

// SubagentEnded tells all extensions.
func (h *Hooks) SubagentEnded(ctx context.Context, e SubagentEndedEvent) {
	observe(ctx, h, "subagent_ended", e, SubagentEndedHook.SubagentEnded)
}

// BindingCreated tells all extensions.
func (h *Hooks) BindingCreated(ctx context.Context, b core.Binding) {
	observe(ctx, h, "binding_created", b, BindingCreatedHook.BindingCreated)
}

// BindingEnded tells all extensions.
func (h *Hooks) BindingEnded(ctx context.Context, b core.Binding) {
	observe(ctx, h, "binding_ended", b, BindingEndedHook.BindingEnded)
}

// sameAccount tells whether two addresses are on one channel and account.
func sameAccount(a, b core.Address) bool {
	return a.Channel == b.Channel && a.Account == b.Account
}

// observe calls the extensions that implement I and logs what fails.
func observe[I, E any](ctx context.Context, h *Hooks, event string, e E, call func(I, context.Context, E) error) {
	_ = each(ctx, h, &e, func(hook I, ctx context.Context, e E) (struct{}, error) {
		return struct{}{}, call(hook, ctx, e)
	}, func(name string, _ struct{}, err error) error {
		if err != nil {
			h.log.Warn("a hook failed", "hook", event, "extension", name, "error", err)
		}
		return nil
	})
}

// each calls the extensions that implement I, in order, and hands the result
// of each to use, whose error ends it. use may change the event for those that
// follow; every call gets its own copy.
func each[I, E, R any](ctx context.Context, h *Hooks, e *E,
	call func(I, context.Context, E) (R, error), use func(name string, r R, err error) error,
) error {
	if h == nil {
		return nil
	}
	for _, x := range h.extensions {
		hook, ok := x.(I)
		if !ok {
			continue
		}
		event := *e
		r, err := within(ctx, h, func(ctx context.Context) (R, error) { return call(hook, ctx, event) })
		if err := use(x.Name(), r, err); err != nil {
			return err
		}
	}
	return nil
}

// within runs call in a goroutine of its own and leaves it behind when its
// deadline passes. A panic becomes an error.
func within[R any](ctx context.Context, h *Hooks, call func(context.Context) (R, error)) (R, error) {
	type result struct {
		r   R
		err error
	}
	ctx, cancel := h.clock.WithTimeout(ctx, h.timeout)
	defer cancel()
	done := make(chan result, 1)
	h.calls.Go(func() {
		var res result
		defer func() {
			if p := recover(); p != nil {
				res.err = fmt.Errorf("panic: %v", p)
			}
			done <- res
		}()
		res.r, res.err = call(ctx)
	})
	select {
	case res := <-done:
		return res.r, res.err
	case <-ctx.Done():
		var zero R
		return zero, fmt.Errorf("no answer within %s: %w", h.timeout, context.Cause(ctx))
	}
}
