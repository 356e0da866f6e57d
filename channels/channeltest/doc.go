// Package channeltest holds what every channel is tested with: the contract
// suite, and the interface of the test servers that conversation tests drive.
//
// # The contract suite
//
// [Run] runs the suite against an adapter and its test server:
//
//	func TestContract(t *testing.T) {
//		channeltest.Run(t, channeltest.Factory{Entry: console.Entry(nil), Server: consoletest.Start})
//	}
//
// It checks what core.Adapter and its abilities promise: updates are
// acknowledged only after intake took them, come again otherwise, in order and
// under the same ids; a stored cursor goes on where it was; every failure has
// its class; a key is one message; threads open, are found again and close;
// what happens to places is reported; own messages are not input; and nothing
// outlives the context of Run.
//
// # Test servers
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
// [Faults], [Recorder] and [Tracker] are parts to build servers from.
package channeltest
