//go:build slow

package app_test

// bothProtocols has each fault of a model played on both protocols.
const bothProtocols = true

// lanePlans is how many plans TestLanes plays.
const lanePlans = 20
