// Package delivery carries everything that leaves the runtime. An outgoing
// message is a row of the outbox; this package is the only one that writes such
// rows ([Service.Post]) and the only one that calls core.Adapter.Send.
//
// # The path of a message
//
//	Post: Gate -> redaction -> row        in the transaction of the cause
//	worker: renderer -> splitter -> request -> receipt
//
// There is one worker per account. It learns of new rows in memory, right after
// their commit, so that a message costs no reading; the store is the truth all
// the same: the worker reads it when it starts, and a row again before each
// repeated try.
//
// # States
//
//	queued ──▶ sending ──▶ sent        the platform gave an id for every part
//	  ▲ │         │ ├────▶ ambiguous   may have been sent; held
//	  │ │         │ ├────▶ failed      refused for good
//	  │ │         ▼ └────▶ blocked     retries used up
//	  └─┼──── retry wait
//	    └─────────────────▶ withdrawn  taken back before it was sent
//
// Where the channel has no idempotency of its own, sending is committed before
// the request leaves: after a crash such a row may have been sent, which is
// what "ambiguous" means. [Options.OnAmbiguous] says whether it is sent again
// or held. Where the channel has it, the same key makes the same message, a
// doubtful send is simply repeated, and that commit is saved. A message costs
// one commit there and two elsewhere, plus one for each failed try.
//
// # Order
//
// A lane is an (account, conversation, thread); its rows go one after the
// other, in the order of their ids, and at most [Concurrency] lanes of an
// account send at once. A row that is retried holds its followers up for at
// most 2 minutes (and the try then in flight), then it goes on alone. Rows at
// an end hold nobody up. Command replies have lanes of their own, their own
// concurrency, and never wait behind a retried row.
//
// # Failures
//
//	retryable           again after the platform's own wait, else after a backoff
//	auth, conflict      likewise: the account is down
//	ambiguous           see above
//	invalid, too_large  once without markup, once more without reply anchor, then failed
//	gone, closed,       Options.OnUndeliverable may move the row, once, to the
//	forbidden           parent conversation; else failed
//
// Answers and notices are retried after 15 s, doubling to 5 min, for 30 min,
// then they are blocked. Command replies are retried after 1 s, doubling to
// 30 s, for 2 min, then they have failed. The time counts from the first try of
// the part in hand, so a long message on a slow platform is finished. Giving up
// is logged, counted, and told through [Options.OnGaveUp]. The address never
// changes except to the parent conversation.
//
// # Previews
//
// A preview (store.OutPreview) is sent like any message and then edited in
// place, with the newest text of [Service.Show], at most once each
// core.Capabilities.StreamEvery and never before its receipt is stored. Edits
// are not rows: one that a crash swallows is followed by another. The row that
// names it (store.Outbox.Preview) goes through the same lane behind it, waits
// for an edit on its way, and edits the preview into its own first part; that
// is as good as a send, and repeated as often as it takes. Where the platform
// refuses the edit for good, the message is sent instead, and a row
// store.OutRetract, written with its receipt, deletes the preview. Previews and
// removals that fail are logged, and nobody is told.
//
// A preview that was refused is given up at once. One that may stand, because
// its outcome is not known or a process that is gone may have sent it, is sent
// again under its key for up to 30 minutes: the receipt is what it can be edited
// or deleted by. For 30 seconds its lane waits for it; then the answer goes
// beside it, and the removal follows as soon as it is found. On a platform
// without idempotency such a preview may stand for ever.
//
// # Work
//
// A row that is due counts as work of the world from its commit to its end; one
// that waits for a retry does not. A worker keeps its unit of work while an
// adapter's Send runs; a test server that sleeps on the world's clock inside a
// request gives that unit back, and so must not count the request itself.
package delivery
