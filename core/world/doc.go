// Package world is the one handle through which the runtime reaches time,
// randomness and the outside: the clock, ids, the count of work in progress,
// and the named crash points.
//
// # Cutting a world
//
// Cut is what `kill -9` looks like from inside: from then on every store write
// and every request to a platform or model returns ErrKilled before it has any
// effect. A commit that the database already has, or a request that a server
// already holds, counts.
//
// # Crash points
//
// Crash("outbox.after-send") marks an instant at which a crash must do no
// harm. Unarmed it costs one atomic load. Armed it cuts the world there
// (conversation tests) or kills the process with SIGKILL (the crash matrix).
//
// # Quiet
//
// Work counts what is in progress. A conversation test moves its virtual clock
// only while the count is zero. The rules: whoever hands work on adds one
// before handing it on; whoever finishes takes one away; whoever waits for
// other counted work, or sleeps on the Clock, gives its own back meanwhile.
// Signal follows them for wake-ups.
package world
