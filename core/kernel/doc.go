// Package kernel is the durable engine: it gives sessions that have work a
// slot, one turn at a time each, and runs what is due.
//
// # A session is a serial lane
//
//	            Wake                      slot free, claim
//	idle ───────────────────▶ queued ───────────────────────▶ running
//	 ▲                          ▲                                │
//	 │   nothing more to do     │   more rows, or Wake meanwhile │
//	 └──────────────────────────┴────────────────────────────────┘
//
// Claim is one transaction: the session gets this node as its owner and a new
// fence, its unfinished turn is continued or a new one takes inbox rows by the
// queue mode. Every later transaction of the turn goes through Lease.Step,
// which compares the fence first: after a stop or a takeover the old turn can
// write nothing. The end of a turn releases the session in the same
// transaction, after a second look at the inbox, so no wake-up is lost.
//
// On SQLite a claim may be executed but not yet committed when the turn
// starts: the process lock is the lease, and until the first Step commits,
// which is ordered after the claim, the turn has no effect.
//
// # Lanes
//
// Turns that a person waits for use the lane "main", background runs the lane
// "subagent"; each has its own number of slots. Sessions of a lane are served
// in the order in which they became ready, one turn at a time, so a busy chat
// cannot starve the others; resumed runs go before new ones. A run that waits
// has no turn and therefore no slot: an orchestrator cannot block its lane. A
// turn whose tool waits for others gives its slot back too (Lease.Rest).
//
// # Crashes
//
// A claim counts an attempt, a finished step sets the count back. Over the
// limit the turn is given to the runner as dead, to tell people about it.
package kernel
