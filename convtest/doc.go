// Package convtest plays conversation scripts: the engine of `skein test`.
//
// A script (package script reads it) says what people, platforms and the
// machine do, and what is expected of the bot. It is played on the real
// runtime, against the channels' test servers and the scripted model, in
// virtual time: a script that waits a day takes milliseconds. docs/testing.md
// is the manual for authors of scripts.
//
//	summary, err := convtest.Run(ctx, convtest.Options{Paths: []string{"examples"}, Out: os.Stdout})
//	...
//	os.Exit(summary.ExitCode())
//
// In a Go test, [File] plays one script.
//
// # Time
//
// The clock stands still while anything is in progress. Between two lines the
// world comes to rest: what can happen at this instant has happened. Only lines
// that wait let time pass, from due time to due time, as little as they need.
//
//	line ──▶ settle ──▶ done? ──no──▶ step to the next timer ──▶ settle ...
//	            │
//	            └── cut at a crash point ──▶ Kill, Down ──▶ (random kill) start
//
// Quiet means that the world's work counter is zero (package core/world has the
// rules) and no cancelled sleeper is about to wake. Thirty seconds of wall time
// without it fail the script and name who is busy.
//
// # Lives
//
// The test servers, the clock, the store and the state of the scripted model
// outlive a runtime. `kill`, and a crash point that a line armed, cut its world;
// the engine then waits until nothing of it is left and tells the servers. A
// random kill (Options.RaceKill) is followed by a start as soon as the engine
// notices it, between any two steps of whatever line is played; no line has to
// know. It is placed at one pass of any crash point, chosen by the seed among
// those that a play without a kill has counted. While a `$` command or a reload
// that must be refused runs, passes do not count: their answer is to the
// process that was killed.
package convtest
