// Package script reads conversation scripts: txtar files whose comment is a
// list of lines, each something that happens or is expected in a conversation.
//
//	alice @ console/main: research cats and dogs
//	console/main < /on it/
//	console/main/* < /cats is here/ => T
//	alice @ console/main/$T: how long do they sleep?
//	console/main/$T < /most of the day/
//
//	-- model.json5 --
//	{ rules: [ ... ] }
//
// [Parse] turns the text into statements and reports every bad line at once,
// each with file, line, what was expected and what stands there. It runs
// nothing; package convtest does. The whole grammar is in docs/testing.md.
//
// # Captures and ids
//
// "=> NAME" at the end of an expectation gives a thread, or the first group of
// a pattern, a name. In later lines $NAME stands for it; a $NAME that no
// earlier line captured is ordinary text. ${id:alice} and ${id:telegram/team}
// stand for the platform's id of a person and of a conversation. Statements
// keep both unexpanded; [Expand] replaces them when the line runs. In a pattern
// the value is taken literally.
package script
