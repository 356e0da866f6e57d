// Package intake takes what adapters receive and makes it durable: who may
// speak, is it a command, which session does it belong to.
//
// One transaction holds the dedupe key (its unique insert is the claim), the
// adapter's cursor, and the effect: an inbox row and a session that is ready,
// or a command with its reply. An adapter acknowledges an update only after
// that commit.
//
//	own message ──▶ dropped
//	seen before ──▶ dropped (the cursor still moves)
//	edit        ──▶ of what waits or is context; else kept for /retry  (edit.go)
//	access      ──▶ refused, ignored                     (core/policy)
//	            ──▶ not for the bot: context of the next message  (context.go)
//	limits      ──▶ left out, and said so once an hour   (core/policy)
//	command     ──▶ effect and reply, in this transaction (core/command)
//	binding     ──▶ its session                           (threadbind)
//	route       ──▶ agent and session key                 (route.go)
//	reset       ──▶ the session starts over, if it is time  (reset.go)
package intake
