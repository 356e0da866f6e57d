// Package words is the catalogue of what the runtime says to people: intros,
// farewells, notices, replies to commands, refusals, failures.
//
// # Texts
//
// The texts are in texts/<tag>.json, one file a language, and English is the
// one that the others are held to. A text is a string, or an object of plural
// forms, or the two parts of a refusal:
//
//	"binding.over":    "{name} is not listening here any more: {why}.",
//	"command.cleared": {"one": "Cleared 1 message.", "other": "Cleared {n:count} messages."},
//	"refuse.quota":    {"text": "you have {have:int} of {limit:int}", "remedy": "/unfocus one"}
//
// `go generate ./core/words` checks the files against each other and writes
// them into Go: tables that need no reading at start, and one function for each
// text, so that a missing argument does not compile:
//
//	w.BindingOver(name, why)                // a method of Language
//	words.RefuseQuota(CodeQuota, have, max) // an error, for every language
//
// Arguments stand in the alphabetical order of their names, so that a new
// wording never exchanges two.
//
// # Placeholders
//
//	{name}            text, as it is
//	{token:quoted}    text in the quotation marks of the language
//	{have:int}        a number
//	{n:count}         a number that picks the plural form
//	{d:duration}      a length of time, to the second, rounded up
//	{d:age}           a length of time, at most two units, rounded down
//	{why:detail}      text that Recall words
//	{at:time}         a time of day with its date and zone; the caller chose the zone
//	{at:moment}       the same with seconds
//	{items:list}      texts with commas
//	{items:and}       texts with commas, and "and" before the last
//
// "{{" is a brace. An argument is put in as it is: braces in it mean nothing.
//
// # What models and programs read
//
// Models, logs, the command line and the API read English. An error made by a
// Refuse function is English and knows its other wordings (Refusal). The
// details of runs are kept in English too; Recall words them for people.
package words
