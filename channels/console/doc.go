// Package console is the local chat channel: a small chat platform of its own
// and the adapter that connects one of its accounts to the runtime.
//
// # The platform
//
// A [Hub] holds accounts (bots), conversations, threads and messages. People
// post through [People], bots through [Backend]; both are implemented by the
// hub itself, and by clients that speak to a hub over HTTP ([NewClient],
// [NewPeopleClient], served by [Handler] and [PeopleHandler]). The terminal
// of `skein chat` and `skein demo` is the direct conversation [Main] with the
// person [Local], of the account "default".
//
// What a person posts is held by the hub when Post returns: a hub on a file
// has synced it to disk. Each account has a queue of updates. An update stays
// in the queue, and is delivered again, until the account polls with a cursor
// at or after it; so a bot that stores the cursor together with what it
// received loses nothing and can tell what it has seen.
//
//	Post --> message + one update for each account in the conversation
//	Poll(after: N) --> acknowledges updates up to N, waits for later ones
//	Send(key: K) --> message; the same K again is the same message
//
// Accounts hear people, and bots that people run; they do not hear themselves
// nor each other. What an account does to a thread is told to the others only.
//
// Threads live inside a conversation. Their ids are short and never reused
// (t1, t2, ...); people see them as #1, #2. A thread is open, archived,
// locked, archived and locked, or deleted:
//
//	archived  a message by anyone un-archives it first
//	locked    accounts may not write there (423, class closed); people may
//	deleted   gone for good (404, class gone)
//
// # The adapter
//
// [Adapter] implements core.Adapter with the abilities Typer, Editor, Streamer, Deleter, HistoryReader,
// BindingAdapter, ChildFinder and Archiver. It hands every update to intake in
// order, each with its cursor, and acknowledges by the next poll. Sends carry
// the outbox key as the platform's idempotency key, so a send whose outcome is
// unknown is simply sent again. [Entry] registers it.
//
// The test server of this channel is in the package consoletest below.
package console
