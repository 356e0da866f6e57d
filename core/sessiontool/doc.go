// Package sessiontool is the built-in tools by which an agent looks at sessions,
// speaks to other sessions and places, and looks after the gateway:
//
//	sessions_list, sessions_history, session_status, agents_list   look
//	sessions_send, message                                         speak
//	gateway                                                        status and reload, for owners
//
// Which sessions a call sees is decided in one place (visibility.go): by
// tools.sessions.visibility, and for a sub-agent never more than its own tree.
// What is shown of a transcript has no reasoning, no pictures and no
// credentials, whatever the log does.
//
// The tools that look read the store and may run again after a crash. Those that
// speak keep their effect in the store: it is committed with their result, so a
// crash finds both or neither.
package sessiontool
