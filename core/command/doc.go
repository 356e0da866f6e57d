// Package command has the chat commands: what a person types after a slash and
// the runtime answers itself, without a model.
//
//	/focus cats        ─▶ Parse ─▶ Set.Run, in intake's transaction ─▶ one reply
//	/stop@otherbot     ─▶ Parse ─▶ for another bot: core/policy decides
//	/usr/bin is empty  ─▶ no command, an ordinary message
//
// Intake owns the transaction: it holds the claim of the message, the effect
// of the command and its reply, so a command happens once. A refusal is a
// *core.Error with a stable code; its text and remedy are the reply. Every
// command is answered by exactly one message where it was written, under 2000
// UTF-16 units long, so that it is one message on every channel. The intro and
// the farewell of a binding are that one message where they appear in the same
// place (Reply.Silent).
//
// Commands act on the session to which the conversation leads: in a bound
// thread that is the child and its tree.
//
// # Two phases
//
// /focus may have to open a thread, which is a remote call. The first
// transaction reserves the binding and writes an intent, Reply.After opens the
// thread, and a second transaction makes the binding active, closes the intent
// and posts the reply. After a crash in between [Set.Recover] continues; the
// intent is keyed by the message, so a message that comes again does so too.
package command
