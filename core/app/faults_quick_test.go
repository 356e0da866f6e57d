//go:build !slow

package app_test

// bothProtocols has each fault of a model played on both protocols; a quick run
// alternates.
const bothProtocols = false

// lanePlans is how many plans TestLanes plays.
const lanePlans = 6
