// Package fullscreen is the chat that fills a terminal: the conversation, the
// list of its threads with what goes on in each, and a line to write on.
//
//	console.People ──feed──▶ places ──▶ Model.View ──▶ terminal
//	      ▲                    ▲
//	      └── posts ── keys ───┘   Overview (what sessions do), Memory (a file)
//
// The package is a Bubble Tea program. [Model] decides everything from the
// messages that it is given, so tests feed it messages and look at its view.
// What waits or asks somebody is a command that its [Options] answer; it ends
// with the context of [Run], which returns only when no command runs any more.
//
// Where things are:
//
//	places.go    what is known of each place: messages, unread, reading position
//	model.go     messages of the program and what they change
//	keys.go      keys and the mouse
//	input.go     the line that is written on: history, completion
//	post.go      messages on their way, reconnecting
//	view.go      the layout; side.go the list; body.go a conversation as lines
//	markup.go    text as styled lines; wrap.go breaks them
//	theme.go     colours, for dark and light, many and none
//	memory.go    what is kept on disk: written lines, reading positions
//	text.go      every word that it shows of its own
package fullscreen
