// Package storetest is the suite that every database of package store passes.
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, storetest.Backend{Open: open, Reopen: reopen})
//	}
//
// It speaks to the store through its exported methods alone: another database
// joins with the two functions of a Backend and nothing here changes. What is
// true of one database only (its lock, its file, a full disk) is tested beside
// that database.
//
// The suite has a part for each group of methods of store.Tx, one for units of
// work and group commit, and one for races between nodes and producers, which
// must be run on every database: a single writer hides what many show.
package storetest
