// Package intake takes inbound messages in: access, commands, bindings and
// routes decide what becomes of each, and one transaction records it.
package intake
