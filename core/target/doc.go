// Package target finds the sub-agent or session that a person or an agent
// names: the chat commands and the built-in tools name them alike.
//
//	last                      the newest sub-agent
//	2                         the sub-agent with that number, which never changes
//	agent:a:subagent:x        a session key; nested ones of other systems too
//	session:17                a session id
//	cats, "Cats and dogs"     a task name or label, then its unique beginning
//	01JABCD                   the beginning of the id of a run or task
//
// Case does not matter but in session keys; exact beats beginning; what a
// session asked for itself beats what its sub-agents asked for, and that
// everything else. An [Error] carries the facts: it reads as plain English for
// models and operators, and who speaks to people words it in their language.
package target
