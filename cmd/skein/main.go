// Command skein runs agents that people talk to in chat channels, and looks
// after what is running.
//
//	skein demo                 everything at once, in this terminal
//	skein run                  the gateway: channels, agents, store
//	skein chat                 talk to it from a terminal
//	skein sessions|tasks|bindings|outbox|channels
//	                           see what goes on, and settle what is stuck
//	skein test FILE|DIR...     play conversation scripts
//
// A command that needs the gateway finds it through a socket in the state
// folder; commands that only look read the store themselves where none runs.
// docs/cli.md is the reference.
//
// Exit codes: 0 done, 1 failed, 2 wrong usage. Errors are one line on the
// standard error, with what to do about them.
//
// The package only joins parts: it has flags, wiring, tables and exit codes,
// and everything that decides is elsewhere. newRoot builds the commands on an
// env, so that scripts and tests run them in their own process.
package main

import (
	"os"
	"time"

	"github.com/skein-bot/skein/core/clock"
)

func main() {
	began := time.Now()
	os.Exit(execute(&env{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, lookup: os.LookupEnv, clock: clock.Real{}, zone: time.Local, began: began,
	}, os.Args[1:]))
}
