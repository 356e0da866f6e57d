package kernel

import "github.com/skein-bot/skein/core/store"

// Cancel ends the context of a session's running turn with cause, ErrStopped,
// ErrInterrupted or ErrNotStarted, here or on the node that runs it; it reports whether one was
// running here. The caller has raised the fence already if the turn must not
// write any more: a node that does not hear of it finds out within a second.
func (k *Kernel) Cancel(session int64, cause error) bool {
	if k.cancelHere(session, cause) {
		return true
	}
	if k.cluster != nil && k.cluster.others() {
		k.opts.DB.Hint(store.Hint{Kind: store.HintCancel, Session: session, Cause: causeWord(cause)})
	}
	return false
}

// cancelAll ends every turn of this process.
func (k *Kernel) cancelAll(cause error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.entries {
		if e.state == entryRunning {
			e.cancel(cause)
		}
	}
}

// cancelFenced ends a turn that has lost its session.
func (k *Kernel) cancelFenced(session, fence int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.entries[session]; e != nil && e.state == entryRunning && e.fence == fence {
		e.cancel(ErrStopped)
	}
}

// fences returns the fences of the turns that run, by their sessions.
func (k *Kernel) fences() map[int64]int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := make(map[int64]int64)
	for _, e := range k.entries {
		if e.state == entryRunning && e.fence != 0 {
			out[e.session] = e.fence
		}
	}
	return out
}

// known reports whether this process has a session in hand.
func (k *Kernel) known(session int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.entries[session] != nil
}

func (k *Kernel) cancelHere(session int64, cause error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.entries[session]
	if e == nil || e.state != entryRunning {
		return false
	}
	e.cancel(cause)
	return true
}

// Running reports whether a turn of the session is running in this process.
func (k *Kernel) Running(session int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.entries[session]
	return e != nil && e.state == entryRunning
}
