// Package subagent is how agents start other agents: spawn, limits, waits, the
// hand-back of outcomes, recovery and archive. It implements agent.Ender: what
// the end of a turn means beyond its own session.
//
// # A run
//
//	spawn ──▶ queued ──▶ running ──▶ ok | error | timeout | cancelled | interrupted
//	                      │    ▲
//	     children live or │    │ all of its batch have ended: one turn
//	     sessions_yield   ▼    │ with every result, in spawn order
//	                    waiting
//
// The status comes from the runtime, never from text.
//
// # An outcome is told once
//
// The transaction that ends a run writes, together: the run's end, its event
// into the requester's inbox, and, where the child lives in a thread, the post
// of its answer there. The post has the once-key run/<session key>/<number>.
// The requester's turn answers at the address of the message that started it;
// its outbox row names the runs that people know of once it is sent. If that
// turn fails or says nothing, without choosing to, the runtime posts a short
// notice itself: delivery never depends on a model.
//
// delivery:  pending ─▶ session_queued ─▶ delivered
//
//	└▶ not_required (silence was chosen)  └▶ blocked (retries used up)
package subagent
