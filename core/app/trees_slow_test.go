//go:build slow

package app_test

// treesPlayed is how many random trees of sub-agents a run of the tests plays.
const treesPlayed = 40
