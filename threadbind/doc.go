// Package threadbind keeps bindings: durable rules of the form "messages in
// this conversation go to that session". A binding is what lets a sub-agent
// live in a thread and a person keep talking to it there.
//
// The package has three layers.
//
//   - [Apply] is the state machine: a pure function from a record, an event,
//     the limits and a time to the next record and the effects of the step.
//     [Due] and [Expired] are its clock, [Place] its choice of a place.
//   - [Service] runs the machine inside the caller's transaction. It reads and
//     writes through [Tx], which the store implements, and asks an adapter for
//     threads through core.BindingAdapter.
//   - [Hooks] lets plugins and embedders watch, veto and redirect.
//
// The record itself is core.Binding.
//
// # States
//
//	          Opened                   Suspend
//	pending ----------> active <=====================> suspended
//	   |                  |            Restore             |
//	   | SpawnFailed      | End, Check, MessageIn,         | the same
//	   |                  | ReplyOut (past a deadline)     |
//	   +------------------+---------------+----------------+
//	                                      v
//	                                    ended (reason)
//
// A pending binding ends as spawn-failed only. An active or suspended one ends
// as manual, idle-expired, max-age-expired, deadline, thread-deleted,
// session-ended, replaced or account-removed. An ended record never changes
// again.
//
// Suspended means that the place cannot be written to at present. The binding
// keeps its place and its clock; what people write there is held in the inbox
// of the session.
//
// # Deadlines
//
//	idle     max(last activity, bound at, end of the session's work) + idle limit
//	max-age  bound at + max-age limit
//	deadline an absolute time, set through the Go API only
//
// The earliest wins; on a tie idle wins over max-age and max-age over the
// absolute deadline. A limit of 0 is off. While the session works (a running
// turn, queued input, a pending approval) idle cannot expire; the others can.
//
// A binding is expired from the millisecond of its deadline on: a message that
// arrives one millisecond before it is routed, one that arrives at it or later
// is not. This is decided on every read, so it does not depend on any timer.
// A touch never revives an expired record.
//
// core.Binding.Due is a lower bound of the deadline, kept in an index. Touches
// leave it alone, because a deadline that moved later keeps its lower bound;
// [Service.Sweep] takes the records whose bound has passed, checks them, and
// either ends them or writes the next bound.
//
// # Transactions
//
// The methods of [Service] that take a [Tx] do all their reading and writing
// in it, never block on anything else, and may be run again from the start
// after a rollback. They return [Changes]; after the commit the caller hands
// them to [Service.Committed], which tells the hooks and the log. A *core.Error
// is a refusal meant for a person: the transaction may still be committed, and
// the changes that came with it count. Any other error means: roll back.
//
// A binding in a new thread needs a remote call between two transactions:
// [Service.Prepare] in the first, [Service.BindChild] around the call, and
// [Service.Activate] or [Service.Abort] in the second.
package threadbind
