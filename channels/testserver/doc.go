// Package testserver says what the test server of a channel is, and has the
// parts to build one from. Conversation tests and the contract suite
// (channeltest) drive channels through it.
//
// A [Server] is a platform in miniature that a test can look into: people act
// on it, faults are set on it, and what an account sent is read from it. It is
// a real server as far as the adapter can tell. Options give it the clock of
// the runtime under test, which slow answers wait on, and a [Worker], with
// which it counts what is in progress:
//
//   - an update that an account which is being polled has not acknowledged;
//   - a request that is being answered; while a slow one waits on the clock,
//     neither it nor its caller counts.
//
// Between Down and Up, when the runtime does not run, nothing counts.
// After Up, after a poll that failed, and after the clock has moved without one,
// an unacknowledged update goes on to count for a moment of wall time, so that a
// runtime on its way to the next poll, or to a timer, is not taken for a quiet
// one.
//
// [Faults], [Recorder] and [Tracker] are the parts. The package ships in the
// binary, which plays conversation scripts: it uses no test library.
package testserver
