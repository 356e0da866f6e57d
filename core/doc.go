// Package core holds Skein's contract types: what channel adapters, bindings,
// tools and the runtime say to each other.
//
// It imports only the standard library and nothing of this module, so that an
// adapter, a binding hook or a tool can be written against it alone. The rooms
// below it (core/store, core/kernel, ...) implement the runtime.
//
// One word for one thing:
//
//	channel       a chat platform (console, telegram, discord, ...)
//	account       one bot identity on a channel
//	conversation  a chat, room or direct chat of an account
//	thread        a topic or thread inside a conversation
//	session       one history of one agent, a serial lane of turns
//	turn          one answer of an agent to what its session received
//	run           one execution that owes or tracks an outcome (a sub-agent)
//	task          the ledger row people see for a run
//	binding       a durable rule: messages of this address go to that session
package core
