// Package agent runs turns: it builds the prompt from the transcript, calls
// the model, runs the tools it asks for, and ends the turn in one transaction.
//
// The journal of a turn is its transcript rows. Each finished step (a model
// answer, a tool result, input that joined at a boundary) is a row
// under (turn, step number), committed before anything that follows from it.
// After a crash the turn goes on from its last row: nothing finished is done
// twice. A tool call that was started and neither repeats harmlessly nor keeps
// its effect in the store is answered "interrupted, effect unknown".
//
//	rows ─▶ items ─▶ Repair ─▶ model ──calls──▶ tools ─▶ rows ─▶ (steer) ─▶ …
//	                             │ no calls
//	                             ▼
//	                       end of turn: one transaction
//
// A model that fails in passing is asked again after a pause, and one that goes
// on failing is followed by the agent's fallbacks (ask.go).
//
// An answer that takes a while is shown while it is written (preview.go): its
// beginning is a row of the outbox, which the end of the turn has replaced.
//
// Before a call the request is made to fit the model that is asked (fit.go). For
// the turn's own model that is a compaction (compact.go): plan.go decides, purely,
// what stays and what is summarised, summary.go has the model write the summary,
// and one transaction writes its row and moves where the prompt begins. For a
// fallback that reads less, the request alone is made shorter.
//
//	rows ─▶ history: newest compaction, then the rows behind its cut ─▶ items
//
// What the end of a turn means for runs, waits and completions is decided by
// Ender, which core/subagent implements.
package agent
