// Package channeltest is the contract suite that every channel passes.
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
// Only tests import this package. What it demands of a test server is in
// package testserver, which programs may import as well.
package channeltest
