package world

import (
	"os"
	"slices"
	"sync/atomic"
	"syscall"
)

// The promised crash points. Others may exist; these names stay.
const (
	IntakeBeforeCommit    = "intake.before-commit"
	IntakeAfterCommit     = "intake.after-commit"
	TurnClaimed           = "turn.claimed"
	ModelAfterCall        = "model.after-call"
	ToolStarted           = "tool.started"
	ToolAfterCall         = "tool.after-call"
	StepAfterCommit       = "step.after-commit"
	TurnBeforeEnd         = "turn.before-end"
	TurnAfterEnd          = "turn.after-end"
	SpawnAfterReserve     = "spawn.after-reserve"
	SpawnAfterFiles       = "spawn.after-files"
	SpawnAfterWorktree    = "spawn.after-worktree"
	WorktreeBeforeRemove  = "worktree.before-remove"
	WorktreeAfterRemove   = "worktree.after-remove"
	SpawnAfterOpen        = "spawn.after-open"
	SpawnAfterCommit      = "spawn.after-commit"
	CompletionBeforeClaim = "completion.before-claim"
	OutboxBeforeSend      = "outbox.before-send"
	OutboxAfterSend       = "outbox.after-send"
	OutboxAfterReceipt    = "outbox.after-receipt"
	BindingBeforeEnd      = "binding.before-end"
	BindingAfterEnd       = "binding.after-end"
	TimerFired            = "timer.fired"
	ArchiveBefore         = "archive.before"
	ReloadApplied         = "reload.applied"
)

// Points returns the names of all crash points, sorted.
func Points() []string {
	points := []string{
		IntakeBeforeCommit, IntakeAfterCommit, TurnClaimed, ModelAfterCall, ToolStarted, ToolAfterCall,
		StepAfterCommit, TurnBeforeEnd, TurnAfterEnd, SpawnAfterReserve, SpawnAfterOpen, SpawnAfterCommit,
		CompletionBeforeClaim, OutboxBeforeSend, OutboxAfterSend, OutboxAfterReceipt, BindingBeforeEnd,
		BindingAfterEnd, TimerFired, ArchiveBefore, ReloadApplied, SpawnAfterFiles, SpawnAfterWorktree,
		WorktreeBeforeRemove, WorktreeAfterRemove,
	}
	slices.Sort(points)
	return points
}

// Known reports whether name is a crash point.
func Known(name string) bool { return slices.Contains(Points(), name) }

// Trap says what an armed crash point does.
type Trap int

// The traps.
const (
	TrapCut     Trap = iota // cut the world
	TrapSIGKILL             // kill the process, as the crash matrix does
	TrapWatch               // tell fired of this and of every later pass, which may Cut
)

// AnyPoint as a name arms every point at once; the count then runs over all
// passes.
const AnyPoint = "*"

type trap struct {
	name  string
	left  atomic.Int64
	kind  Trap
	fired func(name string)
}

// Arm makes the nth pass (1 is the next) of the named point fire. It replaces
// what was armed before. fired, if not nil, is called with the point's name
// right before the trap acts.
func (w *World) Arm(name string, nth int, kind Trap, fired func(name string)) {
	t := &trap{name: name, kind: kind, fired: fired}
	t.left.Store(int64(max(nth, 1)))
	w.armed.Store(t)
}

// Disarm removes what is armed.
func (w *World) Disarm() { w.armed.Store(nil) }

// Crash marks a crash point. It returns nil unless the world is cut, here or
// before; the caller then stops at once and returns the error.
func (w *World) Crash(name string) error {
	if t := w.armed.Load(); t != nil {
		w.spring(t, name)
	}
	return w.Err()
}

func (w *World) spring(t *trap, name string) {
	if t.name != name && t.name != AnyPoint || w.cut.Load() {
		return
	}
	if left := t.left.Add(-1); left > 0 || left < 0 && t.kind != TrapWatch {
		return
	}
	if t.fired != nil {
		t.fired(name)
	}
	switch t.kind {
	case TrapCut:
		w.Cut()
	case TrapSIGKILL:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	case TrapWatch:
	}
}
