// Package chat is the person's side of the console channel: what a terminal
// shows of a conversation and its threads, and how it is written to.
//
//	console.People ──feed──▶ Screen ──lines──▶ line mode (Run)
//	      ▲                    │
//	      └──────── posts ◀────┘
//
// [Screen] is everything that a view needs to know and nothing that it draws:
// the places, the one that is written to, what is unread, which messages were
// shown. It is a plain value without goroutines, so a full-screen view can be
// put on it beside the line mode.
//
// [Run] is the line mode. On a terminal it edits lines, draws a prompt that
// names the place, and shows messages above it as they come. On anything else
// it reads lines, waits after each until it is answered, and prints the
// conversation as lines; so a pipe is a script.
//
// What a person may write besides messages and the chat commands of the
// runtime:
//
//	/thread 1      go to thread #1 (also: #1)
//	/thread main   go back to the conversation
//	/threads       list the threads
//	/edit TEXT     give your newest message here a new text
//	/delete        delete it
//	/quit          end (also: Ctrl-D)
//	Tab            on an empty line: go to the next place, unread ones first
package chat
