// Package scripted is a model that answers by rules. Conversation tests and
// the demo run on it; it is an ordinary provider, usable in a config.
//
// # Rules
//
// A rule file holds {"rules": [...]}; the first rule whose `when` matches
// answers. Every key of `when` is optional, and all that are there must match:
//
//	user      "/re/"  the newest item is a user message; its text
//	lastTool  "name"  the newest item is the result of this tool
//	result    "/re/"  the newest item is a tool result; its text
//	event     "/re/"  the newest item is a completion; its text (model.Text)
//	agent     "id"    the agent that asks
//	task      "/re/"  the label, task name or task of the run
//	system    "/re/"  the system prompt
//
// Patterns are RE2 between slashes, with the flags i, s and m after them.
// Notes of the runtime do not count as newest items: a resumed turn answers
// what it answered before. Several completions that came together, one batch,
// are tried newest first alone, then as one text in their order.
//
// What a rule answers with:
//
//	say    "text"               the visible text; "" is an empty answer
//	think  "text"               reasoning, never shown to people
//	call   [{tool, args}]       one message with parallel tool calls
//	delay  "3s"                 passes before the first visible text
//	pace   "500ms"              passes between its pieces, 8 of a longer text
//	usage  {in, out}            tokens; else characters / 4
//	times  N                    the rule ends after N uses
//	fail   "429" | "500" | "overflow" | "drop" | "stall"
//
// $1, or ${1} before a digit, is a group of the pattern of result, event or
// user that matched (the last of these that the rule has), $0 all that
// matched, in `say`, `think` and the strings of `args`; $$1 writes "$1". A
// group that the pattern does not have stays as it is written.
//
// Without a match the model says "ok: <text of the newest item>", of a
// completion only its model.Headline.
//
// # Failures
//
// 429 ends as rate_limited, 500 as overloaded, overflow as overflow; drop
// gives half of the text and then ends the stream without its end mark; stall
// is silent until the call is cancelled. A rule that only fails, fails at
// every use. In a rule that also answers, the first try of each use fails and
// the next one is answered.
//
// # Uses and restarts
//
// Uses are counted in a State. A Provider that is created anew with the State
// of the one before it, as the test harness does over a restart, goes on
// counting; one with a fresh State begins again. A call that is repeated with
// the same Request.ID, because a crash lost its answer, is the same use and
// gets the same rule.
package scripted
